"""A cap for each period beside that of the dataset: both are enforced at each charge, and nothing is renewed."""

import json
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from pubpriv.errors import BudgetExceeded, InvalidInput, LedgerViolation, SpecMismatch
from pubpriv.privacy.budgets import Amount, ApproximateDP, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.summary import Checkpoint
from pubpriv.privacy.units import UNIT

TENTH = PeriodTerms("month", "seen", ZeroConcentratedDP("0.1"))


def event(rho, noise=1 << 30):
    """A Gaussian that costs so much."""
    return GaussianEvent(2 * Fraction(str(rho)), ((noise, 1),))


def spend(ledger, release_id, rho, period, dataset="visits"):
    """A run that opens with `rho`, and charges all of it."""
    run = ledger.run(dataset, release_id)
    run.open(ZeroConcentratedDP(str(rho)), period)
    run.charge("mean/a", {"type": "Other"}, event(rho))
    run.close("done")


@pytest.fixture
def ledger(ledger_url):
    """A ledger with the dataset `visits`, of 0.35 in all and 0.1 a month."""
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", ZeroConcentratedDP("0.35"), periods=TENTH)
        yield ledger


def spent_of(ledger, period):
    """Rho that a period spent."""
    return next(each.spent.main for each in ledger.balance("visits").by_period if each.name == period) / UNIT


def test_both_caps_hold(ledger):
    """A month has no room beyond its own cap, and all months together none beyond the dataset's."""
    spend(ledger, "a", 0.06, "2026-01")
    with pytest.raises(BudgetExceeded, match=r"its period, which is 0.1-zCDP.*remaining 0.04 rho.*zcdp:0.04"):
        spend(ledger, "b", 0.05, "2026-01")
    spend(ledger, "c", 0.04, "2026-01")
    assert spent_of(ledger, "2026-01") == pytest.approx(0.1)
    for month in ("2026-02", "2026-03"):
        spend(ledger, month, 0.1, month)
    assert ledger.fitting_in("visits", ZeroConcentratedDP("0.1"), "2026-04") == 0
    with pytest.raises(BudgetExceeded, match="what is left of the cap"):
        spend(ledger, "d", 0.1, "2026-04")
    spend(ledger, "e", 0.05, "2026-04")
    assert ledger.verify("visits").state.spent == Amount(int(0.35 * UNIT))


def test_what_a_run_holds_of_a_period_returns_when_it_closes(ledger):
    """What it charged does not, and no other month gets any of it."""
    run = ledger.run("visits", "a")
    run.open(ZeroConcentratedDP("0.1"), "2026-01")
    run.charge("mean/a", {"type": "Other"}, event("0.03"))
    assert ledger.fitting_in("visits", ZeroConcentratedDP("0.01"), "2026-01") == 0
    run.close("done")
    assert ledger.fitting_in("visits", ZeroConcentratedDP("0.01"), "2026-01") == 7
    assert ledger.fitting_in("visits", ZeroConcentratedDP("0.01"), "2026-02") == 10


def test_a_run_without_a_period_counts_in_every_one(ledger):
    """In those to come too; and it has to fit the fullest."""
    spend(ledger, "a", 0.06, "2026-01")
    with pytest.raises(BudgetExceeded, match=r"remaining 0\.04 rho"):
        spend(ledger, "year", 0.05, None)
    spend(ledger, "year", 0.04, None)
    for month, fits in (("2026-01", 0), ("2026-02", 6), ("2031-12", 6)):
        assert ledger.fitting_in("visits", ZeroConcentratedDP("0.01"), month) == fits
    ledger.verify("visits")


