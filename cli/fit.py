"""`pubpriv fit`: estimate, and write a model."""

from typing import Annotated

import typer

from cli.fit_common import (
    BudgetOption,
    DaskOption,
    DatasetOption,
    ForceOption,
    OutOption,
    OverwriteOption,
    PlainOption,
    PrivateOption,
    PublicOption,
    ReleaseIdOption,
    execute,
    named,
)
from cli.options import (
    ColumnsOption,
    ComponentsOption,
    ConstantsOption,
    CovarianceTypeOption,
    LedgerOption,
    MaxComponentsOption,
    MinWeightOption,
    MixtureMethodOption,
    ScaleOption,
    mixture_settings,
    scales,
)
from cli.voice import LogJsonOption, QuietOption, VerboseOption, voice_of

app = typer.Typer(no_args_is_help=True, help="Estimate from a private table: mean, gaussian, mixture.")


@app.command()
def mean(
    private: PrivateOption,
    public: PublicOption,
    budget: BudgetOption,
    dataset: DatasetOption,
    out_: OutOption = None,
    ledger: LedgerOption = None,
    columns: ColumnsOption = None,
    release_id: ReleaseIdOption = None,
    covariance: Annotated[
        str, typer.Option(help="Of a row: identity, a CSV file with the matrix, or unknown.")
    ] = "identity",
    method: Annotated[
        str, typer.Option(help="two-step; or, to compare with, clip-and-noise or coinpress.")
    ] = "two-step",
    force: ForceOption = False,
    plain: PlainOption = False,
    dask: DaskOption = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    log_json: LogJsonOption = False,
) -> None:
    """The mean, under differential privacy; one public row is enough where the covariance is known."""
    from pubpriv.gaussian.job import MeanJob

    voice = voice_of(quiet, verbose, log_json)
    common = named(private, public, columns, budget, dataset, ledger, release_id, dask)
    execute(MeanJob(**common, covariance=covariance, method=method, force=force), out_, plain, overwrite, voice)


@app.command()
def gaussian(
    private: PrivateOption,
    public: PublicOption,
    budget: BudgetOption,
    dataset: DatasetOption,
    out_: OutOption = None,
    ledger: LedgerOption = None,
    columns: ColumnsOption = None,
    release_id: ReleaseIdOption = None,
    target: Annotated[
        str, typer.Option(help="gaussian: of the law; moments: of the table itself; auto: as the rows suggest.")
    ] = "auto",
    method: Annotated[str, typer.Option(help="learner; or, to compare with, algorithm-2.")] = "learner",
    scale: ScaleOption = None,
    force: ForceOption = False,
    plain: PlainOption = False,
    dask: DaskOption = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    log_json: LogJsonOption = False,
) -> None:
    """Mean and covariance, under differential privacy; d columns need d + 1 public rows."""
    from pubpriv.gaussian.job import GaussianJob

    voice = voice_of(quiet, verbose, log_json)
    common = named(private, public, columns, budget, dataset, ledger, release_id, dask)
    job = GaussianJob(**common, target=target, method=method, scale=scales(scale), force=force)
    execute(job, out_, plain, overwrite, voice)


@app.command()
def mixture(
    private: PrivateOption,
    public: PublicOption,
    budget: BudgetOption,
    dataset: DatasetOption,
    out_: OutOption = None,
    components: ComponentsOption = None,
    max_components: MaxComponentsOption = None,
    ledger: LedgerOption = None,
    columns: ColumnsOption = None,
    release_id: ReleaseIdOption = None,
    method: MixtureMethodOption = "auto",
    constants: ConstantsOption = "practical",
    covariance_type: CovarianceTypeOption = "full",
    min_weight: MinWeightOption = None,
    plain: PlainOption = False,
    dask: DaskOption = None,
    overwrite: OverwriteOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    log_json: LogJsonOption = False,
) -> None:
    """Weights, means and covariances of a Gaussian mixture, under differential privacy.

    Say how many components there are (--components), or how many the run may find at most (--max-components).
    """
    from pubpriv.mixture.job import MixtureJob

    voice = voice_of(quiet, verbose, log_json)
    common = named(private, public, columns, budget, dataset, ledger, release_id, dask)
    chosen = mixture_settings(components, max_components, method, constants, covariance_type, min_weight)
    execute(MixtureJob(**common, **chosen), out_, plain, overwrite, voice)
