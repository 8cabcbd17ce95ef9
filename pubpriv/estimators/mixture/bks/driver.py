"""Algorithms 7 and 10: find the groups, by private or public queries, then estimate every group's Gaussian and weight.

Source: theorems C.22 and C.27 of Bie, Kamath and Singhal 2022.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._components import Floors, Round, estimate_components
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._verdict import Verdict
from pubpriv.estimators.mixture.bks._clustering import Clustering, easy_clustering, hard_clustering
from pubpriv.estimators.mixture.bks._constants import Constants
from pubpriv.estimators.mixture.bks.estimate import start_clusters
from pubpriv.estimators.mixture.bks.plan import BksPlan
from pubpriv.estimators.mixture.bks.requirement import requirement
from pubpriv.estimators.mixture.bks.tree import Level, Tree, open_level
from pubpriv.estimators.mixture.public_model import public_model
from pubpriv.estimators.mixture.scaling import Scaling, precondition
from pubpriv.estimators.sample_sizes.terms import ALPHA
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Budget, Purse
from pubpriv.released.law import Mixture

_UNEQUAL = 30.0
"""Column scales that differ by more than this factor cause a warning: balls measure all columns alike."""


@dataclass(frozen=True)
class _BksResult:
    """The result of a run.

    Attributes:
        mixture: the estimate, in standard coordinates.
        last: the round that measured it; None: the groups were not found, and the mixture is the public model.
        scaling: the standard coordinates.
        complete: whether k groups were found, and each has enough private rows.
        diagnostics: public facts and released answers.
    """

    mixture: Mixture
    last: Round | None
    scaling: Scaling
    complete: bool
    diagnostics: dict[str, Any]


def estimate_bks(
    rows: PublicTable, run: Execution, settings: MixtureSettings, purse: Purse, budget: Budget
) -> _BksResult:
    """Estimate a mixture by `bks-scarce` (algorithms 3 to 7) or `bks-ample` (algorithms 8 to 10).

    If fewer than k groups are found, the public model is returned, and the warnings say which step failed and what the
    theorem requires; what was not charged by then stays in the run.

    Args:
        rows: public rows.
        run: begun.
        settings: method, constants, k and smallest weight.
        purse: purse of the method.
        budget: determines the kind, epsilon and delta for which the theorem is evaluated.

    Raises:
        InvalidInput, BudgetExceeded: before the first charge.
        PrivateStepFailed: after a charge.

    Privacy: at most the sum of the plan's prices, all Gaussian.
    """
    curator = run.curator
    standard = run(precondition, rows)
    scaling = standard.with_one_scale()
    level, plan = _planned(rows, run, scaling, settings, purse)
    curator.rehearse(plan.questions)
    if level is None:
        clustering = easy_clustering(rows, run, scaling, settings)
    else:
        clustering = hard_clustering(rows, run, scaling, level, settings, plan)
    if clustering.failure is not None:
        model = run(public_model, rows, standard, settings.most)
        facts = _diagnostics(rows, curator, standard, settings, purse, budget, plan, clustering, None)
        return _BksResult(model, None, standard, False, facts)
    start = run(start_clusters, rows, scaling, clustering.tree.partition)
    last = _measured(run, scaling, clustering.tree, start.mixture, start.floors, plan)
    facts = _diagnostics(rows, curator, standard, settings, purse, budget, plan, clustering, last)
    facts["covariance_floor"] = (np.array(start.floors) * np.array(scaling.scale) ** 2).tolist()
    complete = min(last.counts) >= _least(curator.n_rows, settings) and _verdict(last).sound
    return _BksResult(replace(last.mixture, weights=run(_mixing_weights, last)), last, scaling, complete, facts)


def _planned(
    rows: PublicTable, run: Execution, scaling: Scaling, settings: MixtureSettings, purse: Purse
) -> tuple[Level | None, BksPlan]:
    """Make the first level from public points (None: the method has no tree), and the plan that follows from it."""
    k, n, d = settings.most, run.curator.n_rows, len(rows.columns)
    if settings.method == "bks-ample":
        return None, BksPlan.of(purse, n, d, k, 0)
    level = run.at("(level 1)")(open_level, rows, scaling, Tree(), k, settings.smallest_weight, settings.constants)
    return level, BksPlan.of(purse, n, d, k, k - len(level.tree.groups))


def _measured(run: Execution, scaling: Scaling, tree: Tree, mixture: Mixture, floors: Floors, plan: BksPlan) -> Round:
    """Estimate every group's Gaussian and weight by rounds, each from the estimate before it."""
    first, *others = plan.rounds
    rounds = [run.at(f"{number} of {1 + len(others)}") for number in range(1, 2 + len(others))]
    last = rounds[0](estimate_components, scaling, mixture, floors, first, None, tree.partition)
    for here, ask in zip(rounds[1:], others, strict=True):
        last = here(estimate_components, scaling, last.mixture, floors, ask, None, tree.partition)
    return last


