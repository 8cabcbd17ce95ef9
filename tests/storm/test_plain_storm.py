"""Two hundred kill -9 at random moments of the plain driver, each followed by a run that ends.

``make test-storm`` runs this; it prints a line for every twenty runs with ``-s``. A moment is drawn from the
whole length of a clean run, from the making of the ledger, from the opening of the run, or from its questions:
few of the whole would fall into the shorter ones.
"""

import json
import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from jobs import DATASET, RELEASE_ID, faults, ledger_at, make_tables, model_at, processes, records_of, register, run

from pubpriv.mixture.steps import Step, watcher

STORMS = 200
SEED = 20261121
AGAIN = 1 / 3
"""How often the run after a kill is killed too."""

MOST_KILLS = 4
AT_ONCE = (os.cpu_count() or 1) + 1

WINDOWS = ("whole", "making", "whole", "opening", "whole", "asking", "asking")
"""From which part of a clean run the moments are drawn, in turn."""

pytestmark = [pytest.mark.storm, pytest.mark.timeout(3600)]


def whole(folder: str, *models: str) -> None:
    """Make the ledger if it is not there, and run the job once for each model file."""
    register(folder)
    run(folder, *models)


def told(folder: str, model: str, began: float) -> None:
    """`whole`, and the seconds since `began` at which its parts were reached, in `times.json`."""
    reached: dict[str, float] = {}

    def watch(name: str, step: Step) -> Step:
        def watched(*args, **kwargs):
            reached.setdefault(name, time.monotonic() - began)
            return step(*args, **kwargs)

        return watched

    register(folder)
    reached["registered"] = time.monotonic() - began
    watcher.set(watch)
    run(folder, model)
    reached["done"] = time.monotonic() - began
    (Path(folder) / "times.json").write_text(json.dumps(reached))


@dataclass(frozen=True)
class Clean:
    """A clean run: what it charges, and when (seconds from its start) each window of moments begins and ends."""

    tables: Path
    labels: tuple[str, ...]
    spent: int
    windows: dict[str, tuple[float, float]]


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Clean:
    """Clean runs, as many at once as there will be in the storm: that is how long one takes."""
    tables = tmp_path_factory.mktemp("storm")
    make_tables(tables)

    def one(number: int) -> dict[str, float]:
        folder = tables / f"clean-{number}"
        folder.mkdir()
        child = processes.Process(target=told, args=(str(folder), "model.json", time.monotonic()))
        child.start()
        child.join(120)
        assert child.exitcode == 0
        return json.loads((folder / "times.json").read_text())

    one(-1)  # starts the fork server and warms the disk
    with ThreadPoolExecutor(AT_ONCE) as workers:
        times = list(workers.map(one, range(3 * AT_ONCE)))
    at = {name: median(each[name] for each in times) for name in times[0]}
    windows = {
        "whole": (0.0, at["done"]),
        "making": (0.0, at["registered"]),
        "opening": (at["ingest_private"], at["private_pca"]),
        "asking": (at["private_pca"], at["done"]),
    }
    with ledger_at(tables / "clean-0") as ledger:
        charges = ledger.run(DATASET, RELEASE_ID).charges
        return Clean(tables, tuple(charge.label for charge in charges), ledger.balance(DATASET).spent.main, windows)


@dataclass(frozen=True)
class Survivor:
    """What a stormy run met, and what is wrong with it at its end."""

    kills: int
    left: str
    wrong: list[str]


def stage(folder: Path) -> str:
    """How far a killed run came."""
    if not (folder / "ledger.db").exists():
        return "no ledger"
    with ledger_at(folder) as ledger:
        if DATASET not in ledger.datasets():
            return "no dataset"
        records = ledger.records(DATASET)
    kinds = [record.kind for record in records]
    if "closed" in kinds:
        return "closed"
    if kinds.count("charged") > kinds.count("published"):
        return "charged, not answered"
    return "between questions" if "charged" in kinds else kinds[-1]


def survive(clean: Clean, number: int) -> Survivor:
    """Kill a run, and the runs after it as the dice say; let the last one end; look at everything."""
    dice = np.random.default_rng([SEED, number])
    window = clean.windows[WINDOWS[number % len(WINDOWS)]]
    folder = clean.tables / str(number)
    folder.mkdir()
    kills, left, wrong = 0, "", []
    for attempt in range(MOST_KILLS):
        moment = float(dice.uniform(*(window if attempt == 0 else clean.windows["whole"])))
        killed = strike(folder, f"killed-{attempt}.json", moment)
        kills += killed == -signal.SIGKILL
        if killed not in (-signal.SIGKILL, 0):
            wrong.append(f"run {attempt} ended with {killed}")
        # in every second storm it is the next run, not this process, that finds the database as it was left
        if number % 2 == 0 and (folder / "ledger.db").exists():
            wrong += faults(folder)
            left = left or stage(folder)
        if dice.random() > AGAIN:
            break
    last = processes.Process(target=whole, args=(str(folder), "final.json", "replayed.json"))
    last.start()
    last.join(120)
    if last.exitcode != 0:
        return Survivor(kills, left, [*wrong, f"the last run ended with {last.exitcode}"])
    return Survivor(kills, left, wrong + differences(clean, folder))


def strike(folder: Path, model: str, moment: float) -> int | None:
    """Exit code of a run that is killed `moment` seconds after its start, if it is still there."""
    began = time.monotonic()
    child = processes.Process(target=whole, args=(str(folder), model))
    child.start()
    child.join(max(0.0, began + moment - time.monotonic()))
    child.kill()  # SIGKILL
    child.join(60)
    return child.exitcode


def differences(clean: Clean, folder: Path) -> list[str]:
    """What a run that was killed and resumed has that a clean run has not."""
    wrong = faults(folder)
    (final, head), (replayed, _) = model_at(folder / "final.json"), model_at(folder / "replayed.json")
    with ledger_at(folder) as ledger:
        balance = ledger.balance(DATASET)
        ledger.verify(DATASET, expected_head=head)
    if (balance.spent.main, balance.held.main) != (clean.spent, 0):
        wrong.append(f"spent {balance.spent.main} of {clean.spent}, held {balance.held.main}")
    if balance.open_runs:
        wrong.append("the run is still open")
    records = Counter(records_of(folder))
    expected = Counter({(kind, label): 1 for label in clean.labels for kind in ("charged", "published")})
    if Counter({entry: count for entry, count in records.items() if entry[0] != "attempted"}) != expected:
        wrong.append(f"records {records}")
    if final != replayed:
        wrong.append("the replayed model differs")
    killed = [path for path in folder.glob("killed-*.json") if model_at(path)[0] != final]
    return wrong + [f"{path.name} differs from the final model" for path in killed]


def test_two_hundred_kills_cost_nothing_and_change_nothing(clean):
    """However often and whenever it is killed, a run ends with a clean run's charges, answers, cost and model."""
    kills, stages, wrong = 0, Counter(), {}
    with ThreadPoolExecutor(AT_ONCE) as workers:
        for number, found in enumerate(workers.map(lambda number: survive(clean, number), range(STORMS))):
            kills += found.kills
            stages[found.left] += 1
            if found.wrong:
                wrong[number] = found.wrong
            if number % 20 == 19:
                print(f"plain storm: {number + 1} runs, {kills} kills, {len(wrong)} wrong; left: {dict(stages)}")
    assert wrong == {}
    assert kills >= STORMS
    # the dice did reach the moments that matter
    assert {"no dataset", "opened", "started", "charged, not answered", "between questions"} <= stages.keys()
