"""Questions that are no sums, asked of one row of each person: which rows count, what it costs, and a whole run."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.frames import Frame
from pubpriv.data.person_table import PersonTable
from pubpriv.data.persons import first_of, weights_of
from pubpriv.data.questions import InPeriod, PerPerson, Radial, Selection, StableCells
from pubpriv.data.questions.radial import RADIAL, draws_of, under_law
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import InvalidInput
from pubpriv.ledger import event_of
from pubpriv.privacy.events import PureEvent, ThresholdEvent

CELLS = StableCells.priced(Frame((0.0, 0.0)), 300, 1, Fraction(1), Fraction(6))
CHOICE = Selection.priced(Frame((0.0, 0.0)), 300, 1.0, 3, 0.05, Fraction(1))


def test_as_many_rows_as_there_is_room_for(tmp_path):
    """However many persons a file has, over row groups, the cells of the last rows of the first 300 are counted."""
    generator = np.random.default_rng(0)
    who = generator.integers(0, 900, 2000)
    frame = pd.DataFrame({"a": 10.0 * np.arange(2000), "b": 0.5, "who": who})
    frame.to_parquet(tmp_path / "t.parquet", index=False, row_group_size=150)
    table = PersonTable(PrivateTable.open(tmp_path / "t.parquet", ["a", "b"], person="who"))
    totals = scan(table.asked(PerPerson(CELLS, 1, 1)), PerPerson(CELLS, 1, 1))
    last = np.sort(frame.drop_duplicates("who", keep="last").index)[:300]
    assert totals["cell"][totals["direction"] == 0].tolist() == (10 * last).tolist()
    assert totals["count"][totals["direction"] == 1].tolist() == [300]
    more = replace(CELLS, rows=100_000)  # and the same table is asked with room for all
    totals = scan(table.asked(PerPerson(more, 1, 1)), PerPerson(more, 1, 1))
    assert totals["count"][totals["direction"] == 1].tolist() == [len({*who.tolist()})]


def test_the_first_rows_are_told_across_chunks():
    """Weights of 0 and 1; chunks may be empty."""
    weights = [np.array(own, dtype=np.uint8) for own in ([0, 1, 1], [], [1, 0, 1], [1])]
    assert [own.tolist() for own in first_of(weights, 3)] == [[0, 1, 1], [], [1, 0, 0], [0]]
    keys = np.array([5, 7, 5, 0, 7, 5], dtype=np.uint64)
    assert weights_of(keys, 1, 1).tolist() == [0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize("inner", [CELLS, CHOICE])
def test_it_costs_and_draws_what_the_question_within_does(inner):
    """With its failures, wrapped in a period too, stored and read back; no law of a run changes it."""
    asked = PerPerson(inner, 1, 1)
    for question in (asked, InPeriod(asked, "2026-10"), from_json(to_json(asked)), under_law(RADIAL, asked)):
        assert event_of(question) == event_of(inner)
        assert draws_of(question) == draws_of(inner)
    assert isinstance(event_of(asked), ThresholdEvent | PureEvent)
    with pytest.raises(InvalidInput, match="one row of each person"):
        PerPerson(inner, 1, 64)
    with pytest.raises(InvalidInput, match="noise of its own"):
        Radial(asked)


@pytest.mark.long
def test_a_gaussian_of_persons_without_public_rows(tmp_path):
    """On a ledger: near the truth, charged with its failures, replayed on the table without a person for nothing."""
    generator = np.random.default_rng(1)
    who = generator.permutation(np.repeat(np.arange(6000), np.r_[50, generator.integers(1, 4, 5999)]))
    level = generator.normal(size=(6000, 2))
    cells = (0.7 * level[who] + 0.714 * generator.normal(size=(len(who), 2))) * [3.0, 50.0] + [100.0, -2000.0]
    frame = pd.DataFrame(cells, columns=["a", "b"]).assign(who=who)
    url = f"sqlite:///{tmp_path}/ledger.db"
    with pp.Ledger.open(url) as ledger:
        ledger.register("visits", "approx:8,1e-6", person="who")

        def run():
            frame.to_parquet(tmp_path / "t.parquet", index=False)
            table = pp.PrivateTable.open(tmp_path / "t.parquet", ["a", "b"], person="who")
            curator = pp.Curator(table, ledger, "visits", "approx:4,1e-6", "r")
            return pp.estimate_gaussian(None, curator, method="no-public")

        found = run()
        assert found.mean == pytest.approx([100, -2000], abs=6)
        assert np.sqrt(np.diag(found.covariance)) == pytest.approx([3, 50], rel=0.1)
        charged = [record.facts() for record in ledger.records("visits") if record.kind == "charged"]
        assert sum(each["event"]["event"] == "threshold" for each in charged) == 8
        spent = ledger.balance("visits").spent
        frame = frame[frame.who != 0]
        assert run().to_json()["covariance"] == found.to_json()["covariance"]
        assert ledger.balance("visits").spent == spent
        ledger.verify("visits")
