"""What a whole session of tests does once: libraries of children, and one Prefect server."""

import sys

import pytest

from helpers.forks import processes
from helpers.marked import take_children, take_the_server
from helpers.seeded import killed


def _loaded(names):
    return [name for name in names if name in sys.modules]


def test_children_have_the_libraries_of_all_tests():
    """Those that race on databases and those that run whole jobs: there is one list, and nobody else's replaces it."""
    import helpers.jobs  # noqa: F401 - it used to have a list of its own

    names = ["psycopg", "sqlalchemy.dialects.postgresql.psycopg", "sklearn.mixture", "pubpriv.estimators.jobs"]
    with processes.Pool(1) as pool:
        assert pool.apply(_loaded, [names]) == names


@pytest.mark.parametrize("marked", [True, False])
def test_the_scheduler_knows_who_takes_the_server(request, marked):
    """By the text of files: it collects nothing."""
    tests = [item for item in request.session.items if bool(item.get_closest_marker("prefect")) == marked]
    for item in tests:
        assert (item.originalname in take_the_server(item.path)) == marked, item.nodeid


def test_the_scheduler_knows_who_forks_children(request):
    """Whose module has anything of what forks: the server's context, whole jobs, a run that is killed."""
    files = {item.path: vars(item.module).values() for item in request.session.items}
    for file, values in files.items():
        jobs = any(getattr(value, "__module__", "") == "helpers.jobs" for value in values)
        assert (jobs or any(value is each for value in values for each in (processes, killed))) == take_children(file)
