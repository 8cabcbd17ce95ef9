"""A simulated year of a fleet: what its ledger takes on disk, and what one more release, and a glance, cost then."""

import os
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.bounded import over_bounds
from benchmarks.ledger import fill
from benchmarks.memory import peak
from pubpriv.data.codec import to_json
from pubpriv.data.questions import Counts
from pubpriv.data.regions import Everything
from pubpriv.flows.status import of_ledger
from pubpriv.ledger import Ledger, event_of, new_release_id
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger.summary import Checkpoint

_CHARGES, _FEW = 4, 100
_ALLOTMENT = ZeroConcentratedDP(Fraction(5, 1000))
_QUESTION = Counts.priced(Everything(), Fraction(2, 1000))

BOUNDS = {
    "release_ratio": 2.0,
    "status_seconds_a_dataset": 0.05,
    "verify_since_seconds_a_dataset": 0.05,
    "kilobytes_a_release": 30.0,
    "megabytes_of_memory": 600.0,
    "kilobytes_a_release_carried_on": 0.5,
    "release_ratio_carried_on": 2.0,
}
"""What a year may come to, and what remains of it in books that carry on those which were closed after it.

`release_ratio` is over a ledger with a hundred runs.
"""


def bench(datasets: int, runs: int, repeats: int = 5) -> dict[str, Any]:
    """Fill a ledger as a year does, and measure one more day: CPU seconds, disk and memory beside their bounds.

    Args:
        datasets: in the ledger.
        runs: of each: an hourly release makes 8,760 a year.
        repeats: of releases and glances, of which the quickest counts.
    """
    names = [f"dataset-{number:03d}" for number in range(datasets)]
    with TemporaryDirectory() as folder:
        young = fill(Path(folder) / "young.db", _FEW, _CHARGES, 0, names[:1])
        path = Path(folder) / "old.db"
        began = time.monotonic()
        old = fill(path, runs, _CHARGES, 0, names)
        filled = time.monotonic() - began
        size = _size(Path(folder), "old.db")
        releases = {url: _quickest(partial(_release, url, names[0]), repeats) for url in (young, old)}
        status = _quickest(lambda: of_ledger(old), repeats)
        with Ledger.open(old, create=False) as ledger:
            began = time.process_time()
            since = Checkpoint.of(ledger.verify(names[0]))
            whole = time.process_time() - began
            new = _quickest(lambda: ledger.verify(names[0], since=since), repeats)
        memory = peak() / 1e6
        carried_on, closing = _close(old, Path(folder))
        kept = _size(Path(folder), "next.db")
        releases |= {carried_on: _quickest(partial(_release, carried_on, names[0]), repeats)}
    found = {
        "release_ratio": releases[old] / releases[young],
        "status_seconds_a_dataset": status / datasets,
        "verify_since_seconds_a_dataset": new,
        "kilobytes_a_release": size / 1000 / (datasets * runs),
        "megabytes_of_memory": memory,
        "kilobytes_a_release_carried_on": kept / 1000 / (datasets * runs),
        "release_ratio_carried_on": releases[carried_on] / releases[young],
    }
    return {
        "bench": "fleet year",
        "datasets": datasets,
        "releases": datasets * runs,
        **over_bounds(found, BOUNDS),
        "release_seconds": releases[old],
        "verify_seconds_a_dataset": whole,
        "closing_seconds_a_dataset": closing / datasets,
        "gigabytes": size / 1e9,
        "seconds_to_fill": filled,
    }


def _release(url: str, dataset: str) -> None:
    """Go through the ledger's part of one more release."""
    with Ledger.open(url, create=False) as ledger:
        run = ledger.run(dataset, new_release_id())
        run.open(_ALLOTMENT)
        run.start("mean", "{}", "0" * 64, None)
        for number in range(_CHARGES):
            label = f"mean/step-{number}"
            charge = run.charge(label, to_json(_QUESTION), event_of(_QUESTION))
            run.publish(label, charge.attempt, {"count": [number]})
        run.close("finished")


def _close(url: str, folder: Path) -> tuple[str, float]:
    """Close the books, and carry them on in a new ledger: its URL, and the CPU seconds that it took."""
    began, new = time.process_time(), f"sqlite:///{folder}/next.db"
    with Ledger.open(url, create=False) as old, Ledger.open(new) as books:
        old.carry_on(books, folder / "archive.jsonl")
    return new, time.process_time() - began


def _size(folder: Path, name: str) -> int:
    return sum(os.path.getsize(each) for each in folder.glob(f"{name}*"))


def _quickest(what: Callable[[], object], repeats: int) -> float:
    found = []
    for _ in range(repeats):
        began = time.process_time()
        what()
        found.append(time.process_time() - began)
    return min(found)
