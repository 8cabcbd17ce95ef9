"""Quantiles of all columns of a table, by four rounds of counts.

Public rows make the cells of the first round, and released counts those of the others, which close in on the ranks that
are wanted. All rounds together are one estimate of each column's distribution (`_pooling`), of which quantiles are read
with intervals (`pubpriv.released.distributions.reading`). A heap or a step that the public rows show is given exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._arguments import check_arguments
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.public_rows import public_rows
from pubpriv.estimators.quantiles._column import located
from pubpriv.estimators.quantiles._edges import first_edges, next_edges
from pubpriv.estimators.quantiles._findings import findings_on, left_out
from pubpriv.estimators.quantiles._grain import public_column
from pubpriv.estimators.quantiles._pooling import CellCounts
from pubpriv.estimators.quantiles._targets import Targets, level_names
from pubpriv.estimators.quantiles.plan import QuantilesPlan, cells_question, check_public, held, wanted
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import BudgetLike
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.public_column import PublicColumn
from pubpriv.released.distributions.reading import read, share_missing, share_up_to, shares_of_heaps
from pubpriv.released.estimate import method_name, provenance_of
from pubpriv.released.findings import doubts
from pubpriv.released.histograms import public_part
from pubpriv.released.numbers import MISSING
from pubpriv.released.quantiles import LevelShare, QuantilesEstimate, errors_of

Edges = tuple[tuple[float, ...], ...]
"""Edges of the cells of each column."""

Rounds = tuple[tuple[CellCounts, ...], ...]
"""Counts of each round, and in it of each column."""


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
        public: at least 8 public rows of the same kind, 30 are good: path, DataFrame, (m, d) array or `PublicTable`.
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
    quantiles are those of the distribution in which each person counts once.

    Privacy: four `JointCounts` over `ColumnCells`, whose prices add up to the method's share of the run.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).lognormal(10, 1, (4000, 1))
        >>> found = pp.estimate_quantiles(rows[:50], pp.Curator.simulation(rows, "zcdp:0.5", seed=2))
        >>> found.quantiles.shape, found.converged
        ((1, 5), True)
    """
    check_arguments(public, curator)
    asked = wanted(at)
    if curator.groups is not None:
        raise InvalidInput("quantiles are of all rows together: open the table without by=")
    table = check_public(public_rows(public, curator.columns, "quantiles", one_law=False))
    targets = Targets.of(table, asked, shares, above or {})
    configuration = {"at": list(asked), "columns": list(curator.columns), **({"some": True} if at is None else {})}
    configuration |= {"shares": list(shares)} if shares else {}
    configuration |= {"above": dict(above)} if above else {}
    purse = curator.begin("quantiles", configuration, table, budget)
    d = len(curator.columns)
    with refusing_by(curator.size):
        ranks = held(at if targets.ranked else None, curator.n_rows, d, purse.rho)
    targets = replace(targets, ranks=ranks if targets.ranked else ())
    plan = QuantilesPlan.of(purse, d)
    curator.rehearse(plan.questions)
    rounds = _rounds(Execution(curator, "quantiles", runner), table, targets, plan)
    return _released(table, curator, asked, targets, rounds)


def _rounds(run: Execution, table: PublicTable, targets: Targets, plan: QuantilesPlan) -> Rounds:
    """Ask all rounds."""
    rounds: Rounds = ()
    for number, ask in enumerate(plan.asks):
        edges = run.at(f"{number + 1} of {len(plan.asks)}")(
            edges_of_round, table, *_records(run.curator.size), targets, rounds
        )
        rounds = (*rounds, run.at(f"{number + 1} of {len(plan.asks)}")(count_cells, edges, ask))
    return rounds


@step(title="edges of cells")
def edges_of_round(table: PublicTable, records: float, records_sd: float, targets: Targets, rounds: Rounds) -> Edges:
    """Choose the edges of the next round's cells, from public rows and released counts."""
    public = _public(table, targets)
    columns = _columns(public, records, records_sd, targets, rounds) if rounds else ()
    made = []
    for i, (levels, above) in enumerate(zip(targets.levels, targets.above, strict=True)):
        if levels:
            edges = public[i].grain.edges(np.array(levels))
        else:
            edges = next_edges(columns[i], targets.ranks, len(rounds)) if columns else first_edges(public[i])
        made.append(tuple(np.unique([*edges, *above]).tolist()))
    return tuple(made)


