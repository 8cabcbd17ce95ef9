"""Four rounds of counts: edges from what was released before, and the counts between them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.quantiles._column import located
from pubpriv.estimators.quantiles._edges import first_edges, next_edges
from pubpriv.estimators.quantiles._grain import public_column
from pubpriv.estimators.quantiles._pooling import CellCounts
from pubpriv.estimators.quantiles._targets import Targets
from pubpriv.estimators.quantiles.plan import QuantilesPlan, cells_question
from pubpriv.estimators.steps import Execution, step
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.public_column import PublicColumn

Edges = tuple[tuple[float, ...], ...]
"""Edges of the cells of each column."""

Rounds = tuple[tuple[CellCounts, ...], ...]
"""Counts of each round, and in it of each column."""


def all_rounds(
    run: Execution, table: PublicTable, records: tuple[float, float], targets: Targets, plan: QuantilesPlan
) -> Rounds:
    """Ask all rounds."""
    rounds: Rounds = ()
    for number, ask in enumerate(plan.asks):
        at = run.at(f"{number + 1} of {len(plan.asks)}")
        rounds = (*rounds, at(count_cells, at(edges_of_round, table, *records, targets, rounds), ask))
    return rounds


@step(title="edges of cells")
def edges_of_round(table: PublicTable, records: float, records_sd: float, targets: Targets, rounds: Rounds) -> Edges:
    """Choose the edges of the next round's cells, from public rows and released counts."""
    public = public_of(table, targets)
    columns = columns_of(public, records, records_sd, targets, rounds) if rounds else [None] * len(public)
    return tuple(edges_of(j, public[j], known, targets, len(rounds)) for j, known in enumerate(columns))


def edges_of(
    place: int, public: PublicColumn, known: Distribution | None, targets: Targets, step: int
) -> tuple[float, ...]:
    """Choose the edges of a column.

    Args:
        place: of the column.
        public: its public rows.
        known: what was released of it; None: nothing yet.
        targets: what is wanted.
        step: number of rounds before.
    """
    levels = targets.levels[place]
    if levels:
        edges = public.grain.edges(np.array(levels))
    else:
        edges = first_edges(public) if known is None else next_edges(known, targets.ranks, step)
    return tuple(np.unique([*edges, *targets.above[place]]).tolist())


@step(title="counts of cells", private=True)
def count_cells(curator: Curator, edges: Edges, ask: Ask) -> tuple[CellCounts, ...]:
    """Private step: the counts of the cells of every column.

    Privacy: one `JointCounts`, mu^2 at most ask.price.
    """
    question = cells_question(edges, ask)
    answer = curator.release(question, ask.label)
    sd = float(answer.question.noise()["count"].flat[0])
    asked = [partition.edges for partition in asked_partitions(answer.question)]
    ends = np.cumsum([len(each) + 2 for each in asked])[:-1]
    counts = np.split(answer.values["count"], ends)
    return tuple(CellCounts(each, tuple(own.tolist()), sd) for each, own in zip(asked, counts, strict=True))


def asked_partitions(question: Any) -> Any:
    """Return the partitions of a question as it was asked, or as a resumed run had stored it, within its wrappers."""
    while hasattr(question, "inner"):
        question = question.inner
    return question.partitions


def public_of(table: PublicTable, targets: Targets) -> list[PublicColumn]:
    """Return the public rows of each column."""
    return [public_column(column, levels) for column, levels in zip(table.rows.T, targets.levels, strict=True)]


def columns_of(
    public: Sequence[PublicColumn], records: float, records_sd: float, targets: Targets, rounds: Rounds
) -> tuple[Distribution, ...]:
    """Pool what is known of each column."""
    facts = zip(public, zip(*rounds, strict=True), targets.levels, strict=True)
    return tuple(located(each, own, records, records_sd, bool(levels)) for each, own, levels in facts)
