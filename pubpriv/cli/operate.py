"""`pubpriv deploy`, `pubpriv serve` and `pubpriv backfill`: scheduled releases on a Prefect server."""

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.extras import need
from pubpriv.errors import BudgetExceeded, InvalidInput

_HOME = Path("pubpriv-home")

_Files = Annotated[
    list[Path] | None,
    typer.Argument(help="YAML files, or folders of them. Default: the examples.", show_default=False),
]


def deploy(
    files: _Files = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change on the server, before and after.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check tables, columns, ledger and schedules, without a server.")
    ] = False,
    yaml: Annotated[
        bool, typer.Option("--prefect-yaml", help="Print a prefect.yaml for `prefect deploy`, and change nothing.")
    ] = False,
    set_budget: Annotated[
        bool, typer.Option("--set-budget", help="Register datasets that are not in the ledger, with their caps.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete deployments of this installation that no file names any more.")
    ] = False,
    installation: Annotated[
        str | None, typer.Option(help="Whose deployments these are. Default: PUBPRIV_INSTALLATION.", show_default=False)
    ] = None,
    pool: Annotated[
        Literal["process", "kubernetes"], typer.Option(help="Kind of work pools that do not exist yet.")
    ] = "process",
    job: Annotated[
        Path | None,
        typer.Option(help="Manifest of the job of a run. Default: kubernetes-job.yaml.", show_default=False),
    ] = None,
) -> None:
    """Register deployments on the Prefect server in PREFECT_API_URL; the same files again change nothing.

    Makes the work pool; a slot for each dataset, so that its runs take turns; and automations that pause a deployment
    whose runs no longer fit, and handle runs that die. Paused schedules stay paused, and settings that others added
    stay. Budgets are checked first, and set only with --set-budget: datasets that differ in the ledger are not
    deployed.
    """
    need("prefect")
    from pubpriv.deployments.examples import EXAMPLES
    from pubpriv.deployments.files import read_all
    from pubpriv.deployments.render import prefect_yaml, render

    if prune and not files:
        raise InvalidInput("--prune deletes what the files name no more: name the files, or their folder")
    if job is not None and pool != "kubernetes":
        raise InvalidInput("--job is the manifest of a job on Kubernetes: give --pool kubernetes too")
    configuration = _job(job) if pool == "kubernetes" else None
    paths = files or [EXAMPLES]
    if yaml:
        out(prefect_yaml(render(read_all(paths, put_in=False))).rstrip())
        return
    from pubpriv.deployments.register import INSTALLATION, register, server
    from pubpriv.flows.again import in_words
    from pubpriv.flows.tags import NOBODY

    owner = installation or os.environ.get(INSTALLATION) or NOBODY
    if prune and owner == NOBODY:
        raise InvalidInput(
            "--prune deletes what this installation deployed and no file names: say which one that is with "
            f"--installation or {INSTALLATION}, so that nobody else's deployments can be meant"
        )
    models = read_all(paths)
    wanted = render(models)
    checks = _check_budgets(models, set_budget and not dry_run)
    unready = sum(each.looked and not each.right for each in checks), _check_tables(models) if check else 0
    if not dry_run:
        _refuse_unready(*unready)
    if check:
        _show_times(wanted)
        note(f"datasets: {len(checks)}; {_as_looked(sum(each.looked for each in checks), len(checks))}")
        return
    with server() as client:
        whole = any(path.is_dir() for path in paths)
        outcomes = register(client, wanted, whole, prune, dry_run, owner, configuration)
    for outcome in outcomes:
        out(f"{outcome.what}: {outcome.result}" + (f" ({outcome.detail})" if outcome.detail else ""))
    if all(outcome.result == "unchanged" for outcome in outcomes):
        note("nothing to change")
    out(f"retries: {in_words()}")
    if dry_run and configuration is not None:
        out("each run is this job, with the environment of its dataset file:")
        out(json.dumps(configuration["job_manifest"], indent=2))
    _refuse_unready(*unready)


def _job(file: Path | None) -> dict[str, Any]:
    from pubpriv.deployments.kubernetes_jobs import JOB, job_configuration, read_job

    return job_configuration(read_job(file or JOB))


def _check_budgets(models: Any, set_budget: bool) -> Any:
    """Print the state of each dataset in the ledger, and return it."""
    from pubpriv.deployments.budgets import budget_checks

    checks = budget_checks(models, set_budget)
    for check in checks:
        (out if check.right else note)(f"dataset {check.dataset}: {check.finding}")
        for release, forecast in check.forecasts.items():
            out(f"  {check.dataset}.{release}: {forecast}")
    return checks


