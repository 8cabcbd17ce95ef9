"""The bench of verdicts: tables by a rule, runs that are the same again, and shares that are what the numbers say."""

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.library_tables import blocks_of_tables, bundled
from benchmarks.local_fit import LocalFit
from benchmarks.verdicts import Task, _measured, _summary, bench
from pubpriv.errors import InvalidInput


def number(state, z, quantity="mean", codes=()):
    return {"quantity": quantity, "state": state, "z": z, "width": 2.0, "codes": list(codes), "helped": True}


def run(*numbers):
    return {"estimator": "mean", "of": "a", "n": 300, "seed": 0, "refused": None, "numbers": list(numbers)}


def test_tables_are_chosen_by_the_rule():
    """At least twenty blocks of two to five columns, in their order, none of one value; at least 300 rows."""
    blocks, tables = blocks_of_tables(), bundled()
    assert len(blocks) >= 20
    for name, (columns, rows) in blocks.items():
        whole = tables[name.rpartition(" ")[0]][0]
        assert 1 <= len(columns) <= 5
        assert [whole.index(column) for column in columns] == sorted(whole.index(column) for column in columns)
        assert len(rows) >= 300
        assert (np.ptp(rows, axis=0) > 0).all()


@pytest.mark.parametrize(("of", "n"), [("fair 1", 0), ("poisson-8", 300)])
def test_a_run_judges_each_mean_and_variance_and_is_the_same_again(of, n):
    found = _measured(Task("gaussian", of, n, "zcdp:0.5", 3))
    assert found == _measured(Task("gaussian", of, n, "zcdp:0.5", 3))
    assert [each["quantity"] for each in found["numbers"]].count("variance") == len(found["numbers"]) / 2
    assert {each["state"] for each in found["numbers"]} <= {"good", "wide", "doubtful"}


def test_shares_are_those_of_runs_and_numbers():
    """A doubtful number in one run of two; wrong are those beyond two errors, by state."""
    doubtful = number("doubtful", 4.0, codes=["could-hide"])
    row = _summary([run(doubtful, number("good", 2.5)), run(number("good", 0.0), number("wide", 0.1))], "mean", "laws")
    assert (row["doubtful_runs"], row["doubtful"], row["wide"]) == (0.5, 0.25, 0.25)
    assert (row["wrong_good"], row["wrong_wide"], row["wrong_doubtful"], row["odds"]) == (0.5, 0.0, 1.0, 2.0)
    assert row["sound"] == 1.0


def test_bounds_are_held_against_tables():
    """Too many doubtful runs miss them, and a doubtful number that is right as often as a good one."""
    good = [run(number("good", 0.0)) for _ in range(19)]
    assert _summary([*good, run(number("good", 2.0))], "mean", "tables")["met"]
    few = [*good, run(number("good", 2.0)), run(number("doubtful", 0.0))]
    assert not _summary(few, "mean", "tables")["met"]
    telling = [*few, run(number("doubtful", 9.0))]
    assert _summary(telling, "mean", "tables")["met"]
    assert not _summary([*telling, run(number("doubtful", 9.0))], "mean", "tables")["met"]


@pytest.mark.long
def test_a_mixture_is_judged_by_what_em_makes_of_it():
    """EM over the same rows stays where a good release lies, and goes where it does not."""
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(4_000, 2)) + 9 * (np.arange(4_000) % 2)[:, None]
    estimate = pp.estimate_mixture(rows[:40], pp.Curator.simulation(rows, "zcdp:0.5", seed=4), n_components=2)
    fit, numbers = LocalFit(estimate, rows), [each for each in estimate.numbers() if each.component]
    assert all(abs(number.value - fit.value(number)) < 4 * number.error for number in numbers)
    off = LocalFit(estimate, rows + 3)
    means = [number for number in numbers if number.quantity == "mean"]
    assert all(off.value(number) - number.value == pytest.approx(3, abs=0.3) for number in means)


def test_mixtures_are_judged_on_tables_only():
    with pytest.raises(InvalidInput, match="--of tables"):
        bench(estimator="mixture")


def test_other_rows_are_refused():
    with pytest.raises(InvalidInput, match="tables or laws, not 'figures'"):
        bench(1, of="figures")
