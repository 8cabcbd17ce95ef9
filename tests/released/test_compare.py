"""Drift between releases: chance is not called a change, and a change is not called chance."""

import json
from math import inf

import numpy as np
import pytest
from helpers.releases import gaussian_release, mean_release, mixture_release, simulated

from pubpriv.errors import InvalidInput
from pubpriv.released.compare import _CHANGED, _NOISE, _SAMPLING, _match, compare
from pubpriv.released.findings import DOUBTFUL, Finding


def redrawn(make, columns, error, generator):
    """A release of one law, its means and weights off by errors of the told size."""
    truth = make(columns, error=error)
    told = truth.to_json()
    for name, values in told["standard_errors"].items():
        off = np.hypot(np.asarray(values["sampling"]), np.asarray(values["privacy"]))
        off = off * generator.standard_normal(off.shape)
        if name.startswith("covariance"):
            off = (
                (np.tril(off) + np.swapaxes(np.tril(off, -1), -1, -2))
                if off.ndim == 3
                else np.tril(off) + np.tril(off, -1).T
            )
        told["weights" if name == "weights" else name] = (np.asarray(told[name]) + off).tolist()
    told["provenance"]["release_id"] = f"r{generator.integers(1 << 40)}"
    return type(truth).from_json(told)


@pytest.mark.long
@pytest.mark.parametrize("make", [mean_release, gaussian_release, mixture_release], ids=["mean", "gaussian", "mixture"])
def test_chance_is_no_change(make):
    """Of 200 comparisons of one law with itself about one in twenty, or fewer, finds any change."""
    generator = np.random.default_rng(5)
    columns = ("a", "b", "c")
    found = [
        compare(redrawn(make, columns, 0.02, generator), redrawn(make, columns, 0.02, generator)).changed > 0
        for _ in range(200)
    ]
    # Bonferroni over N independent numbers: 1 - (1 - 0.05 / N)^N = 4.9%; 22 of 200 is 4 sd above
    assert 1 <= sum(found) <= 22


def test_verdicts_say_what_explains_a_difference():
    """Beyond sampling and noise, within both, within noise alone; in the units that are told."""
    first = mean_release(("a", "b", "c"), center=[0.0, 0.0, 0.0], release_id="r1")
    second = mean_release(("a", "b", "c"), center=[2.0, 0.28, 0.01], release_id="r2")
    drift = compare(first, second)
    assert [told.verdict for told in drift.differences] == [_CHANGED, _SAMPLING, _NOISE]
    worst = drift.differences[0]
    # both have an error of 0.1, of which 0.06 is privacy noise
    assert worst.noise == pytest.approx(0.06 * 2**0.5)
    assert worst.error == pytest.approx(0.1 * 2**0.5)
    assert worst.errors == pytest.approx(2.0 / (0.1 * 2**0.5))
    assert drift.threshold == pytest.approx(2.3940, abs=1e-4)  # of 3 numbers at 5%, both sides
    assert drift.to_json()["changed"] == 1
    json.dumps(drift.to_json(), allow_nan=False)


def test_components_are_matched_wherever_they_stand():
    """The order of components is no difference, and distances are in standard deviations."""
    first = mixture_release(release_id="r1")
    means = np.array(first.means)[[2, 0, 1]] + 0.001
    second = mixture_release(means=means, weights=np.array(first.weights)[[2, 0, 1]], release_id="r2")
    assert [(pair.first, pair.second) for pair in _match(first, second, first.columns)] == [(1, 2), (2, 3), (3, 1)]
    assert _match(first, second, first.columns)[0].distance == pytest.approx(0.001 * 2**0.5)
    assert compare(first, second).changed == 0