def test_charges_from_before_there_were_periods_count_in_every_one(ledger_url):
    """A dataset that takes periods later keeps what it spent, and may not take a cap below it, or with runs open."""
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", ZeroConcentratedDP(1))
        spend(ledger, "a", 0.06, None)
        ledger.run("visits", "open").open(ZeroConcentratedDP("0.01"))
        with pytest.raises(InvalidInput, match="close them first"):
            ledger.register("visits", ZeroConcentratedDP(1), periods=TENTH)
        ledger.run("visits", "open").close("done")
        with pytest.raises(BudgetExceeded, match="counts in every one"):
            ledger.register("visits", ZeroConcentratedDP(1), periods=replace(TENTH, budget=ZeroConcentratedDP("0.05")))
        ledger.register("visits", ZeroConcentratedDP(1), periods=TENTH)
        assert ledger.fitting_in("visits", ZeroConcentratedDP("0.01"), "2026-01") == 4
        assert ledger.run("visits", "a").find("mean/a").question == {"type": "Other"}
        ledger.verify("visits")


def test_terms_never_become_weaker(ledger):
    """Another column, unit or cap is refused; so is a run that changes its period, and a period of another unit."""
    cap = ZeroConcentratedDP("0.35")
    for other in ("week:seen", "month:born"):
        with pytest.raises(SpecMismatch, match="never change"):
            ledger.register("visits", cap, periods=PeriodTerms.parse(other, TENTH.budget))
    with pytest.raises(SpecMismatch, match="never change"):
        ledger.register("visits", cap, periods=replace(TENTH, budget=ZeroConcentratedDP("0.2")))
    ledger.register("visits", cap)
    ledger.register("visits", ZeroConcentratedDP("0.5"), raise_=True, reason="more years")
    assert ledger.periods("visits") == TENTH
    with pytest.raises(InvalidInput, match="is no month"):
        spend(ledger, "w", 0.01, "2026-W10")
    ledger.run("visits", "a").open(ZeroConcentratedDP("0.01"), "2026-01")
    for period in ("2026-02", None):
        with pytest.raises(SpecMismatch, match="opened for 2026-01 only"):
            ledger.run("visits", "a").open(ZeroConcentratedDP("0.01"), period)
    ledger.verify("visits")


def test_a_cap_of_periods_is_of_the_datasets_kind_and_no_larger(ledger_url):
    """And pure DP has none, as its noise is not Gaussian."""
    with Ledger.open(ledger_url) as ledger:
        for per in ("approx:1,1e-6", "zcdp:1.5"):
            with pytest.raises(InvalidInput, match="the cap of a period"):
                ledger.register("visits", "zcdp:1", periods=PeriodTerms("month", "seen", parse_budget(per)))
        with pytest.raises(InvalidInput, match="zcdp:RHO"):
            PeriodTerms("month", "seen", parse_budget("pure:1"))
        with pytest.raises(InvalidInput, match="UNIT:COLUMN"):
            PeriodTerms.parse("minute:seen", TENTH.budget)


def test_the_cap_of_all_periods_is_waived_for_rows_only_and_with_a_reason(ledger):
    """Each month's cap stays; where the unit is a person, months add up, so there the dataset's cap stays."""
    none = replace(TENTH, lifetime=False)
    with pytest.raises(InvalidInput, match="--reason"):
        ledger.register("visits", ZeroConcentratedDP("0.35"), periods=none)
    ledger.register("visits", ZeroConcentratedDP("0.35"), periods=none, reason="a row is in one month")
    for number in range(1, 13):
        spend(ledger, f"m{number}", 0.1, f"2026-{number:02d}")
    with pytest.raises(BudgetExceeded, match="its period"):
        spend(ledger, "again", 0.01, "2026-12")
    assert ledger.balance("visits").promised == TENTH.budget
    assert ledger.verify("visits").state.spent.main == 12 * UNIT // 10
    with pytest.raises(InvalidInput, match="adds up"):
        ledger.register("people", ZeroConcentratedDP(1), person="who", periods=none, reason="why not")


