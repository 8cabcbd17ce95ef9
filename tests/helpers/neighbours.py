"""Neighbouring tables as Parquet files; the questions and the exact distance are those of the audit."""

from dataclasses import dataclass
from itertools import accumulate
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pubpriv.audit._catalogue import questions
from pubpriv.audit._neighbours import COLUMNS, GROUPS, categories_of, difference, distance, integers
from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.formats import Piece
from pubpriv.data.pieces import Chunk
from pubpriv.data.questions import Bisection
from pubpriv.data.scan import scan

QUESTIONS = questions()


class FileTable:
    """One Parquet file as `scan` sees a table, without the checks of its schema."""

    def __init__(self, path, columns=COLUMNS, row_groups=1):
        self.path, self.row_groups = str(path), row_groups
        self.columns = parse_columns(columns) if isinstance(columns[0], str) else columns

    def chunks(self):
        """One chunk a row group."""
        footer = pq.read_metadata(self.path)
        by = GROUPS if "group" in footer.schema.names else None
        return [
            Chunk(self.path, Piece(group, footer.row_group(group).num_rows), self.columns, by=by)
            for group in range(self.row_groups)
        ]


@dataclass(frozen=True)
class OneChunk:
    """A table of a single chunk, as `scan` sees it."""

    chunk: Chunk

    def chunks(self):
        return [self.chunk]


def plain(*names):
    """Columns without a map."""
    return tuple(Column(name) for name in names)


def write(folder, rows):
    """Rows of (a, b), None for null, as a Feather file: a Parquet file takes ten times as long to write."""
    cells = np.array([[np.nan if cell is None else cell for cell in row] for row in rows], dtype=np.float64)
    a, b = (pa.array([row[i] for row in rows], pa.float64()) for i in (0, 1))
    table = pa.table({"a": a, "b": b, "group": pa.array(categories_of(cells.reshape(-1, 2)), pa.string())})
    path = folder / f"{uuid4()}.arrow"  # to write over another file takes longer than to make one
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    return OneChunk(Chunk(str(path), Piece(0, len(rows)), parse_columns(COLUMNS), by=GROUPS))


def alone(rows, position):
    """The same table with every other record gone: nulls are nobody."""
    return [row if i == position else (None, None) for i, row in enumerate(rows)]


def totals_of(question, table, executor=None):
    """Exact totals by the product's own scan, as Python integers."""
    return integers(scan(table, question, executor, here=True))


def check(question, first, second):
    """Share of the declared squared distance between totals of two neighbours, which must not be above one.

    A count of a bisection must not move by more than one either.
    """
    delta = difference(first, second)
    share = distance(question, delta) / question.squared_distance
    if isinstance(question, Bisection):
        assert max(map(abs, accumulate(delta["histogram"]))) <= 1, "a count moved by more than one"
    assert share <= 1, "neighbours are further apart than the declared sensitivity"
    return float(share)
