"""Books that are closed and carried on: every later balance and refusal is what it would have been without."""

import json
import os
import random
import shutil
from contextlib import suppress
from dataclasses import replace

import pytest
import sqlalchemy as sa
from helpers.events import gaussian
from helpers.stores import drop_guards, raw

from pubpriv.errors import BooksClosed, BudgetExceeded, InvalidInput, LedgerViolation, PubPrivError, SpecMismatch
from pubpriv.privacy.budgets import ApproximateDP, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.ledger import Ledger, _custody, _succession, schema
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.ledger._database import Database
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.views import NamedTable

QUESTION = {"type": "Other"}
MONTHS = ("2026-01", "2026-02", "2026-03", None)

in_sqlite = pytest.mark.parametrize("store", ["sqlite"], indirect=True)
in_postgresql = pytest.mark.parametrize("store", ["postgresql"], indirect=True)


def spend(ledger, release_id, rho="0.1", dataset="visits"):
    """A run that charges, is answered, and ends."""
    run = ledger.run(dataset, release_id)
    run.open(ZeroConcentratedDP(rho))
    run.start("mean", f'{{"of":"{release_id}"}}', "hash", None)
    run.publish("mean/a", run.charge("mean/a", QUESTION, gaussian(rho)).attempt, {"x": [1]})
    run.close("done")


def fill(ledger):
    """Two datasets with a table each, and two runs."""
    ledger.register("labs", ApproximateDP(1, "1e-6"))
    ledger.register("visits", ZeroConcentratedDP(1), table=NamedTable("/data/visits.parquet", ("age",)), unit="one")
    spend(ledger, "first")
    spend(ledger, "second", "0.2")
    return ledger


@pytest.fixture
def two(new_ledger_url):
    """A ledger with two runs, and an empty one."""
    with Ledger.open(new_ledger_url()) as old, Ledger.open(new_ledger_url()) as new:
        yield fill(old), new


def takes_charges(ledger):
    """Whether a run can be opened; it is closed again."""
    try:
        name = f"probe-{len(ledger.records('visits'))}"
        ledger.run("visits", name).open(ZeroConcentratedDP("0.01"))
    except InvalidInput:
        return False
    ledger.run("visits", name).close("a probe")
    return True


# -- what is carried on


BUDGETS = {
    "zcdp": (ZeroConcentratedDP(1), None, ()),
    "approx": (ApproximateDP(2, "1e-6"), None, ()),
    "periods": (ZeroConcentratedDP(1), PeriodTerms("month", "seen", ZeroConcentratedDP("0.3")), ()),
    "for ever": (ZeroConcentratedDP(1), PeriodTerms("month", "seen", ZeroConcentratedDP("0.5"), lifetime=False), ()),
    "persons": (ApproximateDP(2, "1e-6"), PeriodTerms("month", "seen", ApproximateDP(1, "1e-6")), ("who",)),
}


DEEDS = {"run": 8, "charge": 14, "close": 3, "raise": 1, "table": 1, "again": 1, "periods": 2}
"""What is done, and how often."""


