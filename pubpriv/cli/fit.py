"""`pubpriv fit`: estimate, and write a model; a command for each estimator."""

import glob
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.console import caution, note, out
from pubpriv.cli.contents import contents_shown, show_contents
from pubpriv.cli.derived import settings_from, with_settings
from pubpriv.cli.estimates import show
from pubpriv.cli.extras import need
from pubpriv.cli.known import Known
from pubpriv.cli.logs import Verbosity, following, log_event, verbosity_of
from pubpriv.cli.options import (
    BudgetOption,
    ColumnsOption,
    LedgerOption,
    RowsPerPersonOption,
    check_suffix,
    ledger_url,
)
from pubpriv.cli.rehearsal import RehearsalOption, YesOption, rehearsed
from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.estimators import ESTIMATORS, Estimator

if TYPE_CHECKING:
    from pubpriv.estimators.jobs import Checked, Job
    from pubpriv.released.estimate import Estimate

_DOUBTFUL = 4

app = typer.Typer(
    no_args_is_help=True, help=f"Estimate from a private table: {', '.join(each.name for each in ESTIMATORS)}."
)


def _flag(option: str, text: str, *short: str) -> Any:
    return typer.Option(option, *short, help=text)


def _fit(estimator: Estimator) -> Callable[..., None]:
    def fit(
        budget: BudgetOption,
        dataset: Annotated[
            str, typer.Option(help="Name of the dataset in the ledger; or its file, as `pubpriv init` writes it.")
        ],
        private: Annotated[
            str | None,
            typer.Option(
                help="Private table: a file, a folder or a glob, delta:FOLDER@VERSION, iceberg:FOLDER@VERSION, "
                "BOOK.xlsx#SHEET, duckdb:///FILE#TABLE, postgresql://HOST/DATABASE#TABLE. Default: the dataset's.",
                show_default=False,
            ),
        ] = None,
        public: Annotated[
            str | None,
            typer.Option(
                help="Public rows of the same kind, for methods that need any. Default: the dataset's.",
                show_default=False,
            ),
        ] = None,
        out_: Annotated[
            Path | None,
            typer.Option(
                "--out",
                help="Write the model to this file, as JSON. PUBPRIV_OUTPUT, where it is set, keeps a copy.",
                show_default=False,
            ),
        ] = None,
        ledger: LedgerOption = None,
        columns: ColumnsOption = None,
        release_id: Annotated[
            str | None,
            typer.Option(
                help="Name this release. The same name again resumes it, at no further cost.", show_default=False
            ),
        ] = None,
        plain: Annotated[bool, _flag("--plain", "Run without Prefect, even if PREFECT_API_URL is set.")] = False,
        prefect: Annotated[
            bool,
            _flag("--prefect", "Run as a Prefect flow. Starts a server for it, unless PREFECT_API_URL names one."),
        ] = False,
        dask: Annotated[
            str | None,
            typer.Option(
                envvar="PUBPRIV_DASK",
                help="Read the private table on this Dask cluster: tcp://HOST:PORT.",
                show_default=False,
            ),
        ] = None,
        rows_per_person: RowsPerPersonOption = "1",
        period: Annotated[
            str | None,
            typer.Option(
                metavar="PERIOD",
                help="Ask the rows of this period alone, as 2026-11. Without it a run counts in every period.",
                show_default=False,
            ),
        ] = None,
        rehearsal: RehearsalOption = True,
        yes: YesOption = False,
        overwrite: Annotated[bool, _flag("--overwrite", "Replace an existing model file.")] = False,
        quiet: Annotated[bool, _flag("--quiet", "Print only the model's path, and errors.", "-q")] = False,
        verbose: Annotated[bool, _flag("--verbose", "Show charges of steps, times of public ones.", "-v")] = False,
        log_json: Annotated[
            bool,
            _flag("--log-json", "Log to standard error, one JSON object a line. PUBPRIV_LOG=json does the same."),
        ] = False,
        **given: Any,
    ) -> None:
        from pubpriv.estimators.jobs import Job

        verbosity, flown = verbosity_of(quiet, verbose, log_json), _through_prefect(plain, prefect)
        settings = settings_from(estimator, given)
        known = Known.of(dataset, private, public, columns, ledger)
        if estimator.needs_public(settings):
            public = _needed(known.public, "--public", "a ledger keeps no name of public files")
        job = Job(
            estimator,
            _needed(known.private, "--private", f"dataset {known.dataset} declares no table yet"),
            public,
            known.columns,
            budget,
            str(known.dataset),
            ledger_url(known.ledger),
            _release_id(estimator, release_id, period),
            settings,
            dask,
            rows_per_person,
            period,
        )
        _execute(job, out_, _Manner(flown, overwrite, verbosity, rehearsal, yes))

    return fit


