"""What a release costs its ledger after a year, over what it costs on the first days; and a night's verification."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.ledger import fill
from pubpriv.ledger import Ledger
from pubpriv.privacy.ledger.summary import Checkpoint
from pubpriv.released.report import History

_DATASET = "visits"
_FEW, _CHARGES = 100, 4
_AT_MOST = 0.05


def bench(runs: int, repeats: int = 5) -> dict[str, Any]:
    """Measure the CPU seconds of a budget's history, as each release shows it twice, and of verifying what is new.

    Args:
        runs: in the old ledger, of four charges each: an hourly release makes 8,760 a year.
        repeats: of which the quickest counts.
    """
    with TemporaryDirectory() as folder:
        urls = [fill(Path(folder) / f"{number}.db", number, _CHARGES) for number in (_FEW, runs)]
        young, old = (_seconds(url, _history, repeats) for url in urls)
        with Ledger.open(urls[1], create=False) as ledger:
            started = time.process_time()
            summary = ledger.verify(_DATASET)
            whole = time.process_time() - started
        since = Checkpoint.of(summary)
        newest = _seconds(urls[1], lambda ledger: ledger.verify(_DATASET, since=since), repeats)
    return {
        "bench": "fleet",
        "runs": runs,
        "charges": runs * _CHARGES,
        "ratio": old / _AT_MOST,
        "ratio_of": f"CPU seconds of a budget's history over {_AT_MOST}",
        "history_seconds": old,
        "history_over_that_of_100_runs": old / young,
        "verify_seconds": whole,
        "verify_since_seconds": newest,
        "verify_since_over_verify": newest / whole,
    }


def _history(ledger: Ledger) -> object:
    return History.of(ledger, _DATASET, "run-00001")


def _seconds(url: str, what: Callable[[Ledger], object], repeats: int) -> float:
    found = []
    with Ledger.open(url, create=False) as ledger:
        for _ in range(repeats):
            started = time.process_time()
            what(ledger)
            found.append(time.process_time() - started)
    return min(found)
