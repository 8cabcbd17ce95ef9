"""Neighbouring tables as Parquet files; the questions and the exact distance are those of the audit."""

from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

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

ONE_THREAD = ThreadPoolExecutor(1)
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


def plain(*names):
    """Columns without a map."""
    return tuple(Column(name) for name in names)


def write(path, rows):
    """Rows of (a, b), None for null, as a Parquet file."""
    cells = np.array([[np.nan if cell is None else cell for cell in row] for row in rows], dtype=np.float64)
    a, b = ([row[i] for row in rows] for i in (0, 1))
    groups = pa.array(categories_of(cells.reshape(-1, 2)), pa.string())
    pq.write_table(pa.table({"a": pa.array(a, pa.float64()), "b": pa.array(b, pa.float64()), "group": groups}), path)
    return FileTable(path)


def alone(rows, position):
    """The same table with every other record gone: nulls are nobody."""
    return [row if i == position else (None, None) for i, row in enumerate(rows)]


def totals_of(question, table, executor=ONE_THREAD):
    """Exact totals by the product's own scan, as Python integers."""
    return integers(scan(table, question, executor))


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
