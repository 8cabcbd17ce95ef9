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
from pubpriv.estimate import provenance_of, told_method
from pubpriv.ingest import settling
from pubpriv.mixture.bks.driver import estimate_bks
from pubpriv.mixture.components import Floors, Round
from pubpriv.mixture.errors import standard_errors
from pubpriv.mixture.linear import clip_radius
from pubpriv.mixture.pca import Subspaces
from pubpriv.mixture.plan import MixturePlan, make_plan, rehearsal
from pubpriv.mixture.scaling import FLOOR, Scaling
from pubpriv.mixture.settings import MOST_UNKNOWN, MixtureSettings
from pubpriv.mixture.steps import PLAIN, MixtureSteps
from pubpriv.mixture.supercluster import Groups
from pubpriv.models import Mixture, MixtureEstimate
from pubpriv.plans import Ask
from pubpriv.privacy.budgets import Budget, Purse

UNTRUSTED = 1.5
"""Spectral noise in a component's whitened covariance above which only weights, means and scale are trusted."""


def estimate_mixture(
    public: Any,
    curator: Curator,
    *,
    n_components: int | None = None,
    max_components: int = MOST_UNKNOWN,
    method: str = "auto",
    constants: str = "practical",
    covariance_type: str = "full",
    min_weight: float | None = None,
    budget: Budget | None = None,
    steps: MixtureSteps = PLAIN,
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
        steps: who runs the steps.

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
    rows = checked_public(public, curator.columns, settings)
    configuration = settings.configuration() | {"columns": list(curator.columns)}
    if n_components is None or covariance_type != "full":
        raise InvalidInput("not built yet")
    purse = curator.begin("mixture", configuration, rows.sha256, budget)
    steps = steps.wrapped(settling(curator.settled, "mixture"))
    if method != "auto":
        return _by_the_paper(rows, curator, settings, purse, budget or curator.budget, steps)
    scaling = steps.precondition(rows)
    groups = steps.supercluster(rows, scaling, n_components)
    fallback = steps.public_model(rows, scaling, n_components)
    plan = make_plan(purse, curator.n_rows, len(rows.columns), n_components, groups.overlapping)
    curator.rehearse(rehearsal(plan, len(rows.columns), groups.count))
    if groups.overlapping:
        last = _overlapping(curator, rows, scaling, plan, steps)
    else:
        last = _separated(curator, rows, scaling, groups, plan, steps)
    guard = steps.prefer(curator, scaling, last.mixture, fallback, plan.ask("mixture/guard"))
    weights = steps.count_weights(last)
    chosen = replace(last.mixture, weights=weights) if guard.clear else fallback
    diagnostics = _diagnostics(rows, scaling, groups, plan, last, guard)
    return _estimate(chosen, last if guard.clear else None, curator, rows, scaling, method, diagnostics)


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
    rows: PublicTable,
    curator: Curator,
    settings: MixtureSettings,
    purse: Purse,
    budget: Budget,
    steps: MixtureSteps,
) -> MixtureEstimate:
    """Algorithms 3 to 10 of the paper, instead of the default pipeline."""
    found = estimate_bks(rows, curator, settings, purse, budget, steps)
    return _estimate(
        found.mixture, found.last, curator, rows, found.scaling, settings.method, found.diagnostics, found.complete
    )


def _separated(
    curator: Curator, rows: PublicTable, scaling: Scaling, groups: Groups, plan: MixturePlan, steps: MixtureSteps
) -> Round:
    """Components stand apart: find them in private subspaces, then measure."""
    subspaces = Subspaces.whole(groups)
    if plan.n_components < len(rows.columns):
        subspaces = steps.private_pca(curator, scaling, groups, plan.n_components, plan.ask("mixture/pca"))
    seeds = steps.seed(groups, subspaces, plan.n_components)
    asks = plan.ask("mixture/coarse/subspace"), plan.ask("mixture/coarse/space")
    start = steps.locate(curator, scaling, groups, subspaces, seeds, asks)
    return _refine(curator, scaling, start, groups.floors(seeds.groups), plan.starting("mixture/round-"), steps)


