"""Quantiles through the door: what they cost, what they refuse, and that nothing but released counts decides."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pubpriv as pp
from pubpriv.audit._tape import Driver, record
from pubpriv.errors import BudgetExceeded, InvalidInput, NoAnswer
from pubpriv.estimators.quantiles.plan import QuantilesPlan, ratio
from pubpriv.privacy.budgets import Purse, parse_budget

N, D = 4000, 3
AT = (0.1, 0.25, 0.5, 0.75, 0.9)


def table(seed, n=N):
    """Incomes, visits of which a third are 0, and whole numbers."""
    random = np.random.default_rng(seed)
    visits = np.where(random.random(n) < 0.35, 0.0, random.lognormal(6, 1, n))
    return np.column_stack([random.lognormal(10, 1, n), visits, random.poisson(3, n)])


ROWS, PUBLIC = table(1), table(2, 100)


def warnings_of(found):
    return found.diagnostics["warnings"]


def simulated(rows=ROWS, budget="zcdp:0.5", seed=3, **how):
    return pp.Curator.simulation(rows, budget, seed, columns=["income", "visits", "children"], **how)


@pytest.mark.parametrize(("budget", "spent"), [("zcdp:0.5", 0.5), ("approx:3,1e-6", None), ("pure:4", 4)])
def test_four_questions_cost_the_whole_budget(budget, spent):
    """In any kind of budget."""
    curator = simulated(budget=budget)
    found = pp.estimate_quantiles(PUBLIC, curator)
    charges = found.privacy["charges"]
    assert [each["label"] for each in charges] == [f"quantiles/round-{i}" for i in range(1, 5)]
    if spent is not None:
        assert 0.99999 * spent < float(found.privacy["spent"].split()[0]) <= spent
    with pytest.raises(BudgetExceeded):
        pp.estimate_mean(PUBLIC, curator, force=True)
    right = np.quantile(ROWS, AT, axis=0, method="inverted_cdf").T
    assert np.abs(np.log(found.quantiles[0] / right[0])).max() < 0.2
    assert np.array_equal(found.quantiles[2], right[2])
    assert found.converged


def test_numbers_have_the_shapes_that_they_say_and_rise():
    found = pp.estimate_quantiles(PUBLIC, simulated(), AT)
    assert found.quantiles.shape == (D, 5)
    assert (np.diff(found.quantiles, axis=1) >= 0).all()
    low, high = np.moveaxis(found.intervals, 2, 0)
    assert ((low <= found.quantiles) & (found.quantiles <= high)).all()
    assert {name: part.shape for name, part in found.rank_errors.items()} == dict.fromkeys(
        ("sampling", "privacy", "grid"), (D, 5)
    )
    for name in found.columns:
        edges, below, sds = found.distribution(name)
        assert (np.diff(edges) > 0).all()
        assert (np.diff(below) >= 0).all()
        assert len(edges) == len(below) == len(sds)
    frame = found.to_frame()
    frame = frame[frame["quantity"] == "quantile"]
    assert frame["value"].tolist() == found.quantiles.ravel().tolist()
    assert frame[["low", "high"]].to_numpy().tolist() == found.intervals.reshape(-1, 2).tolist()
    assert frame["column"].tolist() == np.repeat(found.columns, 5).tolist()
    assert frame["rank"].tolist() == list(AT) * D
    value, low, high = found.quantile("income", 0.6)
    assert found.quantiles[0, 2] < value < found.quantiles[0, 3]
    assert low <= value <= high
    assert "quantile 0.5 of income: " in found.summary()
    with pytest.raises(InvalidInput, match="no column 'wages'"):
        found.quantile("wages", 0.5)


def test_heaps_and_steps_are_given_exactly():
    """A third of the visits are 0, so the deciles up to the third are; whole numbers stay whole."""
    found = pp.estimate_quantiles(PUBLIC, simulated(seed=4), (0.1, 0.2, 0.5))
    assert found.quantiles[1, :2].tolist() == [0, 0]
    assert found.intervals[1, 0].tolist() == [0, 0]
    assert (found.quantiles[2] == np.rint(found.quantiles[2])).all()
    assert any(
        "children: quantiles are given to the step of the public rows, 1" in warning for warning in warnings_of(found)
    )


def test_missing_cells_of_one_column_move_no_other_and_are_told():
    """Not by a bit of what is released; their share comes for nothing."""
    rows, last = ROWS.copy(), ROWS[:, 2]
    rows[np.random.default_rng(5).random(N) < 0.3, 2] = np.nan
    rows[7, 2] = -np.inf
    whole, lacking = (pp.estimate_quantiles(PUBLIC, simulated(each)) for each in (ROWS, rows))
    assert np.array_equal(whole.quantiles[:2], lacking.quantiles[:2])
    assert np.array_equal(whole.intervals[:2], lacking.intervals[:2])
    shares = [each.share for each in lacking.described.shares if each.level == "missing"]
    off = (lacking.missing - (~np.isfinite(rows)).mean(axis=0)) / [each.noise for each in shares]
    assert np.abs(off).max() < 4
    assert all(
        each.low <= share <= each.high for each, share in zip(shares, (~np.isfinite(rows)).mean(axis=0), strict=True)
    )
    assert any("of the rows have no number" in warning for warning in warnings_of(lacking))
    assert not any("no number" in warning for warning in warnings_of(whole))
    right = np.quantile(last[np.isfinite(rows[:, 2])], AT, method="inverted_cdf")
    assert lacking.quantiles[2].tolist() == right.tolist()


def test_public_rows_from_elsewhere_are_told_and_followed():
    found = pp.estimate_quantiles(PUBLIC * [50.0, 1.0, 1.0], simulated())
    assert any("income: the quantiles of the public rows are not" in warning for warning in warnings_of(found))
    assert not any("visits: the public rows are from" in warning for warning in warnings_of(found))
    assert np.abs(np.log(found.quantiles[0] / np.quantile(ROWS[:, 0], AT))).max() < 0.3


def test_public_rows_that_say_nothing_make_a_flagged_run():
    """Values of 1e-3 among floats of any size."""
    found = pp.estimate_quantiles(PUBLIC * 1e-12, simulated(ROWS[:1000], "zcdp:0.3"))
    assert not found.converged
    assert "of their widths off, so they tell nothing of its rows" in warnings_of(found)[0]


@pytest.mark.parametrize("most", [1, 3])
def test_a_person_counts_once_however_many_rows_they_have(most):
    """Half of the persons have ten rows each, with large values: in quantiles of persons they are half."""
    random = np.random.default_rng(6)
    few, many = random.normal(10, 1, (3000, 1)), random.normal(20, 1, (30000, 1))
    persons = np.concatenate([np.arange(3000), 3000 + np.arange(30000) // 10])
    rows = np.concatenate([few, many])
    curator = pp.Curator.simulation(rows, "zcdp:2", 1, columns=["x"], persons=persons, rows_per_person=most)
    found = pp.estimate_quantiles(np.concatenate([few[:30], many[:30]]), curator, (0.25, 0.75))
    share = {1: 0.5, 3: 0.25}[most]  # of weights that are small
    right = [10 + (0.0 if most == 1 else 3), 20.0]
    assert found.quantiles[0, 1] == pytest.approx(right[1], abs=1.0)
    edges, below, _ = found.distribution("x")
    assert np.interp(15.0, edges, below) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("at", "why"),
    [
        ((), "1 to 50 ranks"),
        ((0.0, 0.5), "between 0 and 1"),
        ((0.5, 1.0), "between 0 and 1"),
        ((0.5, 0.5), "ranks rise"),
        ((0.5, 0.25), "ranks rise"),
        ((float("nan"),), "between 0 and 1"),
        (("a",), "between 0 and 1"),
        (np.linspace(0.01, 0.99, 51), "1 to 50 ranks"),
        ((0.0001, 0.5), r"rank 0.0001 of 4,000 rows .* it would drown: .* take .* rows or .* times the budget"),
    ],
)
def test_ranks_of_which_nothing_could_be_said_are_refused_at_no_price(at, why):
    curator = simulated()
    with pytest.raises(InvalidInput, match=why):
        pp.estimate_quantiles(PUBLIC, curator, at)
    assert not curator.statement().charges


def test_what_would_do_is_enough():
    """With the number of rows, or the budget, that a refusal names, the same ranks are accepted."""
    with pytest.raises(InvalidInput, match="drown") as caught:
        pp.estimate_quantiles(PUBLIC, simulated(ROWS[:500], "zcdp:0.01"), (0.1, 0.5))
    rows, factor = (
        float(word.replace(",", "")) for word in str(caught.value).split("take ")[1].split() if word[0].isdigit()
    )
    with pytest.raises(InvalidInput, match="drown"):
        pp.estimate_quantiles(PUBLIC, simulated(table(1, int(rows * 0.95)), "zcdp:0.01"), (0.1, 0.5))
    assert pp.estimate_quantiles(PUBLIC, simulated(table(1, int(rows * 1.01)), "zcdp:0.01"), (0.1, 0.5))
    assert pp.estimate_quantiles(PUBLIC, simulated(ROWS[:500], f"zcdp:{0.01 * factor * 1.02}"), (0.1, 0.5))


def test_refused_before_anything_is_asked():
    with pytest.raises(InvalidInput, match="need 8 public rows"):
        pp.estimate_quantiles(PUBLIC[:7], simulated())


def test_where_the_number_of_persons_is_private_too_few_are_no_answer():
    rows = np.random.default_rng(1).normal(size=(30, 1))
    curator = pp.Curator.simulation(rows, "zcdp:0.05", 2, persons=np.arange(30))
    with pytest.raises(NoAnswer, match="it would drown"):
        pp.estimate_quantiles(rows[:10], curator)


def test_a_run_that_was_cut_off_goes_on_with_the_same_numbers(tmp_path):
    """A closed run replays its answers, and spends nothing more."""
    pd.DataFrame(ROWS, columns=["income", "visits", "children"]).to_parquet(tmp_path / "t.parquet")
    private = pp.PrivateTable.open(tmp_path / "t.parquet", ["income", "visits", "children"])
    with pp.Ledger.open(f"sqlite:///{tmp_path}/books.db") as ledger:
        ledger.register("d", "zcdp:1", table=private)
        first = pp.estimate_quantiles(PUBLIC, pp.Curator(private, ledger, "d", "zcdp:0.5", "r"))
        spent = ledger.balance("d").spent
        again = pp.estimate_quantiles(PUBLIC, pp.Curator(private, ledger, "d", "zcdp:0.5", "r"))
        assert np.array_equal(first.intervals, again.intervals)
        assert ledger.balance("d").spent == spent


def _told(found):
    return {
        "values": found.quantiles.tolist(),
        "intervals": found.intervals.tolist(),
        "warnings": list(warnings_of(found)),
    }


def test_nothing_but_released_counts_decides():
    """On another table, with the answers of the first, the same is asked, paid and found."""
    driver = Driver(
        "quantiles",
        "quantiles",
        lambda curator: _told(pp.estimate_quantiles(PUBLIC, curator)),
        ROWS,
        parse_budget("zcdp:0.5"),
    )
    first = record(driver, ROWS, seed=1)
    other = record(driver, table(9) * 1e6, seed=2, frozen=first)
    assert first.failure is None
    assert len(first.entries) == 4
    assert replace(first, looks=0, passes=0, draws=0) == replace(other, looks=0, passes=0, draws=0)
    assert (other.looks, other.draws) == (0, 0)
    assert json.loads(first.result)["values"]


def test_the_plan_costs_no_more_than_the_purse_and_predicts_the_error():
    """Its price does not depend on ranks or cells; errors are measured in `test_reading`."""
    purse = Purse.of(parse_budget("zcdp:0.5"))
    plan = QuantilesPlan.of(purse, D)
    assert sum(ask.price for ask in plan.asks) == 1
    assert all(0.999999 < ask.question.squared_distance / ask.price <= 1 for ask in plan.asks)
    assert plan.asks[3].price == Fraction(1, 2)
    assert ratio(1e9, D, 0.5, 0.5) == pytest.approx(1)
    assert ratio(1000, 1, 0.1, 0.5) > ratio(1000, 1, 0.5, 0.5) > 1


@pytest.mark.long
def test_shares_of_yes_and_of_rare_values_hold_within_0_and_1():
    """Of yes/no columns as common as half and as rare as 1 in 200, and of incomes above a threshold."""
    shares, held, within = (0.005, 0.05, 0.5), [], []
    for seed in range(40):
        random = np.random.default_rng(seed)
        rows = np.column_stack([*(random.random(2000) < share for share in shares), random.lognormal(10, 1, 2000)])
        curator = pp.Curator.simulation(rows, "zcdp:0.2", seed)
        public = np.column_stack([*(random.random(200) < share for share in shares), random.lognormal(10, 1, 200)])
        public[:4, :3] = np.array([[0, 0, 0], [1, 1, 1]] * 2)
        found = pp.estimate_quantiles(public.astype(float), curator, (0.25, 0.5, 0.75))
        above = [1 - np.array(found.share_up_to(f"x{j}", 0)) for j in range(3)]
        above.append(1 - np.array(found.share_up_to("x3", np.exp(11))))
        right = [*shares, stats.norm.sf(1)]
        held.append([each[2] <= truth <= each[1] for each, truth in zip(above, right, strict=True)])
        within.append([0 <= number <= 1 for each in above for number in each])
    assert np.all(within)
    assert np.mean(held, axis=0).min() >= 0.85
    assert np.mean(held) >= 0.92
    for value in ("a", float("inf"), None):
        with pytest.raises(InvalidInput, match="finite number of column x0"):
            found.share_up_to("x0", value)


NORMAL = np.random.default_rng(11).normal(50, 10, 1000)
FEW = np.random.default_rng(12).normal(50, 10, 40)
ODD = {
    "one private value": (np.full(1000, 7.0), FEW, 7.0, "too little is known"),
    "no private value": (np.full(1000, np.nan), FEW, None, "almost no row has a number"),
    "half infinite": (np.where(np.arange(1000) % 2, np.inf, NORMAL), FEW, 50.0, ""),
    "one public value": (NORMAL, np.full(40, 50.0), 50.0, "tell nothing of its rows"),
    "huge private values": (NORMAL * 1e300, FEW, 50e300, "tell nothing of its rows"),
    "negative": (-np.exp(NORMAL / 5), -np.exp(FEW / 5), -np.exp(10), ""),
    "private whole numbers": (np.rint(NORMAL), FEW, 50.0, ""),
    "public whole numbers": (NORMAL, np.rint(FEW.repeat(3)), 50.0, ""),
    "values far from zero": (1e15 + np.rint(NORMAL), 1e15 + np.rint(FEW), 1e15 + 50, ""),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_columns_are_answered_or_flagged(name):
    """Without a warning of arithmetic; values rise, and further ranks and shares can be read."""
    rows, public, middle, flaw = ODD[name]
    found = pp.estimate_quantiles(public[:, None], pp.Curator.simulation(rows[:, None], "zcdp:2", 1))
    assert np.isfinite(found.quantiles).all()
    assert (np.diff(found.quantiles) >= 0).all()
    assert found.converged == (not flaw)
    assert flaw in " ".join(warnings_of(found))
    if middle is not None:
        assert found.quantile("x0", 0.5)[0] == pytest.approx(middle, rel=0.2)
        assert abs(found.share_up_to("x0", middle * 3)[0] - found.share_up_to("x0", middle / 3)[0]) > 0.3
