"""A version of a table with a log: its files, and cells of its columns that are not in them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pubpriv.common.lake_names import LakeName
from pubpriv.common.tables import is_url, root_and_pattern
from pubpriv.data.formats import Look
from pubpriv.errors import InvalidInput


@dataclass(frozen=True, repr=False)
class Fill:
    """A column with one cell for all rows of a file, which is not in the file; its representation shows no cell.

    Attributes:
        name: name of the column.
        cell: Arrow scalar, null if the file is older than the column.
    """

    name: str
    cell: Any


def filled(batch: Any, fills: Sequence[Fill]) -> Any:
    """Return a record batch with further columns."""
    import pyarrow as pa

    for fill in fills:
        batch = batch.append_column(fill.name, pa.repeat(fill.cell, batch.num_rows))
    return batch


@dataclass(frozen=True, repr=False)
class LakeFile:
    """A Parquet file of a version.

    Attributes:
        path: where it is, as `data.stores.locate` takes it.
        schema: Arrow schema of the table.
        cells: columns whose cells the log has, and the file need not have: those of partitions. None stands for a cell
            that the log does not say for sure.
        ids: for each column of the table the number by which files know it; None: files know columns by their names.
        doubtful: columns that a file may lack although the table has cells there.
    """

    path: str
    schema: Any
    cells: Mapping[str, Any] = field(default_factory=dict)
    ids: Mapping[str, int] | None = None
    doubtful: frozenset[str] = frozenset()

    def completed(self, look: Look, columns: Sequence[str], where: str) -> tuple[Look, tuple[Fill, ...]]:
        """Give the file all columns of the table.

        Args:
            look: layout of the file.
            columns: columns that are read.
            where: name of the table, or of the file, for messages.

        Returns:
            The layout with the table's columns, and those of `columns` that are not to be read from the file.

        Raises:
            InvalidInput: the file has such a column under another name, twice, or lacks it for another reason than its
                age.
        """
        import pyarrow as pa

        fields, fills = [], []
        for of_table in self.schema:
            of_file = self._in_file(look, of_table.name, where) if of_table.name in columns else of_table
            fields.append(of_table if of_file is None else of_table.with_type(of_file.type))
            if of_file is None:
                fills.append(Fill(of_table.name, self.cells.get(of_table.name, pa.scalar(None, of_table.type))))
        return replace(look, schema=pa.schema(fields)), tuple(fills)

    def _in_file(self, look: Look, name: str, where: str) -> Any:
        """The field of a column in the file; None if it is not there, or does not count."""
        if name in self.cells:
            if self.cells[name] is None:
                raise InvalidInput(
                    f"column {name!r} of {where} makes partitions by instants, which some writers note in the time of "
                    "their zone: write the version to a folder of its own, and name that one"
                )
            return None
        called = [look.schema.field(i) for i in look.schema.get_all_field_indices(name)]
        if self.ids is None:
            same = called
        else:
            numbers = {each.name: _number(each) for each in look.schema}
            if None in numbers.values():
                raise InvalidInput(f"{where} has columns without Iceberg's numbers: rewrite its data files")
            same = [each for each in look.schema if numbers[each.name] == self.ids[name]]
        if len(same) > 1 or (same and same != called):
            raise InvalidInput(f"column {name!r} has another name in {where}: rewrite its data files")
        if not same and name in self.doubtful:
            raise InvalidInput(f"column {name!r} is not in all data files of {where}, but was: rewrite them")
        return same[0] if same else None


def _number(of_file: Any) -> int | None:
    """The number by which Iceberg knows a column, in the schema of a file."""
    found = (of_file.metadata or {}).get(b"PARQUET:field_id")
    return None if found is None else int(found)


@dataclass(frozen=True, repr=False)
class LakeVersion:
    """A version of a table with a log.

    Attributes:
        name: its name, with the version.
        schema: Arrow schema of the table.
        files: its files, sorted by path.
    """

    name: LakeName
    schema: Any
    files: tuple[LakeFile, ...]


def place_of(lake: LakeName) -> str:
    """Return the folder of a table as libraries take it: a path without escapes, or a URL."""
    return lake.folder if is_url(lake.folder) else root_and_pattern(lake.folder)[0]


def below(lake: LakeName, folder: str, path: str) -> str:
    """Return the path of a file of the table with a log in `folder`.

    Raises:
        InvalidInput: it lies elsewhere, so the ledger would not know it as part of the table.
    """
    path = path if is_url(path) else os.path.realpath(path)
    if not path.startswith(f"{folder.rstrip('/')}/") or ".." in path.split("/"):
        raise InvalidInput(
            f"{lake} has files outside of its folder, as a clone has, or a table that was moved: the ledger knows a "
            "table by its folder, so write the version to a folder of its own, and name that one"
        )
    return path


def refusal(lake: LakeName, what: str, advice: str) -> InvalidInput:
    """Return the error for a version whose files alone do not say what the table has."""
    return InvalidInput(f"{lake} {what}, so its files alone are not the table: {advice}")


def absent(lake: LakeName, library: str) -> InvalidInput:
    """Return the error where the library of a format is not installed."""
    return InvalidInput(
        f"versions of {lake.format} are read with {library}: pip install 'pubpriv[lake]', or write the version to a "
        "folder of its own and name that one"
    )
