"""Options of commands, made from the settings of an estimator."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

import typer

from pubpriv.common.lists import split_names
from pubpriv.errors import InvalidInput
from pubpriv.estimators import Estimator
from pubpriv.estimators.settings import Setting, Settings, settings_of


def _option_of(setting: Setting) -> str:
    """Return the option of a setting, as it is typed."""
    return "--" + setting.name.replace("_", "-")


def with_settings(command: Callable[..., None], estimator: Estimator, planned: bool = False) -> Callable[..., None]:
    """Return `command`, with an option for each setting instead of `**given`.

    Args:
        command: takes options by their setting's field; options that were not given are None.
        estimator: estimator with the settings.
        planned: only settings that change a plan.
    """
    own = [each for each in settings_of(estimator.settings) if each.about.planned or not planned]

    def derived(**options: Any) -> None:
        command(**options)

    before = inspect.signature(command, eval_str=True).parameters.values()
    named, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    common = [each.replace(kind=named) for each in before if each.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [inspect.Parameter(each.field, named, default=None, annotation=_annotation(each)) for each in own]
    required = [each for each in common if each.default is empty]
    parameters = [*required, *options, *(each for each in common if each.default is not empty)]
    derived.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    derived.__annotations__ = {each.name: each.annotation for each in parameters}
    derived.__name__ = estimator.name
    return derived


def settings_from(estimator: Estimator, given: Mapping[str, Any]) -> Settings:
    """Make settings from the options that were given; the others are at their defaults.

    Raises:
        InvalidInput: two options that exclude each other, or invalid values.
    """
    values: dict[str, Any] = {}
    declared = {each.field: each for each in settings_of(estimator.settings)}
    for each in declared.values():
        value = given.get(each.field)
        if value is None:
            continue
        other = given.get(each.about.instead_of)
        if other is not None and other not in declared[each.about.instead_of].about.words:
            raise InvalidInput(each.about.because)
        values[each.field] = _read(each, value)
    return estimator.settings(**values)


def _read(setting: Setting, value: Any) -> Any:
    if setting.about.words:
        return _number_or_word(_option_of(setting), value, setting.about.words)
    if get_origin(setting.type) is tuple:
        return _listed(setting, split_names(str(value)))
    example = f"{_option_of(setting)} capital_gain=7000"
    return by_column(_option_of(setting), value, example) if _is_mapping(setting) else value


def _listed(setting: Setting, texts: Sequence[str]) -> tuple[Any, ...]:
    """Convert a list to the type of the setting's values."""
    kind = get_args(setting.type)[0]
    try:
        return tuple(map(kind, texts))
    except ValueError:
        example = ",".join(map(str, setting.default))
        raise InvalidInput(f"{_option_of(setting)} takes numbers with commas between them: {example}") from None


def _number_or_word(option: str, given: str | int, words: tuple[str, ...]) -> int | str:
    """Parse a whole number, or one of some words."""
    if given in words:
        return given
    try:
        return int(given)
    except ValueError:
        raise InvalidInput(f"{option} takes a whole number, {' or '.join(words)}, not {given!r}") from None


def by_column_options(estimator: Estimator, given: Mapping[str, Any]) -> list[str]:
    """Return those of the given options that take columns."""
    return [_option_of(each) for each in settings_of(estimator.settings) if _is_mapping(each) and given.get(each.field)]


def by_column(option: str, given: Sequence[str], example: str) -> dict[str, float]:
    """Read numbers by column, from `COLUMN=VALUE` texts.

    Raises:
        InvalidInput: another text, with an example of the option, or a column twice.
    """
    found: dict[str, float] = {}
    for text in given:
        name, sign, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            sign = ""
        if not sign or not name.strip():
            raise InvalidInput(f"{option} takes COLUMN=VALUE, for example {example}, not {text!r}")
        if name.strip() in found:
            raise InvalidInput(f"{option} names the column {name.strip()} twice")
        found[name.strip()] = number
    return found


def _is_mapping(setting: Setting) -> bool:
    return isinstance(get_origin(setting.type), type) and issubclass(get_origin(setting.type), Mapping)


def _annotation(setting: Setting) -> Any:
    shown = ",".join(map(str, setting.default)) if isinstance(setting.default, tuple) else setting.default
    default = "" if setting.default in (None, {}, ()) else f" [default: {shown}]"
    kind = next(each for each in (*get_args(setting.type), setting.type) if isinstance(each, type))
    kind = str if setting.about.words or get_origin(setting.type) is tuple else kind
    text = f"{setting.about.help}.{default}"
    if kind is bool:
        text = f"{setting.about.help}."
    elif _is_mapping(setting):
        kind, text = list[str], f"COLUMN=VALUE. {setting.about.help}; may be repeated."
    return Annotated[kind | None, typer.Option(_option_of(setting), help=text, show_default=False)]
