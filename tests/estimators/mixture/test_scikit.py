"""`PrivateGaussianMixture` behaves as scikit-learn's users expect, and is the plain estimate underneath."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks, get_tags

import pubpriv as pp
from pubpriv.errors import InvalidInput

BUDGET = pp.ZeroConcentratedDP(0.5)
COLUMNS = ["a", "log1p(b)"]


def tables():
    """(public DataFrame, private array in the model's columns, its labels): three far groups of (a, b)."""
    generator = np.random.default_rng(0)
    centers = np.array([[0.0, 1.0], [40.0, 3.0], [0.0, 6.0]])
    labels = np.r_[np.repeat(np.arange(3), 12), generator.integers(3, size=3000)]
    rows = centers[labels] + generator.normal(size=(len(labels), 2)) * [1.0, 0.1]
    return pd.DataFrame({"a": rows[:36, 0], "b": np.expm1(rows[:36, 1])}), rows[36:], labels[36:]


def simulation(private, budget=BUDGET):
    """A curator of the rows, which it takes in the table's own units."""
    return pp.Curator.simulation(np.c_[private[:, 0], np.expm1(private[:, 1])], budget, 1, columns=COLUMNS)


@pytest.fixture(scope="module")
def fitted():
    public, private, labels = tables()
    curator = simulation(private)
    return pp.PrivateGaussianMixture(n_components=3).fit(curator, public), private, labels


def test_settings_are_scikit_learns():
    """get_params, set_params and clone; nothing is checked before fit, and all is checked by it."""
    model = pp.PrivateGaussianMixture(n_components=2, covariance_type="diag", budget=BUDGET)
    assert model.get_params()["covariance_type"] == "diag"
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_components=-1, covariance_type="full") is model
    curator = simulation(tables()[1])
    with pytest.raises(InvalidInput, match="number of components"):
        model.fit(curator, tables()[1][:9])
    assert not curator.statement().charges
    assert repr(pp.PrivateGaussianMixture(n_components=2)) == "PrivateGaussianMixture(n_components=2)"


@pytest.mark.long
def test_fit_is_the_plain_estimate(fitted):
    """The same numbers as `estimate_mixture`, under scikit-learn's names; fit returns the estimator."""
    model, private, _ = fitted
    curator = simulation(private)
    plain = pp.estimate_mixture(tables()[0], curator, n_components=3)
    assert model.estimate_.mixture == plain.mixture
    assert np.allclose(model.weights_, plain.weights)
    assert np.array_equal(model.means_, plain.means)
    assert np.array_equal(model.covariances_, plain.covariances)
    for precision, root, covariance in zip(
        model.precisions_, model.precisions_cholesky_, plain.covariances, strict=True
    ):
        assert np.allclose(precision @ covariance, np.eye(2))
        assert np.allclose(root @ root.T, precision)
    assert (model.n_components_, model.n_features_in_, model.converged_) == (3, 2, plain.converged)
    assert model.feature_names_in_.tolist() == COLUMNS


@pytest.mark.long
def test_the_number_of_components_can_be_left_out():
    """Then the run finds it, and the fitted attributes have as many components."""
    model = pp.PrivateGaussianMixture(n_components=None, max_components=4, covariance_type="diag")
    model.fit(simulation(tables()[1], pp.ZeroConcentratedDP(5)), tables()[0])
    assert model.n_components_ == len(model.weights_) == len(model.means_) == 3
    assert model.n_components is None
    assert np.array_equal(model.covariances_, model.covariances_ * np.eye(2))


def test_rows_are_told_apart(fitted):
    """predict, predict_proba, score_samples and score agree with each other and with the truth."""
    model, private, labels = fitted
    found = model.predict(private)
    names = [np.bincount(found[labels == j]).argmax() for j in range(3)]
    assert sorted(names) == [0, 1, 2]
    assert (found == np.array(names)[labels]).mean() > 0.99
    shares = model.predict_proba(private)
    assert np.array_equal(shares.argmax(axis=1), found)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(model.score_samples(private), model.estimate_.log_density(private))
    assert model.score(private) == pytest.approx(model.score_samples(private).mean())


def test_tables_go_through_the_columns_expressions(fitted):
    """A DataFrame in the table's own units, in any order and with other columns, equals the array in the model's."""
    model, private, _ = fitted
    frame = pd.DataFrame({"b": np.expm1(private[:, 1]), "other": "x", "a": private[:, 0]})
    assert np.allclose(model.score_samples(frame), model.score_samples(private))
    frame.loc[3, "a"] = np.nan
    with pytest.raises(InvalidInput, match="1 rows have a missing"):
        model.predict(frame)


def test_samples_come_with_their_components(fitted):
    """The same seed draws the same rows; they are in the model's columns."""
    model, _, _ = fitted
    rows, labels = model.sample(500, seed=3)
    assert np.array_equal(rows, model.sample(500, seed=3)[0])
    assert rows.shape == (500, 2)
    assert (model.predict(rows) == labels).mean() > 0.99


