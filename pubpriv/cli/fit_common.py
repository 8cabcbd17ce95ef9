"""What the commands of `pubpriv fit` share: options, the run, the model file, and what is shown of it."""

import glob
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubpriv.cli.console import note, out
from pubpriv.cli.estimates import show
from pubpriv.cli.extras import need
from pubpriv.cli.verbosity import USUAL, Voice, speaking
from pubpriv.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from pubpriv.estimators.jobs import Job
    from pubpriv.released.estimate import Estimate

NOT_CONVERGED = 4

PrivateOption = Annotated[str, typer.Option(help="Private Parquet table: file, folder or glob.")]
PublicOption = Annotated[str, typer.Option(help="Public rows of the same kind, Parquet or CSV.")]
BudgetOption = Annotated[str, typer.Option(help="What this run may spend: zcdp:RHO or approx:EPS,DELTA.")]
DatasetOption = Annotated[str, typer.Option(help="Name of the dataset in the ledger.")]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Model file to write, as JSON; PUBPRIV_OUTPUT keeps one too, where it is set.", show_default=False
    ),
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
    from pubpriv.released.tree import check_tree

    root = check_tree(job.dataset, job.release_id)
    if out_ is None and root is None:
        raise InvalidInput("say where the model goes: give --out FILE, or set PUBPRIV_OUTPUT to a folder")
    if out_ is not None:
        check_out(out_, job, overwrite)
    for written in (out_, None if root is None else root / "models"):
        if written is not None:
            check_outside(written, job)
    note(f"release id {job.release_id} (give --release-id {job.release_id} to resume or to replay)")
    try:
        estimate = run(job, flown, voice)
    except KeyboardInterrupt:
        note(f"to resume, run the same command with --release-id {job.release_id}")
        raise
    if out_ is not None:
        save(estimate, out_)
    files = [file for file in (out_, _kept(estimate, root)) if file is not None]
    if voice.quiet or voice.as_json:
        out(str(files[0]))
    else:
        show(estimate)
    note(f"model written to {' and '.join(map(str, files))}")
    if not estimate.converged:
        note("the model did not converge: see its warnings")
        raise typer.Exit(NOT_CONVERGED)


def through_prefect(plain: bool, prefect: bool) -> bool:
    """Whether a run is a flow: if somebody asked for that, by an option or by naming a server.

    Raises:
        InvalidInput: asked for both ways, or Prefect is not installed.
    """
    if plain and prefect:
        raise InvalidInput("--plain runs without Prefect, --prefect with it: give one")
    flown = prefect or (not plain and bool(os.environ.get("PREFECT_API_URL")))
    if flown:
        need("prefect")
    return flown


def run(job: "Job", flown: bool, voice: Voice = USUAL) -> "Estimate":
    """The estimate of a job, through Prefect if `flown`."""
    from pubpriv.cli.logs import tell

    run_of = {"dataset": job.dataset, "release_id": job.release_id}
    with speaking(voice, job):
        tell("run_started", **run_of, estimate=job.estimator.name, budget=job.budget)
        estimate = _estimate(job, flown)
        privacy, warnings = estimate.privacy, list(estimate.diagnostics["warnings"])
        facts = {"converged": estimate.converged, "spent": privacy["spent"], "charges": len(privacy["charges"])}
        tell("run_finished", **run_of, **facts, warnings=warnings)
    return estimate


def _estimate(job: "Job", flown: bool) -> "Estimate":
    from pubpriv.estimators.jobs import admit, check_job, run_job

    for line in admit(job):
        note(line)
    # before anything is spent, or a server started; the run checks everything again
    for line in check_job(job):
        note(f"warning: {line}")
    if not flown:
        # opening a table checks all that its schema says (`tests/schemas/test_plain.py`), so pandera stays out
        estimate = run_job(job)
        _store(estimate, job)
        return estimate
    from pubpriv.flows.runtime import running

    with running(job.ledger):
        from pubpriv.flows.estimate import FLOWS
        from pubpriv.flows.parameters import parameters_of

        flow: Callable[..., Estimate] = FLOWS[job.estimator.name]
        return flow(parameters_of(job))


def check_outside(path: Path, job: "Job") -> None:
    """Refuse to write among the files of the private table, which would be another table then."""
    from pubpriv.places import canonical, overlap

    if overlap(canonical(job.private), glob.escape(str(path.resolve()))):
        raise InvalidInput(f"{path} is among the files of the private table {job.private}: write the model elsewhere")


def check_out(path: Path, job: "Job", overwrite: bool) -> None:
    """Refuse to lose another model, before anything is spent."""
    from pubpriv.released.kinds import load

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


def _store(estimate: "Estimate", job: "Job") -> None:
    """What the flow's last task does: model, table and page in the output tree, if there is one."""
    from pubpriv.released.tree import output_root

    root = output_root()
    if root is not None:
        from pubpriv.released.files import public_rows_of, store_run

        store_run(estimate, root, public_rows_of(estimate, job.public), job.ledger)


def _kept(estimate: "Estimate", root: Path | None) -> Path | None:
    """Where the run left its model in the output tree."""
    from pubpriv.released.tree import release_files

    return None if root is None else release_files(estimate, root).model


def save(estimate: "Estimate", path: Path) -> None:
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
