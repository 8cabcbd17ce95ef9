"""The method `kssu`: search for the parts, then estimate the Gaussian and the weight of each.

Source: KSSU 2019, algorithm 2 (PGME, with PGE); for round components theorem 3.1, where `_place` is PSGE (theorem 3.3).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Moments
from pubpriv.errors import NoAnswer
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import (
    Floors,
    Round,
    estimate_components,
    estimate_diagonal,
    estimate_spherical,
)
from pubpriv.estimators.mixture._linear import clip_radius, one_thread
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._verdict import Verdict
from pubpriv.estimators.mixture.kssu._grid import PartGrid, cut
from pubpriv.estimators.mixture.kssu._tree import FullCells, RowParts, look, split, zoom
from pubpriv.estimators.mixture.kssu.plan import KssuPlan, SearchLevel, directions, kssu_plan
from pubpriv.estimators.mixture.rounds import MOMENT_SHARES
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse
from pubpriv.released.law import Mixture

_LEAST = 0.5
"""A group contains at least this share of the smallest component's rows."""

_FLOOR = 1e-9
"""Least standard deviation of a column in a component, divided by the bound."""

_NARROWEST, _WIDEST = 0.05, 4.0
"""A variance of the coarse answer is limited to these multiples of the one from the search."""


@dataclass(frozen=True)
class _KssuResult:
    """The result of a run.

    Attributes:
        last: the round that measured the components.
        scaling: its coordinates, which are the table's own.
        complete: whether all components were found that were asked for, and the measurements can be relied on.
        diagnostics: public facts and released answers.
    """

    last: Round
    scaling: Scaling
    complete: bool
    diagnostics: dict[str, Any]


def estimate_kssu(run: Execution, settings: MixtureSettings, purse: Purse) -> _KssuResult:
    """Estimate a mixture without public rows.

    Raises:
        InvalidInput, BudgetExceeded: before the first charge.
        NoAnswer: no row was found within the bound.
        PrivateStepFailed: after a charge.

    Privacy: at most the sum of the plan's prices, all Gaussian.
    """
    curator, k = run.curator, settings.most
    n, d = curator.n_rows, len(curator.columns)
    plan = kssu_plan(purse, n, d, k, settings.covariance_type)
    curator.rehearse(plan.questions)
    bound = float(settings.bound or 0)
    parts, levels = RowParts.whole(d, bound), 0
    for number, asks in enumerate(plan.levels, start=1):
        parts = _level(run, parts, settings, asks, f"(level {number})")
        levels = number
        if len(parts.parts) == k:
            break
    scaling = Scaling((0.0,) * d, (1.0,) * d)
    mixture = run(_place, parts, plan.coarse)
    floors = (((_FLOOR * bound) ** 2,) * d,) * len(parts.parts)
    for number, ask in enumerate(plan.rounds, start=1):
        last = _measured(run.at(f"{number} of {len(plan.rounds)}"), settings, scaling, mixture, floors, ask)
        mixture = last.mixture
    verdict = Verdict.of(last, settings.covariance_type, plan.rounds)
    complete = len(parts.parts) == k and verdict.sound
    return _KssuResult(last, scaling, complete, _diagnostics(run, settings, plan, parts, levels, verdict))


def _measured(
    run: Execution, settings: MixtureSettings, scaling: Scaling, mixture: Mixture, floors: Floors, ask: Ask
) -> Round:
    """Run one round of the covariance type in the settings."""
    if settings.covariance_type == "diag":
        return run(estimate_diagonal, scaling, mixture, floors, ask)
    if settings.covariance_type == "spherical":
        return run(estimate_spherical, scaling, mixture, floors, ask)
    return run(estimate_components, scaling, mixture, floors, ask)


