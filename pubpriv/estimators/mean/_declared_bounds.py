"""The mean of columns that all have declared bounds, `clip(column, low, high)`: one sum, from which nothing is cut off.

With c the middle of the bounds and h half their width, z = (x - c) / h lies in the cube [-1, 1]^d, so in the ball of
radius R = sqrt(d). The sum of z alone costs 4 wS^2 R^2. Number and second moment of the rows cost nothing beside it:
the price of all three is 2 (wN^2 + wS^2 R^2 + wM^2 R^4) if 2 wN wM >= wS^2 (`LiftedGram`), and wN^2 = wS^2 R^2 / 2
with wM^2 = wS^2 / (2 R^2) makes it 4 wS^2 R^2, too. So the noise is that of a plain clipped mean at the same price, and
the sampling errors are released ones.

Bounds that are far wider than the rows make this noise large, which a note says. Where they are but a safety net, the
estimators that learn where the rows lie are taken; see `bounds_that_suit`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.curator import Curator
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.columns import parse_columns
from pubpriv.data.frames import Frame
from pubpriv.data.questions import LiftedGram
from pubpriv.data.regions import Everything
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._whole_rows import WholeRows, left_out, of_persons, whole_rows_of
from pubpriv.estimators.asks import MOMENTS_SHARES, Ask, Plan, split_purse
from pubpriv.estimators.matrices import floored
from pubpriv.estimators.mean._reference import MeanResult
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_mean
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding

METHOD = "declared-bounds"

_WIDER, _FEW = 1000.0, 30
"""Half a width of the bounds, in distances from the median to the furthest public row, from which the bounds are taken
for a safety net and the rows are looked for instead; fewer than `_FEW` public rows make it larger in proportion, since
they show little of how far rows reach. A smaller number gains where tails are light: at 12 normal rows have a tenth of
the noise. It loses where public rows show none of the few rows that lie far out, and nothing else does: with 64, rows
of which one in a hundred lies near a bound had seven times the error, and 17% of the intervals held."""

_LOOSE = 12.0
"""The same, from which a note says that narrower bounds would do better."""

_DROWNED = 0.25
"""Noise of a mean, as a part of half the bounds' width, above which its interval is as wide as half the bounds."""