def _least(n: int, settings: MixtureSettings) -> float:
    return Constants.named(settings.constants).least_private(n, settings.smallest_weight)


def _diagnostics(
    rows: PublicTable,
    curator: Curator,
    standard: Scaling,
    settings: MixtureSettings,
    purse: Purse,
    budget: Budget,
    plan: BksPlan,
    clustering: Clustering,
    last: Round | None,
) -> dict[str, Any]:
    """Collect the diagnostics: what was asked, what the theorem requires, and warnings."""
    n, m, d, k = curator.n_rows, len(rows.rows), len(rows.columns), settings.most
    scarce = settings.method == "bks-scarce"
    needed = requirement(scarce, n, m, d, k, settings.smallest_weight, budget, purse.rho, plan.count_sd)
    separation = None if last is None else _separation_of(last.mixture)
    warnings = list(standard.notes)
    if max(standard.scale) > _UNEQUAL * min(standard.scale):
        warnings.append("columns differ in scale, and balls measure them alike: give them comparable units")
    if clustering.failure is not None:
        warnings.append(
            f"{clustering.failure}; the public model is returned: more public rows may help, or the method auto"
        )
    if last is not None and min(last.counts) < _least(n, settings):
        warnings.append(
            f"a component holds about {min(last.counts):,.0f} private rows, fewer than the {_least(n, settings):,.0f} "
            "that the smallest weight allows: the public points may not look like the private rows"
        )
    if last is not None:
        warnings += _verdict(last).warnings
    unmet = needed.unmet(n, m, d, k, separation)
    return {
        "regime": settings.method,
        "constants": settings.constants,
        "requirement": needed.to_json(),
        "separation": separation,
        "n_components": k,
        "groups": len(clustering.tree.groups),
        "levels": len(plan.levels),
        "rounds": [*clustering.asked, *(ask.label for ask in plan.rounds if last is not None)],
        "covariance_noise": [] if last is None else list(_verdict(last).noise),
        "private_model_chosen": last is not None,
        "warnings": warnings + ([unmet] if unmet else []),
    }


def _verdict(last: Round) -> Verdict:
    """Judge the last round. The assignment of rows is fixed before the first round, so a round may move components."""
    return Verdict.of(last, "full", ())


def _separation_of(mixture: Mixture) -> float | None:
    """Compute the smallest distance of two means over the larger of their top standard deviations; None if k = 1."""
    _, means, covariances = mixture.arrays
    tops = np.sqrt(np.linalg.eigvalsh(covariances)[:, -1])
    pairs = [(i, j) for i in range(len(means)) for j in range(i)]
    if not pairs:
        return None
    return float(min(np.linalg.norm(means[i] - means[j]) / max(tops[i], tops[j]) for i, j in pairs))


@step(title="weight counting")
def _mixing_weights(last: Round) -> tuple[float, ...]:
    """Compute max(share of the released counts, alpha / (2 k)), normalised to sum one (as printed they do not); free.

    Shares are of the sum of the counts, not of n: rows in no group have no component. Standard errors ignore the floor.
    """
    shares = np.array(last.counts) / sum(last.counts)
    raised = np.maximum(shares, ALPHA / (2 * len(shares)))
    return tuple((raised / raised.sum()).tolist())
