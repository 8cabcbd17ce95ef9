"""How an installation stands: budgets and newest releases in the ledger, runs and pauses on the server.

Everything here is public: figures of the ledger, names and states. A release is dated by its day, as on its page.
"""

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.units import UNIT

_WITNESS = "PUBPRIV_LEDGER_WITNESS"

_STUCK = timedelta(minutes=10)
"""A run that a worker took begins within seconds; one that is pending for so long will not begin by itself."""

_PAGE = 200

Status = dict[str, Any]


def of_ledger(url: str) -> Status:
    """Tell of each dataset what is left, what fits, the newest release and the head of its chain.

    Args:
        url: of the ledger.

    Returns:
        `datasets` by name, `read_only` with why, and `export_age_seconds` of the file that `PUBPRIV_LEDGER_WITNESS`
        names; None without one.

    Raises:
        InvalidInput, Unavailable: see `Ledger.open`.
    """
    with Ledger.open(url, create=False) as ledger:
        datasets = {name: _dataset(ledger, name) for name in ledger.datasets()}
        read_only = dict(ledger.read_only)
    return {"datasets": datasets, "read_only": read_only, "export_age_seconds": _age(os.environ.get(_WITNESS))}


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
    }


def _age(file: str | None) -> int | None:
    return None if not file else round(datetime.now(UTC).timestamp() - Path(file).expanduser().stat().st_mtime)


def of_server(client: Any) -> Status:
    """Tell which of our deployments are paused, what became of runs of the last day, and which do not begin.

    Args:
        client: of the server.

    Returns:
        `paused` names of deployments, `runs` by the name of their state, `stuck` names of runs.
    """
    from pubpriv.deployments.register import ours

    since = datetime.now(UTC) - timedelta(days=1)
    recent = _runs(client, {"expected_start_time": {"after_": since, "before_": datetime.now(UTC)}})
    pending = _runs(client, {"state": {"type": {"any_": ["PENDING"]}}})
    late = datetime.now(UTC) - _STUCK
    return {
        "paused": sorted(each.name for each in ours(client) if each.paused),
        "runs": dict(sorted(Counter(str(run.state_name) for run in recent).items())),
        "stuck": sorted(run.name for run in pending if run.state is not None and run.state.timestamp < late),
    }


def _runs(client: Any, which: dict[str, Any]) -> list[Any]:
    """List the runs of our deployments for which this holds."""
    from prefect.client.schemas.filters import FlowRunFilter

    from pubpriv.flows.automations import TAG

    wanted = FlowRunFilter.model_validate({"tags": {"all_": [TAG]}} | which)
    found: list[Any] = []
    while page := client.read_flow_runs(flow_run_filter=wanted, limit=_PAGE, offset=len(found)):
        found += page
    return found