@public_value
@dataclass(frozen=True)
class DeclaredBounds:
    """The declared bounds of all d columns.

    Attributes:
        low, high: (d,).
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, columns: tuple[str, ...]) -> "DeclaredBounds | None":
        """Read them off the names of columns; None: some column has none."""
        between = [column.between for column in parse_columns(columns)]
        if any(each is None for each in between):
            return None
        low, high = zip(*(each for each in between if each is not None), strict=True)
        return cls(low, high)

    @property
    def middle(self) -> np.ndarray:
        """(d,)."""
        return np.array(self.low) / 2 + np.array(self.high) / 2

    @property
    def half(self) -> np.ndarray:
        """Half the widths, (d,)."""
        return np.array(self.high) / 2 - np.array(self.low) / 2

    def frame(self) -> Frame:
        """The map to the cube."""
        return Frame(tuple(self.middle.tolist()), None, tuple((1 / self.half).tolist()))

    def spread(self, public: PublicTable) -> float:
        """Give the public standard deviation in half widths, root mean square; 1 if the rows are too few for one."""
        if len(public.rows) < 2:
            return 1.0
        return float(np.sqrt(np.mean((public.rows.std(axis=0, ddof=1) / self.half) ** 2)))

    def looseness(self, public: PublicTable) -> float:
        """Give half widths over the distance to the furthest public row, root mean square over columns.

        0 if public rows show none, in some column. See `_FEW`.
        """
        if len(public.rows) < 2:
            return 0.0
        reach = np.abs(public.rows - np.median(public.rows, axis=0)).max(axis=0)
        if not (reach > 0).all():
            return 0.0
        return float(np.sqrt(np.mean((self.half / reach) ** 2))) * min(len(public.rows) / _FEW, 1.0)


def bounds_that_suit(public: PublicTable) -> DeclaredBounds | None:
    """Return the bounds if all columns have some that are not far wider than the public rows: one sum is taken then.

    Without two public rows that differ in each column, a sum is the safe choice. Public.
    """
    bounds = DeclaredBounds.of(public.columns)
    return bounds if bounds is not None and bounds.looseness(public) <= _WIDER else None


def bounded_plan(purse: Purse, d: int) -> Plan:
    """Plan the one question about d columns."""
    blank = partial(_question, Frame((0.0,) * d))
    return Plan(tuple(split_purse(purse, "mean", {"bounded": (Fraction(1), blank)}).values()))


def check_noise(n: int, d: int, purse: Purse) -> None:
    """Refuse a run whose answer would say little more than the bounds do.

    Raises:
        InvalidInput: the message names an n and a budget that suffice.
    """
    noise = _noise(bounded_plan(purse, d), n)
    if noise > _DROWNED:
        more = noise / _DROWNED
        raise InvalidInput(
            f"noise alone would move each mean by {noise:.2g} of half the width of its bounds: take "
            f"{math.ceil(more * n):,} rows, {more**2:.2g} times the budget, fewer columns or narrower bounds; force "
            "the run to try anyway"
        )


@public_value
@dataclass(frozen=True)
class BoundedSums:
    """Released moments of rows in the cube.

    Attributes:
        whole: number of rows without a missing value.
        mean: of z, (d,).
        second: mean of z z', (d, d).
        noise: sds of the noise in a coordinate of `mean` and in a diagonal entry of `second`.
    """

    whole: WholeRows
    mean: tuple[float, ...]
    second: Matrix
    noise: tuple[float, float]


@step(title="sums between declared bounds", private=True)
def sum_bounded(curator: Curator, bounds: DeclaredBounds, ask: Ask) -> BoundedSums:
    """Count the rows, and sum them and their products.

    Privacy: one `LiftedGram`, mu^2 at most ask.price.
    """
    answer = curator.release(_question(bounds.frame(), ask), ask.label)
    noise = {name: float(sd.flat[0]) for name, sd in answer.question.noise().items()}
    whole = whole_rows_of(curator.size, float(answer.values["count"][0]), noise["count"])
    n = max(whole.rows, 2.0)
    mean, second = answer.values["sum"][0] / n, answer.values["moment"][0] / n
    inside = tuple(np.clip(mean, -1, 1).tolist())
    return BoundedSums(whole, inside, row_tuples(second), (noise["sum"] / n, noise["moment"] / n))


def bounded_mean(
    run: Execution, bounds: DeclaredBounds, public: PublicTable, purse: Purse
) -> tuple[MeanResult, np.ndarray, np.ndarray]:
    """Estimate the mean by one sum.

    Returns:
        The result, in half widths of the bounds; the covariance (d, d) in the data's units; and the sds of its noise.
    """
    curator, d = run.curator, len(bounds.low)
    plan = bounded_plan(purse, d)
    curator.rehearse(plan.questions)
    found = run(sum_bounded, bounds, plan.asks[0])
    mean, size, n = np.array(found.mean), curator.size, max(found.whole.rows, 2.0)
    uncounted = found.whole.sd / n if found.whole.fewer or size.sd else 0.0
    covariance = floored(np.array(found.second) - np.outer(mean, mean), found.noise[1])
    # no law between the bounds varies more than one that has its mean and lies at both ends (Bhatia and Davis 2000)
    most = 1 - np.maximum(np.abs(mean) - found.noise[0], 0) ** 2
    variances = np.minimum(np.diag(covariance), most)
    center = np.clip(bounds.middle + bounds.half * mean, bounds.low, bounds.high)
    result = MeanResult(
        center=tuple(center.tolist()),
        sampling=tuple(np.sqrt(variances / n).tolist()),
        privacy=tuple(np.hypot(found.noise[0], mean * uncounted).tolist()),
        findings=(*_flaws(found, uncounted), *_loose(bounds, public), *of_persons(size)),
        diagnostics={"whole_rows": found.whole.rows, "bounds": [list(bounds.low), list(bounds.high)]},
        notes=left_out(size, found.whole.rows, found.whole.sd),
    )
    scale = np.outer(bounds.half, bounds.half)
    return result, covariance * scale, np.full((d, d), found.noise[1]) * scale


def _flaws(found: BoundedSums, uncounted: float) -> tuple[Finding, ...]:
    """Find what makes the mean no answer; `uncounted` is the sd of the number of whole rows, as a part of it."""
    if SURELY * uncounted > 1:
        text = "almost no private row has a number in each column: the mean is that of noise"
        remedy = "look at the file: a column may be text, have decimal commas, or be empty"
        return (Finding("no-rows", (), DOUBTFUL, text, remedy=remedy),)
    if found.noise[0] > _DROWNED:
        text = "noise moves each mean by a good part of the width of its bounds"
        remedy = "more private rows, a larger budget, fewer columns or narrower bounds"
        return (Finding("few-rows", (), DOUBTFUL, text, {"noise": found.noise[0]}, remedy=remedy),)
    return ()


def _loose(bounds: DeclaredBounds, public: PublicTable) -> tuple[Finding, ...]:
    loose = bounds.looseness(public)
    if loose <= _LOOSE:
        return ()
    text = "the declared bounds are much wider than the public rows reach, and noise grows with them"
    remedy = "narrower bounds, or let the covariance be learnt (unknown): noise is less where no row lies far out"
    return (Finding("loose-bounds", (), NOTE, text, {"times": loose}, remedy=remedy),)


def _question(frame: Frame, ask: Ask) -> LiftedGram:
    """Ask for number, sum and second moment of rows in the cube."""
    radius = math.sqrt(frame.dimension)
    return LiftedGram.priced(Everything(), (frame,), (radius,), ask.price, MOMENTS_SHARES)


def _noise(plan: Plan, n: float) -> float:
    """Compute the noise sd of a mean of n rows, in half widths of its bounds."""
    question = plan.asks[0].question
    assert question is not None  # as planned
    return float(question.noise()["sum"].flat[0]) / n


@dataclass(frozen=True)
class BoundedCase:
    """Case of `estimate_mean` with declared bounds.

    Attributes:
        d, m: number of columns, number of public rows.
        spread: public standard deviation in half widths of the bounds; see `DeclaredBounds.spread`.
    """

    d: int
    m: int
    spread: float

    most_rows = MOST_ROWS

    @classmethod
    def of(cls, bounds: DeclaredBounds, public: PublicTable) -> "BoundedCase":
        """Make it of declared bounds and public rows."""
        return cls(len(bounds.low), len(public.rows), bounds.spread(public))

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the question and the error, in half widths of the bounds."""
        plan, own = bounded_plan(purse, self.d), self.spread / math.sqrt(n)
        public = self.spread / math.sqrt(self.m) if self.m > 1 else None
        return Forecast(plan, (Predicted("mean", "half widths of the bounds", own, _noise(plan, n), own, public),))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide whether the driver runs without `force`."""
        return _noise(bounded_plan(purse, self.d), n) <= _DROWNED

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the error assumes."""
        spread = "that of the public rows" if self.m > 1 else "as large as bounds permit"
        return (f"rows lie between the declared bounds, whatever their law; their spread is {spread}",)

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of Theorem B.2."""
        return for_mean(self.d, terms)
