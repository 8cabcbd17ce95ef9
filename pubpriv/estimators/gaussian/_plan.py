"""The questions of a run of `estimate_gaussian` and the price of each, fixed before a private row is read.

The driver executes this object, and a run is priced from it without being run. Where the rounds end early, the final
release gets what the others would have cost: there is a plan for each end, all with the same sum. Source of the shares:
measurements, see `benchmarks.learner`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar, Self, TypeVar

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import GRID, Frame
from pubpriv.data.questions import Bisection, LiftedGram
from pubpriv.data.questions.base import COUNT_FACTOR, SUM_FACTOR, noise_for
from pubpriv.data.questions.radial import GAUSSIAN
from pubpriv.data.regions import Everything, Shells
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._far_out import far_share
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators._lattice import lattice
from pubpriv.estimators._whole_rows import COUNT_SHARE, count_question
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse
from pubpriv.estimators.gaussian import _pure
from pubpriv.estimators.gaussian._all_rows import shells_of_round
from pubpriv.estimators.gaussian._degenerate_columns import Layout, scale_question
from pubpriv.estimators.gaussian._shells import Cut, blank_cut, far_question, fourth_question, histogram_question
from pubpriv.privacy.budgets import Budget, Purse, percent

_ROUND_SHARES = (percent(3),) * 6 + (percent(8),)
"""Largest shares of the rounds that bring the records to standard coordinates; the final release takes the rest."""

_LEAST_ROUNDS, _AMPLE = Fraction(1, 4), 6.0
"""With more rows, rounds need less, down to `_LEAST_ROUNDS` of those shares: they fall from where n sqrt(rho) is
`_AMPLE` times the line of feasibility, so that a round's noise stays what it is there. A round cannot see variances
below its noise, about a quarter of the average there, so eight rounds still correct a condition number of 1e4."""

_SEARCH = Fraction(3, 1000)
"""Share of the whole budget for the search of a round's radius ..."""

_SEARCH_RANK = 3000
"""... or this over n^2, as rho, if that is more; at most a quarter of the round."""

_REACH = 1e9
"""A radius is searched for within this factor of its typical value, up and down."""

_TOLERANCE = 0.06
"""Width of a cell of that search, in the logarithm."""

_EARLY, _WORTH = 1 << 16, 4
"""All rounds but the last read about so many rows, or as many as their noise needs, if there are so many times as many:
by sampling, a covariance of ten columns is off by 4% in them. What few rows show, the last round sees."""

_SLOPE, _LEAST = 10.0, 150.0
"""A run is feasible from n sqrt(rho) >= max(SLOPE d^1.5, LEAST)."""

_HISTOGRAM_SHARES, _FOURTH_SHARE = (percent(5), percent(20)), percent(2)
"""Least and largest share of the histogram of |w| in the budget, and the share of the fourth moments."""

_TELLING = 0.0063
"""The histogram gets more than its least share if the noise of a bin exceeds this share of n d: few rows of few columns
hardly distinguish one tail from another."""

CHECK_SHARE = percent(2)
"""Share of the histogram in the budget if it only tests whether the rows are Gaussian."""

_COUNTED = percent(5)
"""Share of the counts of shells in the last release: they show outliers, which traces show only with few columns."""

_SCALE_SHARE, _SCALES_SHARE = percent(2), percent(10)
"""Share of the scale of one degenerate column in the budget, and the most for all of them together."""


