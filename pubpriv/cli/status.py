"""`pubpriv status`: the state of budgets, releases and runs, for people and for monitoring systems."""

import json
import os
from typing import Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.extras import need
from pubpriv.cli.options import JsonOption, LedgerOption, ledger_url
from pubpriv.errors import InvalidInput

_FEW = 3
"""A dataset with room for fewer releases needs a decision soon; the default of `warn_below` in runs."""


def status(
    ledger: LedgerOption = None,
    as_json: JsonOption = False,
    metrics: Annotated[
        bool, typer.Option("--openmetrics", help="Print OpenMetrics text, for a textfile that a monitor collects.")
    ] = False,
) -> None:
    """Show the remaining budget of each dataset, how many releases still fit, and its newest release.

    If PREFECT_API_URL is set, also show which deployments are paused, how the runs of the last day ended, and which
    runs made no release, did not begin at the worker that took them, or were not taken in ten minutes. If
    PUBPRIV_LEDGER_WITNESS names an export of the ledger, show its age.
    """
    if as_json and metrics:
        raise InvalidInput("--json and --openmetrics are two forms of one answer: choose one")
    from pubpriv.deployments.metrics import openmetrics
    from pubpriv.flows.status import of_ledger

    books = of_ledger(ledger_url(ledger))
    server = _server()
    if as_json:
        out(json.dumps({"ledger": books, "server": server}, indent=1))
    elif metrics:
        out(openmetrics(books, server).rstrip())
    else:
        _show(books, server)


def _server() -> dict[str, Any] | None:
    if not os.environ.get("PREFECT_API_URL"):
        return None
    need("prefect")
    from pubpriv.deployments.register import server
    from pubpriv.flows.status import of_server

    with server() as client:
        return of_server(client)


def _show(books: dict[str, Any], server: dict[str, Any] | None) -> None:
    columns = ["dataset", "left", "of", "", "releases", "fit", "newest", "on", "open"]
    parts = ("currency", "releases", "releases_that_fit", "newest_release", "newest_release_day", "open_runs")
    rows = []
    for name, each in books["datasets"].items():
        cells = ["" if each[part] is None else str(each[part]) for part in parts]
        rows.append([name, f"{each['remaining']:.6g}", f"{each['cap']:.6g}", *cells])
    table("datasets", columns, rows)
    for name, each in books["datasets"].items():
        if each["goes_on_in"] is not None:
            note(f"the books of {name} are closed: they go on in {each['goes_on_in']}")
    if low := [name for name, each in books["datasets"].items() if _is_low(each)]:
        note(f"fewer than {_FEW} releases like the newest fit: {', '.join(low)}")
    for why in books["read_only"].values():
        note(why)
    if books["export_age_seconds"] is not None:
        out(f"the export is {books['export_age_seconds']} s old")
    if server is not None:
        _show_server(server)


def _show_server(server: dict[str, Any]) -> None:
    runs = ", ".join(f"{number} {state}" for state, number in server["runs"].items()) or "none"
    out(f"runs of the last day: {runs}")
    for what in ("paused", "stuck", "late"):
        if server[what]:
            note(f"{what}: {', '.join(server[what])}")
    if ended := [f"{name} ({state})" for name, state in server["without_release"].items()]:
        note(f"ended without a release: {', '.join(ended)}")


def _is_low(dataset: dict[str, Any]) -> bool:
    fits = dataset["releases_that_fit"]
    return fits is not None and fits < _FEW and dataset["goes_on_in"] is None
