"""Pay before you look: kill -9 between any two of the door's steps 3 to 8, and run the same release id again."""

import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from helpers.jobs import (
    ALLOTMENT,
    DATASET,
    RELEASE_ID,
    Clean,
    answered,
    in_child,
    killed_at,
    ledger_at,
    make_ledger,
    make_tables,
    model_at,
    records_of,
    run_cleanly,
)

from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger.views import Balance

pytestmark = pytest.mark.long

FIRST, LATER = "mixture/count", "mixture/round-1"

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


@pytest.fixture(scope="module")
def clean(tmp_path_factory) -> Clean:
    """One run that nobody kills, and its tables."""
    tables = tmp_path_factory.mktemp("tables")
    make_tables(tables)
    return replace(run_cleanly(tables / "clean"), folder=tables)


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
        first = in_child(folder, "never.json", before=partial(killed_at, *kill))
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
    assert case.balance.spent.main + case.balance.held.main == parse_budget(ALLOTMENT).cap.main

    drawn_again = {("attempted", label): 1} if POINTS[point] == ["charged"] else {}
    assert Counter(records_of(case.folder)) == Counter(answered(clean.labels)) + Counter(drawn_again)
    (resumed, head), replayed = model_at(case.folder / "resumed.json"), model_at(case.folder / "replayed.json")
    with ledger_at(case.folder) as ledger:
        balance = ledger.balance(DATASET)
        ledger.verify(DATASET, expected_head=head)
    assert (balance.spent.main, balance.held.main) == (clean.spent, 0)
    assert (resumed, head) == replayed
    assert [charge["label"] for charge in resumed["privacy"]["charges"]] == list(clean.labels)
