"""One `pubpriv serve` for all tests that need no server of their own."""

from collections.abc import Iterator

import pytest
from helpers.served import Served, serving
from helpers.tables import write_groups

DATASETS = {
    # two far groups, so that every kind of step runs; nothing is scheduled but what a test needs
    "visits": """
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
""",
    # pays for two runs, and has one a minute
    "scarce": """
dataset: scarce
unit: one patient
cap: zcdp:0.2
private: {folder}/scarce-private.parquet
public: {folder}/scarce-public.parquet
output: {output}
releases:
  - {{name: mean, estimator: mean, allotment: "zcdp:0.1", schedule: {{interval: 60}}}}
""",
    # was scheduled every day, and nobody ran it
    "missed": """
dataset: missed
unit: one patient
cap: zcdp:0.45
private: {folder}/missed-private.parquet
public: {folder}/missed-public.parquet
output: {output}
releases:
  - {{name: mean, estimator: mean, allotment: "zcdp:0.1", schedule: {{cron: "15 2 1 1 *"}}, period: year}}
""",
}


@pytest.fixture(scope="session")
def served(tmp_path_factory) -> Iterator[Served]:
    """Server, worker, slots, the examples and the datasets above, in a folder of the session's own."""
    folder = tmp_path_factory.mktemp("operate")
    (folder / "datasets").mkdir()
    for seed, (name, text) in enumerate(DATASETS.items()):
        write_groups(folder, name, seed)
        filled = text.format(folder=folder, output=folder / "home" / "released")
        (folder / "datasets" / f"{name}.yaml").write_text(filled)
    with serving(folder / "home", "--datasets", folder / "datasets") as running:
        yield running
