"""What a run of `estimate_mean` will ask, with radii and budget shares that minimise its predicted error.

In whitened coordinates x = mu + z, z ~ N(0, I_d), and x~ is the mean of m public rows. Step 1 clips x - x~ to r1,
step 2 clips x - c to r2 around the answer of step 1. Clipping at about sqrt(d), far inside the tail bound that
published estimators use, buys less noise than it costs, once its shrinkage is undone exactly: delta = mu - x~ and
w = x - x~ are jointly Gaussian, so E[psi_r(w) | delta] has the best line kappa(r / s) delta with s^2 the variance of
w (Stein's lemma). Public data, step 1 and step 2 are then three nearly unbiased estimates of mu, combined by least
squares. Everything here is a formula in n, d, m and the budget.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums
from pubpriv.data.regions import Everything
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse
from pubpriv.estimators.gaussian.clipping import curvature, mean_curves
from pubpriv.estimators.mean._lengths import lengths_question
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted, least_where, variation
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_mean
from pubpriv.privacy.budgets import Budget, Purse

_SHARES = np.geomspace(0.002, 0.5, 36)
"""Shares of the budget that are tried for step 1."""

_LENGTHS = Fraction(5, 100)
"""Share of the budget for the counts that say how step 2 is asked; see `lengths`."""

_PURE_LENGTHS = Fraction(15, 1000)
"""... in a pure run, where small shares take more (`PureDP.split`): 6% of epsilon."""

_WIDER = 1.005
"""The clip radius of step 2 is the largest that costs so much: rows that are not quite Gaussian are clipped less."""

_MOST_UNITS = 1e18
"""The largest budget that is looked for: rho or epsilon of a million."""

_WORTH = 0.9
"""A run must be predicted to bring the error below this many times that of the public mean alone."""


@public_value
@dataclass(frozen=True)
class _MeanStep:
    """One clipped mean, in whitened coordinates.

    Attributes:
        radius: clip radius.
        slope: kappa, by which the answer is divided.
        sampling: variance per coordinate of the answer, over slope^2, from the n records and from curvature.
        privacy: the same from noise.
    """

    radius: float
    slope: float
    sampling: float
    privacy: float

    @property
    def variance(self) -> float:
        """Variance of one coordinate of the debiased answer."""
        return self.sampling + self.privacy


@public_value
@dataclass(frozen=True)
class MeanPlan(Plan):
    """Questions of a run of `estimate_mean`, and the errors that they are predicted to leave.

    Attributes:
        n, d, m: private rows, as they were counted if not all are whole; columns; public rows.
        steps: step 1 around the public mean, step 2 around the answer of step 1, for Gaussian rows.
        move: factor on the answer of step 1 that gives the centre of step 2.
        spread: predicted standard deviation, per coordinate, of mu around that centre.
        error: predicted root mean square error of the estimate, per coordinate, in standard deviations of a row.
    """

    n: float
    d: int
    m: int
    steps: tuple[_MeanStep, _MeanStep]
    move: float
    spread: float
    error: float

    @property
    def ratio(self) -> float:
        """Predicted error over the non-private mean's."""
        return self.error * math.sqrt(self.n)

    @property
    def feasible(self) -> bool:
        """As `_feasible` says of a run before it is planned."""
        return worth(self.error, self.m)

    def of_whole(self, rows: float) -> "MeanPlan":
        """Give the same questions with the errors that they leave where so many rows have no missing value.

        The others add nothing, so each answer times n / rows is the one about these rows.
        """
        factor = self.n / rows
        one, two = (
            replace(each, sampling=factor * each.sampling, privacy=factor**2 * each.privacy) for each in self.steps
        )
        error = self.error if factor == 1 else math.sqrt(combined(one, two, rows, 1 / self.m)[1])
        return replace(self, n=rows, steps=(one, two), error=error)

    @classmethod
    def of(cls, purse: Purse, n: int, d: int, m: int) -> "MeanPlan":
        """Make the plan of least predicted error for n private rows of d columns and m public rows."""
        lengths = _lengths(purse)
        measuring = 1 - lengths
        exact = measuring * Fraction(_best_share(n, d, m, purse)).limit_denominator(10_000)
        blank, frame = _blank_sum(d), Frame((0.0,) * d)
        shares: dict[str, tuple[Fraction, Blank]] = {
            "step-1": (exact, blank),
            "lengths": (lengths, partial(lengths_question, frame, 0.0)),
            "step-2": (measuring - exact, blank),
        }
        asks = tuple(split_purse(purse, "mean", shares).values())
        design = _design(n, d, m, asks[0].rho, asks[2].rho)
        return cls(asks, n, d, m, design.steps, design.move, design.spread, design.error)