@public_value
@dataclass(frozen=True)
class LearnerPlan(Plan):
    """The questions of the learner.

    Attributes:
        count: ask for the number of whole rows, before all others.
        round_mean: relative weight theta of the mean to the second moment in a round's joint release.
        rounds: asks for radius and moments of each round; empty if no column is whitened.
        final: ask of the last release.
        counted: share of its counts in the last release.
        histogram: ask for the histogram of |w|.
    """

    round_mean: ClassVar[Fraction] = Fraction(3, 10)
    counted: ClassVar[Fraction] = Fraction(0)
    whitens_all: ClassVar[bool] = False

    count: Ask
    rounds: tuple[tuple[Ask, Ask], ...]
    final: Ask
    histogram: Ask

    def theta(self, d: int) -> Fraction:
        """Weight of the mean in the last release of d columns."""
        return final_theta(d)

    @property
    def paths(self) -> tuple[Self, ...]:
        """The plans by where the rounds may end; see `with_rounds`."""
        ends = range(1, len(self.rounds)) if self.may_end else ()
        return tuple(map(self.with_rounds, ends)) or (self,)

    @property
    def may_end(self) -> bool:
        """Whether rounds may be left out: prices of radial noise do not add up."""
        return self.final.law == GAUSSIAN

    def with_rounds(self, number: int) -> Self:
        """Make the plan with so many rounds before the last one: the final release gets what the others would cost."""
        skipped = [ask for pair in self.rounds[number:-1] for ask in pair]
        if not skipped:
            return self
        labels, question = {ask.label for ask in skipped}, self.final.question
        assert isinstance(question, LiftedGram)  # as in all plans that may end
        price = sum((ask.price for ask in skipped), self.final.price)
        final = replace(self.final, numerator=price.numerator, denominator=price.denominator)
        d = len(question.frames[0].center)
        noise = joint_question(Frame((0.0,) * d), 1.0, self.theta(d), final, self.counted).noise_scales
        final = replace(final, question=replace(question, noise_scales=noise))
        asks = tuple(final if ask is self.final else ask for ask in self.asks if ask.label not in labels)
        return replace(self, asks=asks, rounds=(*self.rounds[:number], *self.rounds[-1:]), final=final)


AnyPlan = TypeVar("AnyPlan", bound=LearnerPlan)


@public_value
@dataclass(frozen=True)
class TablePlan(LearnerPlan):
    """The questions of the target `moments` or `auto`.

    Attributes:
        scales: asks for the scales of the degenerate columns, in order; None where the user gave it.
        fourth: ask for the fourth moments of the columns.
        far: ask for the rows that each column takes far out; None: that would tell nothing.
        may_be_gaussian: whether the release may use a Gaussian's shape to restore what clipping lost.
        of_mean: whether only the mean is reported.
    """

    counted: ClassVar[Fraction] = _COUNTED
    whitens_all: ClassVar[bool] = True

    scales: tuple[Ask | None, ...]
    fourth: Ask
    far: Ask | None
    may_be_gaussian: bool
    of_mean: bool = False

    def theta(self, d: int) -> Fraction:
        """Weight of the mean in the last release of d columns."""
        return final_theta(d, self.of_mean)


def round_shares(n: int, d: int, purse: Purse, frame: Frame, of_all: bool = False) -> dict[str, tuple[Fraction, Blank]]:
    """Give the shares of the rounds' questions, in order, with the makers of their placeholders in `frame`.

    Args:
        n: number of private rows.
        d: number of whitened columns.
        purse: purse of the run.
        frame: a frame of the rounds' shape.
        of_all: whether the last round whitens all rows.
    """
    parts = _pure.round_parts(n, d, purse.strength) if purse.radial else _round_parts(n, d, purse.rho)
    blanks = partial(radius_question, frame, 1.0, 0.0), partial(joint_question, frame, 1.0, LearnerPlan.round_mean)
    last = partial(all_rows_question, frame, shells_of_round(n, d, 1.0, 1.0))
    shares: dict[str, tuple[Fraction, Blank]] = {}
    for number, (radius, moments) in enumerate(parts, start=1):
        shares[f"round-{number}/radius"] = radius, blanks[0]
        shares[f"round-{number}/moments"] = moments, last if of_all and number == len(parts) else blanks[1]
    return shares


def _round_parts(n: int, d: int, rho: float) -> list[tuple[Fraction, Fraction]]:
    """Compute the shares of the rounds' radii and moments under Gaussian noise."""
    spare = Fraction((_AMPLE * _needed(d) / n) ** 2 / rho).limit_denominator(1000)
    scale = min(Fraction(1), max(_LEAST_ROUNDS, spare))
    search = max(scale * _SEARCH, Fraction(_SEARCH_RANK) / (n * n * Fraction(rho)))
    radii = [min(scale * most / 4, search) for most in _ROUND_SHARES]
    return [(radius, scale * most - radius) for radius, most in zip(radii, _ROUND_SHARES, strict=True)]


