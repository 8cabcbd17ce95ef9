"""Records whose missing cells are completed: by the conditional mean, at the price of complete ones, each by itself."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers.neighbours import check

from pubpriv.audit._neighbours import integers
from pubpriv.data.arithmetic import row_by_row, single_threaded_blas
from pubpriv.data.completion import bounds_of
from pubpriv.data.frames import GRID, Frame
from pubpriv.data.missing_patterns import MissingPatterns
from pubpriv.data.placement import trial_of
from pubpriv.data.questions import (
    Bisection,
    Completed,
    CompletedGram,
    Counts,
    InPeriod,
    JointCounts,
    LiftedGram,
    OfSample,
    PerPerson,
)
from pubpriv.data.questions.base import squared_weight
from pubpriv.data.regions import Cells, Everything, Shells, View

SCALES = (1 << 28, 1 << 34, 1 << 31)


def law(d, seed=1):
    """A centre and a covariance of d columns in units of their own."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(d, d)) + 2 * np.eye(d)
    units = 10.0 ** rng.uniform(-2, 2, d)
    return rng.normal(size=d) * units, (mixed @ mixed.T) * np.outer(units, units)


def whitened(d, seed=1):
    """The frame under which that law is standard."""
    center, covariance = law(d, seed)
    return Frame.of(center, np.linalg.inv(np.linalg.cholesky(covariance)))


def asked(d, radius=40.0, level=1.0, parts=None, scales=SCALES):
    """A question about everything, completed by its own frame, that clips next to nothing."""
    frame = whitened(d)
    question = LiftedGram(Everything(), (frame,), (radius,), scales)
    return CompletedGram.of(question, frame, level, parts or (1.0,) * d)


def rows_of(d, n, share, seed=2):
    """Rows (n, d) of the law, each cell missing with a probability of `share`."""
    rng = np.random.default_rng(seed)
    rows = rng.multivariate_normal(*law(d), n)
    rows[rng.random(rows.shape) < share] = np.nan
    return rows


def totals(question, rows, length=None, **of_view):
    """Totals over one block, padded to `length`, computed as in a scan."""
    block = np.full((rows.shape[1], length or len(rows)), np.nan)
    block[:, : len(rows)] = rows.T
    with single_threaded_blas(), row_by_row():
        return integers(question.totals(View(block, **of_view)))


def expected_moments(d, rows):
    """Sums of E[(1, w, w w') | observed cells] over rows with a cell, in the frame's coordinates."""
    center, covariance = law(d)
    _, matrix = whitened(d).dense()
    count, first, second = 0, np.zeros(d), np.zeros((d, d))
    for row in rows:
        seen = np.isfinite(row)
        if not seen.any():
            continue
        slope = covariance[:, seen] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        w = matrix @ slope @ (row - center)[seen]
        left = matrix @ (covariance - slope @ covariance[seen]) @ matrix.T
        count, first, second = count + 1, first + w, second + np.outer(w, w) + left
    return count, first, second


@pytest.mark.parametrize("d", [2, 5, 20])
def test_records_add_their_expectation_given_the_observed_cells(d):
    """Count, first and second moments are those of the E step of EM."""
    rows, question = rows_of(d, 300, 0.3), asked(d)
    count, first, second = expected_moments(d, rows)
    exact = totals(question, rows)
    values = question.values({name: np.array(exact[name]) * part.factor for name, part in question.parts.items()})
    assert values["count"] == pytest.approx([count])
    assert values["sum"][0] == pytest.approx(first, abs=0.02)
    assert values["moment"][0] == pytest.approx(second, abs=0.2)


@pytest.mark.parametrize("d", [1, 3, 20])
def test_tables_without_missing_cells_are_asked_as_ever(d):
    """The same integers as of `LiftedGram`, at the same price."""
    rows, question = rows_of(d, 200, 0.0), asked(d, radius=1.5, parts=(*(0.5,) * (d - 1), 1.0))
    plain = LiftedGram(question.partition, question.frames, question.radii, question.noise_scales)
    rows[3], rows[5, 0] = np.nan, np.inf
    assert totals(question, rows) == totals(plain, rows)
    assert (question.squared_distance, question.squared_length) == (plain.squared_distance, plain.squared_length)


def test_records_without_any_cell_or_with_an_infinite_one_add_nothing():
    """Nor do records whose conditional mean overflows."""
    nothing = np.array([[np.nan] * 3, [np.inf, np.nan, 0], [np.nan, -np.inf, np.nan], [1e308, np.nan, -1e308]])
    found = totals(asked(3), nothing)
    assert not any(itertools.chain(*found.values()))


