"""Runs of the flow in which something goes wrong, for `test_leaks.py`: a process of its own, so that its whole
console can be searched. Every exception is printed with its traceback, which is more than the product does.

Usage: python leak_scenarios.py FOLDER, where FOLDER holds `private/`, `damaged/`, `words/`, `lines.csv`,
`headless.csv`, `spilt/` and `public.parquet`. What is kept goes to FOLDER/out. At the end a careless task leaks rows of
`spilt`, which nothing else reads, to the same server and console.
"""

import logging
import os
import sys
import traceback
import warnings
from pathlib import Path

from pubpriv.data import looks
from pubpriv.data.tables import PrivateTable
from pubpriv.estimators import MIXTURE
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.flows.runtime import running
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.ledger import Ledger

COLUMNS = ("age", "cost", "log1p(stay)")


def job(folder: Path, private: str, dataset: str, release_id: str, **other: object) -> Job:
    settings = {
        "private": str(folder / private),
        "public": str(folder / "public.parquet"),
        "columns": COLUMNS,
        "n_components": 2,
        "budget": "zcdp:0.5",
        "dataset": dataset,
        "ledger": f"sqlite:///{folder / 'out' / 'ledger.db'}",
        "release_id": release_id,
    }
    return Job.of(MIXTURE, **(settings | other))


def attempt(name, run):
    print("##", name, flush=True)
    try:
        run().save(Path(sys.argv[1]) / "out" / f"{name}.json")
        print("## released", flush=True)
    except BaseException as error:
        traceback.print_exc()
        print("##", type(error).__name__, error, vars(error), getattr(error, "__notes__", None), flush=True)


def broken_scan(table, questions, *where):
    """Fails as a library would: with rows in the text, in attributes, in a note, in a log line and a warning."""
    del questions, where
    block = next(table.chunks()[0].blocks())
    error = ValueError(f"could not use {block.tolist()}")
    error.rows = block
    error.add_note(repr(block[:, :9]))
    raise error from KeyError(block[:, 0].tolist())


def main() -> None:
    folder = Path(sys.argv[1])
    os.environ["PUBPRIV_OUTPUT"] = str(folder / "out")  # the flow's last task writes there, report page and all
    with Ledger.open(f"sqlite:///{folder / 'out' / 'ledger.db'}") as ledger:
        table = PrivateTable.open(folder / "private", COLUMNS)
        ledger.register("visits", budget=parse_budget("zcdp:3"), table=table)
        for dataset, file in (("damaged", "damaged"), ("lines", "lines.csv")):  # the same rows, as another table
            copy = PrivateTable.open(folder / file, COLUMNS)
            ledger.register(dataset, budget=parse_budget("zcdp:3"), table=copy, another_table=True)
        for dataset in ("words", "headless"):
            ledger.register(dataset, budget=parse_budget("zcdp:3"))
    with running(f"sqlite:///{folder / 'out' / 'ledger.db'}", verbose=True):
        from pubpriv.flows.estimate import estimate_mixture
        from pubpriv.flows.parameters import parameters_of

        for way, run in (("flow", lambda j: estimate_mixture(parameters_of(j))), ("plain", run_job)):
            scenarios(folder, way, run)
        leak(folder)


def scenarios(folder, way, run):
    attempt(f"{way}-normal", lambda: run(job(folder, "private", "visits", f"{way}-1")))
    attempt(f"{way}-unreadable", lambda: run(job(folder, "damaged", "damaged", f"{way}-2")))
    attempt(f"{way}-types", lambda: run(job(folder, "words", "words", f"{way}-3")))
    attempt(f"{way}-refused", lambda: run(job(folder, "private", "visits", f"{way}-4", budget="zcdp:99")))
    if way == "plain":  # what differs is read below the flow
        attempt("plain-lines", lambda: run(job(folder, "lines.csv", "lines", "lines")))
        attempt("plain-headless", lambda: run(job(folder, "headless.csv", "headless", "headless")))
    scan, looks.scan_together = looks.scan_together, broken_scan
    attempt(f"{way}-broken", lambda: run(job(folder, "private", "visits", f"{way}-5")))
    looks.scan_together = scan


def leak(folder: Path) -> None:
    """What a careless task would do, to show that the search finds it."""
    from prefect import flow, get_run_logger, task

    @task(persist_result=True)
    def careless():
        block = next(PrivateTable.open(folder / "spilt", COLUMNS).chunks()[0].blocks())
        logging.getLogger().warning("rows %s", block[:, :50].tolist())
        get_run_logger().warning("rows %s", block[:, 60:160].tolist())
        warnings.warn(str(block[:, 50:60].tolist()), stacklevel=1)
        return block

    @flow(name="careless")
    def run():
        careless()

    run()


if __name__ == "__main__":
    main()
