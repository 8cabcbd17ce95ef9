"""The questions of a run of `estimate_mean`, with the radii and budget shares that minimise the predicted error.

In whitened coordinates x = mu + z, z ~ N(0, I_d), and x~ is the mean of m public rows. Step 1 clips x - x~ to r1,
step 2 clips x - c to r2, where c is the answer of step 1. Published estimators clip at a tail bound. Clipping at about
sqrt(d), far inside it, reduces the noise by more than it costs, because the shrinkage can be undone exactly: delta =
mu - x~ and w = x - x~ are jointly Gaussian, so the best linear fit of E[psi_r(w) | delta] is kappa(r / s) delta with
s^2 the variance of w (Stein's lemma). Public mean, step 1 and step 2 are then three nearly unbiased estimates of mu,
combined by least squares. Everything here is a formula in n, d, m and the budget.
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
from pubpriv.estimators._whole_rows import COUNT_SHARE, PURE_COUNT_SHARE, count_question
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse
from pubpriv.estimators.gaussian.clipping import curvature, mean_curves
from pubpriv.estimators.mean._lengths import lengths_question
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted, least_where, variation
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_mean
from pubpriv.privacy.budgets import Budget, Purse, percent

_SHARES = np.geomspace(0.002, 0.5, 36)
"""Budget shares that are tried for step 1."""

_LENGTHS, _PURE_LENGTHS = percent(4), Fraction(1145, 100_000)
"""Share of the budget for the counts that decide how step 2 clips (`_lengths`); and in a pure run, where small shares
cost more (`PureDP.split`): 5% of epsilon."""

_WIDER, _WIDER_ALONE = 0.005, 0.02
"""A step takes the largest clip radius whose sd is at most this part more than the least: it clips other laws less. The
first number is for step 2; the second, divided by the number of columns, is for both steps, where it is larger: in one
column, all that is clipped off a skewed law is from the same side."""

_MOST_UNITS = 1e18
"""The largest budget in searches: a rho or epsilon of a million."""

_WORTH = 0.9
"""A run is worth its budget if its predicted error is at most this many times that of the public mean alone."""


@public_value
@dataclass(frozen=True)
class _MeanStep:
    """One clipped mean, in whitened coordinates.

    Attributes:
        radius: clip radius.
        slope: kappa; the answer is divided by it.
        sampling: variance per coordinate of the debiased answer from sampling of the n records and from curvature.
        privacy: variance per coordinate of the debiased answer from noise.
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
    """The questions of a run of `estimate_mean`, and its predicted errors.

    Attributes:
        n, d, m: private rows (as counted, if some lack values); columns; public rows.
        steps: step 1 around the public mean and step 2 around the answer of step 1, for Gaussian rows.
        move: factor by which the answer of step 1 is multiplied to give the centre of step 2.
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
        """Predicted error divided by that of the non-private mean."""
        return self.error * math.sqrt(self.n)

    @property
    def feasible(self) -> bool:
        """Whether the predicted error is well below that of the public rows, as `_feasible` decides without a plan."""
        return worth(self.error, self.m)

    def of_whole(self, rows: float) -> "MeanPlan":
        """Give the same questions with the errors for `rows` rows without a missing value.

        Rows with missing values add nothing, so each answer times n / rows is the answer for the complete rows.
        """
        if rows == self.n:
            return self
        factor, public = self.n / rows, 1 / self.m
        one, two = (
            replace(each, sampling=factor * each.sampling, privacy=factor**2 * each.privacy) for each in self.steps
        )
        known = public / (public + one.variance)
        return replace(
            self,
            n=rows,
            steps=(one, two),
            move=known / one.slope,
            spread=math.sqrt(known * one.variance),
            error=math.sqrt(combined(one, two, rows, public)[1]),
        )

    @classmethod
    def of(cls, purse: Purse, n: int, d: int, m: int) -> "MeanPlan":
        """Make the plan with the least predicted error for n private rows of d columns and m public rows."""
        count, lengths = _counts(purse)
        measuring = 1 - count - lengths
        exact = measuring * Fraction(_best_share(n, d, m, purse)).limit_denominator(10_000)
        blank, frame = _blank_sum(d), Frame((0.0,) * d)
        shares: dict[str, tuple[Fraction, Blank]] = {
            "count": (count, count_question),
            "step-1": (exact, blank),
            "lengths": (lengths, partial(lengths_question, frame, 0.0)),
            "step-2": (measuring - exact, blank),
        }
        asks = tuple(split_purse(purse, "mean", shares).values())
        design = _design(n, d, m, asks[1].rho, asks[3].rho)
        return cls(asks, n, d, m, design.steps, design.move, design.spread, design.error)


def _counts(purse: Purse) -> tuple[Fraction, Fraction]:
    """Shares of the number of whole rows and of the lengths of rows."""
    return (PURE_COUNT_SHARE, _PURE_LENGTHS) if purse.radial else (COUNT_SHARE, _LENGTHS)


def _rhos(purse: Purse, share: float, d: int) -> tuple[float, float]:
    """rho of Gaussian noise with the sds of both steps, if step 1 takes `share` of what they have together."""
    count, lengths = map(float, _counts(purse))
    left = 1 - count - lengths
    _, first, _, second = purse.rhos((count, share * left, lengths, (1 - share) * left))
    louder = d + 1 if purse.radial else 1  # variance of radial noise in d coordinates
    return first / louder, second / louder


@cache
def _predicted_error(n: int, d: int, m: int, purse: Purse) -> float:
    """Predict the root mean square error per coordinate, in standard deviations of a row, of a run with this purse."""
    return _design(n, d, m, *_rhos(purse, _best_share(n, d, m, purse), d)).error


def _rows_for(error: float, d: int, m: int, purse: Purse) -> int | None:
    """Find the fewest private rows, to about 1%, that reach a predicted error; None if 10^12 do not."""
    found = least_where(lambda n: _predicted_error(math.ceil(n), d, m, purse) <= error, 1.0, 1e12)
    return None if found is None else math.ceil(found)


def _purse_for(error: float, n: int, d: int, m: int, kind: str) -> Purse | None:
    """Find the smallest purse, to about 1%, that reaches a predicted error with n rows; None if no purse does."""
    found = least_where(
        lambda units: _predicted_error(n, d, m, Purse(math.ceil(units), kind)) <= error, 2.0, _MOST_UNITS
    )
    return None if found is None else Purse(math.ceil(found), kind)


def combined(first: _MeanStep, second: _MeanStep, n: float, public: float) -> tuple[np.ndarray, float]:
    """Give the least-squares weights (3,) of step 1, step 2 and the public mean, and the variance of the result.

    Both steps use the same records, so their errors share the variance 1 / n of the records' mean.
    """
    shared = 1 / n
    covariance = np.array([[first.variance, shared, 0.0], [shared, second.variance, 0.0], [0.0, 0.0, public]])
    raw = np.linalg.solve(covariance, np.ones(3))
    return raw / raw.sum(), float(1 / raw.sum())


def sum_question(frame: Frame, radius: float, ask: Ask) -> ClippedSums:
    """Ask for the sum of clipped records around the frame's centre."""
    return ClippedSums.priced(Everything(), (frame,), (radius,), ask.price)


