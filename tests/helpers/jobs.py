"""Whole jobs in processes of their own, for tests that kill them: tables, children, and what is left behind."""

import json
import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from helpers.forks import processes
from helpers.seeded import seed_noise
from pubpriv.data import looks, scan
from pubpriv.estimators import MIXTURE
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.runs import RecordedRun

DATASET, RELEASE_ID = "visits", "r1"
CAP, ALLOTMENT = "zcdp:2", "zcdp:0.5"


@dataclass(frozen=True)
class Clean:
    """What a run without accidents charges, and its folder."""

    folder: Path
    labels: tuple[str, ...]
    spent: int


def make_tables(folder: Path) -> None:
    """Tables of two far groups in three columns, so that every kind of step runs."""
    generator = np.random.default_rng(3)
    for name, n in (("private", 900), ("public", 3)):
        rows = generator.standard_normal((n, 3)) + 30.0 * (np.arange(n) % 3 == 2)[:, None]
        pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(folder / f"{name}.parquet", row_group_size=400)


def url_at(folder: Path | str) -> str:
    """The ledger of a folder."""
    return f"sqlite:///{folder}/ledger.db"


def ledger_at(folder: Path | str) -> Ledger:
    return Ledger.open(url_at(folder))


def register(folder: Path | str) -> None:
    """Make the folder's ledger, or find it made."""
    with ledger_at(folder) as ledger:
        ledger.register(DATASET, budget=parse_budget(CAP))


def make_ledger(folder: Path) -> None:
    folder.mkdir()
    register(folder)


def run(folder: str, *models: str, before: Callable[[], None] | None = None) -> None:
    """The whole job, once per file name in `models`; its tables are in the folder's parent.

    Noise is from a seed: what a mixture asks hangs on its answers, of one run in two hundred.
    """
    seed_noise()
    if before is not None:
        before()
    tables = Path(folder).parent
    job = Job.of(
        MIXTURE,
        private=str(tables / "private.parquet"),
        public=str(tables / "public.parquet"),
        columns=None,
        n_components=2,
        budget=ALLOTMENT,
        dataset=DATASET,
        ledger=url_at(folder),
        release_id=RELEASE_ID,
    )
    for model in models:
        run_job(job).save(Path(folder) / model)


def in_child(folder: Path, *models: str, before: Callable[[], None] | None = None) -> int | None:
    """Exit code of `run` in a child process."""
    child = processes.Process(target=run, args=(str(folder), *models), kwargs={"before": before})
    child.start()
    child.join(60)
    return child.exitcode


def run_cleanly(folder: Path) -> Clean:
    """One run that nobody kills, in a folder that is made; `model.json` is what it released."""
    make_ledger(folder)
    assert in_child(folder, "model.json") == 0
    with ledger_at(folder) as ledger:
        charges = ledger.run(DATASET, RELEASE_ID).bill().charges
        return Clean(folder, tuple(charge.label for charge in charges), ledger.balance(DATASET).spent.main)


def killed_at(point: str, label: str) -> None:
    """Patch this process to die at `point` of the question `label`; the product's own functions do the work."""
    asked: list[str] = []

    def die(name: str) -> None:
        if point == name and asked[-1:] == [label]:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(owner: object, name: str, after: str = "", before: str = "", first: str = "") -> None:
        """`owner.name`, dying before or after it; where `first` is given, only if that is its first argument."""
        original = getattr(owner, name)

        def patched(*args, **kwargs):
            if name == "find":
                asked.append(args[1])
            die(before)
            result = original(*args, **kwargs)
            if not first or args[1] == first:
                die(after)
            return result

        setattr(owner, name, patched)

    around(RecordedRun, "find", after="after find")
    around(Book, "append", after="inside the charge", first="charged")
    around(RecordedRun, "charge", after="after the charge")
    around(scan, "_scan_chunk", after="inside the scan")
    around(looks, "scan_together", after="after the scan")
    around(RecordedRun, "publish", before="after the noise", after="after the publication")
    around(Book, "append", after="inside the publication", first="published")


