"""Pooling, reading and edges: what is known exactly, and how far released quantiles are off."""

import numpy as np
import pytest

from benchmarks.quantiles import AT, CELLS, _drawn, _row
from pubpriv.estimators.quantiles._column import located
from pubpriv.estimators.quantiles._edges import first_edges, next_edges
from pubpriv.estimators.quantiles._grain import grain_of, public_column
from pubpriv.estimators.quantiles._pooling import CellCounts, pooled
from pubpriv.released.distributions.cells import CellNoise, KnownRows, Missing
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.grain import Grain
from pubpriv.released.distributions.public_column import PublicColumn
from pubpriv.released.distributions.reading import read

ROWS = np.random.default_rng(1).lognormal(3, 1, 3000)
PUBLIC = public_column(np.random.default_rng(2).lognormal(3, 1, 60))


def counted(rows, edges, sd, random):
    """Counts of the cells between edges, and of missing cells, with Gaussian noise."""
    there = rows[np.isfinite(rows)]
    counts = np.bincount(np.searchsorted(edges, there), minlength=len(edges) + 1)
    noisy = np.append(counts, len(rows) - len(there)) + sd * random.standard_normal(len(edges) + 2)
    return CellCounts(tuple(map(float, edges)), tuple(noisy.tolist()), sd)


def test_without_noise_the_distribution_is_that_of_the_rows():
    """At every edge of every round, with the number of missing cells."""
    rows = np.append(ROWS, [np.nan] * 200)
    random = np.random.default_rng(3)
    rounds = [counted(rows, np.quantile(ROWS, shares), 1e-4, random) for shares in ([0.2, 0.5], [0.1, 0.5, 0.9])]
    known = pooled(rounds, len(rows), PUBLIC.masses)
    assert known.below == pytest.approx([300, 600, 1500, 2700], abs=0.01)
    assert (known.total, known.missing.rows) == (pytest.approx(3000, abs=0.01), pytest.approx(200, abs=0.01))


def test_stated_errors_of_ranks_are_those_that_noise_makes():
    """At each edge, for ranks from the lowest to the highest, and for the number of missing cells."""
    random, edges = np.random.default_rng(4), (np.quantile(ROWS, [0.1, 0.4, 0.8]), np.quantile(ROWS, [0.3, 0.4, 0.5]))
    made = [
        pooled(
            [counted(ROWS, each, sd, random) for each, sd in zip(edges, (20.0, 9.0), strict=True)], 3000, PUBLIC.masses
        )
        for _ in range(400)
    ]
    for share in (0.05, 0.5, 0.95):
        ranks = np.array([np.array(known.below) - share * known.total for known in made])
        assert ranks.std(axis=0) == pytest.approx(made[0].rank_sds(share), rel=0.15)
    assert np.std([known.missing.rows for known in made]) == pytest.approx(made[0].missing.sd, rel=0.15)


def test_public_rows_are_moved_to_where_the_answers_say():
    """Those of another place by ten of their widths; those of their own law stay about where they are."""
    random = np.random.default_rng(5)
    for shift in (0.0, 500.0):
        public = PublicColumn(PUBLIC.rows + shift, Grain())
        rounds = [counted(ROWS, first_edges(public), 5.0, random)]
        for step in (1, 2):
            column = located(public, rounds, 3000, 0.0)
            rounds.append(counted(ROWS, next_edges(column, AT, step), 5.0, random))
        column = located(public, rounds, 3000, 0.0)
        assert column.public is not public or not shift
        assert np.median(column.public.rows) == pytest.approx(20, abs=6)


@pytest.mark.parametrize(
    ("rows", "grain"),
    [
        ([1, 2, 3, 4, 4, 5, 5, 5, 6, 6], Grain(1.0, 1.0)),
        ([9.0, 19.0, 29.0, 29.0, 49.0, 49.0, 99.0, 9.0], Grain(10.0, 9.0)),
        ([*np.random.default_rng(1).normal(size=30), *[0.0] * 5], Grain(heaps=(0.0,))),
        (np.random.default_rng(1).normal(size=30), Grain()),
        (np.round(np.random.default_rng(1).normal(size=30), 6), Grain()),
    ],
)
def test_grain_is_read_off_public_rows(rows, grain):
    """Whole numbers, prices that end in 9, zeros among others, and none."""
    assert grain_of(np.array(rows, dtype=float)) == grain