def _blank_sum(d: int) -> Blank:
    """Give the maker of placeholder `sum_question`s in d columns."""
    return partial(sum_question, Frame((0.0,) * d), 1.0)


@dataclass(frozen=True)
class _Design:
    steps: tuple[_MeanStep, _MeanStep]
    move: float
    spread: float
    error: float


@cache
def _best_share(n: int, d: int, m: int, purse: Purse) -> float:
    """Find the share of step 1 that minimises the predicted error."""
    shares = [float(share) for share in _SHARES]
    return min(shares, key=lambda share: _design(n, d, m, *_rhos(purse, share, d), search=True).error)


def _design(n: int, d: int, m: int, rho_first: float, rho_second: float, search: bool = False) -> _Design:
    """Find the best radii for given budgets of both steps. A search leaves out the curvature of step 2: it is slow."""
    public = 1 / m
    firsts = _candidates(n, d, rho_first, math.sqrt(public), curved=True)
    first = _widest(firsts, 0.0 if search else _WIDER_ALONE / d)
    spread = math.sqrt(public * first.variance / (public + first.variance))
    seconds = _candidates(n, d, rho_second, spread, curved=False)
    second = _widest(seconds, 0.0 if search else max(_WIDER, _WIDER_ALONE / d))
    if not search:
        bend = curvature(d, second.radius, spread) / second.slope**2
        second = _MeanStep(second.radius, second.slope, second.sampling + bend, second.privacy)
    move = public / (public + first.variance) / first.slope
    return _Design((first, second), move, spread, math.sqrt(combined(first, second, n, public)[1]))


def _widest(tried: list[_MeanStep], more: float) -> _MeanStep:
    """Choose the step with the largest radius whose sd is at most this part more than the least."""
    least = min(each.variance for each in tried)
    return max((each for each in tried if each.variance <= (1 + more) ** 2 * least), key=lambda each: each.radius)


