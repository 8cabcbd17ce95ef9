"""Settings: what a user may choose of an estimator, said once, in the fields of a plain frozen dataclass.

Options of the command line, forms, deployment files and scikit-learn parameters are made from these fields, so a new
setting is a field here and the code that uses it.
"""

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Protocol, get_type_hints


class Settings(Protocol):
    """A frozen dataclass, each field of which is a `setting`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True)
class _About:
    """What people read of a setting, and what it may be.

    Attributes:
        help: one sentence or less.
        name: for people, where it is not that of the field.
        choices: of a text; none: any.
        words: allowed instead of a number.
        least, most: of a number, bounds included.
        above: a number must be larger than this.
        planned: it changes what `pubpriv plan` prints.
        instead_of: a setting that cannot be given together with this one ...
        because: ... and why, with the options' names; a sentence.
        left_open: a value that leaves the choice to the run: a series keeps to what its releases were of ...
        otherwise: ... unless that is what the run would estimate by itself.
        file_or: words that the text may be instead of the name of a file of public numbers; None: it names no file.
    """

    help: str
    name: str = ""
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: float | None = None
    planned: bool = False
    instead_of: str = ""
    because: str = ""
    left_open: str = ""
    otherwise: str = ""
    file_or: tuple[str, ...] | None = None

    def is_file(self, value: Any) -> bool:
        """Return whether a value of the setting names a file."""
        return self.file_or is not None and value is not None and value not in self.file_or


def setting(default: Any = MISSING, *, default_factory: Any = MISSING, **about: Any) -> Any:
    """Return a field of settings; see `_About` for what is said of it."""
    metadata = {"about": _About(**about)}
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Setting:
    """A setting as it was declared.

    Attributes:
        field: its name in the dataclass.
        name: its name for people.
        type: of its values.
        default: what it is if nobody chooses.
        about: see `_About`.
    """

    field: str
    name: str
    type: Any
    default: Any
    about: _About


def settings_of(cls: type[Settings]) -> tuple[Setting, ...]:
    """Return the settings in the fields of a dataclass, in order."""
    types = get_type_hints(cls)
    found = []
    for each in fields(cls):
        about: _About = each.metadata["about"]
        default = each.default if each.default_factory is MISSING else each.default_factory()
        found.append(Setting(each.name, about.name or each.name, types[each.name], default, about))
    return tuple(found)


def chosen(settings: Settings) -> dict[str, Any]:
    """Return values by field; unlike `dataclasses.asdict` as they are."""
    return {each.name: getattr(settings, each.name) for each in fields(settings)}


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Settings of an estimator that tells groups of rows apart; see `pubpriv.data.categories`."""

    by: str | None = setting(
        None,
        planned=True,
        help="Estimate groups of rows too, by this column of both tables, which the estimate does not use; "
        "month(COLUMN) for dates",
    )
    by_values: tuple[str, ...] = setting(
        (), planned=True, help='The groups by that column: A,B,"C, D". Default: the groups of the public rows'
    )


OF_GROUPS = ("by", "by_values")
"""Fields of `Grouped`."""


def ungrouped(settings: Grouped) -> dict[str, Any]:
    """Return values by field, without those of groups: what an estimate takes where its table knows the groups."""
    return {name: value for name, value in chosen(settings).items() if name not in OF_GROUPS}
