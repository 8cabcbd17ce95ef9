"""Quantiles of all columns of a table, by four rounds of counts.

Public rows make the cells of the first round, and released counts those of the others, which close in on the ranks that
are wanted. All rounds together are one estimate of each column's distribution (`_pooling`), of which quantiles are read
with intervals (`_reading`). A heap or a step that the public rows show is given exactly.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators._arguments import check_arguments
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.public_rows import public_rows
from pubpriv.estimators.quantiles._column import Column
from pubpriv.estimators.quantiles._edges import first_edges, next_edges
from pubpriv.estimators.quantiles._pooling import CellCounts
from pubpriv.estimators.quantiles._public import PublicColumn
from pubpriv.estimators.quantiles._reading import read
from pubpriv.estimators.quantiles._warnings import flaws, notes
from pubpriv.estimators.quantiles.plan import (
    FEWEST_PUBLIC,
    QuantilesPlan,
    cells_question,
    check_ranks,
    check_shares,
)
from pubpriv.estimators.quantiles.released import Quantiles
from pubpriv.estimators.steps import Execution, Runner, plain, step
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import BudgetLike
from pubpriv.released.estimate import provenance_of

Edges = tuple[tuple[float, ...], ...]
"""Edges of the cells of each column."""

Rounds = tuple[tuple[CellCounts, ...], ...]
"""Counts of each round, and in it of each column."""


def estimate_quantiles(
    public: Any,
    curator: Curator,
    at: Sequence[float] = (0.1, 0.25, 0.5, 0.75, 0.9),
    *,
    budget: BudgetLike | None = None,
    runner: Runner = plain,
) -> Quantiles:
    """Estimate quantiles of all columns, with the share of missing cells of each.

    Args:
        public: at least 8 public rows of the same kind, 30 are good: path, DataFrame, (m, d) array or `PublicTable`.
        curator: the run; see `Curator`.
        at: ranks, rising, each as a share of the rows that have a number in the column.
        budget: what this estimate may spend, in the run's kind, or as text (`zcdp:0.1`); None: all that is left.
        runner: runs the steps.

    Returns:
        Quantiles in the units of the columns, with 95% intervals, and each column's distribution. `converged` is False
        if the private rows are so unlike the public ones that a quantile is mostly a guess.

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
        >>> found.values.shape, found.converged
        ((1, 5), True)
    """
    check_arguments(public, curator)
    shares = check_shares(at)
    if curator.groups is not None:
        raise InvalidInput("quantiles are of all rows together: open the table without by=")
    table = public_rows(public, curator.columns, "quantiles", one_law=False)
    if len(table.rows) < FEWEST_PUBLIC:
        raise InvalidInput(f"quantiles need {FEWEST_PUBLIC} public rows, which make the first cells, and 30 are good")
    configuration = {"at": list(shares), "columns": list(curator.columns)}
    purse = curator.begin("quantiles", configuration, table, budget)
    d = len(curator.columns)
    with refusing_by(curator.size):
        check_ranks(shares, curator.n_rows, d, purse.rho)
    plan = QuantilesPlan.of(purse, d)
    curator.rehearse(plan.questions)
    rounds = _rounds(Execution(curator, "quantiles", runner), table, shares, plan)
    return _released(table, curator, shares, rounds)


def _rounds(run: Execution, table: PublicTable, shares: tuple[float, ...], plan: QuantilesPlan) -> Rounds:
    """Ask all rounds."""
    rounds: Rounds = ()
    for number, ask in enumerate(plan.asks):
        edges = run.at(f"{number + 1} of {len(plan.asks)}")(edges_of_round, table, run.curator.size, shares, rounds)
        rounds = (*rounds, run.at(f"{number + 1} of {len(plan.asks)}")(count_cells, edges, ask))
    return rounds


@step(title="edges of cells")
def edges_of_round(table: PublicTable, size: Size, shares: tuple[float, ...], rounds: Rounds) -> Edges:
    """Choose the edges of the next round's cells, from public rows and released counts."""
    public = [PublicColumn.of(column) for column in table.rows.T]
    if not rounds:
        return tuple(tuple(first_edges(each).tolist()) for each in public)
    columns = _columns(public, size, rounds)
    return tuple(tuple(next_edges(each.public, each.known, shares, len(rounds)).tolist()) for each in columns)


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


def _columns(public: Sequence[PublicColumn], size: Size, rounds: Rounds) -> list[Column]:
    """Pool what is known of each column. If the number of records was released, the counts alone say it."""
    sd = float(size.rows) if size.sd else 0.0
    return [Column.of(each, own, size.rows, sd) for each, own in zip(public, zip(*rounds, strict=True), strict=True)]


def _released(table: PublicTable, curator: Curator, shares: tuple[float, ...], rounds: Rounds) -> Quantiles:
    """Read quantiles off all counts."""
    size, statement = curator.size, curator.statement()
    public = [PublicColumn.of(column) for column in table.rows.T]
    columns = _columns(public, size, rounds)
    found = [read(column, shares, size.widening) for column in columns]
    facts = list(zip(curator.columns, found, columns, public, strict=True))
    wrong = [flaw for name, own, column, rows in facts for flaw in flaws(name, own, column, rows)]
    told = [note for name, own, column, rows in facts for note in notes(name, own, column, rows, size.rows)]
    return Quantiles(
        columns=curator.columns,
        at=shares,
        converged=not wrong,
        warnings=(*wrong, *told, *table.notes),
        privacy=statement.to_json(),
        provenance=provenance_of(statement, size, table),
        _found=tuple(found),
        _known=tuple(columns),
        _records=float(size.rows),
        _widening=size.widening,
    )
