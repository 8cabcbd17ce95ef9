"""Pay before you look: kill -9 between any two of the door's steps 3 to 8, and run the same release id again."""

import json
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pubpriv import curator
from pubpriv.data import scan
from pubpriv.mixture.job import MixtureJob, run_job
from pubpriv.privacy.books import LedgerBooks
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.book import Book
from pubpriv.privacy.ledger.views import Balance

# children are forked from a process that has the libraries and no threads; what they patch dies with them
processes = multiprocessing.get_context("forkserver")
_LIBRARIES = (
    "mpmath opendp.prelude pandas pyarrow.parquet pytest scipy.cluster.hierarchy scipy.spatial.distance sklearn.mixture"
)
processes.set_forkserver_preload(["pubpriv.mixture.job", "pubpriv.privacy.ledger.store", *_LIBRARIES.split()])

DATASET, RELEASE_ID = "visits", "r1"
FIRST, LATER = "mixture/pca", "mixture/round-1"

POINTS = {
    # point: records of the question that a killed run leaves
    "after find": [],
    "inside the charge": [],
    "after the charge": ["charged"],
    "inside the scan": ["charged"],
    "after the scan": ["charged"],
    "after the noise": ["charged"],
    "inside the publication": ["charged"],
    "after the publication": ["charged", "published"],
}


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

    around(LedgerBooks, "find", after="after find")
    around(Book, "append", after="inside the charge", first="charged")
    around(LedgerBooks, "charge", after="after the charge")
    around(scan, "scan_chunk", after="inside the scan")
    around(curator, "scan", after="after the scan")
    around(LedgerBooks, "publish", before="after the noise", after="after the publication")
    around(Book, "append", after="inside the publication", first="published")


def run(folder: str, *models: str, kill: tuple[str, str] | None = None) -> None:
    """The whole job, once per file name in `models`, in a child process."""
    if kill is not None:
        killed_at(*kill)
    tables = Path(folder).parent
    job = MixtureJob(
        private=str(tables / "private.parquet"),
        public=str(tables / "public.parquet"),
        columns=None,
        n_components=2,
        budget="zcdp:0.5",
        dataset=DATASET,
        ledger=f"sqlite:///{folder}/ledger.db",
        release_id=RELEASE_ID,
    )
    for model in models:
        run_job(job).save(Path(folder) / model)


def in_child(folder: Path, *models: str, kill: tuple[str, str] | None = None) -> int | None:
    child = processes.Process(target=run, args=(str(folder), *models), kwargs={"kill": kill})
    child.start()
    child.join(60)
    return child.exitcode


def ledger_at(folder: Path) -> Ledger:
    return Ledger.open(f"sqlite:///{folder}/ledger.db")


def model_at(path: Path) -> tuple[dict, str]:
    """A model file without time of writing and chain head, which moves when the run is closed; and that head."""
    model = json.loads(path.read_text())
    del model["provenance"]["created"]
    return model, model["provenance"].pop("chain_head")


def records_of(folder: Path) -> list[tuple[str, str]]:
    """(kind, label) of every record that belongs to a charge, oldest first."""
    with ledger_at(folder) as ledger:
        records = ledger.records(DATASET)
    labels = {record.key: record.facts()["label"] for record in records if record.kind == "charged"}
    return [(record.kind, labels[record.key]) for record in records if record.key is not None]


@dataclass(frozen=True)
class Clean:
    """What a run without accidents charges."""

    folder: Path
    labels: tuple[str, ...]
    spent: int


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Clean:
    """Tables of two far groups in three columns, so that every kind of step runs, and one run that nobody kills."""
    tables = tmp_path_factory.mktemp("tables")
    generator = np.random.default_rng(3)
    for name, n in (("private", 900), ("public", 3)):
        rows = generator.standard_normal((n, 3)) + 30.0 * (np.arange(n) % 3 == 2)[:, None]
        pd.DataFrame(rows, columns=["a", "b", "c"]).to_parquet(tables / f"{name}.parquet", row_group_size=400)
    folder = tables / "clean"
    make_ledger(folder)
    assert in_child(folder, "model.json") == 0
    with ledger_at(folder) as ledger:
        charges = ledger.run(DATASET, RELEASE_ID).charges
        return Clean(tables, tuple(charge.label for charge in charges), ledger.balance(DATASET).spent.main)


def make_ledger(folder: Path) -> None:
    folder.mkdir()
    with ledger_at(folder) as ledger:
        ledger.register(DATASET, budget=parse_budget("zcdp:2"))


def test_the_questions_at_which_runs_are_killed_are_the_first_and_a_later_one(clean):
    """A run that nobody kills charges and answers each question once, in turn; the two chosen ones are among them."""
    assert clean.labels[0] == FIRST
    assert LATER in clean.labels[2:-1]
    assert records_of(clean.folder / "clean") == answered(clean.labels)


@dataclass(frozen=True)
class Killed:
    """A run that was killed, what it left, and how the two runs after it ended."""

    exit_codes: tuple[int | None, int | None]
    left: list[tuple[str, str]]
    balance: Balance
    folder: Path


@pytest.fixture(scope="module")
def killed(clean) -> dict[tuple[str, str], Killed]:
    """Every case, two at a time."""

    def case(kill: tuple[str, str], folder: Path) -> Killed:
        first = in_child(folder, "never.json", kill=kill)
        left = records_of(folder)
        with ledger_at(folder) as ledger:
            ledger.verify(DATASET)
            balance = ledger.balance(DATASET)
        second = in_child(folder, "resumed.json", "replayed.json")
        return Killed((first, second), left, balance, folder)

    cases = [(point, label) for point in POINTS for label in (FIRST, LATER)]
    folders = [clean.folder / str(number) for number in range(len(cases))]
    for folder in folders:
        make_ledger(folder)
    with ThreadPoolExecutor(2) as workers:
        return dict(zip(cases, workers.map(case, cases, folders), strict=True))


@pytest.mark.parametrize("label", [FIRST, LATER])
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_run_is_resumed_with_one_charge_and_one_answer_each(clean, killed, point, label):
    """After kill -9 anywhere the same release id ends with one charge and answer per label, at a clean run's cost."""
    case = killed[point, label]
    assert case.exit_codes == (-signal.SIGKILL, 0)
    assert not (case.folder / "never.json").exists()
    assert [kind for kind, name in case.left if name == label] == POINTS[point]
    before = clean.labels[: clean.labels.index(label)]
    assert [entry for entry in case.left if entry[1] != label] == answered(before)
    assert case.balance.open_runs.keys() == {RELEASE_ID}
    assert case.balance.spent.main + case.balance.held.main == parse_budget("zcdp:0.5").cap.main

    drawn_again = {("attempted", label): 1} if POINTS[point] == ["charged"] else {}
    assert Counter(records_of(case.folder)) == Counter(answered(clean.labels)) + Counter(drawn_again)
    (resumed, head), (replayed, _) = model_at(case.folder / "resumed.json"), model_at(case.folder / "replayed.json")
    with ledger_at(case.folder) as ledger:
        balance = ledger.balance(DATASET)
        ledger.verify(DATASET, expected_head=head)
    assert (balance.spent.main, balance.held.main) == (clean.spent, 0)
    assert resumed == replayed
    assert [charge["label"] for charge in resumed["privacy"]["charges"]] == list(clean.labels)


def answered(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Records of questions that were charged and answered in turn."""
    return [(kind, label) for label in labels for kind in ("charged", "published")]
