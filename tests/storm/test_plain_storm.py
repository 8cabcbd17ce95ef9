"""Two hundred kill -9 and more at random moments of the plain driver, each followed by a run that ends.

``make test-storm`` runs this; it prints a line for every twenty runs with ``-s``. A moment is drawn from the
whole length of a clean run, from the making of the ledger, from the opening of the run, or from its questions:
few of the whole would fall into the shorter ones.
"""

import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from helpers.forks import processes
from helpers.jobs import DATASET, RELEASE_ID, differences, ledger_at, looked_at, make_tables, register, run

from pubpriv.estimators.steps import Runner, watcher

KILLS = 200
STORMS = 250
"""Runs: some end before the moment that was drawn for them."""

SEED = 20261121
AGAIN = 1 / 3
"""How often the run after a kill is killed too."""

MOST_KILLS = 4
AT_ONCE = (os.cpu_count() or 1) + 1

WINDOWS = ("whole", "making", "whole", "opening", "whole", "asking", "asking")
"""From which part of a clean run the moments are drawn, in turn."""

pytestmark = [pytest.mark.storm, pytest.mark.timeout(3600)]


def told(folder: str, models: tuple[str, ...], reached: Connection) -> None:
    """Make the ledger if it is not there, run the job once for each model file, and tell which step begins."""

    def watch(runner: Runner) -> Runner:
        def watched(step, place, /, *args, **kwargs):
            reached.send(step.name)
            return runner(step, place, *args, **kwargs)

        return watched

    register(folder)
    reached.send("registered")
    watcher.set(watch)
    run(folder, *models)
    reached.send("done")


class Child:
    """A process that runs the job, and how far it has told that it came."""

    # whoever starts a process also asks how all others have ended, and of two who ask at once one is told nothing
    _one_asks = threading.Lock()

    def __init__(self, folder: Path, *models: str) -> None:
        self._reached, writer = processes.Pipe(duplex=False)
        self.process = processes.Process(target=told, args=(str(folder), models, writer))
        self._began = time.monotonic()
        with self._one_asks:
            self.process.start()
        writer.close()

    def seconds_to(self, step: str) -> float:
        """From the start to the first time that `step` begins, or to the child's end."""
        try:
            while self._reached.recv() != step:
                pass
        except EOFError:
            pass
        return time.monotonic() - self._began

    def end(self) -> int | None:
        """Exit code, after the child has come to its end."""
        wait([self.process.sentinel], 120)
        with self._one_asks:
            return self.process.exitcode

    def kill(self, since: str | None, moment: float) -> int | None:
        """Exit code, after kill -9 at `moment` seconds after the step `since`, or after the start."""
        if since is not None:
            self.seconds_to(since)
        wait([self.process.sentinel], moment)
        with self._one_asks:
            self.process.kill()
        return self.end()


@dataclass(frozen=True)
class Clean:
    """A clean run: what it charges, and the windows of moments: after which step, and for how many seconds."""

    tables: Path
    labels: tuple[str, ...]
    spent: int
    windows: dict[str, tuple[str | None, float]]


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Clean:
    """Clean runs, as many at once as there will be in the storm: that is how long one takes."""
    tables = tmp_path_factory.mktemp("storm")
    make_tables(tables)

    def one(number: int) -> dict[str, float]:
        folder = tables / f"clean-{number}"
        folder.mkdir()
        child = Child(folder, "model.json")
        times = {step: child.seconds_to(step) for step in ("registered", "ingest_private", "private_pca", "done")}
        assert child.end() == 0
        return times

    one(-1)  # starts the fork server and warms the disk
    with ThreadPoolExecutor(AT_ONCE) as workers:
        times = list(workers.map(one, range(3 * AT_ONCE)))
    at = {name: median(each[name] for each in times) for name in times[0]}
    windows = {
        "whole": (None, at["done"]),
        "making": (None, at["registered"]),
        "opening": ("ingest_private", at["private_pca"] - at["ingest_private"]),
        "asking": ("private_pca", at["done"] - at["private_pca"]),
    }
    with ledger_at(tables / "clean-0") as ledger:
        charges = ledger.run(DATASET, RELEASE_ID).bill().charges
        return Clean(tables, tuple(charge.label for charge in charges), ledger.balance(DATASET).spent.main, windows)


@dataclass(frozen=True)
class Survivor:
    """What a stormy run met, and what is wrong with it at its end."""

    kills: int
    left: str
    wrong: list[str]


def survive(clean: Clean, number: int) -> Survivor:
    """Kill a run, and the runs after it as the dice say; let the last one end; look at everything."""
    dice = np.random.default_rng([SEED, number])
    folder = clean.tables / str(number)
    folder.mkdir()
    kills, left, wrong = 0, [], []
    for attempt in range(MOST_KILLS):
        since, length = clean.windows[WINDOWS[number % len(WINDOWS)] if attempt == 0 else "whole"]
        code = Child(folder, f"killed-{attempt}.json").kill(since, float(dice.uniform(0, length)))
        kills += code == -signal.SIGKILL
        if code not in (-signal.SIGKILL, 0):
            wrong.append(f"run {attempt} ended with {code}")
        stage, found = looked_at(folder)
        left, wrong = [*left, stage], wrong + found
        if code == -signal.SIGKILL and dice.random() > AGAIN:  # a run that was too quick does not count
            break
    code = Child(folder, "final.json", "replayed.json").end()
    if code != 0:
        return Survivor(kills, left[0], [*wrong, f"the last run ended with {code}"])
    return Survivor(kills, left[0], wrong + differences(folder, clean.labels, clean.spent))


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
    assert kills >= KILLS
    # the dice did reach the moments that matter
    assert {"no dataset", "opened", "charged, not answered", "between questions"} <= stages.keys()