@step(title="counts of cells", private=True)
def count_cells(curator: Curator, edges: Edges, ask: Ask) -> tuple[CellCounts, ...]:
    """Private step: the counts of the cells of every column.

    Privacy: one `JointCounts`, mu^2 at most ask.price.
    """
    question = cells_question(edges, ask)
    answer = curator.release(question, ask.label)
    sd = float(answer.question.noise()["count"].flat[0])
    asked = [partition.edges for partition in _partitions(answer.question)]
    ends = np.cumsum([len(each) + 2 for each in asked])[:-1]
    counts = np.split(answer.values["count"], ends)
    return tuple(CellCounts(each, tuple(own.tolist()), sd) for each, own in zip(asked, counts, strict=True))


def _partitions(question: Any) -> Any:
    """The partitions of a question as it was asked, or as a resumed run had stored it, within its wrappers."""
    while hasattr(question, "inner"):
        question = question.inner
    return question.partitions


def _records(size: Size) -> tuple[float, float]:
    """Give the number of records, and its sd: if it was released, the counts alone say it."""
    return float(size.rows), float(size.rows) if size.sd else 0.0


def _public(table: PublicTable, targets: Targets) -> list[PublicColumn]:
    return [public_column(column, levels) for column, levels in zip(table.rows.T, targets.levels, strict=True)]


def _columns(
    public: Sequence[PublicColumn], records: float, records_sd: float, targets: Targets, rounds: Rounds
) -> tuple[Distribution, ...]:
    """Pool what is known of each column."""
    facts = zip(public, zip(*rounds, strict=True), targets.levels, strict=True)
    return tuple(located(each, own, records, records_sd, bool(levels)) for each, own, levels in facts)


def _released(
    table: PublicTable, curator: Curator, asked: tuple[float, ...], targets: Targets, rounds: Rounds
) -> QuantilesEstimate:
    """Read quantiles and shares off all counts."""
    size, statement, names = curator.size, curator.statement(), curator.columns
    records, records_sd = _records(size)
    public = _public(table, targets)
    columns = _columns(public, records, records_sd, targets, rounds)
    found = tuple(read(columns[i], targets.ranks, size.widening) for i in targets.ranked)
    facts = [(names[i], own, columns[i], public[i]) for i, own in zip(targets.ranked, found, strict=True)]
    findings = [each for fact in facts for each in findings_on(*fact, records)]
    findings += left_out(asked, targets.ranks) if targets.ranked else ()
    return QuantilesEstimate(
        columns=curator.columns,
        method=method_name("quantiles", statement),
        converged=not doubts(findings),
        standard_errors={"quantiles": errors_of(found)},
        privacy=statement.to_json(),
        provenance=provenance_of(statement, size, table),
        public=public_part(table),
        diagnostics={
            "cells": {name: len(column.known.edges) + 1 for name, column in zip(names, columns, strict=True)},
            "warnings": [*(finding.sentence() for finding in findings), *table.notes],
        },
        findings=tuple(findings),
        at=targets.ranks,
        found=found,
        shares=tuple(
            each
            for name, column, above in zip(names, columns, targets.above, strict=True)
            for each in _shares(name, column, above, records, size.widening)
        ),
        distributions=columns,
        unranked=tuple(name for i, name in enumerate(names) if i not in targets.ranked),
        widening=size.widening,
    )


def _shares(
    name: str, column: Distribution, above: Sequence[float], records: float, widening: float
) -> Iterator[LevelShare]:
    """Yield the share of missing cells, of each value with a cell of its own, and of what lies above others."""
    yield LevelShare(name, MISSING, share_missing(column, records, widening))
    counted = shares_of_heaps(column, widening)
    for value, text in level_names(name, tuple(counted)).items():
        yield LevelShare(name, text, counted[value])
    for value in above:
        yield LevelShare(name, f"> {value:.12g}", share_up_to(column, value, widening).rest)