def early_sample(curator: Curator, public: PublicTable, d: int, purse: Purse) -> int | None:
    """Choose of how many rows one is read in all rounds of d columns but the last; None: all are.

    A round of a quarter of the largest shares has the noise that it has at the line of feasibility with so many rows,
    see `_AMPLE`, and so does the search for its radius. Equal rows are in a sample together, so all are read of a table
    in which they may be many: where a public row is there twice, or every column is on a lattice.

    Args:
        curator: the run.
        public: public rows.
        d: number of whitened columns.
        purse: purse of the run.
    """
    least = max(2 * _AMPLE * _needed(d), math.sqrt(_SEARCH_RANK / (_LEAST_ROUNDS * _SEARCH))) / math.sqrt(purse.rho)
    every = curator.n_rows // max(_EARLY, math.ceil(least))
    distinct = len(np.unique(public.rows, axis=0)) == len(public.rows) and not all(map(lattice, public.rows.T))
    return every if every >= _WORTH and distinct and curator.asks_of_samples else None


def split_with_final(purse: Purse, shares: dict[str, tuple[Fraction, Blank]], blank: Blank) -> dict[str, Ask]:
    """Split the purse; the rest after `shares` is for the last release of all columns."""
    left = 1 - sum((share for share, _ in shares.values()), Fraction(0))
    shares = shares | {"final": (left, blank)}
    if purse.radial:  # the shares are of epsilon
        shares = {name: (_pure.share_of(part), blank) for name, (part, blank) in shares.items()}
    return split_purse(purse, "gaussian", shares)


def learner_plan(purse: Purse, n: int, d: int) -> LearnerPlan:
    """Make the learner's plan for n rows of d columns."""
    frame = Frame((0.0,) * d)
    shares = {"count": (COUNT_SHARE, count_question)} | round_shares(n, d, purse, frame)
    shares["histogram"] = CHECK_SHARE, partial(histogram_question, frame, float(n))
    asks = split_with_final(purse, shares, partial(final_question, frame, 1.0, 1.0))
    histogram = asks.pop("histogram")  # asked last, in coordinates in which the estimate makes the rows standard
    return LearnerPlan((*asks.values(), histogram), asks["count"], rounds_of(asks), asks["final"], histogram)


def rounds_of(asks: Mapping[str, Ask]) -> tuple[tuple[Ask, Ask], ...]:
    """Collect the asks of the rounds, by the names from `round_shares`; none if there are no rounds."""
    numbers = [number for number in range(1, len(_ROUND_SHARES) + 1) if f"round-{number}/radius" in asks]
    return tuple((asks[f"round-{number}/radius"], asks[f"round-{number}/moments"]) for number in numbers)


def table_plan(purse: Purse, n: int, layout: Layout, target: str, of_mean: bool = False) -> TablePlan:
    """Make the plan of the target `moments` or `auto`.

    `auto` may ask one more, how far out columns take rows. Where only the mean is reported, the last one tells more of
    that.

    Args:
        purse: purse of the run.
        n: number of private rows.
        layout: layout of the columns.
        target: as the user chose.
        of_mean: whether only the mean is reported.
    """
    shares, last = table_shares(purse, n, layout, target, of_mean)
    asks = split_with_final(purse, shares, last)
    return TablePlan(
        asks=tuple(asks.values()),
        rounds=rounds_of(asks),
        final=asks["final"],
        count=asks["count"],
        scales=tuple(asks.get(_scale_name(column.index)) for column in layout.degenerate),
        histogram=asks["histogram"],
        fourth=asks["fourth"],
        far=asks.get("far"),
        may_be_gaussian=_may_be_gaussian(layout, target),
        of_mean=of_mean,
    )


def _may_be_gaussian(layout: Layout, target: str) -> bool:
    return target == "auto" and not layout.degenerate  # degenerate columns are not Gaussian


