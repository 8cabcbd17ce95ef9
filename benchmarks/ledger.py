"""What a long ledger costs its readers: seconds to verify it, and to show a balance.

The ledger is made quickly: its records are those a `Book` writes, stored in one transaction.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa

from pubpriv.data.codec import to_json
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.ledger import event_of
from pubpriv.privacy.budgets import Amount, Budget, ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger, schema
from pubpriv.privacy.ledger.facts import facts_of
from pubpriv.privacy.ledger.records import (
    DatasetState,
    Record,
    RunState,
    apply,
    charge_key,
    state_text,
)
from pubpriv.privacy.ledger.texts import canonical

_DATASET = "visits"
_START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_LEASE = timedelta(minutes=10)
_ANSWER = {"count": [12345]}
_PEOPLE = ("ada", "grace", "emmy")
_RHO = Fraction(1, 1000)
_ASKED = Counts.priced(Everything(), 2 * _RHO)
_QUESTION, _EVENT = to_json(_ASKED), event_of(_ASKED)
_CHUNK = 5000


def bench(charges: int, runs: int, repeats: int = 3) -> dict[str, Any]:
    """Seconds of `ledger verify` and of `budget show`, whole processes, the quickest of `repeats`.

    Args:
        charges: in all; each has an answer.
        runs: among which they are shared.
        repeats: of each command.
    """
    with TemporaryDirectory() as folder:
        url = fill(Path(folder) / "ledger.db", runs, charges // runs)
        verify = min(_seconds("ledger", "verify", _DATASET, "--ledger", url) for _ in range(repeats))
        show = min(_seconds("budget", "show", _DATASET, "--ledger", url) for _ in range(repeats))
    return {
        "bench": "ledger",
        "charges": charges // runs * runs,
        "runs": runs,
        "ratio": verify / 30,
        "ratio_of": "seconds of `ledger verify` over thirty",
        "verify_seconds": verify,
        "show_seconds": show,
    }


def _seconds(*arguments: str) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-c", "from pubpriv.cli.main import main; main()", *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def fill(
    path: str | Path, runs: int, charges_per_run: int, leave_open: int = 1, datasets: Sequence[str] = (_DATASET,)
) -> str:
    """Make a ledger at `path` with datasets (zcdp): every run has its charges, each with an answer.

    Args:
        path: of a file that is not there yet.
        runs: how many.
        charges_per_run: each of rho 1/1000; a run's allotment has room for one more.
        leave_open: so many of the newest runs stay open, the very last of their charges without an answer.
        datasets: their names; runs are of each of them.

    Returns:
        The URL of the ledger; `Ledger.verify` finds nothing wrong with it. 100,000 charges take about 15 s.
    """
    url = f"sqlite:///{path}"
    Ledger.open(url).close()
    engine = sa.create_engine(url)
    try:
        with engine.begin() as connection:
            for dataset in datasets:
                connection.execute(sa.insert(schema.datasets).values(name=dataset))
                rows = _Writer(dataset).rows(runs, charges_per_run, leave_open)
                while chunk := list(islice(rows, _CHUNK)):
                    connection.execute(sa.insert(schema.records), chunk)
    finally:
        engine.dispose()
    return url


class _Writer:
    """Appends as `Book.append` does, without a database between the records."""

    def __init__(self, dataset: str) -> None:
        self._dataset = dataset
        self._seq, self._previous = 0, ""
        self._state, self._run = DatasetState(), RunState()

    def rows(self, runs: int, charges_per_run: int, leave_open: int) -> Iterator[dict[str, Any]]:
        per_run = _RHO * (charges_per_run + 1)
        budget, allotment = ZeroConcentratedDP(per_run * (runs + 3)), ZeroConcentratedDP(per_run)
        yield self._row("registered", {"budget": budget.to_json(), "unit": "one patient", "cap": budget.cap})
        for number in range(runs):
            left_open = number >= runs - leave_open
            yield from self._run_rows(f"run-{number:05d}", allotment, budget, charges_per_run, left_open)

    def _run_rows(
        self, release_id: str, allotment: Budget, budget: Budget, charges: int, left_open: bool
    ) -> Iterator[dict[str, Any]]:
        paid = {"price_run": allotment.price(_EVENT), "price_ledger": budget.price(_EVENT)}
        hold = allotment.hold_on(budget, self._state.cap, self._state.remaining)
        opened = {"allotment": allotment.to_json(), "allotted": allotment.cap, "hold": hold}
        yield self._row("opened", opened, release_id)
        for number in range(charges):
            label, attempt = f"mean/step-{number}", f"{self._seq:032x}"
            key = charge_key(self._dataset, release_id, label)
            lease = {"attempt": attempt, "lease_until": (self._now() + _LEASE).isoformat()}
            body = {"label": label, "question": _QUESTION, "event": _EVENT.to_json(), **lease, **paid}
            yield self._row("charged", body, release_id, key)
            if not (left_open and number == charges - 1):
                yield self._row("published", {"attempt": attempt, "answer": _ANSWER}, release_id, key)
        if not left_open:
            yield self._row("closed", {"reason": "finished"}, release_id)

    def _now(self) -> datetime:
        return _START + timedelta(seconds=20 * self._seq)

    def _row(
        self, kind: str, body: dict[str, Any], release_id: str | None = None, key: str | None = None
    ) -> dict[str, Any]:
        facts = {name: value.to_json() if isinstance(value, Amount) else value for name, value in body.items()}
        run = None if release_id is None or kind == "opened" else self._run
        self._state, run = apply(kind, facts_of(kind, facts), self._state, run)
        self._run = run or self._run
        person = _PEOPLE[int(release_id[-5:]) % len(_PEOPLE)] if release_id else _PEOPLE[0]
        record = Record(
            dataset=self._dataset,
            seq=self._seq,
            kind=kind,
            release_id=release_id,
            key=key,
            body=canonical(facts),
            state=state_text(self._state, run),
            previous_hash=self._previous,
            at=self._now().isoformat(timespec="milliseconds"),
            user=person,
            host="desk-1",
            version="test",
        )
        self._seq, self._previous = self._seq + 1, record.digest()
        return record.columns() | {"hash": self._previous}
