"""Regressions of a released estimate: of all rows, of a group or of a component."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.estimate import Estimate
from pubpriv.released.regression.correlations import correlations, partial_correlations
from pubpriv.released.regression.fields import ALONE, SOURCES, Field, Functions, Source
from pubpriv.released.regression.figures import Figure, figures_of, standard_errors
from pubpriv.released.regression.least_squares import LOUD, LeastSquares, edge_of, least_squares, variances_of
from pubpriv.released.regression.model import INTERCEPT, Regression
from pubpriv.released.regression.sources import doubtful, reasons, rows_of, source_of

_EVEN = (
    "sampling errors assume that the scatter about the line does not depend on the regressors, unless by a scale that "
    "all columns share; robust errors need other questions"
)


_NOISY = 0.25
"""Share of the covariance that noise may have without a note: below it, errors of first order are right to a few per
cent."""

_ALIKE = 1e8
"""Condition of the correlations of regressors from which on a note says so; bounds were measured up to there."""


def regress(
    estimate: Estimate,
    outcome: str,
    on: Sequence[str] | None = None,
    component: int | None = None,
    group: str | None = None,
) -> Regression:
    """Regress a released column on others, by least squares. It reads no rows and costs no privacy.

    Args:
        estimate: a released Gaussian or mixture.
        outcome: name of a column.
        on: names of other columns; None: all others.
        component: 1 to k: within this component of a mixture; None: over all rows.
        group: within this group of rows; None: over all rows.

    Returns:
        Coefficients with errors from sampling, privacy noise and clipping.

    Raises:
        InvalidInput: no such column, a regression of a column on itself, no covariances, collinear columns, or noise
            that is too large for a regression on these columns.
    """
    y, x = _columns(estimate, outcome, on)
    source = source_of(estimate, component, group)
    fit = least_squares(source, y, x)
    if fit.edge > LOUD:
        raise InvalidInput(
            f"the noise is too large for a regression on {len(x)} of the columns: in some direction it is "
            f"{fit.edge:.2f} of the variance, and at most {LOUD:g} permits one. Nothing was spent. A larger budget, "
            "more rows or fewer columns in the release would help, and fewer columns of --on"
        )
    n = rows_of(estimate, component, group)
    if n <= len(x) + 2:
        raise InvalidInput(f"a regression on {len(x)} columns needs more than {len(x) + 2} rows, and there are {n:.0f}")
    names = tuple(estimate.columns[i] for i in (*x, y))
    worst = edge_of(variances_of(source, fit.whitened, ("privacy", "shrinkage")))
    why = reasons(estimate, names) if doubtful(estimate, names, component, group) else ()
    if worst > LOUD:
        share = f"{worst:.2f} of it in some direction"
        why = (*why, f"the errors of the group's covariance are {share}, which is too much for errors of first order")
    state = None if estimate.findings is None else bool(why)
    covariances = _covariances(source, fit, n)
    explained, scatter, simple, partial = (
        tuple(figure.judged(state) for figure in figures) for figures in _measures(source, fit, n, names)
    )
    where = "" if component is None else f", component {component}"
    where += "" if group is None else f", group {group}"
    return Regression(
        outcome=names[-1],
        on=names[:-1],
        coefficients=tuple(each.judged(state) for each in _coefficients(source, fit, covariances, n, names)),
        r2=explained[0],
        residual_sd=scatter[0],
        correlations=simple,
        partial_correlations=partial,
        covariances=covariances,
        n=n,
        edge=fit.edge,
        title=f"{names[-1]} on {', '.join(names[:-1])}, of {estimate.of_whom}{where}",
        guarantee=str(estimate.privacy["guarantee"]["text"]),
        reasons=why,
        notes=_notes(estimate, source, fit, component),
    )


def _columns(estimate: Estimate, outcome: str, on: Sequence[str] | None) -> tuple[int, tuple[int, ...]]:
    """Return the indices of outcome and regressors."""
    names = list(estimate.columns)
    others = [name for name in names if name != outcome] if on is None else list(on)
    for name in (outcome, *others):
        if name not in names:
            raise InvalidInput(f"the release has no column {name!r}: it has {', '.join(names)}")
    if outcome in others:
        raise InvalidInput(f"{outcome} is the outcome: it cannot be among the columns that it is regressed on")
    if len(set(others)) < len(others) or not others:
        raise InvalidInput("name at least one column to regress on, and each of them once")
    return names.index(outcome), tuple(map(names.index, others))


def _covariances(source: Source, fit: LeastSquares, n: float) -> dict[str, np.ndarray]:
    """Compute the covariance of the errors of the coefficients by source.

    That of sampling is for n - k degrees of freedom. That of noise is larger by 1 + edge^2 / 2 than first-order: the
    exact one has (I + E_xx)^-2, on average 1 + 3/4 edge^2, of which the released covariance has 1 + 1/4 edge^2 itself.
    """
    found = {name: source.errors(name, fit.functions) for name in SOURCES}
    found["sampling"] = found["sampling"] * n / (n - len(fit.coefficients)) * (1 + fit.taken)
    found["privacy"] = found["privacy"] * (1 + fit.edge**2 / 2) * (1 + fit.taken)
    return found


def _coefficients(
    source: Source, fit: LeastSquares, covariances: Mapping[str, np.ndarray], n: float, names: Sequence[str]
) -> list[Figure]:
    """Make figures of the coefficients.

    Their errors are known as well as the variance of the residual: to 1 / (n - k) of their squares from few rows, and
    to `unsure` from noise. Student's t has as many degrees of freedom as that is worth (Satterthwaite).
    """
    errors = {name: standard_errors(matrix) for name, matrix in covariances.items()}
    errors[ALONE] = standard_errors(source.errors(ALONE, fit.functions))
    figures = []
    for i, name in enumerate((INTERCEPT, *names[:-1])):
        own = {each: float(parts[i]) for each, parts in errors.items()}
        total, sampling = sum(own[each] ** 2 for each in SOURCES), own["sampling"] ** 2
        known = sampling**2 / (n - len(fit.coefficients)) + (sampling + own["privacy"] ** 2) ** 2 * fit.unsure**2
        freedom = max(total**2 / known, 1.0) if known else float("inf")
        figures.append(Figure.of(name, float(fit.coefficients[i]), own, freedom))
    return figures


def _measures(source: Source, fit: LeastSquares, n: float, names: Sequence[str]) -> tuple[tuple[Figure, ...], ...]:
    """Compute R^2, the residual's standard deviation, correlations and partial correlations of the outcome."""
    k, y = len(fit.coefficients), fit.outcome
    spread = float(source.covariance[y, y])
    few = n / (n - k)
    share = fit.variance * few / spread
    inner = np.outer(fit.residual, fit.residual)
    own = np.zeros_like(inner)
    own[y, y] = 1.0
    of_share = Functions.of_covariance((share * own - few * inner)[None] / spread)
    sd = float(np.sqrt(fit.variance * few))
    of_sd = Functions.of_covariance(few * inner[None] / (2 * sd))
    (explained,) = figures_of(["R2"], [1 - share], source, of_share, scale="share")
    # where nothing is explained R^2 has no slope, and moves with the square of d - 1 coefficients
    curved = np.sqrt(2 / (k - 1)) * share
    explained = replace(
        explained,
        sampling=float(np.hypot(explained.sampling, curved * (k - 1) / n)),
        privacy=float(np.hypot(explained.privacy, curved * fit.taken)),
    )
    scatter = figures_of(["residual sd"], [sd], source, of_sd, scale="log")
    simple = figures_of(names[:-1], *_with(source, correlations(source.covariance, y, fit.on)), scale="atanh")
    partial = figures_of(names[:-1], *_with(source, partial_correlations(fit.whitened, y, fit.on)), scale="atanh")
    return (explained,), scatter, simple, partial


