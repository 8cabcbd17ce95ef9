"""`method="algorithm-2"`: the paper's estimator of mean and covariance, with CoinPress inside. For comparison.

Sources: Bie, Kamath and Singhal 2022, Algorithm 1 (bounds from d + 1 public rows), Algorithm 2 (the reduction) and
Lemma B.11 (public rows of a law at total variation distance gamma); CoinPress (Biswas, Dong, Kamath and Ullman 2020)
as its authors' code has it, for the bounded case.

What is mended:
- R is sqrt(U / L) sqrt(5 log(6 / beta)), as Lemma 2.5 and the proof of Theorem B.5 require; the printed algorithm
  omits the 5.
- CoinPress multiplies A <- Z^(-1/2) A, where records are mapped by A from the right; if factors do not commute (from
the third round on), this is a different matrix. Here maps compose in order.
- Its noise has the shape of an orthogonal ensemble: sd on the diagonal, sd / sqrt(2) off it; same price.
What is adapted: CoinPress learns a covariance with unknown mean from differences of pairs, which is not a map of one
record. Here its rounds learn the second moment about the public mean, at most K + R^2, and the outer product of the
mean is subtracted. That keeps all n records, so the reference is better than published: at (d, n) = (10, 1e4), rho 0.5,
1.08 times the non-private Frobenius error where pairs give 1.79.

The method needs many rows: K is about 1e6 at d = 10, and below n of about 1e4 its rounds fail.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums, LiftedGram, Question
from pubpriv.data.regions import Everything
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask, Blank, Plan, split_purse
from pubpriv.estimators.gaussian._learner import LEAST_VARIANCE, Fitted
from pubpriv.estimators.gaussian._preconditioner import check_rows, precondition
from pubpriv.estimators.gaussian._results import GaussianResult, plain_errors
from pubpriv.estimators.gaussian.clipping import coinpress_ball, coinpress_clip, tail_bound
from pubpriv.estimators.matrices import floored
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse
from pubpriv.released.findings import DOUBTFUL, Finding

_COVARIANCE_ROUNDS, _MEAN_ROUNDS = 8, 4
"""Rounds of CoinPress, for the covariance and then for the mean."""

_LAST = Fraction(3, 4)
"""Share of the last round of each part; the other rounds share the rest. Each part has half of the budget."""

STANDING_OUT = 4.0
"""Algorithm 2 converged if the smallest eigenvalue in its last round is this many times the noise there."""


@public_value
@dataclass(frozen=True)
class _Bounds:
    """What Algorithm 1 guarantees of y = F (x - c), with probability 1 - beta / 2 over the public rows.

    Attributes:
        frame: the map to y.
        spread: K, I <= Cov(y) <= K I.
        distance: R, |E y| <= R.
    """

    frame: Frame
    spread: float
    distance: float

    def shrunk(self) -> Frame:
        """Give the map under which the second moment about the public mean is at most I: y / sqrt(K + R^2)."""
        center, matrix = self.frame.dense()
        return Frame.of(center, matrix / math.sqrt(self.spread + self.distance**2))


@public_value
@dataclass(frozen=True)
class _SecondMoment:
    """The result of a round of CoinPress for the second moment.

    Attributes:
        frame: the map under which records were clipped.
        moment: released second moment about the frame's center, made positive semidefinite, (d, d).
        next: the map under which it is about I.
        sd: noise sd of a diagonal entry.
        least: smallest eigenvalue of the second moment as released.
    """

    frame: Frame
    moment: tuple[tuple[float, ...], ...]
    next: Frame
    sd: float
    least: float


@public_value
@dataclass(frozen=True)
class _Ball:
    """A ball that contains the mean: `radius` about frame.center, in those coordinates; the noise has sd `sd`."""

    frame: Frame
    radius: float
    sd: float


@step(title="bounds from public rows")
def bound(public: PublicTable, beta: float, gamma: float) -> _Bounds:
    """Run Algorithm 1 at failure probability beta / 2, on the first d + 1 public rows; Lemma B.11 if gamma > 0."""
    if not 0 < beta < 1:
        raise InvalidInput(f"beta must be above 0 and below 1, not {beta!r}")
    if not 0 <= gamma < 1:
        raise InvalidInput(f"gamma must be at least 0 and below 1, not {gamma!r}")
    d = len(public.columns)
    low, spread, distance = promised(d, beta, gamma)
    check_rows(len(public.rows), d)
    center, whitening, _ = precondition(PublicTable(public.columns, public.rows[: d + 1])).arrays
    return _Bounds(Frame.of(center, whitening / math.sqrt(low)), spread, distance)


def promised(d: int, beta: float, gamma: float) -> tuple[float, float, float]:
    """Compute (L, K, R) of Algorithm 1 at failure probability beta / 2, or of Lemma B.11 if gamma > 0.

    L = d / (4 d + 4 sqrt(2 d log(6 / beta)) + 2 log(6 / beta)), U = 36 d^2 / beta^2, K = U / L.
    """
    log = math.log(6 / beta)
    far = (1 - gamma) ** 4 / 4 if gamma else 1.0
    low = far * d / (4 * d + 4 * math.sqrt(2 * d * log) + 2 * log)
    spread = 36 * d * d / (beta * beta) / far / low
    return low, spread, math.sqrt(spread) * (math.sqrt(10 * gamma / (1 - gamma)) + math.sqrt(5 * log))


def moment_clip(d: int) -> float:
    """Give the clip radius of a CoinPress round for the second moment, under a map where that is at most I."""
    return tail_bound(d, 0.1)


def slack(n: int, d: int) -> float:
    """Give what CoinPress adds to eigenvalues of a second moment of n rows, in case sampling made one too small."""
    return math.sqrt(d / n) + d / (2 * n)


@step(title="CoinPress covariance", private=True)
def _covariance_round(curator: Curator, frame: Frame, ask: Ask) -> _SecondMoment:
    """Run one CoinPress round under a map where the second moment is at most I.

    Privacy: one `LiftedGram` of the second moment only, mu^2 at most ask.price.
    """
    n, d = curator.n_rows, frame.dimension
    radius = moment_clip(d)
    answer = curator.release(LiftedGram.second_moment(Everything(), (frame,), (radius,), ask.price), ask.label)
    asked = answer.question.frames[0]
    values, vectors = np.linalg.eigh(answer.values["moment"][0] / n)
    kept = np.maximum(values, 0.0)
    center, matrix = asked.dense()
    after = Frame.of(center, (vectors / np.sqrt(kept + slack(n, d))) @ vectors.T @ matrix)
    moment = row_tuples((vectors * kept) @ vectors.T)
    return _SecondMoment(asked, moment, after, float(answer.question.noise()["moment"].max()) / n, float(values[0]))


@step(title="CoinPress mean", private=True)
def _mean_round(curator: Curator, ball: _Ball, ask: Ask) -> _Ball:
    """Run one CoinPress round for the mean of records of covariance at most I: a smaller ball about a better center.

    Privacy: one `ClippedSums`, mu^2 at most ask.price.
    """
    n, d = curator.n_rows, ball.frame.dimension
    radius = coinpress_clip(d, ball.radius)
    answer = curator.release(ClippedSums.priced(Everything(), (ball.frame,), (radius,), ask.price), ask.label)
    center, matrix = answer.question.frames[0].dense()
    sd = float(answer.question.noise()["sum"].max()) / n
    moved = center + np.linalg.solve(matrix, answer.values["sum"] / n)
    return _Ball(Frame.of(moved, matrix), coinpress_ball(n, d, sd), sd)


@public_value
@dataclass(frozen=True)
class _ReferencePlan(Plan):
    """The questions of algorithm 2: rounds for the second moment, then rounds for the mean."""

    covariance: tuple[Ask, ...]
    mean: tuple[Ask, ...]


def reference_plan(purse: Purse, d: int) -> _ReferencePlan:
    """Plan half of the purse for the second moment, half for the mean; three quarters of each for its last round."""
    frames, radii = (Frame((0.0,) * d),), (1.0,)

    def moments(ask: Ask) -> Question:
        return LiftedGram.second_moment(Everything(), frames, radii, ask.price)

    def total(ask: Ask) -> Question:
        return ClippedSums.priced(Everything(), frames, radii, ask.price)

    shares: dict[str, tuple[Fraction, Blank]] = {}
    for part, rounds, blank in (("covariance", _COVARIANCE_ROUNDS, moments), ("mean", _MEAN_ROUNDS, total)):
        for number in range(1, rounds):
            shares[f"{part}-{number}"] = (1 - _LAST) / (rounds - 1) / 2, blank
        shares[f"{part}-{rounds}"] = _LAST / 2, blank
    asks = tuple(split_purse(purse, "gaussian", shares).values())
    return _ReferencePlan(asks, asks[:_COVARIANCE_ROUNDS], asks[_COVARIANCE_ROUNDS:])


def algorithm_2(run: Execution, bounds: _Bounds, purse: Purse) -> GaussianResult:
    """Run Algorithm 1 for bounds, then CoinPress for the second moment and for the mean."""
    n, d = run.curator.n_rows, bounds.frame.dimension
    plan = reference_plan(purse, d)
    run.curator.rehearse(plan.questions)
    frame = bounds.shrunk()
    for number, ask in enumerate(plan.covariance, start=1):
        last = run.at(f"{number} of {_COVARIANCE_ROUNDS}", bounds)(_covariance_round, frame, ask)
        frame = last.next
    ball = _Ball(frame, bounds.distance, 0.0)
    for number, ask in enumerate(plan.mean, start=1):
        ball = run.at(f"{number} of {_MEAN_ROUNDS}")(_mean_round, ball, ask)
    center, matrix = last.frame.dense()
    mean, colour = np.array(ball.frame.center), np.linalg.inv(matrix)
    shift = matrix @ (mean - center)
    # the floor is relative to the whole second moment in the last round
    whiten = last.next.dense()[1] @ colour
    inner = floored(whiten @ (np.array(last.moment) - np.outer(shift, shift)) @ whiten.T, LEAST_VARIANCE)
    spread = np.linalg.inv(last.next.dense()[1])
    covariance = spread @ inner @ spread.T
    fitted = Fitted.of(mean, covariance)
    edge = last.sd * math.sqrt(2 * d)
    converged = last.least > STANDING_OUT * edge
    facts = {
        "K": bounds.spread,
        "R": bounds.distance,
        "smallest_eigenvalue": last.least,
        "noise_edge": edge,
        "rounds": [ask.label for ask in plan.asks],
    }
    drowned = Finding(
        "drowned", (), DOUBTFUL, "noise drowns the smallest direction of the last round", remedy="a larger budget"
    )
    errors = plain_errors(fitted, n, (spread, ball.sd), (colour, last.sd))
    return GaussianResult(fitted, () if converged else (drowned,), errors, facts)