def test_failure_terms_of_a_row_have_half_the_reserve():
    """A row whose date changes is in two months, each with failure terms of its own; a person's months just add up."""
    terms = PeriodTerms("month", "seen", ApproximateDP(1, "1e-6"))
    whole = terms.budget.cap
    assert terms.cap(persons=True) == whole
    assert terms.cap(persons=False) == Amount(whole.main, whole.delta // 2)


def test_failure_terms_are_enforced_by_period(ledger_url):
    """Noise on so many coordinates that its failures fit the dataset's reserve, and not half of that."""
    with Ledger.open(ledger_url) as ledger:
        terms = PeriodTerms("month", "seen", ApproximateDP(1, "1e-6"))
        ledger.register("visits", ApproximateDP(1, "1e-6"), periods=terms)
        run = ledger.run("visits", "a")
        run.open(parse_budget("zcdp:0.02"), "2026-01")
        many = GaussianEvent(Fraction(1, 100), ((1 << 20, 630_000_000),))
        with pytest.raises(BudgetExceeded, match=r"its period's cap.*reserve for failure terms lacks room"):
            run.charge("mean/a", {"type": "Other"}, many)
        ledger.verify("visits")


def test_the_chain_names_periods(ledger, tmp_path):
    """Export, restore, a checkpoint and a witness follow them."""
    spend(ledger, "a", 0.06, "2026-01")
    seen = Checkpoint.of(ledger.verify("visits"))
    spend(ledger, "b", 0.05, "2026-02")
    spend(ledger, "year", 0.01, None)
    assert ledger.verify("visits", since=seen).trusted == seen.records
    assert {record.period for record in ledger.records("visits")} == {None, "2026-01", "2026-02"}
    ledger.export(tmp_path / "export.jsonl")
    with Ledger.open(f"sqlite:///{tmp_path / 'copy.db'}") as copy:
        copy.restore(tmp_path / "export.jsonl")
        assert copy.balance("visits").by_period == ledger.balance("visits").by_period
        spend(copy, "c", 0.02, "2026-01")
    with Ledger.open(f"sqlite:///{tmp_path / 'copy.db'}", witness=tmp_path / "export.jsonl") as witnessed:
        spend(witnessed, "d", 0.01, "2026-01")
        with pytest.raises(BudgetExceeded, match="its period"):
            spend(witnessed, "e", 0.01, "2026-01")


@pytest.mark.parametrize("change", ["another period", "no period", "a lower balance"])
def test_a_record_that_is_of_another_period_is_found(change, tmp_path):
    """By who reads it, and by replay: the period is hashed, its balance follows, and it is that of the run."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger.open(url) as ledger:
        ledger.register("visits", ZeroConcentratedDP(1), periods=TENTH)
        run = ledger.run("visits", "a")
        run.open(ZeroConcentratedDP("0.05"), "2026-01")
        run.charge("mean/a", {"type": "Other"}, event("0.05"))
        record = ledger.records("visits")[-1]
    if change == "a lower balance":
        state = json.loads(record.state)
        state["dataset"]["periods"]["spent"]["main"] = "1"
        forged = replace(record, state=json.dumps(state, sort_keys=True, separators=(",", ":")))
    else:
        forged = replace(record, period=None if change == "no period" else "2026-02")
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("DROP TRIGGER records_no_update")
        values = (forged.period, forged.state, forged.digest(), record.seq)
        connection.execute("UPDATE records SET period = ?, state = ?, hash = ? WHERE seq = ?", values)
    with Ledger.open(url) as ledger:
        with pytest.raises(LedgerViolation, match=r"period of its run|balance differs"):
            ledger.verify("visits")
        with pytest.raises(LedgerViolation, match="nothing is answered"):
            ledger.run("visits", "a").find("mean/a")


def race(url, number):
    """Try to spend in January; say what came of it."""
    with Ledger.open(url) as ledger:
        try:
            spend(ledger, f"r{number}", 0.04, "2026-01")
        except BudgetExceeded:
            return "refused"
    return "spent"


def test_processes_share_the_cap_of_a_period(ledger_url):
    """Of six runs in several processes two fit, whichever come first."""
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", ZeroConcentratedDP(1), periods=TENTH)
    with ProcessPoolExecutor(2) as processes:
        outcomes = list(processes.map(race, [ledger_url] * 6, range(6)))
    assert sorted(outcomes) == ["refused"] * 4 + ["spent"] * 2
    with Ledger.open(ledger_url) as ledger:
        ledger.verify("visits")
        assert spent_of(ledger, "2026-01") == pytest.approx(0.08)
