"""Published estimators of a mean, for comparison: clip-and-noise and CoinPress, each with or without public rows.

Sources: Bie, Kamath and Singhal 2022, Lemma B.1 (1), Theorem 2.3 and Appendix D; Biswas, Dong, Kamath and Ullman
2020 (CoinPress), with the constants of `multivariate_mean_iterative` in its authors' code: tail probability 0.01, and 3
instead of sqrt(log(2 / beta)). With public rows CoinPress starts from the ball around their mean that Claim 2.1 gives;
the script of Appendix D computes its radius from n where the claim has d, which only makes it larger.

Neither debiases, and both price each round as a Gaussian mechanism of sensitivity 2 radius / n.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Plan, split_purse
from pubpriv.estimators.gaussian.clipping import COINPRESS_TAIL, coinpress_ball, coinpress_clip, tail_bound
from pubpriv.estimators.mean._known_covariance import KnownCovariance
from pubpriv.estimators.mean._plan import sum_question
from pubpriv.estimators.mean._steps import ClippedMean, clipped_mean
from pubpriv.estimators.mean.settings import MeanSettings
from pubpriv.estimators.steps import Execution
from pubpriv.privacy.budgets import Purse
from pubpriv.released.findings import DOUBTFUL, Finding

_UNLIKELY = 1e-4
"""A distance of the public from the released mean with a smaller probability than this is not sampling error."""

_LAST = Fraction(3, 4)
"""Share of CoinPress's last round; the other rounds share the rest equally."""