def test_regions_are_those_of_the_completed_record():
    """A record that lacks the column that tells components apart goes where its other column puts it."""
    frames = tuple(Frame.of(np.array([x, x]), np.eye(2)) for x in (-4.0, 4.0))
    fill = Frame.of(np.zeros(2), np.linalg.inv(np.linalg.cholesky([[17.0, 16.0], [16.0, 17.0]])))
    gram = CompletedGram.of(LiftedGram(Cells(frames, (0.0, 0.0)), frames, (3.0, 3.0), SCALES), fill, 1.0, (1.0, 1.0))
    rows = np.array([[np.nan, -4.0], [5.0, np.nan], [np.nan, 3.0]])
    assert totals(gram, rows)["count"] == [1, 2]
    assert totals(Completed(Counts(Cells(frames, (0.0, 0.0)), 1 << 30), fill), rows)["count"] == [1, 2]
    shells = Shells(Frame((0.0, 0.0)), (5.0,))
    assert totals(Completed(Counts(shells, 1 << 30), fill), rows)["count"] == [1, 2]


def records(d, radius):
    """Records of every pattern of missing cells, on the sphere of the radius and beyond, in every direction."""
    rng = np.random.default_rng(0)
    center, colour = law(d)[0], np.linalg.inv(whitened(d).dense()[1])
    for lacking in itertools.product((False, True), repeat=d):
        for direction in (*np.eye(d), *-np.eye(d), *rng.normal(size=(6, d))):
            record = center + colour @ (3 * radius * direction / np.linalg.norm(direction))
            record[list(lacking)] = np.nan
            yield record


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("scales", [(0, 0, 1 << 31), SCALES, (0, 1 << 34, 1 << 31)])
@pytest.mark.parametrize("tight", [False, True])
def test_no_two_records_are_further_apart_than_declared(d, scales, tight):
    """Of all patterns: the second moment alone is reached, in three columns by incomplete records too."""
    radius = 1.1 * math.sqrt(d)
    parts = (1.0,) * d if tight else (*np.linspace(0.5, 0.8, d - 1).tolist(), 1.0)
    question = asked(d, radius, 0.6, parts, scales)
    alone = [totals(question, record[None], 64) for record in records(d, radius)]
    parts = question.parts
    vectors = np.array([[v * p.factor / p.noise_scale for n, p in parts.items() for v in one[n]] for one in alone])
    squared = (vectors**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1) - 2 * vectors @ vectors.T
    first, second = np.unravel_index(np.argmax(squared), squared.shape)
    reached = check(question, alone[first], alone[second])
    assert reached <= 1
    if not any(scales[:2]):
        assert reached > 0.99


def test_the_proof_holds_for_all_bundles_of_small_integers():
    """Every |q|^2 + B <= R^2 with one or two vectors beside q, on a grid of radius 3: all pairs, exactly."""
    radius, grid = 3, range(-3, 4)
    vectors = [np.array(v) for v in itertools.product(grid, repeat=2) if 0 < v[0] ** 2 + v[1] ** 2 <= radius**2]
    bundles = [[], *([v] for v in vectors), *([v, w] for v, w in itertools.combinations(vectors, 2))]
    images = {(0,) * 7}
    for bundle in bundles:
        spread = sum((np.outer(v, v) for v in bundle), np.zeros((2, 2), int))
        squared = int((spread**2).sum())
        bound = math.isqrt(squared - 1) + 1 if squared else 0
        for q in itertools.product(grid, repeat=2):
            if q[0] ** 2 + q[1] ** 2 + bound <= radius**2:
                images.add((1, *q, *(np.outer(q, q) + spread).ravel().tolist()))
    found = np.array(sorted(images))
    for n, s, m in ((60, 60, 60), (0, 0, 60), (300, 180, 15), (6, 120, 20)):
        weighed = found * np.array([n, s, s, m, m, m, m])
        lengths = (weighed * found).sum(axis=1)
        distances = lengths[:, None] + lengths - 2 * weighed @ found.T
        largest = n + s * radius**2 + m * radius**4
        assert int(lengths.max()) <= largest
        assert int(distances.max()) <= 2 * largest + max(0, Fraction(s * s, 2 * m) - 2 * n)


@pytest.mark.parametrize("q", [1, 2, 7, 40])
def test_bounds_are_bounds_in_exact_arithmetic(q):
    """As far as a record may count: beyond R^2 any larger number will do, and what is not finite bounds nothing."""
    rng = np.random.default_rng(q)
    vectors = np.rint(rng.normal(size=(50, 20, q)) * 10.0 ** rng.uniform(0, 6, (50, 1, 1)))
    for matrix, bound in zip(vectors, bounds_of(vectors), strict=True):
        exact = [[int(v) for v in row] for row in matrix.tolist()]
        gram = [[sum(row[s] * row[t] for row in exact) for t in range(q)] for s in range(q)]
        squared = sum(entry**2 for row in gram for entry in row)
        assert bound > GRID**2 or (bound == int(bound) and int(bound) ** 2 >= squared)
        assert squared <= GRID**4 or bound > GRID**2
    vectors[0, 0, 0], vectors[1, 3, -1] = np.nan, np.inf
    with np.errstate(all="ignore"):  # as in a scan
        assert not (bounds_of(vectors)[:2] <= GRID**2).any()


