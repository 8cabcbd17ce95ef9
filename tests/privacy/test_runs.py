"""Books: a simulation keeps the ledger's rules; a purse is spent to the last unit."""

from fractions import Fraction

import pytest
from helpers.events import gaussian
from hypothesis import given, settings
from hypothesis import strategies as st

from pubpriv.errors import BudgetExceeded, InvalidInput, RunClosed, SpecMismatch
from pubpriv.privacy.budgets import ApproximateDP, Purse, ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.runs import RecordedRun, SimulatedRun

QUESTION = {"type": "Counts"}
BUDGET = ZeroConcentratedDP("0.5")


@pytest.fixture(params=["simulated", "ledger"])
def books(request, tmp_path):
    """The same run, kept in memory or in a ledger."""
    if request.param == "simulated":
        yield SimulatedRun(BUDGET)
        return
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=BUDGET)
        ledger.run("visits", "r").open(BUDGET)
        yield RecordedRun(ledger, ledger.run("visits", "r"))


def test_both_books_keep_the_same_rules(books):
    """Shares, resumption, one answer, settings, and the end."""
    purse = books.begin("mean", '{"k":1}', "hash", ZeroConcentratedDP("0.2"))
    assert books.begin("mean", '{"k":1}', "hash", ZeroConcentratedDP("0.2")) == purse
    with pytest.raises(SpecMismatch):
        books.begin("mean", '{"k":2}', "hash", ZeroConcentratedDP("0.2"))
    standing = books.charge("mean/a", QUESTION, gaussian("0.15"))
    with pytest.raises(BudgetExceeded, match="share of mean"):
        books.charge("mean/b", QUESTION, gaussian("0.1"))
    assert books.charge("mean/a", {"type": "Other"}, gaussian("0.2")).question == QUESTION
    with pytest.raises(InvalidInput):
        books.publish("mean/b", standing.attempt, {"x": [1]})
    assert books.publish("mean/a", standing.attempt, {"x": [1]}) == {"x": [1]}
    assert books.publish("mean/a", standing.attempt, {"x": [2]}) == {"x": [1]}
    assert books.begin("mixture", "{}", "hash", None).units == 3 * 10**11
    with pytest.raises(BudgetExceeded):
        books.begin("gaussian", "{}", "hash", None)
    assert books.statement().spent == "0.15 rho"
    assert [line.label for line in books.statement().charges] == ["mean/a"]
    books.close("done")
    with pytest.raises(RunClosed):
        books.charge("mixture/a", QUESTION, gaussian("0.01"))
    assert books.find("mean/a").answer == {"x": [1]}


def test_a_new_run_looks_for_no_charge_but_its_own_and_pays_none_twice(tmp_path):
    """Another process charged and answered a label meanwhile: a new run that knows nothing of it gets that answer."""
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=BUDGET)
        run = ledger.run("visits", "r")
        run.open(BUDGET)
        new, other = RecordedRun(ledger, run, new=True), RecordedRun(ledger, ledger.run("visits", "r"))
        for books in (new, other):
            books.begin("mean", "{}", "hash", None)
        other.publish("mean/a", other.charge("mean/a", QUESTION, gaussian("0.1")).attempt, {"x": [1]})
        assert new.find("mean/a") is None
        assert new.charge("mean/a", QUESTION, gaussian("0.1")).answer == {"x": [1]}
        assert new.find("mean/a").answer == {"x": [1]}
        other.charge("mean/b", QUESTION, gaussian("0.1"))
        new.keep()  # as where others get its handle
        assert new.find("mean/b").answer is None
        assert new.statement().spent == "0.2 rho"


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.integers(min_value=10**4, max_value=10**13),
    st.lists(st.integers(min_value=1, max_value=50), min_size=1, max_size=9),
    st.sampled_from([ZeroConcentratedDP(1), ApproximateDP(1, "1e-6")]),
)
def test_the_steps_of_a_purse_cost_no_more_than_it_holds(units, weights, budget):
    """Priced one by one, the steps fit, and less than two units are left."""
    parts = Purse(units, budget.kind).split([Fraction(weight, sum(weights)) for weight in weights])
    paid = sum(budget.price(GaussianEvent(part, ((1 << 40, 1),))).main for part in parts)
    assert units - 2 < paid <= units
