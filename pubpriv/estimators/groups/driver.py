"""Estimate all rows together and then each group: two methods of one run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import Matrix, row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.groups._weights import count_groups, mixture_cells, tell_weights
from pubpriv.estimators.groups.plan import METHOD, group_ask, parts_of, weights_ask
from pubpriv.estimators.groups.steps import AllRows, ShrunkGroups, group_frame, measure_groups, tell_groups
from pubpriv.estimators.steps import Execution, Runner
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import Budget, BudgetLike, Purse, budget_of
from pubpriv.released.estimate import Estimate, provenance_of
from pubpriv.released.groups import Group, Groups
from pubpriv.released.kinds import MixtureEstimate

_E = TypeVar("_E", bound=Estimate)

_CLIPPED = 0.05
"""Groups are reported as clipped if at least this share of their second moment is."""

_NEARLY_NONE = 0.02
"""Share of the rows below which all groups together have almost none."""

_Whole = Callable[[BudgetLike | None], tuple[_E, np.ndarray, Mapping[str, Any]]]
"""Estimates all rows together with a budget, and gives the covariance of a row with it, and its errors by source."""


def estimate_groups(
    of: str,
    whole: _Whole[_E],
    rows: PublicTable,
    curator: Curator,
    budget: BudgetLike | None,
    runner: Runner,
    spreads: bool,
) -> _E:
    """Estimate all rows together, then their groups.

    Args:
        of: name of the method that estimates all rows.
        whole: that method.
        rows: public rows of that method.
        curator: the run, on a table that has groups.
        budget: budget of both together; None: all of the run's.
        runner: runs the steps.
        spreads: whether to estimate covariances of groups, or only means.

    Returns:
        The estimate of all rows, with its groups.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read.
        PrivateStepFailed: after a charge; run the same release id again.

    Privacy: that of both methods. The groups take six tenths of the budget, in one question about all of them.
    """
    begun = _begin(of, rows, curator, budget, lambda purse, by: group_ask(purse, by, len(curator.columns), spreads))
    estimate, covariance, errors = whole(begun.left)
    run = Execution(curator, METHOD, runner)
    center = tuple(np.asarray(estimate.parts()["mean"]).tolist())
    all_rows = _all_rows(estimate, covariance, errors, curator.size)
    # as wide as it may be: a column whose spread was not found would be clipped, and all others with it
    frame = run(group_frame, center, row_tuples(covariance + np.diag(np.diag(np.array(all_rows.errors)))))
    found = run(measure_groups, begun.by, frame, spreads, begun.ask)
    shrunk = run(tell_groups, found, all_rows, spreads)
    groups = _released(begun.by, shrunk, np.sqrt(np.diag(covariance)))
    empty = _nearly_empty(begun.by, shrunk.rows, shrunk.rows_sd, curator.size.rows)
    return _with_groups(estimate, groups, curator, rows, empty + _warnings(begun.by, shrunk))


def estimate_group_weights(
    whole: Callable[[BudgetLike | None], MixtureEstimate],
    rows: PublicTable,
    curator: Curator,
    budget: BudgetLike | None,
    runner: Runner,
) -> MixtureEstimate:
    """Estimate a mixture of all rows, then the weights of its components in each group; see `estimate_groups`."""
    begun = _begin("mixture", rows, curator, budget, weights_ask)
    estimate = whole(begun.left)
    run = Execution(curator, METHOD, runner)
    cells = run(mixture_cells, estimate.mixture)
    found = run(count_groups, begun.by, cells, begun.ask)
    shares = run(tell_weights, found, estimate.mixture, cells, curator.size.widening)
    each = tuple(
        Group(
            name,
            (shares.rows[i], shares.rows_sd),
            {"weight": np.array(shares.weights[i])},
            {"weight": _errors(shares.errors, i, np.zeros(len(shares.weights[i])))},
            {"weight": float(np.mean(shares.own[i]))},
            {"weight": np.array(shares.alone[i])} if shares.alone else {},
        )
        for i, name in enumerate(begun.by.values)
    )
    empty = _nearly_empty(begun.by, shares.rows, shares.rows_sd, curator.size.rows)
    return _with_groups(estimate, Groups(begun.by.column, each), curator, rows, empty)


@dataclass(frozen=True)
class _Begun:
    """Groups for which a part of the run's budget is set aside.

    Attributes:
        by: the groups.
        ask: the question about them.
        left: what the estimate of all rows may spend; None: all that is left.
    """

    by: ByCategory
    ask: Ask
    left: Budget | None


def _begin(
    of: str, rows: PublicTable, curator: Curator, budget: BudgetLike | None, asked: Callable[[Purse, ByCategory], Ask]
) -> _Begun:
    """Set the groups' part of the budget aside, and check that the question about them fits into it."""
    by = curator.groups
    if by is None:
        raise InvalidInput("the table has no groups: open it with by=ByCategory(column, values)")
    of_whole, of_groups = parts_of(curator.budget if budget is None else budget_of(budget))
    configuration = {"of": of, "by": by.column, "values": list(by.values), "columns": list(curator.columns)}
    ask = asked(curator.begin(METHOD, configuration, rows, of_groups), by)
    curator.rehearse([question for question in (ask.question,) if question is not None])
    return _Begun(by, ask, None if budget is None else of_whole)