def _lengths(purse: Purse) -> Fraction:
    return _PURE_LENGTHS if purse.radial else _LENGTHS


def _rhos(purse: Purse, share: float, d: int) -> tuple[float, float]:
    """rho of Gaussian noise of the sds of both steps, where step 1 takes this share of what they have together."""
    lengths = float(_lengths(purse))
    first, _, second = purse.rhos((share * (1 - lengths), lengths, (1 - share) * (1 - lengths)))
    louder = d + 1 if purse.radial else 1  # variance of radial noise in d coordinates
    return first / louder, second / louder


@cache
def _predicted_error(n: int, d: int, m: int, purse: Purse) -> float:
    """Root mean square error per coordinate, in standard deviations of a row, of a run with this purse."""
    return _design(n, d, m, *_rhos(purse, _best_share(n, d, m, purse), d)).error


def _rows_for(error: float, d: int, m: int, purse: Purse) -> int | None:
    """Fewest private rows, to about 1%, that reach a predicted error; None if 10^12 do not."""
    found = least_where(lambda n: _predicted_error(math.ceil(n), d, m, purse) <= error, 1.0, 1e12)
    return None if found is None else math.ceil(found)


def _purse_for(error: float, n: int, d: int, m: int, kind: str) -> Purse | None:
    """Smallest purse, to about 1%, that reaches a predicted error with n private rows; None if the largest does not."""
    found = least_where(
        lambda units: _predicted_error(n, d, m, Purse(math.ceil(units), kind)) <= error, 2.0, _MOST_UNITS
    )
    return None if found is None else Purse(math.ceil(found), kind)


def combined(first: _MeanStep, second: _MeanStep, n: float, public: float) -> tuple[np.ndarray, float]:
    """Weights (3,) of step 1, step 2 and the public mean by generalised least squares, and the variance they reach.

    Both steps see the same records, so their errors share the 1 / n of the records' own mean.
    """
    shared = 1 / n
    covariance = np.array([[first.variance, shared, 0.0], [shared, second.variance, 0.0], [0.0, 0.0, public]])
    raw = np.linalg.solve(covariance, np.ones(3))
    return raw / raw.sum(), float(1 / raw.sum())


def sum_question(frame: Frame, radius: float, ask: Ask) -> ClippedSums:
    """The sum of clipped records, around the frame's centre."""
    return ClippedSums.priced(Everything(), (frame,), (radius,), ask.price)


def _blank_sum(d: int) -> Blank:
    """Make a `sum_question` about nothing in d columns."""
    return partial(sum_question, Frame((0.0,) * d), 1.0)


@dataclass(frozen=True)
class _Design:
    steps: tuple[_MeanStep, _MeanStep]
    move: float
    spread: float
    error: float


@cache
def _best_share(n: int, d: int, m: int, purse: Purse) -> float:
    """Share of step 1 that minimises the predicted error."""
    shares = [float(share) for share in _SHARES]
    return min(shares, key=lambda share: _design(n, d, m, *_rhos(purse, share, d), search=True).error)


def _design(n: int, d: int, m: int, rho_first: float, rho_second: float, search: bool = False) -> _Design:
    """Best radii for these budgets of the two steps. A search leaves out the curvature of step 2: it is slow."""
    public = 1 / m
    first = min(_candidates(n, d, rho_first, math.sqrt(public), curved=True), key=lambda tried: tried.variance)
    spread = math.sqrt(public * first.variance / (public + first.variance))
    seconds = _candidates(n, d, rho_second, spread, curved=False)
    second = min(seconds, key=lambda tried: tried.variance)
    if not search:
        within = [tried for tried in seconds if tried.variance <= _WIDER**2 * second.variance]
        second = max(within, key=lambda tried: tried.radius)
        bend = curvature(d, second.radius, spread) / second.slope**2
        second = _MeanStep(second.radius, second.slope, second.sampling + bend, second.privacy)
    move = public / (public + first.variance) / first.slope
    return _Design((first, second), move, spread, math.sqrt(combined(first, second, n, public)[1]))


def _candidates(n: int, d: int, rho: float, spread: float, curved: bool) -> list[_MeanStep]:
    """Steps of all radii that are tried, for mu ~ N(centre, spread^2 I)."""
    total = math.sqrt(1 + spread * spread)
    ratios = _ratios(d)
    slopes, variances = mean_curves(d, ratios)
    radii = ratios * total
    bends = np.array(_curvatures(d, spread)) if curved else np.zeros(len(radii))
    within = total * total * variances - slopes**2 * spread**2 - bends
    sampling = (within / n + bends) / slopes**2
    noise = (2 * radii / n) ** 2 / (2 * rho) / slopes**2
    return [_MeanStep(*map(float, values)) for values in zip(radii, slopes, sampling, noise, strict=True)]


