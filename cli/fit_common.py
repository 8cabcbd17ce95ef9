"""What the commands of `pubpriv fit` share: options, the run, the model file, and what is shown of it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import note, out, table
from cli.voice import USUAL, Voice, speaking
from pubpriv.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from pubpriv.jobs import Job

NOT_CONVERGED = 4

PrivateOption = Annotated[str, typer.Option(help="Private Parquet table: file, folder or glob.")]
PublicOption = Annotated[str, typer.Option(help="Public rows of the same kind, Parquet or CSV.")]
BudgetOption = Annotated[str, typer.Option(help="What this run may spend: zcdp:RHO or approx:EPS,DELTA.")]
DatasetOption = Annotated[str, typer.Option(help="Name of the dataset in the ledger.")]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="Where the model is written, as JSON; else under PUBPRIV_OUTPUT.", show_default=False),
]
ReleaseIdOption = Annotated[
    str | None,
    typer.Option(help="Name of this release; the same name resumes at no cost.", show_default=False),
]
PlainOption = Annotated[bool, typer.Option("--plain", help="Run without Prefect even if PREFECT_API_URL is set.")]
PrefectOption = Annotated[
    bool, typer.Option("--prefect", help="Run as a Prefect flow, on a server of its own unless PREFECT_API_URL is set.")
]
DaskOption = Annotated[
    str | None,
    typer.Option(envvar="PUBPRIV_DASK", help="Read on this Dask cluster: tcp://HOST:PORT.", show_default=False),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace an existing model file.")]


def execute(job: "Job", out_: Path | None, flown: bool, overwrite: bool, voice: Voice = USUAL) -> None:
    """Run a job, write its model and show it.

    Args:
        job: what to run.
        out_: where the model is written; None: under `PUBPRIV_OUTPUT`.
        flown: as a Prefect flow.
        overwrite: another model's file.
        voice: how much is said.

    Raises:
        typer.Exit: with code 4 if the estimate did not converge; it is written all the same.
    """
    root = check_root(out_)
    if out_ is not None:
        check_out(out_, job, overwrite)
    note(f"release id {job.release_id} (give --release-id {job.release_id} to resume or to replay)")
    try:
        estimate = run(job, flown, voice)
    except KeyboardInterrupt:
        note(f"to resume, run the same command with --release-id {job.release_id}")
        raise
    if out_ is not None:
        save(estimate, out_)
    file = store(estimate, job, root) if out_ is None else out_
    if voice.quiet or voice.as_json:
        out(str(file))
    else:
        show(estimate)
    note(f"model written to {file}")
    if not estimate.converged:
        note("the model did not converge: see its warnings")
        raise typer.Exit(NOT_CONVERGED)


def through_prefect(plain: bool, prefect: bool) -> bool:
    """Whether a run is a flow: if somebody asked for that, by an option or by naming a server.

    Raises:
        InvalidInput: asked for both ways.
    """
    if plain and prefect:
        raise InvalidInput("--plain runs without Prefect, --prefect with it: give one")
    return prefect or (not plain and bool(os.environ.get("PREFECT_API_URL")))


def run(job: "Job", flown: bool, voice: Voice = USUAL) -> Any:
    """The estimate of a job, through Prefect if `flown`."""
    from pubpriv.logs import tell

    run_of = {"dataset": job.dataset, "release_id": job.release_id}
    with speaking(voice, job):
        tell("run_started", **run_of, estimate=job.estimator.name, budget=job.budget)
        estimate = _estimate(job, flown)
        privacy, warnings = estimate.privacy, list(estimate.diagnostics["warnings"])
        facts = {"converged": estimate.converged, "spent": privacy["spent"], "charges": len(privacy["charges"])}
        tell("run_finished", **run_of, **facts, warnings=warnings)
    return estimate


def _estimate(job: "Job", flown: bool) -> Any:
    from pubpriv.jobs import check_job, run_job
    from tasks.validate import VALIDATION

    # before anything is spent, or a server started; the run checks everything again
    for line in check_job(job, VALIDATION):
        note(f"warning: {line}")
    if not flown:
        return run_job(job, VALIDATION)
    from flows.runtime import running

    with running(job.ledger):
        from flows.estimate import FLOWS

        from flows.parameters import parameters_of

        return FLOWS[job.estimator.name](parameters_of(job))


def check_out(path: Path, job: "Job", overwrite: bool) -> None:
    """Refuse to lose another model, before anything is spent."""
    from pubpriv.models import load

    if path.is_dir():
        raise InvalidInput(f"--out {path} is a folder: name a file")
    if path.resolve() in {Path(name).expanduser().resolve() for name in job.inputs()}:
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


def check_root(out_: Path | None) -> Path:
    """The root of the output tree, for a model that goes nowhere else."""
    from pubpriv.outputs import output_root

    root = output_root()
    if out_ is None and root is None:
        raise InvalidInput("say where the model goes: give --out FILE, or set PUBPRIV_OUTPUT to a folder")
    if out_ is not None or root is None:
        return Path()
    folder = next(parent for parent in (root.absolute(), *root.absolute().parents) if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"PUBPRIV_OUTPUT {root} cannot be written: {folder} is no folder this user may write to")
    return root


def store(estimate: Any, job: "Job", root: Path) -> Path:
    """The model, its table and its page in the output tree."""
    from pubpriv.data.tables import PublicTable
    from pubpriv.outputs import store_release
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.report import history_of

    public = PublicTable.open(job.public, estimate.columns)
    with Ledger.open(job.ledger, create=False) as ledger:
        history = history_of(ledger, job.dataset)
    same = public.sha256 == estimate.provenance["public_sha256"]
    return store_release(estimate, root, public if same else None, history)


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
    """Privacy statement and estimates with their standard errors, in the data's own units."""
    privacy = estimate.privacy
    out(f"privacy: {privacy['guarantee']['text']}")
    out(f"unit: {privacy['unit']}; neighbours: {privacy['neighbouring']}")
    out(f"spent: {privacy['spent']} in {len(privacy['charges'])} charges, release {estimate.provenance['release_id']}")
    {"mean": _show_mean, "gaussian": _show_gaussian, "gaussian-mixture": _show_mixture}[estimate.kind](estimate)
    for warning in estimate.diagnostics.get("warnings", []):
        note(f"warning: {warning}")


