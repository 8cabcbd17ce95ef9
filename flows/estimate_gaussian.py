"""The flow `estimate-gaussian`: tables in, a released mean and covariance and their privacy statement out."""

from prefect.settings import get_current_settings

from flows.deployed import alone_with, job_of, run_name
from flows.parameters import GaussianParameters
from pubpriv.jobs import run_job
from pubpriv.models import GaussianEstimate
from tasks.guard import safe_flow
from tasks.publish import publish_release, refusals_told
from tasks.runner import PrefectRunner
from tasks.validate import VALIDATION

parameters_of = GaussianParameters.of


@safe_flow(name="estimate-gaussian", flow_run_name=run_name)
def estimate_gaussian(parameters: GaussianParameters) -> GaussianEstimate:
    """Estimate mean and covariance of a private table with the help of a public one.

    Ingest and validate both tables, precondition by the public rows, approach standard coordinates in a few private
    rounds, measure there, and pool with the public rows. Each look at private rows charges the ledger first.
    """
    job = job_of(parameters)
    folder = get_current_settings().home / "public-tables"
    with refusals_told(job), alone_with(job.dataset):
        estimate = run_job(job, VALIDATION, PrefectRunner(folder))
    return publish_release(estimate, job, folder, parameters.warn_below)
