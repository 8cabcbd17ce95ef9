"""What every released estimate tells beside its numbers, and how it is written to a file."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

if TYPE_CHECKING:
    from pubpriv.data.tables import PublicTable
    from pubpriv.privacy.books import Statement

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What every released estimate tells beside its numbers, and its file.

    Attributes:
        columns: names of the d columns.
        method: which pipeline made it.
        converged: False if the estimate is to be mistrusted; `diagnostics` says why.
        standard_errors: by name of the number: {"sampling": ..., "privacy": ...}, in the data's own units.
        privacy: the statement: unit, neighbouring, kind, guarantee, spent, charges.
        provenance: dataset, release_id, n_private, n_public, public_sha256, chain_head, version, created.
        diagnostics: public facts of the run.
    """

    kind: ClassVar[str]

    columns: tuple[str, ...]
    method: str
    converged: bool
    standard_errors: Mapping[str, Any]
    privacy: Mapping[str, Any]
    provenance: Mapping[str, Any]
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    def numbers(self) -> dict[str, Any]:
        """The estimate itself as plain data, by the names it has in a model file."""
        raise NotImplementedError

    @classmethod
    def read_numbers(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of the class from what `numbers` wrote."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The model file as plain data."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "method": self.method,
            "converged": self.converged,
            "columns": list(self.columns),
            **self.numbers(),
            "standard_errors": _plain(self.standard_errors),
            "privacy": _plain(self.privacy),
            "provenance": _plain(self.provenance),
            "diagnostics": _plain(self.diagnostics),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """What `to_json` wrote."""
        return cls(
            **cls.read_numbers(data),
            columns=tuple(data["columns"]),
            method=data["method"],
            converged=data["converged"],
            standard_errors=data["standard_errors"],
            privacy=data["privacy"],
            provenance=data["provenance"],
            diagnostics=data["diagnostics"],
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file atomically: readers see the old file or the whole new one."""
        write_atomically(Path(path), json.dumps(self.to_json(), indent=1) + "\n")


def provenance_of(statement: "Statement", n_private: int, public: "PublicTable") -> dict[str, Any]:
    """Where an estimate comes from: the `provenance` part of a model file; public facts only."""
    from importlib.metadata import version

    return {
        "dataset": statement.dataset,
        "release_id": statement.release_id,
        "n_private": n_private,
        "n_public": len(public.rows),
        "public_sha256": public.sha256,
        "chain_head": statement.chain_head,
        "version": version("pubpriv"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def told_method(method: str, statement: "Statement") -> str:
    """The method as a model file names it: a simulation says that it is one."""
    return method if statement.private else f"{method} (simulation: not private)"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` beside `path`, then move it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


# a process tells its mask only when it sets one: once, before there are threads whose files that could touch
_MASK = os.umask(0)
os.umask(_MASK)


@contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[Path]:
    """A file beside `path`, to be written: at the end it takes the place of `path`, after an exception it is gone.

    Args:
        path: where it will be.
        mode: who may read it; None: as the user's mask says.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_MASK if mode is None else mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _plain(value: Any) -> Any:
    """Arrays and tuples as lists, numpy scalars as numbers."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