def _release_id(estimator: Estimator, given: str | None, period: str | None) -> str:
    """The release id: as given, else from the period, which is released once, else a new one."""
    from pubpriv.ledger import new_release_id

    if given is not None:
        return given
    return new_release_id() if period is None else f"{estimator.name}-{period}"


def _needed(table: str | None, option: str, why: str) -> str:
    """Return the name of a table.

    Raises:
        InvalidInput: it was not typed, and is not known otherwise.
    """
    if table is None:
        raise InvalidInput(f"{option} is missing, and {why}: give {option} TABLE, or --dataset FILE (`pubpriv init`)")
    return table


for each in ESTIMATORS:
    app.command(each.name, help=each.help)(with_settings(_fit(each), each))


@dataclass(frozen=True)
class _Manner:
    """How a job is run.

    Attributes:
        flown: as a Prefect flow.
        overwrite: replace the file of another model.
        verbosity: amount of output.
        rehearsal: rehearse it first.
        yes: go on without asking.
    """

    flown: bool
    overwrite: bool
    verbosity: Verbosity
    rehearsal: bool
    yes: bool


def _execute(job: "Job", out_: Path | None, manner: _Manner) -> None:
    """Run a job, write its model and show it.

    Args:
        job: job to run.
        out_: path of the model; None: under `PUBPRIV_OUTPUT`.
        manner: how to run it.

    Raises:
        typer.Exit: with code 4 if some number is doubtful; the model is written nevertheless.
    """
    from pubpriv.released.tree import check_tree

    root = check_tree(job.dataset, job.release_id)
    if out_ is None and root is None:
        raise InvalidInput("say where the model goes: give --out FILE, or set PUBPRIV_OUTPUT to a folder")
    if out_ is not None:
        _check_out(out_, job, manner.overwrite)
    for written in (out_, None if root is None else root / "models"):
        if written is not None:
            _check_outside(written, job)
    checked = admit(job)
    foretold = rehearsed(job, checked, manner.yes) if manner.rehearsal else ()
    note(f"release id {job.release_id} (give --release-id {job.release_id} to resume or to replay)")
    try:
        estimate = run(job, checked, manner.flown, manner.verbosity, foretold)
    except KeyboardInterrupt:
        note(f"to resume, run the same command with --release-id {job.release_id}")
        raise
    if out_ is not None:
        _save(estimate, out_)
    files = [file for file in (out_, _kept(estimate, root)) if file is not None]
    if manner.verbosity in ("quiet", "json"):
        out(str(files[0]))
    else:
        show(estimate)
    note(f"model written to {' and '.join(map(str, files))}")
    if not estimate.converged:
        caution(f"some numbers are doubtful, hence exit code {_DOUBTFUL}: {estimate.verdict}")
        raise typer.Exit(_DOUBTFUL)


def _through_prefect(plain: bool, prefect: bool) -> bool:
    """Decide whether to run as a flow: if an option asks for it, or if a server is named.

    Raises:
        InvalidInput: both options were given, or Prefect is not installed.
    """
    if plain and prefect:
        raise InvalidInput("--plain runs without Prefect, --prefect with it: give one")
    flown = prefect or (not plain and bool(os.environ.get("PREFECT_API_URL")))
    if flown:
        need("prefect")
    return flown


