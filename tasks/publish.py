"""Artifacts: what Prefect's UI shows of a run: the privacy statement and the released model, so all of it is public."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from schemas.released import estimates_table, released_table, validate_estimates, validate_released

WHAT_IS_PUBLIC = (
    "Public are the number of rows, the declared columns, the public table, the settings and every answer "
    "listed under `charges`; whatever was computed from these costs nothing more."
)

CHARGE = ("label", "question", "cost")


def artifact_key(*names: str) -> str:
    """Names as Prefect wants keys: lowercase letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(names).lower()).strip("-") or "unnamed"


def publish_statement(statement: Mapping[str, Any], dataset: str | None, release_id: str | None) -> tuple[UUID, UUID]:
    """Show a run's privacy statement: a page with the guarantee, and a table with one row per charge.

    Args:
        statement: as `Statement.to_json` gives it: unit, neighbouring, kind, guarantee, spent, charges.
        dataset: its name, or None for a simulation.
        release_id: of the run, or None.

    Returns:
        Identities of the page and the table. Both carry the dataset's name, so the UI shows their history.
    """
    name = dataset or "simulation"
    guarantee = "\n".join(f"- {part}: {_told(value)}" for part, value in statement["guarantee"].items())
    page = create_markdown_artifact(
        key=artifact_key(name, "privacy"),
        description=f"Privacy statement of {name}, release {release_id or 'none'}",
        markdown=(
            f"## Privacy of {name}\n\n"
            f"One record is {statement['unit']}; neighbouring tables: {statement['neighbouring']}.\n\n"
            f"Guarantee ({statement['kind']}):\n\n{guarantee}\n\n"
            f"Spent by release {release_id or 'none'}: {statement['spent']}\n\n{WHAT_IS_PUBLIC}\n"
        ),
    )
    charges = create_table_artifact(
        key=artifact_key(name, "charges"),
        description=f"What release {release_id or 'none'} of {name} asked, and what each answer cost",
        table=[{part: _told(charge[part]) for part in CHARGE} for charge in statement["charges"]],
    )
    return _identity(page), _identity(charges)


def publish_components(
    weights: np.ndarray, means: np.ndarray, columns: Sequence[str], dataset: str | None, release_id: str | None
) -> UUID:
    """Show a released mixture: one row per component, after a check that it is one.

    Raises:
        InvalidInput: weights that do not sum to one, or a mean that is not finite.
    """
    frame = released_table(weights, means, columns)
    validate_released(frame)
    name = dataset or "simulation"
    components = create_table_artifact(
        key=artifact_key(name, "components"),
        description=f"Released mixture of {name}, release {release_id or 'none'}",
        table=frame.to_dict("records"),
    )
    return _identity(components)


def publish_estimates(estimate: Any, dataset: str | None, release_id: str | None) -> UUID:
    """Show a released mean or Gaussian: one row per column, with standard errors.

    Args:
        estimate: a `MeanEstimate` or `GaussianEstimate`.
        dataset: its name, or None for a simulation.
        release_id: of the run, or None.

    Raises:
        InvalidInput: a number that is not finite, or a variance that is not positive.
    """
    frame = estimates_table(estimate)
    validate_estimates(frame)
    name = dataset or "simulation"
    shown = create_table_artifact(
        key=artifact_key(name, estimate.kind),
        description=f"Released {estimate.kind} of {name}, release {release_id or 'none'}",
        table=frame.to_dict("records"),
    )
    return _identity(shown)


def _told(value: Any) -> str:
    """Text of a number, a text, or several of them; anything else has no place in a statement."""
    if isinstance(value, tuple | list):
        return ", ".join(map(_told, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_told(part)}" for name, part in value.items())
    if value is None or isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"a privacy statement holds no {type(value).__name__}")


def _identity(artifact: Any) -> UUID:
    return UUID(str(artifact))