@dataclass(frozen=True)
class MeanResult:
    """The result of a method.

    Attributes:
        center: the estimate, in the data's own units.
        sampling, privacy: standard deviations of one whitened coordinate; or (d,): one value per column, in the units
            in which its errors are scaled, which are the column's standard deviations where a covariance is known.
        findings: what was concluded about the mean.
        diagnostics: public facts about the run.
        clipping: (d,) bounds on what clipping removed, in the same units as columns' `sampling`; None if it was undone.
        notes: facts about the private rows for the reader.
    """

    center: tuple[float, ...]
    sampling: float | tuple[float, ...]
    privacy: float | tuple[float, ...]
    findings: tuple[Finding, ...] = ()
    diagnostics: dict[str, Any] = field(default_factory=dict)
    clipping: tuple[float, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """Where a method starts, and CoinPress's settings.

    Attributes:
        public: mean of the public rows.
        rounds: number of rounds t.
        center, radius: a ball that contains the mean, in the data's units and in standard deviations; None: computed
            from the public rows.
        assumed: the user gave no covariance, and the identity was taken because the public rows do not contradict it.
    """

    public: tuple[float, ...]
    rounds: int = 2
    center: tuple[float, ...] | None = None
    radius: float | None = None
    assumed: bool = False

    @classmethod
    def of(cls, public: tuple[float, ...], rounds: int, ball: tuple[Any, float] | None) -> "Options":
        """Check the options.

        Raises:
            InvalidInput: impossible rounds or ball.
        """
        if (
            isinstance(rounds, bool)
            or not isinstance(rounds, int | np.integer)
            or not 1 <= rounds <= MeanSettings.most_rounds
        ):
            raise InvalidInput(f"rounds must be a whole number from 1 to {MeanSettings.most_rounds}, not {rounds!r}")
        if ball is None:
            return cls(public, int(rounds))
        try:
            center, radius = np.asarray(ball[0], dtype=float), float(ball[1])
        except (TypeError, ValueError, IndexError):
            center, radius = np.empty(0), -1.0
        if center.shape != (len(public),) or not np.isfinite(center).all() or not 0 < radius < math.inf:
            raise InvalidInput(f"ball must be (centre of {len(public)} finite numbers, positive radius)")
        return cls(public, int(rounds), tuple(center.tolist()), radius)

    def configuration(self) -> dict[str, Any]:
        """Give the settings that affect the questions, for the run's configuration."""
        ball = None if self.center is None else [list(self.center), self.radius]
        return {"rounds": self.rounds, "ball": ball}


def public_radius(d: int, m: int) -> float:
    """Radius of the ball around the mean of m public rows that contains mu, but for probability `COINPRESS_TAIL`."""
    return tail_bound(d, COINPRESS_TAIL) / math.sqrt(m)


def clip_radius(n: int, d: int, m: int) -> float:
    """Clip radius of clip-and-noise around the mean of m public rows: most likely beyond all n private rows."""
    return tail_bound(d, COINPRESS_TAIL / 2) / math.sqrt(m) + tail_bound(d, COINPRESS_TAIL / (2 * n))


def clip_and_noise(
    run: Execution, rows: PublicTable, known: KnownCovariance, purse: Purse, options: Options
) -> MeanResult:
    """Theorem 2.3 (B.2.1): one clipped mean around the public one, at lambda(d, beta / 2) + lambda(d, beta / 2n)."""
    n, d = run.curator.n_rows, len(rows.columns)
    radius = clip_radius(n, d, len(rows.rows))
    plan = reference_plan("clip-and-noise", purse, d)
    run.curator.rehearse(plan.questions)
    answer = run(clipped_mean, known, options.public, radius, plan.asks[0])
    center = np.array(answer.center) + known.colour(np.array(answer.move))
    mean = tuple(center.tolist())
    findings = _far_from_public(mean, options.public, known, len(rows.rows), answer.noise)
    return MeanResult(mean, 1 / math.sqrt(n), answer.noise, findings, {"clip_radii": [radius]})


def coinpress(run: Execution, rows: PublicTable, known: KnownCovariance, purse: Purse, options: Options) -> MeanResult:
    """CoinPress: shrink a ball that contains mu, `rounds` times."""
    n, d = run.curator.n_rows, len(rows.columns)
    radius = public_radius(d, len(rows.rows)) if options.radius is None else options.radius
    center = options.public if options.center is None else options.center
    plan = reference_plan("coinpress", purse, d, options.rounds)
    run.curator.rehearse(plan.questions)
    radii = []
    answers: list[ClippedMean] = []
    for number, ask in enumerate(plan.asks, start=1):
        clip = coinpress_clip(d, radius)
        answer = run.at(f"{number} of {options.rounds}", *answers[-1:])(clipped_mean, known, center, clip, ask)
        answers.append(answer)
        center = tuple((np.array(answer.center) + known.colour(np.array(answer.move))).tolist())
        radius = coinpress_ball(n, d, answer.noise)
        radii.append(clip)
    # a given ball replaces the public rows, so their distance from it shows nothing
    whose = (options.public, len(rows.rows)) if options.center is None else None
    findings = () if whose is None else _far_from_public(center, whose[0], known, whose[1], answer.noise)
    return MeanResult(center, 1 / math.sqrt(n), answer.noise, findings, {"clip_radii": radii})


def _far_from_public(
    center: tuple[float, ...], public: tuple[float, ...], known: KnownCovariance, m: int, noise: float
) -> tuple[Finding, ...]:
    """Find that a released mean is further from the public one than sampling of m rows of one law and noise explain.

    Both methods clip around the public mean, so if that is off, the answer is biased and lies at the edge of the range
    that it can reach. Clipping keeps the distance below that range, so the test cannot use a level far below
    `_UNLIKELY`.
    """
    from scipy.special import chdtrc

    moved = known.whiten(np.array(center) - np.array(public))
    squared = float(moved @ moved) / (1 / m + noise**2)
    if chdtrc(len(moved), squared) >= _UNLIKELY:
        return ()
    distance = math.sqrt(float(moved @ moved))
    return (
        Finding(
            "far-from-public",
            (),
            DOUBTFUL,
            f"the mean lies {distance:.2g} standard deviations from the public one, further than {m} public rows of "
            "the same law would be: it is likely to be clipped and biased",
            {"distance": distance, "public_rows": m},
            remedy="the method two-step follows such rows",
        ),
    )


def reference_plan(method: str, purse: Purse, d: int, rounds: int = 2) -> Plan:
    """Plan the questions of clip-and-noise, or of CoinPress with this many rounds."""
    shares = _coinpress_shares(rounds) if method == "coinpress" else {"step-1": Fraction(1)}
    blank = partial(sum_question, Frame((0.0,) * d), 1.0)
    return Plan(tuple(split_purse(purse, "mean", {name: (share, blank) for name, share in shares.items()}).values()))


def _coinpress_shares(rounds: int) -> dict[str, Fraction]:
    """Shares of the rounds; with two rounds 1/4 and 3/4, as in Appendix D."""
    early = {f"round-{number}": (1 - _LAST) / (rounds - 1) for number in range(1, rounds)}
    return early | {f"round-{rounds}": _LAST if rounds > 1 else Fraction(1)}
