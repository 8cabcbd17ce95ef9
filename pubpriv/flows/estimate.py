"""The flows `estimate-...`, one for each estimator: tables in, a release and its privacy statement out.

The module attributes `estimate_mean`, `estimate_gaussian`, ... are these flows, by which a worker finds them.
"""

from typing import Any

from prefect import Flow
from prefect.logging import get_run_logger
from prefect.settings import get_current_settings

from pubpriv.estimators import ESTIMATORS, Estimator
from pubpriv.estimators.jobs import run_job
from pubpriv.flows._missed import skipped, why_not_resumed, why_skipped
from pubpriv.flows._overview import show_overview
from pubpriv.flows._series import kept_to_series
from pubpriv.flows.again import tried_again, wait_after_crashes
from pubpriv.flows.deployed import alone_with, job_of, run_name
from pubpriv.flows.parameters import Parameters, form_of
from pubpriv.tasks.boundary import safe_flow
from pubpriv.tasks.events import tell_of_skipped
from pubpriv.tasks.publish import publish_release, refusals_shown
from pubpriv.tasks.runner import PrefectRunner
from pubpriv.tasks.validate import VALIDATION


def _flow_of(estimator: Estimator) -> Flow[..., Any]:
    """Make the flow of an estimator, with a form made from its settings."""

    def estimate(parameters: Parameters) -> Any:
        wait_after_crashes(parameters.resumes)
        return tried_again(lambda: _once(parameters))

    estimate.__name__ = f"estimate_{estimator.name}"
    estimate.__doc__ = estimator.walk
    estimate.__annotations__["parameters"] = form_of(estimator)
    flow: Flow[..., Any] = safe_flow(name=f"estimate-{estimator.name}", flow_run_name=run_name)(estimate)
    return flow


def _once(parameters: Parameters) -> Any:
    why = why_not_resumed(parameters)
    if why is not None:
        return skipped(why)
    job = job_of(parameters)
    folder = get_current_settings().home / "public-tables"
    with refusals_shown(job, parameters.series), alone_with(job.dataset):
        why = why_skipped(parameters, job)  # after waiting for the slot: meanwhile others may have used up the budget
        if why is not None:
            get_run_logger().warning("skipped: %s", why)
            tell_of_skipped(job.dataset, job.release_id, why)
            return skipped(why)
        job, kept = kept_to_series(job, parameters.series)  # the previous release has ended
        for line in kept:
            get_run_logger().info(line)
        made = run_job(job, VALIDATION, PrefectRunner(folder))
    published = publish_release(made, job, folder, parameters.warn_below, parameters.series)
    show_overview(job.ledger)
    return published


FLOWS = {estimator.name: _flow_of(estimator) for estimator in ESTIMATORS}


def __getattr__(name: str) -> Flow[..., Any]:
    known = {f"estimate_{each}": flow for each, flow in FLOWS.items()}
    if name not in known:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return known[name]
