"""Make the released model from a run: in the data's own units, with standard errors and diagnostics.

Standard errors have two parts: sampling as a plug-in estimate, privacy from the noise that was added. Both condition on
the assignment of records to components, so where components overlap the error from their borders is not included. For
n counted rows, a component with released count N, covariance Sigma and frame covariance F (its records were whitened by
F^(-1/2)), and k components:

| of | sampling variance | privacy variance |
|---|---|---|
| weight w | w (1 - w) / n | ((1 - w)^2 + (k - 1) w^2) (sd of a count / n)^2 |
| mean_i | Sigma_ii / N | F_ii (sd of a sum / N)^2 |
| covariance_ij | (Sigma_ii Sigma_jj + Sigma_ij^2) / N | (F_ii F_jj + F_ij^2) / 2 (sd of a moment / N)^2 |

The variances use the fourth moments of Gaussian rows; if all columns are counts, errors of means and variances are
those of clipped counts (see `_count_errors`). What remains unknown about components' tails, or about outliers among
their rows, is a third part of the errors of means and covariances, `clipping` (see `_tails` and `_outside`), as is what
a floor may have added to a variance. If columns
are counts and there are too few rows to determine their law, sampling errors of covariances are widened by
`_LAW_UNKNOWN`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._count_errors import Clip, count_errors
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture._outside import Outside, Tails
from pubpriv.estimators.mixture._overlap import Overlap
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.estimate import method_name, provenance_of
from pubpriv.released.findings import Finding, doubts
from pubpriv.released.histograms import public_part
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.law import Mixture

_LAW_UNKNOWN = 1.2
"""Factor on errors of covariances of counts; other columns have laws of tails instead."""

_NEAR_FLOOR = 1.5, 2.0
"""Up to the first number of floors a variance may be due to the floor, which noise lifts further; from the second on it
is not, as noise is a fraction of what it is measured from."""


def released(
    chosen: Mixture,
    last: Round | None,
    curator: Curator,
    rows: PublicTable,
    scaling: Scaling,
    method: str,
    diagnostics: dict[str, Any],
    findings: tuple[Finding, ...] = (),
    fit: Fit | None = None,
) -> MixtureEstimate:
    """Return the model in the data's own units, with components by decreasing weight; `last` as for errors."""
    chosen = scaling.straight(chosen)
    frames = scaling.cells(last.start).frames if last else ()
    last = _straight(last, scaling) if last else None
    weights, means, covariances = chosen.arrays
    order = np.argsort(-weights, kind="stable")
    location, scale = np.array(scaling.location), np.array(scaling.scale)
    kind = diagnostics.get("covariance_type", "full")
    own = covariances[order] * np.outer(scale, scale)
    mixture = Mixture.of(
        weights[order] / weights.sum(),
        location + scale * means[order],
        _exact((own + own.transpose(0, 2, 1)) / 2, kind),  # symmetric to the last bit
    )
    statement = curator.statement()
    errors = _standard_errors(last, order, scaling, len(rows.rows), chosen)
    errors = curator.size.widened(errors) if last else errors
    laws = CountLaws.of(mixture, rows.rows) if last else None
    if last and laws is not None:
        laws = laws.in_force(mixture)
        errors = count_errors(errors, laws, mixture, _clip(last, frames, order))
        if kind != "spherical" and laws.two_valued:
            errors["covariances"] = _of_two_values(errors, laws, mixture, len(rows.rows), last, order)
    if last and last.overlap is not None:
        errors = _of_shared_rows(last.overlap, errors, order)
    if last and last.outside is not None and last.outside.seen:
        errors["covariances"]["clipping"] = _among(last.outside, own, order)
    if last and laws is None and "covariance_floor" in diagnostics:
        floors = np.broadcast_to(np.array(diagnostics["covariance_floor"]), means.shape)[order]
        errors["covariances"] = _of_floors(errors["covariances"], mixture, floors)
    if last and last.tails is not None:
        errors = _with_tails(last.tails, errors, own, order)
    elif last and fit is not None and fit.blunt:
        errors["covariances"] = _wider(**errors["covariances"])
    elif fit is not None and fit.lost(measured=last is not None):
        errors = _anywhere(errors, mixture)
    return MixtureEstimate(
        mixture=mixture,
        columns=curator.columns,
        method=method_name(method, statement),
        converged=not doubts(findings),
        standard_errors=_shaped_errors(errors, kind),
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.size, rows),
        public=public_part(rows),
        diagnostics=diagnostics,
        findings=findings,
    )