def test_the_assignment_is_the_best_of_all():
    """Against every permutation, on random mixtures."""
    from itertools import permutations

    generator = np.random.default_rng(8)
    for _ in range(20):
        one, other = (mixture_release(("a", "b"), means=generator.standard_normal((4, 2)) * 3) for _ in range(2))
        cost = ((np.array(one.means)[:, None] - np.array(other.means)[None]) ** 2).sum(axis=2)
        best = min(sum(cost[i, j] for i, j in enumerate(order)) for order in permutations(range(4)))
        assert sum(pair.distance**2 for pair in _match(one, other, one.columns)) == pytest.approx(best)


def test_a_component_more_or_less_is_told():
    """What has no counterpart is named on either side, and a note says that the others move too."""
    three, two = mixture_release(release_id="r1"), mixture_release(means=[[0.0, 0.0], [6.0, 6.0]], release_id="r2")
    gone, came = compare(three, two), compare(two, three)
    assert (gone.only_first, gone.only_second) == ((3,), ())
    assert (came.only_first, came.only_second) == ((), (3,))
    assert any("3 components and the second 2" in note for note in gone.notes)
    assert {told.component for told in gone.differences} == {1, 2}


def test_components_far_apart_are_flagged():
    """A pair that is hardly one component is matched, told as changed, and noted."""
    first = mixture_release(release_id="r1")
    moved = np.array(first.means)
    moved[1] += 3.0
    drift = compare(first, mixture_release(means=moved, release_id="r2"))
    assert any("components 2 and 2 are 4.2 standard deviations apart" in note for note in drift.notes)
    assert {(t.component, t.quantity) for t in drift.differences if t.verdict == _CHANGED} == {(2, "mean")}


def test_spreads_and_covariances_are_compared():
    """Of a Gaussian also what its columns spread, and how they go together."""
    first = gaussian_release(covariance=[[4.0, 0.0], [0.0, 1.0]], error=0.01, release_id="r1")
    second = gaussian_release(covariance=[[4.0, 0.5], [0.5, 9.0]], error=0.01, release_id="r2")
    told = {(t.quantity, t.column, t.other_column): t for t in compare(first, second).differences}
    assert told["sd", "age", None].verdict == _NOISE
    assert told["sd", "cost", None].verdict == _CHANGED
    assert (told["sd", "cost", None].first, told["sd", "cost", None].second) == (1.0, 3.0)
    # an error of 0.01 in a variance of 9 is one of 0.01 / 6 in the sd
    assert told["sd", "cost", None].error == pytest.approx(np.hypot(0.01 / 2, 0.01 / 6))
    assert told["covariance", "age", "cost"].difference == 0.5


def test_without_any_noise_every_difference_is_a_change():
    """An error of zero explains nothing, and divides nothing."""
    drift = compare(
        mean_release(error=0.0, release_id="r1"), mean_release(center=[1.0, 2.5], error=0.0, release_id="r2")
    )
    assert [told.errors for told in drift.differences] == [0.0, inf]
    assert [told.verdict for told in drift.differences] == [_NOISE, _CHANGED]


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (mixture_release(), "a mean and a gaussian-mixture cannot be compared"),
        (mean_release(("height", "income")), "no column in common: the first has age, cost, the second height, income"),
        (simulated(mean_release()), "the second model is a simulation"),
    ],
    ids=["kind", "columns", "simulation"],
)
def test_what_cannot_be_compared_is_refused(second, text):
    """Kinds, columns of which none is shared, and simulations; the message says which."""
    with pytest.raises(InvalidInput, match=text):
        compare(mean_release(), second)


