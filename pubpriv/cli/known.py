"""Options that need not be typed for a registered dataset: table, columns, public rows and ledger.

Typed options come first. The others are read from the dataset's file (`pubpriv init` writes one), if `--dataset` names
a file; otherwise from the ledger, which has the declared table and its columns. No private table is opened.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pubpriv.cli.extras import need
from pubpriv.cli.options import ledger_url
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.deployments.model import Dataset

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Known:
    """Known facts of a dataset.

    Attributes:
        dataset: name in the ledger; None: no dataset is meant.
        private: private table; None: neither typed nor known.
        public: public rows; None: neither typed nor known (the ledger does not store names of public files).
        columns: names or expressions; None: the numeric columns of the public rows.
        ledger: URL of the ledger, or the typed option.
        person: whether the dataset's file says that the unit is a person; the ledger is not asked here.
    """

    dataset: str | None
    private: str | None = None
    public: str | None = None
    columns: tuple[str, ...] | None = None
    ledger: str | None = None
    person: bool = False

    @classmethod
    def of(
        cls, dataset: str | None, private: str | None, public: str | None, columns: str | None, ledger: str | None
    ) -> "Known":
        """Take the typed options, and look up the rest.

        Raises:
            InvalidInput: a file that does not describe a dataset, an unknown dataset, or several declared tables.
            Unavailable: the ledger cannot be read now.
        """
        from pubpriv.common.column_names import split_columns

        named = None if columns is None else tuple(split_columns(columns))
        typed = cls(dataset, private, public, named, ledger)
        if dataset is not None and dataset.lower().endswith(_SUFFIXES):
            return typed._filled_from(Path(dataset))
        return typed._declared() if dataset is not None and private is None else typed

    def _filled_from(self, file: Path) -> "Known":
        """Fill in from the file of a dataset."""
        found = _read_dataset(file)
        return Known(
            found.dataset,
            self.private or found.private,
            self.public or found.public,
            self.columns or found.columns,
            self.ledger or os.environ.get(found.ledger),
            bool(found.person),
        )

    def _declared(self) -> "Known":
        """Fill in from the table that is declared in the ledger."""
        from pubpriv.common.column_names import text_of
        from pubpriv.privacy.ledger import Ledger

        with Ledger.open(ledger_url(self.ledger), create=False) as books:
            tables = books.balance(str(self.dataset)).tables
        if not tables:
            return self
        if len(tables) > 1:
            named = "; ".join(str(table["uri"]) for table in tables)
            raise InvalidInput(f"dataset {self.dataset} declares several tables ({named}): say which, with --private")
        return replace(
            self, private=tables[0]["uri"], columns=self.columns or tuple(map(text_of, tables[0]["columns"]))
        )


def _read_dataset(file: Path) -> "Dataset":
    """Read the file of a dataset.

    Raises:
        InvalidInput: it cannot be read, has invalid contents, or does not describe a dataset.
    """
    for module in ("ruamel", "prefect"):
        need(module)
    from pubpriv.deployments.files import read_dataset

    return read_dataset(file)