def table_shares(
    purse: Purse, n: int, layout: Layout, target: str, of_mean: bool
) -> tuple[dict[str, tuple[Fraction, Blank]], Blank]:
    """Give the shares of all questions but the last, in order, with the makers of these, and the last one's maker."""
    d, regular, learnt = layout.dimension, len(layout.regular), layout.learnt
    shares: dict[str, tuple[Fraction, Blank]] = {"count": (COUNT_SHARE, count_question)}
    if regular:
        of_all = TablePlan.whitens_all and not purse.radial
        shares |= round_shares(n, regular, purse, Frame((0.0,) * d, ((0.0,) * d,) * regular), of_all)
    for column in learnt:
        share = min(_SCALE_SHARE, _SCALES_SHARE / len(learnt))
        shares[_scale_name(column.index)] = share, partial(scale_question, layout, column)
    frame, blank = Frame((0.0,) * d), blank_cut()
    shares["histogram"] = _histogram_share(n, d, purse.rho), partial(histogram_question, frame, float(n))
    if _may_be_gaussian(layout, target) and (far := far_share(n, d, purse)):
        shares["far"] = far, partial(far_question, frame)
    shares["fourth"] = _FOURTH_SHARE, partial(fourth_question, frame, blank)
    return shares, partial(shells_question, frame, blank, counted=_COUNTED, of_mean=of_mean)


def _histogram_share(n: int, d: int, rho: float) -> Fraction:
    """Compute the share of the histogram of |w|."""
    least, most = _HISTOGRAM_SHARES
    return min(most, max(least, Fraction(1 / (rho * (_TELLING * n * d) ** 2)).limit_denominator(1000)))


def _scale_name(index: int) -> str:
    return f"scale-{index + 1}"


def radius_question(frame: Frame, typical: float, rank: float, ask: Ask) -> Bisection:
    """Ask for the radius that `rank` records do not exceed, within `_REACH` or `_pure.REACH` of `typical`."""
    reach, tolerance = (_REACH, _TOLERANCE) if ask.law == GAUSSIAN else (_pure.REACH, _pure.TOLERANCE)
    steps = math.ceil(math.log2(2 * math.log(reach) / tolerance))
    noise = Bisection.noise_for(steps, ask.price)
    return Bisection(frame, typical / reach, typical * reach, steps, rank, noise, logarithmic=True)


def final_question(frame: Frame, radius: float, end: float, ask: Ask) -> LiftedGram:
    """Make the learner's last release, with an extra region for rows further out than `end` where that costs nothing.

    Under Gaussian noise all regions share one price. Radial noise would be sqrt(2) times as large with two regions, so
    a pure run has one region, in which such rows are clipped.
    """
    if ask.law != GAUSSIAN:
        return joint_question(frame, radius, final_theta(frame.dimension), ask)
    return shells_question(frame, Cut(True, 1.0, 0.0, (max(end, radius),), (radius, radius)), ask)


def joint_question(
    frame: Frame, radius: float, theta: Fraction, ask: Ask, counted: Fraction = Fraction(0)
) -> LiftedGram:
    """Ask for count, sum and second moment of clipped records in one release.

    With weights wS^2 = theta R^2 wM^2 and no count, the squared distance is 2 wM^2 R^4 (1 + theta / 2)^2, which is
    solved for the noise of the moment; rounding the sum's noise up only lowers the price. A count of the whole records
    is free: at wN = wS^2 / (2 wM) it costs what the worst case without it, wS^4 / (2 wM^2), has paid already, and
    rounding its noise up moves the one into the other. A more precise count adds 2 wN^2 to the price.

    Args:
        frame: the map to w.
        radius: clip radius.
        theta: weight of the sum relative to the moment: its noise is that of the moment over sqrt(theta) radius.
        ask: the price.
        counted: share of the price for a count with less noise than the free one.
    """
    moment = noise_for((1 - counted) * ask.price / (2 * GRID**4 * (1 + theta / 2) ** 2), 1)
    total = noise_for(theta * GRID**2 / moment**2, SUM_FACTOR)
    squared = Fraction(SUM_FACTOR, total) ** 2
    count = noise_for(squared**2 * moment**2 / 4 + counted * ask.price / 2, COUNT_FACTOR)
    return LiftedGram(Everything(), (frame,), (radius,), (count, total, moment))


