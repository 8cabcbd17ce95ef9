"""The mean by private hypothesis selection: a reference method for one or two columns, epsilon-DP by itself.

Sources: Bie, Kamath and Singhal 2022, Theorem B.2 (2): the hypotheses are a cover of the ball around the public mean
that contains the private mean (Claim 2.1); Bun, Kamath, Steinke and Wu 2019 select one of them. The choice may fall on
any hypothesis that loses no contest, so the error is about the slack and seldom smaller; the theorem's cover grows as
e^d.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Selection
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators.asks import Ask, Plan
from pubpriv.estimators.mean._known_covariance import KnownCovariance
from pubpriv.estimators.mean._plan import worth
from pubpriv.estimators.mean._reference import MeanResult, Options
from pubpriv.estimators.planning import MOST_ROWS, Forecast, Predicted, variation
from pubpriv.estimators.sample_sizes.terms import Terms
from pubpriv.estimators.sample_sizes.theorems import SampleSize, for_mean
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import KINDS, Budget, Purse
from pubpriv.released.findings import DOUBTFUL, Finding

_MISSED = 1e-3
"""Probability that the mean lies outside the ball that is covered."""

_FINE = 0.6
"""Step of the lattice, as a multiple of the sd of the mean of n rows."""

_STEPS = {1: 1000, 2: 18}
"""Most steps in the ball's radius, by number of columns: 2,001 and 1,009 hypotheses, and half a million half-planes."""


_SAMPLING = 1.0
"""Largest deviation of a count over all half-planes, in units of sqrt(d n); larger ones are rare."""

_UNLIKELY = 0.01
"""Bound on the probability that the noise of some hypothesis exceeds what the slack allows for (a union bound)."""


@dataclass(frozen=True)
class _Cover:
    """A lattice in a ball around the public mean, in standard deviations.

    Attributes:
        step, steps: see `Selection`.
        slack: alpha of the selection.
    """

    step: float
    steps: int
    slack: float

    @classmethod
    def of(cls, n: int, d: int, m: int, epsilon: float) -> "_Cover":
        """Cover the ball of Claim 2.1; the slack covers the sampling error of n rows and the noise of all scores."""
        from scipy.special import chdtri

        radius = math.sqrt(float(chdtri(d, _MISSED)) / m)
        step = max(_FINE / math.sqrt(n), radius / _STEPS[d])
        steps = math.ceil(radius / step * (1 - 1e-12))
        many = math.log(2.0 * steps) if d == 1 else math.log(math.pi * steps**2 + 1)
        # the true mean scores 1.5 n slack minus the sampling deviation; it must exceed all noise, of scale 2 / epsilon
        needed = _SAMPLING * math.sqrt(d * n) + 2 * (many - math.log(_UNLIKELY)) / epsilon
        return cls(step, steps, needed / (1.5 * n))

    @property
    def error(self) -> float:
        """sd of a coordinate if the choice is uniform among the hypotheses that are not compared with each other."""
        return math.hypot(_alike(self.slack), self.step / 2) / math.sqrt(3)


def _alike(slack: float) -> float:
    """Distance from which two hypotheses are compared: unit Gaussians a apart differ by a / sqrt(2 pi)."""
    return 3 * slack * math.sqrt(2 * math.pi)


def check_dimension(method: str, d: int) -> None:
    """Refuse this method for more than two columns.

    Raises:
        InvalidInput: there are more.
    """
    if method == "hypotheses" and d not in _STEPS:
        raise InvalidInput(f"the method hypotheses covers one or two columns, not {d}: take the method two-step")


def check_cover(n: int, d: int, m: int, purse: Purse) -> None:
    """Refuse a run whose noise is too large to distinguish the hypotheses.

    Raises:
        InvalidInput: it is too large.
    """
    _plan(n, d, m, purse)


def _plan(n: int, d: int, m: int, purse: Purse) -> Plan:
    """Plan a single selection that takes the whole purse."""
    price = purse.epsilon**2
    ask = Ask("mean/selection", price.numerator, price.denominator, law=KINDS[purse.kind].noise_law)
    cover = _Cover.of(n, d, m, float(purse.epsilon))
    return Plan((replace(ask, question=_question(Frame((0.0,) * d), n, cover, ask)),))