def _with(source: Source, found: tuple[np.ndarray, Functions]) -> tuple[Sequence[float], Source, Functions]:
    return found[0].tolist(), source, found[1]


def _notes(estimate: Estimate, source: Source, fit: LeastSquares, component: int | None) -> tuple[str, ...]:
    """Say what a reader should know of the errors."""
    notes = [_EVEN] if isinstance(source, Field) else ["sampling errors are those of rows of the released mixture"]
    if estimate.n_components is not None and component is None:
        notes.append("components may have other slopes than all rows together: see each, and what lies between them")
    if isinstance(source, Field) and source.noise is None:
        notes.append("the law of the noise is not in the file: errors are computed from those of single numbers")
    if isinstance(source, Field) and source.noise is not None and source.noise.pooled[1] > 0:
        notes.append(f"public rows have a weight of {source.noise.pooled[1]:.1%} in the covariance")
    if fit.edge > _NOISY:
        notes.append(f"the noise is {fit.edge:.2f} of the covariance in some direction, and {LOUD:g} would be too much")
    if fit.condition > _ALIKE:
        notes.append(
            f"some columns of --on are almost sums of others (condition {fit.condition:.0e}): their errors are large"
        )
    if estimate.is_simulation:
        notes.append("the release is a simulation, and not private")
    return tuple(notes)
