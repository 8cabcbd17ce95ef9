"""How often a fit passes over its rows, and writes to its ledger: held numbers, since neither depends on the clock."""

from collections import Counter

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.fits import real_fit, registered, write_rows
from benchmarks.looks import counted
from benchmarks.opendp_moments import moments
from pubpriv.privacy.ledger._database import Database


@pytest.fixture(scope="module")
def fits():
    return counted()


@pytest.mark.long
def test_fits_pass_over_their_rows_no_more_often_than_they_did(fits):
    """Questions and passes of simulated fits with seeds; a number that falls is a success, and is written here."""
    assert fits == {
        "mean, covariance known": (4, 2),
        "mean, covariance unknown": (11, 7),
        "gaussian": (11, 7),
        "gaussian, long table": (11, 4),
        "gaussian, target gaussian": (9, 7),
        "mixture, two apart": (10, 6),
        "mixture, two that overlap": (16, 6),
        "mixture, unknown number": (15, 9),
        "mixture, ladder of models": (35, 14),
    }


def test_a_question_writes_to_the_ledger_twice(tmp_path, monkeypatch):
    """Its charge and its answer, with all notes between them; and a run is opened, begun and closed."""
    rows, made = np.random.default_rng(0).standard_normal((2_000, 3)), Counter()
    names = write_rows(rows, tmp_path / "rows.parquet")
    url, right = registered(tmp_path / "rows.parquet", names), Database.transaction

    def transaction(database, write=True):
        made[write] += 1
        return right(database, write)

    monkeypatch.setattr(Database, "transaction", transaction)
    charges = []

    def fit(curator):
        charges.extend(pp.estimate_gaussian(rows[:60], curator).privacy["charges"])

    real_fit(url, tmp_path / "rows.parquet", names, pp.ZeroConcentratedDP(0.5), fit)
    assert len(charges) >= 9
    assert made[True] == 2 * len(charges) + 4
    assert made[False] <= 30


def test_opendp_beside_a_fit_does_what_it_is_timed_for():
    """Means and variances of each column, with noise that leaves two digits."""
    rows = np.random.default_rng(0).standard_normal((50_000, 2)) * [1.0, 2.0] + [0.0, 1.0]
    found = np.array(moments([*rows.T], 1.0))
    assert np.abs(found[:, 0] - rows.mean(axis=0)).max() < 0.02
    assert np.abs(found[:, 1] / rows.var(axis=0) - 1).max() < 0.2
