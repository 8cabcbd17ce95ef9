"""The output tree: folders and file names under which programs find releases.

::

    PUBPRIV_OUTPUT/models/<dataset>/<release id>.json      the model file
                                    <release id>.parquet   the same numbers as a table, one per row
                                    <release id>.html      the report page
                                    latest-<series>.json   a copy of the newest model of a series
                                    latest.json            the same for runs without a series

Names are other people's text: characters other than letters, digits, dots, dashes and underscores are written as %XX,
so two names never share a file and none leaves its folder.
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
"""Longest file name without its suffix, in bytes; file systems allow 255."""


@dataclass(frozen=True)
class ReleaseFiles:
    """The files of one release."""

    model: Path
    table: Path
    page: Path
    latest: Path

    @classmethod
    def of(cls, estimate: "Estimate", folder: str | os.PathLike[str], series: str | None = None) -> "ReleaseFiles":
        """Return the paths of a release's files.

        Args:
            estimate: the release.
            folder: root of the tree, as in `PUBPRIV_OUTPUT`.
            series: series of the release; None: it has none.

        Raises:
            InvalidInput: a simulation, or a name that cannot become a file name.
        """
        dataset, release_id = (estimate.provenance.get(name) for name in ("dataset", "release_id"))
        if dataset is None or release_id is None:
            raise InvalidInput("a simulation is no release: save it with .save(path)")
        home, name = Path(folder) / "models" / _safe_name(dataset), _safe_name(release_id)
        model, table, page = (home / f"{name}{suffix}" for suffix in (".json", ".parquet", ".html"))
        latest = _LATEST if series is None else f"{_LATEST}-{_safe_name(series)}"
        return cls(model, table, page, home / f"{latest}.json")

    def model_of(self, release_id: str) -> Path:
        """Return the path of another release's model file in the same dataset.

        Raises:
            InvalidInput: a name that cannot become a file name.
        """
        return self.model.with_name(f"{_safe_name(release_id)}.json")

    @staticmethod
    def latest_of(folder: str | os.PathLike[str], name: str) -> Path | None:
        """Find the copy of the newest model of a dataset, or of one of its series; None if there is none.

        Args:
            folder: root of the tree.
            name: the dataset, or `DATASET.SERIES`.

        Raises:
            InvalidInput: the dataset has several series, and `name` does not say which.
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
            folder: a folder with a folder for each dataset, like `models` of an output tree.
            dataset: name of the dataset.
        """
        return [path for path in Path(folder, _safe_name(dataset)).glob("*.json") if not _is_latest(path.stem)]


def output_root() -> Path | None:
    """Return the absolute path of the folder in `PUBPRIV_OUTPUT`, or None."""
    named = os.environ.get(_VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else None


def check_tree(dataset: str, release_id: str) -> Path | None:
    """Return the root of the tree, if there is one, after checking that a release can be stored there.

    Raises:
        InvalidInput: the folder cannot be written, or the names cannot become file names.
    """
    root = output_root()
    if root is None:
        return None
    folder = next(parent for parent in (root, *root.parents) if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInput(f"{_VARIABLE} {root} cannot be written: {folder} is no folder this user may write to")
    for name in (dataset, release_id):
        _safe_name(name)
    return root


def _safe_name(name: str) -> str:
    """File name for a text, different for different texts.

    Raises:
        InvalidInput: too long, empty, or not a text.
    """
    safe = quote(name, safe="") if _is_text(name) else ""
    if safe[:1] == "." or _is_latest(safe):
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    if not 0 < len(safe) <= _LONGEST:
        raise InvalidInput(f"{name[:40]!r} is no name for a file: give it 1 to {_LONGEST} plain letters")
    return safe


def _is_latest(stem: str) -> bool:
    """Check for the name of a copy of the newest model; no release has such a file name."""
    return stem == _LATEST or stem.startswith(f"{_LATEST}-")


def _is_text(name: str) -> bool:
    """Check that a name has no surrogates, which names from undecodable bytes have."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)
