"""Files of public tables: their bytes, and what is said if they are no table."""

import warnings
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from pubpriv.common.inner_names import EXCEL
from pubpriv.common.tables import advice_on, is_called_a_table, is_url, kind_of, left_out_in_words
from pubpriv.data.formats import OF_STATISTICS, read_whole, read_workbook
from pubpriv.data.formats.pandas_columns import column_of
from pubpriv.data.formats.parquet import read_all
from pubpriv.data.stores import public_listing, read_public
from pubpriv.errors import FilesNotRead, InvalidInput, PubPrivError, Unavailable


@dataclass(frozen=True, repr=False)
class PublicFile:
    """A file of a public table.

    Attributes:
        name: its canonical name.
        content: its bytes, decompressed.
    """

    name: str
    content: bytes

    @property
    def kind(self) -> str:
        """Kind of the file, by its name."""
        return kind_of(self.name)


def public_files_of(name: str) -> list[PublicFile]:
    """Return public files: one, or those of a folder or glob, listed as private ones are.

    Raises:
        InvalidInput: no such table.
        Unavailable: the storage does not answer.

    Warns:
        FilesNotRead: some files of the folder or glob are not read.
    """
    refused: PubPrivError
    try:
        listed = public_listing(name)
        if listed.files != [name] and (skipped := left_out_in_words(name, listed.left_out)):
            warnings.warn(skipped, FilesNotRead, stacklevel=6)
        return [PublicFile(file, read_public(file)) for file in listed.files]
    except (InvalidInput, FilesNotRead):  # a program may make exceptions of warnings
        raise
    except FileNotFoundError:
        refused = InvalidInput(f"no public table at {name}: check the {'URL' if is_url(name) else 'path'}")
    except Exception as error:
        if not isinstance(error, OSError) or not is_url(name):
            raise unreadable(name, error) from error
        refused = Unavailable(
            f"the storage of the public table {name} does not answer, or not to the credentials of this environment; "
            "check them, or try again"
        )
    raise refused


_CONTENTS = (
    (b"PAR1", "Parquet: let its name end with .parquet"),
    (b"ARROW1", "Feather: let its name end with .feather"),
    (b"PK\x03\x04", "Excel: let its name end with .xlsx if it is a workbook, or unpack it if it is a zip file"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet: save it as .xlsx, or its sheet as CSV, in UTF-8"),
    (b"\x1f\x8b", "compressed: let its name end with .csv.gz if it is CSV"),
    (b"\x28\xb5\x2f\xfd", "compressed: let its name end with .csv.zst if it is CSV"),
    (b"SQLite format 3", "a database: export the table as Parquet or CSV"),
    (b"\xff\xfe", "text in UTF-16: save it in UTF-8"),
    (b"\xfe\xff", "text in UTF-16: save it in UTF-8"),
)
"""What a public file is, by its first bytes, and what to do. Those of private files are not looked at."""


def check_content(file: PublicFile) -> None:
    """Refuse a file that its first bytes show to be of another kind than its name says.

    Raises:
        InvalidInput: with what it is and what to do.
    """
    what = next((text for first, text in _CONTENTS if file.content.startswith(first)), None)
    if what is not None and is_called_a_table(file.name) and not what.startswith(f"{file.kind}:"):
        raise InvalidInput(f"the public table {file.name} is no {file.kind} file, as its name says, but {what}")


def unreadable(name: str, error: Exception, kind: str = "a table") -> InvalidInput:
    """Return the error for a file that is no table of its kind."""
    if not is_called_a_table(name) and not is_url(name) and advice_on(name):
        return InvalidInput(f"the public table {name} cannot be read as a table{advice_on(name)}")
    reason = " ".join(str(error).split()).rstrip(".")
    return InvalidInput(f"the public table {name} cannot be read as {kind}: {reason}{advice_on(name)}")


def read_frame(file: PublicFile) -> Any:
    """Read a workbook as a DataFrame whose columns have no types."""
    return read_workbook(file.name, BytesIO(file.content))


def read_arrow(file: PublicFile) -> Any:
    """Read a file of any kind but CSV, in this thread; cells of a workbook become texts.

    A thread of Arrow's may release the bytes, which belong to Python, only when the process ends, and so abort it: on
    a busy machine a process that had finished its work once ended by SIGABRT.
    """
    import pyarrow as pa

    if file.kind == "Feather":
        content = pa.BufferReader(file.content)
        return pa.ipc.open_file(content, options=pa.ipc.IpcReadOptions(use_threads=False)).read_all()
    if file.kind == EXCEL:
        frame = read_frame(file)
        columns = [column_of(frame.iloc[:, i]) for i in range(frame.shape[1])]
        return pa.Table.from_arrays(columns, names=[str(name) for name in frame.columns])
    if file.kind in OF_STATISTICS:
        return read_whole(file.name, BytesIO(file.content))
    return read_all(file.content)
