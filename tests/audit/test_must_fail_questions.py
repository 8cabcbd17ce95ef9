"""Seeded bugs in questions, noise and prices: each is patched into the product and caught by the audit. About 8 s.

What is patched is the code that a real run uses; the audit's own findings must then not hold, and without the
patch they do.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from pubpriv.audit import _noise_law, _prices, _sensitivity
from pubpriv.audit._catalogue import examples, unsound
from pubpriv.audit._noise_law import _DRAWS, _answered, _at_scales, _Batches
from pubpriv.audit._sensitivity import _searched
from pubpriv.data import completion, images
from pubpriv.data.categories import ByCategory
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.frames import GRID, grid_scale, squared_norms
from pubpriv.data.questions import (
    Bisection,
    ClippedSums,
    Counts,
    FourthMoments,
    JointCounts,
    LiftedGram,
    Moments,
    _counts,
    _moments,
    _region_sums,
)
from pubpriv.data.questions import _bisection as questions_bisection
from pubpriv.data.questions import _score as questions_score
from pubpriv.data.questions import base as questions_base
from pubpriv.data.questions.base import squared_weight
from pubpriv.data.regions import Cells, View
from pubpriv.data.score_frames import ScoreFrame
from pubpriv.privacy import noise
from pubpriv.privacy.budgets import approx
from pubpriv.privacy.noise import OperatingSystemNoise


def broken(*names, tables=1):
    """What a short search finds broken of the examples of those names, built by the product as it is patched now."""
    found = {
        example.name: _searched(example, climb=0, tables=tables, seed=0)
        for example in examples()
        if example.name in names
    }
    assert set(found) == set(names)
    return {name: finding.detail for name, finding in found.items() if not finding.holds}


def priced(mechanism):
    """What a fast audit finds of one kind of price."""
    return next(finding for finding in _prices.findings(True, 0) if finding.mechanism == mechanism)


ASKED, SMALL_NOISE = "Questions built for a price", "Gaussian events with sd below 2^20"
WATCHED = (
    *("counts-everything", "counts-cells", "sums-cells", "sums-overflow", "moments-everything", "moments-cells"),
    *("moments-overflow", "gram-everything", "gram-cells", "gram-overflow", "gram-unbalanced", "second-moment-cells"),
    *("gram-without-count-everything", "bisection-linear", "score"),
)


def weights(question):
    """Squared weights of count, sum and second part."""
    parts = question.parts
    names = ("count", "sum", "diagonal" if "diagonal" in parts else "square")
    return [squared_weight(parts[name]) if name in parts else Fraction(0) for name in names]


@pytest.mark.slow
def test_nothing_is_caught_where_nothing_is_broken():
    """The searches used below, on the product as it is."""
    assert broken(*WATCHED) == {}
    assert priced(ASKED).holds
    assert priced(SMALL_NOISE).holds


# -- sensitivities ---------------------------------------------------------------------------------------------


def test_add_or_remove_sensitivity_of_counts(monkeypatch):
    """A record that is replaced leaves one region and enters another; removed, it only leaves."""
    monkeypatch.setattr(Counts, "squared_distance", property(lambda q: squared_weight(q.parts["count"])))
    assert set(broken("counts-everything", "counts-cells")) == {"counts-cells"}


def test_add_or_remove_sensitivity_of_a_gram(monkeypatch):
    """f(R^2) for one record gone, where replacing it costs twice that."""

    def squared_distance(question):
        n, s, m = weights(question)
        return n + s * GRID**2 + m * GRID**4

    monkeypatch.setattr(LiftedGram, "squared_distance", property(squared_distance))
    assert set(broken("gram-everything", "gram-cells", "second-moment-cells")) == {
        *("gram-everything", "gram-cells", "second-moment-cells")
    }


def test_add_or_remove_sensitivity_of_sums_and_scores(monkeypatch):
    """R and c, where a replacement moves a sum by 2 R, fourth moments by sqrt(2) R and a score by 2 c."""
    real = {kind: kind.squared_distance.fget for kind in (ClippedSums, FourthMoments, questions_score.BoundedScore)}
    for kind, declared in real.items():
        monkeypatch.setattr(kind, "squared_distance", property(lambda q, declared=declared: declared(q) / 4))
    assert set(broken("sums-cells", "fourth-cells", "score")) == {"sums-cells", "fourth-cells", "score"}


def test_groups_that_lean_on_their_neighbours(monkeypatch):
    """A record that is in the group of the one before it: its own region is no function of itself."""
    assert not broken("counts-category", "gram-category", "counts-category-cells", "gram-category-shells")
    real = ByCategory.assign

    def assign(by, view):
        return np.roll(real(by, view), 1)

    monkeypatch.setattr(ByCategory, "assign", assign)
    assert set(broken("gram-category", "sums-category")) == {"gram-category", "sums-category"}


def test_one_column_paid_for_several(monkeypatch):
    """Counts of several columns for the price of the counts of one."""
    assert not broken("counts-column", "columns-joint", "columns-by-category")
    monkeypatch.setattr(_counts, "_changed", lambda partitions: 2)
    assert set(broken("counts-column", "columns-joint", "columns-by-category")) == {
        "columns-joint",
        "columns-by-category",
    }


def test_cells_of_a_column_that_are_measured_from_the_other_rows(monkeypatch):
    """Edges about the middle of the block, which a record moves: others then change their cells."""
    real = ColumnCells.assign

    def assign(partition, view):
        moved = view.block - np.nanmean(np.where(np.isfinite(view.block), view.block, np.nan), axis=1, keepdims=True)
        return real(partition, View(moved))

    monkeypatch.setattr(ColumnCells, "assign", assign)
    assert set(broken("counts-column", "columns-joint")) == {"counts-column", "columns-joint"}


def test_a_record_that_is_counted_in_every_group(monkeypatch):
    """Cells of all groups, whichever its own is: it moves a count in each."""
    assert not broken("columns-by-category")
    real = JointCounts.totals

    def totals(question, view):
        own = real(question, view)["count"]
        parts = np.split(own, np.cumsum([partition.n_regions for partition in question.partitions])[:-1])
        first = question.partitions[0].inner[0].n_regions
        parts[0][first : first + 3] += parts[0][:3]
        return {"count": np.concatenate(parts)}

    monkeypatch.setattr(JointCounts, "totals", totals)
    assert set(broken("columns-by-category")) == {"columns-by-category"}


def test_one_step_of_a_bisection_paid(monkeypatch):
    """All its counts for the price of one."""
    monkeypatch.setattr(Bisection, "squared_distance", property(lambda q: squared_weight(q.parts["count"])))
    assert "bisection-linear" in broken("bisection-linear")


def test_shares_that_sum_to_more_than_a_record(monkeypatch):
    """Each share is rounded up by itself, so that those of a record between components are more than it."""
    assert not broken("gram-shares", "moments-shares")

    def divided(cells, view, grain):
        parts = np.exp(cells.scores(view) - cells.scores(view).max(axis=0))
        return np.ceil(grain * parts / parts.sum(axis=0))

    monkeypatch.setattr(Cells, "shares", divided)
    assert set(broken("gram-shares", "moments-shares"))


def test_shares_that_lean_on_other_records(monkeypatch):
    """Scores are measured from the mean of the block, which each record moves."""
    real = Cells.scores

    def scores(cells, view):
        found = real(cells, view)
        return found + np.nanmean(np.where(np.isfinite(found), found, np.nan), axis=1, keepdims=True)

    monkeypatch.setattr(Cells, "scores", scores)
    assert set(broken("gram-shares")) == {"gram-shares"}


COMPLETED = "completed-gram", "completed-tight", "completed-shells", "completed-cells"


def test_uncertain_directions_without_their_bound(monkeypatch):
    """Records are kept as if V V' took no room: clipped to the whole radius, they are longer than the price is for."""
    assert not broken(*COMPLETED)
    monkeypatch.setattr(completion, "bounds_of", lambda vectors: np.zeros(len(vectors)))
    assert "completed-tight" in broken(*COMPLETED)


