"""Files of public tables: their bytes, and what is said if they are no table."""

from dataclasses import dataclass
from typing import Any

from pubpriv.common.tables import advice_on, is_url, kind_of
from pubpriv.data.formats._parquet import read_all
from pubpriv.data.stores import public_files, read_public
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable


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
    """
    refused: PubPrivError
    try:
        return [PublicFile(file, read_public(file)) for file in public_files(name)]
    except InvalidInput:
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


def unreadable(name: str, error: Exception, kind: str = "Parquet, CSV or Feather") -> InvalidInput:
    """Return the error for a file that is no table of its kind."""
    reason = " ".join(str(error).split()).rstrip(".")
    return InvalidInput(f"the public table {name} cannot be read as {kind}: {reason}{advice_on(name)}")


def read_arrow(file: PublicFile) -> Any:
    """Read a Parquet or Feather file, in this thread.

    A thread of Arrow's may release the bytes, which belong to Python, only when the process ends, and so abort it: on
    a busy machine a process that had finished its work once ended by SIGABRT.
    """
    import pyarrow as pa

    if file.kind == "Feather":
        content = pa.BufferReader(file.content)
        return pa.ipc.open_file(content, options=pa.ipc.IpcReadOptions(use_threads=False)).read_all()
    return read_all(file.content)
