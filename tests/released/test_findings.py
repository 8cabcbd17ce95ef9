"""Findings and the states of numbers that follow from them: by column and quantity, counted in a headline."""

import json
from dataclasses import replace

import pytest
from helpers.releases import UNSETTLED, clipped, gaussian_release, mean_release, mixture_release

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding, about, headline
from pubpriv.released.numbers import State

COLUMNS = ("age", "cost", "hours")
TAIL = Finding("could-hide", ("hours",), DOUBTFUL, "rows could hide", {"rows": 12.0}, ("covariance",), "bound it")


def states(estimate):
    return {number.name: number.state for number in estimate.numbers()}


def doubted(estimate, *findings):
    return replace(estimate, findings=findings, converged=not any(each.severity == DOUBTFUL for each in findings))


def test_a_finding_is_of_its_columns_and_quantities():
    """A covariance is of both its columns; the mean of the same column stays good."""
    found = states(doubted(gaussian_release(COLUMNS), TAIL))
    bad = {"variance:hours", "covariance:age,hours", "covariance:cost,hours"}
    assert {name for name, state in found.items() if state == State.DOUBTFUL} == bad
    assert found["mean:hours"] == found["variance:cost"] == State.GOOD


def test_a_finding_of_a_run_is_of_all_numbers():
    """Of weights too, which have no column."""
    assert set(states(doubted(mixture_release(COLUMNS), UNSETTLED)).values()) == {State.DOUBTFUL}


def test_a_note_changes_no_state():
    assert set(states(doubted(gaussian_release(COLUMNS), replace(TAIL, severity=NOTE))).values()) == {State.GOOD}


def test_a_number_is_wide_from_three_sampling_errors_on():
    """Whatever makes it so: here clipping, a little less and a little more than that."""
    told = mean_release().to_json()
    told["standard_errors"]["mean"] = {"sampling": [1.0, 1.0], "privacy": [0.0, 0.0], "clipping": [2.8, 2.9]}
    assert list(states(pp.released.kinds.MeanEstimate.from_json(told)).values()) == [State.GOOD, State.WIDE]


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ((), "3 of 3 columns are good"),
        ((TAIL,), "2 of 3 columns are good; hours: doubtful, because rows could hide"),
        (
            (TAIL, replace(TAIL, columns=("age", "cost"), text="noise")),
            "0 of 3 columns are good; age, cost: doubtful, because noise; hours: doubtful, because rows could hide",
        ),
        ((UNSETTLED,), "0 of 3 columns are good; age, cost, hours: doubtful, because the rounds did not converge"),
    ],
)
def test_the_headline_counts_columns_and_gives_reasons(findings, said):
    assert doubted(gaussian_release(COLUMNS), *findings).verdict == said


def test_wide_columns_are_named_in_the_headline():
    assert headline({"a": State.GOOD, "b": State.WIDE}, ()) == "1 of 2 columns is good, 1 is wide (b)"


def test_an_estimate_of_means_takes_no_finding_of_variances():
    """A mean whose covariance was learnt is judged by itself."""
    of_both = replace(TAIL, quantities=())
    assert about((TAIL, of_both, UNSETTLED), ["mean"]) == (of_both, UNSETTLED)


def test_findings_and_states_stand_in_the_file(tmp_path):
    """Numbers that are not named are good; what is read back is what was written."""
    estimate = doubted(clipped(gaussian_release(COLUMNS)), TAIL)
    estimate.save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    assert data["format"] == 2
    assert data["states"] == {
        "wide": [],
        "doubtful": ["covariance:age,hours", "covariance:cost,hours", "variance:hours"],
    }
    again = pp.load(tmp_path / "model.json")
    assert again.findings == (TAIL,)
    assert states(again) == states(estimate)


def test_a_finding_about_one_component_leaves_the_others_good(tmp_path):
    moved = Finding("last-round", (), DOUBTFUL, "component 2 moved", components=(2,))
    estimate = doubted(mixture_release(), moved)
    estimate.save(tmp_path / "model.json")
    again = pp.load(tmp_path / "model.json")
    assert again.findings == (moved,)
    assert {number.component for number in again.numbers() if number.state == State.DOUBTFUL} == {2}
    assert {number.component for number in again.numbers() if number.state != State.DOUBTFUL} == {1, 3}


@pytest.mark.parametrize(
    "change",
    [
        {"converged": True},
        {"findings": []},
    ],
)
def test_a_file_whose_verdict_is_not_that_of_its_findings_is_damaged(change, tmp_path):
    told = doubted(gaussian_release(COLUMNS), TAIL).to_json() | change
    (tmp_path / "model.json").write_text(json.dumps(told))
    with pytest.raises(InvalidInput, match="damaged: it should not have converged"):
        pp.load(tmp_path / "model.json").check_whole()


@pytest.mark.parametrize("change", [{"severity": "bad"}, {"figures": {"rows": float("nan")}}, {"columns": None}])
def test_a_finding_that_is_none_is_refused(change, tmp_path):
    told = doubted(gaussian_release(COLUMNS), TAIL).to_json()
    told["findings"][0] |= change
    (tmp_path / "model.json").write_text(json.dumps(told))
    with pytest.raises(InvalidInput, match="is damaged"):
        pp.load(tmp_path / "model.json")