def _straight(last: Round, scaling: Scaling) -> Round:
    """Convert what the errors need of a round to coordinates of columns."""
    if not scaling.shape:
        return last
    return replace(last, mixture=scaling.straight(last.mixture), start=scaling.straight(last.start))


def _standard_errors(
    last: Round | None, order: np.ndarray, scaling: Scaling, m: int, chosen: Mixture
) -> dict[str, Any]:
    """Compute {"weights" (k,), "means" (k, d), "covariances" (k, d, d)}: {"sampling", "privacy"}, in the data's units.

    Args:
        last: the released round, or None if the public model was kept: then no private row entered the estimate,
            privacy errors are zero, and sampling errors are those of m public rows.
        order: components by decreasing weight.
        scaling: the standard coordinates.
        m: number of public rows.
        chosen: the model in coordinates of columns.
    """
    weights, _, covariances = (values[order] for values in chosen.arrays)
    counts = np.array(last.counts)[order] if last else np.maximum(weights * m, 1.0)
    size = last.rows if last else m
    frames = np.array(last.frames)[order] if last else np.zeros_like(covariances)
    count_sd, sum_sd, moment_sd = (last.count_sd, last.sum_sd, last.moment_sd) if last else (0.0, 0.0, 0.0)
    scale = np.array(scaling.scale)
    own, by = np.einsum("kii->ki", covariances), np.einsum("kii->ki", frames)
    per = counts[:, None, None]
    return {
        "weights": {
            "sampling": np.sqrt(weights * (1 - weights) / size),
            # a weight is a count over the sum of counts, whose noise is shared
            "privacy": count_sd / size * np.sqrt((1 - weights) ** 2 + (len(weights) - 1) * weights**2),
        },
        "means": {
            "sampling": scale * np.sqrt(own / counts[:, None]),
            "privacy": scale * np.sqrt(by) * sum_sd / counts[:, None],
        },
        "covariances": {
            "sampling": np.outer(scale, scale) * np.sqrt((own[:, :, None] * own[:, None, :] + covariances**2) / per),
            "privacy": np.outer(scale, scale)
            * np.sqrt((by[:, :, None] * by[:, None, :] + frames**2) / 2)
            * moment_sd
            / per,
        },
    }


def _clip(last: Round, frames: tuple[Frame, ...], order: np.ndarray) -> Clip:
    """Describe how a round clipped the rows of components, in `order`; `frames` are in the round's own order."""
    return Clip(tuple(frames[j] for j in order), last.radius, last.moment_sd / np.array(last.counts)[order])


def _of_two_values(
    errors: dict[str, Any], laws: CountLaws, mixture: Mixture, m: int, last: Round, order: np.ndarray
) -> dict[str, np.ndarray]:
    """Compute errors of variances that two-valued columns' means determine, from the means' errors, to second order.

    Private rows may have more values than m public rows show. The worst case is as many as under Poisson's law, whose
    variance is larger by the square of its mean, times the probability that no public row has one in that column. The
    round would have measured them, too: with many private rows, `hidden` gives a smaller bound.
    """
    weights, means, _ = mixture.arrays
    chances, steps, parts = laws.chances(means), np.array(laws.steps), {}
    unseen = steps**2 * chances**2 * np.exp(-m * (weights @ chances**2) / 2)
    if last.hidden:
        unseen = np.minimum(unseen, np.array(last.hidden)[order])
    for name, found in errors["covariances"].items():
        off, part = errors["means"][name], found.copy()
        own = np.einsum("kii->ki", part)
        brought = np.hypot((1 - 2 * chances) * steps * off, np.sqrt(2) * off**2)
        if name == "sampling":
            brought = np.hypot(brought, unseen)
        own[:] = np.where(laws.two_valued, brought, own)
        parts[name] = part
    return parts


def _of_shared_rows(overlap: Overlap, errors: dict[str, Any], order: np.ndarray) -> dict[str, Any]:
    """Make errors larger where components share rows."""
    factors = overlap.factors
    return {
        name: {
            part: found * factors[name][part][order] if part in factors[name] else found
            for part, found in parts.items()
        }
        for name, parts in errors.items()
    }


