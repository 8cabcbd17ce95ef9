"""Settings: what a user may choose for an estimator, declared once as fields of a frozen dataclass.

Options of the command line, forms, deployment files and scikit-learn parameters are made from these fields. To add a
setting, add a field here and write the code that uses it.
"""

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Protocol, get_type_hints


class Settings(Protocol):
    """A frozen dataclass, each field of which is a `setting`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True)
class _About:
    """Texts for users about a setting, and its permitted values.

    Attributes:
        help: one sentence or less.
        name: name shown to people, if it is not that of the field.
        choices: permitted texts; empty: any.
        words: texts that are permitted instead of a number.
        least, most: bounds of a number, both included.
        above: lower bound of a number, excluded.
        planned: whether it changes what `pubpriv plan` prints.
        instead_of: another setting that cannot be given together with this one.
        because: the reason, a sentence with the options' names.
        left_open: a value that leaves the choice to the run. Later releases of a series keep the choice.
        otherwise: what the run then estimates by itself; a series changes nothing if that was the choice.
        file_or: the setting names a file of public numbers, unless its text is one of these words; None: never a file.
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
        """Return whether this value names a file."""
        return self.file_or is not None and value is not None and value not in self.file_or


def setting(default: Any = MISSING, *, default_factory: Any = MISSING, **about: Any) -> Any:
    """Return a dataclass field for a setting; see `_About` for the keywords."""
    metadata = {"about": _About(**about)}
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Setting:
    """A setting as it was declared.

    Attributes:
        field: name of the field in the dataclass.
        name: name shown to people.
        type: type of the values.
        default: value if the user does not choose.
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
    """Return values by field, not converted as `dataclasses.asdict` would."""
    return {each.name: getattr(settings, each.name) for each in fields(settings)}


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Settings of estimators that can treat groups of rows separately; see `pubpriv.data.categories`."""

    by: str | None = setting(
        None,
        planned=True,
        help="Estimate groups too, by this column, which the estimate does not use, or by month(COLUMN)",
    )
    by_values: tuple[str, ...] = setting(
        (), planned=True, help='The groups by that column: A,B,"C, D". Default: the groups of the public rows'
    )
    label: tuple[str, ...] = setting((), help="Groups' names: union:0=others,union:1=members")


OF_GROUPS = ("by", "by_values", "label")
"""Fields of `Grouped`."""


def ungrouped(settings: Grouped) -> dict[str, Any]:
    """Return values by field without those of groups, for an estimate whose table already knows its groups."""
    return {name: value for name, value in chosen(settings).items() if name not in OF_GROUPS}
