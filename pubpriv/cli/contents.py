"""Say which files of a private table are read, before anything is spent."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pubpriv.cli.console import note
from pubpriv.errors import FilesNotRead

if TYPE_CHECKING:
    from pubpriv.data.contents import Contents


def show_contents(contents: "Contents") -> None:
    """Print what a private table in a folder or glob has, as far as it is public, and what is not read."""
    if contents.read is not None:
        note(contents.read)
    if contents.left_out is not None:
        note(f"warning: {contents.left_out}")


@contextmanager
def contents_shown() -> Iterator[None]:
    """Let a run say no more of files that are not read, since `show_contents` has named them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FilesNotRead)
        yield
