"""Tails of tables of small counts: which laws explain the counts by length, and what lies beyond by them."""

import math

import numpy as np
import pytest

import pubpriv as pp
from benchmarks import intervals
from benchmarks.laws import LAWS
from pubpriv.data.frames import Frame
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian._known_tails import Lengths, known_tail
from pubpriv.estimators.gaussian._public_shape import public_shape
from pubpriv.estimators.gaussian._shells import RATIO, middle_squares
from pubpriv.estimators.gaussian._tail import Shells, Tail
from pubpriv.estimators.gaussian.count_laws import drawn_counts

N, RATE = 500.0, 0.5
LINE = Frame((RATE,), None, (1 / math.sqrt(RATE),))
EDGES = np.array([0.5, 1.0, 1.5, 2.25, 3.4, 5.1, 7.65, 11.5])
INSIDE = 4
COUNTS = np.arange(15)
SHARES = np.exp(-RATE) * RATE**COUNTS / np.array([math.factorial(int(k)) for k in COUNTS])
LENGTHS = np.abs(COUNTS - RATE) / math.sqrt(RATE)
SHAPE = public_shape(PublicTable.open(np.repeat([0.0, 1.0, 2.0], [18, 9, 3])[:, None]), True)
DOUBTFUL = Tail(1, np.array([0.2]), np.array([0.1]), 0.2, 0.8, endless=True, hidden=9.0)


def held(edges):
    """Shares and squared lengths of Poisson rows between the edges."""
    bins = np.searchsorted(edges, LENGTHS)
    size = len(edges) + 1
    return np.bincount(bins, SHARES, size), np.bincount(bins, SHARES * LENGTHS**2, size)


def read(odd=0.0, shape=SHAPE):
    """What is read from the expected counts of N rows, and `odd` ones far out."""
    shares, squares = held(EDGES)
    counts = N * shares
    counts[-2] += odd
    sds = np.full(len(counts), 3.0)
    middle = np.append(middle_squares(EDGES[INSIDE - 1 :]), EDGES[-1] ** 2 * RATIO)
    rows = counts[INSIDE:]
    shells = Shells(squares[INSIDE:], 3.0 * middle / N, rows, sds[INSIDE:], middle)
    found = Lengths(EDGES, counts, sds, INSIDE, N)
    return known_tail(DOUBTFUL, shells, found, LINE, shape, (np.zeros(1), np.ones((1, 1))))


def test_the_public_rows_show_counts():
    """A heap at the least value of a lattice is a count; without a heap, or a lattice, there is none."""
    normal = np.random.default_rng(1).standard_normal((30, 1))
    assert SHAPE.counting == (True,)
    assert SHAPE.origin == (0.0,)
    assert public_shape(PublicTable.open(np.rint(9 * normal)), True).counting == (False,)
    assert public_shape(PublicTable.open(np.maximum(normal, 0.0)), True).counting == (False,)


@pytest.mark.parametrize(("mean", "variance"), [(0.3, 0.21), (0.5, 0.5), (0.5, 1.0)])
def test_a_law_of_counts_has_its_moments(mean, variance):
    """Binomial, Poisson and negative binomial: the law of the measured moments is the one in the middle."""
    frame = Frame((mean,), None, (1.0,))
    lattice = np.array(SHAPE.origin), np.array(SHAPE.steps)
    law = list(drawn_counts(frame, *lattice, np.zeros(1), np.array([[variance]])))[7 + 3]
    counts = np.unique(np.rint(np.concatenate([mean + law, mean - law])))
    assert (law**2).mean() == pytest.approx(variance, rel=0.02)
    assert np.isin(np.round(law, 6), np.round(np.abs(counts - mean), 6)).all()


def test_poisson_rows_have_no_doubtful_tail():
    """What lies beyond is that of the law, and of a size that matters little; no tail is endless."""
    found = read()
    beyond = float(held(EDGES)[1][INSIDE + found.last :].sum())
    assert not found.endless
    assert found.beyond == pytest.approx(beyond, abs=0.04)
    assert found.beyond_sd < 0.1
    assert found.lengths.sum() + found.beyond == pytest.approx(held(EDGES)[1][INSIDE:].sum(), abs=0.06)


def test_what_no_law_explains_is_left_as_it_was():
    """Rows far out, and columns that do not count."""
    assert read(odd=18.0) is DOUBTFUL
    assert read(shape=public_shape(PublicTable.open(np.linspace(0, 1, 30)[:, None] ** 0.5), True)) is DOUBTFUL


@pytest.mark.long
def test_few_sound_counts_are_not_flagged():
    """Poisson rows of rate 1/2: hardly a run is flagged, and intervals of the variance hold."""
    law, flags, held_by = LAWS["poisson-0.5"], 0, 0
    for seed in range(8):
        generator = np.random.default_rng([seed, 4])
        private, public = law.draw(500, 1, generator), law.draw(30, 1, generator)
        found = pp.estimate_gaussian(public, pp.Curator.simulation(private, "zcdp:0.5", seed))
        errors = [part[0, 0] for part in found.standard_errors["covariance"].values()]
        flags += not found.converged
        held_by += abs(found.covariance[0, 0] - RATE) < 2 * math.hypot(*errors)
    assert flags <= 3
    assert held_by >= 6


@pytest.mark.slow
def test_noise_of_a_shell_that_is_not_in_the_numbers_is_no_cause_for_alarm():
    """Five columns of Poisson rows of rate 1/2: the second shell's noise was taken for that of the covariance."""
    tasks = [intervals.Task("gaussian", "poisson-0.5", 500, 5, 30, "zcdp:0.5", 860000 + seed) for seed in range(8)]
    runs = [intervals.measured(task) for task in tasks]
    assert sum(run["flagged"] for run in runs) <= 1
    assert np.median([run["covariance_error"] / run["best_covariance_error"] for run in runs]) < 2
