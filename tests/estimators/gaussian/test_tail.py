"""What lies beyond the core: shells that hold rows count, noise does not, and tails go on as they fall."""

from functools import partial

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators.gaussian import _tail
from pubpriv.estimators.gaussian._shell_shapes import common_part, further_shape
from pubpriv.estimators.gaussian._tail import Shells, last_shell, read_tail

N = 10_000.0
MIDDLES = 25.0 * 2.25 ** np.arange(12)


def shells(rows, sd=2.0, noise=None):
    """Released shells that hold `rows` (12,), with noise `noise` in sds."""
    off = np.zeros(12) if noise is None else noise
    counted = np.asarray(rows, dtype=float) + sd * off
    return Shells(counted * MIDDLES / N, sd * MIDDLES / N, counted, np.full(12, sd), MIDDLES)


def before(fall, sd=0.01):
    """Four shells within the core that fall to a first shell of 200 rows."""
    first = 200 * MIDDLES[0] / N
    return first / fall ** np.arange(4, 0, -1.0), np.full(4, sd)


of_one_column = partial(read_tail, single=True)


def test_nothing_is_expected_beyond_a_gaussian_core():
    """Shells without rows add nothing, and no error."""
    found = of_one_column(shells(np.zeros(12)), before(0.5), True, N)
    assert (found.last, found.beyond, found.beyond_sd) == (0, 0.0, 0.0)


def test_noise_alone_is_hardly_ever_taken_for_rows():
    """A thousand draws of noise beyond a Gaussian core: at most one in a hundred has a shell that counts."""
    generator = np.random.default_rng(0)
    empty = np.zeros(12)
    counted = [
        read_tail(shells(empty, noise=generator.standard_normal(12)), before(0.5), True, N).last for _ in range(1000)
    ]
    assert np.count_nonzero(counted) <= 10


def test_far_rows_count_wherever_they_lie():
    """Forty rows six shells out, and thirty that are spread over five shells with little in each."""
    far, spread = np.zeros(12), np.zeros(12)
    far[6], spread[2:7] = 40.0, 6.0
    found = read_tail(shells(far), before(0.5), True, N)
    assert found.last == 7
    assert found.lengths[6] == pytest.approx(40 * MIDDLES[6] / N, rel=0.01)
    assert found.lengths[:6].sum() == 0
    assert read_tail(shells(spread), before(0.5), True, N).last == 7


@pytest.mark.parametrize("shell", [1, 6, 11])
def test_rows_that_could_hide_are_those_that_would_not_count(shell):
    """Three sds of the noise were said to show, and five did not count."""
    most = read_tail(shells(np.zeros(12)), before(0.5), True, N).hidden
    assert most > 4 * 2.0
    counted = []
    for rows in (0.95 * most, 1.05 * most):
        far = np.zeros(12)
        far[shell] = rows
        counted.append(read_tail(shells(far), before(0.5), True, N).last)
    assert counted[1] == shell + 1
    assert shell < 11 or counted[0] == 0


@pytest.mark.parametrize("fall", [0.3, 0.5, 0.65])
def test_power_tails_are_continued(fall):
    """Squared lengths that fall by a factor: what lies beyond the last shell that counts is within two errors.

    A part of it is in the estimate of a single column, nothing in that of several.
    """
    lengths = 200 * MIDDLES[0] / N * fall ** np.arange(40)
    rows = lengths[:12] * N / MIDDLES
    single, several = (read_tail(shells(rows), before(fall), False, N, single=single) for single in (True, False))
    assert single.last == several.last
    assert 2 <= single.last < 8
    true = lengths[single.last :].sum()
    assert abs(single.beyond - true) < 2 * single.beyond_sd
    assert 0.2 * true < single.beyond < 2.5 * true
    assert several.beyond == 0
    assert true < 2 * several.beyond_sd


@pytest.mark.parametrize("fall", [0.3, 0.5, 0.65])
def test_the_law_of_a_power_tail_goes_on_where_its_table_ends(fall):
    """What tables have beyond the last shell that counts, and what most of them lack, to within a factor of three."""
    lengths = 200 * MIDDLES[0] / N * fall ** np.arange(40)
    middles = MIDDLES[0] * 2.25 ** np.arange(40)
    all_rows = lengths * N / middles
    rows = np.where(all_rows[:12] > 0.5, all_rows[:12], 0.0)
    found = read_tail(shells(rows), before(fall), False, N)
    there = all_rows[::-1].cumsum()[::-1] > 0.3
    beyond = np.arange(40) >= found.last
    fourth, unseen = (lengths * middles)[beyond & there].sum(), lengths[~there].sum()
    assert fourth / 3 < found.law.fourth < 3 * fourth
    assert unseen / 3 < found.law.unseen < 3 * unseen


def test_a_law_without_rows_beyond_has_no_further_errors():
    """A Gaussian core, and a tail that clearly ends."""
    assert read_tail(shells(np.zeros(12)), before(0.5), True, N).law == _tail.Law()
    rows = np.zeros(12)
    rows[0] = 600.0
    found = read_tail(shells(rows), before(0.9), False, N)
    assert found.law.fourth < 0.05 * found.lengths[0] * MIDDLES[0]
    assert N * found.law.unseen**2 < 0.05 * found.lengths[0] * MIDDLES[0]


def test_tails_may_end():
    """Six hundred rows in one shell and none beyond: next to nothing is expected there."""
    rows = np.zeros(12)
    rows[0] = 600.0
    found = of_one_column(shells(rows), before(0.9), False, N)
    assert found.last == 1
    assert found.beyond < 0.03 * found.lengths[0]


