"""`pubpriv fit`: estimate, and write a model."""

from typing import Annotated

import typer

from cli.fit_common import (
    BudgetOption,
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
from cli.options import ColumnsOption, LedgerOption, ScaleOption, scales

app = typer.Typer(no_args_is_help=True, help="Estimate from a private table: mean, gaussian, mixture.")


@app.command()
def mean(
    private: PrivateOption,
    public: PublicOption,
    budget: BudgetOption,
    dataset: DatasetOption,
    out_: OutOption,
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
    overwrite: OverwriteOption = False,
) -> None:
    """The mean, under differential privacy; one public row is enough where the covariance is known."""
    from pubpriv.gaussian.job import MeanJob

    common = named(private, public, columns, budget, dataset, ledger, release_id)
    execute(MeanJob(**common, covariance=covariance, method=method, force=force), out_, plain, overwrite)


@app.command()
def gaussian(
    private: PrivateOption,
    public: PublicOption,
    budget: BudgetOption,
    dataset: DatasetOption,
    out_: OutOption,
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
    overwrite: OverwriteOption = False,
) -> None:
    """Mean and covariance, under differential privacy; d columns need d + 1 public rows."""
    from pubpriv.gaussian.job import GaussianJob

    common = named(private, public, columns, budget, dataset, ledger, release_id)
    job = GaussianJob(**common, target=target, method=method, scale=scales(scale), force=force)
    execute(job, out_, plain, overwrite)


@app.command()
def mixture(
    private: PrivateOption,
    public: PublicOption,
    components: Annotated[int, typer.Option(help="Number of components.")],
    budget: BudgetOption,
    dataset: DatasetOption,
    out_: OutOption,
    ledger: LedgerOption = None,
    columns: ColumnsOption = None,
    release_id: ReleaseIdOption = None,
    method: Annotated[str, typer.Option(help="Estimation pipeline.")] = "auto",
    plain: PlainOption = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Weights, means and covariances of a Gaussian mixture, under differential privacy."""
    from pubpriv.mixture.job import MixtureJob

    common = named(private, public, columns, budget, dataset, ledger, release_id)
    execute(MixtureJob(**common, n_components=components, method=method), out_, plain, overwrite)
