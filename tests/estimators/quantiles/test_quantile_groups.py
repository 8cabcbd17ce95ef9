"""Quantiles and shares of groups: any number of groups at one price, from a handful of rows to many."""

import json
from dataclasses import replace

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.audit._tape import Driver, record
from pubpriv.data.categories import ByCategory
from pubpriv.privacy.budgets import parse_budget

SIZES = (5, 40, 300, 2000, 8000)
NAMES = tuple(f"ward {size}" for size in SIZES)
BY = ByCategory("ward", NAMES)
AT = (0.1, 0.5, 0.9)


def world(seed):
    """Incomes, lower in small wards, and smokers; the wards of the rows; public rows of all wards."""
    random = np.random.default_rng(seed)
    wards = [*np.repeat(NAMES, SIZES), *[None] * 100]
    middle = np.concatenate([np.repeat(10 + 0.2 * np.arange(len(SIZES)), SIZES), np.full(100, 10)])
    rows = np.column_stack([random.lognormal(middle, 1), random.random(len(middle)) < 0.2])
    public = np.column_stack([random.lognormal(10.5, 1, 80), random.random(80) < 0.2])
    return rows, wards, public


def simulated(seed, budget="zcdp:0.5", names=NAMES):
    rows, wards, public = world(seed)
    by = ByCategory("ward", names)
    return public, pp.Curator.simulation(rows, budget, seed, columns=["income", "smoker"], groups=(by, wards))


def test_groups_get_ranks_as_far_as_they_hold_them():
    """A handful of rows has no median, but a share that says little; large groups have all ranks, close by."""
    public, curator = simulated(1)
    found = pp.estimate_quantiles(public, curator, AT, shares=["smoker"])
    assert [each["label"] for each in found.privacy["charges"]] == [
        *(f"quantiles/round-{i}" for i in range(1, 5)),
        *(f"groups/round-{i}" for i in range(1, 5)),
    ]
    groups = {group.name: group for group in found.groups.each}
    assert groups["ward 5"].described.at == ()
    assert groups["ward 8000"].described.at == AT
    rows, wards, _ = world(1)
    for name, size in zip(NAMES, SIZES, strict=True):
        own = found.of_group(name)
        assert groups[name].rows[0] == pytest.approx(size, abs=5 * groups[name].rows[1])
        assert own.share("smoker", "1")[1] <= 0.2 <= own.share("smoker", "1")[2]
        if 0.5 in own.at:
            right = np.median(rows[np.array(wards) == name, 0])
            assert own.quantiles[0, own.at.index(0.5)] == pytest.approx(right, rel=0.4 if size < 1000 else 0.06)


@pytest.mark.long
def test_more_groups_cost_no_more_noise():
    """The noise in a count is the same for two wards as for five."""
    noises = []
    for names in (NAMES[3:], NAMES):
        public, curator = simulated(2, names=names)
        found = pp.estimate_quantiles(public, curator, AT)
        noises.append([charge["noise_scale"] for charge in found.privacy["charges"]])
    assert noises[0] == noises[1]


@pytest.mark.slow
def test_intervals_of_groups_hold():
    """Of all ranks of all groups in some draws."""
    held = []
    for seed in range(12):
        public, curator = simulated(seed)
        found = pp.estimate_quantiles(public, curator, AT)
        for i, group in enumerate(found.groups.each):
            for rank, quantile in zip(group.described.at, group.described.found[0], strict=True):
                right = np.exp(10 + 0.2 * i + {0.1: -1.2816, 0.5: 0.0, 0.9: 1.2816}[rank])
                held.append(quantile.low <= right <= quantile.high)
    assert len(held) > 100
    assert np.mean(held) > 0.9


@pytest.mark.long
@pytest.mark.parametrize("budget", ["approx:4,1e-6", "pure:6"])
def test_a_file_keeps_groups_whatever_the_budget(budget, tmp_path):
    """Read back, shown, drawn and compared."""
    from pubpriv.cli.estimates import show
    from pubpriv.released.compare import compare
    from pubpriv.released.report.page import page
    from pubpriv.released.report.words import sentence

    public, curator = simulated(3, budget)
    found = pp.estimate_quantiles(public, curator, AT, shares=["smoker"])
    found.save(tmp_path / "m.json")
    again = pp.load(tmp_path / "m.json")
    assert again.to_json() == json.loads(json.dumps(found.to_json()))
    assert not list(again.groups.lacking(again.columns))
    assert not list(again._lacking_numbers())
    text = page(again)
    assert "Groups by ward" in text
    assert "ward 8000" in text
    told = sentence(again, "income")
    assert told == sentence(replace(again, groups=None), "income")
    assert told in text
    show(again)
    told = again.to_json()
    told["provenance"]["dataset"] = "d"
    told["provenance"]["release_id"] = "a"
    one = pp.QuantilesEstimate.from_json(told)
    other = pp.QuantilesEstimate.from_json({**told, "provenance": told["provenance"] | {"release_id": "b"}})
    drift = compare(one, other)
    assert drift.changed == 0
    assert {each.group for each in drift.differences} == {None, *NAMES}


def test_nothing_but_released_counts_decides():
    """On another table, with the answers of the first, the same is asked, paid and found."""
    rows, _, public = world(4)

    def run(curator):
        return pp.estimate_quantiles(public, curator, AT, shares=["x1"]).groups.to_json()

    half = ByCategory("half", ("low", "high"))
    driver = Driver("quantiles", "groups", run, rows, parse_budget("zcdp:0.5"), by=half)
    first = record(driver, rows, seed=1)
    assert first.failure is None
    other = record(driver, rows[::-1] * 1e6, seed=2, frozen=first)
    assert (first.asked, first.spent, first.result) == (other.asked, other.spent, other.result)
    assert (other.looks, other.draws) == (0, 0)