def test_shared_columns_are_compared_and_the_others_named():
    """Whatever their order, each number with the one of the same columns; the threshold is for what is compared."""
    covariance = np.array([[4.0, 1.0, 0.2], [1.0, 9.0, 0.3], [0.2, 0.3, 1.0]])
    first = gaussian_release(("a", "b", "c"), covariance=covariance, release_id="r1")
    places = [1, 0, 2]
    second = gaussian_release(
        ("b", "a", "d"),
        center=np.arange(1.0, 4.0)[places],
        covariance=covariance[np.ix_(places, places)],
        release_id="r2",
    )
    drift = compare(first, second)
    assert drift.columns == ("a", "b")
    assert {(each.quantity, each.column, each.other_column) for each in drift.differences} == {
        ("mean", "a", None), ("mean", "b", None), ("sd", "a", None), ("sd", "b", None), ("covariance", "a", "b"),
    }  # fmt: skip
    assert not any(each.difference for each in drift.differences)
    assert drift.threshold == pytest.approx(2.5758, abs=1e-4)  # of 5 numbers
    for which, name in (("first", "c"), ("second", "d")):
        assert any(f"columns of the {which} release alone are left out: {name}" in note for note in drift.notes)


def test_components_are_matched_by_shared_columns():
    means = np.array([[0.0, 0.0, 9.0], [5.0, 0.0, -9.0], [0.0, 5.0, 0.0]])
    first = mixture_release(("a", "b", "c"), means=means, release_id="r1")
    weights = np.array(first.weights)[[2, 0, 1]]
    second = mixture_release(("b", "a"), means=means[[2, 0, 1]][:, [1, 0]], weights=weights, release_id="r2")
    drift = compare(first, second)
    assert [(pair.first, pair.second) for pair in drift.pairs] == [(1, 2), (2, 3), (3, 1)]
    assert drift.changed == 0
    assert any("may be other groups of rows" in note for note in drift.notes)


def test_a_mean_and_a_gaussian_have_means_in_common():
    """In either order; the covariance is named as left out."""
    mean, gaussian = mean_release(release_id="r1"), gaussian_release(release_id="r2")
    for first, second, which in ((mean, gaussian, "second"), (gaussian, mean, "first")):
        drift = compare(first, second)
        assert drift.kind == "mean"
        assert {each.quantity for each in drift.differences} == {"mean"}
        assert any(f"the {which} release is a gaussian, whose covariance is left out" in note for note in drift.notes)


def test_other_targets_are_noted():
    """The table's own moments are other numbers than a law's; of what an older file does not tell nothing is said."""
    moments, gaussian, untold = (gaussian_release(target=target) for target in ("moments", "gaussian", None))
    assert any("different targets (moments: " in note for note in compare(moments, gaussian).notes)
    for other in (moments, untold):
        assert not any("targets" in note for note in compare(moments, other).notes)


def test_what_clipping_may_have_done_is_no_change():
    """Two means 0.6 apart: four errors of sampling and noise, less than one of clipping."""
    one, other = mean_release(release_id="r1"), mean_release(center=[1.6, 2.0], release_id="r2")
    assert compare(one, other).changed == 1
    told = other.to_json()
    told["standard_errors"]["mean"]["clipping"] = [0.8, 0.0]
    assert compare(one, type(other).from_json(told)).changed == 0


def test_a_difference_of_a_doubtful_number_is_marked():
    """By number: the variance of one column is doubtful in one release, and its mean is not."""
    tail = Finding("could-hide", ("cost",), DOUBTFUL, "rows could hide", {}, ("covariance",), "bound it")
    drift = compare(gaussian_release(), gaussian_release(findings=(tail,), release_id="r2"))
    marked = {(each.quantity, each.column, each.other_column) for each in drift.differences if each.doubtful}
    assert marked == {("sd", "cost", None), ("covariance", "age", "cost")}
    assert [each["doubtful"] for each in drift.to_json()["differences"]].count(True) == 2


def test_notes_tell_what_to_beware_of():
    """A release with doubtful numbers, other datasets and methods, and one release compared with itself."""
    notes = compare(mean_release(), mean_release(dataset="labs", converged=False, method="coinpress")).notes
    for part in (
        "do not trust all numbers and errors of the second release: 0 of 2 columns are good",
        "different datasets (visits, labs)",
        "different methods",
        "same release",
    ):
        assert any(part in note for note in notes)