def _overlapping(
    curator: Curator, rows: PublicTable, scaling: Scaling, plan: MixturePlan, steps: MixtureSteps
) -> Round:
    """Components overlap: refine several public starts in R^d, let the private rows choose, refine the best."""
    floors = ((FLOOR,) * len(rows.columns),) * plan.n_components
    starts = steps.public_starts(rows, scaling, plan.n_components)
    refined = [
        _refine(curator, scaling, start, floors, plan.starting(f"mixture/start-{number}/"), steps).mixture
        for number, start in enumerate(starts, start=1)
    ]
    scores = [0.0] + [
        steps.prefer(curator, scaling, other, refined[0], plan.ask(f"mixture/pick-{number}")).advantage
        for number, other in enumerate(refined[1:], start=2)
    ]
    best = refined[int(np.argmax(scores))]
    return _refine(curator, scaling, best, floors, [plan.ask("mixture/round-3")], steps)


def _refine(
    curator: Curator, scaling: Scaling, start: Mixture, floors: Floors, asks: list[Ask], steps: MixtureSteps
) -> Round:
    """One round per ask, each from the estimate before it."""
    last: Round = steps.estimate_components(curator, scaling, start, floors, asks[0])
    for ask in asks[1:]:
        last = steps.estimate_components(curator, scaling, last.mixture, floors, ask)
    return last


def _diagnostics(
    rows: PublicTable, scaling: Scaling, groups: Groups, plan: MixturePlan, last: Round, guard: Any
) -> dict[str, Any]:
    d, k = len(rows.columns), len(last.counts)
    loud = last.moment_sd * np.sqrt(2 * d) / np.array(last.counts)
    warnings = list(scaling.notes)
    smallest = min(last.counts) / sum(last.counts)
    if len(rows.rows) < 5 * np.log(max(k, 2)) / max(smallest, 1e-9):
        warnings.append(
            f"{len(rows.rows)} public rows are few for {k} components: one of them may have been missed "
            f"(about {int(np.ceil(5 * np.log(max(k, 2)) / max(smallest, 1e-9)))} would do)"
        )
    if loud.max() > UNTRUSTED:
        warnings.append("noise is larger than the covariances of a component: trust weights, means and scale only")
    if not guard.clear:
        warnings.append("the private rows do not support a better model than the public one, which is returned")
    return {
        "regime": plan.regime,
        "separation": groups.separation,
        "groups": groups.count,
        "rounds": [ask.label for ask in plan.asks],
        "covariance_noise": loud.tolist(),
        "advantage_over_public": {"nats_per_row": guard.advantage, "noise": guard.noise},
        "private_model_chosen": guard.clear,
        "clip_radius": clip_radius(d),
        "covariance_floor": (FLOOR * np.array(scaling.scale) ** 2).tolist(),
        "warnings": warnings,
    }


def _estimate(
    chosen: Mixture,
    last: Round | None,
    curator: Curator,
    rows: PublicTable,
    scaling: Scaling,
    method: str,
    diagnostics: dict[str, Any],
    found: bool = True,
) -> MixtureEstimate:
    """The model in the data's own units, components by falling weight."""
    weights, means, covariances = chosen.arrays
    order = np.argsort(-weights, kind="stable")
    location, scale = np.array(scaling.location), np.array(scaling.scale)
    released = covariances[order] * np.outer(scale, scale)
    mixture = Mixture.of(
        weights[order] / weights.sum(),
        location + scale * means[order],
        (released + released.transpose(0, 2, 1)) / 2,  # symmetric to the last bit
    )
    statement = curator.statement()
    return MixtureEstimate(
        mixture=mixture,
        columns=curator.columns,
        method=told_method(method, statement),
        converged=found and (last is None or max(diagnostics["covariance_noise"]) <= UNTRUSTED),
        standard_errors=standard_errors(last, order, scaling, curator.n_rows, len(rows.rows), chosen),
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.n_rows, rows),
        diagnostics=diagnostics,
    )
