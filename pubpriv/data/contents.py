"""What a private table in a folder or glob has, in words, as far as it is public.

Files are chosen by their names, so one that is named otherwise would be missed silently. Where the unit is a row,
layout and number of rows are public: both are said, and what is not read is named. Where it is a person they are
private, and one fixed sentence says which files are read, whatever there is.
"""

import warnings
from dataclasses import dataclass

from pubpriv.common.lake_names import LakeName
from pubpriv.common.tables import ENDS, is_in_memory, left_out_in_words, root_and_pattern
from pubpriv.data.pieces import listing_of
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import FilesNotRead


@dataclass(frozen=True)
class Contents:
    """Sentences on the files of a private table.

    Attributes:
        read: what is read; None: it is one file, or in memory.
        left_out: what is not read, and what to do about it; None: nothing, or it is private.
        fixed: whether `read` is the sentence for persons, which says that files are to be checked.
    """

    read: str | None = None
    left_out: str | None = None
    fixed: bool = False

    @classmethod
    def of(cls, table: PrivateTable) -> "Contents":
        """List the files of an open table; no file is opened.

        Raises:
            InvalidInput: see `PrivateTable.open`.
            Unavailable: the storage does not answer.
        """
        if is_in_memory(table.uri):
            return cls()
        if LakeName.of(table.uri) is not None:
            return cls()  # its log says which files are read, and the name which version
        listed = listing_of(table.uri)
        files = listed.files
        root, pattern = root_and_pattern(table.uri)
        if not pattern and files == [root]:
            return cls()
        if table.person:
            return cls(
                f"of {table.uri}, files are read whose names end with {ENDS} and, like those of folders, do not begin "
                "with . or _; how many there are is private, so check yourself that none is missing",
                fixed=True,
            )
        rows = "" if table.n_rows is None else f" and {table.n_rows:,} rows"
        files_read = "1 file" if len(files) == 1 else f"{len(files):,} files"
        return cls(f"the table {table.uri} has {files_read}{rows}", left_out_in_words(table.uri, listed.left_out))

    def warn(self, stacklevel: int = 1) -> None:
        """Warn of what is not read; where that is private, whatever there is, of what is.

        Args:
            stacklevel: callers above this method to whose line the warning belongs; 1: its own caller.

        Warns:
            FilesNotRead: the table is a folder or glob with such files, or its unit is a person.
        """
        told = self.read if self.fixed else self.left_out
        if told is not None:
            warnings.warn(told, FilesNotRead, stacklevel=stacklevel + 1)
