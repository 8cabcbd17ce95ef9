"""The state of an installation: budgets and newest releases in the ledger, runs and pauses on the server.

Everything here is public: figures of the ledger, names and states. Releases have a day and no time, as on their pages.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from pubpriv.flows.tags import TAG
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.ledger.witness import export_age
from pubpriv.privacy.units import UNIT

_STUCK = timedelta(minutes=10)
"""A run begins within seconds after a worker took it; if it is still pending after this time, it is stuck."""

_PAGE = 200

Status = dict[str, Any]


def of_ledger(url: str) -> Status:
    """Return for each dataset the remaining budget, how many runs fit, the newest release and the chain head.

    Args:
        url: URL of the ledger.

    Returns:
        `datasets` by name, `read_only` with why, and `export_age_seconds` of the file that `PUBPRIV_LEDGER_WITNESS`
        names; None without one.

    Raises:
        InvalidInput, Unavailable: see `Ledger.open`.
    """
    with Ledger.open(url, create=False) as ledger:
        datasets = {name: _dataset(ledger, name) for name in ledger.datasets()}
        read_only = dict(ledger.read_only)
    age = export_age()
    return {
        "datasets": datasets,
        "read_only": read_only,
        "export_age_seconds": None if age is None else round(age),
    }


def _dataset(ledger: Ledger, name: str) -> Status:
    balance, past = ledger.balance(name), ledger.past(name, 1)
    newest = past.runs[-1] if past.runs else None
    amounts = {part: getattr(balance, part).main / UNIT for part in ("cap", "spent", "held", "remaining")}
    return amounts | {
        "currency": balance.budget.currency,
        "releases": past.earlier + len(past.runs),
        "releases_that_fit": newest and ledger.fitting(name, newest.allotment),
        "newest_release": newest and newest.release_id,
        "newest_release_day": newest and newest.opened_at[:10],
        "open_runs": len(balance.open_runs),
        "head": balance.chain_head,
        "goes_on_in": balance.state.sealed,
    }


def of_server(client: Any) -> Status:
    """Return which of our deployments are paused, how runs of the last day ended, and which are late or stuck.

    Args:
        client: client of the server.

    Returns:
        `paused` names of deployments, `runs` by the name of their state; names of runs: `stuck`, which a worker took,
        `late`, which none took, and `without_release`, which ended otherwise than completed (with their state) and
        whose release no other run of the day completed.
    """
    since = datetime.now(UTC) - timedelta(days=1)
    recent = _runs(client, {"expected_start_time": {"after_": since, "before_": datetime.now(UTC)}})
    pending = _runs(client, {"state": {"type": {"any_": ["PENDING"]}}})
    late = datetime.now(UTC) - _STUCK
    waiting = _runs(client, {"state": {"name": {"any_": ["Late"]}}, "expected_start_time": {"before_": late}})
    done = {name for run in recent if run.state_name == "Completed" for name in (run.name, *_resumed(run))}
    failed = [run for run in recent if run.state is not None and run.state.is_final() and run.name not in done]
    return {
        "paused": sorted(each.name for each in ours(client) if each.paused),
        "runs": dict(sorted(Counter(str(run.state_name) for run in recent).items())),
        "stuck": sorted(run.name for run in pending if run.state is not None and run.state.timestamp < late),
        "late": sorted(run.name for run in waiting),
        "without_release": {run.name: str(run.state_name) for run in failed if str(run.id) not in done},
    }


def _resumed(run: Any) -> list[str]:
    """List the identities of crashed runs whose release this run continued; they may lack a name of ours."""
    before = (run.parameters or {}).get("parameters", {}).get("resumes") or {}
    return [before[which] for which in ("run", "after") if which in before]


def ours(client: Any) -> list[Any]:
    """List every deployment with our tag, of any installation."""
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags

    mine = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    found: list[Any] = []
    while page := client.read_deployments(deployment_filter=mine, limit=_PAGE, offset=len(found)):
        found += page
    return found


def _runs(client: Any, which: dict[str, Any]) -> list[Any]:
    """List the runs of our deployments that match a filter."""
    found: list[Any] = []
    while page := client.read_flow_runs(flow_run_filter=_of_ours(which), limit=_PAGE, offset=len(found)):
        found += page
    return found


def _of_ours(which: dict[str, Any]) -> Any:
    from prefect.client.schemas.filters import FlowRunFilter

    return FlowRunFilter.model_validate({"tags": {"all_": [TAG]}} | which)


def series_of_datasets(client: Any, tag: str) -> dict[str, Status]:
    """Return for each dataset of an installation when its next run is due and how its newest run ended.

    Args:
        client: client of the server.
        tag: tag of the installation's deployments.

    Returns:
        By dataset: `next` (when a run is due, or None), `state` of the run that ended last (or None), and whether all
        its deployments are `paused`. Only two hundred runs of each kind are read, so that requests do not grow over
        the years.
    """
    from prefect.client.schemas.sorting import FlowRunSort

    known = {each.id: each for each in ours(client) if tag in each.tags}
    due = {"state": {"type": {"any_": ["SCHEDULED"]}}}
    over = {"state": {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED", "CANCELLED"]}}}
    found: dict[str, Status] = {}
    for each in known.values():
        of = found.setdefault(dataset_of(each) or "", {"next": None, "state": None, "paused": True})
        of["paused"] = of["paused"] and each.paused
    for which, sort, part in ((due, "EXPECTED_START_TIME_ASC", "next"), (over, "END_TIME_DESC", "state")):
        for run in client.read_flow_runs(flow_run_filter=_of_ours(which), sort=FlowRunSort(sort), limit=_PAGE):
            of = found.get(dataset_of(known[run.deployment_id]) or "", {}) if run.deployment_id in known else {}
            if of and of[part] is None:
                of[part] = run.state_name if part == "state" else run.expected_start_time
    return found


def dataset_of(known: Any) -> str | None:
    """Return the dataset of a deployment on the server; None for an audit."""
    dataset = (known.parameters or {}).get("parameters", {}).get("dataset")
    return None if dataset is None else str(dataset)
