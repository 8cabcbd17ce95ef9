"""Facts of a run that depend on its deployment: its release id, and the slot of its dataset.

If a release id is given, the run uses it. Otherwise a deployed run uses that of the period of its *scheduled* time
(`periods`), so a run that is late, retried or triggered twice is the same release and costs nothing more; a run started
by hand belongs to the current period. A run about the rows of a period uses that period's name: the last one that had
ended when the run was due, however late it is. Without a period the id is made from the day and a hash of the flow
run's own identity, which a retry keeps (the identity itself contains the time of day). A run that continues a crashed
one knows when that one was due, and its identity.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from prefect.runtime import deployment, flow_run

from pubpriv.errors import Unavailable
from pubpriv.estimators.jobs import Job
from pubpriv.flows.again import Held
from pubpriv.flows.allowed import check_allowed
from pubpriv.flows.parameters import Parameters
from pubpriv.flows.periods import Period, release_id_for, rows_for
from pubpriv.tasks.outages import not_needed

_LEASE_SECONDS = 60
"""Seconds for which a slot stays taken after its holder was killed."""

WAIT_VARIABLE = "PUBPRIV_SLOT_SECONDS"
"""Variable with the seconds that a deployed run waits for its slot; `pubpriv deploy` sets it from the file's
`concurrency.wait_seconds`."""

_WAIT_SECONDS = 600.0


def _release_id_of(parameters: Parameters) -> str:
    """Return the release id of the current flow run, which is the same in a retry."""
    if parameters.release_id is not None:
        return parameters.release_id
    rows = _rows_of(parameters)
    if rows is not None:
        return f"{parameters.series}-{rows}" if parameters.series else f"{parameters.estimator.name}-{rows}"
    scheduled, run = _due(parameters)
    if parameters.period is not None:
        return release_id_for(scheduled, Period.parse(parameters.period), parameters.series)
    fresh = f"{scheduled:%Y%m%d}-{hashlib.sha256(str(run).encode()).hexdigest()[:16]}"
    return f"{parameters.series}-{fresh}" if parameters.series else fresh


def _due(parameters: Parameters) -> tuple[datetime, Any]:
    """Return when the current flow run was due, and its identity; after a crash, those of the first run."""
    before = parameters.resumes
    return (before.due, before.run) if before else (flow_run.scheduled_start_time, flow_run.id)


def _rows_of(parameters: Parameters) -> str | None:
    """Return the period whose rows the current flow run asks; None: all rows."""
    if parameters.rows_of is None:
        return None
    zone = "UTC" if parameters.period is None else Period.parse(parameters.period).zone
    return rows_for(_due(parameters)[0], parameters.rows_of, zone)


def run_name() -> str:
    """Return the name of the flow run in the UI: dataset and release id."""
    parameters: Any = flow_run.parameters["parameters"]
    if not isinstance(parameters, Parameters):  # not validated yet
        return str(flow_run.name)
    return f"{parameters.dataset}-{_release_id_of(parameters)}"


def job_of(parameters: Parameters) -> Job:
    """Return the job of the current flow run.

    Raises:
        InvalidInput: a run on a worker names what the operator does not allow; see `pubpriv.flows.allowed`.
    """
    job = parameters.job(_release_id_of(parameters), _rows_of(parameters))
    check_allowed(job, parameters.ledger)
    return job


def slot_of(dataset: str) -> str:
    """Return the name of the global concurrency limit that serialises deployed runs of one dataset."""
    return f"private-{dataset}"


@contextmanager
def alone_with(dataset: str) -> Iterator[None]:
    """Hold the dataset's slot during a deployed run; other runs need no slot.

    The slot only prevents two runs from competing for disk and processor. The ledger ensures that budget is spent once,
    with or without a slot. So a lost lease does not end a run.

    Raises:
        Unavailable: the slot did not become free in time, or does not exist.
    """
    if deployment.id is None:
        yield
        return
    from prefect.concurrency.sync import concurrency

    seconds = float(os.environ.get(WAIT_VARIABLE, _WAIT_SECONDS))
    slot = concurrency(
        slot_of(dataset),
        timeout_seconds=seconds,
        lease_duration=_LEASE_SECONDS,
        strict=True,
        raise_on_lease_renewal_failure=False,
    )
    refusal = _taken(slot, dataset, seconds)
    if refusal is not None:
        raise refusal
    try:
        yield
    finally:
        with not_needed():  # its lease ends by itself
            slot.__exit__(None, None, None)


def _taken(slot: Any, dataset: str, seconds: float) -> Unavailable | None:
    """Enter the slot; returns the error if that is impossible."""
    from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError

    name = slot_of(dataset)
    try:
        slot.__enter__()
    except TimeoutError:
        return Held(
            f"another run of dataset {dataset} held the slot {name} for {seconds:g} s; nothing was read or spent. "
            f"Run again later, or free a slot that a killed run left: prefect gcl update {name} --active-slots 0"
        )
    except ConcurrencySlotAcquisitionError:
        return Unavailable(
            f"the slot {name}, by which runs of dataset {dataset} take turns, cannot be taken: the Prefect server has "
            f"none of this name, or did not answer. Nothing was read or spent. Make it with `pubpriv deploy`, or: "
            f"prefect gcl create {name} --limit 1"
        )
    return None