def test_edges_lie_between_values_of_a_step_and_around_heaps():
    whole = Grain(1.0, 0.0)
    assert whole.edges(np.array([0.2, 3.0, 3.4, np.inf])).tolist() == [0.5, 3.5]
    heaped = Grain(heaps=(0.0, 50.0)).edges(np.array([-1.0, 1.0]))
    assert heaped.tolist() == [-1.0, float(np.nextafter(0.0, -1.0)), 0.0, 1.0]


@pytest.mark.parametrize("public", [[5.0] * 30, [0.0] * 29 + [1e-9], [1e60, 1.1e60] * 15, [-1.0, 1.0] * 15])
def test_odd_public_rows_make_edges_and_quantiles(public):
    """Constant columns, tiny and huge units: edges rise and are finite, and quantiles rise."""
    column, random = public_column(np.array(public)), np.random.default_rng(6)
    rounds = []
    for step in range(4):
        known = located(column, rounds, 500, 0.0) if rounds else None
        edges = first_edges(column) if known is None else next_edges(known, AT, step)
        assert np.isfinite(edges).all()
        assert (np.diff(edges) > 0).all()
        rounds.append(counted(random.normal(size=500), edges, 3.0, random))
    values = [each.value for each in read(located(column, rounds, 500, 0.0), AT)]
    assert np.isfinite(values).all()
    assert values == sorted(values)


MEASURED = [
    ("gaussian", 1_000, 0.1, 100, 0.0, 40),
    ("bimodal", 1_000, 0.1, 100, 0.0, 40),
    ("zeros", 1_000, 0.1, 100, 0.0, 40),
    ("lognormal", 1_000, 0.1, 100, 3.0, 40),
    ("lognormal", 100_000, 0.01, 100, 0.0, 20),
]


@pytest.mark.long
@pytest.mark.parametrize(("law", "n", "rho", "m", "shift", "draws"), MEASURED)
def test_errors_and_intervals_through_the_door(law, n, rho, m, shift, draws):
    """In a few draws; `pubpriv bench quantiles` measures them in 200."""
    cell = (law, n, rho, m, shift)
    assert cell in CELLS
    row = _row(cell, [_drawn((*cell, seed)) for seed in range(draws)])
    assert row["ratio"] < 1.25
    assert row["coverage"] > 0.9
    assert row["flagged"] <= 0.1


@pytest.mark.long
def test_heaped_ages_are_exact_where_a_heap_holds_the_rank():
    """The median of ages is 45 with 1 row in 13 at it, and a decile lies at a heap, too."""
    draws = [_drawn(("ages", 1_000, 0.1, 100, 0.0, seed)) for seed in range(20)]
    errors = np.array([draw["ours"] for draw in draws])
    assert (errors == 0).mean() > 0.7
    assert np.array([draw["held"] for draw in draws]).mean() > 0.95


def test_an_interval_in_a_cell_with_a_heap_that_nobody_showed_takes_the_whole_cell():
    """Three tenths of the rows in a narrow cell without a heap among public rows: they may all be its last value."""
    edges = (0.0, 9.9, 10.1, 20.0)
    noise = CellNoise((4.0,) * 4, (0.0,) * 4, (8.0,) * 5, 1.0)
    known = KnownRows(edges, (100.0, 400.0, 700.0, 900.0), 1000.0, noise, Missing(0.0, 1.0))
    public = PublicColumn(np.linspace(-5, 25, 100), Grain())
    (found,) = read(Distribution(public, known, public), [0.55])
    assert (found.low, found.high) == (9.9, 10.1)


def test_an_interval_over_several_cells_ends_inside_of_them():
    """As before, between cells of fewer rows than the interval has."""
    edges = tuple(np.linspace(0, 30, 31).tolist())
    below = tuple(np.linspace(20, 980, 31).tolist())
    known = KnownRows(edges, below, 1000.0, CellNoise((4.0,) * 31, (0.0,) * 31, (8.0,) * 32, 1.0), Missing(0.0, 1.0))
    public = PublicColumn(np.linspace(0, 30, 100), Grain())
    (found,) = read(Distribution(public, known, public), [0.5])
    assert not {found.low, found.high} & set(edges)
