"""The flow `estimate-mixture`: tables in, a released mixture and its privacy statement out."""

from prefect.settings import get_current_settings

from flows.deployed import alone_with, job_of, run_name
from flows.parameters import MixtureParameters
from pubpriv.jobs import run_job
from pubpriv.models import MixtureEstimate
from tasks.guard import safe_flow
from tasks.publish import publish_release, refusals_told
from tasks.runner import PrefectRunner
from tasks.validate import VALIDATION

parameters_of = MixtureParameters.of


@safe_flow(name="estimate-mixture", flow_run_name=run_name)
def estimate_mixture(parameters: MixtureParameters) -> MixtureEstimate:
    """Estimate a Gaussian mixture of a private table with the help of a public one.

    Ingest and validate both tables, precondition, look for superclusters, find private principal components,
    partition, estimate each component with its weight, and choose between the private and the public model.
    Each step that looks at private rows charges the ledger first; public steps are cached across runs.
    """
    job = job_of(parameters)
    folder = get_current_settings().home / "public-tables"
    with refusals_told(job), alone_with(job.dataset):
        estimate = run_job(job, VALIDATION, PrefectRunner(folder))
    return publish_release(estimate, job, folder, parameters.warn_below)