def _among(outside: Outside, covariances: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Compute the error (k, d, d) of covariances from outliers among the components' rows; all in `order`."""
    roots = np.sqrt(np.einsum("kii->ki", covariances))
    return np.asarray(np.array(outside.unsure)[order, None, None] * roots[:, :, None] * roots[:, None, :])


def _of_floors(errors: dict[str, np.ndarray], mixture: Mixture, floors: np.ndarray) -> dict[str, np.ndarray]:
    """Add what floors (k, d) may have added to variances, as `clipping`; all in the order of the mixture.

    The variance of a component that stands on equal values is zero, and a floor keeps it above. So one that lies near
    its floor may be any smaller number: it has the error of a uniform law from zero; see `_NEAR_FLOOR`.
    """
    variances, (near, clear) = np.einsum("kii->ki", mixture.arrays[2]), _NEAR_FLOOR
    added = np.zeros_like(errors["sampling"])
    held = np.clip((clear - variances / floors) / (clear - near), 0, 1)
    np.einsum("kii->ki", added)[:] = variances / np.sqrt(3) * held
    return {**errors, "clipping": np.hypot(errors.get("clipping", 0.0), added)} if added.any() else errors


def _with_tails(tails: Tails, errors: dict[str, Any], covariances: np.ndarray, order: np.ndarray) -> dict[str, Any]:
    """Add the unknown part of components' tails to the errors; covariances (k, d, d), all in `order`."""
    means, found = errors["means"], errors["covariances"]
    roots = np.sqrt(np.einsum("kii->ki", covariances))
    unsure, grown = (np.sqrt(np.array(own)[order]) for own in (tails.unsure, tails.factors))
    lost = unsure * roots
    parts = {
        "means": {**means, "clipping": np.array(tails.shift)[order] * roots},
        "covariances": {
            **found,
            "privacy": found["privacy"] * grown[:, :, None] * grown[:, None, :],
            "clipping": np.hypot(found.get("clipping", 0.0), lost[:, :, None] * lost[:, None, :]),
        },
    }
    return errors | parts


def _anywhere(errors: dict[str, Any], mixture: Mixture) -> dict[str, Any]:
    """Add what is unknown of components of the public model where counts of private rows contradict it.

    Then nothing supports where these components lie: those of the table may be anywhere in it. A mean is off by as much
    as two rows of the table differ, a covariance by that of all its rows, a weight by the spread of membership.
    """
    weights, means, covariances = mixture.arrays
    shifts = means - weights @ means
    variances = weights @ (np.einsum("kii->ki", covariances) + shifts**2)
    unknown = {
        "weights": np.sqrt(weights * (1 - weights)),
        "means": np.broadcast_to(np.sqrt(2 * variances), means.shape),
        "covariances": np.broadcast_to(np.sqrt(np.outer(variances, variances)), covariances.shape),
    }
    return {name: {**parts, "clipping": unknown[name]} for name, parts in errors.items()}


def _wider(sampling: np.ndarray, privacy: np.ndarray, **other: np.ndarray) -> dict[str, np.ndarray]:
    """Increase the sampling part such that both parts together are wider by `_LAW_UNKNOWN`."""
    wider = np.sqrt(sampling**2 + (_LAW_UNKNOWN**2 - 1) * (sampling**2 + privacy**2))
    return {"sampling": wider, "privacy": privacy, **other}


def _shaped_errors(errors: dict[str, Any], kind: str) -> dict[str, Any]:
    """Give standard errors for a model of this covariance type; entries that are zero by definition have none.

    `errors` are those of full covariances; one variance for d columns has a sampling error smaller by sqrt(d).
    """
    if kind in ("full", "auto"):
        return errors
    parts = {}
    for name, found in errors["covariances"].items():
        d = found.shape[-1]
        own = np.einsum("kii->ki", found)
        if kind == "spherical":
            own = np.sqrt((own**2).mean(axis=1, keepdims=True)) * np.ones(d) / (d**0.5 if name == "sampling" else 1.0)
        parts[name] = own[:, :, None] * np.eye(d)
    return errors | {"covariances": parts}


def _exact(covariances: np.ndarray, kind: str) -> np.ndarray:
    """Make covariances (k, d, d) in the data's own units exactly of this type."""
    if kind in ("full", "auto"):
        return covariances
    own = np.einsum("kii->ki", covariances)
    if kind == "spherical":
        own = own.mean(axis=1, keepdims=True) * np.ones(own.shape[1])
    return np.asarray(own[:, :, None] * np.eye(own.shape[1]))
