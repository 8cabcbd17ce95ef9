"""The declaration of a regression, for commands, flows, plans and audits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubpriv.estimators.estimator import Checks, Estimator, Trial
from pubpriv.estimators.regression.settings import RegressionSettings

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Case, Size
    from pubpriv.estimators.steps import Runner
    from pubpriv.privacy.budgets import Budget
    from pubpriv.released.fitted import RegressionEstimate


def _driver(settings: RegressionSettings, public: PublicTable, curator: Curator, runner: Runner) -> RegressionEstimate:
    from pubpriv.estimators.regression.driver import estimate_regression

    return estimate_regression(public, curator, outcome=_outcome(settings, public), force=settings.force, runner=runner)


def _outcome(settings: RegressionSettings, public: PublicTable) -> str:
    """Return the outcome as the table names it; without one, the last column."""
    from pubpriv.data.columns import parse_columns

    design = settings.design()
    named = settings.outcome if design is None else design.outcome
    return public.columns[-1] if named is None else parse_columns((named,))[0].name


def _case(settings: RegressionSettings, public: PublicTable | Size) -> Case:
    from pubpriv.estimators.gaussian.declaration import GAUSSIAN
    from pubpriv.estimators.gaussian.settings import GaussianSettings
    from pubpriv.estimators.planning import Size
    from pubpriv.estimators.regression._forecast import RegressionCase

    checked = public if isinstance(public, Size) else _checked(settings, public)
    return RegressionCase(GAUSSIAN.case(GaussianSettings(target="moments"), checked))


def _checked(settings: RegressionSettings, public: PublicTable) -> PublicTable:
    from pubpriv.estimators.regression.driver import check_public, regressors

    outcome = _outcome(settings, public)
    regressors(public.columns, outcome, None)
    return check_public(public, outcome)


def _check_size(settings: RegressionSettings, public: PublicTable, n_private: int, budget: Budget) -> None:
    """Refuse a run of which little would come, unless it is forced."""
    from pubpriv.estimators.regression.plan import check_worth
    from pubpriv.privacy.budgets import Purse

    if not settings.force:
        check_worth(n_private, len(public.columns), Purse.of(budget))


def _advice(settings: RegressionSettings, public: PublicTable) -> tuple[str, ...]:
    """Say that an outcome of two values has probabilities, which a line may leave."""
    outcome = _outcome(settings, public)
    values = {*public.rows[:, public.columns.index(outcome)].tolist()}
    if len(values) > 2:
        return ()
    return (f"{outcome} has two values in the public rows: a line may leave 0 and 1; its errors hold all the same",)


REGRESSION = Estimator(
    name="regression",
    title="A linear regression of a private table",
    help="A linear regression, under differential privacy.\n\nCoefficients with errors that hold where scatter is "
    "uneven. Two more public rows than columns are needed, four times as many are good.",
    walk="Estimate a linear regression of a private table with the help of a public one.\n\nIngest and validate both "
    "tables, estimate a mean and covariance to start from, and make two Newton steps from clipped scores. Each look at "
    "private rows charges the ledger first.",
    plan_help="Plan `fit regression`.\n\nErrors are those of standardised coefficients.",
    settings=RegressionSettings,
    driver=_driver,
    case=_case,
    checks=Checks(_checked, _check_size, _advice),
    trials=(
        Trial("linear", RegressionSettings(force=True)),
        Trial("pure", RegressionSettings(force=True), budget="pure:8"),
    ),
    one_law=False,
)
