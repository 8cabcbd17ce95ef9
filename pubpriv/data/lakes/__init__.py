"""Versions of tables with a log, Delta Lake and Iceberg: which files belong to one, as the format's own library says.

The libraries are the extra `pubpriv[lake]`. They read the log alone: its list of files, its columns, and what it says
of partitions. Rows are read by `pieces`, like those of any Parquet file. What could make the files say something else
than the table is refused: rows that are deleted but not removed, columns under other names, features that are not
known here.
"""

from pubpriv.common.lake_names import LakeName
from pubpriv.data.lakes import _delta, _iceberg
from pubpriv.data.lakes._version import Fill, LakeFile, LakeVersion, filled

_OPENING = {"delta": _delta.opened, "iceberg": _iceberg.opened}


def version_of(where: str) -> LakeVersion | None:
    """Open the version of a table with a log that has this canonical name; None if it is that of another table.

    A name without a version means the newest one, if the folder tells which that is.

    Raises:
        InvalidInput: the library is not installed, there is no such version, or its files say something else than the
            table.
        Exception: what the library raises of a log that it cannot read.
    """
    lake = LakeName.of(where)
    return None if lake is None else _OPENING[lake.kind](lake)


__all__ = ["Fill", "LakeFile", "LakeVersion", "filled", "version_of"]
