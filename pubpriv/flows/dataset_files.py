"""Read the YAML files that describe datasets, for `pubpriv deploy` and for workers that restrict runs to them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pubpriv.errors import InvalidInput

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def files_in(path: Path) -> list[Path]:
    """List the `*.yaml` and `*.yml` files in a folder; for a file, only itself."""
    return sorted(each for each in path.iterdir() if each.suffix in (".yaml", ".yml")) if path.is_dir() else [path]


def read_yaml(file: Path) -> dict[str, Any]:
    """Read a file; the result has the line numbers of its parts (`data.lc`, see ruamel.yaml).

    Raises:
        InvalidInput: it cannot be read, is not YAML, or describes neither a dataset nor an audit.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    problem, data = "", None
    try:
        data = YAML(typ="rt").load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        problem = "there is no such file: check the path, or have `pubpriv init` write it"
    except (OSError, UnicodeError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text in UTF-8"
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"line {mark.line + 1}: " if mark else ""
        problem += f"{getattr(error, 'problem', None) or 'it is no YAML'}"
    if problem:
        raise InvalidInput(f"{file}: {problem}")
    if not isinstance(data, dict):
        raise InvalidInput(f"{file}: a file describes a dataset (dataset: NAME, ...) or an audit (audit: NAME, ...)")
    return data


def filled(data: Any, value: Callable[[str], str]) -> Any:
    """Return plain dictionaries and lists, with `${NAME}` replaced by values."""
    if isinstance(data, dict):
        return {str(name): filled(part, value) for name, part in data.items()}
    if isinstance(data, list):
        return [filled(part, value) for part in data]
    return _PLACEHOLDER.sub(lambda match: value(match[1]), data) if isinstance(data, str) else data
