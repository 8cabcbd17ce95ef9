"""Rows that a column takes far out: which one is counted, what that says of long columns, and when it is asked."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

import pubpriv as pp
from pubpriv.data.codec import row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.regions import View
from pubpriv.estimators._far_out import FAR_OUT
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian._degenerate_columns import examine
from pubpriv.estimators.gaussian._far_columns import FarColumns
from pubpriv.estimators.gaussian._learner import Fitted
from pubpriv.estimators.gaussian._long_columns import long_chances, long_columns, squares_beyond
from pubpriv.estimators.gaussian._plan import table_plan
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._shells import Cut, far_question
from pubpriv.estimators.gaussian._table_release import _with_far_tails
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


def outside(last=1):
    """What lies outside of a core, of which so many shells count."""
    return SimpleNamespace(tail=SimpleNamespace(last=last))


def test_a_long_column_has_rows_beyond_the_last_shell():
    """As many as its law has there, not known exactly; other columns, and those of Gaussian rows, have none."""
    chances = np.zeros((D, len(long_columns(D))))
    chances[2, 3] = 1.0
    cut = Cut(False, 1.0, 0.0, (4.0, 6.0, 9.0), (4.0, 6.0, 9.0, 13.0), (), row_tuples(chances))
    covariance = np.diag(np.arange(1.0, D + 1)) + 0.1
    fitted = Fitted.of(np.zeros(D), covariance)
    errors = {"mean": {"clipping": np.zeros(D)}, "covariance": {"sampling": covariance, "clipping": np.zeros((D, D))}}
    found, unsure = _with_far_tails(fitted, errors, cut, outside())
    added = np.array(found.covariance) - covariance
    beyond = squares_beyond(np.sqrt(6.0**2 - (D - 1)))[3]
    assert 0.02 < beyond < 0.2
    assert added[2, 2] == pytest.approx(beyond * covariance[2, 2])
    assert unsure["covariance"]["clipping"][2, 2] == pytest.approx(0.7 * added[2, 2])
    added[2, 2] = 0.0
    assert not added.any()
    assert _with_far_tails(fitted, errors, cut, outside(2))[0].covariance[2][2] < found.covariance[2][2]
    for other in (replace(cut, gaussian=True), replace(cut, long=())):
        assert _with_far_tails(fitted, errors, other, outside()) == (fitted, errors)


def test_what_lies_beyond_falls_with_the_distance():
    """All of a variance beyond zero; less the shorter the tail."""
    assert squares_beyond(0.0) == pytest.approx(1.0)
    near, far = squares_beyond(4.0), squares_beyond(8.0)
    assert (far < near).all()
    assert (np.diff(far[:5]) > 0).all()
