"""Models and a ledger of the version before states: they open, say that they have none, compare and replay."""

import gzip
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from helpers.old_world import FILES, RUNS

import pubpriv as pp
from pubpriv.released.compare import compare
from pubpriv.released.files import store_run
from pubpriv.released.report import page
from pubpriv.released.tree import ReleaseFiles
from pubpriv.released.why import why


@pytest.fixture
def old(tmp_path):
    """The URL of that version's ledger."""
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.executescript(gzip.decompress((FILES / "ledger.sql.gz").read_bytes()).decode())
    return f"sqlite:///{tmp_path / 'ledger.db'}"


def model(name, number):
    return pp.load(FILES / f"{name}-{number}.json")


@pytest.mark.parametrize("name", RUNS)
def test_they_open_and_say_that_they_have_no_states(name):
    """In the table of numbers, in words and on the page; a number is explained by its errors alone."""
    estimate = model(name, 1)
    estimate.check_whole()
    assert (estimate.findings, estimate.states, estimate.noise) == (None, None, None)
    assert estimate.to_frame()["state"].isna().all()
    assert "no states" in estimate.summary()
    assert ("no states" in page(estimate)) == (not estimate.converged)
    told = why(estimate, estimate.numbers()[0].name)
    assert "older version" in told.state
    assert sum(told.shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["gaussian", "mixture"])
def test_they_have_regressions_without_states(name):
    """Errors are read back from those of single numbers."""
    estimate = model(name, 1)
    found = estimate.regress(estimate.columns[1])
    assert all(figure.privacy > 0 and figure.state is None for figure in found.coefficients)


@pytest.mark.parametrize("name", RUNS)
def test_they_are_kept_as_they_are_when_saved_again(name, tmp_path):
    """Findings are not made up for them."""
    estimate = model(name, 2)
    estimate.save(tmp_path / "again.json")
    again = pp.load(tmp_path / "again.json")
    assert again.findings is None
    assert again.to_json() == estimate.to_json()


@pytest.mark.parametrize("name", RUNS)
def test_two_of_them_compare_and_one_with_a_release_of_today(name, old):
    """With a note about states; a release of today that replays the older one differs from it in nothing."""
    notes = compare(model(name, 1), model(name, 2)).notes
    assert any("has no states" in note or "do not trust" in note for note in notes)
    with pp.Ledger.open(old) as ledger:
        today = RUNS[name].release(ledger, f"old-{name}", 2)
    drift = compare(model(name, 2), today)
    assert drift.changed == 0
    assert max(abs(each.difference) for each in drift.differences) == 0.0


@pytest.mark.parametrize("name", RUNS)
def test_a_replay_costs_nothing_and_has_the_same_numbers(name, old, tmp_path):
    """The release has findings now; what is stored of the older version is the same release, and stays as it is."""
    before = model(name, 1)
    with pp.Ledger.open(old) as ledger:
        head = ledger.balance(f"old-{name}").state.spent
        today = RUNS[name].release(ledger, f"old-{name}", 1)
        assert ledger.balance(f"old-{name}").state.spent == head
        ledger.verify(f"old-{name}")
    assert today.findings is not None
    for part, values in before.parts().items():
        assert np.array_equal(values, today.parts()[part])
    files = ReleaseFiles.of(before, tmp_path)
    files.model.parent.mkdir(parents=True)
    before.save(files.model)
    kept = files.model.read_bytes()
    store_run(today, tmp_path, None, old)
    assert files.model.read_bytes() == kept
