"""The datasets that are shown: those of the files that the server was started with, and nothing that a form names."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pubpriv.deployments.files import read_dataset
from pubpriv.deployments.model import Dataset
from pubpriv.errors import InvalidInput, PubPrivError
from pubpriv.flows.dataset_files import files_in

if TYPE_CHECKING:
    from pubpriv.released.report import History


@dataclass(frozen=True)
class Entry:
    """A dataset with its file.

    Attributes:
        file: absolute path of the file.
        dataset: what the file says.
        output: folder of released models and pages.
    """

    file: Path
    dataset: Dataset
    output: Path

    @property
    def name(self) -> str:
        """Return the name in the ledger."""
        return self.dataset.dataset

    @property
    def ledger(self) -> str | None:
        """Return the ledger's URL, from the variable that the file names; None: it is not set."""
        return os.environ.get(self.dataset.ledger)

    def history(self) -> "History":
        """Read budget and runs in the ledger.

        Raises:
            InvalidInput: no ledger is named, or the dataset is not registered in it.
            Unavailable: the ledger cannot be read now.
        """
        from pubpriv.privacy.ledger import Ledger
        from pubpriv.released.report import History

        if not self.ledger:
            raise InvalidInput(f"no ledger: set {self.dataset.ledger} before `pubpriv open`")
        with Ledger.open(self.ledger, create=False) as ledger:
            return History.of(ledger, self.name)

    def models(self) -> dict[str, Path]:
        """Return the model files that were released here, by file name without its end, newest first."""
        from pubpriv.released.tree import ReleaseFiles

        files = ReleaseFiles.models(self.output / "models", self.name)
        return {file.stem: file for file in sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)}


def catalogue(files: Iterable[Path], output: Path) -> dict[str, Entry]:
    """Read the files of datasets.

    Args:
        files: paths of dataset files; none: every file of the current folder that describes a dataset.
        output: folder of releases, where a file names none.

    Returns:
        Entries by the dataset's name.

    Raises:
        InvalidInput: a file that describes no dataset, a dataset in two files, or no file at all.
    """
    named = [file.expanduser().absolute() for file in files]
    entries = [_entry(file, output) for file in named] if named else _here(output)
    if not entries:
        raise InvalidInput("no file here describes a dataset: make one with `pubpriv init`, or name files")
    by_name = {entry.name: entry for entry in entries}
    if len(by_name) != len(entries):
        names = [entry.name for entry in entries]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"two files describe the dataset {twice}: name the files to open")
    return by_name


def _here(output: Path) -> list[Entry]:
    found = []
    for file in files_in(Path.cwd()):
        try:
            found.append(_entry(file, output))
        except PubPrivError:  # other YAML is often beside it
            continue
    return found


def _entry(file: Path, output: Path) -> Entry:
    model = read_dataset(file)
    return Entry(file, model, Path(model.output).expanduser().absolute() if model.output else output)
