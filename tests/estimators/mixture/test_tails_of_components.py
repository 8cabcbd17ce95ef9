"""Components with longer tails than Gaussian ones: what is clipped and cut off of them is made up for."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators.mixture._outside import Tails

N = 12_000
PLACES = np.array([[0.0, 0.0], [30.0, 0.0]])


def fitted(rows, seed):
    """A mixture of rows about `PLACES`, whose public ones are the first."""
    places = np.pad(PLACES, ((0, 0), (0, rows.shape[1] - 2)))
    placed = rows + places[np.arange(len(rows)) % 2]
    curator = pp.Curator.simulation(placed[60:], pp.parse_budget("zcdp:0.5"), seed=seed)
    return pp.estimate_mixture(placed[:60], curator, n_components=2)


def variances(found):
    """Variances, and their standard errors."""
    errors = found.standard_errors["covariances"]
    own = np.sqrt(sum(np.einsum("kii->ki", np.array(part)) ** 2 for part in errors.values()))
    return np.einsum("kii->ki", found.covariances), own


def test_long_tails_are_counted_in():
    """Of t with 5 degrees of freedom, variance 5/3, a tenth was lost; rows far out are not taken for odd ones."""
    rows = np.random.default_rng(11).standard_t(5, (N, 2))
    found = fitted(rows, 5)
    own, errors = variances(found)
    assert own.mean() == pytest.approx(5 / 3, rel=0.05)
    assert (np.abs(own - 5 / 3) < 3 * errors).all()
    assert errors.max() < 0.25
    tails = found.diagnostics["tails"]
    assert np.min(tails["factors"]) > 1.02
    assert tails["gaussian"] < 0.01
    assert tails["odd"] < 0.5
    assert "outside" not in found.diagnostics
    assert "without those that lie far" not in found.estimand
    assert any("longer tails than Gaussian" in warning for warning in found.diagnostics["warnings"])


@pytest.mark.long
def test_wide_odd_rows_are_no_tail():
    """Between rows of components and others eight times as wide hardly any lie: these are left out."""
    generator = np.random.default_rng(12)
    rows = generator.standard_normal((N, 2))
    rows[60::50] *= 8.0
    found = fitted(rows, 6)
    assert found.diagnostics["outside"]["seen"]
    assert found.diagnostics["tails"]["odd"] > 0.9
    assert variances(found)[0] == pytest.approx(1.0, abs=0.12)
    assert not any("longer tails" in warning for warning in found.diagnostics["warnings"])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_gaussian_rows_keep_their_covariances(seed):
    """What noise makes of counts changes a covariance by less than a sixth of its error, if at all."""
    found = fitted(np.random.default_rng(20 + seed).standard_normal((N, 2)), seed)
    tails = found.diagnostics.get("tails")
    if tails is not None:
        assert np.array(tails["factors"]) == pytest.approx(1.0, abs=0.005)
    assert found.converged
    assert variances(found)[0] == pytest.approx(1.0, abs=0.12)


@pytest.mark.parametrize(
    ("factor", "gaussian", "said"), [(1.05, 0.01, "is counted in"), (1.0, 0.01, "or odd rows lie"), (1.05, 0.2, None)]
)
def test_a_warning_says_what_became_of_long_tails(factor, gaussian, said):
    """They are counted in, or not where they may be odd rows; where they may be none, nothing is said."""
    each = ((0.02, 0.02),)
    warnings = Tails(((1.0, factor),), ((0.0, 0.0),), each, each, gaussian, 0.3, (0.0, 0.0)).warnings(("a", "b"))
    assert [said in text for text in warnings] == ([] if said is None else [True])


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 3])
def test_a_tail_of_one_column_is_counted_in_there(seed):
    """Laws of tails that are alike in all columns left its variance a sixth too small; means of others stay."""
    generator = np.random.default_rng(30 + seed)
    rows = generator.standard_normal((5_000, 5))
    rows[:, 4] = generator.exponential(size=5_000) - 1
    found = fitted(rows, seed)
    own, errors = variances(found)
    assert (np.abs(own[:, 4] - 1) < 1.96 * errors[:, 4]).all()
    assert own[:, 4].mean() == pytest.approx(1.0, abs=0.1)
    tails = found.diagnostics["tails"]
    assert tails["alone"][4] > 0.7
    assert max(tails["alone"][:4]) < 0.1
    assert any(f"alone: {found.columns[4]}" in warning for warning in found.diagnostics["warnings"])
