"""The privacy statement of a run: its guarantees, and the epsilon that dp-accounting computes for its steps.

The guarantee is that of the dataset's cap, and for one run that of its allotment: both hold even though each
question may be chosen after seeing all earlier answers. The privacy loss distribution (PLD) of the steps
that were taken is tighter and is **no guarantee**: it treats the steps as if they had been fixed in advance,
and a cap on it can be broken by choosing them adaptively (`tests/privacy/test_filters.py` does, by a factor
1.94). It is reported as a figure, after the guarantees, and never enforced.

The trap in dp-accounting 0.6: `GaussianDpEvent.noise_multiplier` is documented as sd / C, C the norm of one
record. With `REPLACE_ONE`, its PLD accountant doubles the shift to 2 C and its RDP accountant does not, so one
of the two is wrong whatever C means. Besides, our sensitivities are not multiples of a record's norm (a Gram
matrix has sqrt(2) C^2). Here the multiplier is sd over the exact replace-one distance of two tables' totals,
1 / sqrt(squared_distance), and the accountant keeps its default relation, which then means "means one unit
apart". That is right because nothing is subsampled.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import exp, inf, nextafter, sqrt
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.privacy.budgets import REPORT_DELTA
from pubpriv.privacy.events import Event, GaussianEvent, PureEvent, RadialEvent, ThresholdEvent, gaussian_part
from pubpriv.privacy.ledger.views import Balance, RunView
from pubpriv.privacy.units import Number, exact
from pubpriv.privacy.wording import statement_of_periods

_INTERVAL = 1e-4
"""Width of a cell of the discretised privacy loss; losses are rounded up to it."""

_LARGEST_MU_SQUARED, _LARGEST_EPSILON = 100, 100
"""Bounds beyond which the discretised loss has millions of cells, for a meaningless epsilon."""

_DISCRETE: dict[str, Any] = {"value_discretization_interval": _INTERVAL, "pessimistic_estimate": True}
_ROUNDS, _MARGIN = 8, 1.01
"""How often a figure is computed again, at delta minus the part for discreteness; and a factor on that part, because it
grows with epsilon."""

_PLD_LABEL = (
    "a figure for the steps that were taken, as if they had been fixed in advance; "
    "not a guarantee for adaptively chosen steps"
)


@dataclass(frozen=True)
class _PldReport:
    """The epsilon of a list of steps by their privacy loss distribution.

    Attributes:
        epsilon: never below the truth for steps fixed in advance; None if there is no figure.
        delta: delta at which epsilon holds, failure terms included.
        steps: number of steps.
        interval: width of the discretisation, which is pessimistic.
        failure: part of delta for pricing discrete Gaussians as continuous ones.
        note: why there is no figure; empty if there is one.
        label: how to read the figure; part of every text that shows it.
    """

    epsilon: float | None
    delta: float
    steps: int
    interval: float = _INTERVAL
    failure: float = 0.0
    note: str = ""
    label: str = _PLD_LABEL

    def describe(self) -> str:
        """Return a line, with its label."""
        if self.epsilon is None:
            return f"no PLD figure for these {self.steps} steps: {self.note}"
        return f"PLD of {self.steps} steps: epsilon {self.epsilon:.4g} at delta {self.delta:g} ({self.label})"


def _pld_report(steps: RunView | Iterable[Event], delta: Number = REPORT_DELTA) -> _PldReport:
    """The epsilon at `delta` of the charges of a run, or of events, as if fixed in advance.

    Gaussians of fixed scales compose to one whose mu^2 is the sum, so they are passed on as one event. An
    epsilon-DP mechanism enters as randomised response, which dominates all of them (Kairouz, Oh, Viswanath
    2015). A discrete Gaussian is within total variation t of a post-processed continuous one: as in
    `ApproximateDP`, 2 (1 + e^epsilon) sum t of delta is set aside for that, and (1 + e^epsilon) times what thresholds
    may let through (`ThresholdEvent`).

    Raises:
        InvalidInput: delta is not between 0 and 1.
    """
    share = exact(delta, "delta")
    if share >= 1:
        raise InvalidInput(f"delta must be below 1, not {float(share):g}")
    events = [charge.event for charge in steps.charges] if isinstance(steps, RunView) else list(steps)
    mu_squared = sum((event.squared_distance for event in _gaussians(events)), Fraction(0))
    if not events:
        return _PldReport(0.0, float(share), 0)
    pure = sum((event.epsilon for event in events if isinstance(event, PureEvent | RadialEvent)), Fraction(0))
    if mu_squared > _LARGEST_MU_SQUARED or pure > _LARGEST_EPSILON:
        return _PldReport(None, float(share), len(events), note="so little noise protects nobody")
    return _figure(mu_squared, events, float(share))


def _figure(mu_squared: Fraction, events: list[Event], delta: float) -> _PldReport:
    """The epsilon at delta minus the part for discreteness, which grows with epsilon, so it is computed repeatedly."""
    variation = float(sum((2 * event.total_variation() for event in _gaussians(events)), Fraction(0)))
    variation += float(sum((event.tail() for event in events if isinstance(event, ThresholdEvent)), Fraction(0)))
    losses = _losses(mu_squared, [event.epsilon for event in events if isinstance(event, PureEvent | RadialEvent)])
    failure, epsilon = 0.0, 0.0
    for _ in range(_ROUNDS):
        epsilon = float(losses.get_epsilon_for_delta(delta - failure))
        if epsilon == inf:
            return _PldReport(None, delta, len(events), note=f"delta {delta:g} is below what is resolved")
        needed = (1 + exp(epsilon)) * variation
        if needed <= failure:
            return _PldReport(epsilon, delta, len(events), failure=failure)
        failure = needed * _MARGIN
        if failure >= delta:
            break
    return _PldReport(None, delta, len(events), note=f"its noise is too coarse to be continuous up to delta {delta:g}")


def _gaussians(events: list[Event]) -> list[GaussianEvent]:
    return [part for part in map(gaussian_part, events) if part is not None]


def _losses(mu_squared: Fraction, pure: list[Fraction]) -> Any:
    """The privacy loss distribution of a Gaussian and of some pure mechanisms, by dp-accounting."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    # always the default relation, "means one unit apart", and never REPLACE_ONE: see the module's docstring
    losses = pld.identity(_INTERVAL)
    if mu_squared:
        losses = losses.compose(pld.from_gaussian_mechanism(_noise_multiplier(mu_squared), **_DISCRETE))
    for epsilon, count in Counter(pure).items():
        parameters = DifferentialPrivacyParameters(nextafter(float(epsilon), inf), 0.0)
        losses = losses.compose(pld.from_privacy_parameters(parameters, _INTERVAL).self_compose(count))
    return losses


