"""Shares of levels and of rows above a threshold: what they cost, how far intervals hold, what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput

N = 3000
REGIONS = ("north", "south", "east")


def table(n, seed):
    random = np.random.default_rng(seed)
    region = random.choice([*REGIONS, "abroad", None], n, p=[0.5, 0.25, 0.15, 0.04, 0.06])
    smoker, income = (random.random(n) < 0.2).astype(float), random.lognormal(10, 1, n)
    return pd.DataFrame({"region": region, "smoker": smoker, "income": income})


def opened(path, columns):
    table(N, 1).to_parquet(path)
    return pp.PrivateTable.open(path, columns)


def test_levels_of_texts_and_of_numbers_are_counted_beside_ranks(tmp_path):
    """In one run of four questions; other texts are one level, missing cells a share of all rows."""
    levels = f"levels(region, {', '.join(REGIONS)})"
    columns = ["income", levels, "smoker"]
    private, public = opened(tmp_path / "t.parquet", columns), table(100, 2)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/l.db") as ledger:
        ledger.register("d", "zcdp:1", table=private)
        with pp.Curator(private, ledger, "d", "zcdp:0.5", "r") as curator:
            found = pp.estimate_quantiles(public, curator, (0.5,), shares=["smoker"], above={"income": 5e4})
    assert len(found.privacy["charges"]) == 4
    assert (found.ranked, found.unranked) == (("income",), (levels, "smoker"))
    assert found.quantiles.shape == (1, 1)
    rows, there = table(N, 1), table(N, 1)["region"].dropna()
    for level in REGIONS:
        value, low, high = found.share("region", level)
        assert value == pytest.approx((there == level).mean(), abs=0.01)
        assert low < (there == level).mean() < high
    assert found.share(levels, "other")[0] == pytest.approx((there == "abroad").mean(), abs=0.01)
    assert found.share("region", "missing")[0] == pytest.approx(rows["region"].isna().mean(), abs=0.01)
    assert found.share("smoker", "1")[0] == pytest.approx(rows["smoker"].mean(), abs=0.01)
    assert found.share("income", "> 50000")[0] == pytest.approx((rows["income"] > 5e4).mean(), abs=0.01)
    assert found.states == dict.fromkeys(columns, "good")
    found.save(tmp_path / "m.json")
    again = pp.load(tmp_path / "m.json")
    again.check_whole()
    assert again.to_json() == json.loads(json.dumps(found.to_json()))
    names = [number.name for number in again.numbers()]
    assert "share:region@north" in names
    assert "quantile:income@0.5" in names
    with pytest.raises(InvalidInput, match="no share of west in region"):
        again.share("region", "west")


def test_shares_alone_need_no_rank(tmp_path):
    """A file without quantiles is whole, is drawn, and is compared."""
    from pubpriv.released.compare import compare
    from pubpriv.released.report.page import page

    rows = np.random.default_rng(1).integers(1, 6, (2000, 1)).astype(float)
    found = pp.estimate_quantiles(
        rows[:60], pp.Curator.simulation(rows, "zcdp:0.1", 1, columns=["rating"]), shares=["rating"]
    )
    assert found.at == ()
    assert [number.level for number in found.numbers()] == ["missing", "1", "2", "3", "4", "5"]
    found.save(tmp_path / "m.json")
    again = pp.load(tmp_path / "m.json")
    assert next(again._lacking_numbers(), None) is None
    text = page(again)
    assert "Of rating, " in text
    assert "Quantiles, in the columns" not in text
    told = again.to_json()
    told["provenance"]["dataset"] = "d"
    same = [
        pp.QuantilesEstimate.from_json({**told, "provenance": told["provenance"] | {"release_id": name}})
        for name in "ab"
    ]
    assert compare(*same).changed == 0


@pytest.mark.long
def test_intervals_of_thirty_levels_hold():
    """Rare ones too: from half of the rows to one in a thousand, levels that the public rows lack among them."""
    weights = np.geomspace(1, 0.002, 30)
    weights /= weights.sum()
    held = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        rows, public = (random.choice(30, n, p=weights).astype(float)[:, None] for n in (2000, 60))
        public[:30, 0] = np.arange(30)
        curator = pp.Curator.simulation(rows, "zcdp:0.1", seed, columns=["x"])
        found = pp.estimate_quantiles(public, curator, shares=["x"])
        ends = np.array([found.share("x", str(level))[1:] for level in range(30)])
        assert ((ends >= 0) & (ends <= 1)).all()
        held.append((ends[:, 0] <= weights) & (weights <= ends[:, 1]))
    assert np.mean(held) > 0.93
    assert np.mean(held, axis=0).min() >= 0.85  # of 60 draws; 0.9 is two sds above


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"shares": ["smokes"]}, "no column smokes is read, .* did you mean smoker"),
        ({"shares": ["income"]}, "column income has 100 values, too many to count"),
        ({"above": {"incomes": 1.0}}, "no column incomes is read"),
        ({"above": {"income": float("inf")}}, "above a finite number"),
    ],
)
def test_what_cannot_be_counted_is_refused_at_no_price(given, why):
    rows = table(N, 1)[["income", "smoker"]].to_numpy()
    curator = pp.Curator.simulation(rows, "zcdp:0.5", 1, columns=["income", "smoker"])
    with pytest.raises(InvalidInput, match=why):
        pp.estimate_quantiles(rows[:100], curator, **given)
    assert not curator.statement().charges


@pytest.mark.long
def test_a_threshold_is_counted_as_exactly_as_a_level():
    """Its edge is in every round, so that the whole budget counts it."""
    off = []
    for seed in range(40):
        rows = np.random.default_rng(seed).lognormal(10, 1, (1000, 1))
        curator = pp.Curator.simulation(rows, "zcdp:0.1", seed, columns=["income"])
        found = pp.estimate_quantiles(rows[:50], curator, (0.5,), above={"income": 1e5})
        off.append(found.share("income", "> 100000")[0] * 1000 - (rows > 1e5).sum())
    assert np.std(off) < 6  # noise of a count of the whole budget has sd 3.2
