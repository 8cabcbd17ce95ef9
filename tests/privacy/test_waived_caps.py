"""A dataset whose cap for all periods is waived has one table: who has a row in each of two would lose two caps."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from pubpriv.errors import BudgetExceeded, InvalidInput, SpecMismatch
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.views import NamedTable

CAP = "zcdp:0.15"
TENTH = PeriodTerms("month", "seen", ZeroConcentratedDP("0.1"))
WAIVED = replace(TENTH, lifetime=False)
A, B = (NamedTable(f"/srv/{name}.parquet", ("x",)) for name in "ab")

OLD = Path(__file__).parent / "data" / "two-tables-waived.jsonl"
"""Export of a ledger of dfc0c45e: dataset `visits` (0.15 in all, 0.1 a month, waived) with two tables, of which
January has spent 0.1."""


def waive(ledger, table=A, dataset="visits"):
    """Register a dataset without a cap for all periods together."""
    ledger.register(dataset, CAP, table, periods=WAIVED, reason="a row is in one month")


def spend(ledger, release_id, rho, period):
    """A run that opens with `rho`, and charges all of it."""
    run = ledger.run("visits", release_id)
    run.open(ZeroConcentratedDP(rho), period)
    run.charge("mean/a", {"type": "Other"}, GaussianEvent(2 * Fraction(rho), ((1 << 30, 1),)))
    run.close("done")


@pytest.fixture
def ledger(ledger_url):
    """An empty ledger."""
    with Ledger.open(ledger_url) as ledger:
        yield ledger


def test_there_is_no_second_table_once_the_cap_is_waived(ledger):
    """Whether it was waived before, or in the same call; more columns of the one table may be declared."""
    waive(ledger)
    for periods in (None, WAIVED):
        with pytest.raises(SpecMismatch, match=r"it has one table, /srv/a.parquet: somebody with a row in each"):
            ledger.register("visits", CAP, B, periods=periods)
    ledger.register("visits", CAP, NamedTable(A.uri, ("y",)))
    ledger.register("later", CAP, NamedTable("/srv/c.parquet", ("x",)), periods=TENTH)
    with pytest.raises(SpecMismatch, match="it has one table"):
        waive(ledger, B, "later")
    assert ledger.periods("later").lifetime
    assert [table["uri"] for table in ledger.balance("visits").tables] == [A.uri]


def test_nothing_is_waived_once_there_are_two_tables(ledger):
    """Their months add up for who is in both, within the dataset's cap."""
    ledger.register("visits", CAP, A, periods=TENTH)
    ledger.register("visits", CAP, B)
    with pytest.raises(InvalidInput, match=r"has 2 tables .*leave out --lifetime none"):
        waive(ledger)
    spend(ledger, "january", "0.1", "2026-01")
    with pytest.raises(BudgetExceeded, match="left of the cap"):
        spend(ledger, "february", "0.1", "2026-02")


def test_a_dataset_without_a_table_is_bound_to_one(ledger):
    """A first run binds it; a run of another table is refused."""
    waive(ledger, None)
    ledger.bind("visits", A)
    with pytest.raises(SpecMismatch, match="does not declare the table"):
        ledger.bind("visits", B)


def restored(ledger, _):
    """The old ledger, from its export."""
    ledger.restore(OLD)
    return ledger


def carried_on(ledger, folder):
    """Its books, closed and carried on in a new ledger."""
    with Ledger.open(f"sqlite:///{folder / 'old.db'}") as old:
        old.restore(OLD)
        old.carry_on(ledger, folder / "archive.jsonl")
    return ledger


@pytest.mark.parametrize("road", [restored, carried_on])
def test_a_cap_that_an_earlier_version_waived_for_two_tables_holds(ledger, road, tmp_path):
    """However the books came here: what they spent stands, and both tables together spend no more than the cap."""
    books = road(ledger, tmp_path)
    books.verify("visits")
    assert books.fitting_in("visits", ZeroConcentratedDP("0.1"), "2026-02") == 0
    with pytest.raises(BudgetExceeded, match=r"left of the cap.*zcdp:0.05"):
        spend(books, "february", "0.1", "2026-02")
    assert books.balance("visits").promised == ZeroConcentratedDP("0.15")
    spend(books, "february", "0.05", "2026-02")
    with pytest.raises(BudgetExceeded, match="left of the cap"):
        spend(books, "march", "0.01", "2026-03")
    books.register("visits", "zcdp:0.2", raise_=True, reason="one more month")
    spend(books, "march", "0.05", "2026-03")
    books.verify("visits")


def test_a_table_that_moved_is_the_same_table(ledger, tmp_path):
    """It is asked where it is now, with the columns that were declared, and stays private where it was."""
    waive(ledger, NamedTable(A.uri, ("x",), ("site",)))
    with pytest.raises(InvalidInput, match=r"no other table of dataset 'visits' is called /srv/c.parquet"):
        ledger.register("visits", CAP, B, moved_from="/srv/c.parquet")
    ledger.register("visits", CAP, NamedTable(B.uri, ("y",)), moved_from=A.uri)
    moved = {"uri": B.uri, "columns": ["x", "y"], "groups": ["site"], "moved_from": [A.uri]}
    assert ledger.balance("visits").tables == (moved,)
    before = ledger.balance("visits").chain_head
    ledger.register("visits", CAP, B, moved_from=A.uri)
    assert ledger.balance("visits").chain_head == before
    with pytest.raises(SpecMismatch, match="does not declare the table"):
        ledger.bind("visits", A)
    with pytest.raises(InvalidInput, match="shares files with"):
        ledger.refuse_private(A.uri)
    ledger.register("visits", CAP, A, moved_from=B.uri)
    assert [table["uri"] for table in ledger.balance("visits").tables] == [A.uri]
    with Ledger.open(f"sqlite:///{tmp_path / 'new.db'}") as new:
        ledger.carry_on(new, tmp_path / "archive.jsonl")
        assert new.balance("visits").tables == ledger.balance("visits").tables
        with pytest.raises(InvalidInput, match="shares files with"):
            new.refuse_private(B.uri)
        with pytest.raises(SpecMismatch, match="it has one table"):
            new.register("visits", CAP, B)
