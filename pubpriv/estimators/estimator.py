"""What an estimator is to everything above it: commands, flows, forms, deployment files, plans, audits and tests.

Nothing heavy is loaded by this module or by a declaration; the functions of an estimator load what they use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pubpriv.estimators.settings import Settings

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.planning import Case, Size
    from pubpriv.estimators.steps import Runner
    from pubpriv.privacy.budgets import Budget
    from pubpriv.released.estimate import Estimate


def _no_advice(settings: Any, public: PublicTable) -> tuple[str, ...]:
    del settings, public
    return ()


def _any_size(settings: Any, public: PublicTable, n_private: int, budget: Budget) -> None:
    del settings, public, n_private, budget


@dataclass(frozen=True)
class Checks:
    """What is looked at before a run is opened. Each takes the settings first; all raise `InvalidInput`.

    Attributes:
        public: gives the public rows that fit the settings.
        size: refuses a run that is known beforehand to be too small, with the n or the budget that would do.
        advice: says of public rows that will do, but not well, why.
    """

    public: Callable[[Any, PublicTable], PublicTable]
    size: Callable[[Any, PublicTable, int, Budget], None] = _any_size
    advice: Callable[[Any, PublicTable], tuple[str, ...]] = _no_advice


@dataclass(frozen=True)
class Trial:
    """A run that an audit records on synthetic rows and replays on other tables.

    The rows are of unit Gaussians with equal weights; see `pubpriv.audit.recording`.

    Attributes:
        name: which way the run takes; empty where there is only one.
        settings: of the run; None: their defaults.
        budget: of the run, as text.
        components: how many Gaussians there are.
        columns: of the table.
        apart: distance between the means of any two of them.
        public_rows: how many; they are the same in each audit. 0: the method works without.
    """

    name: str = ""
    settings: Settings | None = None
    budget: str = "zcdp:0.5"
    components: int = 1
    columns: int = 3
    apart: float = 0.0
    public_rows: int = 8


@dataclass(frozen=True)
class Estimator:
    """An estimator, declared.

    Attributes:
        name: `mean`: of the command `fit mean`, of the flow `estimate-mean`, and in deployment files.
        title: what it estimates, for people.
        help: of its command.
        walk: what its flow does, for the UI.
        plan_help: of its plan.
        settings: a frozen dataclass; options, forms and files are made of its fields.
        driver: (settings, public rows, curator, runner) to an estimate.
        case: (settings, public rows or how many there will be) to what prices and predicts a run.
        checks: before anything is spent.
        trials: what an audit records: a run for each way that the driver may take.
        without_public: methods, by name, that work without public rows.
    """

    name: str
    title: str
    help: str
    walk: str
    plan_help: str
    settings: type[Settings]
    driver: Callable[[Any, PublicTable, Curator, Runner], Estimate]
    case: Callable[[Any, PublicTable | Size], Case]
    checks: Checks
    trials: tuple[Trial, ...] = field(default=(Trial(),), hash=False)  # settings may hold mappings
    without_public: tuple[str, ...] = ()

    def needs_public(self, settings: Settings) -> bool:
        """Return whether a run with these settings takes public rows."""
        return getattr(settings, "method", None) not in self.without_public
