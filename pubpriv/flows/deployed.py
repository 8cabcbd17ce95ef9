"""What a run needs to know of its deployment: its release id, and whether its dataset is free.

A run that is given a release id takes that. A deployed run that is given none takes that of the period its
*scheduled* time lies in (`periods`), so a run that is late, retried or triggered twice is the same release and costs
nothing more; a run started by hand belongs to the current period. One that asks the rows of a period takes the name
of that: the last one that had ended when it was due, however late it is. Without a period the id is made of the day and
of a hash of the flow run's own identity, which a retry keeps: the identity itself holds the time of day. A run that
goes on after one that crashed knows when that one was due, and its identity.
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
"""How long a slot stays taken after its holder was killed."""

WAIT_VARIABLE = "PUBPRIV_SLOT_SECONDS"
"""How long a deployed run waits for its dataset; set by `pubpriv deploy` from `concurrency.wait_seconds`."""

_WAIT_SECONDS = 600.0


def _release_id_of(parameters: Parameters) -> str:
    """Give the release id of the flow run at work; the same whenever it is asked for, also in a retry."""
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
    """Give when the flow run at work was due, and its identity; of one that goes on after a crash, of the first."""
    before = parameters.resumes
    return (before.due, before.run) if before else (flow_run.scheduled_start_time, flow_run.id)


def _rows_of(parameters: Parameters) -> str | None:
    """Give the period whose rows the flow run at work asks; None: all rows."""
    if parameters.rows_of is None:
        return None
    zone = "UTC" if parameters.period is None else Period.parse(parameters.period).zone
    return rows_for(_due(parameters)[0], parameters.rows_of, zone)


def run_name() -> str:
    """Name the flow run in the UI: dataset and release id."""
    parameters: Any = flow_run.parameters["parameters"]
    if not isinstance(parameters, Parameters):  # not validated yet
        return str(flow_run.name)
    return f"{parameters.dataset}-{_release_id_of(parameters)}"


def job_of(parameters: Parameters) -> Job:
    """Say what the flow run at work has to do.

    Raises:
        InvalidInput: a run on a worker names what the operator does not allow; see `pubpriv.flows.allowed`.
    """
    job = parameters.job(_release_id_of(parameters), _rows_of(parameters))
    check_allowed(job, parameters.ledger)
    return job


def slot_of(dataset: str) -> str:
    """Name the global concurrency limit that serialises deployed runs of one dataset."""
    return f"private-{dataset}"


@contextmanager
def alone_with(dataset: str) -> Iterator[None]:
    """Hold the dataset's slot for a deployed run; other runs take none.

    The slot keeps runs out of each other's way, so that two of them do not both wait for disk and processor; that
    money is spent once is the ledger's business, slot or no slot. So a lost lease ends no run.

    Raises:
        Unavailable: the slot was not free in time, or there is none.
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
    """Enter the slot, or say why that cannot be."""
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
