"""Quantiles and shares of groups: four rounds for all groups at once, each with edges of its own.

A record is in one group, and in one cell of each column there, so the price is that of one group, however many there
are. The first cells of a group are those of all rows together, which the released distribution of these makes.
"""

from collections.abc import Sequence

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.categories import ByCategory
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.quantiles._column import located
from pubpriv.estimators.quantiles._pooling import CellCounts
from pubpriv.estimators.quantiles._rounds import Edges, Rounds, asked_partitions, columns_of, edges_of, public_of
from pubpriv.estimators.quantiles._shares import shares_of
from pubpriv.estimators.quantiles._targets import Targets
from pubpriv.estimators.quantiles.plan import QuantilesPlan, drowns, groups_question, rank_noise
from pubpriv.estimators.steps import Execution, step
from pubpriv.released.described import Described
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.public_column import PublicColumn
from pubpriv.released.distributions.reading import is_vague, read
from pubpriv.released.groups import Groups, QuantileGroup

GroupRounds = tuple[tuple[tuple[CellCounts, ...], ...], ...]
"""Counts of each round, in it of each group, and in that of each column."""

_SEEDS = 200
"""Values of all rows together that stand for the public rows of a group."""


def group_rounds(
    run: Execution,
    table: PublicTable,
    by: ByCategory,
    records: tuple[float, float],
    targets: Targets,
    rounds: Rounds,
    plan: QuantilesPlan,
) -> GroupRounds:
    """Ask all rounds of all groups, after those of all rows."""
    known: GroupRounds = ()
    for number, ask in enumerate(plan.asks):
        at = run.at(f"{number + 1} of {len(plan.asks)}")
        edges = at(edges_of_groups, table, by, *records, targets, rounds, known)
        known = (*known, at(count_groups, by, edges, ask))
    return known


@step(title="edges of cells of groups")
def edges_of_groups(
    table: PublicTable,
    by: ByCategory,
    records: float,
    records_sd: float,
    targets: Targets,
    rounds: Rounds,
    known: GroupRounds,
) -> tuple[Edges, ...]:
    """Choose the edges of the next round of each group, from what was released of all rows and of the group."""
    seeds = _seeds(table, records, records_sd, targets, rounds)
    made = []
    for i in range(by.n_regions):
        own = _of_group(known, i)
        columns = _columns(seeds, own, records, targets)[0] if own else ()
        made.append(
            tuple(edges_of(j, seeds[j], columns[j] if columns else None, targets, len(own)) for j in range(len(seeds)))
        )
    return tuple(made)


@step(title="counts of cells of groups", private=True)
def count_groups(
    curator: Curator, by: ByCategory, edges: tuple[Edges, ...], ask: Ask
) -> tuple[tuple[CellCounts, ...], ...]:
    """Private step: the counts of the cells of every column of every group.

    Privacy: one `JointCounts` over `Refined` groups, mu^2 at most ask.price.
    """
    answer = curator.release(groups_question(by, edges, ask), ask.label)
    sd = float(answer.question.noise()["count"].flat[0])
    partitions = asked_partitions(answer.question)
    sizes = [inner.n_regions for partition in partitions for inner in partition.inner]
    counts = iter(np.split(answer.values["count"], np.cumsum(sizes)[:-1]))
    columns = [
        [CellCounts(inner.edges, tuple(next(counts).tolist()), sd) for inner in partition.inner]
        for partition in partitions
    ]
    return tuple(zip(*columns, strict=True))


def released_groups(
    table: PublicTable,
    by: ByCategory,
    records: tuple[float, float],
    targets: Targets,
    rounds: Rounds,
    known: GroupRounds,
    rho: float,
    widening: float,
) -> Groups:
    """Read quantiles and shares of each group; ranks that noise drowns, or that are mostly guesses, are left out.

    Args:
        table: public rows.
        by: the groups.
        records: number of all rows, and its sd.
        targets: what all rows were asked for.
        rounds: counts of all rows.
        known: counts of groups.
        rho: what the groups were asked for.
        widening: factor of sampling errors; see `Size.widening`.
    """
    seeds, each = _seeds(table, *records, targets, rounds), []
    noise = rank_noise(len(seeds), rho)
    unranked = tuple(name for j, name in enumerate(table.columns) if j not in targets.ranked)
    for i, name in enumerate(by.values):
        columns, rows = _columns(seeds, _of_group(known, i), records[0], targets)
        ranked = [columns[j] for j in targets.ranked]
        held = tuple(share for share in targets.ranks if not drowns(share, rows[0], noise))
        found = [read(column, held, widening) for column in ranked]
        kept = [k for k in range(len(held)) if not any(is_vague(own[k]) for own in found)]
        described = Described(
            table.columns,
            tuple(held[k] for k in kept),
            tuple(tuple(own[k] for k in kept) for own in found),
            shares_of(table.columns, columns, targets, rows[0], widening),
            columns,
            unranked,
            widening,
        )
        each.append(QuantileGroup.of(name, rows, described))
    return Groups(by.column, tuple(each))


def _of_group(known: GroupRounds, group: int) -> tuple[tuple[CellCounts, ...], ...]:
    return tuple(of_round[group] for of_round in known)


def _seeds(
    table: PublicTable, records: float, records_sd: float, targets: Targets, rounds: Rounds
) -> list[PublicColumn]:
    """What stands for the public rows of a group: values of all rows together, at even ranks."""
    public = public_of(table, targets)
    whole = columns_of(public, records, records_sd, targets, rounds)
    return [PublicColumn(column.values(_SEEDS), given.grain) for given, column in zip(public, whole, strict=True)]


def _columns(
    seeds: Sequence[PublicColumn], own: Sequence[Sequence[CellCounts]], records: float, targets: Targets
) -> tuple[tuple[Distribution, ...], tuple[float, float]]:
    """Pool what is known of a group; give its number of rows and the sd of that, which its own counts alone say."""
    counts = [(sum(each.counts), len(each.counts) * each.sd**2) for of_round in own for each in of_round]
    weight = sum(1 / variance for _, variance in counts)
    rows = max(sum(count / variance for count, variance in counts) / weight, 1.0)
    facts = zip(seeds, zip(*own, strict=True), targets.levels, strict=True)
    columns = tuple(located(seed, each, rows, records, bool(levels)) for seed, each, levels in facts)
    return columns, (rows, weight**-0.5)