def _show_times(wanted: Any) -> None:
    """Print when each deployment with a schedule runs: in words, and the next times themselves."""
    from pubpriv.deployments.schedules import next_times

    for each in wanted:
        if each.schedule is not None and each.schedule.active:
            out(f"{each.name} runs {next_times(each.schedule.prefect())}")


def _as_looked(looked: int, datasets: int) -> str:
    """Summary of checks that found nothing wrong."""
    if looked == datasets:
        return "the tables are there, and the ledger has them as their files say"
    return f"the tables are there, and {datasets - looked} were not looked for in a ledger, see above"


def _check_tables(models: Any) -> int:
    """Print which tables or columns are missing; return the number of datasets with missing ones."""
    from pubpriv.deployments.tables import table_findings

    found = table_findings(models)
    for dataset, finding in found:
        note(f"dataset {dataset}: {finding}")
    return len(found)


def _refuse_unready(budgets: int, tables: int) -> None:
    if budgets or tables:
        what = [f"{budgets} in the ledger"] * bool(budgets) + [f"{tables} in their tables"] * bool(tables)
        raise InvalidInput(
            f"nothing was deployed: these datasets differ from their files: {', '.join(what)}; see above"
        )


def serve(
    port: Annotated[
        int, typer.Option(help="Port of the server on 127.0.0.1; 0: any that is free.", min=0, max=65535)
    ] = 4200,
    home: Annotated[Path, typer.Option(help="Keep all files in this folder: databases, ledger, models, logs.")] = _HOME,
    datasets: Annotated[
        Path | None, typer.Option(help="Serve the dataset files in this folder too.", show_default=False)
    ] = None,
    no_examples: Annotated[bool, typer.Option("--no-examples", help="Leave out the example datasets.")] = False,
    ready_file: Annotated[
        Path | None, typer.Option(help="Write addresses and processes to this file, as JSON, when everything is up.")
    ] = None,
) -> None:
    """Run everything on one machine, to try it out: server with UI, worker, slots, deployments. Ctrl-C ends all of it.

    There are no connections from or to other machines. Datasets are registered with their caps in a ledger in the home
    folder. With --no-examples, the ledger in PUBPRIV_LEDGER is used if it is set, and no budget is set in it; if it is
    set, your own datasets are served only with that ledger.
    """
    need("prefect")
    from pubpriv.deployments import serving
    from pubpriv.deployments.examples import EXAMPLES
    from pubpriv.flows.runtime import environment as variables

    if no_examples and datasets is None:
        raise InvalidInput("nothing to serve: give --datasets FOLDER, or leave out --no-examples")
    own = _own_ledger(datasets, no_examples)
    serving.check(port)
    port = port or serving.free_port()
    folder = home.expanduser().resolve()
    _prepare(folder)
    ledger = own or f"sqlite:///{folder / 'ledger.db'}"
    output = Path((own and os.environ.get("PUBPRIV_OUTPUT")) or folder / "released").expanduser().resolve()
    files = [*([] if no_examples else [EXAMPLES]), *([datasets] if datasets else [])]
    environment = serving.settings(folder, port, ledger, output, files)
    everything = serving.clean(os.environ) | environment
    note(f"starting in {folder} ...")
    prepare = partial(_prepared, folder, datasets, examples=not no_examples, set_budget=own is None)
    with (
        variables(everything, alone=True),  # before Prefect is imported, which reads them then
        serving.serving(folder, port, environment, prepare) as (served, wait),
    ):
        out(f"UI:     {served.ui}")
        out(f"API:    export PREFECT_API_URL={served.api}")
        out(f"ledger: export PUBPRIV_LEDGER={served.ledger}")
        out(f"logs:   {folder / 'server.log'}, {folder / 'worker.log'}")
        note("ready; Ctrl-C ends the server, the worker and their runs")
        if ready_file is not None:
            served.write(ready_file)
        wait()
        note("ending ...")


def _own_ledger(datasets: Path | None, no_examples: bool) -> str | None:
    """Return the ledger in PUBPRIV_LEDGER, which is not used for examples; None: a ledger in the home folder.

    Raises:
        InvalidInput: datasets would get their caps a second time, in another ledger than the one in PUBPRIV_LEDGER.
    """
    from pubpriv.privacy.ledger.urls import understand

    named = os.environ.get("PUBPRIV_LEDGER")
    if named and datasets is not None and not no_examples:
        raise InvalidInput(
            "the examples are served with a ledger of their own, and in that one your datasets would get their whole "
            "budgets a second time beside the ledger that PUBPRIV_LEDGER names: say --no-examples, or unset "
            "PUBPRIV_LEDGER if it is for other tables"
        )
    if not named or not no_examples:
        return None
    address = understand(named)
    return named if address.path is None else address.shown  # runs work in folders of their own