def _level(run: Execution, parts: RowParts, settings: MixtureSettings, asks: SearchLevel, where: str) -> RowParts:
    """Zoom in on each part, find its directions, refine a grid over them, and split the part."""
    n, k = run.curator.n_rows, settings.most
    least = n * settings.smallest_weight
    for number, columns in enumerate(asks.zooms, start=1):
        parts = run.at(f"{number} of {len(asks.zooms)} {where}")(zoom, parts, least, columns)
    if not any(part.size for part in parts.parts):
        raise NoAnswer(
            f"no answer: no rows were found within {settings.bound:g} of zero in every column. What was asked is paid "
            "for, the rest of the run's budget is not: give a larger bound, or subtract what the columns have in common"
        )
    # if all missing components are in one part, it splits into this many, which span as many directions
    most = k - len(parts.parts) + 1
    parts = run.at(where)(look, parts, directions(len(run.curator.columns), most), asks.look)
    if k == 1:
        return parts
    grid = PartGrid.over(parts)
    for number, ask in enumerate(asks.cuts, start=1):
        if grid.done:
            break
        here = run.at(f"{number} of {len(asks.cuts)} {where}")
        grid = here(cut, parts, grid, most, _LEAST * least, ask)
    return run.at(where)(split, parts, _within(grid.best, k))


def _within(groups: tuple[tuple[FullCells, ...], ...], k: int) -> tuple[tuple[FullCells, ...], ...]:
    """Keep the groups of the largest parts first, until there are k parts in all."""
    room, chosen = k - len(groups), list(groups)
    for i in sorted(range(len(groups)), key=lambda i: -sum(group.size for group in groups[i])):
        if len(chosen[i]) - 1 > room:
            chosen[i] = ()
        room -= max(0, len(chosen[i]) - 1)
    return tuple(chosen)


@step(title="place components", private=True)
@one_thread
def _place(curator: Curator, parts: RowParts, ask: Ask) -> Mixture:
    """Make a round component of each part: weight, centre and one variance.

    Source: PSGE, from the mean of squared norms minus the squared mean, divided by d.

    Privacy: one `Moments`, mu^2 <= ask.price for all parts together.
    """
    d, k = len(parts.parts[0].low), len(parts.parts)
    centers, variances = np.array([part.center for part in parts.parts]), np.array([p.variance for p in parts.parts])
    frames = tuple(Frame.of(c, np.eye(d) / np.sqrt(v)) for c, v in zip(centers, variances, strict=True))
    radii = (clip_radius(d, 2.0),) * k
    answer = curator.release(Moments.priced(parts.regions, frames, radii, ask.price, MOMENT_SHARES), ask.label)
    counts = np.maximum(answer.values["count"], 1.0)
    shifts = answer.values["sum"].reshape(k, d) / counts[:, None]
    shifts *= np.minimum(1.0, radii[0] / np.maximum(np.linalg.norm(shifts, axis=1, keepdims=True), 1e-300))
    spread = np.clip((answer.values["square"] / counts - (shifts**2).sum(axis=1)) / d, _NARROWEST, _WIDEST)
    means = centers + np.sqrt(variances)[:, None] * shifts
    return Mixture.of(counts / counts.sum(), means, [np.eye(d) * v for v in variances * spread])


def _diagnostics(
    run: Execution, settings: MixtureSettings, plan: KssuPlan, parts: RowParts, levels: int, verdict: Verdict
) -> dict[str, Any]:
    """Collect the diagnostics: what was asked and found, and warnings."""
    k, warnings = settings.most, list(verdict.warnings)
    if len(parts.parts) < k:
        warnings.append(
            f"{len(parts.parts)} of {k} components were found: others lie too close for the rows and the budget, or "
            "are lighter than the smallest weight; a few public rows would help to find them"
        )
    asked = {line.label for line in run.curator.statement().charges}
    return {
        "regime": settings.method,
        "covariance_type": settings.covariance_type,
        "bound": float(settings.bound or 0),
        "n_components": len(parts.parts),
        "asked_for": k,
        "levels": levels,
        "rounds": [ask.label for ask in plan.asks if ask.label in asked],
        "covariance_noise": list(verdict.noise),
        "warnings": warnings,
    }