@pytest.mark.parametrize("d", [3, 12, 20])
def test_a_record_is_the_same_alone_and_in_company(d):
    """In any place, among any others, in a whole block; with the weights of persons' rows too."""
    rows, question, length = rows_of(d, 1024, 0.2), asked(d, 1.2 * math.sqrt(d), 0.9), 1024
    rng = np.random.default_rng(0)
    whole = totals(question, rows)
    assert whole == totals(question, rows[rng.permutation(length)])
    for place in rng.integers(length, size=20):
        others = rows.copy()
        others[place] = np.nan
        without, apart = totals(question, others), np.full((length, d), np.nan)
        apart[rng.integers(length)] = rows[place]
        alone = totals(question, apart)
        assert {n: [a - b for a, b in zip(whole[n], without[n], strict=True)] for n in whole} == alone
    weights = rng.integers(0, 9, length).astype(float)
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    inner = PerPerson(question, 4, 8).inner
    assert totals(inner, rows, weights=weights) == totals(inner, repeated)


@pytest.mark.parametrize("d", [2, 6, 20])
def test_the_trial_of_places_has_incomplete_records_and_passes(d):
    """As persons are asked; fills and factors of patterns are tried with the question."""
    assert not trial_of(PerPerson(asked(d, 1.2 * math.sqrt(d), 0.9), 1, 64), d).differs


def test_a_fill_that_depends_on_the_place_is_refused(monkeypatch):
    """The trial sees what a batch of matrices would do that rounds by its length."""
    from pubpriv.data import completion

    real = completion._Patterns.inverse_factors

    def leaning(each):
        found = real(each)
        found[len(found) // 2 :] *= 1 + 2.0**-40
        return found

    monkeypatch.setattr(completion._Patterns, "inverse_factors", leaning)
    assert trial_of(PerPerson(asked(6, 2.5, 0.9), 1, 64), 6).differs


def test_wrappers_cost_what_they_cost_around_complete_records():
    """Periods, samples and persons: the proofs of the inner questions hold record by record."""
    fill, scale = whitened(3), 1 << 30
    count = Counts(Everything(), scale)
    assert InPeriod(Completed(count, fill), "2026-11").squared_distance == InPeriod(count, "2026-11").squared_distance
    made = InPeriod.of_rows(Completed(count, fill), "2026-11")
    assert made.squared_distance <= count.squared_distance
    bisection = Bisection(fill, 0.1, 10.0, 4, 5.0, scale, logarithmic=True)
    assert Completed(bisection, fill).squared_distance == bisection.squared_distance
    gram = asked(3)
    assert OfSample(gram, 4).squared_distance == gram.squared_distance == InPeriod(gram, "2026-11").squared_distance
    assert PerPerson(gram, 3, 1).squared_distance == 9 * gram.squared_distance


def test_a_lone_column_is_asked_as_ever():
    """There a record is complete or has no cell."""
    frame = Frame((1.0,))
    plain = LiftedGram(Everything(), (frame,), (2.0,), SCALES)
    rows = np.array([[0.5], [np.nan], [3.0]])
    assert totals(CompletedGram.of(plain, frame, 0.9, (1.0,)), rows) == totals(plain, rows)


def test_what_is_uncertain_is_seen_through_the_region_s_frame():
    """A frame of fewer directions than columns, completed by another Gaussian, as for principal components."""
    fill, center = whitened(3), law(3)[0]
    across = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]) / np.sqrt(np.diag(law(3)[1]))
    frame = Frame.of(center, across)
    gram = CompletedGram.of(LiftedGram(Everything(), (frame,), (40.0,), SCALES), fill, 1.0, (1.0,) * 3)
    rows = rows_of(3, 400, 0.3)
    exact = np.array(totals(gram, rows)["diagonal"]) / (GRID / 40.0) ** 2
    standard = across @ np.linalg.inv(fill.dense()[1])
    expected = np.diag(standard @ expected_moments(3, rows)[2] @ standard.T)
    assert exact == pytest.approx(expected, rel=1e-3)
    assert replace(gram, level=0.0) != gram


def test_patterns_are_counted_by_what_they_lack():
    """Listed ones first, then others by number; rows without a cell, with an infinite one, and padding are nowhere."""
    x, inf = np.nan, np.inf
    rows = np.array([[1, 1, 1], [x, 1, 1], [1, x, 1], [x, x, 1], [1, x, x], [x, x, x], [inf, x, 1.0], [x, 1, 1]])
    patterns = MissingPatterns((0, 1, 2), ((0,), (1, 2)), by_number=True)
    assert totals(Counts(patterns, 1 << 30), rows, 64)["count"] == [2, 1, 1, 1, 1, 0]
    second = MissingPatterns((1,), ((1,),), by_number=False)
    joint = JointCounts.priced((patterns, second), Fraction(1))
    assert totals(joint, rows, 64)["count"] == [2, 1, 1, 1, 1, 0, 3]
    assert joint.squared_distance == 3 * squared_weight(joint.parts["count"])
