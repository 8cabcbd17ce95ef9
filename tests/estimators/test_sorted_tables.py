"""The order of the private rows changes no bit of an estimate: sorted by any column, or one site at the end.

What is asked are sums of integers, and early rounds read a sample that a record's own cells decide on.
"""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators.gaussian import _plan

N, D, PUBLIC = 6_000, 3, 60


def table():
    """Two sites that overlap, of which the second, a tenth of the rows, is wider and elsewhere, and is at the end."""
    generator = np.random.default_rng(5)
    rows = generator.standard_normal((N + PUBLIC, D)) @ (np.eye(D) + 0.4) + 5
    rows[-N // 10 :] = 2 * rows[-N // 10 :] + 1
    public = generator.choice(len(rows), PUBLIC, replace=False)
    return rows[public], np.delete(rows, public, axis=0)


ROWS_PUBLIC, ROWS = table()
ORDERS = {f"sorted by column {i}": np.argsort(ROWS[:, i]) for i in range(D)} | {
    "falling": np.argsort(-ROWS[:, 0]),
    "one site at the end": np.arange(len(ROWS)),
}
SHUFFLED = ROWS[np.random.default_rng(6).permutation(len(ROWS))]
ESTIMATES = {
    "mean": lambda run: pp.estimate_mean(ROWS_PUBLIC, run).mean,
    "gaussian": lambda run: pp.estimate_gaussian(ROWS_PUBLIC, run).covariance,
    "target gaussian": lambda run: pp.estimate_gaussian(ROWS_PUBLIC, run, target="gaussian").covariance,
    "quantiles": lambda run: pp.estimate_quantiles(ROWS_PUBLIC, run).quantiles,
    "mixture": lambda run: pp.estimate_mixture(ROWS_PUBLIC, run, n_components=2).covariances,
    "mixture, number unknown": lambda run: pp.estimate_mixture(ROWS_PUBLIC, run, max_components=2).covariances,
}


def bits(estimate, rows):
    return np.asarray(estimate(pp.Curator.simulation(rows, "zcdp:0.5", seed=3))).tobytes()


@pytest.fixture(scope="module", params=ESTIMATES)
def shuffled(request):
    """An estimator, and the bits of its estimate from shuffled rows."""
    return ESTIMATES[request.param], bits(ESTIMATES[request.param], SHUFFLED)


@pytest.mark.long
@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_the_rows_changes_no_bit(shuffled, order):
    estimate, expected = shuffled
    assert bits(estimate, ROWS[ORDERS[order]]) == expected


@pytest.mark.long
def test_other_rows_change_them(shuffled):
    """What is compared does depend on the rows."""
    estimate, expected = shuffled
    assert bits(estimate, SHUFFLED[: N // 2]) != expected


@pytest.mark.long
@pytest.mark.parametrize("order", ORDERS)
def test_nor_of_a_gaussian_whose_early_rounds_read_a_sample(order, monkeypatch):
    """As those of a long table do; the sample is smaller here, for its time."""
    monkeypatch.setattr(_plan, "_EARLY", 1 << 10)
    estimates = [
        pp.estimate_gaussian(ROWS_PUBLIC, pp.Curator.simulation(rows, "zcdp:9", seed=3))
        for rows in (SHUFFLED, ROWS[ORDERS[order]])
    ]
    assert "LiftedGram of a sample" in str([charge["question"] for charge in estimates[0].privacy["charges"]])
    assert estimates[0].covariance.tobytes() == estimates[1].covariance.tobytes()
