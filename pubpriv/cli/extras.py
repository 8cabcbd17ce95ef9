"""Say in one line what to install where a command needs a library that comes with an extra."""

from importlib.util import find_spec
from pathlib import Path

from pubpriv.errors import InvalidInput

_EXTRAS = {
    "distributed": ("Dask", "dask"),
    "dp_accounting": ("dp-accounting", "accounting"),
    "pandera": ("pandera", "prefect"),
    "prefect": ("Prefect", "prefect"),
    "psutil": ("psutil", "prefect"),
    "psycopg": ("psycopg", "postgres"),
    "pydantic": ("pydantic", "prefect"),
    "ruamel": ("ruamel.yaml", "prefect"),
    "statsmodels": ("statsmodels", "demo"),
}
"""What a module belongs to, and the extra that brings it."""


def need(module: str) -> None:
    """Refuse to go on without a library, before anything is written or started.

    Raises:
        InvalidInput: it is not installed.
    """
    if find_spec(module) is None:
        raise _absent(module)


def explained(error: ModuleNotFoundError) -> InvalidInput | None:
    """Return what to say of an import that failed, or None where no extra brings the module: that is a defect."""
    module = (error.name or "").partition(".")[0]
    return _absent(module) if module in _EXTRAS and find_spec(module) is None else None


def lacking() -> list[str]:
    """Name the extras of which some library is not installed, sorted."""
    return sorted({extra for module, (_, extra) in _EXTRAS.items() if find_spec(module) is None})


def checkout() -> Path | None:
    """Return the folder of the project's sources if this package runs in one: `benchmarks` is there only."""
    root = Path(__file__).parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "benchmarks").is_dir() else None


def _absent(module: str) -> InvalidInput:
    library, extra = _EXTRAS[module]
    return InvalidInput(f"this needs {library}: pip install 'pubpriv[{extra}]'")
