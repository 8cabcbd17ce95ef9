"""The ledger: pay before the look, one charge and one answer per key, never a refund, nothing rewritten."""

import signal
import stat
from dataclasses import dataclass
from fractions import Fraction

import pytest
import sqlalchemy as sa
from helpers.events import gaussian
from helpers.stores import drop_guards, raw

from pubpriv.errors import BudgetExceeded, InvalidInput, LedgerViolation, RunClosed, SpecMismatch, Unavailable
from pubpriv.privacy._conversions import epsilon_gaussian
from pubpriv.privacy.budgets import Amount, ApproximateDP, PureDP, ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.units import UNIT

QUESTION = {"type": "Counts", "radius": "1"}
COLUMNS = 'kind, release_id, key, body, state, previous_hash, hash, at, "user", host, version, period'


@dataclass(frozen=True)
class Table:
    """What the ledger asks of a table."""

    uri: str
    source_columns: tuple[str, ...] = ("age", "cost")


@pytest.fixture
def ledger(ledger_url):
    """Dataset `visits` with one unit of rho, and an open run `r` of a half."""
    with Ledger.open(ledger_url) as opened:
        opened.register("visits", budget=ZeroConcentratedDP(1))
        opened.run("visits", "r").open(ZeroConcentratedDP("0.5"))
        yield opened


def charge(ledger, label="a", rho="0.1", run="r", question=None):
    """One charge."""
    return ledger.run("visits", run).charge(label, question or QUESTION, gaussian(rho))


def state(ledger):
    """(spent, held) in rho."""
    found = ledger.balance("visits").state
    return found.spent.main / UNIT, found.held.main / UNIT


def test_a_run_holds_a_charge_spends_and_closing_returns_the_rest(ledger):
    """Money moves from held to spent, and what was not charged comes back."""
    assert state(ledger) == (0, 0.5)
    charge(ledger)
    assert state(ledger) == (0.1, 0.4)
    ledger.run("visits", "r").close("done")
    ledger.run("visits", "r").close("done twice")
    assert state(ledger) == (0.1, 0)
    ledger.verify("visits")


def test_no_room_for_a_run_holds_nothing_and_says_why(ledger):
    """The refusal tells spent, held, requested, remaining, the holder, and what would fit."""
    charge(ledger)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.run("visits", "big").open(ZeroConcentratedDP("0.6"))
    for words in ("spent 0.1", "held 0.4", "requested 0.6", "remaining 0.5", "r holds", "fits: zcdp:0.5"):
        assert words in str(refused.value)
    assert state(ledger) == (0.1, 0.4)


def test_no_room_in_the_run_refuses_the_charge(ledger):
    """A run cannot spend more than its allotment although the dataset has room."""
    charge(ledger, "a", "0.4")
    with pytest.raises(BudgetExceeded):
        charge(ledger, "b", "0.100000000001")
    assert state(ledger) == (0.4, 0.1)
    charge(ledger, "b", "0.1")
    assert state(ledger) == (0.5, 0)


def test_resuming_returns_the_stored_question_at_no_cost(ledger):
    """The same label gives back what was stored, whatever is asked now."""
    first = charge(ledger)
    again = charge(ledger, rho="0.3", question={"type": "Other"})
    assert again.question == first.question == QUESTION
    assert again.attempt != first.attempt
    assert state(ledger) == (0.1, 0.4)


def test_the_first_of_two_answers_wins(ledger):
    """Everyone reads the answer that was stored first."""
    standing = charge(ledger)
    assert ledger.run("visits", "r").publish("a", standing.attempt, {"x": [1]}) == {"x": [1]}
    assert ledger.run("visits", "r").publish("a", standing.attempt, {"x": [2]}) == {"x": [1]}
    assert charge(ledger).answer == {"x": [1]}
    assert ledger.run("visits", "r").find("a").answer == {"x": [1]}
    assert ledger.run("visits", "r").find("other") is None