def test_uncertain_directions_that_are_added_larger_than_they_are_bounded(monkeypatch):
    """The covariance is scaled after the check."""
    real = completion.Directions.weighed
    monkeypatch.setattr(completion.Directions, "weighed", lambda each, counts: 4 * real(each, counts))
    assert set(broken(*COMPLETED)) == {*COMPLETED}


def test_records_completed_by_the_means_of_a_block(monkeypatch):
    """A fill that each record moves: a record then leans on the others."""
    real = completion.Completion.of.__func__

    def of(cls, block, fill, product, out):
        found = real(cls, block, fill, product, out)
        if found is not None:
            means = np.nanmean(np.where(np.isfinite(block), block, np.nan), axis=1, keepdims=True)
            found.block[:] = np.where(np.isnan(block) & np.isfinite(found.block), means, found.block)
        return found

    monkeypatch.setattr(completion.Completion, "of", classmethod(of))
    assert set(broken("completed-gram", "completed-sums")) == {"completed-gram", "completed-sums"}


def test_patterns_that_lean_on_each_other(monkeypatch):
    """Factors of a pattern are computed with those of the patterns that happen to be in the block."""
    real = completion._Patterns.inverse_factors
    monkeypatch.setattr(
        completion._Patterns, "inverse_factors", lambda each: real(each) * (1 + 1e-4 * (len(each.numbers) - 1))
    )
    assert set(broken("completed-gram", "completed-sums", tables=20)) == {"completed-gram", "completed-sums"}


