"""`pubpriv fit`: estimate, and write a model."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import note, out, progress, table
from cli.options import ColumnsOption, LedgerOption, ledger_url
from pubpriv.errors import InvalidInput, Unavailable

app = typer.Typer(no_args_is_help=True, help="Estimate from a private table: mixture.")

NOT_CONVERGED = 4


@app.callback()
def group() -> None:
    """Keeps `mixture` a sub-command although it is the only one."""


@app.command()
def mixture(
    private: Annotated[str, typer.Option(help="Private Parquet table: file, folder or glob.")],
    public: Annotated[str, typer.Option(help="Public rows of the same kind, Parquet or CSV.")],
    components: Annotated[int, typer.Option(help="Number of components.")],
    budget: Annotated[str, typer.Option(help="What this run may spend: zcdp:RHO or approx:EPS,DELTA.")],
    dataset: Annotated[str, typer.Option(help="Name of the dataset in the ledger.")],
    out_: Annotated[Path, typer.Option("--out", help="Where the model is written, as JSON.")],
    ledger: LedgerOption = None,
    columns: ColumnsOption = None,
    release_id: Annotated[
        str | None,
        typer.Option(help="Name of this release; the same name resumes at no cost.", show_default=False),
    ] = None,
    method: Annotated[str, typer.Option(help="Estimation pipeline.")] = "auto",
    plain: Annotated[bool, typer.Option("--plain", help="Run without Prefect: same bits, same ledger.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model file.")] = False,
) -> None:
    """Weights, means and covariances of a Gaussian mixture, under differential privacy."""
    from pubpriv.curator import new_release_id
    from pubpriv.data.columns import split_columns
    from pubpriv.mixture.job import MixtureJob

    job = MixtureJob(
        private=private,
        public=public,
        columns=None if columns is None else tuple(split_columns(columns)),
        n_components=components,
        budget=budget,
        dataset=dataset,
        ledger=ledger_url(ledger),
        release_id=new_release_id() if release_id is None else release_id,
        method=method,
    )
    check_out(out_, job, overwrite)
    note(f"release id {job.release_id} (give --release-id {job.release_id} to resume or to replay)")
    try:
        estimate = run(job, plain)
    except KeyboardInterrupt:
        note(f"to resume, run the same command with --release-id {job.release_id}")
        raise
    save(estimate, out_)
    show(estimate)
    note(f"model written to {out_}")
    if not estimate.converged:
        note("the model did not converge: see its warnings")
        raise typer.Exit(NOT_CONVERGED)


def run(job: Any, plain: bool) -> Any:
    """The estimate of a job, through Prefect unless `plain`."""
    with ExitStack() as stack:
        stack.enter_context(progress())
        if plain:
            from pubpriv.mixture.job import run_job
            from tasks.validated import VALIDATED

            return run_job(job, VALIDATED)
        from flows.runtime import running

        check_before_prefect(job)
        stack.enter_context(running(job.ledger))
        from flows.estimate_mixture import estimate_mixture, parameters_of

        return estimate_mixture(parameters_of(job))


def check_before_prefect(job: Any) -> None:
    """Find bad input before a server is started for it; the flow checks everything again."""
    from pubpriv.mixture.job import check_job
    from tasks.validated import VALIDATED

    check_job(job, VALIDATED)


def check_out(path: Path, job: Any, overwrite: bool) -> None:
    """Refuse to lose another model, before anything is spent."""
    from pubpriv.models import load

    if path.is_dir():
        raise InvalidInput(f"--out {path} is a folder: name a file")
    inputs = (job.private, job.public, job.ledger.removeprefix("sqlite:///"))
    if path.resolve() in {Path(name).expanduser().resolve() for name in inputs}:
        raise InvalidInput(f"--out {path} is one of this run's inputs: choose another file")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"--out {path} cannot be written: {folder} is no folder that this user may write to")
    if not path.exists() or overwrite:
        return
    try:
        known = load(path).provenance
    except InvalidInput:
        known = {}
    if (known.get("dataset"), known.get("release_id")) != (job.dataset, job.release_id):
        raise InvalidInput(f"{path} exists and is not this release: choose another --out, or say --overwrite")


def save(estimate: Any, path: Path) -> None:
    """Write the model; a disk that refuses it costs nothing but another try."""
    refused = None
    try:
        estimate.save(path)
    except OSError as error:
        refused = error.strerror
    if refused is not None:
        raise Unavailable(
            f"the model cannot be written to {path} ({refused}); its answers are kept: run the same command with "
            f"--release-id {estimate.provenance['release_id']}, which spends nothing"
        )


def show(estimate: Any) -> None:
    """Privacy statement and components, in the data's own units."""
    privacy = estimate.privacy
    out(f"privacy: {privacy['guarantee']['text']}")
    out(f"unit: {privacy['unit']}; neighbours: {privacy['neighbouring']}")
    out(f"spent: {privacy['spent']} in {len(privacy['charges'])} charges, release {estimate.provenance['release_id']}")
    errors = estimate.standard_errors["means"]
    rows = []
    for j, weight in enumerate(estimate.weights):
        cells = [f"{weight:.3f}"]
        for i in range(len(estimate.columns)):
            error = (errors["sampling"][j][i] ** 2 + errors["privacy"][j][i] ** 2) ** 0.5
            cells.append(f"{estimate.means[j, i]:.4g} ±{error:.2g}\n(sd {estimate.covariances[j, i, i] ** 0.5:.3g})")
        rows.append([str(j + 1), *cells])
    table("released components: mean ± standard error (sd)", ["", "weight", *estimate.columns], rows)
    for warning in estimate.diagnostics["warnings"]:
        note(f"warning: {warning}")
