"""One `pubpriv serve` for all tests that need no server of their own."""

from collections.abc import Iterator

import pytest
from helpers.served import Served, serving
from helpers.tables import write_groups

VISITS = """
dataset: visits
unit: one patient
cap: zcdp:4
private: {folder}/visits-private.parquet
public: {folder}/visits-public.parquet
output: {output}
concurrency: {{runs: 1, wait_seconds: 120}}
releases:
  - {{name: mixture, estimator: mixture, allotment: "zcdp:0.5", settings: {{components: 2}}, period: month}}
  - {{name: gaussian, estimator: gaussian, allotment: "zcdp:0.25", period: month}}
  - {{name: mean, estimator: mean, allotment: "zcdp:0.1", period: month}}
"""
"""Two far groups, so that every kind of step runs; by hand, for a run takes some seconds of a processor."""


@pytest.fixture(scope="session")
def served(tmp_path_factory) -> Iterator[Served]:
    """Server, worker, slots and the dataset above, in a folder of the session's own; without the examples, whose
    schedules would keep a processor busy in every session."""
    folder = tmp_path_factory.mktemp("operate")
    (folder / "datasets").mkdir()
    write_groups(folder, "visits", 0)
    (folder / "datasets" / "visits.yaml").write_text(VISITS.format(folder=folder, output=folder / "home" / "released"))
    with serving(folder / "home", "--no-examples", "--datasets", folder / "datasets") as running:
        yield running
