"""The rehearsal in the commands: what `plan` shows of it, and what `fit` says and asks before anything is spent."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.estimators.jobs import Checked, Job
    from pubpriv.estimators.rehearsal.rehearsal import Rehearsal

RehearsalOption = Annotated[
    bool,
    typer.Option(
        "--rehearsal/--no-rehearsal",
        envvar="PUBPRIV_REHEARSAL",
        show_envvar=False,
        show_default=False,
        help="Try the run in simulation first.",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Run even if doubtful numbers are likely.")]


def show_rehearsal(rehearsal: "Rehearsal") -> None:
    """Print what is likely: the verdict, the intervals, and what to mend."""
    out(rehearsal.verdict() if not rehearsal.trials else f"rehearsal: {rehearsal.verdict()}")
    rows = [
        [
            each.column,
            each.quantity if each.rank is None else f"{100 * each.rank:g}% at or below",
            f"{each.value:.4g}",
            f"{each.half:.2g}",
            f"{each.without_privacy:.2g}",
        ]
        for each in rehearsal.widths
    ]
    if rows:
        heads = ["", "", "likely", "± (95%)", "± without privacy"]
        table("likely intervals", heads, rows)
    for line in rehearsal.sentences():
        if line != rehearsal.verdict():
            note(f"rehearsal: {line}")


def rehearsed(job: "Job", checked: "Checked", yes: bool) -> tuple[str, ...]:
    """Rehearse a run that was not begun yet, say what is likely to go wrong, and ask whether to go on.

    Args:
        job: the run.
        checked: what was checked of it.
        yes: whether to go on without asking.

    Returns:
        What was said, for the release.

    Raises:
        InvalidInput: doubtful numbers are likely, and nobody said to go on. Nothing was spent.
    """
    if job.public is None or checked.records is None or not checked.new:
        return ()
    from pubpriv.estimators.rehearsal.rehearsal import rehearse
    from pubpriv.privacy.budgets import parse_budget

    made = rehearse(job.estimator, job.settings, checked.public, checked.records, parse_budget(job.budget))
    for line in made.sentences():
        note(f"rehearsal: {line}")
    if made.likely_doubtful and not yes:
        _ask(job.budget)
    return made.sentences()


def _ask(budget: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(
            "doubtful numbers are likely, and there is no terminal to ask at: mend what the rehearsal names, or say "
            "--yes to run all the same. Nothing was spent"
        )
    if not typer.confirm(f"Spend {budget} all the same", default=False, err=True):
        raise InvalidInput("doubtful numbers are likely, and nothing was spent: mend what the rehearsal names")
