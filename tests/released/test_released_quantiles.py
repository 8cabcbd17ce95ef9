"""Released quantiles as files, tables, sentences and comparisons: ranks and shares keep their own intervals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.releases import mean_release, quantiles_release

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.released.compare import compare
from pubpriv.released.findings import DOUBTFUL, Finding
from pubpriv.released.report.lead import lead
from pubpriv.released.report.page import page
from pubpriv.released.report.words import sentence
from pubpriv.released.why import why
from pubpriv.schemas.released import quantiles_table

MEDIAN = "quantile:age@0.5"


def test_the_table_has_ranks_and_levels_with_intervals_of_their_own():
    """Each quantile and each share once; the parts of an error add up to half of the interval."""
    numbers = {number.name: number for number in quantiles_release(zeros=0.3).numbers()}
    names = ("@0.25", "@0.5", "@0.75")
    shares = [f"share:{column}@{level}" for column in ("age", "cost") for level in ("missing", "0")]
    assert {*numbers} == {f"quantile:{column}{name}" for column in ("age", "cost") for name in names} | {*shares}
    zeros = numbers["share:age@0"]
    assert zeros.value == pytest.approx(0.3)
    assert zeros.interval[0] < 0.3 < zeros.interval[1]
    assert numbers["share:age@missing"].value == pytest.approx(20 / 1020)
    low, high = numbers[MEDIAN].interval
    assert numbers[MEDIAN].error == pytest.approx((high - low) / 2 / 1.959964)
    assert numbers["quantile:age@0.25"].value == 0


def test_shares_stay_between_0_and_1_with_room_above():
    """No missing cell, and counts that noise made negative."""
    column, _ = quantiles_release(sd=40.0).described.distributions
    cells = replace(column.known, missing=replace(column.known.missing, rows=-60.0))
    from pubpriv.released.distributions.reading import share_missing

    share = share_missing(replace(column, known=cells), 1000.0)
    assert (share.value, share.low) == (0.0, 0.0)
    assert 0.01 < share.high < 0.2


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.pop("distributions"),
        lambda told: told.update(at=[0.25, 0.5]),
        lambda told: told["quantiles"][0].__setitem__(1, float("nan")),
        lambda told: told["distributions"][0]["edges"].reverse(),
        lambda told: told["distributions"][0]["rows_below"].pop(),
        lambda told: told["distributions"].pop(),
        lambda told: told["intervals"][0][1].reverse(),
        lambda told: told["shares"][0].update(high=1.5),
        lambda told: told["shares"][0].update(column="wages"),
        lambda told: told["standard_errors"]["quantiles"].pop("privacy"),
        lambda told: told["distributions"][0]["noise"]["cells"].append(1.0),
    ],
)
def test_a_damaged_file_is_seen(damage, tmp_path):
    """Whatever of it was edited."""
    told = quantiles_release().to_json()
    pp.QuantilesEstimate.from_json(json.loads(json.dumps(told))).check_whole()
    damage(told)
    (tmp_path / "m.json").write_text(json.dumps(told))
    with pytest.raises(InvalidInput, match="damaged"):
        pp.load(tmp_path / "m.json").check_whole()


def test_a_file_reads_any_rank_as_the_run_did(tmp_path):
    rows = np.random.default_rng(1).lognormal(10, 1, (3000, 1))
    made = pp.estimate_quantiles(rows[:150], pp.Curator.simulation(rows, "zcdp:0.5", 2))
    made.save(tmp_path / "q.json")
    again = pp.load(tmp_path / "q.json")
    assert again.to_json() == json.loads(json.dumps(made.to_json()))
    for share in (0.03, 0.5, 0.8):
        assert again.quantile("x0", share) == made.quantile("x0", share)
    assert again.share_up_to("x0", 2e4) == made.share_up_to("x0", 2e4)


def test_a_doubtful_rank_is_no_doubt_about_others():
    """A finding about some ranks marks these alone; shares are counts, and good."""
    finding = Finding("vague-ranks", ("age",), DOUBTFUL, "too little is known", {}, ("quantile",), "", (0.75,))
    release = quantiles_release(findings=(finding,))
    again = pp.QuantilesEstimate.from_json(json.loads(json.dumps(release.to_json())))
    states = {number.name: str(number.state) for number in again.numbers()}
    assert [name for name, state in states.items() if state == "doubtful"] == ["quantile:age@0.75"]
    assert again.states == {"age": "doubtful", "cost": "good"}
    assert "age: doubtful, because too little is known" in again.verdict


def test_sentences_are_for_people():
    """Half of the rows, with the interval; heaps and missing cells if there are some."""
    release = quantiles_release(("income",), shift=0.0, sd=1.0)
    assert sentence(release, "income").startswith("Half of income lie at or below 50.0 (")
    text = sentence(quantiles_release(("income",), zeros=0.3, sd=1.0), "income")
    assert "; 30.0% (27." in text
    assert ") of all rows have none." in text
    assert sentence(release, "income") in lead(release)
    assert sentence(release, "income") in page(release)
    assert "Nine tenths of age" in sentence(quantiles_release(at=(0.9,)), "age")


def test_a_comparison_is_in_ranks():
    """Chance is no change, a moved column is one; a value that many rows have does not differ from itself."""
    first = quantiles_release(release_id="r1")
    same, moved = (quantiles_release(shift=shift, release_id="r2") for shift in (1.0, 20.0))
    assert compare(first, same).changed == 0
    drift = compare(first, moved)
    assert [each.quantity for each in drift.differences if each.verdict == "changed"] == ["quantile"] * 6
    at = next(each for each in drift.differences if each.rank == 0.5)
    # 200 of 1,000 rows lie between, and both samples and noise of sd 10 move a rank
    assert at.noises == pytest.approx(200 / np.hypot(10, 10), rel=0.05)
    assert at.errors == pytest.approx(200 / np.hypot(*[np.hypot(10, 250**0.5)] * 2), rel=0.05)
    heaped = [quantiles_release(zeros=zeros, sd=1.0, release_id=name) for zeros, name in ((0.3, "r1"), (0.35, "r2"))]
    told = {(each.rank, each.level): each for each in compare(*heaped).differences if each.column == "age"}
    assert told[0.25, None].errors == 0
    assert told[None, "0"].errors > 2
    assert json.dumps(drift.to_json(), allow_nan=False)


def test_ranks_of_one_release_alone_are_named_and_left_out():
    drift = compare(quantiles_release(release_id="r1"), quantiles_release(at=(0.5, 0.9), release_id="r2"))
    assert {each.rank for each in drift.differences} == {0.5, None}
    assert any("quantile:age@0.25, quantile:age@0.75, quantile:age@0.9" in note for note in drift.notes)
    with pytest.raises(InvalidInput, match="cannot be compared"):
        compare(quantiles_release(), mean_release())


def test_why_a_quantile_is_as_wide_as_it_is():
    told = why(quantiles_release(sd=60.0), MEDIAN)
    assert told.shares["privacy"] > 0.7
    assert sum(told.shares.values()) == pytest.approx(1)
    assert told.low < told.number.value < told.high
    assert any("times the budget" in remedy for remedy in told.remedies)
    assert told.state == "wide"


def test_the_table_of_prefect_is_checked():
    """A row a number; one outside its interval is refused."""
    numbers = quantiles_release(zeros=0.2).numbers()
    frame = quantiles_table(numbers)
    assert len(frame) == len(numbers)
    assert frame["rank"].notna().sum() == 6
    with pytest.raises(InvalidInput, match="in its interval"):
        quantiles_table([replace(numbers[0], low=1e9, high=2e9)])
