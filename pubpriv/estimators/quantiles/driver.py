"""Quantiles of all columns of a table, by four rounds of counts.

Public rows make the cells of the first round, and released counts those of the others, which close in on the ranks that
are wanted. All rounds together are one estimate of each column's distribution (`_pooling`), of which quantiles are read
with intervals (`pubpriv.released.distributions.reading`). A heap or a step that the public rows show is given exactly.
"""

from collections.abc import Iterator, Sequence
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
from pubpriv.estimators.quantiles.plan import QuantilesPlan, cells_question, check_public, held, wanted
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import BudgetLike
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.public_column import PublicColumn
from pubpriv.released.distributions.reading import read, share_missing, shares_of_heaps
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
    budget: BudgetLike | None = None,
    runner: Runner = plain,
) -> QuantilesEstimate:
    """Estimate quantiles of all columns, with the share of missing cells of each.

    Args:
        public: at least 8 public rows of the same kind, 30 are good: path, DataFrame, (m, d) array or `PublicTable`.
        curator: the run; see `Curator`.
        at: ranks, rising, each as a share of the rows that have a number in the column; None: the nine of a
            description, from 0.01 to 0.99, without those that noise would drown.
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
    configuration = {"at": list(asked), "columns": list(curator.columns), **({"some": True} if at is None else {})}
    purse = curator.begin("quantiles", configuration, table, budget)
    d = len(curator.columns)
    with refusing_by(curator.size):
        shares = held(at, curator.n_rows, d, purse.rho)
    plan = QuantilesPlan.of(purse, d)
    curator.rehearse(plan.questions)
    rounds = _rounds(Execution(curator, "quantiles", runner), table, shares, plan)
    return _released(table, curator, asked, shares, rounds)


def _rounds(run: Execution, table: PublicTable, shares: tuple[float, ...], plan: QuantilesPlan) -> Rounds:
    """Ask all rounds."""
    rounds: Rounds = ()
    for number, ask in enumerate(plan.asks):
        edges = run.at(f"{number + 1} of {len(plan.asks)}")(
            edges_of_round, table, *_records(run.curator.size), shares, rounds
        )
        rounds = (*rounds, run.at(f"{number + 1} of {len(plan.asks)}")(count_cells, edges, ask))
    return rounds


@step(title="edges of cells")
def edges_of_round(
    table: PublicTable, records: float, records_sd: float, shares: tuple[float, ...], rounds: Rounds
) -> Edges:
    """Choose the edges of the next round's cells, from public rows and released counts."""
    public = [public_column(column) for column in table.rows.T]
    if not rounds:
        return tuple(tuple(first_edges(each).tolist()) for each in public)
    columns = _columns(public, records, records_sd, rounds)
    return tuple(tuple(next_edges(each, shares, len(rounds)).tolist()) for each in columns)


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


def _columns(
    public: Sequence[PublicColumn], records: float, records_sd: float, rounds: Rounds
) -> tuple[Distribution, ...]:
    """Pool what is known of each column."""
    pairs = zip(public, zip(*rounds, strict=True), strict=True)
    return tuple(located(each, own, records, records_sd) for each, own in pairs)


def _released(
    table: PublicTable, curator: Curator, asked: tuple[float, ...], shares: tuple[float, ...], rounds: Rounds
) -> QuantilesEstimate:
    """Read quantiles and shares off all counts."""
    size, statement = curator.size, curator.statement()
    records, records_sd = _records(size)
    public = [public_column(column) for column in table.rows.T]
    columns = _columns(public, records, records_sd, rounds)
    found = tuple(read(column, shares, size.widening) for column in columns)
    facts = list(zip(curator.columns, found, columns, public, strict=True))
    findings = (*(each for fact in facts for each in findings_on(*fact, records)), *left_out(asked, shares))
    return QuantilesEstimate(
        columns=curator.columns,
        method=method_name("quantiles", statement),
        converged=not doubts(findings),
        standard_errors={"quantiles": errors_of(found)},
        privacy=statement.to_json(),
        provenance=provenance_of(statement, size, table),
        public=public_part(table),
        diagnostics={
            "cells": {name: len(column.known.edges) + 1 for name, column in zip(curator.columns, columns, strict=True)},
            "warnings": [*(finding.sentence() for finding in findings), *table.notes],
        },
        findings=findings,
        at=shares,
        found=found,
        shares=tuple(
            each
            for name, column in zip(curator.columns, columns, strict=True)
            for each in _shares(name, column, records, size.widening)
        ),
        distributions=columns,
        widening=size.widening,
    )


def _shares(name: str, column: Distribution, records: float, widening: float) -> Iterator[LevelShare]:
    """Yield the share of missing cells, and of each value with a cell of its own."""
    yield LevelShare(name, MISSING, share_missing(column, records, widening))
    for value, share in shares_of_heaps(column, widening).items():
        yield LevelShare(name, f"{value:.12g}", share)