def _show_mean(estimate: Any) -> None:
    rows = _mean_rows(estimate)
    table("released mean: estimate ± standard error", ["", "mean", "of sampling", "of privacy"], rows)


def _mean_rows(estimate: Any) -> list[list[str]]:
    """Of each column: its name, its mean, and the two parts of the mean's standard error."""
    parts = estimate.standard_errors["mean"]
    columns = zip(estimate.columns, estimate.mean, parts["sampling"], parts["privacy"], strict=True)
    return [
        [name, f"{mean:.6g} ±{(own**2 + noise**2) ** 0.5:.2g}", f"±{own:.2g}", f"±{noise:.2g}"]
        for name, mean, own, noise in columns
    ]


def _show_gaussian(estimate: Any) -> None:
    parts = estimate.standard_errors["covariance"]
    rows = []
    for i, told in enumerate(_mean_rows(estimate)):
        sd = estimate.covariance[i, i] ** 0.5
        own, noise = (parts[part][i][i] / (2 * sd) for part in ("sampling", "privacy"))
        rows.append([*told, f"{sd:.4g} ±{(own**2 + noise**2) ** 0.5:.2g}", f"±{own:.2g}", f"±{noise:.2g}"])
    title = "released Gaussian: estimate ± standard error (covariances are in the model file)"
    table(title, ["", "mean", "of sampling", "of privacy", "sd", "of sampling", "of privacy"], rows)


def _show_mixture(estimate: Any) -> None:
    errors = estimate.standard_errors["means"]
    rows = []
    for j, weight in enumerate(estimate.weights):
        cells = [f"{weight:.3f}"]
        for i in range(len(estimate.columns)):
            error = (errors["sampling"][j][i] ** 2 + errors["privacy"][j][i] ** 2) ** 0.5
            cells.append(f"{estimate.means[j, i]:.4g} ±{error:.2g}\n(sd {estimate.covariances[j, i, i] ** 0.5:.3g})")
        rows.append([str(j + 1), *cells])
    table("released components: mean ± standard error (sd)", ["", "weight", *estimate.columns], rows)