def model_at(path: Path) -> tuple[dict, str]:
    """A model file without its time of writing and its chain head; and that head."""
    model = json.loads(path.read_text())
    del model["provenance"]["created"]
    return model, model["provenance"].pop("chain_head")


def records_of(folder: Path) -> list[tuple[str, str]]:
    """(kind, label) of every record that belongs to a charge, oldest first."""
    with ledger_at(folder) as ledger:
        records = ledger.records(DATASET)
    labels = {record.key: record.facts()["label"] for record in records if record.kind == "charged"}
    return [(record.kind, labels[record.key]) for record in records if record.key is not None]


def answered(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Records of questions that were charged and answered in turn."""
    return [(kind, label) for label in labels for kind in ("charged", "published")]


def faults(folder: Path) -> list[str]:
    """What is wrong with the books that a killed run left in a folder; nothing, one hopes.

    The file is an intact database, chain and sums verify, each answer follows exactly one charge under its key,
    and no key has two answers.
    """
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        integrity = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    found = [] if integrity == ["ok"] else [f"integrity check: {integrity}"]
    if "records" not in tables:
        return found if not tables else [*found, f"half a ledger: {sorted(tables)}"]
    with ledger_at(folder) as ledger:
        if DATASET not in ledger.datasets():
            return found
        ledger.verify(DATASET)
        records = ledger.records(DATASET)
    seen: dict[str, list[str]] = {}
    for record in records:
        if record.key is not None:
            seen.setdefault(record.key, []).append(record.kind)
    for kinds in seen.values():
        charges = kinds.count("charged"), kinds.index("charged") if "charged" in kinds else None
        if charges != (1, 0) or kinds.count("published") > 1:
            found += [f"a key has the records {kinds}"]
    return found


def looked_at(folder: Path) -> tuple[str, list[str]]:
    """How far a killed run came, and what is wrong with its books.

    A copy is looked at: it is the next run, not this process, that finds the database as it was left.
    """
    if not (folder / "ledger.db").exists():
        return "no ledger", []
    with TemporaryDirectory() as name:
        for file in folder.glob("ledger.db*"):
            if not file.name.endswith("-shm"):  # shared memory of processes that are no more
                shutil.copy(file, name)
        wrong = faults(Path(name))
        with ledger_at(name) as ledger:
            kinds = [record.kind for record in ledger.records(DATASET)] if DATASET in ledger.datasets() else []
    if not kinds:
        return "no dataset", wrong
    if kinds.count("charged") > kinds.count("published"):
        return "charged, not answered", wrong
    return "between questions" if kinds[-1] == "published" else kinds[-1], wrong


def differences(folder: Path, labels: Sequence[str], spent: int) -> list[str]:
    """What a run that was killed and resumed has that a clean run, which charged `labels` and `spent`, has not.

    The folder holds `final.json`, `replayed.json`, and `killed-*.json` where a killed run came so far.
    """
    wrong = faults(folder)
    final, replayed = model_at(folder / "final.json"), model_at(folder / "replayed.json")
    with ledger_at(folder) as ledger:
        balance = ledger.balance(DATASET)
        ledger.verify(DATASET, expected_head=final[1])
    if (balance.spent.main, balance.held.main) != (spent, 0):
        wrong.append(f"spent {balance.spent.main} of {spent}, held {balance.held.main}")
    if balance.open_runs:
        wrong.append("the run is still open")
    records = [entry for entry in records_of(folder) if entry[0] != "attempted"]
    if Counter(records) != Counter(answered(labels)):
        wrong.append(f"records {records}")
    if final != replayed:
        wrong.append("the replayed model differs")
    killed = [path for path in folder.glob("killed-*.json") if model_at(path) != final]
    return wrong + [f"{path.name} differs from the final model" for path in killed]
