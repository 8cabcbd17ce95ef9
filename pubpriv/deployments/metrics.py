"""A status as OpenMetrics text, which monitoring systems collect from a file."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.flows.status import Status

_Sample = tuple[str, dict[str, str], float | None]

_ABOUT = {
    "budget_cap": "Budget of a dataset, in the ledger's unit",
    "budget_spent": "What is spent of it",
    "budget_held": "What open runs hold of it",
    "budget_remaining": "What is left of it",
    "releases": "Releases that were ever begun",
    "releases_that_fit": "Releases like the newest that fit what is left",
    "open_runs": "Runs that hold a part of the budget",
    "newest_release_day_seconds": "Day on which the newest release was begun, in Unix time",
    "read_only_datasets": "Datasets that are open for reading only",
    "export_age_seconds": "Age of the export that is the ledger's witness",
    "runs": "Flow runs that were due in the last day, by state",
    "paused_deployments": "Deployments that are paused",
    "stuck_runs": "Flow runs that a worker took and that do not begin",
    "late_runs": "Flow runs that were due ten minutes ago and that no worker took",
}


def openmetrics(ledger: Status, server: Status | None) -> str:
    """Return the results of `status.of_ledger` and `status.of_server` as text; unknown values are left out.

    Raises:
        InvalidInput: the library that writes it is not installed; it comes with `pubpriv[prefect]`.
    """
    try:
        from prometheus_client import CollectorRegistry, Gauge
        from prometheus_client.openmetrics import exposition
    except ImportError:
        raise InvalidInput("OpenMetrics needs a library: pip install 'pubpriv[prefect]'") from None
    registry, gauges = CollectorRegistry(), dict[str, Any]()
    for name, labels, value in chain(_of_ledger(ledger), _of_server(server)):
        if value is None:
            continue
        if name not in gauges:
            gauges[name] = Gauge(f"pubpriv_{name}", _ABOUT[name], tuple(labels), registry=registry)
        (gauges[name].labels(**labels) if labels else gauges[name]).set(value)
    write: Any = exposition.generate_latest
    return str(write(registry).decode())


def _of_ledger(ledger: Status) -> Iterator[_Sample]:
    for dataset, each in ledger["datasets"].items():
        for part in ("cap", "spent", "held", "remaining"):
            yield f"budget_{part}", {"dataset": dataset, "unit": each["currency"]}, each[part]
        for part in ("releases", "releases_that_fit", "open_runs"):
            yield part, {"dataset": dataset}, each[part]
        yield "newest_release_day_seconds", {"dataset": dataset}, _seconds(each["newest_release_day"])
    yield "read_only_datasets", {}, len(ledger["read_only"])
    yield "export_age_seconds", {}, ledger["export_age_seconds"]


def _of_server(server: Status | None) -> Iterator[_Sample]:
    if server is None:
        return
    for state, number in server["runs"].items():
        yield "runs", {"state": state}, number
    yield "paused_deployments", {}, len(server["paused"])
    yield "stuck_runs", {}, len(server["stuck"])
    yield "late_runs", {}, len(server["late"])


def _seconds(day: str | None) -> float | None:
    return None if day is None else datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()
