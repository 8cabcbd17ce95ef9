"""Methods of a mixture that a run requests by name instead of the default method."""

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._findings import INCOMPLETE
from pubpriv.estimators.mixture._results import released
from pubpriv.estimators.mixture._settings import KSSU, MixtureSettings
from pubpriv.estimators.mixture.bks.driver import estimate_bks
from pubpriv.estimators.mixture.kssu.driver import estimate_kssu
from pubpriv.estimators.steps import Execution
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.released.kinds import MixtureEstimate


def estimate_by_name(
    rows: PublicTable, run: Execution, settings: MixtureSettings, purse: Purse, budget: Budget
) -> MixtureEstimate:
    """Run the method `kssu` (no public rows), or a reference method (algorithms 3 to 10 of the paper), by its name."""
    if settings.method == KSSU:
        alone = estimate_kssu(run, settings, purse)
        facts = alone.scaling, settings.method, alone.diagnostics, () if alone.complete else (INCOMPLETE,)
        return released(alone.last.mixture, alone.last, run.curator, rows, *facts)
    found = estimate_bks(rows, run, settings, purse, budget)
    findings = () if found.complete else (INCOMPLETE,)
    return released(
        found.mixture, found.last, run.curator, rows, found.scaling, settings.method, found.diagnostics, findings
    )