def admit(job: "Job") -> "Checked":
    """Return a job that can run, with its open tables, or refuse it before anything is spent or a server is started.

    Raises:
        PubPrivError: see `Job.check`.
    """
    checked = job.check(note)
    show_contents(checked.contents)
    for line in checked.advice:
        note(f"warning: {line}")
    return checked


def run(
    job: "Job", checked: "Checked", flown: bool, verbosity: Verbosity = "steps", foretold: tuple[str, ...] = ()
) -> "Estimate":
    """Run a job that was admitted, and return its estimate; a flow (`flown`) admits it and opens its tables itself.

    What a rehearsal foretold goes into the estimate. Where a flow keeps its own files, these are without it.
    """
    run_of = {"dataset": job.dataset, "release_id": job.release_id}
    with following(verbosity, job):
        log_event("run_started", **run_of, estimate=job.estimator.name, budget=job.budget)
        with contents_shown():
            estimate = _estimate(job, checked, flown, foretold)
        privacy, warnings = estimate.privacy, list(estimate.diagnostics["warnings"])
        facts = {"converged": estimate.converged, "spent": privacy["spent"], "charges": len(privacy["charges"])}
        facts |= {"states": {name: str(state) for name, state in (estimate.states or {}).items()}}
        log_event("run_finished", **run_of, **facts, warnings=warnings)
    return estimate


def _estimate(job: "Job", checked: "Checked", flown: bool, foretold: tuple[str, ...]) -> "Estimate":
    from pubpriv.estimators.jobs import run_job

    if not flown:
        # opening a table checks everything in its schema (`tests/schemas/test_plain.py`), so pandera is not needed
        estimate = _with_foretold(run_job(job, checked=checked), foretold)
        _store(estimate, job)
        return estimate
    from pubpriv.flows.runtime import running

    with running(job.ledger):
        from pubpriv.flows.estimate import FLOWS
        from pubpriv.flows.parameters import parameters_of

        flow: Callable[..., Estimate] = FLOWS[job.estimator.name]
        return _with_foretold(flow(parameters_of(job)), foretold)


def _with_foretold(estimate: "Estimate", foretold: tuple[str, ...]) -> "Estimate":
    """Keep what was said before the run among the diagnostics."""
    if not foretold:
        return estimate
    return replace(estimate, diagnostics={**estimate.diagnostics, "rehearsal": list(foretold)})


def _check_outside(path: Path, job: "Job") -> None:
    """Refuse to write a model among the files of the private table, which would change that table."""
    from pubpriv.common.tables import canonical, overlap

    if overlap(canonical(job.private), glob.escape(str(path.resolve()))):
        raise InvalidInput(f"{path} is among the files of the private table {job.private}: write the model elsewhere")


def _check_out(path: Path, job: "Job", overwrite: bool) -> None:
    """Refuse to overwrite another model, before anything is spent."""
    from pubpriv.released.kinds import load

    if path.is_dir():
        raise InvalidInput(f"--out {path} is a folder: name a file")
    if path.resolve() in {Path(name).expanduser().resolve() for name in job.inputs()}:
        raise InvalidInput(f"--out {path} is one of this run's inputs: choose another file")
    check_suffix(path, "a model", ".json", "")
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
    """Write model, table and page into the output tree, if there is one, like the flow's last task."""
    from pubpriv.released.tree import output_root

    root = output_root()
    if root is not None:
        from pubpriv.released.files import public_rows_of, store_run

        store_run(estimate, root, public_rows_of(estimate, job.public), job.ledger)


def _kept(estimate: "Estimate", root: Path | None) -> Path | None:
    """Path of the run's model in the output tree."""
    from pubpriv.released.tree import ReleaseFiles

    return None if root is None else ReleaseFiles.of(estimate, root).model


def _save(estimate: "Estimate", path: Path) -> None:
    """Write the model; if the disk refuses it, trying again costs nothing."""
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