def _prepared(
    folder: Path, datasets: Path | None, *, examples: bool, set_budget: bool
) -> tuple[str, Callable[[], None]]:
    """Read the files to deploy; return their work pool, and a function that registers and shows the deployments."""
    from pubpriv.deployments.examples import EXAMPLES
    from pubpriv.deployments.files import read_all
    from pubpriv.deployments.render import render

    models = read_all([*([EXAMPLES] if examples else []), *([datasets] if datasets else [])])
    wanted = render(models)
    pools = sorted({each.pool for each in wanted})
    if len(pools) > 1:
        raise InvalidInput(f"one worker serves one pool, and the files name {', '.join(pools)}: give all the same pool")
    if examples:
        from pubpriv.deployments.examples import make

        make(folder / "data")

    def register_all() -> None:
        from pubpriv.deployments.register import register, server

        _check_budgets(models, set_budget)
        with server() as client:
            for outcome in register(client, wanted):
                if outcome.result != "unchanged":
                    out(f"{outcome.what}: {outcome.result}" + (f" ({outcome.detail})" if outcome.detail else ""))
        _show_next(wanted)

    return pools[0], register_all


def _prepare(folder: Path) -> None:
    """Make a home folder that only this user may read."""
    refused = None
    try:
        (folder / "prefect").mkdir(parents=True, exist_ok=True)
        (folder / "data").mkdir(exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        refused = error.strerror
    if refused is not None:
        raise InvalidInput(f"--home {folder} cannot be made ({refused}): name a folder that this user may write to")


def _show_next(wanted: Any) -> None:
    from datetime import UTC, datetime

    from pubpriv.deployments.fire_times import times
    from pubpriv.flows.periods import Period, release_id_for

    rows = []
    for each in wanted:
        due = times(each.schedule.prefect(), 1) if each.schedule and each.schedule.active else []
        when = f"{due[0]:%Y-%m-%d %H:%M %Z}" if due else "by hand"
        series = each.parameters["parameters"].get("series")
        period = Period.parse(each.period) if each.period else None
        at = due[0] if due else datetime.now(UTC)
        rows.append([each.full_name, when, release_id_for(at, period, series) if period else ""])
    table("what runs next", ["deployment", "due", "release id"], rows)


def backfill(
    name: Annotated[str, typer.Argument(help="Name of the deployment, for example sensors.mean.")],
    from_: Annotated[str, typer.Option("--from", help="First day or time, for example 2026-11-01.")],
    to: Annotated[str, typer.Option("--to", help="Last day or time; it counts.")],
    yes: Annotated[bool, typer.Option("--yes", help="Run without asking.")] = False,
) -> None:
    """Run the periods of a schedule that have no release. Each is a release of its own, with its own price.

    Periods that have a release are skipped. The private table is read as it is today.
    """
    need("prefect")
    from pubpriv.deployments.backfill import plan, trigger
    from pubpriv.deployments.register import identity, server

    with server() as client:
        deployment = identity(client, name)
        if deployment is None:
            raise InvalidInput(
                f"`pubpriv deploy` made no deployment {name} on this server: list them with `prefect deployment ls`"
            )
        found = plan(deployment, from_, to)
        if not found.missing:
            note(f"nothing is missing: all {found.present} periods have a release")
            return
        _show_missing(found)
        if found.paid > found.fitting:
            raise BudgetExceeded(
                f"{found.paid} releases would have to be paid for, and the budget of {found.dataset} has room for "
                f"{found.fitting}: choose a shorter time, or raise the cap with `pubpriv budget set --raise`"
            )
        if not yes and not sys.stdin.isatty():
            raise InvalidInput("there is no terminal to ask at: give --yes to run these releases")
        if not yes and not typer.confirm(f"run {len(found.missing)} releases?", err=True):
            note("nothing was run")
            return
        for run in trigger(client, deployment, found.missing):
            out(f"run {run} is due now")


def _show_missing(found: Any) -> None:
    rows = [
        [
            each.release_id,
            f"{each.due:%Y-%m-%d %H:%M %Z}",
            "paid already" if each.release_id in found.resumed else found.price_text(found.each),
        ]
        for each in found.missing
    ]
    table(f"{found.deployment.name}: periods without a release", ["release id", "was due", "price"], rows)
    total, left = found.price_text(found.each, found.paid), found.price_text(found.remaining)
    out(f"together {total}, of {left} left for {found.dataset}")