def test_a_late_answer_is_dropped_and_a_closed_run_replays_only(ledger):
    """After closing, answers that stand are read, and nothing else happens."""
    answered, late = charge(ledger, "a"), charge(ledger, "b")
    ledger.run("visits", "r").publish("a", answered.attempt, {"x": [1]})
    ledger.run("visits", "r").close("done")
    with pytest.raises(RunClosed):
        ledger.run("visits", "r").publish("b", late.attempt, {"x": [2]})
    with pytest.raises(RunClosed):
        charge(ledger, "c")
    ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
    assert charge(ledger, "a").answer == {"x": [1]}
    assert ledger.run("visits", "r").find("b").answer is None
    assert state(ledger) == (0.2, 0)


def test_a_release_id_is_bound_to_its_allotment_and_settings(ledger):
    """The same id with another budget, configuration or public table is refused."""
    with pytest.raises(SpecMismatch):
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.4"))
    share = ledger.run("visits", "r").start("mixture", '{"k":3}', "hash", Amount(UNIT // 5))
    assert ledger.run("visits", "r").start("mixture", '{"k":3}', "hash", Amount(UNIT // 5)) == share
    others = [('{"k":4}', "hash", None), ('{"k":3}', "other", None), ('{"k":3}', "hash", Amount(1))]
    for configuration, public, asked in others:
        with pytest.raises(SpecMismatch):
            ledger.run("visits", "r").start("mixture", configuration, public, asked)
    with pytest.raises(BudgetExceeded):
        ledger.run("visits", "r").start("gaussian", "{}", "hash", Amount(UNIT))
    assert ledger.run("visits", "r").start("gaussian", "{}", "hash", None) == Amount(UNIT // 2 - UNIT // 5)
    ledger.run("visits", "r").close("done")
    with pytest.raises(RunClosed):
        ledger.run("visits", "r").start("mean", "{}", "hash", Amount(1))


def test_a_cap_is_raised_with_a_reason_and_never_below_what_is_committed(ledger):
    """Registering again: equal is nothing, higher needs words, too low or another kind is refused."""
    ledger.register("visits", budget=ZeroConcentratedDP(1))
    with pytest.raises(InvalidInput):
        ledger.register("visits", budget=ZeroConcentratedDP(2))
    with pytest.raises(InvalidInput):
        ledger.register("visits", budget=ZeroConcentratedDP(2), raise_=True)
    with pytest.raises(BudgetExceeded):
        ledger.register("visits", budget=ZeroConcentratedDP("0.4"), raise_=True, reason="shrink")
    with pytest.raises(InvalidInput):
        ledger.register("visits", budget=PureDP(2), raise_=True, reason="other kind")
    ledger.register("visits", budget=ZeroConcentratedDP(2), raise_=True, reason="a second study")
    assert ledger.balance("visits").state.cap == Amount(2 * UNIT)
    ledger.verify("visits")


def test_a_dataset_must_be_registered(ledger):
    """The message says how, and which names are known."""
    with pytest.raises(InvalidInput, match=r"knows visits.*budget set other zcdp:RHO"):
        ledger.run("other", "r").open(ZeroConcentratedDP(1))
    for name in ("../x", "", "a b", "-a"):
        with pytest.raises(InvalidInput):
            ledger.register(name, budget=ZeroConcentratedDP(1))


def test_a_path_is_no_table(ledger):
    """It names no columns, so the table is to be opened first."""
    with pytest.raises(InvalidInput, match=r"table=PrivateTable\.open\("):
        ledger.register("visits", budget="zcdp:1", table="patients.csv")


def test_a_table_belongs_to_one_dataset(ledger):
    """Undeclared columns print the line that declares them; another name for the table is refused."""
    ledger.bind("visits", Table("/data/visits.parquet"))
    ledger.bind("visits", Table("/data/visits.parquet", ("age",)))
    with pytest.raises(SpecMismatch, match=r"budget set visits .*--columns income"):
        ledger.bind("visits", Table("/data/visits.parquet", ("income",)))
    ledger.register("mine", budget=ZeroConcentratedDP(1))
    for uri in ("/data/visits.parquet", "/data", "/data/*.parquet"):
        with pytest.raises(SpecMismatch, match="'visits'"):
            ledger.bind("mine", Table(uri))
    ledger.bind("mine", Table("/data2/visits.parquet"))


@pytest.mark.parametrize(
    "statement",
    [
        """UPDATE records SET "user" = 'x'""",
        "DELETE FROM records",
        "DELETE FROM datasets",
        "UPDATE datasets SET name = 'other'",
        "INSERT INTO records SELECT * FROM records WHERE seq = 1",
        f"INSERT INTO records SELECT dataset, 99, {COLUMNS} FROM records WHERE seq = 0",
    ],
)
def test_rows_are_never_changed(ledger, ledger_url, statement):
    """The database refuses to update, delete, replace, and insert elsewhere than at the end."""
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), raw(ledger_url) as connection:
        connection.execute(sa.text(statement))
    ledger.verify("visits")


@pytest.mark.parametrize("table", ["records", "datasets"])
def test_tables_are_never_replaced_or_emptied(ledger, ledger_url, table):
    """Each database has a statement of its own that goes round the triggers for rows."""
    statement = f"TRUNCATE {table} CASCADE"
    if ledger_url.startswith("sqlite"):  # with recursive triggers off, as other programs have them
        statement = f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1"
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), raw(ledger_url) as connection:
        connection.execute(sa.text(statement))
    ledger.verify("visits")


@pytest.mark.parametrize("kind", ["charged", "published", "opened", "closed"])
def test_one_charge_and_one_answer_per_key_are_facts_of_the_database(ledger, ledger_url, kind):
    """A second row for the same key is refused, whoever writes it, at the end of the chain too."""
    standing = charge(ledger)
    ledger.run("visits", "r").publish("a", standing.attempt, {"x": [1]})
    ledger.run("visits", "r").close("done")
    end = len(ledger.records("visits"))
    statement = f"INSERT INTO records SELECT dataset, {end}, {COLUMNS} FROM records WHERE kind = '{kind}'"
    with pytest.raises(sa.exc.DBAPIError, match="append-only"), raw(ledger_url) as connection:
        connection.execute(sa.text(statement))
    without = "DROP TRIGGER records_at_end"
    if ledger_url.startswith("postgresql"):
        without = "ALTER TABLE records DISABLE TRIGGER records_at_end"
    with raw(ledger_url) as connection:
        connection.execute(sa.text(without))
    with pytest.raises(sa.exc.IntegrityError), raw(ledger_url) as connection:  # the unique index, by itself
        connection.execute(sa.text(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET body = replace(body, 'Counts', 'Totals') WHERE kind = 'charged'",
        """UPDATE records SET "user" = 'x' WHERE seq = 1""",
        "UPDATE records SET state = (SELECT state FROM records WHERE seq = 1) WHERE seq = 2",
        "DELETE FROM records WHERE seq = 1",
    ],
)
def test_tampering_is_found(ledger, ledger_url, statement):
    """With the triggers dropped a row can be changed, and verify says so."""
    charge(ledger)
    charge(ledger, "b")
    ledger.verify("visits")
    with raw(ledger_url) as connection:
        drop_guards(connection)
        assert connection.execute(sa.text(statement)).rowcount > 0
    with pytest.raises(LedgerViolation):
        ledger.verify("visits")


def test_only_the_owner_reads_the_files(tmp_path):
    """The database and its side files are 0600, made in a folder that others may read; a wider copy is narrowed."""
    path = tmp_path / "folder" / "ledger.db"
    path.parent.mkdir(mode=0o755)
    with Ledger.open(f"sqlite:///{path}") as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        files = list(path.parent.iterdir())
        assert len(files) >= 2
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    path.chmod(0o644)
    with Ledger.open(f"sqlite:///{path}"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_urls_that_cannot_be_opened(tmp_path):
    """A bad URL is bad input without its password; a file that is no ledger is unavailable."""
    for url in ("mysql://u:hunter2@h/db", "postgresql://u:hunter2@h/", "ledger.db", "", "sqlite://"):
        with pytest.raises(InvalidInput) as refused:
            Ledger.open(url)
        assert "hunter2" not in str(refused.value)
    with pytest.raises(InvalidInput, match="budget set"):
        Ledger.open(f"sqlite:///{tmp_path / 'none.db'}", create=False)
    (tmp_path / "text").write_text("not a database " * 100)
    with pytest.raises(Unavailable):
        Ledger.open(f"sqlite:///{tmp_path / 'text'}")


def test_an_approx_ledger_takes_a_zcdp_run_whole(ledger_url):
    """The last unit of the allotment can be charged in the ledger's other currency."""
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", budget=ApproximateDP(1, "1e-6"))
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.001"))
        for label in range(7):
            charge(ledger, str(label), Fraction(999_999_990, 7 * UNIT))
        with pytest.raises(BudgetExceeded):
            charge(ledger, "more", "0.00000001")
        ledger.verify("visits")


@pytest.fixture
def two_seconds():
    """Ends a test that would hang."""

    def ring(*_):
        pytest.fail("still running after two seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(2)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_epsilon_of_almost_nothing_is_found(two_seconds):
    """A mu so small that delta is met at epsilon 0 ends."""
    assert epsilon_gaussian(Fraction(2, UNIT), Fraction(1, 10**6)) >= 0


def test_a_refusal_with_a_large_delta_ends(ledger_url, two_seconds):
    """Asking an approx ledger for a large delta is refused at once."""
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", budget=ApproximateDP(1, "1e-6"))
        with pytest.raises(BudgetExceeded):
            ledger.run("visits", "r").open(ApproximateDP(1, "0.5"))


def test_no_charge_lowers_what_is_spent(ledger):
    """Whatever the event, nothing is given back."""
    charge(ledger, "a", "0.2")
    with pytest.raises((InvalidInput, ValueError, LedgerViolation)):
        charge(ledger, "b", "-0.1")


def test_an_answer_needs_a_charge(ledger):
    """What was not paid for cannot be answered, and leaves no row."""
    with pytest.raises((InvalidInput, LedgerViolation)):
        ledger.run("visits", "r").publish("never", "attempt", {"x": [42]})


def test_a_file_uri_is_the_same_table(ledger):
    """Another spelling of the path is no second budget."""
    ledger.bind("visits", Table("/data/visits.parquet"))
    ledger.register("mine", budget=ZeroConcentratedDP(1))
    with pytest.raises(SpecMismatch):
        ledger.bind("mine", Table("file:///data/visits.parquet"))


def test_a_name_has_no_newline(ledger):
    """Names end where they seem to end."""
    with pytest.raises(InvalidInput):
        ledger.register("visits\n", budget=ZeroConcentratedDP(1))


def test_what_a_step_made_is_kept_once(ledger):
    """The first value stands for every later run; a closed run keeps nothing more; no money moves."""
    before = state(ledger)
    ledger.run("visits", "r").keep({"mixture/seed-1": {"x": 1.5}})
    ledger.run("visits", "r").keep({"mixture/seed-1": {"x": 1.5}})
    with pytest.raises(Unavailable, match="another process"):
        ledger.run("visits", "r").keep({"mixture/seed-1": {"x": 2.5}})
    ledger.run("visits", "r").close("done")
    ledger.run("visits", "r").keep({"mixture/seed-2": [3]})
    assert ledger.run("visits", "r").notes() == {"mixture/seed-1": {"x": 1.5}}
    assert state(ledger) == (before[0], 0)
    ledger.verify("visits")


def test_a_step_noted_twice_is_a_violation(ledger, ledger_url, monkeypatch):
    """A second note of one step does not follow from the first, whoever wrote it."""
    ledger.run("visits", "r").keep({"mixture/seed-1": 1})
    monkeypatch.setattr(Book, "noted", lambda self, release_id, label: None)
    ledger.run("visits", "r").keep({"mixture/seed-1": 2})
    with pytest.raises(LedgerViolation, match="noted before"):
        ledger.verify("visits")
