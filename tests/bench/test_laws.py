"""The moments that laws state are those of their rows."""

import numpy as np
import pytest

from benchmarks.laws import LAWS, Sample, chosen_laws
from pubpriv.errors import InvalidInput

_D, _ROWS, _GROUPS = 4, 200_000, 50
HEAVY = ("t3",)
"""Without a fourth moment the covariance of rows is too unsteady for a test."""


def _groups(law):
    """Means and covariances of independent parts of a large sample."""
    rows = law.draw(_ROWS, _D, np.random.default_rng(7)).reshape(_GROUPS, -1, _D) - law.mean(_D)
    return rows.mean(axis=1), np.einsum("gni,gnj->gij", rows, rows) / rows.shape[1]


@pytest.mark.parametrize("name", LAWS)
def test_moments_are_those_of_rows(name):
    """Means and covariances of fifty parts of a sample lie about the stated ones, within seven standard errors."""
    law = LAWS[name]
    means, covariances = _groups(law)
    errors = means.std(axis=0) / np.sqrt(_GROUPS)
    assert (np.abs(means.mean(axis=0)) < 7 * errors).all()
    if name not in HEAVY:
        errors = covariances.std(axis=0) / np.sqrt(_GROUPS)
        assert (np.abs(covariances.mean(axis=0) - law.covariance(_D)) < 7 * errors).all()


def test_a_wrong_moment_would_be_seen():
    """A tenth of a variance is more than the test above lets pass."""
    _, covariances = _groups(LAWS["gamma"])
    errors = covariances.std(axis=0) / np.sqrt(_GROUPS)
    assert (np.abs(covariances.mean(axis=0) - 1.1 * LAWS["gamma"].covariance(_D)) > 7 * errors).any()


@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law.bulk])
def test_odd_rows_are_told(name):
    """Without its odd rows such a law is its bulk."""
    law = LAWS[name]
    drawn: Sample = law.sample(20_000, _D, np.random.default_rng(8))
    assert 0.005 < drawn.odd.mean() < 0.06
    bulk = drawn.rows[~drawn.odd]
    assert np.abs(np.cov(bulk.T) - law.bulk.covariance(_D)).max() < 0.07
    assert np.abs(np.cov(drawn.rows.T) - law.bulk.covariance(_D)).max() > 0.5


def test_laws_are_chosen_by_name():
    """In the order that was asked for; all by default; others are refused."""
    assert [law.name for law in chosen_laws("t5, gaussian")] == ["t5", "gaussian"]
    assert len(chosen_laws(None)) == len(LAWS) == 26
    with pytest.raises(InvalidInput, match="joint-t5"):
        chosen_laws("t5,cauchy")
