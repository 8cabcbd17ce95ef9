"""Regressions of a release: what they are, when they are refused or doubtful, and how they are shown."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.regressions import COLUMNS, COVARIANCE, MEAN, SLOPES, SPREAD, N, covariance_of, noise_law, release
from helpers.releases import UNSETTLED, gaussian_release, mean_release, mixture_release, of_old

from pubpriv.errors import InvalidInput
from pubpriv.released.findings import DOUBTFUL, Finding
from pubpriv.released.groups import Group, Groups
from pubpriv.released.numbers import State


def test_it_is_least_squares_of_the_released_moments():
    """Slopes, intercept, scatter and R^2 are those from which the covariance was made."""
    found = release(sd=0.0).regress("y", on=["a", "b", "c"])
    assert found.coef == pytest.approx(SLOPES)
    assert found.intercept.value == pytest.approx(MEAN[3] - SLOPES @ MEAN[:3])
    few = N / (N - 4)
    assert found.residual_sd.value == pytest.approx(2.0 * np.sqrt(few))
    assert found.r2.value == pytest.approx(1 - 4.0 * few / COVARIANCE[3, 3])
    assert found.predict([[1.0, 2.0, 3.0]])["value"][0] == pytest.approx(found.intercept.value + SLOPES @ [1, 2, 3])


def test_without_privacy_errors_are_those_of_a_textbook():
    """sigma^2 (X'X)^-1 for even scatter, the intercept among them, with n - k degrees of freedom."""
    found = release(sd=0.0).regress("y")
    design = np.block([[np.ones((1, 1)), MEAN[None, :3]], [MEAN[:3, None], SPREAD + np.outer(MEAN[:3], MEAN[:3])]])
    expected = 4.0 * np.linalg.inv(design) / (N - 4)
    assert found.cov("sampling") == pytest.approx(expected, rel=1e-6)
    assert found.cov() == pytest.approx(expected, rel=1e-6)
    assert found["b"].freedom == pytest.approx(N - 4)


def test_components_that_are_alike_are_not_told_apart():
    """Loadings of two directions of the same variance are any mixture of both."""
    found = release(np.diag([1.0, 1.0, 5.0, 1.0])).principal_components(COLUMNS[:3], standardised=False)
    assert found.apart == (True, False, False)
    assert {figure.state for figure in found.loadings[1]} == {State.DOUBTFUL}
    assert {figure.state for figure in found.loadings[0]} == {State.GOOD}


def test_loud_noise_is_refused_and_quiet_noise_in_fewer_columns_is_not():
    """From an edge of .45 on there is no regression: sd sqrt(2k) for k columns."""
    estimate = release(sd=0.17)
    with pytest.raises(
        InvalidInput, match=r"noise is too large for a regression on 3 of the columns.*Nothing was spent"
    ):
        estimate.regress("y")
    found = estimate.regress("y", on=["a"])
    assert found.edge == pytest.approx(0.17 * 2, rel=1e-6)


def test_a_file_without_the_law_of_the_noise_gives_the_same_errors():
    """They are read back from those of single numbers, which a noise that is white where the rows are makes exact."""
    new, old = release().regress("y"), replace(release(), noise=None).regress("y")
    assert old.cov() == pytest.approx(new.cov(), rel=1e-9)
    assert any("law of the noise is not in the file" in note for note in old.notes)
    oldest = of_old(release()).regress("y")
    assert oldest["a"].state is None
    assert oldest["a"].error == pytest.approx(new["a"].error)


def test_what_may_lie_beyond_moves_coefficients():
    """An unmeasured second moment along one regressor is an error of its coefficient, and of no other's residual."""
    lost = np.zeros((4, 4))
    lost[0, 0] = lost[3, 3] = 0.05
    found = replace(release(np.diag([1.0, 1.0, 1.0, 1.0])), noise=noise_law(np.eye(4), 0.01, lost)).regress("y")
    assert found["a"].clipping == pytest.approx(0.05 / np.sqrt(2), rel=1e-6)
    assert found["b"].clipping == 0
    assert found["a"].error > found["b"].error


@pytest.mark.parametrize(
    ("finding", "doubtful"),
    [
        (Finding("boundless", ("c",), DOUBTFUL, "rows lie where nothing is measured"), True),
        (Finding("boundless", ("c",), DOUBTFUL, "rows lie where nothing is measured", quantities=("mean",)), False),
        (UNSETTLED, True),
    ],
)
def test_a_regression_is_as_doubtful_as_its_covariances(finding, doubtful):
    """And one on other columns is not."""
    estimate = release(findings=(finding,))
    found = estimate.regress("y")
    assert {figure.state for figure in found.coefficients} == {State.DOUBTFUL if doubtful else State.GOOD}
    assert bool(found.reasons) is doubtful
    others = estimate.regress("y", on=["a", "b"])
    assert (others["a"].state == State.DOUBTFUL) is (not finding.columns)


def test_a_group_that_may_be_off_by_as_much_as_its_covariance_is_doubtful():
    """First-order errors are not enough there."""
    whole = release()
    parts = {"mean": MEAN, "covariance": covariance_of(SPREAD, -SLOPES)}
    for share, state in ((0.01, State.GOOD), (0.5, State.DOUBTFUL)):
        errors = {name: {**of, "shrinkage": share * np.abs(parts[name])} for name, of in whole.standard_errors.items()}
        group = Group("north", (2_000.0, 5.0), parts, errors, {"mean": 1.0, "covariance": 1.0})
        found = replace(whole, groups=Groups("region", (group,))).regress("y", group="north")
        assert (found["a"].state == State.DOUBTFUL) is (state == State.DOUBTFUL)
        assert bool(found.reasons) is (state == State.DOUBTFUL)


def test_what_lies_beyond_moves_a_coefficient_by_no_more_than_stated():
    """However large it is: over draws of what may be missing, up to a matrix as large as the covariance itself."""
    generator = np.random.default_rng(9)
    lost = 0.8 * covariance_of(SPREAD, np.array([0.0, 3.0, 1.0]))
    found = replace(release(), noise=noise_law(COVARIANCE, 0.01, lost)).regress("y")
    root = np.linalg.cholesky(lost)
    for _ in range(200):
        turn = np.linalg.qr(generator.standard_normal((4, 4)))[0]
        missing = root @ (turn * generator.choice([0.0, 1.0], 4)) @ turn.T @ root.T
        whole = COVARIANCE + missing
        moved = np.linalg.solve(whole[:3, :3], whole[:3, 3]) - SLOPES
        stated = np.sqrt(2) * np.array([figure.clipping for figure in found.coefficients[1:]])
        assert (np.abs(moved) <= stated * (1 + 1e-9)).all()


def test_a_component_and_a_group_have_regressions_of_their_own():
    """With the rows of each, and their own slopes."""
    estimate = mixture_release(("a", "y"), means=[[0.0, 0.0], [5.0, 5.0]])
    assert estimate.regress("y", component=2).n == pytest.approx(20_000 / 3)
    assert estimate.regress("y", component=2).coef == pytest.approx([0.0])
    assert estimate.regress("y").coef[0] > 0.8
    whole = release()
    parts = {"mean": MEAN, "covariance": covariance_of(SPREAD, -SLOPES)}
    group = Group("north", (2_000.0, 5.0), parts, dict(whole.standard_errors), {"mean": 1.0, "covariance": 1.0})
    grouped = replace(whole, groups=Groups("region", (group,)))
    found = grouped.regress("y", group="north")
    assert found.coef == pytest.approx(-SLOPES)
    assert found.n == 2_000
    assert "group north" in found.title
    with pytest.raises(InvalidInput, match="no group 'south'"):
        grouped.regress("y", group="south")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: release().regress("z"), "no column 'z'"),
        (lambda: release().regress("y", on=["a", "y"]), "y is the outcome"),
        (lambda: release().regress("y", on=["a", "a"]), "each of them once"),
        (lambda: release().regress("y", on=[]), "at least one column"),
        (lambda: release().regress("y", component=1), "no components"),
        (lambda: release().regress("y", group="north"), "no groups"),
        (lambda: gaussian_release(COLUMNS, MEAN, covariance_of(np.ones((3, 3)))).regress("y"), "singular"),
        (lambda: mixture_release().regress("cost", component=9), "no component 9"),
        (lambda: release().regress("y").contrast("a - z"), "no coefficient 'z'"),
        (lambda: release().regress("y").contrast("a b"), "no sum of coefficients"),
        (lambda: release().regress("y").contrast("a - a"), "no weights"),
        (lambda: release().regress("y").predict([[1.0]]), r"\(m, 3\)"),
        (lambda: release().regress("y").cov("luck"), "sources of errors"),
        (lambda: release().regress("y")["a"].interval(1.5), "between 0 and 1"),
        (lambda: release().principal_components(["a"]), "at least two columns"),
        (lambda: release().principal_components(["a", "z"]), "no column 'z'"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()


def test_a_mean_has_no_regression():
    assert not hasattr(mean_release(), "regress")


def test_a_contrast_has_the_error_of_correlated_coefficients():
    """As text and as weights, with signs, factors and quoted names."""
    found = release().regress("y")
    row = np.array([0.0, 1.0, -0.5, 0.0])
    for contrast in ("a - 0.5 b", "a-0.5*b", {"a": 1, "b": -0.5}, "`a` - 0.5 `b`"):
        figure = found.contrast(contrast)
        assert figure.value == pytest.approx(SLOPES[0] - 0.5 * SLOPES[1])
        assert figure.error == pytest.approx(np.sqrt(row @ found.cov() @ row))


def test_intervals_stay_where_numbers_can_be():
    """Of a standard deviation above zero, of a correlation below one; wider at a higher level."""
    found = release(sd=0.1).regress("y")
    assert found.residual_sd.interval(0.999999)[0] > 0
    assert release(covariance_of(SPREAD, SLOPES / 1e3), sd=0.1).regress("y").r2.interval()[0] == 0
    assert -1 < found.partial_correlations[1].interval(0.999999)[0] < 0
    (low, high), (lower, higher) = found["a"].interval(0.9), found["a"].interval(0.99)
    assert lower < low < high < higher


def test_tables_for_readers(tmp_path):
    """Text, LaTeX with names escaped, CSV and JSON say the same numbers."""
    found = release(columns=("a_1", "b", "c", "y"), findings=(UNSETTLED,)).regress("y")
    told, latex = found.summary(), found.to_latex()
    for part in ("a_1", "95% interval", "n 20,000", "0.5-zCDP", "doubtful: the rounds did not converge"):
        assert part in told
    for part in (r"a\_1", r"\toprule", r"$^{\dagger}$", "$n$ & 20000"):
        assert part in latex
    assert found.to_csv().splitlines()[0] == "name,value,error,sampling,privacy,clipping,shrinkage,low,high,state"
    data = found.to_json(0.9)
    assert data["coefficients"][1]["value"] == pytest.approx(1.0)
    assert data["coefficients"][1]["low"] == pytest.approx(found["a_1"].interval(0.9)[0])
    assert "DOUBTFUL" in repr(found)


def test_notes_say_what_limits_a_regression():
    """Loud noise, regressors that are almost sums of others, public rows in the release; else only the scatter."""
    assert len(release().regress("y").notes) == 1
    assert "of the covariance in some direction" in release(sd=0.1).regress("y").notes[-1]
    alike = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + 4e-9, 0.0], [0.0, 0.0, 1.0]])
    assert "condition 1e+09" in release(covariance_of(alike)).regress("y").notes[-1]
    pooled = release()
    pooled = replace(pooled, noise=replace(pooled.noise, pooled=(0.02, 0.03)))
    assert "public rows have a weight of 3.0%" in pooled.regress("y").notes[-1]


def test_long_tails_widen_slopes_only_if_all_columns_have_them():
    """One column alone makes its variance, and the scatter, uncertain; a scale of whole rows widens every slope."""
    plain = release()
    errors = {
        name: {source: np.array(of) for source, of in part.items()} for name, part in plain.standard_errors.items()
    }
    one, all_ = np.ones((4, 4)), np.full((4, 4), 2.0)
    one[0], one[:, 0] = 5.0, 5.0

    def widened(times):
        covariance = errors["covariance"] | {"sampling": errors["covariance"]["sampling"] * times}
        return replace(plain, standard_errors=errors | {"covariance": covariance}).regress("y")

    usual, long, wide = plain.regress("y"), widened(one), widened(all_)
    for j in (1, 2, 3):
        assert long.coefficients[j].sampling == pytest.approx(usual.coefficients[j].sampling)
        assert wide.coefficients[j].sampling == pytest.approx(2 * usual.coefficients[j].sampling)
    assert long.residual_sd.sampling > 1.5 * usual.residual_sd.sampling
    assert wide.residual_sd.sampling == pytest.approx(2 * usual.residual_sd.sampling)
