"""What a budget promises, in plain numbers and a sentence: the part of a report that people sign."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pubpriv.privacy.budgets import REPORT_DELTA, ApproximateDP, Budget, PureDP
from pubpriv.privacy.conversions import epsilon_gaussian, epsilon_zcdp
from pubpriv.privacy.events import Event, GaussianEvent, failure_factor

RESERVE = Fraction(1, 100)
"""Part of delta that covers discrete Gaussians being told as continuous ones, as in `ApproximateDP`."""


def guarantee(budget: Budget, events: Sequence[Event] = ()) -> dict[str, Any]:
    """The guarantee of `budget` for a report.

    A zCDP budget implies an epsilon at delta = 1e-6, whatever is charged to it (Canonne-Kamath-Steinke). Of a run
    whose charges are known and all Gaussian a smaller one is told beside it: they sum to mu^2 <= 2 rho, which is
    converted exactly (Balle-Wang) at 99% of that delta. The rest covers 2 (1 + e^epsilon) times the total
    variation between discrete and continuous noise; where it does not, the figure is left out.

    Args:
        budget: of a dataset or a run.
        events: all charges of that run.
    """
    told: dict[str, Any] = {"kind": budget.kind, "text": budget.describe()}
    if isinstance(budget, PureDP):
        return told | {"epsilon": float(budget.epsilon)}
    if isinstance(budget, ApproximateDP):
        return told | {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
    rho, delta = Fraction(budget.rho), float(REPORT_DELTA)
    implied = epsilon_zcdp(rho, REPORT_DELTA)
    told |= {"rho": float(rho), "delta": delta, "epsilon": implied}
    told["text"] += f", which implies ({implied:.4g}, {delta:g})-DP"
    exact = _all_gaussian(rho, events)
    if exact is not None:
        told["epsilon_all_gaussian"] = exact
        told["text"] += f"; all noise being Gaussian, ({exact:.4g}, {delta:g})-DP"
    return told


def _all_gaussian(rho: Fraction, events: Sequence[Event]) -> float | None:
    gaussians = [event for event in events if isinstance(event, GaussianEvent)]
    if not gaussians or len(gaussians) < len(events):
        return None
    epsilon = epsilon_gaussian(2 * rho, REPORT_DELTA * (1 - RESERVE))
    apart = sum((event.total_variation() for event in gaussians), Fraction(0))
    return epsilon if failure_factor(Fraction(epsilon)) * apart <= RESERVE * REPORT_DELTA else None
