"""Replacing one record never moves an answer further than its question says, and can move it as far as that."""

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pytest
from helpers.neighbours import QUESTIONS, alone, check, totals_of, write
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pubpriv.audit._catalogue import EAST, PARTITIONS, PRICE, WEST, _framed, at
from pubpriv.audit._neighbours import difference, distance
from pubpriv.data.frames import GRID
from pubpriv.data.questions import QUESTIONS as CLOSED_LIST
from pubpriv.data.questions import (
    Bisection,
    BoundedScore,
    ClippedSums,
    Counts,
    InPeriod,
    LiftedGram,
    Moments,
    OfSample,
    PerPerson,
    PersonSizes,
    Radial,
    StableCells,
)
from pubpriv.data.questions.base import COUNT_FACTOR, SUM_FACTOR, squared_weight

AWKWARD = [None, math.nan, math.inf, -math.inf, 1e300, -1e300, 1.7e308, -1.7e308, 1e154, -1.4e154, 5e-324, -1e-310]
# log1p: -1 gives -inf, below it NaN, and its rounding matters close to both -1 and 0
MAPPED = [-1.0, math.nextafter(-1.0, 0), math.nextafter(-1.0, -2), -2.0, 0.0, -0.0, 1e-17, math.expm1(6.0)]
near = st.floats(-6, 6)
cell_a = st.one_of(near, st.sampled_from([WEST[0], EAST[0], *AWKWARD]))
cell_b = st.one_of(near, st.floats(0, 500), st.sampled_from(AWKWARD + MAPPED))
record = st.tuples(cell_a, cell_b)
quick = settings(
    derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("name", QUESTIONS)
@settings(quick, max_examples=12)  # beside the examples, for each of fifty questions; the audit's search tries more
@given(rows=st.lists(record, min_size=1, max_size=6), other=record, position=st.integers(0, 5))
@example(rows=[(-4.0, 0.0), (4.0, 0.0)], other=(4.0, 0.0), position=0)  # region to region
@example(rows=[(-4.0, 0.0), (4.0, 0.0)], other=(None, 0.0), position=1)  # out of all regions
@example(rows=[(1e300, 0.0), (4.0, 0.0)], other=(-1e300, 0.0), position=0)  # norms overflow
@example(rows=[(-4.2, 0.0), (4.0, 0.1)], other=(-3.8, 0.0), position=0)  # the same region, opposite signs
@example(rows=[(1.7e308, 1.7e308), (4.0, 0.1)], other=(-1.7e308, -1.7e308), position=0)
@example(rows=[(0.0, -1.0), (4.0, 0.1)], other=(5e-324, -2.0), position=0)
def test_no_replacement_exceeds_the_declared_distance(name, rows, other, position, tmp_path):
    """Whatever a record becomes, the exact distance stays in bounds and no other record's share moves by a bit."""
    question, position = QUESTIONS[name], position % len(rows)
    changed = [*rows]
    changed[position] = other
    before, after, old, new = (
        totals_of(question, write(tmp_path, table))
        for table in [rows, changed, alone(rows, position), alone(changed, position)]
    )
    check(question, before, after)
    assert difference(before, after) == difference(old, new)
    if isinstance(question, Bisection):
        _check_asked_counts(question, before, after)


def _check_asked_counts(question, before, after):
    """Without noise, under the decisions of either table, each asked count moves by at most one."""
    silent = lambda part, sd, size: np.zeros(size, dtype=np.int64)  # noqa: E731
    factor = question.parts["count"].factor
    below = [np.cumsum(t["histogram"]) for t in (before, after)]
    for mine in (before, after):
        asked = question.answer({"histogram": np.array(mine["histogram"])}, silent)["count"]
        for step in range(question.steps):
            middle, _ = question._bracket(asked[:step])
            assert asked[step] == factor * np.cumsum(mine["histogram"])[middle]
            assert abs(int(below[1][middle] - below[0][middle])) <= 1


ADVERSARIES = {
    # which pair reaches the bound: (one record, its replacement)
    "counts": (at(WEST, (0, 0)), at(EAST, (0, 0))),
    "counts-one": (at(WEST, (0, 0)), (None, 0.0)),
    "antipodes": (at(WEST, (1, 0), 2.0), at(WEST, (-1, 0), 2.0)),
    "across": (at(WEST, (0, 1), 2.0), at(EAST, (0, 1), 2.0)),
    "orthogonal": (at(WEST, (1, 0), 2.0), at(WEST, (0, 1), 2.0)),
}


OWN = {
    # in coordinates (r, w), whose scores are (r, r w): the two ends of one, or of regressors in a short score's shell
    "gram-score": (at(WEST, (1, 0), 2.0), at(WEST, (-1, 0), 2.0)),
    "gram-beside-score": (at(WEST, (0, 1), 2.0), at(WEST, (0, -1), 2.0)),
    "gram-score-shells": (at(WEST, (0.7, 0.7), 1.0), at(WEST, (5, 2), 1.0)),
    "counts-score": ADVERSARIES["counts"],
    "columns-joint": (WEST, (4.0, math.expm1(6.0))),
    "columns-by-category": (WEST, (4.0, math.expm1(6.0))),
}


def pair_for(name):
    """The adversarial pair of a question of the catalogue."""
    single = name.endswith("everything")
    if name.startswith(("counts", "joint")):
        return ADVERSARIES["counts-one" if single else "counts"]
    if name == "fourth-everything":
        return ADVERSARIES["orthogonal"]
    if name.startswith(("sums", "completed-sums")):
        return ADVERSARIES["antipodes"]
    if name in OWN:
        return OWN[name]
    if name.startswith("second-moment") or name == "completed-gram":
        return ADVERSARIES["orthogonal"]
    if name.startswith("bisection"):
        return ((-4.0, 0.0), (900.0, 0.0)) if "signed" in name else ((0.5, math.expm1(0.5)), (None, None))
    if name in ("score", "selection"):
        return WEST, EAST
    if name == "stable-cells":
        return (-4.0, 0.0), (4.0, math.expm1(6.0))
    if name == "gram-shares":  # beyond both radii, and each wholly of its own component
        return (WEST[0], 10.0), (EAST[0], math.expm1(10.0))
    # kernels of joint releases: opposite ends nearly cancel in a region of its own, and two regions always reach it
    return ADVERSARIES["antipodes" if single else "across"]


TIGHT = [name for name in QUESTIONS if "without-count" not in name and "gram-everything" not in name]


@pytest.mark.parametrize("name", TIGHT)
def test_an_adversary_comes_within_one_percent(name, tmp_path):
    """The declared distance is reached, so no answer carries more noise than it needs."""
    question, (mine, theirs) = QUESTIONS[name], pair_for(name)
    if name == "moments-everything":
        question = _balanced(Moments)
    rest = [(-4.0, 0.0), (4.0, 0.25), (0.0, 3.0)]
    first, second = (totals_of(question, write(tmp_path, [r, *rest])) for r in [mine, theirs])
    assert check(question, first, second) > 0.99


def _balanced(kind):
    """Shares at which opposite ends of one region have no kernel left: 4 N Q = S^2, but for a hair."""
    shares = Fraction(1, 4), Fraction(4999, 10000), Fraction(1, 4)
    return kind.priced(*_framed("everything"), PRICE, shares)


def test_a_joint_release_over_one_region_is_reached_by_opposite_ends(tmp_path):
    """LiftedGram with balanced shares: the bound holds in a single region too, not across regions alone."""
    question = _balanced(LiftedGram)
    first, second = (totals_of(question, write(tmp_path, [r])) for r in ADVERSARIES["antipodes"])
    assert check(question, first, second) > 0.99


@pytest.mark.parametrize("partition", ["everything", "cells"])
def test_the_term_for_a_count_that_is_not_asked_is_reached(partition, tmp_path):
    """Without a count, two records at the angle of the least kernel reach the extra term of the bound."""
    question = QUESTIONS[f"gram-without-count-{partition}"]
    s, m = (squared_weight(question.parts[p]) for p in ("sum", "diagonal"))
    cosine = float(-s / (2 * m * GRID * GRID))
    assert -1 < cosine < 0
    pair = at(WEST, (1, 0), 2.0), at(WEST, (cosine, math.sqrt(1 - cosine**2)), 2.0)
    first, second = (totals_of(question, write(tmp_path, [r])) for r in pair)
    assert check(question, first, second) > 0.99


# -- the checker refuses wrong sensitivities -----------------------------------------------------------------


@dataclass(frozen=True)
class AddRemoveSums(ClippedSums):
    """Add or remove one record instead of replacing it: R^2."""

    @property
    def squared_distance(self):
        return super().squared_distance / 4


@dataclass(frozen=True)
class LostRootSums(ClippedSums):
    """A factor of sqrt 2 lost: as if the two ends of a replacement lay at a right angle."""

    @property
    def squared_distance(self):
        return super().squared_distance / 2


@dataclass(frozen=True)
class OneRegionCounts(Counts):
    """A record leaves its region and enters none."""

    @property
    def squared_distance(self):
        return super().squared_distance / 2


@dataclass(frozen=True)
class FreeCountMoments(Moments):
    """The count is not charged."""

    @property
    def squared_distance(self):
        return super().squared_distance - 2 * squared_weight(self.parts["count"])


@dataclass(frozen=True)
class FreeCountGram(LiftedGram):
    """The count is not charged."""

    @property
    def squared_distance(self):
        return super().squared_distance - 2 * squared_weight(self.parts["count"])


@dataclass(frozen=True)
class UncheckedGram(LiftedGram):
    """The last term forgotten where 2 wN wM < wS^2."""

    @property
    def squared_distance(self):
        n, s, m = (squared_weight(self.parts[p]) if p in self.parts else 0 for p in ("count", "sum", "diagonal"))
        return 2 * (n + s * GRID**2 + m * GRID**4)


@dataclass(frozen=True)
class UncheckedMoments(Moments):
    """The condition 2 wN wQ >= wS^2 forgotten."""

    def __post_init__(self):
        pass


@dataclass(frozen=True)
class FullUpperGram(LiftedGram):
    """Mirrored entries get half the variance they should: the shape of the noise is wrong."""

    @property
    def parts(self):
        upper = super().parts["upper"]
        halved = replace(upper, noise_scale=math.isqrt(upper.noise_scale**2 // 2))
        return {**super().parts, "upper": halved}


@dataclass(frozen=True)
class OneStepBisection(Bisection):
    """Charged for one count, answers all."""

    @property
    def squared_distance(self):
        return super().squared_distance / self.steps


@dataclass(frozen=True)
class HalfScore(BoundedScore):
    """From nothing to c instead of from -c to c."""

    @property
    def squared_distance(self):
        return super().squared_distance / 4


@dataclass(frozen=True)
class OneDirectionCells(StableCells):
    """Charged for one direction, counts in all."""

    @property
    def squared_distance(self):
        return super().squared_distance / self.alone


@dataclass(frozen=True)
class UnclippedSums(ClippedSums):
    """Totals that forget the radius: integers twice as large as the proof allows."""

    def totals(self, view):
        return {name: 2 * values for name, values in super().totals(view).items()}


def _as(kind, question):
    return kind(**{field.name: getattr(question, field.name) for field in fields(question)})


def _broken_shares(kind):
    """S too large for N and the second part."""
    balanced = _balanced(Moments if issubclass(kind, Moments) else LiftedGram)
    n, s, m = balanced.noise_scales
    return kind(balanced.partition, balanced.frames, balanced.radii, (n * 16, s, m * 2))


DEFECTS = {
    "add or remove": (_as(AddRemoveSums, QUESTIONS["sums-cells"]), "antipodes"),
    "a root of two lost": (_as(LostRootSums, QUESTIONS["sums-cells"]), "antipodes"),
    "no radius": (_as(UnclippedSums, QUESTIONS["sums-cells"]), "antipodes"),
    "one region only": (_as(OneRegionCounts, QUESTIONS["counts-cells"]), "counts"),
    "moments, count free": (_as(FreeCountMoments, QUESTIONS["moments-cells"]), "across"),
    "gram, count free": (_as(FreeCountGram, QUESTIONS["gram-cells"]), "across"),
    "gram, no count and no last term": (_as(UncheckedGram, QUESTIONS["gram-without-count-everything"]), "wide"),
    "gram, condition broken": (_broken_shares(UncheckedGram), "antipodes"),
    "moments, condition broken": (_broken_shares(UncheckedMoments), "antipodes"),
    "gram, noise of mirrored entries": (_as(FullUpperGram, QUESTIONS["second-moment-cells"]), "diagonal"),
    "one step paid": (_as(OneStepBisection, QUESTIONS["bisection-linear"]), "bisection"),
    "cells of one direction": (_as(OneDirectionCells, QUESTIONS["stable-cells"]), "cells"),
    "half a score": (_as(HalfScore, QUESTIONS["score"]), "score"),
}
PAIRS = ADVERSARIES | {
    "wide": (at(WEST, (1, 0), 2.0), at(WEST, (-0.6, 0.8), 2.0)),
    "diagonal": (at(WEST, (1, 1), 2.0), at(WEST, (1, -1), 2.0)),
    "bisection": pair_for("bisection-linear"),
    "score": pair_for("score"),
    "cells": pair_for("stable-cells"),
}


@pytest.mark.parametrize(("question", "pair"), DEFECTS.values(), ids=DEFECTS.keys())
def test_the_checker_refuses_a_wrong_sensitivity(question, pair, tmp_path):
    """Each seeded defect is caught by the very check that the real questions pass."""
    first, second = (totals_of(question, write(tmp_path, [r])) for r in PAIRS[pair])
    with pytest.raises(AssertionError, match="further apart"):
        check(question, first, second)


def test_the_checker_refuses_a_record_that_counts_twice(tmp_path):
    """A bisection whose histogram holds a record twice moves a count by two."""

    class Twice(Bisection):
        def totals(self, view):
            return {"histogram": 2 * super().totals(view)["histogram"]}

    question = _as(Twice, QUESTIONS["bisection-linear"])
    first, second = (totals_of(question, write(tmp_path, [r])) for r in PAIRS["bisection"])
    with pytest.raises(AssertionError, match="more than one"):
        check(question, first, second)


def test_records_that_lean_on_each_other_are_noticed(tmp_path):
    """A statistic that centres by the block's own mean fails the bit-by-bit comparison of shares."""

    class Centred(ClippedSums):
        def totals(self, view):
            view.block -= np.nanmean(view.block, axis=1, keepdims=True)
            return super().totals(view)

    question = _as(Centred, QUESTIONS["sums-cells"])
    rows, changed = [(-4.0, 0.1), (4.0, 0.2), (3.9, 0.0)], [(-3.9, 0.1), (4.0, 0.2), (3.9, 0.0)]
    before, after, old, new = (
        totals_of(question, write(tmp_path, table)) for table in [rows, changed, alone(rows, 0), alone(changed, 0)]
    )
    assert difference(before, after) != difference(old, new)


# -- shares that break the condition are refused --------------------------------------------------------------

UNBALANCED = Fraction(1, 10), Fraction(8, 10), Fraction(1, 10)


@pytest.mark.parametrize("kind", [Moments, LiftedGram])
@pytest.mark.parametrize(
    "shares",
    [UNBALANCED, (Fraction(0), Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 2),) * 3],
    ids=["s", "zero", "sum"],
)
def test_shares_that_break_the_proof_are_refused(kind, shares):
    """4 N M < S^2, a share of nothing, and shares beyond the whole raise when the question is built."""
    with pytest.raises(ValueError, match="share"):
        kind.priced(*_framed("cells"), PRICE, shares)


def test_moments_of_broken_scales_cannot_be_built_directly():
    """The condition is on the integers themselves, so no stored or hand-made question escapes it."""
    good = QUESTIONS["moments-cells"]
    n, s, q = good.noise_scales
    with pytest.raises(ValueError, match="2 wN wQ"):
        replace(good, noise_scales=(64 * n, s, 64 * q))


# -- prices --------------------------------------------------------------------------------------------------


@settings(quick, max_examples=60)
@given(rho=st.one_of(st.floats(1e-6, 10), st.fractions(Fraction(1, 10**6), 10)), data=st.data())
@example(rho=10, data=None)
@example(rho=Fraction(1, 10**6), data=None)
def test_priced_questions_cost_what_was_asked(rho, data):
    """Price at most what was asked and above 0.999 of it; noise of at least 2^20 for every rho up to 10."""
    asked = 2 * Fraction(rho)
    shares = Fraction(20, 100), Fraction(45, 100), Fraction(35, 100)
    for name in PARTITIONS:
        partition, frames, radii = _framed(name)
        for question in (
            Counts.priced(partition, asked),
            ClippedSums.priced(partition, frames, radii, asked),
            Moments.priced(partition, frames, radii, asked, shares),
            LiftedGram.priced(partition, frames, radii, asked, shares),
            LiftedGram.second_moment(partition, frames, radii, asked),
        ):
            _check_price(question, asked)
    score = QUESTIONS["score"]
    _check_price(BoundedScore.priced(score.first, score.second, 4.0, asked), asked)
    bisection = QUESTIONS["bisection-log"]
    _check_price(replace(bisection, steps=20, noise_scale=Bisection.noise_for(20, asked)), asked)


def _check_price(question, asked):
    assert question.squared_distance <= asked
    assert question.squared_distance > asked * Fraction(999, 1000)
    assert all(part.noise_scale >= 1 << 20 for part in question.parts.values())


@settings(quick, max_examples=60)
@given(
    asked=st.fractions(Fraction(1, 10**9), 20),
    n=st.integers(1, 97),
    m=st.integers(1, 97),
)
@example(asked=Fraction(123457, 10**6), n=50, m=2)
@example(asked=Fraction(1, 3), n=96, m=1)
def test_shares_on_the_edge_of_the_condition_cost_no_more_than_asked(asked, n, m):
    """With S^2 = 4 N M to within a rational's width, rounding noise to integers breaks neither price nor proof."""
    shares = Fraction(n, 400), Fraction(math.isqrt(4 * n * m * 10**12), 400 * 10**6), Fraction(m, 400)
    for kind in (Moments, LiftedGram):
        question = kind.priced(*_framed("cells"), asked, shares)
        assert question.squared_distance <= asked


SMALLER = {
    "counts": lambda q: replace(q, noise_scale=q.noise_scale - 1),
    "sums": lambda q: replace(q, noise_scale=q.noise_scale - 1),
    "score": lambda q: replace(q, noise_scale=q.noise_scale - 1),
    "joint": lambda q: replace(q, noise_scale=q.noise_scale - 1),
    "bisection": lambda q: replace(q, noise_scale=q.noise_scale - 1),
    "second-moment": lambda q: replace(q, noise_scales=(0, 0, q.noise_scales[2] - 1)),
}


@pytest.mark.parametrize("name", [n for n in QUESTIONS if n.rsplit("-", 1)[0] in SMALLER])
def test_noise_is_the_smallest_integer_that_fits(name):
    """One integer less, and the price would exceed what was asked."""
    question = QUESTIONS[name]
    assert question.squared_distance <= PRICE
    assert SMALLER[name.rsplit("-", 1)[0]](question).squared_distance > PRICE


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("kind", [Moments, LiftedGram])
def test_noise_of_each_part_is_the_smallest_integer_for_its_share(kind, index):
    """Every part of a joint release spends its own share to the last integer."""
    shares = Fraction(30, 100), Fraction(40, 100), Fraction(30, 100)
    question = kind.priced(*_framed("cells"), PRICE, shares)
    factor = (COUNT_FACTOR, SUM_FACTOR, 1)[index]
    reach = Fraction(GRID) ** index * factor
    sd = question.noise_scales[index]
    assert 2 * (reach / sd) ** 2 <= shares[index] * PRICE < 2 * (reach / (sd - 1)) ** 2


def test_the_catalogue_has_every_kind_over_every_partition():
    """The checks above cover the closed list."""
    kinds = {type(question) for question in QUESTIONS.values()}
    assert kinds == {*CLOSED_LIST} - {InPeriod, OfSample, PerPerson, PersonSizes, Radial}  # audited apart
    assert 7 * len(PARTITIONS) + 15 == len(QUESTIONS)
    assert distance(QUESTIONS["counts-cells"], {"count": [0, 0]}) == 0
