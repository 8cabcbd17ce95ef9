"""Rows drawn from released distributions: each column by itself, with its heaps, missing cells and levels."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.released.sample import kept_and_lost, write_sample

COLUMNS = ["income", "log1p(visits)", "levels(region, north, south)"]


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(1)
    income = np.where(
        random.random(4000) < 0.3, np.nan, np.where(random.random(4000) < 0.4, 0, random.gamma(2, 9, 4000))
    )
    return np.c_[income, random.negative_binomial(2, 0.3, 4000), random.choice(3, 4000, p=[0.5, 0.3, 0.2])]


@pytest.fixture(scope="module")
def found(rows):
    table = pd.DataFrame(rows, columns=["income", "visits", "region"])
    table["region"] = np.array(["north", "south", "west"])[rows[:, 2].astype(int)]
    table.to_csv("private.csv", index=False)
    table[:100].to_csv("public.csv", index=False)
    ledger = pp.Ledger.open("sqlite:///ledger.db")
    private = pp.PrivateTable.open("private.csv", columns=COLUMNS)
    ledger.register("d", budget=pp.ZeroConcentratedDP(1.0), table=private, unit="one person")
    curator = pp.Curator(private, ledger, dataset="d", budget=pp.ZeroConcentratedDP(1.0), release_id="r")
    return pp.estimate_quantiles("public.csv", curator)


@pytest.fixture(scope="module", autouse=True)
def _here(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("here"))
        yield


def test_columns_have_their_quantiles_heaps_and_missing_cells(rows, found):
    drawn = found.sample(20_000, seed=1)
    for j in range(2):
        private = np.log1p(rows[:, 1]) if j else rows[:, 0]
        here, of_rows = (column[~np.isnan(column)] for column in (drawn[:, j], private))
        for rank in (0.1, 0.5, 0.75, 0.9):
            value = np.quantile(here, rank, method="inverted_cdf")
            assert (of_rows < value).mean() - 0.03 <= rank <= (of_rows <= value).mean() + 0.03
    assert np.isnan(drawn[:, 0]).mean() == pytest.approx(0.3, abs=0.03)
    assert not np.isnan(drawn[:, 1]).any()
    assert (drawn[:, 0] == 0).mean() == pytest.approx(0.7 * 0.4, abs=0.03)
    assert np.bincount(drawn[:, 2].astype(int)) / 20_000 == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_no_column_tells_of_another_one(found):
    drawn = found.sample(20_000, seed=2)
    whole = drawn[~np.isnan(drawn).any(axis=1)]
    assert np.abs(np.corrcoef(whole.T) - np.eye(3)).max() < 0.04


@pytest.mark.long
def test_a_seed_draws_the_same_rows(found):
    assert np.array_equal(found.sample(50, seed=3), found.sample(50, seed=3), equal_nan=True)
    assert not np.array_equal(found.sample(50, seed=3), found.sample(50, seed=4), equal_nan=True)
    with pytest.raises(pp.errors.InvalidInput, match="positive number"):
        found.sample(0)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_has_missing_cells_counts_and_texts(found, suffix):
    from pubpriv.released.bending import Limits

    limits = {"visits": Limits(0, step=1.0)}
    write_sample(found, 3000, f"a.{suffix}", seed=1, original_units=True, limits=limits)
    table = pd.read_csv("a.csv") if suffix == "csv" else pd.read_parquet("a.parquet")
    assert list(table.columns) == ["income", "visits", "region"]
    assert table["income"].isna().mean() == pytest.approx(0.3, abs=0.04)
    assert table["visits"].dtype == np.int64
    assert set(table["region"]) == {"north", "south", "other"}
    assert "relations of columns" in kept_and_lost(found)


def test_a_given_value_changes_no_other_column(found):
    write_sample(found, 2000, "b.csv", seed=1, given={"income": 7.0})
    write_sample(found, 2000, "c.csv", seed=1, given={"income": 70.0})
    one, other = pd.read_csv("b.csv"), pd.read_csv("c.csv")
    assert set(one["income"]) == {7.0}
    assert one.drop(columns="income").equals(other.drop(columns="income"))


def test_a_group_is_drawn_from_its_own_distributions():
    rows = np.r_[np.random.default_rng(1).normal(0, 1, 2000), np.random.default_rng(2).normal(100, 1, 2000)][:, None]
    by = pp.ByCategory("half", ("low", "high")), ["low"] * 2000 + ["high"] * 2000
    found = pp.estimate_quantiles(rows[::40], pp.Curator.simulation(rows, "zcdp:0.5", 3, groups=by), (0.1, 0.5, 0.9))
    assert np.median(found.of_group("high").sample(500, seed=1)) == pytest.approx(100, abs=0.5)
