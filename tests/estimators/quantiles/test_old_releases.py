"""An old release in the place of public rows: the same columns and levels, at no cost, for quantiles alone."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.errors import InvalidInput
from pubpriv.estimators.old_releases import columns_of_release, rows_of_release

COLUMNS = ["income", "visits", "levels(ward, north, south)"]


def table(seed, n=3000):
    random = np.random.default_rng(seed)
    visits, ward = random.poisson(3, n), random.choice(["north", "south", "west", None], n, p=[0.5, 0.3, 0.1, 0.1])
    return pd.DataFrame({"income": random.lognormal(10, 1, n), "visits": visits.astype(float), "ward": ward})


@pytest.fixture
def curator(tmp_path):
    """Open a run on the table of a month."""

    def of(month):
        table(month, 3000 + month).to_parquet(tmp_path / f"{month}.parquet")
        private = pp.PrivateTable.open(tmp_path / f"{month}.parquet", COLUMNS)
        ledger = pp.Ledger.open(f"sqlite:///{tmp_path}/l.db")
        ledger.register(f"month-{month}", "zcdp:1", table=private)
        return pp.Curator(private, ledger, f"month-{month}", "zcdp:0.2", "r")

    return of


def test_next_month_begins_where_this_one_ended(curator, tmp_path):
    """The public rows lay elsewhere, the first release does not: the second has nothing to warn of."""
    public = table(1, 60)
    public["income"] *= 30
    first = pp.estimate_quantiles(public, curator(2))
    assert any("from elsewhere" in text for text in first.diagnostics["warnings"])
    first.save(tmp_path / "first.json")
    second = pp.estimate_quantiles(tmp_path / "first.json", curator(3))
    assert not any("from elsewhere" in text for text in second.diagnostics["warnings"])
    assert second.converged
    right = np.quantile(table(3, 3003)["income"], second.at)
    assert np.abs(np.log(second.quantiles[0] / right)).max() < 0.2
    assert (second.quantiles[1] == np.rint(second.quantiles[1])).all()
    assert second.share("ward", "north")[1] < 0.5 / 0.9 < second.share("ward", "north")[2]
    assert second.provenance["n_public"] == 200


def test_values_of_a_release_keep_heaps_steps_and_levels(curator):
    first = pp.estimate_quantiles(table(1, 60), curator(2))
    rows = rows_of_release(first, COLUMNS[1:])
    assert rows.columns == tuple(COLUMNS[1:])
    assert (rows.rows[:, 0] == np.rint(rows.rows[:, 0])).all()
    assert set(rows.rows[:, 1]) <= {0.0, 1.0, 2.0}
    assert (rows.rows[:, 1] == 0).mean() == pytest.approx(0.5 / 0.9, abs=0.03)
    assert columns_of_release(first, ("income",), ("ward", "visits")) == ("income", COLUMNS[2], "visits")


def test_values_stay_near_the_public_rows_whatever_noise_puts_into_the_last_cells():
    """A table of few rows, in whose outermost cells there is noise."""
    rows = np.random.default_rng(1).normal(50, 10, (60, 1))
    found = pp.estimate_quantiles(rows[:30], pp.Curator.simulation(rows, "zcdp:0.05", 5, columns=["x"]), (0.5,))
    values = rows_of_release(found, None).rows
    assert np.abs(values - 50).max() < 200


def test_what_is_no_release_of_quantiles_is_refused(tmp_path):
    rows = np.random.default_rng(1).normal(size=(2000, 1))
    pp.estimate_mean(rows[:9], pp.Curator.simulation(rows, "zcdp:1", 1, columns=["x"]), force=True).save(
        tmp_path / "m.json"
    )
    with pytest.raises(InvalidInput, match="is a released mean: only one of quantiles"):
        pp.estimate_quantiles(tmp_path / "m.json", pp.Curator.simulation(rows, "zcdp:1", 1, columns=["x"]))
    found = pp.estimate_quantiles(rows[:30], pp.Curator.simulation(rows, "zcdp:1", 1, columns=["x"]))
    with pytest.raises(InvalidInput, match="no column 'y' was released"):
        pp.estimate_quantiles(found, pp.Curator.simulation(rows, "zcdp:1", 1, columns=["y"]))
    with pytest.raises(InvalidInput, match="has no column ward"):
        columns_of_release(found, None, ("ward",))
