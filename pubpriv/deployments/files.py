"""Read dataset files into checked models, or say which file, line and field is wrong and what is allowed."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pubpriv.deployments._parts import said
from pubpriv.deployments.model import EXAMPLES, OTHER_NAMES, PATTERNS, SETTINGS, Audit, Dataset
from pubpriv.errors import InvalidInput, nearest
from pubpriv.flows.dataset_files import files_in, filled, read_yaml


def read_all(paths: Sequence[Path], put_in: bool = True) -> list[Dataset | Audit]:
    """Read every file, and of a folder every `*.yaml` and `*.yml` in it.

    Args:
        paths: files and folders.
        put_in: the environment's values for `${NAME}`; otherwise the form that `prefect deploy` puts in itself.

    Raises:
        InvalidInput: a file that cannot be read or has invalid contents; a duplicate name.
    """
    for path in paths:
        if not files_in(path):
            raise InvalidInput(f"{path}: there is no .yaml or .yml file in this folder")
    found = [(file, read(file, put_in)) for path in paths for file in files_in(path)]
    seen: dict[str, Path] = {}
    for file, model in found:
        name = f"dataset {model.dataset}" if isinstance(model, Dataset) else f"audit {model.audit}"
        if name in seen:
            raise InvalidInput(f"{file}: {name} is in {seen[name]} too: put all its releases into one file")
        seen[name] = file
    return [model for _, model in found]


def read(file: Path, put_in: bool = True) -> Dataset | Audit:
    """Read one file; see `read_all`."""
    return described(file, read_yaml(file), put_in)


def read_dataset(file: Path) -> Dataset:
    """Read the file of a dataset.

    Raises:
        InvalidInput: it cannot be read, has invalid contents, or describes an audit.
    """
    model = read(file)
    if not isinstance(model, Dataset):
        raise InvalidInput(f"{file} describes an audit, not a dataset: name another file")
    return model


def described(file: Path, data: Mapping[str, Any], put_in: bool = True) -> Dataset | Audit:
    """Check the contents of a file that was read or will be written, and return its model.

    Args:
        file: path of the file, for messages.
        data: contents of the file.
        put_in: see `read_all`.

    Raises:
        InvalidInput: the contents are invalid.
    """
    model: type[Dataset] | type[Audit] = Audit if "audit" in data else Dataset
    plain = filled(data, lambda name: _value(file, name) if put_in else f"{{{{ ${name} }}}}")
    try:
        return model(**plain)
    except ValidationError as error:
        wrong = [_finding(file, data, model, each) for each in error.errors()]
    raise InvalidInput("; ".join(wrong))


def _value(file: Path, name: str) -> str:
    if name not in os.environ:
        raise InvalidInput(f"{file}: ${{{name}}} stands for an environment variable that is not set: set {name}")
    return os.environ[name]


def _finding(file: Path, data: Any, model: type[BaseModel], error: Any) -> str:
    """Message on what is wrong, where, and what is allowed."""
    inside = error.get("ctx", {}).get("at", ())
    loc = [part for part in (*error["loc"], *inside) if isinstance(part, int | str)]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")
    fields = _fields(model, loc[:-1])
    text = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        text = _unknown(str(loc[-1]), fields)
    elif error["type"] == "missing":
        text = "this field is missing"
    elif error["type"] == "string_pattern_mismatch":
        text = PATTERNS[error["ctx"]["pattern"]]
    elif loc[-1:] and loc[-1] in EXAMPLES and error["type"].endswith("_type"):
        text = f"{text}; write for example {EXAMPLES[loc[-1]]}"
    else:
        text = said(error)
    line = _line(data, loc)
    return f"{file}" + (f", line {line}" if line else "") + (f": {where}" if where else "") + f": {text}"


def _unknown(field: str, fields: Sequence[str]) -> str:
    """Say where a field belongs that is none here."""
    if field in OTHER_NAMES:
        return f"there is no such field: {OTHER_NAMES[field]}"
    if field in SETTINGS and "releases" in fields:
        return f"there is no such field here: it is a setting of a release, settings: {{{field}: ...}}"
    near = nearest(field, fields)
    hint = f"did you mean {near!r}?" if near else f"fields here are {', '.join(fields)}"
    return f"there is no such field; {hint}"


def _fields(model: Any, loc: Iterable[int | str]) -> list[str]:
    """Names of the fields at `loc`."""
    for part in loc:
        if isinstance(part, str):
            model = next(_models(model.model_fields[part].annotation), model)
    return list(model.model_fields)


def _models(annotation: Any) -> Any:
    """Yield the models in an annotation such as `tuple[Series, ...]` or `Schedule | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models(part)


def _line(data: Any, loc: Sequence[int | str]) -> int | None:
    """Line of the innermost existing part, counted from 1."""
    line = None
    for part in loc:
        try:
            line = (data.lc.item(part) if isinstance(part, int) else data.lc.key(part))[0] + 1
            data = data[part]
        except (AttributeError, KeyError, IndexError, TypeError):
            break
    return line