def test_never_more_is_added_than_the_last_shell_holds():
    """A tail that rises as far as it is seen, in loud noise, is not followed: only its error grows."""
    rows = np.zeros(12)
    rows[:4] = 200.0 / 1.9 ** np.arange(4)  # each shell holds more squared length than the one before
    found = of_one_column(shells(rows, sd=10.0), before(1.2), False, N)
    assert found.last == 4
    assert 0 < found.beyond <= 1.001 * found.lengths[-1]
    assert found.beyond_sd > 2 * found.beyond


def test_a_group_far_out_is_no_tail_of_what_lies_before_a_gap():
    """Forty rows six shells out, and fifteen in the next, which noise hides: they are feared all the same."""
    rows = np.zeros(12)
    rows[6], rows[7] = 40.0, 15.0
    found = of_one_column(shells(rows, sd=7.0), before(0.5), True, N)
    assert found.last == 7
    hidden = rows[7] * MIDDLES[7] / N
    assert abs(hidden - found.beyond) < 2 * found.beyond_sd


def test_rows_that_stand_apart_may_well_end(monkeypatch):
    """Less is expected beyond forty rows six shells out than if a gap before them meant nothing."""
    rows = np.zeros(12)
    rows[6] = 40.0
    apart = of_one_column(shells(rows, sd=7.0), before(0.5), True, N)
    monkeypatch.setattr(_tail, "_ENDS_APART", _tail._ENDS)
    assert apart.beyond < 0.8 * of_one_column(shells(rows, sd=7.0), before(0.5), True, N).beyond


def test_what_lies_beyond_is_more_of_a_long_tail_than_the_shells_are():
    """A column with .5 of the core and .8 of a shell has .94 of what lies beyond; after two shells, .89."""
    core, shell, axes = np.eye(2) / 2, np.diag([0.8, 0.2]), np.eye(2)[::-1]
    assert np.diag(further_shape(shell, core, 1, axes)) == pytest.approx([1.28 / 1.36, 0.08 / 1.36])
    assert np.diag(further_shape(shell, core, 2, axes)) == pytest.approx([8 / 9, 1 / 9])
    assert further_shape(core, core, 3, axes) == pytest.approx(core)
    assert further_shape(shell, core, 0, axes) is shell


def test_lengths_in_the_core_are_of_the_tail_as_far_as_its_columns_have_them():
    """Two of five columns reach far: of the core they have two fifths. Where all reach as far, noise takes nothing."""
    core, noise = np.ones(5), 0.05 * np.array([1, -1, 1, -1, 0])
    assert common_part(core, np.array([3.0, 3.0, 0, 0, 0]), 0.0) == pytest.approx(0.4)
    assert common_part(core, np.ones(5) / 5 + noise, 0.05) == 1
    assert common_part(core, noise, 0.05) == 1


def test_a_tail_is_followed_less_steeply_where_the_core_is_of_other_columns():
    """Three short columns end in the core: beyond, two long ones go on as they fall there."""
    lengths = 200 * MIDDLES[0] / N * 0.8 ** np.arange(40)
    rows = lengths[:12] * N / MIDDLES
    own, sds = before(0.3)
    alike = of_one_column(shells(rows, sd=6.0), (own, sds), False, N)
    other = of_one_column(shells(rows, sd=6.0), (0.7 * own, np.hypot(sds, 0.3 * own)), False, N)
    assert other.beyond > 1.2 * alike.beyond
    assert abs(other.beyond - lengths[other.last :].sum()) < 2 * other.beyond_sd


def test_a_group_that_begins_at_once_ends_so():
    """Fifty rows in one shell, none before, and 1.5 sds of noise two shells further: little is feared there."""
    rows, noise = np.zeros(12), np.zeros(12)
    rows[4], noise[6] = 50.0, 1.5
    found = of_one_column(shells(rows, sd=5.0, noise=noise), before(0.5), True, N)
    assert found.last == 5
    assert found.beyond < 0.05 * found.lengths[-1]
    assert found.beyond_sd < 0.3 * found.lengths[-1]


def test_noise_far_out_must_be_clearer_than_what_it_would_harm():
    """Shells with 4.2 sds together, five shells beyond a skewed core, count only where no louder than what is known."""
    rows = np.zeros(12)
    rows[:7] = 600.0, 90.0, 4.9, 10.7, -1.2, 6.4, 10.7
    found = of_one_column(shells(rows, sd=3.37), before(0.5), False, N)
    assert found.last == 2
    even = np.full(12, 3.37)
    assert last_shell(rows / even, False, np.ones(12)) == 7


def test_rows_beyond_the_last_edge_are_feared_before_they_count():
    """Four sds of noise there are too few to count so far out; nothing bounds what such rows hold."""
    rows = np.zeros(12)
    rows[11] = 8.0
    found = read_tail(shells(rows), before(0.5), True, N)
    assert (found.last, found.boundless) == (0, True)
    assert not read_tail(shells(rows / 2), before(0.5), True, N).boundless


@pytest.mark.slow
def test_the_tail_of_a_single_long_column_goes_on_as_by_itself():
    """Lengths fall steeply where those of the others end, as its tail was then taken to: four of these ten held."""
    held = 0
    for seed in range(10):
        generator = np.random.default_rng(seed)
        rows = generator.standard_normal((100_060, 20))
        rows[:, 0] = generator.standard_t(3, len(rows))
        found = pp.estimate_gaussian(rows[:60], pp.Curator.simulation(rows[60:], "zcdp:0.5", seed))
        error = np.linalg.norm([np.asarray(part)[0, 0] for part in found.standard_errors["covariance"].values()])
        held += abs(found.covariance[0, 0] - 3) < 1.96 * error
    assert held >= 7
