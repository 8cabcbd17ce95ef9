"""Quantiles of all columns of a table, by four rounds of counts.

Public rows make the cells of the first round, and released counts those of the others, which close in on the ranks that
are wanted. All rounds together are one estimate of each column's distribution (`_pooling`), of which quantiles are read
with intervals (`pubpriv.released.distributions.reading`). A heap or a step that the public rows show is given exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._arguments import check_arguments
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators.groups.plan import METHOD as OF_GROUPS
from pubpriv.estimators.groups.plan import parts_of
from pubpriv.estimators.old_releases import is_release, rows_of_release
from pubpriv.estimators.public_rows import public_rows
from pubpriv.estimators.quantiles._findings import findings_on, left_out
from pubpriv.estimators.quantiles._groups import group_rounds, released_groups
from pubpriv.estimators.quantiles._rounds import Rounds, all_rounds, columns_of, public_of
from pubpriv.estimators.quantiles._shares import shares_of
from pubpriv.estimators.quantiles._targets import Targets
from pubpriv.estimators.quantiles.plan import QuantilesPlan, check_public, held, wanted
from pubpriv.estimators.steps import Execution, Runner, plain
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import BudgetLike, budget_of
from pubpriv.released.described import Described
from pubpriv.released.distributions.reading import read
from pubpriv.released.estimate import method_name, provenance_of
from pubpriv.released.findings import doubts
from pubpriv.released.groups import Groups
from pubpriv.released.histograms import public_part
from pubpriv.released.quantiles import QuantilesEstimate


def estimate_quantiles(
    public: Any,
    curator: Curator,
    at: Sequence[float] | None = (0.1, 0.25, 0.5, 0.75, 0.9),
    *,
    shares: Sequence[str] = (),
    above: Mapping[str, float] | None = None,
    budget: BudgetLike | None = None,
    runner: Runner = plain,
) -> QuantilesEstimate:
    """Estimate quantiles of columns, or the shares of their values, with the share of missing cells of each.

    Args:
        public: at least 8 public rows of the same kind, 30 are good: path, DataFrame, (m, d) array or `PublicTable`; or
            an old release of quantiles of the same columns, or its model file.
        curator: the run; see `Curator`.
        at: ranks, rising, each as a share of the rows that have a number in the column; None: the nine of a
            description, from 0.01 to 0.99, without those that noise would drown.
        shares: columns whose values are counted, not ranked: yes/no, categories, ratings. A column that is an
            expression `levels(column, a, b)` is always counted.
        above: by column, a value above which rows are counted, too.
        budget: what this estimate may spend, in the run's kind, or as text (`zcdp:0.1`); None: all that is left.
        runner: runs the steps.

    Returns:
        Quantiles in the units of the columns, with 95% intervals, the shares of missing cells and of values with many
        rows, and each column's distribution. `converged` is False if the private rows are so unlike the public ones
        that a quantile is mostly a guess.

    Raises:
        InvalidInput, SpecMismatch, BudgetExceeded: before anything was read; the first also if noise would drown a
            rank, which it says, with what would do.
        NoAnswer: the same, if the number of rows was private.
        PrivateStepFailed: after a charge; run the same release id again.

    A column uses every row that has a number in it, whatever the others are. If the unit is a person who counts once,
    quantiles are those of the distribution in which each person counts once. If the table has groups
    (`PrivateTable.by`), each group gets quantiles too, from six tenths of the budget, without those that noise would
    drown in it.

    Privacy: four `JointCounts` over `ColumnCells`, and as many over those of groups, whose prices add up to the
    method's share of the run.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).lognormal(10, 1, (4000, 1))
        >>> found = pp.estimate_quantiles(rows[:50], pp.Curator.simulation(rows, "zcdp:0.5", seed=2))
        >>> found.quantiles.shape, found.converged
        ((1, 5), True)
    """
    if is_release(public):
        public = rows_of_release(public, curator.columns)
    check_arguments(public, curator)
    asked = wanted(at)
    table = check_public(public_rows(public, curator.columns, "quantiles", one_law=False))
    targets = Targets.of(table, asked, shares, above or {})
    configuration = {"at": list(asked), "columns": list(curator.columns), **({"some": True} if at is None else {})}
    configuration |= {"shares": list(shares)} if shares else {}
    configuration |= {"above": dict(above)} if above else {}
    by, of_groups, d = curator.groups, None, len(curator.columns)
    if by is not None:
        whole, own = parts_of(curator.budget if budget is None else budget_of(budget))
        told = {"of": "quantiles", "by": by.column, "values": list(by.values), **configuration}
        of_groups, budget = curator.begin(OF_GROUPS, told, table, own), None if budget is None else whole
    purse = curator.begin("quantiles", configuration, table, budget)
    with refusing_by(curator.size):
        ranks = held(at if targets.ranked else None, curator.n_rows, d, purse.rho)
    targets = replace(targets, ranks=ranks if targets.ranked else ())
    plan = QuantilesPlan.of(purse, d)
    plan_of_groups = None if by is None or of_groups is None else QuantilesPlan.of(of_groups, d, by)
    curator.rehearse([*plan.questions, *(() if plan_of_groups is None else plan_of_groups.questions)])
    records = _records(curator.size)
    rounds = all_rounds(Execution(curator, "quantiles", runner), table, records, targets, plan)
    groups = None
    if by is not None and of_groups is not None and plan_of_groups is not None:
        run = Execution(curator, OF_GROUPS, runner)
        known = group_rounds(run, table, by, records, targets, rounds, plan_of_groups)
        groups = released_groups(table, by, records, targets, rounds, known, of_groups.rho, curator.size.widening)
    return _released(table, curator, asked, targets, rounds, groups)


def _records(size: Size) -> tuple[float, float]:
    """Give the number of records, and its sd: if it was released, the counts alone say it."""
    return float(size.rows), float(size.rows) if size.sd else 0.0


def _released(
    table: PublicTable,
    curator: Curator,
    asked: tuple[float, ...],
    targets: Targets,
    rounds: Rounds,
    groups: Groups | None,
) -> QuantilesEstimate:
    """Read quantiles and shares off all counts."""
    size, statement, names = curator.size, curator.statement(), curator.columns
    records, records_sd = _records(size)
    public = public_of(table, targets)
    columns = columns_of(public, records, records_sd, targets, rounds)
    found = tuple(read(columns[i], targets.ranks, size.widening) for i in targets.ranked)
    facts = [(names[i], own, columns[i], public[i]) for i, own in zip(targets.ranked, found, strict=True)]
    findings = [each for fact in facts for each in findings_on(*fact, records)]
    findings += left_out(asked, targets.ranks) if targets.ranked else ()
    described = Described(
        names,
        targets.ranks,
        found,
        shares_of(names, columns, targets, records, size.widening),
        columns,
        tuple(name for i, name in enumerate(names) if i not in targets.ranked),
        size.widening,
    )
    return QuantilesEstimate(
        columns=curator.columns,
        method=method_name("quantiles", statement),
        converged=not doubts(findings),
        standard_errors={"quantiles": {source: errors.tolist() for source, errors in described.errors.items()}},
        privacy=statement.to_json(),
        provenance=provenance_of(statement, size, table),
        public=public_part(table),
        diagnostics={
            "cells": {name: len(column.known.edges) + 1 for name, column in zip(names, columns, strict=True)},
            "warnings": [*(finding.sentence() for finding in findings), *table.notes],
        },
        findings=tuple(findings),
        described=described,
        groups=groups,
    )
