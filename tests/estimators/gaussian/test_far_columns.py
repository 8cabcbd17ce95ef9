"""Rows that a column takes far out: which one is counted, what that says of long columns, and when it is asked."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import pubpriv as pp
from pubpriv.data.frames import Frame
from pubpriv.data.regions import View
from pubpriv.estimators._far_out import FAR_OUT
from pubpriv.estimators._noisy_counts import log_likelihood
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._degenerate_columns import examine
from pubpriv.estimators.gaussian._far_columns import FarColumns
from pubpriv.estimators.gaussian._long_columns import (
    in_view_of,
    long_chances,
    long_columns,
    shares_beyond,
    squares_beyond,
)
from pubpriv.estimators.gaussian._plan import table_plan
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shells import far_question
from pubpriv.privacy.budgets import Purse

D, N, SD = 6, 20_000.0, 10.0
PLAIN, SMOOTH = Frame((0.0,) * D), PublicShape()


def counted(rows, frame=PLAIN):
    """Rows that each column takes furthest out, as the question counts them."""
    partition = far_question(frame, Ask("far", 1, 1)).partition
    return np.bincount(partition.assign(View(np.ascontiguousarray(rows.T))), minlength=D + 1)[1:]


def odds(counts, shape=SMOOTH, frame=PLAIN, n=N, accuracy=0.05):
    """Of the likeliest law for each column."""
    return FarColumns(tuple(map(float, counts)), SD).log_odds(frame, n, 1.0, accuracy, shape).max(axis=1)


def gaussian(n=int(N), seed=0):
    return np.random.default_rng(seed).standard_normal((n, D))


def test_a_row_is_counted_for_the_column_in_which_it_is_furthest_out():
    """In standard deviations of the columns, whatever the frame's other axes are; all other rows are not counted."""
    mixed = np.linalg.cholesky(0.6 * np.eye(D) + 0.4) * np.arange(1, D + 1)[:, None]
    center = np.arange(D) * 10.0
    rows = center + gaussian() @ mixed.T
    sizes = np.sqrt((mixed**2).sum(axis=1))
    out = np.abs((rows - center) / sizes)
    furthest = out.argmax(axis=1)[out.max(axis=1) > FAR_OUT]
    assert (counted(rows, Frame.of(center, np.linalg.inv(mixed))) == np.bincount(furthest, minlength=D)).all()


def test_a_long_column_is_told_from_others():
    """Only that one is likely to be long, though lengths say nothing; skewed ones, too."""
    rows = gaussian()
    generator = np.random.default_rng(1)
    for long in (generator.standard_t(5, len(rows)) * np.sqrt(0.6), generator.exponential(size=len(rows)) - 1):
        table = np.column_stack([rows[:, 1:], long])
        found = odds(counted(table))
        assert found[-1] > 10
        assert (found[:-1] < 0).all()


def test_gaussian_rows_speak_against_long_columns():
    """So do rows that are all long together: no single column is longer than the others."""
    assert (odds(counted(gaussian())) < -3).all()
    stretched = gaussian() * np.sqrt(0.6 * 5 / np.random.default_rng(2).chisquare(5, (int(N), 1)))
    assert counted(stretched).min() > 1.5 * N * 2 * norm.sf(FAR_OUT)
    assert (odds(counted(stretched)) < 0).all()


def test_rounded_rows_are_no_long_ones():
    """Whole numbers of one column end beyond three sds, or before, as it happens; a large table would show that."""
    n = 10 * int(N)
    for step in (0.4, 0.7, 0.62):
        rows = gaussian(n, seed=3)
        rows[:, 0] = step * np.rint(rows[:, 0] / step)
        frame = Frame((0.0,) * D, None, (1 / np.sqrt(1 + step**2 / 12), *(1.0,) * (D - 1)))
        shape = PublicShape((), (-3 * step,) + (0.0,) * (D - 1), (step,) + (0.0,) * (D - 1))
        assert (odds(counted(rows, frame), shape, frame, n) < 0).all()
    assert odds(counted(rows, frame), SMOOTH, frame, n)[0] > 0


def test_two_columns_may_both_be_long():
    """Each with evidence of its own; without it, one of all columns is, by the lengths."""
    laws = len(long_columns(D))
    apart = np.full((D, laws), np.log(0.01 / laws))
    sure = apart.copy()
    sure[[0, 3]] += 20.0
    none, own = long_chances(sure, np.zeros(laws))
    assert none < 1e-6
    assert own.sum(axis=1)[[0, 3]] == pytest.approx([1, 1], abs=1e-6)
    assert (np.delete(own.sum(axis=1), [0, 3]) < 0.02).all()
    none, own = long_chances(apart, np.full(laws, np.log(1000)))
    assert own.sum(axis=1) == pytest.approx(np.full(D, own.sum() / D))
    assert own.sum() + none == pytest.approx(1, abs=0.04)