class Story:
    """Random deeds at a ledger, the same again at another one that is given the same seed."""

    def __init__(self, ledger, kind, seed):
        self.ledger, self.kind, self.seed = ledger, kind, seed
        self.open, self.names = {}, []
        budget, terms, person = BUDGETS[kind]
        late = terms is not None and seed % 2 == 0 and terms.lifetime
        reason = None if terms is None or terms.lifetime else "decided"
        ledger.register("visits", budget, person=person, periods=None if late else terms, reason=reason)
        self.late = terms if late else None

    def act(self, number):
        """One deed; what came of it."""
        choose = random.Random(f"{self.seed}/{number}")
        (what,) = choose.choices([*DEEDS], [*DEEDS.values()])
        try:
            return getattr(self, f"_{what}")(choose, number)
        except BudgetExceeded as refused:
            return "BudgetExceeded", refused.spent, refused.held, refused.requested, refused.remaining
        except (SpecMismatch, BooksClosed):  # an id that was used with another allotment, or in closed books
            return "used before"
        except PubPrivError as refused:
            return type(refused).__name__

    def _run(self, choose, number):
        name, size = f"{choose.choice(['daily', 'weekly'])}-{number}", choose.choice(["0.05", "0.1", "0.4"])
        approx = self.kind in ("approx", "persons") and choose.random() < 0.5
        allotment = ApproximateDP(size, "1e-8") if approx else ZeroConcentratedDP(str(float(size) / 2))
        period = choose.choice(MONTHS) if self.ledger.periods("visits") else None
        run = self.ledger.run("visits", name)
        run.open(allotment, period)
        self.open[name] = allotment
        self.names.append(name)
        run.start(choose.choice(["mean", "gaussian"]), json.dumps({"target": choose.choice("ab")}), "hash", None)
        return name

    def _charge(self, choose, number):
        if not self.open:
            return self._run(choose, number)
        name = choose.choice(sorted(self.open))
        run = self.ledger.run("visits", name)
        standing = run.charge(
            f"other/{number}", QUESTION, gaussian(choose.choice(["0.00002", "0.001", "0.004", "0.02", "0.3"]))
        )
        return run.publish(f"other/{number}", standing.attempt, {"x": [number]}) if choose.random() < 0.8 else None

    def _close(self, choose, _):
        if self.open:
            name = choose.choice(sorted(self.open))
            self.ledger.run("visits", name).close("done")
            del self.open[name]

    def _raise(self, choose, _):
        budget = parse_budget(choose.choice(["zcdp:0.5", "zcdp:1.5"]))
        if self.kind in ("approx", "persons"):
            budget = parse_budget(choose.choice(["approx:1.5,1e-6", "approx:3,1e-6"]))
        self.ledger.register("visits", budget, raise_=True, reason="asked for")

    def _table(self, choose, number):
        self.ledger.register("visits", self.ledger.balance("visits").budget, NamedTable(f"/data/{number}.csv", ("x",)))

    def _again(self, choose, _):
        """An id that was opened before; with another allotment it is refused, closed or not."""
        if self.names:
            self.ledger.run("visits", choose.choice(self.names)).open(ZeroConcentratedDP("0.011"))

    def _periods(self, _, __):
        if self.late is not None:
            budget = self.ledger.balance("visits").budget
            self.ledger.register("visits", budget, periods=self.late, reason="it grows")

    def end_all(self):
        """Close what is open, as has to be before books are closed."""
        for name in sorted(self.open):
            self.ledger.run("visits", name).close("the books are closed")
        self.open = {}

    def seen(self):
        """All that is told of balance, room and past, but for times and hashes."""
        ledger = self.ledger
        outlook, past = ledger.outlook("visits"), ledger.past("visits", 5)
        told = outlook.to_json() | {"chain_head": None, "open_run_details": None}
        told["last_run"] = told["last_run"] and told["last_run"] | {"opened_at": None}
        small = [parse_budget(text) for text in ("zcdp:0.001", "zcdp:0.05")]
        balance = ledger.balance("visits")
        return (
            replace(balance, chain_head="", state=_of_all(balance.state)),
            told,
            (past.earlier, past.spent_earlier, [replace(run, opened_at="") for run in past.runs]),
            [ledger.fitting("visits", each) for each in small],
            [ledger.fitting_in("visits", each, name) for each in small for name in MONTHS if outlook.balance.periods],
            ledger.ended("visits", self.names),
            [
                found and (found[0], found[1]["configuration"])
                for method in ("mean", "gaussian")
                for series in ("daily-", "weekly-")
                for found in [ledger.newest_start("visits", method, lambda name, of=series: name.startswith(of))]
            ],
        )


def _of_all(state):
    """Without the balance of the period of which the newest record is."""
    return replace(state, periods=state.periods and state.periods.of(None))


def both_ways(folder, kind, seed, deeds=36):
    """Tell one story to a ledger that goes on, and to one whose books are closed every dozen deeds."""
    whole = Story(Ledger.open(f"sqlite:///{folder}/whole.db"), kind, seed)
    parts = Story(Ledger.open(f"sqlite:///{folder}/0.db"), kind, seed)
    archives = []
    for number in range(deeds):
        assert whole.act(number) == parts.act(number)
        if number % 12 == 11:
            whole.end_all()
            parts.end_all()
            before = parts.ledger
            parts.ledger = Ledger.open(f"sqlite:///{folder}/{number}.db")
            archives.append(folder / f"{number}.jsonl")
            before.carry_on(parts.ledger, archives[-1])
            assert not takes_charges(before)
            before.verify("visits")
            before.close()
            assert parts.ledger.check_carried(archives[-1])["visits"] == len(parts.names)
        if number % 4 == 3 or number == deeds - 1:
            assert whole.seen() == parts.seen()
    summary = parts.ledger.verify("visits")
    assert _of_all(summary.state) == _of_all(whole.ledger.verify("visits").state)
    for ledger in (whole.ledger, parts.ledger):
        ledger.close()
    return summary


