"""The Prefect runner: what a declaration makes of a step, and public rows that are remembered."""

import inspect
import pkgutil
from importlib import import_module

import numpy as np
import pytest
from prefect.cache_policies import NO_CACHE

import pubpriv.estimators.gaussian
import pubpriv.estimators.mixture
from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.jobs import _ingest_private, _ingest_public
from pubpriv.estimators.steps import Place, Step, step
from pubpriv.tasks.boundary import _ByContent, safe_flow
from pubpriv.tasks.runner import PrefectRunner, _task_of
from pubpriv.tasks.validate import VALIDATION


def declared() -> set[Step]:
    """Every step that estimators and jobs have."""
    found = {_ingest_public, _ingest_private, VALIDATION.public, VALIDATION.private}
    for package in (pubpriv.estimators.gaussian, pubpriv.estimators.mixture):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            found |= {each for each in vars(import_module(module.name)).values() if isinstance(each, Step)}
    return found


@pytest.mark.parametrize("each", sorted(declared(), key=lambda each: (each.__module__, each.name)), ids=str)
def test_a_declaration_decides_what_prefect_may_keep(each):
    """A step that takes a curator, or opens a private table, is private: guarded, never kept, never cached."""
    task = _task_of(each, "unused")
    first = next(iter(inspect.signature(each.function).parameters.values()))
    opens = each in (_ingest_private, VALIDATION.private)
    assert each.private == (first.annotation is Curator or opens)
    assert task.name == each.title
    assert task.description == inspect.getdoc(each.function)
    assert task.tags == set()
    assert task.persist_result is not each.private
    assert (task.cache_policy is NO_CACHE) == each.private
    assert isinstance(task.cache_policy, _ByContent) != each.private
    assert (task.retries, task.log_prints) == (0, False)


def test_there_are_steps():
    assert len(declared()) > 30


@pytest.mark.prefect
def test_public_rows_that_were_cleared_away_are_made_again(prefect_server, tmp_path):
    """A cached step tells where rows are; where the file is gone the step runs again."""
    made = []

    @step(title="make rows")
    def make(n: int) -> PublicTable:
        made.append(n)
        return PublicTable(("a", "b"), np.arange(2.0 * n).reshape(n, 2))

    @step(title="count them")
    def count(table: PublicTable, label: str) -> int:
        return len(table.rows)

    @safe_flow(name="rows")
    def flow() -> int:
        run = PrefectRunner(tmp_path / "rows")
        return run(count, Place("again"), run(make, Place(), 7), label="n")

    assert flow() == 7
    assert flow() == 7
    assert made == [7]
    (file,) = (tmp_path / "rows").iterdir()
    file.unlink()
    assert flow() == 7
    assert made == [7, 7]
