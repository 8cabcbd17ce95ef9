"""An artifact with all datasets of an installation: remaining budget, newest release, next run.

Runs make it at their end, from the ledger's figures and from names and states, all of which are public.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from prefect.artifacts import create_table_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactCollectionFilter, ArtifactCollectionFilterKey
from prefect.runtime import deployment, flow_run

from pubpriv.errors import PubPrivError
from pubpriv.flows.status import Status, of_ledger, series_of_datasets
from pubpriv.flows.tags import OF
from pubpriv.tasks.artifacts import Subject, shown
from pubpriv.tasks.outages import not_needed

_AT_MOST_EVERY = timedelta(seconds=60)
"""Least time between two versions, because each is kept as long as its run, and many runs may end together."""


def show_overview(ledger: str) -> None:
    """Update the artifact for the datasets of a ledger, in a deployed run and if no other run has just done so.

    Args:
        ledger: its URL, without a password.
    """
    tag = next((tag for tag in flow_run.tags or () if tag.startswith(OF)), None)
    if deployment.id is None or tag is None:
        return
    key = Subject("installation", tag.removeprefix(OF)).key("overview")
    mine = ArtifactCollectionFilter(key=ArtifactCollectionFilterKey(any_=[key]))
    with not_needed(), suppress(PubPrivError), get_client(sync_client=True) as client:
        newest = client.read_latest_artifacts(artifact_filter=mine)
        if newest and newest[0].updated is not None and datetime.now(UTC) - newest[0].updated < _AT_MOST_EVERY:
            return
        rows = _overview(of_ledger(ledger), series_of_datasets(client, tag))
        create_table_artifact(key=key, description="All datasets: budgets, releases, and what comes next", table=rows)


def _overview(books: Status, series: Mapping[str, Status]) -> list[dict[str, Any]]:
    """Make a row for each dataset of a ledger that has deployments.

    Args:
        books: by `of_ledger`.
        series: by `series_of_datasets`.
    """
    return [
        {
            "dataset": name,
            "left": shown(each["remaining"]),
            "of": f"{shown(each['cap'])} {each['currency']}",
            "releases that fit": each["releases_that_fit"],
            "newest release": each["newest_release"],
            "on": each["newest_release_day"],
            "next": "paused" if series[name]["paused"] else _when(series[name]["next"]),
            "last run": series[name]["state"],
        }
        for name, each in books["datasets"].items()
        if name in series
    ]


def _when(due: datetime | None) -> str:
    return "by hand" if due is None else f"{due.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
