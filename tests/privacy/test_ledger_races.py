"""Many processes on one ledger: as many charges as there is room for, one answer a key, and no other error."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import pytest
from helpers.forks import processes

from pubpriv.errors import BudgetExceeded, PubPrivError, RunClosed
from pubpriv.privacy.budgets import Amount, ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.units import UNIT

pytestmark = pytest.mark.long

EVENT = GaussianEvent(Fraction(2, 40), ((1 << 30, 1),))
"""Costs a fortieth of the budget."""

QUESTION = {"type": "Counts"}


@dataclass(frozen=True)
class Racer:
    """What one of many processes does, from one moment on."""

    url: str
    number: int
    start_at: float


def _in_parallel(work, url, racers):
    start_at = time.time() + 0.3 + racers / 90  # until all of them wait at the line
    with processes.Pool(racers) as pool:
        return pool.map(work, [Racer(url, number, start_at) for number in range(racers)], chunksize=1)


def _on_your_marks(racer):
    time.sleep(max(0.0, racer.start_at - time.time()))


def _attempt(act):
    """`granted`, or the class and text of what was raised."""
    try:
        act()
    except PubPrivError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    return "granted"


def _charge_one_run(racer):
    with Ledger.open(racer.url) as ledger:
        _on_your_marks(racer)
        return _attempt(lambda: ledger.run("visits", "r").charge(f"step-{racer.number}", QUESTION, EVENT))


def _open_a_run(racer):
    """Creates, migrates, registers, holds and charges: whatever is missing is made by whoever comes first."""
    _on_your_marks(racer)

    def act():
        with Ledger.open(racer.url) as ledger:
            ledger.register("visits", budget=ZeroConcentratedDP(1))
            ledger.run("visits", f"run-{racer.number}").open(ZeroConcentratedDP("0.025"))
            ledger.run("visits", f"run-{racer.number}").charge("a", QUESTION, EVENT)

    return _attempt(act)


def _ask_one_key(racer):
    with Ledger.open(racer.url) as ledger:
        _on_your_marks(racer)
        standing = ledger.run("visits", "r").charge("a", QUESTION, EVENT)
        own = {"x": [racer.number]}
        return standing.answer or ledger.run("visits", "r").publish("a", standing.attempt, own)


def _charge_until_closed(racer):
    with Ledger.open(racer.url) as ledger:
        _on_your_marks(racer)
        if racer.number == 0:
            ledger.run("visits", "r").close("recovered by hand")
            return "closed"

        def act():
            for step in range(4):
                label = f"{racer.number}/{step}"
                standing = ledger.run("visits", "r").charge(label, QUESTION, EVENT)
                ledger.run("visits", "r").publish(label, standing.attempt, {"x": [step]})

        return _attempt(act)


@pytest.fixture
def one_run(ledger_url):
    """A ledger whose run `r` has room for forty charges of `EVENT`."""
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.run("visits", "r").open(ZeroConcentratedDP(1))
    return ledger_url


def _refusals(outcomes):
    return [outcome for outcome in outcomes if outcome != "granted"]


def _as_many_as_there_is_room_for(outcomes, url, room=40):
    refused = _refusals(outcomes)
    assert [text for text in refused if not text.startswith(BudgetExceeded.__name__)] == []
    assert len(refused) == len(outcomes) - room
    with Ledger.open(url) as ledger:
        state = ledger.balance("visits").state
        assert (state.spent, state.held) == (state.cap, Amount(0))
        assert sum(record.kind == "charged" for record in ledger.records("visits")) == room
        ledger.verify("visits")


def test_sixteen_processes_race_for_room_for_ten_charges(ledger_url):
    """Exactly ten get in, the others get the refusal and nothing else, and the books agree."""
    with Ledger.open(ledger_url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP("0.25"))
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.25"))
    _as_many_as_there_is_room_for(_in_parallel(_charge_one_run, ledger_url, 16), ledger_url, room=10)


@pytest.mark.slow
def test_sixty_four_processes_race_for_room_for_forty_charges(one_run):
    """The same of many more."""
    _as_many_as_there_is_room_for(_in_parallel(_charge_one_run, one_run, 64), one_run)


@pytest.mark.slow
def test_sixty_four_runs_race_for_room_for_forty(store):
    """The same for holds, on a ledger that does not exist when they begin."""
    url = store.new_url()
    _as_many_as_there_is_room_for(_in_parallel(_open_a_run, url, 64), url)


def test_sixteen_processes_ask_one_key(one_run):
    """One charge, one answer, sixteen equal results."""
    answers = _in_parallel(_ask_one_key, one_run, 16)
    assert len(answers) == 16
    assert all(answer == answers[0] for answer in answers)
    with Ledger.open(one_run) as ledger:
        assert ledger.balance("visits").state.spent.main == UNIT // 40
        kinds = Counter(record.kind for record in ledger.records("visits"))
        assert (kinds["charged"], kinds["published"]) == (1, 1)
        ledger.verify("visits")


def test_a_run_is_recovered_while_eight_processes_charge_it(one_run):
    """Each ends with `RunClosed`, or was done before; nothing is charged or answered after the end."""
    outcomes = _in_parallel(_charge_until_closed, one_run, 9)
    assert outcomes.count("closed") == 1
    stopped = [text for text in outcomes if text not in ("closed", "granted")]
    assert {text.partition(":")[0] for text in stopped} <= {RunClosed.__name__}
    with Ledger.open(one_run) as ledger:
        records = ledger.records("visits")
        assert records[-1].kind == "closed"
        assert ledger.balance("visits").held == Amount(0)
        ledger.verify("visits")


def test_two_datasets_race_for_one_table(ledger_url):
    """One of them gets it, whoever is first; the other is told whose it is."""
    with Ledger.open(ledger_url) as ledger:
        for dataset in ("a", "b"):
            ledger.register(dataset, budget=ZeroConcentratedDP(1))
    outcomes = _in_parallel(_bind, ledger_url, 8)
    with Ledger.open(ledger_url) as ledger:
        owners = [name for name in ("a", "b") if ledger.balance(name).tables]
    assert len(owners) == 1
    assert outcomes.count("granted") == 4
    assert all("belongs to dataset" in text for text in _refusals(outcomes))


@dataclass(frozen=True)
class _Table:
    uri: str = "/data/visits.parquet"
    source_columns: tuple[str, ...] = ("age",)


def _bind(racer):
    with Ledger.open(racer.url) as ledger:
        _on_your_marks(racer)
        return _attempt(lambda: ledger.bind("ab"[racer.number % 2], _Table()))


def test_threads_make_one_ledger(store):
    """Several threads of one process may open a ledger that does not exist yet."""
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(Ledger.open, [store.new_url()] * 4))
    assert [ledger.datasets() for ledger in opened] == [[]] * 4
    for ledger in opened:
        ledger.close()
