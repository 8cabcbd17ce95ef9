"""One `pubpriv serve` for all tests that need no server of their own."""

from collections.abc import Iterator

import pytest
from helpers.browsing import chromium
from helpers.datasets import MEAN, write_dataset
from helpers.served import Served, serving
from helpers.tables import write_groups

RELEASES = (
    {"name": "mixture", "estimator": "mixture", "allotment": "zcdp:0.5", "settings": {"components": 2}},
    {"name": "gaussian", "estimator": "gaussian", "allotment": "zcdp:0.25"},
    MEAN,
)
"""Of two far groups, so that every kind of step runs; by hand, for a run takes some seconds of a processor."""


@pytest.fixture(scope="session")
def served(tmp_path_factory) -> Iterator[Served]:
    """Server, worker, slots and the dataset above, in a folder of the session's own; without the examples, whose
    schedules would keep a processor busy in every session."""
    folder = tmp_path_factory.mktemp("operate")
    (folder / "datasets").mkdir()
    write_groups(folder, "visits", 0)
    monthly = [release | {"period": "month"} for release in RELEASES]
    more = {"output": folder / "home" / "released", "concurrency": {"runs": 1, "wait_seconds": 120}}
    write_dataset(folder / "datasets", "visits", folder, "zcdp:4", *monthly, **more)
    with serving(folder / "home", "--no-examples", "--datasets", folder / "datasets") as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """A browser without a window."""
    with chromium() as driver:
        yield driver
