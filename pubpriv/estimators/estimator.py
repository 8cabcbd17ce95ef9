"""The declaration of an estimator, from which commands, flows, forms, deployments, plans, audits and tests are made.

Neither this module nor a declaration loads anything heavy; the functions of an estimator load what they need.
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
    """Checks before a run is opened. Each takes the settings first; all may raise `InvalidInput`.

    Attributes:
        public: returns the public rows that fit the settings.
        size: refuses a run that is certain to be too small, and says which n or which budget would do.
        advice: says why public rows are usable but not good.
    """

    public: Callable[[Any, PublicTable], PublicTable]
    size: Callable[[Any, PublicTable, int, Budget], None] = _any_size
    advice: Callable[[Any, PublicTable], tuple[str, ...]] = _no_advice


@dataclass(frozen=True)
class Trial:
    """A run that an audit records on synthetic rows and replays on other tables.

    The rows come from unit Gaussians with equal weights; see `pubpriv.audit.recording`.

    Attributes:
        name: names the branch that the run takes; empty if there is only one.
        settings: of the run; None: the defaults.
        budget: of the run, as text.
        components: number of Gaussians.
        columns: number of columns of the table.
        apart: distance between the means of any two of them.
        public_rows: number of public rows, the same rows in each audit. 0: the method works without them.
        missing: share of the private cells that are missing.
    """

    name: str = ""
    settings: Settings | None = None
    budget: str = "zcdp:0.5"
    components: int = 1
    columns: int = 3
    apart: float = 0.0
    public_rows: int = 8
    missing: float = 0.0


@dataclass(frozen=True)
class Estimator:
    """The declaration of one estimator.

    Attributes:
        name: for example `mean`, used in the command `fit mean`, the flow `estimate-mean` and deployment files.
        title: what it estimates, for people.
        help: help text of its command.
        walk: what its flow does, for Prefect's UI.
        plan_help: help text of its plan.
        settings: a frozen dataclass; options, forms and files are made from its fields.
        driver: runs the method: (settings, public rows, curator, runner) to an estimate.
        case: makes what prices and predicts a run, from (settings, public rows or their planned number).
        checks: made before anything is spent.
        trials: runs that an audit records, one for each branch of the driver.
        without_public: names of the methods that work without public rows.
        one_law: whether it takes all rows to be of one law; see `usable`.
        by_column: whether it treats columns one by one, so that an old release of quantiles may stand for public rows.
        rehearsed: whether runs in simulation take less than a second, so that a few are made before a real one.
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
    one_law: bool = True
    by_column: bool = False
    rehearsed: bool = False

    def needs_public(self, settings: Settings) -> bool:
        """Return whether a run with these settings takes public rows."""
        return getattr(settings, "method", None) not in self.without_public
