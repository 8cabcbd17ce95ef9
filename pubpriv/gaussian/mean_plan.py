"""What a run of `estimate_mean` will ask, with radii and budget shares that minimise its predicted error.

In whitened coordinates x = mu + z, z ~ N(0, I_d), and x~ is the mean of m public rows. Step 1 clips x - x~ to r1,
step 2 clips x - c to r2 around the answer of step 1. Clipping at about sqrt(d), far inside the tail bound that
published estimators use, buys less noise than it costs, once its shrinkage is undone exactly: delta = mu - x~ and
w = x - x~ are jointly Gaussian, so E[psi_r(w) | delta] has the best line kappa(r / s) delta with s^2 the variance of
w (Stein's lemma). Public data, step 1 and step 2 are then three nearly unbiased estimates of mu, combined by least
squares. Everything here is a formula in n, d, m and the budget.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums, Question
from pubpriv.data.regions import Everything
from pubpriv.gaussian.clipping import curvature, mean_curves
from pubpriv.plans import Ask, Plan, split_purse
from pubpriv.privacy.budgets import Purse

SHARES = np.geomspace(0.002, 0.5, 36)
"""Shares of the budget that are tried for step 1."""


@public_value
@dataclass(frozen=True)
class Step:
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
        """Of one coordinate of the debiased answer."""
        return self.sampling + self.privacy


@public_value
@dataclass(frozen=True)
class MeanPlan(Plan):
    """Questions of a run of `estimate_mean`, and what they are predicted to tell.

    Attributes:
        n, d, m: private rows, columns, public rows.
        steps: step 1 around the public mean, step 2 around the answer of step 1.
        move: factor on the answer of step 1 that gives the centre of step 2.
        spread: predicted standard deviation, per coordinate, of mu around that centre.
        error: predicted root mean square error of the estimate, per coordinate, in standard deviations of a row.
    """

    n: int
    d: int
    m: int
    steps: tuple[Step, Step]
    move: float
    spread: float
    error: float

    @property
    def ratio(self) -> float:
        """Predicted error over the non-private mean's."""
        return self.error * math.sqrt(self.n)


def make_plan(purse: Purse, n: int, d: int, m: int) -> MeanPlan:
    """The plan of least predicted error for n private rows of d columns and m public rows."""
    share = _best_share(n, d, m, purse.rho)
    exact = Fraction(share).limit_denominator(10_000)
    asks = split_purse(purse, "mean", {"step-1": exact, "step-2": 1 - exact})
    first, move, spread = _first(n, d, m, asks[0].rho)
    second = _second(n, d, m, asks[1].rho, first, spread)
    return MeanPlan(asks, n, d, m, (first, second), move, spread, math.sqrt(combined(first, second, n, 1 / m)[1]))


def combined(first: Step, second: Step, n: int, public: float) -> tuple[np.ndarray, float]:
    """Weights (3,) of step 1, step 2 and the public mean by generalised least squares, and the variance they reach.

    Both steps see the same records, so their errors share the 1 / n of the records' own mean.
    """
    shared = 1 / n
    covariance = np.array([[first.variance, shared, 0.0], [shared, second.variance, 0.0], [0.0, 0.0, public]])
    raw = np.linalg.solve(covariance, np.ones(3))
    return raw / raw.sum(), float(1 / raw.sum())


def question(frame: Frame, radius: float, ask: Ask) -> ClippedSums:
    """The sum of clipped records, around the frame's centre."""
    return ClippedSums.priced(Everything(), (frame,), (radius,), ask.price)


def rehearsal(plan: MeanPlan) -> list[Question]:
    """Questions of the sizes and prices of `plan`, about nothing: what `Curator.rehearse` checks."""
    blank = Frame((0.0,) * plan.d)
    return [question(blank, step.radius, ask) for step, ask in zip(plan.steps, plan.asks, strict=True)]


@cache
def _best_share(n: int, d: int, m: int, rho: float) -> float:
    """Share of step 1 that minimises the predicted error."""
    errors = []
    for share in SHARES:
        first, _, spread = _first(n, d, m, float(share) * rho)
        second = _second(n, d, m, (1 - float(share)) * rho, first, spread)
        errors.append(combined(first, second, n, 1 / m)[1])
    return float(SHARES[int(np.argmin(errors))])


def _first(n: int, d: int, m: int, rho: float) -> tuple[Step, float, float]:
    """Step 1 at `rho`; its best move; and how far mu is then expected from the centre."""
    public = 1 / m
    steps = _candidates(n, d, rho, math.sqrt(public), curved=True)
    step = min(steps, key=lambda tried: tried.variance)
    gain = public / (public + step.variance)
    return step, gain / step.slope, math.sqrt(public * step.variance / (public + step.variance))


def _second(n: int, d: int, m: int, rho: float, first: Step, spread: float) -> Step:
    """Step 2 at `rho`, around a centre `spread` away."""
    steps = _candidates(n, d, rho, spread, curved=False)
    best = min(steps, key=lambda tried: combined(first, tried, n, 1 / m)[1])
    bend = curvature(d, best.radius, spread) / best.slope**2
    return Step(best.radius, best.slope, best.sampling + bend, best.privacy)


def _candidates(n: int, d: int, rho: float, spread: float, curved: bool) -> list[Step]:
    """Steps of all radii that are tried, for mu ~ N(centre, spread^2 I)."""
    total = math.sqrt(1 + spread * spread)
    ratios = _ratios(d)
    slopes, variances = mean_curves(d, ratios)
    radii = ratios * total
    bends = np.array(_curvatures(d, spread)) if curved else np.zeros(len(radii))
    within = total * total * variances - slopes**2 * spread**2 - bends
    sampling = (within / n + bends) / slopes**2
    noise = (2 * radii / n) ** 2 / (2 * rho) / slopes**2
    return [Step(*map(float, values)) for values in zip(radii, slopes, sampling, noise, strict=True)]


def _ratios(d: int) -> np.ndarray:
    """Clip radii that are tried, over the standard deviation of a coordinate."""
    root = math.sqrt(d)
    return np.geomspace(0.25 * root, 2 * root + 3, 33)


@cache
def _curvatures(d: int, spread: float) -> tuple[float, ...]:
    return tuple(curvature(d, float(ratio) * math.sqrt(1 + spread * spread), spread) for ratio in _ratios(d))
