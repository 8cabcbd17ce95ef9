"""The flow `estimate-mean`: tables in, a released mean and its privacy statement out."""

from prefect.settings import get_current_settings

from flows.deployed import alone_with, job_of, run_name
from flows.parameters import MeanParameters
from pubpriv.jobs import run_job
from pubpriv.models import MeanEstimate
from tasks.guard import safe_flow
from tasks.publish import publish_release, refusals_told
from tasks.runner import PrefectRunner
from tasks.validate import VALIDATION

parameters_of = MeanParameters.of


@safe_flow(name="estimate-mean", flow_run_name=run_name)
def estimate_mean(parameters: MeanParameters) -> MeanEstimate:
    """Estimate the mean of a private table with the help of a public one.

    Ingest and validate both tables, ask for a clipped mean around the public one, ask again around the answer, undo
    the clipping, and weigh both answers with the public mean. Each look at private rows charges the ledger first.
    A covariance that is unknown is learnt as `estimate-gaussian` does.
    """
    job = job_of(parameters)
    folder = get_current_settings().home / "public-tables"
    with refusals_told(job), alone_with(job.dataset):
        estimate = run_job(job, VALIDATION, PrefectRunner(folder))
    return publish_release(estimate, job, folder, parameters.warn_below)
