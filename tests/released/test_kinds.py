"""Model files of every kind: what is written is read, and nothing else is taken for a model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.releases import gaussian_release, mean_release, mixture_release, quantiles_release, regression_release

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.released.groups import Group, Groups
from pubpriv.released.kinds import KINDS, GaussianEstimate, MeanEstimate, MixtureEstimate
from pubpriv.released.law import Mixture
from pubpriv.released.report.words import headline

SHARED = {
    "columns": ("a", "log1p(b)"),
    "method": "test",
    "converged": True,
    "standard_errors": {"mean": {"sampling": [0.1, 0.2], "privacy": np.array([0.3, 0.4])}},
    "privacy": {"kind": "zcdp", "charges": [{"label": "mean/step-1", "noise_scale": (3,)}]},
    "provenance": {"dataset": None, "n_private": 5},
    "diagnostics": {"warnings": []},
}
COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]
MODELS = {
    "mean": MeanEstimate(center=(1.0, -2.5), **SHARED),
    "gaussian": GaussianEstimate(gaussian=Mixture.of([1.0], [[1.0, -2.5]], [COVARIANCE]), **SHARED),
    "gaussian-mixture": MixtureEstimate(
        mixture=Mixture.of([0.7, 0.3], [[0.0, 0.0], [5.0, 5.0]], [COVARIANCE, np.eye(2)]), **SHARED
    ),
    "quantiles": quantiles_release(SHARED["columns"], zeros=0.3),
    "regression": regression_release(),
}
ROWS = np.random.default_rng(0).normal(size=(50, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_file_reads_back_as_it_was(kind, tmp_path):
    """Kind, numbers and everything beside them."""
    model = MODELS[kind]
    model.save(tmp_path / "model.json")
    again = pp.load(tmp_path / "model.json")
    assert type(again) is type(model)
    assert again.to_json() == model.to_json()
    assert json.loads((tmp_path / "model.json").read_text())["kind"] == kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_its_numbers_is_damaged(kind, tmp_path):
    """Each kind misses its own numbers; a newer format and an unknown kind are told apart from that."""
    data = MODELS[kind].to_json()
    file = tmp_path / "model.json"
    for name in MODELS[kind].parts():
        file.write_text(json.dumps({key: value for key, value in data.items() if key != name}))
        with pytest.raises(InvalidInput, match="damaged"):
            pp.load(file)
    for changed in ({"format": 99}, {"kind": "median"}):
        file.write_text(json.dumps(data | changed))
        with pytest.raises(InvalidInput, match="upgrade"):
            pp.load(file)


@pytest.mark.parametrize(
    ("target", "words"), [("gaussian", "that the rows are drawn from"), ("moments", "table itself")]
)
def test_a_file_tells_what_was_estimated(target, words, tmp_path):
    """As a field and in words; files of older versions have it among their diagnostics."""
    model = replace(gaussian_release(), target=target)
    model.save(tmp_path / "model.json")
    told = json.loads((tmp_path / "model.json").read_text())
    assert told["target"] == target
    assert words in told["estimand"] == model.estimand
    older = {name: value for name, value in told.items() if name not in ("target", "estimand")}
    older["diagnostics"]["target"] = target
    (tmp_path / "older.json").write_text(json.dumps(older))
    assert pp.load(tmp_path / "older.json").target == target
    assert pp.load(tmp_path / "model.json").target == target


@pytest.mark.parametrize("target", ["mode", ["moments"], 3])
def test_a_target_that_is_none_is_damage(target):
    """Means and Gaussians have two, a mixture none: nothing else could be meant."""
    for model in (gaussian_release(), mean_release(), mixture_release()):
        with pytest.raises(InvalidInput, match="its target should be"):
            type(model).from_json(model.to_json() | {"target": target}).check_whole()
    gaussian_release(target="moments").check_whole()
    mean_release(target="gaussian").check_whole()
    with pytest.raises(InvalidInput, match="its target should be none"):
        mixture_release(target="moments").check_whole()
    assert gaussian_release().estimand == "mean and covariance"


def test_a_gaussian_agrees_with_scipy_and_scikit_learn():
    """Log densities by three libraries, and moments of its samples."""
    model = MODELS["gaussian"]
    ours = model.log_density(ROWS)
    assert ours == pytest.approx(model.to_scipy().logpdf(ROWS))
    assert ours == pytest.approx(model.to_sklearn().score_samples(ROWS))
    drawn = model.sample(40_000, seed=1)
    assert drawn.mean(axis=0) == pytest.approx(model.mean, abs=0.05)
    assert np.cov(drawn.T) == pytest.approx(model.covariance, abs=0.06)


def test_densities_have_the_background_and_components_have_not(tmp_path):
    """Where odd rows were seen: a Gaussian of their share, five times as wide as all; older files have none."""
    alone = MODELS["gaussian-mixture"]
    model = replace(alone, background=0.02)
    wide = Mixture.of([1.0], [alone.mixture.moments[0]], [25 * alone.mixture.moments[2]])
    by_hand = np.logaddexp(np.log(0.98) + alone.log_density(ROWS), np.log(0.02) + wide.log_density(ROWS))
    assert model.log_density(ROWS) == pytest.approx(by_hand)
    assert model.log_density([[1e3, 0.0]]) > alone.log_density([[1e3, 0.0]]) + 1e4
    with_it, without = model.to_sklearn(background=True), model.to_sklearn()
    assert with_it.score_samples(ROWS) == pytest.approx(by_hand)
    assert with_it.predict([[0.0, 0.0], [1e3, 0.0]]).tolist() == [0, 2]
    assert without.score_samples(ROWS) == pytest.approx(alone.log_density(ROWS))
    assert alone.to_sklearn(background=True).means_.shape == without.means_.shape == (2, 2)
    assert model.sample(100, seed=1).tobytes() == alone.sample(100, seed=1).tobytes()
    model.save(tmp_path / "model.json")
    assert pp.load(tmp_path / "model.json").to_json() == model.to_json()
    alone.save(tmp_path / "older.json")
    assert pp.load(tmp_path / "older.json").background == 0.0


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_background_that_is_no_share_is_damage(share):
    """Of all rows or less than none."""
    with pytest.raises(InvalidInput, match="background should be a share"):
        replace(mixture_release(), background=share).check_whole()
    replace(mixture_release(), background=0.01).check_whole()


def test_a_mean_estimate_is_saved_with_its_statement(tmp_path):
    """From estimate to file and back: mean, errors, charges, provenance."""
    generator = np.random.default_rng(1)
    curator = pp.Curator.simulation(generator.normal(size=(500, 2)), pp.ZeroConcentratedDP(0.5), 1, ["a", "b"])
    estimate = pp.estimate_mean(generator.normal(size=(1, 2)), curator)
    with pytest.raises(InvalidInput, match="is a folder"):
        estimate.save(tmp_path)
    estimate.save(tmp_path / "mean.json")
    again = pp.load(tmp_path / "mean.json")
    assert again.mean.tobytes() == estimate.mean.tobytes()
    assert again.columns == ("a", "b")
    assert again.method == "two-step (simulation: not private)"
    charges = [line["label"] for line in again.privacy["charges"]]
    assert charges == ["mean/count", "mean/step-1", "mean/lengths", "mean/step-2"]
    assert again.provenance["n_private"] == 500
    assert again.standard_errors == estimate.standard_errors


def test_a_kind_that_nobody_knew_has_a_headline_of_its_own():
    """Pages and consoles name what was released by what its class says."""

    class MedianEstimate(MeanEstimate):
        kind = "median"

    assert headline(MedianEstimate(center=(1.0, -2.5), **SHARED)) == "The median of 2 columns of a simulation"
    assert [model.subject for model in MODELS.values()] == [
        "the mean of 2 columns",
        "the mean and covariance of 2 columns",
        "a mixture of 2 Gaussian components over 2 columns",
        "3 quantiles of 2 columns",
        "a regression of y on 2 columns",
    ]


def test_groups_of_an_older_file_are_whole():
    """They do not say what sampling alone would leave of a group's numbers."""
    estimate = gaussian_release()
    errors = {
        part: {source: np.asarray(values) for source, values in of.items()}
        for part, of in estimate.standard_errors.items()
    }
    group = Group("north", (900.0, 4.0), estimate.parts(), errors, {"mean": 1.0, "covariance": 1.0})
    replace(estimate, groups=Groups("region", (group,))).check_whole()