def _with_groups(estimate: _E, groups: Groups, curator: Curator, rows: PublicTable, warnings: list[str]) -> _E:
    """Add groups to an estimate, and the statement of everything that the run asked."""
    statement = curator.statement()
    facts = dict(estimate.diagnostics)
    return replace(
        estimate,
        groups=groups,
        privacy=statement.to_json(),
        provenance=provenance_of(statement, curator.size, rows),
        diagnostics={**facts, "warnings": [*facts.get("warnings", []), *warnings]},
    )


def _all_rows(estimate: Estimate, covariance: np.ndarray, errors: Mapping[str, Any], size: Size) -> AllRows:
    """Collect what is known of all rows; how heavy their tails are follows from the sampling errors of variances."""
    sampling = np.diag(np.array(errors["sampling"])) / size.widening
    return AllRows(
        row_tuples(covariance),
        row_tuples(_together(errors, "privacy", "clipping")),
        row_tuples(_together(errors, *errors)),
        tuple(_together(estimate.standard_errors["mean"], "privacy", "clipping").tolist()),
        tuple((np.diag(covariance) ** 2 + size.rows * sampling**2).tolist()),
        float(size.rows),
        size.widening,
    )


def _together(errors: Mapping[str, Any], *sources: str) -> np.ndarray:
    """Add up independent errors of some sources."""
    return np.asarray(np.sqrt(sum(np.square(np.array(errors[name])) for name in sources if name in errors)))


def _released(by: ByCategory, shrunk: ShrunkGroups, deviations: np.ndarray) -> Groups:
    """Make the groups as a model file stores them.

    A run of an older version says only which share of all groups may be missing: that was their clipping error.
    """
    each = []
    for i, name in enumerate(by.values):
        parts = {"mean": np.array(shrunk.means[i])}
        errors = {"mean": _errors(shrunk.mean_errors, i, shrunk.clipped * deviations)}
        own = {"mean": float(np.mean(shrunk.mean_own[i]))}
        alone = {"mean": np.array(shrunk.alone[i])} if shrunk.alone else {}
        if shrunk.covariances:
            spread = np.array(shrunk.covariances[i])
            parts["covariance"] = spread
            lost = shrunk.clipped * np.sqrt(np.outer(np.diag(spread), np.diag(spread)))
            errors["covariance"] = _errors(shrunk.covariance_errors, i, lost)
            own["covariance"] = shrunk.covariance_own[i]
            alone |= {"covariance": np.array(shrunk.covariances_alone[i])} if shrunk.covariances_alone else {}
        each.append(Group(name, (shrunk.rows[i], shrunk.rows_sd), parts, errors, own, alone))
    return Groups(by.column, tuple(each))


def _errors(
    parts: tuple[Matrix, ...] | tuple[tuple[Matrix, ...], ...], group: int, lost: np.ndarray
) -> dict[str, np.ndarray]:
    sampling, privacy, shrinkage, *clipping = (np.array(part[group]) for part in parts)
    return {"sampling": sampling, "privacy": privacy, "clipping": [*clipping, lost][0], "shrinkage": shrinkage}


def _nearly_empty(by: ByCategory, counts: Sequence[float], sd: float, rows: float) -> list[str]:
    """Warn if all groups together have almost no rows: their values are probably written in another way.

    Args:
        by: the groups.
        counts: released number of rows of each.
        sd: sd of the noise in each.
        rows: number of rows of the table.
    """
    most = sum(counts) + 2 * sd * len(counts) ** 0.5
    if most >= _NEARLY_NONE * rows:
        return []
    text = (
        f"all groups by {by.column} together have about {sum(counts):,.0f} of {rows:,.0f} rows: do the cells have "
        "other values, or are they written in another way? Each letter, blank and zero counts: 'North' is not 'north', "
        "nor '05' '5'"
    )
    return [text]


def _warnings(by: ByCategory, shrunk: ShrunkGroups) -> list[str]:
    if shrunk.clipped < _CLIPPED:
        return []
    text = (
        f"groups by {by.column} lie so far apart, or have so long tails, that about {shrunk.clipped:.2g} of their "
        "second moment lies beyond all that was measured of them: each is taken to have as much of it as all together"
    )
    return [text]