def test_a_root_of_two_lost_in_every_weight(monkeypatch):
    """Sensitivity over noise smaller than it is, wherever a question asks for it."""
    half = lambda part: squared_weight(part) / 2  # noqa: E731
    for module in (_counts, _region_sums, _moments, questions_bisection, questions_score):
        monkeypatch.setattr(module, "squared_weight", half)
    assert set(broken(*WATCHED)) >= {"counts-cells", "sums-cells", "gram-cells", "bisection-linear", "score"}


@pytest.mark.parametrize("kind", [Moments, LiftedGram])
def test_counts_that_are_not_charged(kind, monkeypatch):
    """The term 2 wN^2 forgotten."""
    real = kind.squared_distance.fget
    monkeypatch.setattr(kind, "squared_distance", property(lambda q: real(q) - 2 * weights(q)[0]))
    name = "moments-cells" if kind is Moments else "gram-cells"
    assert "further than declared" in broken(name)[name]


def test_a_share_condition_that_is_not_checked(monkeypatch):
    """2 sS^2 < sN sM accepted: Moments are built although their proof does not hold, and the search shows the cost."""
    monkeypatch.setattr(Moments, "__post_init__", lambda question: None)
    name = next(name for name in unsound() if "2 wN wQ" in name)
    finding = _sensitivity._refused(name, unsound()[name], 0)
    assert not finding.holds
    assert "further than declared" in finding.detail
    assert finding.found > finding.claimed


def test_a_last_term_that_is_forgotten(monkeypatch):
    """A Gram whose count weighs too little, or is not asked, costs more than 2 f(R^2) within a region."""

    def squared_distance(question):
        n, s, m = weights(question)
        return 2 * (n + s * GRID**2 + m * GRID**4)

    monkeypatch.setattr(LiftedGram, "squared_distance", property(squared_distance))
    assert set(broken("gram-unbalanced", "gram-without-count-everything", "gram-cells")) == {
        *("gram-unbalanced", "gram-without-count-everything")
    }


def test_mirrored_entries_with_half_their_noise(monkeypatch):
    """sd / 2 above the diagonal, where sd / sqrt 2 is what Frobenius geometry needs."""
    real = _moments.root_up
    monkeypatch.setattr(_moments, "root_up", lambda value: real(value / 2))
    assert "second-moment-cells" in broken("second-moment-cells")


def _negative_test(z, norms, radius, *_):
    """`quantise` as the prototypes had it: records beyond the ball are dropped, by multiplying with zero."""
    z = z * grid_scale(z.shape[0], radius) * np.minimum(1.0, radius / np.sqrt(norms))
    q = np.rint(z)
    q = q * ~(squared_norms(q) > GRID * GRID)
    return q, np.ones(q.shape[1], dtype=bool)


def test_nan_that_passes_the_check(monkeypatch):
    """A negative test lets NaN through: no comparison with it is true."""
    monkeypatch.setattr(images, "quantise", _negative_test)
    caught = broken("sums-overflow", "moments-overflow", "gram-overflow")
    assert set(caught) == {"sums-overflow", "moments-overflow", "gram-overflow"}
    assert all("one record adds more than" in detail for detail in caught.values())


def test_records_that_are_not_clipped(monkeypatch):
    """No radius and no check: a record adds what it likes."""

    def quantise(z, norms, radius, *_):
        return np.rint(z * grid_scale(z.shape[0], radius)), np.ones(z.shape[1], dtype=bool)

    monkeypatch.setattr(images, "quantise", quantise)
    assert "one record adds more than" in broken("sums-cells")["sums-cells"]