def _question(frame: Frame, n: int, cover: _Cover, ask: Ask) -> Selection:
    """Make the selection around the frame's centre."""
    return Selection.priced(frame, n, cover.step, cover.steps, cover.slack, ask.price)


@public_value
@dataclass(frozen=True)
class _Selected:
    """The hypothesis that was selected.

    Attributes:
        center: the selected mean, in the data's own units.
        steps: steps of the lattice in the ball's radius.
        slack: slack of the selection.
    """

    center: tuple[float, ...]
    steps: int
    slack: float


@step(title="hypothesis selection", private=True)
def _selected_mean(
    curator: Curator, known: KnownCovariance, center: tuple[float, ...], blank: Selection, label: str
) -> _Selected:
    """Select a mean from a lattice around `center` in whitened coordinates.

    Privacy: one `Selection`, epsilon-DP with the epsilon of `blank`.
    """
    release = curator.release(replace(blank, frame=known.frame(np.array(center))), label)
    asked = release.question  # on a resumed run, the question as it was stored
    chosen = np.array(asked.frame.center) + known.colour(release.values["chosen"])
    return _Selected(tuple(chosen.tolist()), asked.steps, asked.slack)


def hypotheses(run: Execution, rows: PublicTable, known: KnownCovariance, purse: Purse, options: Options) -> MeanResult:
    """Theorem B.2 (2): one selection from a cover of the ball around the public mean."""
    n, (m, d) = run.curator.size.one_each, rows.rows.shape
    with refusing_by(run.curator.size):
        plan = _plan(n, d, m, purse)
    run.curator.rehearse(plan.questions)
    ask = plan.asks[0]
    assert isinstance(ask.question, Selection)
    found = run(_selected_mean, known, options.public, ask.question, ask.label)
    findings = _at_the_edge(found, options.public, known, ask.question)
    diagnostics = {"hypotheses": ask.question.count, "slack": found.slack}
    error = _Cover.of(n, d, m, float(purse.epsilon)).error
    return MeanResult(found.center, 1 / math.sqrt(n), error, findings, diagnostics)


def _at_the_edge(
    found: _Selected, public: tuple[float, ...], known: KnownCovariance, asked: Selection
) -> tuple[Finding, ...]:
    """Find that one of the outermost hypotheses was selected: the mean may lie outside the lattice."""
    moved = known.whiten(np.array(found.center) - np.array(public))
    # hypotheses this close to the edge are not compared with the outermost ones
    if float(np.linalg.norm(moved)) < asked.step * (asked.steps - 1) - _alike(asked.slack):
        return ()
    return (
        Finding(
            "edge-of-cover",
            (),
            DOUBTFUL,
            "the mean was chosen at the edge of what the public rows leave possible, and may lie beyond: these are "
            "unlikely to be of the same law",
            remedy="the method two-step follows such rows",
        ),
    )


@dataclass(frozen=True)
class HypothesesCase:
    """`estimate_mean` by hypothesis selection, for d columns and m public rows."""

    d: int
    m: int

    most_rows = MOST_ROWS

    def forecast(self, n: int, purse: Purse) -> Forecast:
        """Plan one question, and predict the error of a choice among hypotheses that are not compared."""
        own, cover = 1 / math.sqrt(n), _Cover.of(n, self.d, self.m, float(purse.epsilon))
        error = Predicted("mean", Predicted.own_sd, own, cover.error, own, 1 / math.sqrt(self.m))
        return Forecast(_plan(n, self.d, self.m, purse), (error,), variation(error.error * math.sqrt(self.d)))

    def feasible(self, n: int, purse: Purse) -> bool:
        """Decide whether the hypotheses can be distinguished, with an error well below that of the public rows."""
        try:
            return worth(self.forecast(n, purse).errors[0].error, self.m)
        except InvalidInput:
            return False

    def notes(self, n: int, budget: Budget) -> tuple[str, ...]:  # noqa: ARG002 - as all cases
        """Say what the error assumes."""
        return (
            "rows are Gaussian with the covariance that is given, and public ones are drawn from the same law",
            "the error is that of any hypothesis that loses no contest; the choice is epsilon-DP under every budget",
        )

    def theorems(self, terms: Terms) -> tuple[SampleSize, ...]:
        """Give the sample sizes of Theorem B.2."""
        return for_mean(self.d, terms)
