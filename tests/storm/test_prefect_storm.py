"""Twenty kill -9 of a flow at work, each followed by the same command again.

The command is the real one, in processes of its own, with its private server. Every second time the server is
killed with it, and otherwise it has to end by itself.
"""

import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from helpers.jobs import (
    ALLOTMENT,
    DATASET,
    RELEASE_ID,
    differences,
    in_child,
    ledger_at,
    looked_at,
    make_ledger,
    make_tables,
    url_at,
)

STORMS = 20
SEED = 20261121
AGAIN = 1 / 4
"""How often the run after a kill is killed too."""

MOST_KILLS = 3
AT_ONCE = 2
PATIENCE = 60
"""Seconds in which a server that lost its flow has to end."""

BEGUN, DONE = "ingest public table", "model written"
"""What the command says when its flow begins, and at its end: it names every step between."""

pytestmark = [
    pytest.mark.storm,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are followed through /proc"),
]


class Flow:
    """`pubpriv fit mixture` in a process group of its own; the processes that it started are remembered."""

    def __init__(self, folder: Path, model: str) -> None:
        tables = folder.parent
        options = {
            "--private": tables / "private.parquet",
            "--public": tables / "public.parquet",
            "--components": 2,
            "--budget": ALLOTMENT,
            "--dataset": DATASET,
            "--ledger": url_at(folder),
            "--out": folder / model,
            "--release-id": RELEASE_ID,
        }
        words = [str(word) for option in options.items() for word in option]
        settings = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        self._began = time.monotonic()
        self.said: list[str] = []
        self.started: set[tuple[int, str]] = set()
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from pubpriv.cli.main import main; main()", "fit", "mixture", "--prefect", *words],
            env={**settings, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def lines(self) -> Iterator[tuple[str, float]]:
        """What the command says, from the beginning of its flow on, each with the seconds since its start."""
        begun = False
        for line in self.process.stderr:
            self.said.append(line.strip())
            begun = begun or BEGUN in line
            if begun:
                yield line.strip(), time.monotonic() - self._began

    def end(self) -> int:
        """Exit code, after it has come to its end."""
        self.started |= descendants(self.process.pid)
        self.said += self.process.communicate(timeout=300)[1].splitlines()
        return self.process.returncode

    def kill(self, line: int, moment: float, server: bool) -> int:
        """Exit code, after kill -9 at `moment` seconds after a line, counted from 0, with its server or without."""
        deque(islice(self.lines(), line + 1), maxlen=0)
        try:
            self.process.wait(moment)
        except subprocess.TimeoutExpired:
            self.started |= descendants(self.process.pid)
            for pid in [self.process.pid, *(pid for pid, _ in self.started if server)]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return self.end()


def descendants(pid: int) -> set[tuple[int, str]]:
    """Processes below `pid`, each with its time of start: a number may be given again, the pair is not."""
    found = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            below = children.read_text().split()
        except OSError:  # the thread ended meanwhile
            continue
        for child in map(int, below):
            found |= {(child, began(child)), *descendants(child)}
    return found


def began(pid: int) -> str:
    """Time of start of a process, in the kernel's ticks; empty if it is no more, or waits only to be forgotten."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]


def left_over(started: set[tuple[int, str]]) -> list[int]:
    """Which of the processes are still there after some patience; they are ended."""
    deadline = time.monotonic() + PATIENCE
    while alive := [pid for pid, start in started if start and began(pid) == start]:
        if time.monotonic() > deadline:
            for pid in alive:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return alive
        time.sleep(0.2)
    return []


@dataclass(frozen=True)
class Clean:
    """A clean run: what it charges, and the seconds from each line that it says to the next."""

    tables: Path
    labels: tuple[str, ...]
    spent: int
    gaps: tuple[float, ...]


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Clean:
    """Clean runs, as many at once as there will be in the storm."""
    tables = tmp_path_factory.mktemp("flows")
    make_tables(tables)

    def one(number: int) -> list[float]:
        folder = tables / f"clean-{number}"
        make_ledger(folder)
        flow = Flow(folder, "model.json")
        times = []
        for line, seconds in flow.lines():
            times.append(seconds)
            if DONE in line:
                break
        assert flow.end() == 0, flow.said
        assert left_over(flow.started) == []
        return times

    with ThreadPoolExecutor(AT_ONCE) as workers:
        times = np.mean(list(workers.map(one, range(AT_ONCE))), axis=0)
    with ledger_at(tables / "clean-0") as ledger:
        labels = tuple(charge.label for charge in ledger.run(DATASET, RELEASE_ID).bill().charges)
        return Clean(tables, labels, ledger.balance(DATASET).spent.main, tuple(np.diff(times).tolist()))


@dataclass(frozen=True)
class Survivor:
    """What a stormy run met, what it started, and what is wrong with it at its end."""

    kills: int
    left: str
    started: set[tuple[int, str]]
    wrong: list[str]


def survive(clean: Clean, number: int) -> Survivor:
    """Kill a command, and perhaps the next one; let the last one end; look at everything."""
    dice = np.random.default_rng([SEED, number])
    folder = clean.tables / str(number)
    make_ledger(folder)
    kills, left, wrong, started = 0, [], [], set()
    for attempt in range(MOST_KILLS):
        line = int(dice.integers(len(clean.gaps)))
        flow = Flow(folder, f"killed-{attempt}.json")
        code = flow.kill(line, float(dice.uniform(0, clean.gaps[line])), server=number % 2 == 0)
        kills += code == -signal.SIGKILL
        started |= flow.started
        if code not in (-signal.SIGKILL, 0):
            wrong.append(f"run {attempt} ended with {code}: {flow.said}")
        stage, found = looked_at(folder)
        left, wrong = [*left, stage], wrong + found
        if code == -signal.SIGKILL and dice.random() > AGAIN:  # a run that was too quick does not count
            break
    flow = Flow(folder, "final.json")
    next(flow.lines(), None)  # its server is there
    code = flow.end()
    started |= flow.started
    if code != 0:
        return Survivor(kills, left[0], started, [*wrong, f"the last run ended with {code}: {flow.said}"])
    if in_child(folder, "replayed.json") != 0:  # without Prefect: the same bits
        wrong.append("the replay failed")
    return Survivor(kills, left[0], started, wrong + differences(folder, clean.labels, clean.spent))


def test_twenty_kills_through_prefect_cost_nothing_and_leave_no_server(clean):
    """A killed flow, run again, ends with a clean run's charges, answers, cost and model; all servers are gone."""
    kills, stages, wrong, started = 0, Counter(), {}, set()
    with ThreadPoolExecutor(AT_ONCE) as workers:
        for number, found in enumerate(workers.map(lambda number: survive(clean, number), range(STORMS))):
            kills += found.kills
            stages[found.left] += 1
            started |= found.started
            if found.wrong:
                wrong[number] = found.wrong
            if number % 5 == 4:
                print(f"Prefect storm: {number + 1} runs, {kills} kills, {len(wrong)} wrong; left: {dict(stages)}")
    assert wrong == {}
    assert kills >= STORMS
    assert len(started) >= STORMS  # each had a server, which was seen
    assert left_over(started) == []
    assert sum(stages.values()) > stages["closed"] + stages["no dataset"]  # most were in the midst of it
