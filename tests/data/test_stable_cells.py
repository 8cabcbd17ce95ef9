"""Cells that nobody named: what leaves, what never leaves, and what that costs."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.audit._worlds import in_memory
from pubpriv.data.frames import Frame
from pubpriv.data.questions import StableCells
from pubpriv.data.questions.base import COUNT_FACTOR
from pubpriv.data.scan import scan
from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.ledger import event_of
from pubpriv.privacy._conversions import normal_tail
from pubpriv.privacy.events import GaussianEvent, ThresholdEvent, event_from_json
from pubpriv.privacy.report import run_statement

SD = 1 << 30
LINE = Frame((0.0,))


def asked(rows, frame=LINE, **fields):
    """A question about a table of these rows, with a threshold of six sds."""
    return StableCells(frame, **{"rows": len(rows), "least": 0, "noise_scale": SD, "threshold": 6 * SD} | fields)


def answered(question, rows, noise=0):
    """The answer with the same noise for each cell, in the question's values."""
    totals = scan(in_memory(np.array(rows, dtype=float)), question)
    return question.values(question.answer(totals, lambda part, sd, size: np.full(size, noise, dtype=np.int64)))


def test_the_fullest_cell_of_each_direction_leaves():
    """Cells are numbered by the floor of z, whatever their order, over several blocks; a tie goes to the first."""
    rows = np.r_[np.full((9000, 2), (-0.5, 7e17)), np.full((8000, 2), (3.0, 2.0)), np.full((500, 2), 3.0)]
    found = answered(asked(rows, Frame((0.0, 0.0))), np.random.default_rng(0).permutation(rows))
    assert found["cell"].tolist() == [-1, 7e17]
    assert found["count"].tolist() == [9000, 9000]
    assert answered(asked([[0]] * 80), [[3.0]] * 40 + [[1.0]] * 40)["cell"].tolist() == [1]


def test_records_that_are_not_finite_or_far_out_are_in_no_cell():
    """Each direction by itself: a record may be in a cell of one and in none of another."""
    odd = [math.nan, math.inf, -math.inf, 1e308, -(2.0**62), 5e18]
    found = answered(asked(odd * 100, Frame((0.0, 0.0))), [[cell, 1.0] for cell in odd] * 100)
    assert found["count"].tolist() == [0, 600]


@pytest.mark.parametrize(("beyond", "leaves"), [(-1, False), (0, False), (1, True)])
def test_an_empty_cell_leaves_from_one_step_above_the_margin(beyond, leaves):
    """Released strictly above the threshold: the bound on the discrete tail starts there. 64 bits hold the ends."""
    rows = [[0.5]] * 3
    question = asked(rows, least=2, threshold=2 * COUNT_FACTOR + 5 * SD)
    assert question.margin == 5 * SD
    # a neighbour has two records here, which count as empty: what would have left is what passes `margin`
    found = answered(question, rows, noise=question.margin - COUNT_FACTOR + beyond)
    assert (found["count"][0] > 0) == leaves
    assert answered(question, [[0.5]] * 2 + [[9.5]], noise=(1 << 63) - 1)["count"].tolist() == [0]


def test_as_much_noise_is_drawn_whatever_the_rows_are():
    """And as many counts are priced: what differs between neighbours, never the number of cells."""
    wanted = []
    for rows in (np.zeros((1000, 2)), np.random.default_rng(0).normal(0, 1e6, (1000, 2))):
        question = asked(rows, Frame((0.0, 0.0)), least=1)
        totals = scan(in_memory(rows), question)
        question.answer(totals, lambda part, sd, size: wanted.append((part, sd, size)) or np.zeros(size, np.int64))
        assert event_of(question).gaussian.noise == ((SD, 4),)
    assert wanted[0] == wanted[1] == ("fullest", SD, 1000)


def test_the_price_is_that_of_two_counts_a_direction_and_the_failures_of_one():
    """mu^2 = 2 l w^2 on the safe side, and l tails at the margin, times 1 + e^epsilon, of delta."""
    question = StableCells.priced(Frame((0.0,) * 3), 10**5, 100, Fraction(1, 50), Fraction(11, 2))
    assert Fraction(999_999, 10**6) / 50 < question.squared_distance <= Fraction(1, 50)
    event = event_of(question)
    assert event == event_from_json(event.to_json())
    assert event.tail() == pytest.approx(3 * 1.8989562e-8, rel=1e-6)
    paid, bare = (pp.ApproximateDP(2, "1e-4").price(each).delta for each in (event, event.gaussian))
    assert (paid - bare) / 10**30 == pytest.approx((1 + math.exp(2)) * event.tail(), rel=1e-6)
    assert paid - bare >= (1 + math.exp(2)) * event.tail() * 10**30