@pytest.mark.parametrize("kind", ["approx", "periods"])
def test_a_history_goes_on_as_if_the_books_had_never_been_closed(tmp_path, kind):
    """Balances, room, refusals with their amounts, newest runs and series: again and again, through three ledgers."""
    assert both_ways(tmp_path, kind, 2, 28).state.spent.main


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", BUDGETS)
def test_many_histories_go_on_as_if_the_books_had_never_been_closed(tmp_path, kind, seed):
    """The same, for more of them."""
    both_ways(tmp_path, kind, 100 + seed)


# -- a machine that stops


STEPS = {
    "append": (Book, "append"),
    "export": (_custody, "export"),
    "commit": (Database, "transaction"),
    "carry": (_succession, "_carry"),
}
"""What is done again and again while books are closed; a transaction is begun after the one before was committed."""


def killed_at(number, old_url, new_url, archive):
    """Carry books on in a process that dies at its so manieth step; whether it came to its end."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))
        for place, name in STEPS.values():
            setattr(place, name, _dying(getattr(place, name), left))
        with suppress(BaseException):
            Ledger.open(old_url).carry_on(Ledger.open(new_url), archive)
            os._exit(0)
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 0


def _dying(right, left):
    """What ends the process once nothing is left."""

    def stop(*arguments, **options):
        if next(left, None) is None:
            os._exit(9)
        return right(*arguments, **options)

    return stop


def stands(old_url, new_url, archive):
    """Whether the old ledger takes charges, the new one does, and the new one waits or begins; then all goes on."""
    with Ledger.open(old_url) as old, Ledger.open(new_url) as new:
        begun = "visits" in new.datasets()
        open_ = takes_charges(old), begun and takes_charges(new)
        for each, shut in ((new, begun and not open_[1]), (old, not open_[0])):
            if shut:
                with pytest.raises(BooksClosed):
                    each.register("another", ZeroConcentratedDP(1))
        spent, runs = old.balance("visits").spent, old.past("visits", 1).earlier + 1
        if not open_[1]:
            assert old.carry_on(new, archive)["visits"] == runs
        assert (takes_charges(old), takes_charges(new)) == (False, True)
        assert new.balance("visits").spent == spent
        assert old.carry_on(new, archive) == new.check_carried(archive) == {"labs": 0, "visits": runs}
    return *open_, begun


@pytest.mark.parametrize("stride", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_wherever_it_is_killed_one_ledger_takes_charges_at_most_and_the_same_call_goes_on(tmp_path, stride):
    """At each record, export and transaction; a ledger that waits or is closed registers nothing new either."""
    base = tmp_path / "base.db"
    with Ledger.open(f"sqlite:///{base}") as ledger:
        fill(ledger)
    Ledger.open(f"sqlite:///{tmp_path}/empty.db").close()
    seen, number, done = set(), 0, False
    while not done:
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, source in (("old", base), ("new", tmp_path / "empty.db")):
            shutil.copy(source, folder / f"{name}.db")
        places = *(f"sqlite:///{folder}/{name}.db" for name in ("old", "new")), folder / "archive.jsonl"
        done = killed_at(number, *places)
        seen.add(stands(*places))
        shutil.rmtree(folder)
        number += stride
    # both open: never; open and nothing waits, open and one waits, closed and it waits, closed and it goes on
    states = {(True, False, False), (True, False, True), (False, False, True), (False, True, True)}
    assert seen == states if stride == 1 else len(seen & states) > 2 and seen <= states


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, 36, 5))
@in_postgresql
def test_wherever_it_is_killed_in_postgresql(new_ledger_url, tmp_path, number):
    """The same, in the other database."""
    places = new_ledger_url(), new_ledger_url(), tmp_path / "archive.jsonl"
    with Ledger.open(places[0]) as ledger:
        fill(ledger)
    killed_at(number, *places)
    assert stands(*places)[:2] != (True, True)


@in_sqlite
def test_while_one_dataset_waits_no_run_of_another_begins(two, tmp_path, monkeypatch):
    """Its private tables are not known yet, and could be read as public rows."""
    old, new = two
    right = _succession._carry

    def only_labs(access, dataset, opening):
        if dataset == "visits":
            raise KeyboardInterrupt
        return right(access, dataset, opening)

    monkeypatch.setattr(_succession, "_carry", only_labs)
    with pytest.raises(KeyboardInterrupt):
        old.carry_on(new, tmp_path / "archive.jsonl")
    assert new.balance("labs").spent.main == 0
    for deed in (
        lambda: new.refuse_private("/data/visits.parquet"),
        lambda: new.bind("labs", NamedTable("/data/visits.parquet", ("age",))),
        lambda: new.balance("visits"),
    ):
        with pytest.raises(BooksClosed, match="do not yet"):
            deed()


# -- what is refused


def test_closed_books_take_nothing_more_and_say_where_they_go_on(two, tmp_path):
    """Not by the ledger, nor by a statement; they are read, verified, exported and restored as ever."""
    old, new = two
    old.carry_on(new, tmp_path / "archive.jsonl")
    head = old.balance("visits").chain_head
    for deed in (
        lambda: old.run("visits", "third").open(ZeroConcentratedDP("0.1")),
        lambda: old.register("visits", ZeroConcentratedDP(2), raise_=True, reason="more"),
        lambda: old.register("visits", ZeroConcentratedDP(1), NamedTable("/data/other.csv", ("age",))),
        lambda: old.register("others", ZeroConcentratedDP(1)),
    ):
        with pytest.raises(BooksClosed, match=f"go on in .*{new.url.rpartition('/')[2]}"):
            deed()
    row = dict.fromkeys(("body", "state", "previous_hash", "hash", "at", "user", "host", "version"), "{}")
    row |= {"dataset": "visits", "seq": len(old.records("visits")), "kind": "raised"}
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), raw(_whole_url(old)) as connection:
        connection.execute(sa.insert(schema.records).values(**row))
    assert old.run("visits", "first").find("mean/a").answer == {"x": [1]}
    old.run("visits", "first").open(ZeroConcentratedDP("0.1"))  # a replay
    assert old.verify("visits", expected_head=head).records == len(old.records("visits"))
    with Ledger.open(f"sqlite:///{tmp_path}/copy.db") as copy:
        copy.restore(tmp_path / "archive.jsonl")
        assert not takes_charges(copy)


def _whole_url(ledger):
    """With the password, where there is one."""
    address = ledger._access.database.address
    return address.url.render_as_string(hide_password=False) if address.url is not None else address.shown


@in_sqlite
def test_an_id_of_closed_books_is_never_opened_again(two, tmp_path):
    """Not in the next ledger, nor in the one after it, nor in one that was restored from its export."""
    old, new = two
    old.carry_on(new, tmp_path / "1.jsonl")
    spend(new, "third")
    with Ledger.open(f"sqlite:///{tmp_path}/3.db") as last, Ledger.open(f"sqlite:///{tmp_path}/copy.db") as copy:
        new.carry_on(last, tmp_path / "2.jsonl")
        last.export(tmp_path / "3.jsonl")
        copy.restore(tmp_path / "3.jsonl")
        for ledger in (last, copy):
            assert "0.4 rho of it was spent in books that were closed" in ledger.verify("visits").unchecked
            for name in ("first", "second", "third"):
                run = ledger.run("visits", name)
                for deed in (lambda run=run: run.open(ZeroConcentratedDP("0.1")), run.bill):
                    with pytest.raises(BooksClosed, match="nothing is asked again"):
                        deed()
            assert ledger.past("visits", 9) == replace(old.past("visits", 9), runs=ledger.past("visits", 9).runs)
            assert [run.release_id for run in ledger.past("visits", 9).runs] == ["first", "second", "third"]
            assert ledger.balance("visits").spent == new.balance("visits").spent
            assert ledger.balance("visits").tables == old.balance("visits").tables
            ledger.verify("visits")


@in_sqlite
def test_books_with_open_runs_stay_open(two, tmp_path):
    """It says which runs, and nothing waits for the books; a run that has charged all it holds is open too."""
    old, new = two
    old.run("visits", "third").open(ZeroConcentratedDP("0.1"))
    old.run("visits", "third").charge("other/a", QUESTION, gaussian("0.1"))
    with pytest.raises(InvalidInput, match=r"third of dataset 'visits'.*budget recover"):
        old.carry_on(new, tmp_path / "archive.jsonl")
    assert new.datasets() == []


def test_books_go_on_in_one_ledger_only(two, new_ledger_url, tmp_path):
    """Not in a second one, in one with datasets of its own, in themselves, or in an empty one for a lost one."""
    old, new = two
    archive = tmp_path / "archive.jsonl"
    with Ledger.open(new_ledger_url()) as other, Ledger.open(new_ledger_url()) as third:
        other.register("visits", ZeroConcentratedDP(5))
        for taken in (other, old):
            with pytest.raises(SpecMismatch, match="not of these books"):
                old.carry_on(taken, archive)
        assert takes_charges(old)
        old.carry_on(new, archive)
        for empty in (third, other):
            with pytest.raises(SpecMismatch):
                old.carry_on(empty, archive)
        assert third.datasets() == []


def test_what_is_written_while_books_are_verified_keeps_them_open(two, tmp_path, monkeypatch):
    """A charge after the verification is in no archive, so nothing is closed; the next call has it."""
    old, new = two
    right = _succession._reserve

    def meanwhile(*arguments):
        spend(old, "meanwhile")
        return right(*arguments)

    monkeypatch.setattr(_succession, "_reserve", meanwhile)
    with pytest.raises(LedgerViolation, match="somebody wrote"):
        old.carry_on(new, tmp_path / "archive.jsonl")
    monkeypatch.setattr(_succession, "_reserve", right)
    assert takes_charges(old)
    old.carry_on(new, tmp_path / "archive.jsonl")
    assert new.balance("visits").spent == old.balance("visits").spent


@in_postgresql
def test_only_the_owner_closes_books(two, tmp_path):
    """A role that may append could, by its rights; it is refused before anything is written."""
    from pubpriv.privacy.ledger.roles import grant

    old, new = two
    with raw(_whole_url(old)) as connection:
        connection.execute(sa.text("CREATE ROLE closing_writer LOGIN PASSWORD 'word'"))
    grant(_whole_url(old), "closing_writer", None)
    url = sa.make_url(_whole_url(old)).set(drivername="postgresql", username="closing_writer", password="word")
    with Ledger.open(url.render_as_string(hide_password=False), create=False) as worker:
        with pytest.raises(InvalidInput, match="by the owner"):
            worker.carry_on(new, tmp_path / "archive.jsonl")
        assert takes_charges(worker)


TWO = {"cap": {"main": "2000000000000", "delta": "0"}, "budget": {"kind": "zcdp", "rho": "2"}}
FORGED = {
    "less spent": ("carried", lambda body: {"spent": {"main": "0", "delta": "0"}}),
    "a larger cap": ("carried", lambda body: TWO),
    "another chain": ("carried", lambda body: {"head": "0" * 64}),
    "a run forgotten": ("remembered", lambda body: {"runs": body["runs"][1:]}),
    "another table": ("declared", lambda body: {"uri": "/data/other.csv"}),
}
"""Which record is changed, and what in it."""


@in_sqlite
@pytest.mark.parametrize("what", FORGED)
def test_a_carried_state_that_was_changed_is_found(two, tmp_path, what):
    """Every balance and hash after it made anew, so that the chain holds; the archive says otherwise."""
    old, new = two
    old.carry_on(new, tmp_path / "archive.jsonl")
    spend(new, "third")
    assert new.check_carried(tmp_path / "archive.jsonl") == {"labs": 0, "visits": 2}
    _forge(new, *FORGED[what])
    new.verify("visits")
    with pytest.raises(LedgerViolation, match="does not carry on the books"):
        new.check_carried(tmp_path / "archive.jsonl")


def _forge(ledger, kind, change):
    """Change what a dataset begins with, and write all that follows anew, as the ledger itself would have."""
    records = ledger.records("visits")
    with raw(_whole_url(ledger)) as connection:
        drop_guards(connection)
        connection.execute(sa.delete(schema.records).where(schema.records.c.dataset == "visits"))
        for record in records:
            body = record.facts()
            body |= change(body) if record.kind == kind else {}
            Book(connection, "visits").append(record.kind, body, record.release_id, record.key)


@in_sqlite
def test_an_archive_that_was_changed_or_is_of_open_books_carries_nothing(two, tmp_path):
    """Cut, touched, or made before the books were closed."""
    old, new = two
    old.export(tmp_path / "before.jsonl")
    old.carry_on(new, tmp_path / "archive.jsonl")
    lines = (tmp_path / "archive.jsonl").read_text().splitlines()
    (tmp_path / "cut.jsonl").write_text("\n".join(lines[:-2] + lines[-1:]) + "\n")
    (tmp_path / "touched.jsonl").write_text("\n".join(lines).replace("/data/visits", "/data/visitt") + "\n")
    for name in ("cut", "touched", "before"):
        with pytest.raises(LedgerViolation):
            new.check_carried(tmp_path / f"{name}.jsonl")
