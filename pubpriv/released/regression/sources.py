"""A released estimate as a mean and covariance whose errors are known: of all rows, a group or a component."""

from collections.abc import Mapping

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.estimate import Estimate
from pubpriv.released.findings import doubts
from pubpriv.released.numbers import State
from pubpriv.released.regression.fields import ALONE, Field, Source, WholeMixture


def source_of(estimate: Estimate, component: int | None, group: str | None) -> Source:
    """Return the mean and covariance of an estimate.

    Args:
        estimate: a released Gaussian or mixture.
        component: 1 to k of a mixture; None: all rows.
        group: name of a group; None: all rows.

    Raises:
        InvalidInput: the release has no covariance, no such group, or no such component.
    """
    n = rows_of(estimate, None, group)
    alone: Mapping[str, np.ndarray] = {}
    whole = estimate.law
    if group is not None:
        alone = estimate.groups[group].alone if estimate.groups is not None else alone
        estimate = estimate.of_group(group)
    law = estimate.law
    if law is None:
        raise InvalidInput(f"{estimate.subject} was released, without covariances: this needs `fit gaussian`")
    _, means, covariances = law.arrays
    if estimate.n_components is None:
        if component is not None:
            raise InvalidInput("the release has no components: leave the component out")
        of_mean, of_covariance = (
            estimate.errors_of(part) | ({ALONE: alone[part]} if part in alone else {})
            for part in ("mean", "covariance")
        )
        drawn_to = None if group is None or whole is None else (whole.moments[0], whole.moments[2])
        return Field(means[0], covariances[0], of_mean, of_covariance, estimate.noise, drawn_to)
    of_means, of_covariances = estimate.errors_of("means"), estimate.errors_of("covariances")
    fields = tuple(
        Field(mean, covariance, _nth(of_means, j), _nth(of_covariances, j))
        for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True))
    )
    if component is None:
        alike = estimate.provenance.get("rows_per_person", 1) == 1
        return WholeMixture(law, estimate.errors_of("weights"), fields, n if alike else min(n, _effective(fields)))
    if not 1 <= component <= len(fields):
        raise InvalidInput(f"there is no component {component}: the release has {len(fields)}")
    return fields[component - 1]


def rows_of(estimate: Estimate, component: int | None, group: str | None) -> float:
    """Return the number of rows, or of persons, behind a mean and covariance, as far as it is released."""
    if group is not None and estimate.groups is not None:
        rows = estimate.groups[group].rows[0]
    else:
        facts = estimate.provenance
        released = facts.get("persons", facts.get("counted_rows"))
        rows = float(facts["n_private"]) if released is None else float(released["estimate"])
    if component is not None and estimate.law is not None:
        weights = estimate.law.arrays[0]
        rows *= float(weights[component - 1] / weights.sum())
    return max(rows, 1.0)


def doubtful(estimate: Estimate, columns: tuple[str, ...], component: int | None, group: str | None) -> bool | None:
    """Tell whether a covariance of these columns is doubtful; None if the file of an older version does not say."""
    if estimate.findings is None:
        return None
    group = group if estimate.n_components is None else None  # groups of a mixture have its covariances
    return any(
        number.state == State.DOUBTFUL
        for number in estimate.numbers()
        if number.quantity == "covariance"
        and number.column in columns
        and number.other_column in columns
        and number.group == group
        and (component is None or number.component == component)
    )


def reasons(estimate: Estimate, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return why covariances of these columns are doubtful, as sentences."""
    return tuple(
        finding.sentence()
        for finding in doubts(estimate.findings or ())
        if (not finding.quantities or "covariance" in finding.quantities)
        and (not finding.columns or set(finding.columns) & set(columns))
    )


def _effective(components: tuple[Field, ...]) -> float:
    """Return how many independent rows the sampling errors of the means of components are worth, all together.

    Rows of one person are alike, so that several of each are worth fewer rows than there are.
    """
    each = (np.diag(c.covariance) / np.maximum(c.mean_errors["sampling"], 1e-300) ** 2 for c in components)
    return float(sum(np.median(rows) for rows in each))


def _nth(errors: Mapping[str, np.ndarray], j: int) -> dict[str, np.ndarray]:
    return {source: values[j] for source, values in errors.items()}