@pytest.mark.parametrize("distance", [Fraction(1, 2), Fraction(4), Fraction(21, 2)])
def test_tails_are_rounded_up(distance):
    """Against the complementary error function."""
    exact = math.erfc(float(distance) / math.sqrt(2)) / 2
    assert exact * (1 - 1e-12) <= normal_tail(distance) <= exact * (1 + 1e-9) + 1e-29


@pytest.mark.parametrize(
    "make",
    [
        lambda gaussian: ThresholdEvent(gaussian, 0, 1),
        lambda gaussian: ThresholdEvent(gaussian, 10, 0),
        lambda gaussian: ThresholdEvent(gaussian, 10.0, 1),
        lambda gaussian: ThresholdEvent(replace(gaussian, noise=((SD, 1), (SD, 1))), 10, 1),
        lambda gaussian: ThresholdEvent(Fraction(1), 10, 1),
    ],
)
def test_an_event_without_a_margin_or_counts_is_refused(make):
    """Before anything could be priced."""
    with pytest.raises(InvalidInput, match="threshold event"):
        make(GaussianEvent(Fraction(1), ((SD, 2),)))


def test_more_cells_than_memory_holds_are_refused_whatever_the_rows_are():
    """Each row may be in cells of its own."""
    with pytest.raises(InvalidInput, match="fewer columns"):
        asked(range(10**7), Frame((0.0,) * 20))


@pytest.mark.parametrize("budget", [pp.ZeroConcentratedDP(1), pp.PureDP(1)])
def test_kinds_without_a_delta_refuse_it_and_say_what_would_do(budget):
    """Nothing is read."""
    curator = pp.Curator.simulation(np.zeros((100, 1)), budget, seed=0)
    with pytest.raises(InvalidInput, match="approx budget for the ledger and for the run"):
        curator.release(asked([[0]] * 100), "cells")
    assert not curator.statement().charges


def test_a_ledger_charges_its_failures_answers_once_and_verifies(tmp_path):
    """On disk: delta is spent beside mu^2, a replay is free, a run on a zcdp ledger is refused."""
    pq.write_table(pa.table({"a": np.r_[np.full(900, 2.5), np.arange(100.0)]}), tmp_path / "t.parquet")
    table = pp.PrivateTable.open(tmp_path / "t.parquet", ["a"])
    question = asked([[0]] * 1000)
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=pp.ApproximateDP(4, "1e-4"), table=table)
        curator = pp.Curator(table, ledger, "visits", pp.ApproximateDP(3, "1e-4"), "r1")
        first = curator.release(question, "cells")
        paid = ledger.balance("visits").spent
        assert paid == pp.ApproximateDP(4, "1e-4").price(event_of(question))
        assert paid.delta > 10**30 * (1 + math.exp(4)) * normal_tail(Fraction(6))
        again = curator.release(question, "cells")
        assert ledger.balance("visits").spent == paid
        assert again.values["cell"].tolist() == first.values["cell"].tolist() == [2]
        assert first.values["count"][0] == pytest.approx(901, abs=6 * SD / COUNT_FACTOR)
        with pytest.raises(BudgetExceeded):
            curator.release(replace(question, threshold=2 * SD), "often passed")
        with pytest.raises(InvalidInput, match="number of rows"):
            curator.release(replace(question, rows=999), "other")
        ledger.verify("visits")
        report = run_statement(ledger.balance("visits"), ledger.run("visits", "r1").bill())
        assert report["pld"]["failure"] > 0
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'other.db'}") as ledger:
        ledger.register("visits", budget=pp.ZeroConcentratedDP(1), table=table)
        curator = pp.Curator(table, ledger, "visits", pp.ApproximateDP(0.5, "1e-4"), "r1")
        with pytest.raises(InvalidInput, match="approx budget"):
            curator.release(question, "cells")
        assert ledger.balance("visits").spent.main == 0
