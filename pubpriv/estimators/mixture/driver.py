"""The default mixture driver: which step follows which, and what becomes of the answers.

Source: Bie, Kamath and Singhal 2022, section C, rebuilt: their ideas (superclusters and private PCA separate,
public points seed, private answers measure) with joint releases that make them private, see `docs/errata.md`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mixture.bks.driver import estimate_bks
from pubpriv.estimators.mixture.choice import prefer
from pubpriv.estimators.mixture.components import Round
from pubpriv.estimators.mixture.plan import MixturePlan, mixture_plan
from pubpriv.estimators.mixture.public_model import public_model
from pubpriv.estimators.mixture.regimes import AMPLE, SCARCE, Regime, choose, searching
from pubpriv.estimators.mixture.results import diagnostics, released
from pubpriv.estimators.mixture.routes import Placement, Scene, measured, search
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.estimators.mixture.settings import MixtureSettings
from pubpriv.estimators.mixture.shapes import shaped
from pubpriv.estimators.mixture.supercluster import Groups, supercluster
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.released.kinds import MixtureEstimate


def estimate_mixture(
    public: Any,
    curator: Curator,
    *,
    n_components: int | None = None,
    max_components: int = MixtureSettings.max_components,
    method: str = "auto",
    constants: str = "practical",
    covariance_type: str = "full",
    min_weight: float | None = None,
    budget: Budget | None = None,
    runner: Runner = plain,
) -> MixtureEstimate:
    """A Gaussian mixture of the private rows.

    Args:
        public: public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`.
        curator: the run; see `Curator`.
        n_components: k, at most the number of public rows; None: found by the run.
        max_components: most components that a run without `n_components` may find.
        method: `auto`, or one of the paper's: `bks-scarce`, `bks-ample`.
        constants: of the paper's methods: `practical` or `paper`.
        covariance_type: `full`, `diag`, `spherical` or `auto`.
        min_weight: smallest weight of a component that has to be found; None: 1 / k.
        budget: what this estimate may spend, in the run's kind; None: all that is left.
        runner: who runs the steps.

    Returns:
        Components by falling weight, in the data's own units, with statement, errors and diagnostics.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        PrivateStepFailed: after a charge; run the same release id again.

    Privacy: the sum of the plan's prices, all Gaussian, at most the method's share of the run.
    """
    settings = MixtureSettings(
        n_components=n_components,
        max_components=max_components,
        method=method,
        constants=constants,
        covariance_type=covariance_type,
        min_weight=min_weight,
    )
    curator.check_public(public)
    rows = checked_public(public, curator.columns, settings)
    configuration = settings.configuration() | {"columns": list(curator.columns)}
    purse = curator.begin("mixture", configuration, rows, budget)
    run = Execution(curator, "mixture", runner)
    if method != "auto":
        return _by_the_paper(rows, run, settings, purse, budget or curator.budget)
    scene = Scene(run, rows, run(precondition, rows), settings)
    most = min(settings.most, len(rows.rows))
    groups = run(supercluster, rows, scene.scaling, most)
    looked_for = most if n_components is None and most > 1 else 0
    regime = searching(most) if looked_for else _regime(scene, groups, most)

    def planned(k: int) -> MixturePlan:
        return mixture_plan(
            purse, curator.n_rows, len(rows.columns), k, regime.name, covariance_type, looked_for, groups.count
        )

    plan = planned(most)
    for other in [plan] if not looked_for else [plan, planned(1)]:
        curator.rehearse(other.questions)
    layout = Placement(most, groups)
    if looked_for:
        layout = search(scene, groups, plan)
        plan = planned(layout.n_components)
    fallback = shaped(run(public_model, rows, scene.scaling, plan.n_components), covariance_type, scene.scaling)
    last, shape = measured(scene, layout, plan)
    guard = run.at("", shape)(prefer, scene.scaling, last.mixture, fallback, plan.guard)
    weights = run(_count_weights, last)
    facts = diagnostics(scene, layout, plan, regime, last, shape, guard)
    chosen = replace(last.mixture, weights=weights) if guard.clear else fallback
    return released(chosen, last if guard.clear else None, curator, rows, scene.scaling, method, facts)


def _regime(scene: Scene, groups: Groups, k: int) -> Regime:
    """The regime that public facts suggest; that of a run which was begun before there was any, if there is one."""
    m, d = len(scene.rows.rows), len(scene.rows.columns)
    regime = choose(m, d, k, scene.settings.smallest_weight, groups.separation, groups.overlapping)
    asked = {line.label for line in scene.run.curator.statement().charges}
    if regime.name == AMPLE and asked & {"mixture/pca", "mixture/coarse/subspace"}:
        return Regime(SCARCE, "as this run was begun by an earlier version")
    return regime


def checked_public(public: Any, columns: tuple[str, ...], settings: MixtureSettings) -> PublicTable:
    """Public rows fit to be used with `columns` and `settings`, or a clear error before anything is opened."""
    table = PublicTable.open(public, list(columns))
    if len(table.rows) < 2:
        raise InvalidInput("one public row has no spread to scale columns by: give at least two")
    if settings.n_components is not None and len(table.rows) < settings.n_components:
        raise InvalidInput(
            f"{len(table.rows)} public rows cannot seed {settings.n_components} components: "
            "give more public rows, or ask for fewer components"
        )
    return table


def _by_the_paper(
    rows: PublicTable, run: Execution, settings: MixtureSettings, purse: Purse, budget: Budget
) -> MixtureEstimate:
    """Algorithms 3 to 10 of the paper, instead of the default pipeline."""
    found = estimate_bks(rows, run, settings, purse, budget)
    return released(
        found.mixture, found.last, run.curator, rows, found.scaling, settings.method, found.diagnostics, found.complete
    )


@step(title="weight counting")
def _count_weights(last: Round) -> tuple[float, ...]:
    """Mixing weights from the released counts of a round, summing to one; post-processing, free."""
    counts = np.array(last.counts)
    return tuple((counts / counts.sum()).tolist())