# -- noise -----------------------------------------------------------------------------------------------------


def test_a_root_of_two_lost_in_the_noise_that_is_asked_for(monkeypatch):
    """A smaller sd for a price than it needs: the price of the question tells."""
    real = questions_base.noise_for
    lost = lambda weight, factor: math.isqrt(real(weight, factor) ** 2 // 2)  # noqa: E731
    for module in (_counts, _region_sums, _moments, questions_bisection, questions_score):
        monkeypatch.setattr(module, "noise_for", lost)
    assert "of what was asked" in priced(ASKED).detail


def test_a_root_of_two_lost_in_the_noise_that_is_drawn(monkeypatch):
    """The source draws less than it is asked for."""
    real = noise._discrete_gaussian
    monkeypatch.setattr(noise, "_discrete_gaussian", lambda sd, size: real(math.isqrt(sd * sd // 2), size))
    finding = _answered("Counts", _noise_law._questions()["Counts"], _Batches(OperatingSystemNoise(), 6000))
    assert not finding.holds
    assert finding.found > finding.claimed


@pytest.mark.parametrize("factor", [(100, 102), (102, 100)], ids=["too little", "too much"])
def test_two_percent_in_the_noise_that_is_drawn(factor, monkeypatch):
    """At the scale where a fast audit has enough draws."""
    generator, (times, over) = np.random.default_rng(3), factor  # of the same law, and quick
    twin = lambda sd, size: np.rint(generator.normal(0, sd, size)).astype(np.int64)  # noqa: E731
    monkeypatch.setattr(noise, "_discrete_gaussian", twin)
    assert _at_scales("the system's noise", OperatingSystemNoise(), {30: _DRAWS}).holds
    monkeypatch.setattr(noise, "_discrete_gaussian", lambda sd, size: twin(sd * times // over, size))
    assert not _at_scales("the system's noise", OperatingSystemNoise(), {30: _DRAWS}).holds


def test_one_sd_for_all_entries(monkeypatch):
    """An answer that asks for less noise on a part than the question declares."""
    real = LiftedGram.answer

    def answer(question, totals, draw, parts=None):
        least = min(part.noise_scale for part in question.parts.values())
        return real(question, totals, lambda name, sd, size: draw(name, least, size))

    monkeypatch.setattr(LiftedGram, "answer", answer)
    finding = _answered("LiftedGram", _noise_law._questions()["LiftedGram"], _Batches(OperatingSystemNoise(), 2000))
    assert "declares" in finding.detail


# -- prices ----------------------------------------------------------------------------------------------------


def test_noise_below_two_to_the_twenty_in_a_gdp_ledger(monkeypatch):
    """Its discrete Gaussians cost more than their mu."""
    monkeypatch.setattr(approx, "_SMALLEST_SD", 1)
    finding = priced(SMALL_NOISE)
    assert not finding.holds
    assert "sd 1048575 has a price" in finding.detail or "sd 1 has a price" in finding.detail


# -- scores ----------------------------------------------------------------------------------------------------

SCORES = ("sums-score", "gram-score", "counts-score", "gram-beside-score")


def test_scores_that_lean_on_their_block(monkeypatch):
    """A residual that is centred by the block's own mean: a record's score is no function of itself."""
    assert not broken(*SCORES)
    real = ScoreFrame.map

    def centred(frame, block, out):
        real(frame, block, out)
        out -= np.nanmean(np.where(np.isfinite(out[0]), out[0], np.nan))
        return out

    monkeypatch.setattr(ScoreFrame, "map", centred)
    assert set(broken("sums-score", "gram-score")) == {"sums-score", "gram-score"}


def test_scores_whose_residual_is_read_beside_the_clip(monkeypatch):
    """The regressors are clipped, and then multiplied by a residual of any size: no vector in the ball is left."""
    real = images.quantise

    def longer(z, norms, radius, *rest):
        residuals = np.abs(z[0]).copy()
        q, keep = real(z, norms, radius, *rest)
        q *= np.rint(np.minimum(np.maximum(residuals, 1), 4))
        return q, keep

    monkeypatch.setattr(images, "quantise", longer)
    assert set(broken("sums-score", "gram-score")) == {"sums-score", "gram-score"}
