"""An estimate of all rows together, and then of each group: two methods of one run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.groups.plan import METHOD, group_ask, parts_of
from pubpriv.estimators.groups.steps import ToldGroups, group_frame, measure_groups, tell_groups
from pubpriv.estimators.steps import Execution, Runner
from pubpriv.privacy.budgets import Budget, BudgetLike, budget_of
from pubpriv.released.estimate import Estimate, provenance_of
from pubpriv.released.groups import Group, Groups
from pubpriv.released.numbers import of_all

_E = TypeVar("_E", bound=Estimate)

_CLIPPED = 0.05
"""Groups are told to be clipped from this share of their second moment on."""

Whole = Callable[[BudgetLike | None], tuple[_E, np.ndarray]]
"""Estimates all rows together with a budget, and gives the covariance of a row beside that."""


def estimate_groups(
    of: str,
    whole: Whole[_E],
    rows: PublicTable,
    curator: Curator,
    budget: BudgetLike | None,
    runner: Runner,
    spreads: bool,
) -> _E:
    """Estimate all rows together, then their groups.

    Args:
        of: the method that estimates all rows.
        whole: it.
        rows: the public rows that it takes.
        curator: the run, of a table that tells groups apart.
        budget: for both; None: all of the run.
        runner: who runs the steps.
        spreads: whether groups have covariances, or means only.

    Returns:
        The estimate of all rows, with its groups.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        PrivateStepFailed: after a charge; run the same release id again.

    Privacy: that of both methods; the groups take six tenths of the budget, by one question about all of them.
    """
    by, d = curator.groups, len(curator.columns)
    if by is None:
        raise InvalidInput("the table tells no groups apart: open it with by=ByCategory(column, values)")
    given: Budget = curator.budget if budget is None else budget_of(budget)
    of_whole, of_groups = parts_of(given)
    configuration = {"of": of, "by": by.column, "values": list(by.values), "columns": list(curator.columns)}
    purse = curator.begin(METHOD, configuration, rows, of_groups)
    ask = group_ask(purse, by, d, spreads)
    curator.rehearse([question for question in (ask.question,) if question is not None])
    estimate, covariance = whole(None if budget is None else of_whole)
    run = Execution(curator, METHOD, runner)
    center = tuple(np.asarray(estimate.parts()["mean"]).tolist())
    frame = run(group_frame, center, tuple(map(tuple, covariance.tolist())))
    found = run(measure_groups, by, frame, spreads, ask)
    size, doubt = curator.size, _doubt(estimate) if spreads else 0.0
    told = run(tell_groups, found, float(size.rows), size.widening, spreads, doubt)
    groups = _released(by, told, np.sqrt(np.diag(covariance)))
    return with_groups(estimate, groups, curator, rows, _warnings(by, told))


def with_groups(estimate: _E, groups: Groups, curator: Curator, rows: PublicTable, warnings: list[str]) -> _E:
    """The estimate with its groups, and with the statement of all that the run asked."""
    statement = curator.statement()
    facts = dict(estimate.diagnostics)
    return replace(
        estimate,
        groups=groups,
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.size, rows),
        diagnostics={**facts, "warnings": [*facts.get("warnings", []), *warnings]},
    )


def _doubt(estimate: Estimate) -> float:
    """Variance of an entry of the covariance of all rows, where it is the identity: as columns have it on average."""
    variances = [number for number in of_all(estimate.numbers()) if number.is_variance]
    return float(np.mean([(number.error / number.value) ** 2 for number in variances]))


def _released(by: ByCategory, told: ToldGroups, deviations: np.ndarray) -> Groups:
    """Groups as a model file tells them; what is clipped may be missing of a variance, and move a mean by as much."""
    each = []
    for i, name in enumerate(by.values):
        parts = {"mean": np.array(told.means[i])}
        errors = {"mean": _errors(told.mean_errors, i, told.clipped * deviations)}
        own = {"mean": float(np.mean(told.mean_own[i]))}
        if told.covariances:
            spread = np.array(told.covariances[i])
            parts["covariance"] = spread
            lost = told.clipped * np.sqrt(np.outer(np.diag(spread), np.diag(spread)))
            errors["covariance"] = _errors(told.covariance_errors, i, lost)
            own["covariance"] = told.covariance_own[i]
        each.append(Group(name, (told.rows[i], told.rows_sd), parts, errors, own))
    return Groups(by.column, tuple(each))


def _errors(parts: tuple[Any, ...], group: int, lost: np.ndarray) -> dict[str, np.ndarray]:
    sampling, privacy, shrinkage = (np.array(part[group]) for part in parts)
    return {"sampling": sampling, "privacy": privacy, "clipping": lost, "shrinkage": shrinkage}


def _warnings(by: ByCategory, told: ToldGroups) -> list[str]:
    if told.clipped < _CLIPPED:
        return []
    text = (
        f"groups by {by.column} lie so far apart, or their rows reach so far, that about {told.clipped:.2g} of what "
        "they vary by is clipped: their spreads come out too small"
    )
    return [text]