def _noise_multiplier(mu_squared: Fraction) -> float:
    """sd over the replace-one distance of two tables' totals: 1 / mu, rounded down (less noise than there is)."""
    return (1 - 1e-12) / sqrt(mu_squared)


def run_statement(balance: Balance, run: RunView, delta: Any = None) -> dict[str, Any]:
    """Return the privacy statement of a run as plain data, the guarantees first.

    Args:
        balance: balance of its dataset.
        run: the run; if it is not closed, the statement is for the charges so far.
        delta: delta of the PLD figure; default: the allotment's own, or 1e-6.
    """
    own, terms = run.state.period, balance.periods
    persons = balance.person is not None
    periods = {} if own is None or terms is None else statement_of_periods(terms, own.name, persons)
    figure = _pld_report(run, (run.allotment.report_delta or REPORT_DELTA) if delta is None else delta)
    return {
        "dataset": balance.dataset,
        "release_id": run.release_id,
        "unit": balance.unit,
        **(balance.person.to_json() if balance.person else {}),
        "cap": balance.promised.guarantee(),
        **periods,
        "allotment": run.allotment.guarantee([charge.event for charge in run.charges]),
        "closed": run.state.closed,
        "spent": run.allotment.amount_text(run.state.spent),
        "spent_of_dataset": balance.budget.amount_text(run.state.charged),
        "charges": [
            {
                "label": charge.label,
                "question": charge.question,
                "cost": run.allotment.amount_text(charge.price_run),
                "event": charge.event.to_json(),
                "at": charge.at,
                "user": charge.user,
                "answered": charge.answered,
            }
            for charge in run.charges
        ],
        "pld": asdict(figure) | {"text": figure.describe()},
        "chain_head": balance.chain_head,
    }
