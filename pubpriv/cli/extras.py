"""Report in one line which extra to install if a command needs a library that is missing."""

from importlib.util import find_spec
from pathlib import Path

from pubpriv.errors import InvalidInput

_EXTRAS = {
    "adbc_driver_postgresql": ("ADBC for PostgreSQL", "databases"),
    "deltalake": ("deltalake", "lake"),
    "distributed": ("Dask", "dask"),
    "duckdb": ("DuckDB", "databases"),
    "dp_accounting": ("dp-accounting", "accounting"),
    "pandera": ("pandera", "prefect"),
    "prefect": ("Prefect", "prefect"),
    "psutil": ("psutil", "prefect"),
    "psycopg": ("psycopg", "postgres"),
    "pydantic": ("pydantic", "prefect"),
    "pyiceberg": ("pyiceberg", "lake"),
    "ruamel": ("ruamel.yaml", "prefect"),
    "starlette": ("Starlette", "web"),
    "statsmodels": ("statsmodels", "demo"),
    "uvicorn": ("uvicorn", "web"),
    "xlsxwriter": ("XlsxWriter", "excel"),
}
"""For modules of optional libraries: the library, and the extra that installs it."""


def need(module: str) -> None:
    """Check that a library is installed, before anything is written or started.

    Raises:
        InvalidInput: it is not installed.
    """
    if find_spec(module) is None:
        raise _absent(module)


def explained(error: ModuleNotFoundError) -> InvalidInput | None:
    """Return the error for a failed import, or None if no extra installs the module, which is a defect."""
    module = (error.name or "").partition(".")[0]
    return _absent(module) if module in _EXTRAS and find_spec(module) is None else None


def lacking() -> list[str]:
    """Return the extras with a library that is not installed, sorted."""
    return sorted({extra for module, (_, extra) in _EXTRAS.items() if find_spec(module) is None})


def checkout() -> Path | None:
    """Return the folder of the project's sources, which contains `benchmarks`; None if this is no checkout."""
    root = Path(__file__).parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "benchmarks").is_dir() else None


def _absent(module: str) -> InvalidInput:
    library, extra = _EXTRAS[module]
    return InvalidInput(f"this needs {library}: pip install 'pubpriv[{extra}]'")
