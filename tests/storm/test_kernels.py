"""The same release on machines whose BLAS runs another kernel: nothing is paid again, and the model is the same.

OpenBLAS chooses a kernel by processor; `OPENBLAS_CORETYPE` chooses another, whose sums differ in the last bits.
"""

import os
import platform
import signal
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from helpers.jobs import (
    DATASET,
    Clean,
    answered,
    faults,
    in_child,
    killed_at,
    ledger_at,
    make_ledger,
    make_tables,
    model_at,
    records_of,
    run_cleanly,
)
from threadpoolctl import threadpool_info

pytestmark = pytest.mark.long

NEEDS = {"Haswell": "avx2", "Sandybridge": "avx", "Nehalem": "sse4_2", "Prescott": "sse2"}
"""Kernels for which wheels carry code, newest first, and the processor flag that each cannot do without."""

POINTS = "after the charge", "after the publication"

RUN = """
import sys, threadpoolctl
from helpers import jobs
for path in sys.argv[1:]:
    jobs.run(*path.rsplit("/", 1))
print({i["architecture"] for i in threadpoolctl.threadpool_info() if i["internal_api"] == "openblas"})
"""


def run_under(kernel: str, *models: Path) -> str:
    """Run the job for each model file, in one process whose BLAS is forced to a kernel; returns what it took."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path]), "OPENBLAS_CORETYPE": kernel}
    command = [sys.executable, "-c", RUN, *map(str, models)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def own_kernel() -> str:
    """What `run_under` would return without force."""
    return str({i["architecture"] for i in threadpool_info() if i["internal_api"] == "openblas"})


def kernels() -> tuple[str, ...]:
    """The newest and the oldest kernel that this processor can run and that it would not choose itself."""
    cpu = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not cpu.exists() or own_kernel() == "set()":
        return ()
    flags = cpu.read_text().partition("flags")[2].partition("\n")[0].split()
    able = [name for name, flag in NEEDS.items() if flag in flags and name not in own_kernel()]
    return (able[0], able[-1]) if len(able) > 1 else tuple(able)


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Clean:
    """What other kernels replay."""
    if not kernels():
        pytest.skip("BLAS has one kernel here")
    folder = tmp_path_factory.mktemp("kernels") / "clean"
    make_tables(folder.parent)
    return run_cleanly(folder)


@pytest.fixture(scope="module")
def killed(clean) -> dict[tuple[str, str], tuple[Path, dict[str, object]]]:
    """By point and kernel to come: a run that was killed at its second question, and what it had stored."""
    found = {}
    for number, (point, kernel) in enumerate(product(POINTS, kernels())):
        folder = clean.folder.parent / str(number)
        make_ledger(folder)
        before = partial(killed_at, point, clean.labels[1])
        assert in_child(folder, "never.json", before=before) == -signal.SIGKILL
        found[point, kernel] = folder, questions(folder)
    return found


@pytest.fixture(scope="module")
def models(clean, killed) -> dict[str, dict]:
    """By kernel: the clean run as it is replayed under it. The killed runs are finished by the way."""
    found = {}
    for kernel in kernels():
        resumed = [folder / "resumed.json" for (_, to_come), (folder, _) in killed.items() if to_come == kernel]
        assert run_under(kernel, clean.folder / f"{kernel}.json", *resumed) != own_kernel()
        found[kernel] = model_at(clean.folder / f"{kernel}.json")[0]
    return found


def test_a_replay_under_another_kernel_charges_nothing_and_is_the_same_model(clean, models):
    """The ledger gets no record, and the model file is the same to the last bit, but for its time of writing."""
    model = model_at(clean.folder / "model.json")[0]
    assert records_of(clean.folder) == answered(clean.labels)
    assert faults(clean.folder) == []
    assert [kernel for kernel, replayed in models.items() if replayed != model] == []


@pytest.mark.parametrize("kernel", range(2), ids=["newest", "oldest"])
@pytest.mark.parametrize("point", POINTS)
def test_a_run_begun_under_one_kernel_is_finished_under_another(clean, killed, models, point, kernel):
    """Killed at its second question and resumed elsewhere: the stored question stands, all is paid once."""
    kernel = kernels()[min(kernel, len(kernels()) - 1)]
    folder, stored = killed[point, kernel]
    assert list(stored) == list(clean.labels[:2])
    assert {label: questions(folder)[label] for label in stored} == stored
    resumed, head = model_at(folder / "resumed.json")
    assert in_child(folder, "replayed.json") == 0
    replayed, its_head = model_at(folder / "replayed.json")
    assert resumed == replayed
    assert head == its_head
    again = {("attempted", clean.labels[1]): 1} if point == "after the charge" else {}
    assert Counter(records_of(folder)) == Counter(answered(clean.labels)) + Counter(again)
    with ledger_at(folder) as ledger:
        ledger.verify(DATASET, expected_head=head)
        assert ledger.balance(DATASET).spent.main == clean.spent
    assert faults(folder) == []


def questions(folder: Path) -> dict[str, object]:
    """Stored questions by label, in the order of their charges."""
    with ledger_at(folder) as ledger:
        charges = [record.facts() for record in ledger.records(DATASET) if record.kind == "charged"]
    return {charge["label"]: charge["question"] for charge in charges}
