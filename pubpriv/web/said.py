"""What a command has said, put together for its page."""

from dataclasses import dataclass
from typing import Any

from pubpriv.web.runs import Run


@dataclass(frozen=True)
class Charge:
    """One charge of a release.

    Attributes:
        question: what was asked, as the plan names it.
        cost: its price, in words.
    """

    question: str
    cost: str


@dataclass(frozen=True)
class Progress:
    """A command as its page shows it.

    Attributes:
        done: whether it has ended.
        made: whether it ended with what it was started for.
        steps: titles of steps that began, in order; a repeated step once.
        charges: what was paid.
        notes: sentences of the command, warnings and rehearsals among them.
        error: why it failed; empty: it did not.
        states: state of each column of a release, if it has states.
        spent: what the release cost, in words.
        plan: of `plan`, as `pubpriv plan --json` prints it.
    """

    done: bool
    made: bool
    steps: tuple[str, ...]
    charges: tuple[Charge, ...]
    notes: tuple[str, ...]
    error: str
    states: dict[str, str]
    spent: str
    plan: dict[str, Any] | None

    @property
    def doing(self) -> str:
        """Return what it does now, in words."""
        if self.done:
            return "done" if self.made else "it has ended without a result"
        return self.steps[-1] if self.steps else "starting"


def progress_of(run: Run) -> Progress:
    """Put together what a command has said so far."""
    code, said = run.code, run.said()
    events = [each for each in said if "event" in each]
    finished = next((each for each in events if each["event"] == "run_finished"), {})
    failed = next((each for each in events if each["event"] == "failed"), {})
    plan = next((each for each in said if "plan" in each and "event" not in each), None)
    made = code is not None and not failed and (bool(finished) or plan is not None)
    titles = dict.fromkeys(str(each["title"]) for each in events if each["event"] == "step_started")
    error = str(failed.get("message", ""))
    if code is not None and not made and not error:
        error = "it was stopped, or ended by itself without a word"
    return Progress(
        done=code is not None,
        made=made,
        steps=tuple(titles),
        charges=tuple(Charge(each["label"], each["cost"]) for each in events if each["event"] == "charge"),
        notes=tuple(str(each["message"]) for each in events if each["event"] == "note"),
        error=error if code is not None else "",
        states=dict(finished.get("states", {})),
        spent=_short(str(finished.get("spent", ""))),
        plan=plan,
    )


def _short(price: str) -> str:
    """Write a price in four digits, as the ledger's page does."""
    amount, space, currency = price.partition(" ")
    return f"{float(amount):.4g}{space}{currency}" if amount else price
