"""The output tree: where releases are kept so that programs find them.

::

    PUBPRIV_OUTPUT/models/<dataset>/<release id>.json      the model file
                                    <release id>.parquet   the same numbers as a table, one a row
                                    <release id>.html      the report page
                                    latest-<series>.json   a copy of the newest model of a series
                                    latest.json            the same of runs that belong to none

Names are other people's text: whatever is not a letter, digit, dot, dash or underscore is written as %XX, so two
names never share a file and none leaves its folder.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.released.estimate import Estimate

_VARIABLE = "PUBPRIV_OUTPUT"
_LATEST = "latest"
_LONGEST = 200
"""Bytes that a file name may have beside its suffix; file systems allow 255."""


@dataclass(frozen=True)
class ReleaseFiles:
    """The files of one release."""

    model: Path
    table: Path
    page: Path
    latest: Path

    @classmethod
    def of(cls, estimate: "Estimate", folder: str | os.PathLike[str], series: str | None = None) -> "ReleaseFiles":
        """Return where the files of a release are kept.

        Args:
            estimate: that was released.
            folder: root of the tree, as in `PUBPRIV_OUTPUT`.
            series: that the release belongs to; None: to none.

        Raises:
            InvalidInput: a simulation, or names that make no file name.
        """
        dataset, release_id = (estimate.provenance.get(name) for name in ("dataset", "release_id"))
        if dataset is None or release_id is None:
            raise InvalidInput("a simulation is no release: save it with .save(path)")
        home, name = Path(folder) / "models" / _safe_name(dataset), _safe_name(release_id)
        model, table, page = (home / f"{name}{suffix}" for suffix in (".json", ".parquet", ".html"))
        latest = _LATEST if series is None else f"{_LATEST}-{_safe_name(series)}"
        return cls(model, table, page, home / f"{latest}.json")

    def model_of(self, release_id: str) -> Path:
        """Return where the model file of another release of the same dataset is kept.

        Raises:
            InvalidInput: a name that makes no file name.
        """
        return self.model.with_name(f"{_safe_name(release_id)}.json")

    @staticmethod
    def latest_of(folder: str | os.PathLike[str], name: str) -> Path | None:
        """Find the copy of the newest model of a dataset, or of one of its series; None: there is none.

        Args:
            folder: root of the tree.
            name: of the dataset, or `DATASET.SERIES`.

        Raises:
            InvalidInput: it has several series, and nobody says which.
        """
        models = Path(folder) / "models"
        dataset, _, series = name.rpartition(".")
        found = models / _safe_name(name) / f"{_LATEST}.json"
        of_series = models / _safe_name(dataset or name) / f"{_LATEST}-{_safe_name(series)}.json"
        if found.exists() or (dataset and of_series.exists()):
            return found if found.exists() else of_series
        each = sorted(found.parent.glob(f"{_LATEST}-*.json"))
        if len(each) > 1:
            names = ", ".join(f"{name}.{unquote(path.stem.removeprefix(f'{_LATEST}-'))}" for path in each)
            raise InvalidInput(f"dataset {name!r} has several series: name one of {names}")
        return each[0] if each else None

    @staticmethod
    def models(folder: str | os.PathLike[str], dataset: str) -> list[Path]:
        """List the model files of a dataset, without the copies of the newest.

        Args:
            folder: with a folder for each dataset, as `models` of an output tree is.
            dataset: its name.
        """
        return [path for path in Path(folder, _safe_name(dataset)).glob("*.json") if not _is_latest(path.stem)]


def output_root() -> Path | None:
    """Return the folder that `PUBPRIV_OUTPUT` names, if it names one."""
    named = os.environ.get(_VARIABLE, "").strip()
    return Path(named).expanduser() if named else None


def check_tree(dataset: str, release_id: str) -> Path | None:
    """Return the root of the tree, if there is one, once it is clear that a release can be kept there.

    Raises:
        InvalidInput: the folder cannot be written, or the names make no file names.
    """
    root = output_root()
    if root is None:
        return None
    folder = next(parent for parent in (root.absolute(), *root.absolute().parents) if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"{_VARIABLE} {root} cannot be written: {folder} is no folder this user may write to")
    for name in (dataset, release_id):
        _safe_name(name)
    return root


def _safe_name(name: str) -> str:
    """A file name for any text: one of its own for each, in the same folder.

    Raises:
        InvalidInput: it is too long, empty, or no text.
    """
    safe = quote(name, safe="") if _is_text(name) else ""
    if safe[:1] == "." or _is_latest(safe):
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    if not 0 < len(safe) <= _LONGEST:
        raise InvalidInput(f"{name[:40]!r} is no name for a file: give it 1 to {_LONGEST} plain letters")
    return safe


def _is_latest(stem: str) -> bool:
    """It is the name of a copy of a newest model; no release has such a file name."""
    return stem == _LATEST or stem.startswith(f"{_LATEST}-")


def _is_text(name: str) -> bool:
    """It has no half of a character, as names from undecodable bytes do."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)