def _candidates(n: int, d: int, rho: float, spread: float, curved: bool) -> list[_MeanStep]:
    """Give a step for each radius that is tried, for mu ~ N(centre, spread^2 I)."""
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
    """Clip radii that are tried, in standard deviations of a coordinate."""
    root = math.sqrt(d)
    return np.geomspace(0.25 * root, 2 * root + 3, 33)


@cache
def _curvatures(d: int, spread: float) -> tuple[float, ...]:
    return tuple(curvature(d, float(ratio) * math.sqrt(1 + spread * spread), spread) for ratio in _ratios(d))


def two_step_errors(plan: MeanPlan, weights: np.ndarray, noise: tuple[float, float]) -> tuple[float, float]:
    """Give the (sampling, privacy) standard deviations of one whitened coordinate.

    In whitened coordinates every coordinate of the estimate has the same error; a column's error is that times the
    column's standard deviation under the known covariance. With weights w1, w2, w3 of step 1, step 2 and the public
    mean:

    | part | variance per whitened coordinate |
    |---|---|
    | sampling | w1^2 s1 + w2^2 s2 + 2 w1 w2 / n + w3^2 / m, s the plan's sampling variance of a debiased step |
    | privacy | w1^2 p1 + w2^2 p2, p the noise variance of a debiased step: exact |

    The sampling part assumes Gaussian rows of the known covariance, and public rows of the same distribution.

    Args:
        plan: contains the sampling variance of each step.
        weights: (3,) of step 1, step 2 and the public mean.
        noise: noise variance of one coordinate of each debiased step.
    """
    first, second = plan.steps
    own = weights[0] ** 2 * first.sampling + weights[1] ** 2 * second.sampling + 2 * weights[0] * weights[1] / plan.n
    drawn = weights[0] ** 2 * noise[0] + weights[1] ** 2 * noise[1]
    return math.sqrt(own + weights[2] ** 2 / plan.m), math.sqrt(drawn)


def _feasible(n: int, d: int, m: int, purse: Purse) -> bool:
    """Decide whether the predicted error of a run is well below that of the m public rows alone."""
    return worth(_predicted_error(n, d, m, purse), m)


def worth(error: float, m: int) -> bool:
    """Decide whether an error is well below that of m public rows alone."""
    return error <= _WORTH / math.sqrt(m)


def check_feasible(n: int, d: int, m: int, purse: Purse) -> None:
    """Refuse a run that would spend its budget and improve little on the public rows.

    Raises:
        InvalidInput: the message names an n or a budget that suffices.
    """
    error, public = _predicted_error(n, d, m, purse), 1 / math.sqrt(m)
    if worth(error, m):
        return
    rows, enough = _rows_for(_WORTH * public, d, m, purse), _purse_for(_WORTH * public, n, d, m, purse.kind)
    ways = [f"{rows} private rows"] if rows else []
    ways += [f"a budget worth {_written(enough)}"] if enough else []
    raise InvalidInput(
        f"at this budget {n} private rows would add little to the {m} public ones: the predicted "
        f"error is {error:.3g} standard deviations, and {public:.3g} without them. About "
        f"{' or '.join(ways or ['fewer columns'])} would do; force the run to try anyway"
    )


def _written(purse: Purse) -> str:
    """Write a little more than the purse, in the form that `parse_budget` reads: `zcdp:0.1`, or `pure:1`."""
    return f"pure:{1.05 * math.sqrt(2 * purse.rho):.2g}" if purse.radial else f"zcdp:{1.05 * purse.rho:.2g}"


@dataclass(frozen=True)
class MeanCase:
    """Case of `estimate_mean` by its default method, for d columns and m public rows."""

    d: int
    m: int

    most_rows = MOST_ROWS

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Predict the two steps, combined with the public mean."""
        plan = MeanPlan.of(purse, n, self.d, self.m)
        weights, _ = combined(*plan.steps, n, 1 / self.m)
        own, noise = two_step_errors(plan, weights, (plan.steps[0].privacy, plan.steps[1].privacy))
        error = Predicted("mean", Predicted.own_sd, own, noise, 1 / math.sqrt(n), 1 / math.sqrt(self.m))
        return Forecast(plan, (error,), variation(error.error * math.sqrt(self.d)))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide whether the driver runs without `force`."""
        return _feasible(n, self.d, self.m, purse)

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the error assumes."""
        return ("rows are Gaussian with the covariance that is given, public ones are drawn from the same law",)

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of Theorem B.2."""
        return for_mean(self.d, terms)
