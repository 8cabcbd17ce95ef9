"""Declarations of quantiles and of a description, for commands, flows, plans and audits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubpriv.estimators.estimator import Checks, Estimator, Trial
from pubpriv.estimators.quantiles.settings import DescribeSettings, QuantilesSettings

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Case, Size
    from pubpriv.estimators.quantiles._targets import Targets
    from pubpriv.estimators.steps import Runner
    from pubpriv.privacy.budgets import Budget
    from pubpriv.released.quantiles import QuantilesEstimate

    Settings = QuantilesSettings | DescribeSettings


def _driver(settings: Settings, public: PublicTable, curator: Curator, runner: Runner) -> QuantilesEstimate:
    from pubpriv.estimators.quantiles.driver import estimate_quantiles

    counted = settings.shares, settings.above
    return estimate_quantiles(public, curator, settings.at, shares=counted[0], above=counted[1], runner=runner)


def _case(settings: Settings, public: PublicTable | Size) -> Case:
    from pubpriv.estimators.groups.forecast import groups_of_case
    from pubpriv.estimators.planning import Size
    from pubpriv.estimators.quantiles._forecast import QuantilesCase
    from pubpriv.estimators.quantiles.plan import wanted

    by, some = groups_of_case(settings, public), settings.at is None
    if isinstance(public, Size):
        return QuantilesCase(public.d, public.m, wanted(settings.at), some, len(settings.shares), by)
    table = _checked(settings, public)
    counted = len(table.columns) - len(_targets(settings, table).ranked)
    return QuantilesCase(len(table.columns), len(table.rows), wanted(settings.at), some, counted, by)


def _checked(settings: Settings, public: PublicTable) -> PublicTable:
    from pubpriv.estimators.quantiles.plan import check_public, wanted

    wanted(settings.at)
    _targets(settings, check_public(public))
    return public


def _targets(settings: Settings, public: PublicTable) -> Targets:
    from pubpriv.estimators.quantiles._targets import Targets

    return Targets.of(public, (), settings.shares, settings.above)


def _check_size(settings: Settings, public: PublicTable, n_private: int, budget: Budget) -> None:
    """Refuse ranks that noise would drown."""
    from pubpriv.estimators.quantiles.plan import held
    from pubpriv.privacy.budgets import Purse

    at = settings.at if _targets(settings, public).ranked else None
    held(at, n_private, len(public.columns), Purse.of(budget).rho)


_WALK = (
    "Ingest and validate both tables, ask how many rows of each column lie between edges that the public rows suggest, "
    "ask three times more between edges that close in on the ranks, pool all counts, and read quantiles with intervals "
    "off them. Each look at private rows charges the ledger first."
)
_PLAN = "Errors are those of ranks, as shares of the rows."

QUANTILES = Estimator(
    name="quantiles",
    title="Quantiles of a private table",
    help="Quantiles of each column, under differential privacy.\n\nMedians, deciles and others, with shares of values. "
    "8 public rows are needed, 30 are good.",
    walk=f"Estimate quantiles of a private table with the help of a public one.\n\n{_WALK}",
    plan_help=f"Plan `fit quantiles`.\n\n{_PLAN}",
    settings=QuantilesSettings,
    driver=_driver,
    case=_case,
    checks=Checks(_checked, _check_size),
    trials=(
        Trial(),
        Trial("shares by group", QuantilesSettings(shares=("x0",), above={"x1": 0.5}, by="half")),
        Trial("pure", budget="pure:4"),
    ),
    one_law=False,
    by_column=True,
)

DESCRIBE = Estimator(
    name="describe",
    title="A description of a private table",
    help="A description of each column, under differential privacy.\n\nNine quantiles from 1% to 99%, missing cells, "
    "values with many rows, for one price. Quantiles that noise would drown are left out.",
    walk=f"Describe the columns of a private table with the help of a public one.\n\n{_WALK}",
    plan_help=f"Plan `fit describe`.\n\n{_PLAN}",
    settings=DescribeSettings,
    driver=_driver,
    case=_case,
    checks=Checks(_checked, _check_size),
    one_law=False,
    by_column=True,
)