def test_a_fitted_model_survives_pickling(fitted):
    """So it can be kept with joblib, as scikit-learn's are; a clone is unfitted."""
    model, private, _ = fitted
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(private), model.predict(private))
    with pytest.raises(NotFittedError):
        clone(model).predict(private)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
def test_nothing_is_told_before_fit(method):
    """NotFittedError, also from `sample`."""
    with pytest.raises(NotFittedError):
        getattr(pp.PrivateGaussianMixture(), method)(np.zeros((2, 2)))
    with pytest.raises(NotFittedError):
        pp.PrivateGaussianMixture().sample()


BAD_ROWS = {
    "one row without brackets": np.zeros(2),
    "too many columns": np.zeros((2, 3)),
    "NaN": np.full((2, 2), np.nan),
    "text": [["x", "y"]],
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_are_refused(fitted, case):
    """In words, whatever is wrong with them."""
    with pytest.raises(InvalidInput, match="rows"):
        fitted[0].predict(BAD_ROWS[case])


def test_an_array_in_the_place_of_the_curator_is_refused():
    """Private rows never come as an array: the message says what fit takes."""
    with pytest.raises(InvalidInput, match="curator"):
        pp.PrivateGaussianMixture().fit(tables()[1], tables()[0])


def test_a_cross_validation_says_why_it_cannot_be():
    """GridSearchCV and cross_validate fit to parts of an array: each would be a release, and none is made."""
    grid = GridSearchCV(pp.PrivateGaussianMixture(), {"n_components": [2, 3]}, cv=2, error_score="raise")
    for attempt in (lambda: grid.fit(tables()[1]), lambda: pp.PrivateGaussianMixture().fit_predict(tables()[1])):
        with pytest.raises(InvalidInput, match="each part would be a release to pay for"):
            attempt()
    with pytest.raises(InvalidInput, match="takes public rows, too"):
        pp.PrivateGaussianMixture().fit(simulation(tables()[1]))


@pytest.mark.long
def test_criteria_are_scikit_learns(fitted):
    """bic and aic of rows are those of the same model in scikit-learn, for each covariance type that was fitted."""
    model, private, _ = fitted
    plain = model.estimate_.to_sklearn()
    assert model.bic(private) == pytest.approx(plain.bic(private))
    assert model.aic(private) == pytest.approx(plain.aic(private))
    free = {"full": 3 * 3 + 6 + 2, "diag": 3 * 2 + 6 + 2, "spherical": 3 + 6 + 2}
    for kind, count in free.items():
        other = clone(model).set_params(covariance_type=kind).fit(simulation(private), tables()[0])
        assert (other.aic(private) / 2 + other.score(private) * len(private)) == pytest.approx(count)


def test_public_rows_are_told_apart_and_become_features(fitted):
    """fit_predict labels the public rows; transform gives named shares, as a frame where that is asked for."""
    model, private, _ = fitted
    public = tables()[0]
    assert np.array_equal(clone(model).fit_predict(simulation(private), public), model.predict(public))
    shares = clone(model).set_output(transform="pandas").fit_transform(simulation(private), public)
    assert shares.columns.tolist() == [f"privategaussianmixture{j}" for j in range(3)]
    assert np.allclose(shares, model.predict_proba(public))
    assert get_tags(model).estimator_type == "density_estimator"


def test_it_becomes_a_scikit_learn_model_with_the_names_of_its_columns(fitted):
    """Whoever has a table under those names gets no warning, and the same labels."""
    model, private, _ = fitted
    plain = model.to_sklearn()
    assert plain.feature_names_in_.tolist() == COLUMNS
    assert np.array_equal(plain.predict(pd.DataFrame(private, columns=COLUMNS)), model.predict(private))


CHECKS = [
    *(estimator_checks.check_estimator_cloneable, estimator_checks.check_estimator_tags_renamed),
    *(estimator_checks.check_valid_tag_types, estimator_checks.check_estimator_repr),
    *(estimator_checks.check_no_attributes_set_in_init, estimator_checks.check_get_params_invariance),
    *(estimator_checks.check_set_params, estimator_checks.check_mixin_order),
    *(estimator_checks.check_do_not_raise_errors_in_init_or_set_params,),
]
"""Those that fit nothing: the others fit to arrays."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_scikit_learns_own_checks_hold(check):
    """Of parameters, tags and mixins."""
    check("PrivateGaussianMixture", pp.PrivateGaussianMixture())


def test_importing_the_package_loads_no_scikit_learn():
    """`import pubpriv` stays quick, though one of its names is made of scikit-learn's classes."""
    assert pp.PrivateGaussianMixture.__mro__[1].__module__ == "sklearn.base"
    code = "import sys, pubpriv; assert 'sklearn' not in sys.modules; print('ok')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ok\n"