def _ratios(d: int) -> np.ndarray:
    """Clip radii that are tried, over the standard deviation of a coordinate."""
    root = math.sqrt(d)
    return np.geomspace(0.25 * root, 2 * root + 3, 33)


@cache
def _curvatures(d: int, spread: float) -> tuple[float, ...]:
    return tuple(curvature(d, float(ratio) * math.sqrt(1 + spread * spread), spread) for ratio in _ratios(d))


def two_step_errors(plan: MeanPlan, weights: np.ndarray, noise: tuple[float, float]) -> tuple[float, float]:
    """(sampling, privacy) standard deviations of one whitened coordinate.

    In whitened coordinates every coordinate of the estimate has the same error, so a column's is that times the
    standard deviation that the known covariance gives it. With weights w1, w2, w3 of step 1, step 2 and the public
    mean:

    | part | variance per whitened coordinate |
    |---|---|
    | sampling | w1^2 s1 + w2^2 s2 + 2 w1 w2 / n + w3^2 / m, s the plan's sampling variance of a debiased step |
    | privacy | w1^2 p1 + w2^2 p2, p the noise variance of a debiased step: exact |

    The sampling part assumes Gaussian rows of the known covariance, and public rows of the same distribution.

    Args:
        plan: with the sampling variance of each step.
        weights: (3,) of step 1, step 2 and the public mean.
        noise: noise variance of one coordinate of each debiased step.
    """
    first, second = plan.steps
    own = weights[0] ** 2 * first.sampling + weights[1] ** 2 * second.sampling + 2 * weights[0] * weights[1] / plan.n
    drawn = weights[0] ** 2 * noise[0] + weights[1] ** 2 * noise[1]
    return math.sqrt(own + weights[2] ** 2 / plan.m), math.sqrt(drawn)


def _feasible(n: int, d: int, m: int, purse: Purse) -> bool:
    """Tell whether a run is predicted to bring the error well below that of the m public rows alone."""
    return worth(_predicted_error(n, d, m, purse), m)


def worth(error: float, m: int) -> bool:
    """Tell whether an error is well below that of m public rows alone."""
    return error <= _WORTH / math.sqrt(m)


def check_feasible(n: int, d: int, m: int, purse: Purse) -> None:
    """Refuse a run that would spend its budget and tell little more than the public rows do.

    Raises:
        InvalidInput: with the n or the budget that would do.
    """
    error, public = _predicted_error(n, d, m, purse), 1 / math.sqrt(m)
    if worth(error, m):
        return
    rows, enough = _rows_for(_WORTH * public, d, m, purse), _purse_for(_WORTH * public, n, d, m, purse.kind)
    ways = [f"{rows} private rows"] if rows else []
    ways += [f"a budget worth {_written(enough)}"] if enough else []
    raise InvalidInput(
        f"at this budget {n} private rows would tell little more than the {m} public ones already do: the predicted "
        f"error is {error:.3g} standard deviations, and {public:.3g} without them. About "
        f"{' or '.join(ways or ['fewer columns'])} would do; force the run to try anyway"
    )


def _written(purse: Purse) -> str:
    """A little more than the purse, as `parse_budget` reads it: `zcdp:0.1`, or `pure:1`."""
    return f"pure:{1.05 * math.sqrt(2 * purse.rho):.2g}" if purse.radial else f"zcdp:{1.05 * purse.rho:.2g}"


@dataclass(frozen=True)
class MeanCase:
    """`estimate_mean` by its default method, for d columns and m public rows."""

    d: int
    m: int

    most_rows = MOST_ROWS

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Two steps, combined with the public mean."""
        plan = MeanPlan.of(purse, n, self.d, self.m)
        weights, _ = combined(*plan.steps, n, 1 / self.m)
        own, noise = two_step_errors(plan, weights, (plan.steps[0].privacy, plan.steps[1].privacy))
        error = Predicted("mean", Predicted.own_sd, own, noise, 1 / math.sqrt(n), 1 / math.sqrt(self.m))
        return Forecast(plan, (error,), variation(error.error * math.sqrt(self.d)))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Tell whether the driver runs without being forced."""
        return _feasible(n, self.d, self.m, purse)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the error assumes."""
        return ("rows are Gaussian with the covariance that is given, public ones are drawn from the same law",)

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Theorem B.2."""
        return for_mean(self.d, terms)
