"""Several processes on one ledger: exactly as many runs as there is room for, and one answer."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from pubpriv.errors import BudgetExceeded
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger

EVENT = GaussianEvent(Fraction(2, 5), ((1 << 30, 1),))


def _charge_and_count(job):
    url, number = job
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        try:
            ledger.open_run("visits", f"run-{number}", ZeroConcentratedDP("0.2"))
        except BudgetExceeded:
            return False
        ledger.charge("visits", f"run-{number}", "a", {"type": "Counts"}, EVENT)
        return True


def _publish(job):
    url, number = job
    with Ledger.open(url) as ledger:
        standing = ledger.charge("visits", "r", "a", {"type": "Counts"}, EVENT)
        return ledger.publish("visits", "r", "a", standing.attempt, {"x": [number]})["x"]


def _in_parallel(work, url, processes):
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        return pool.map(work, [(url, number) for number in range(processes)], chunksize=1)


def test_eight_processes_race_for_room_for_five(tmp_path):
    """Creating, migrating, registering and holding at once: exactly five get in, and the books agree."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    assert sorted(_in_parallel(_charge_and_count, url, 8)) == [False] * 3 + [True] * 5
    with Ledger.open(url) as ledger:
        state = ledger.balance("visits").state
        assert (state.spent, state.held.main) == (state.cap, 0)
        ledger.verify("visits")


def test_six_processes_publish_one_answer(tmp_path):
    """All of them return the same stored answer, paid for once."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.open_run("visits", "r", ZeroConcentratedDP(1))
        answers = _in_parallel(_publish, url, 6)
        assert len(answers) == 6
        assert all(answer == answers[0] for answer in answers)
        assert ledger.balance("visits").state.spent.main == 2 * 10**11
        kinds = [record.kind for record in ledger.records("visits")]
        assert (kinds.count("charged"), kinds.count("published")) == (1, 1)
        ledger.verify("visits")


def test_threads_make_one_ledger(tmp_path):
    """Several threads of one process may open a ledger that does not exist yet."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(Ledger.open, [url] * 4))
    assert [ledger.datasets() for ledger in opened] == [[]] * 4
