"""Forms from the settings of estimators, and the arguments of a command from what was filled in.

A form never names a table, a ledger or a file: those are the dataset's. Each value is one argument with its option
(`--budget=zcdp:1`), so that no text can become another option.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from pubpriv.common.column_names import join_in_command
from pubpriv.common.lists import split_names
from pubpriv.errors import InvalidInput
from pubpriv.estimators import Estimator
from pubpriv.estimators.settings import Setting, settings_of
from pubpriv.web.catalogue import Entry

_LONGEST = 10_000
"""Most letters of a value."""

Kind = Literal["text", "choice", "yes"]
Command = Literal["plan", "fit"]

IN_SPITE = "in_spite"
"""Field of a release that is made though doubtful numbers are likely."""


@dataclass(frozen=True)
class Field:
    """One field of a form.

    Attributes:
        name: its name in the form, and that of the option with dashes.
        label: for people.
        help: one sentence.
        kind: text, a choice, or yes and no.
        value: what it holds at first.
        choices: of a choice; the first, empty, leaves the default.
        required: whether it must be filled in.
        commands: which commands take it.
        repeated: whether each part between commas is an option of its own.
    """

    name: str
    label: str
    help: str
    kind: Kind = "text"
    value: str = ""
    choices: tuple[str, ...] = ()
    required: bool = False
    commands: tuple[Command, ...] = ("plan", "fit")
    repeated: bool = False


def fields_of(entry: Entry, estimator: Estimator) -> list[Field]:
    """Return the fields of a form for a release of a dataset: those of all releases first, then the settings."""
    dataset = entry.dataset
    budgets = [series.allotment for series in dataset.releases if series.estimator == estimator.name]
    budget = (budgets or [series.allotment for series in dataset.releases])[0]
    columns = "" if dataset.columns is None else join_in_command(dataset.columns)
    fields = [
        Field(
            "budget",
            "Budget",
            "Most that this release may spend: zcdp:RHO, approx:EPS,DELTA or pure:EPS.",
            value=budget,
            required=True,
        ),
        Field("columns", "Columns", 'With commas between them, for example age,"log1p(cost)".', value=columns),
    ]
    if dataset.person:
        known = "" if dataset.persons is None else str(dataset.persons)
        fields += [
            Field(
                "persons",
                "Number of persons",
                "For the plan: how many persons there are, roughly.",
                value=known,
                commands=("plan",),
            ),
            Field("rows_per_person", "Rows per person", "How many rows of each person count in full.", value="1"),
        ]
    if dataset.periods:
        fields.append(Field("period", "Period", "Ask the rows of this period alone, as 2026-11."))
    return [*fields, *(_field(each) for each in settings_of(estimator.settings))]


def _field(setting: Setting) -> Field:
    """Return the field of a setting; one that may name a file offers only the words that it takes instead."""
    about = setting.about
    choices = about.choices or (about.file_or or ())
    kinds = [kind for kind in (*get_args(setting.type), setting.type) if isinstance(kind, type)]
    repeated = isinstance(get_origin(setting.type), type) and issubclass(get_origin(setting.type), Mapping)
    shown = ",".join(map(str, setting.default)) if isinstance(setting.default, tuple) else setting.default
    default = f" By itself: {shown}." if shown not in (None, "", False) and not repeated else ""
    text = f"{'COLUMN=VALUE, with commas between them. ' if repeated else ''}{about.help}.{default}"
    kind: Kind = "yes" if kinds[0] is bool else "choice" if choices else "text"
    return Field(
        setting.name.replace("-", "_"),
        setting.name.replace("_", " ").capitalize(),
        text,
        kind,
        choices=("", *choices) if choices else (),
        commands=("plan", "fit") if about.planned else ("fit",),
        repeated=repeated,
    )


def arguments(entry: Entry, estimator: Estimator, command: Command, values: Mapping[str, str]) -> list[str]:
    """Return the arguments of `pubpriv plan` or `pubpriv fit` for what was filled in.

    Args:
        entry: the dataset.
        estimator: what is estimated.
        command: plan or fit.
        values: texts by field; fields that a form does not have are passed over.

    Raises:
        InvalidInput: a field that must be filled in is not, a choice that is none, or letters that no option has.
    """
    made = [command, estimator.name, f"--dataset={entry.file}"]
    for each in fields_of(entry, estimator):
        text = _checked(each, values.get(each.name, "").strip())
        if command not in each.commands or not text:
            continue
        option = f"--{each.name.replace('_', '-')}"
        if each.kind == "yes":
            made.append(option)
        else:
            made += [f"{option}={part}" for part in (split_names(text) if each.repeated else [text])]
    if command == "fit" and values.get(IN_SPITE):
        made.append("--yes")
    return made


def _checked(asked: Field, text: str) -> str:
    if asked.required and not text:
        raise InvalidInput(f"{asked.label} is missing")
    if len(text) > _LONGEST or not text.isprintable():
        raise InvalidInput(f"{asked.label} has letters that cannot be shown, or too many")
    if asked.kind == "choice" and text and text not in asked.choices:
        raise InvalidInput(f"{asked.label} is one of {', '.join(asked.choices[1:])}")
    return text