def shells_question(
    frame: Frame, where: Cut, ask: Ask, counted: Fraction = Fraction(0), of_mean: bool = False
) -> LiftedGram:
    """Ask for count, sum and second moment of the records in the core and in each shell, at the price of one region."""
    return in_shells(joint_question(frame, 1.0, final_theta(frame.dimension, of_mean), ask, counted), where)


def all_rows_question(frame: Frame, where: Cut, ask: Ask) -> LiftedGram:
    """Ask the last round's question of inner rows and of the shells beyond them."""
    return in_shells(joint_question(frame, where.radii[0], LearnerPlan.round_mean, ask), where)


def in_shells(question: LiftedGram, where: Cut) -> LiftedGram:
    """Ask the same of the core and of each shell, at the price of one region: a row enters only one other."""
    (frame,) = question.frames
    return LiftedGram(Shells(frame, where.edges), (frame,) * len(where.radii), where.radii, question.noise_scales)


def final_theta(d: int, of_mean: bool = False) -> Fraction:
    """Compute the weight of the mean in the final release that adds least to the Kullback-Leibler error.

    Minimises (1 + theta / 2)^2 (Q + 1 / theta), Q = d (d + 1) / 4, at a radius of sqrt(d): about 2 / d. Where only the
    mean is reported (`of_mean`), the second moments are needed for its errors and for where rows are cut only, and the
    weight is 1, as for one column: the mean has 6% more noise than at its best weight, the moments a quarter less.
    """
    if of_mean:
        return Fraction(1)
    q = d * (d + 1) / 4
    return Fraction((math.sqrt(0.25 + 4 * q) - 0.5) / (2 * q)).limit_denominator(1 << 20)


def _needed(d: int) -> float:
    """Give the least n sqrt(rho) at which the learner is known to converge."""
    return max(_SLOPE * d * math.sqrt(d), _LEAST)


def _line(d: int, purse: Purse) -> float:
    """Give the line of feasibility: least n sqrt(rho), or n epsilon in a pure run."""
    return _pure.needed(d) if purse.radial else _needed(d)


def feasible(n: float, d: int, purse: Purse) -> bool:
    """Decide whether n rows and this purse reach the line of feasibility."""
    return bool(n * purse.strength >= _line(d, purse))


def check_feasible(n: int, d: int, purse: Purse, allotment: Budget) -> None:
    """Refuse a run that would spend its budget and learn nothing.

    Raises:
        InvalidInput: the run is below the line of feasibility; the message names an n or a budget that suffices.
    """
    if feasible(n, d, purse):
        return
    rows = math.ceil(_line(d, purse) / purse.strength)
    raise InvalidInput(
        f"{n} private rows are too few for the covariance of {d} columns at this budget: it would be spent on noise. "
        f"About {rows} rows would do, or a budget of {_enough(n, d, purse, allotment)}, or fewer columns; force the "
        "run to try anyway"
    )


def enough_for(curator: Curator, d: int, purse: Purse, force: bool) -> Callable[[int], None] | None:
    """Return what refuses too few whole rows, as `check_run` refuses too few rows; None if the run is forced."""
    return None if force else partial(check_feasible, d=d, purse=purse, allotment=curator.budget)


def check_run(curator: Curator, d: int, purse: Purse, force: bool) -> None:
    """Refuse a run of d columns below the line of feasibility, with the rows that it counts, unless it is forced.

    Raises:
        InvalidInput, NoAnswer: see `check_feasible` and `refusing_by`.
    """
    if not force:
        with refusing_by(curator.size):
            check_feasible(curator.n_rows, d, purse, curator.budget)


def _enough(n: int, d: int, purse: Purse, allotment: Budget) -> str:
    """Write the smallest sufficient budget of the allotment's kind, two digits rounded up, for `parse_budget`."""
    strength = _line(d, purse) / n
    return allotment.written(_up(strength if purse.radial else allotment.size_worth(strength**2)))


def _up(value: float) -> str:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / unit) * unit:.3g}"