@pytest.mark.parametrize(
    ("n", "d", "target", "kind", "degenerate", "asked"),
    [
        (5_000, 20, "auto", "zcdp", False, Fraction(1, 50)),
        (10**7, 20, "auto", "zcdp", False, Fraction(1, 1000)),
        (2_500, 3, "auto", "zcdp", False, Fraction(3, 100)),
        (500, 3, "auto", "zcdp", False, None),
        (5_000, 2, "auto", "zcdp", False, None),
        (5_000, 20, "moments", "zcdp", False, None),
        (5_000, 20, "auto", "zcdp", True, None),
        (50_000, 3, "auto", "pure", False, None),
    ],
)
def test_the_question_is_asked_where_it_may_tell_something(n, d, target, kind, degenerate, asked):
    """Its share is what its noise needs, of a budget of rho 0.5."""
    rows = np.random.default_rng(4).standard_normal((100, d))
    if degenerate:
        rows[:, 0] = 0.0
    plan = table_plan(Purse(5 * 10**11, kind), n, examine(pp.PublicTable.open(rows)), target)
    if asked is None:
        assert plan.far is None
        assert not any(ask.label.endswith("/far") for ask in plan.asks)
    else:
        assert plan.far in plan.asks
        assert float(plan.far.price) == pytest.approx(float(asked))


@pytest.mark.slow
def test_the_variance_of_a_single_long_column_is_within_its_interval():
    """Clipping took a twelfth from it, which lengths of rows of twenty columns do not show: 35 of 40 were."""
    held = []
    for seed in range(40):
        generator = np.random.default_rng([seed, 5])
        rows = generator.standard_normal((5_060, 20))
        rows[:, 0] = generator.standard_t(5, len(rows)) * np.sqrt(0.6)
        found = pp.estimate_gaussian(rows[:60], pp.Curator.simulation(rows[60:], "zcdp:0.5", seed))
        sds = [np.asarray(part)[0, 0] for part in found.standard_errors["covariance"].values()]
        held.append(abs(found.covariance[0, 0] - 1) <= 1.96 * np.sqrt(np.square(sds).sum()))
    assert sum(held) >= 37


ENDS = np.array([3.0, 4.5, 7.0, 10.0])
"""Distances at which shells begin, in which rows of a long column are counted."""


def revised(rows, sd=SD, before=0.9, law=3):
    """Chance of a law of the third column, once so many rows were counted in each shell."""
    chances = np.zeros((D, len(long_columns(D))))
    chances[2, law] = before
    expected = N * shares_beyond(ENDS)
    variances = np.full(len(ENDS), sd**2)
    none = log_likelihood(rows, np.zeros(len(ENDS)), variances)
    return in_view_of(chances, log_likelihood(rows, expected, variances + expected) - none)


def test_a_long_column_is_believed_as_far_as_its_rows_were_counted():
    """Empty shells, where its law has hundreds of rows, speak against it; as many rows as it has speak for it."""
    expected = N * shares_beyond(ENDS)[3]
    assert expected[0] > 100
    assert expected.sum() == pytest.approx(N * shares_beyond(ENDS[:1])[3].sum())
    assert revised(np.zeros(len(ENDS))).max() < 1e-6
    assert revised(expected)[2, 3] > 0.999
    assert revised(np.zeros(len(ENDS)), sd=1e6)[2, 3] == pytest.approx(0.9, abs=1e-3)
    for rows in (np.zeros(len(ENDS)), expected):
        assert not np.delete(revised(rows), 2, axis=0).any()


def test_what_is_only_believed_of_a_long_column_moves_no_variance():
    """A waiting time that ends at five has more rows at three sds than others, and none in the shells beyond."""
    generator = np.random.default_rng(6)
    rows = generator.standard_normal((30_000, 4))
    rows[:, 1] = generator.standard_exponential(len(rows)).clip(max=5) - 1  # more rows at three sds than others
    found = pp.estimate_gaussian(rows[:60], pp.Curator.simulation(rows[60:], "zcdp:0.5", 1))
    assert found.covariance[1, 1] == pytest.approx(rows[60:, 1].var(), rel=0.02)
    assert found.converged


def test_what_lies_beyond_falls_with_the_distance():
    """All of a variance beyond zero; less the shorter the tail."""
    assert squares_beyond(0.0) == pytest.approx(1.0)
    near, far = squares_beyond(4.0), squares_beyond(8.0)
    assert (far < near).all()
    assert (np.diff(far[:5]) > 0).all()
