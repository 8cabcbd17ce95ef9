"""Neighbours in real files: is every record counted once, wherever it is?

Tables are cut into files, row groups, batches that are decoded at a time, and blocks that are padded to one length.
There are Parquet files, and a CSV file, whose lines are cut into groups of a fixed number.
In each layout one record is replaced at every edge: the first and the last of a block, of a row group, of a batch,
of the padded block and of the table. Every question is asked by the product's own scan, from the file and from kept
blocks. Its totals, and those of the same rows in memory, must be bit for bit the sum of what each record adds by
itself (`reference`), and two neighbours' totals must differ by no more than the declared distance.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.audit._catalogue import EAST, NORTH, WEST, Example, adds, at, examples
from pubpriv.audit._neighbours import (
    COLUMNS,
    GROUPS,
    NOBODY,
    Integers,
    Record,
    are_cells,
    categories_of,
    difference,
    distance,
    integers,
    with_groups,
)
from pubpriv.audit.finding import Finding, judged
from pubpriv.data.formats import BATCH
from pubpriv.data.memory import remembering
from pubpriv.data.pieces import block_length
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable

_DIRECTIONS = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.6, -0.8)
_STAYS = tuple(at(center, direction, 2.0) for center in (WEST, NORTH) for direction in _DIRECTIONS)
"""Records at the edges: of two regions, beyond their radii."""

_ARRIVES = (*(at(EAST, direction, 2.0) for direction in _DIRECTIONS), NOBODY, at(WEST, (0.0, -1.0), 2.0), (1e300, 0.0))
"""Records that replace them, in turn."""

_ODD: tuple[Record, ...] = (NOBODY, (0.0, -1.0), (0.0, -2.0), (np.inf, 1.0), (1.0, np.inf), (1e300, 0.0), (-1e200, 1.0))
_FAST_SHARE = 5
"""Ask each neighbour one in this many of all questions in a fast audit, and all in a full one.

Not a multiple of 2 or 3, so that all six kinds are asked."""


@dataclass(frozen=True)
class _Layout:
    """How a table is cut.

    Attributes:
        name: for the finding.
        files: rows of each row group of each file, by path, in the order in which files are read.
    """

    name: str
    files: dict[str, tuple[int, ...]]

    @property
    def groups(self) -> list[int]:
        """List the rows of each row group, as they are read."""
        return [rows for groups in self.files.values() for rows in groups]

    def edges(self) -> list[tuple[str, int]]:
        """List where a record has a border beside it, in words and as the number of a row."""
        found, start = [], 0
        for group, rows in enumerate(self.groups):
            length = block_length(len(COLUMNS), rows)
            padded = (rows - 1) // length * length
            places = {
                "the first row": 0,
                "the last row of its first block": length - 1,
                "the first row of its second block": length,
                "the last row of a batch": BATCH - 1,
                "the first row of the next batch": BATCH,
                "the first row of its last block": padded,
                "the last row before the padding": rows - 1,
            }
            inside = {place: name for name, place in places.items() if 0 <= place < rows}
            found += [(f"{name} of row group {group}", start + place) for place, name in sorted(inside.items())]
            start += rows
        return found


_LAYOUTS = (
    # rows of more than one batch; none; whole blocks; whole blocks but for a row; a row alone
    _Layout("a file of uneven row groups", {"table.parquet": (70_000, 0, 8_192, 8_191, 1)}),
    _Layout(
        "a folder of files, some empty",
        {"a.parquet": (4_097, 0), "b.parquet": (), "c/d.parquet": (0, 300, 4_160), "e.parquet": (64,)},
    ),
    _Layout("a CSV file", {"table.csv": (BATCH, 1_001)}),
)


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Try each layout, with one finding on each kind of question."""
    for layout in _LAYOUTS:
        yield from _tried(layout, examples(), seed, _FAST_SHARE if fast else 1)


@dataclass
class _Seen:
    """What was found of one kind of question."""

    asked: int = 0
    furthest: Fraction = Fraction(0)
    faults: list[str] = field(default_factory=list)


def _tried(layout: _Layout, asked: Sequence[Example], seed: int, share: int = 1) -> Iterator[Finding]:
    """Ask of the table as it is, then with one record after another replaced.

    Args:
        layout: how the table is cut.
        asked: examples to ask.
        seed: of the bystanders.
        share: each neighbour, and the file where it is read anew, is asked one example in so many.
    """
    random = np.random.default_rng([seed, sum(layout.groups)])
    alphabet = [*_STAYS, *_ARRIVES, *_ODD, *_bystanders(random)]
    rows, edges = random.integers(len(alphabet), size=sum(layout.groups)), layout.edges()
    rows[[row for _, row in edges]] = np.arange(len(edges)) % len(_STAYS)
    times = np.bincount(rows, minlength=len(alphabet)).tolist()
    alone = [[adds(example.question, record) for record in alphabet] for example in asked]
    whole = [_summed(pieces, times) for pieces in alone]
    seen = {type(example.question).__name__: _Seen() for example in asked}
    cells = np.array(alphabet)
    with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
        disk = _Disk(Path(folder), layout)
        table, before = disk.written(cells[rows]), {}
        for how, source, step in (
            ("in memory", with_groups(cells[rows]), 1),
            ("read anew for each question", table, share),
            ("read once and kept", remembering(table), 1),
        ):
            for example, wanted in zip(asked[::step], whole[::step], strict=True):
                before[example.name] = _ask(seen, example, source, f"as it is, {how}", wanted)
        for number, (where, row) in enumerate(edges):
            old, new = rows[row], len(_STAYS) + number % len(_ARRIVES)
            changed = rows.copy()
            changed[row] = new
            places = range(number % share, len(asked), share)
            source = remembering(disk.written(cells[changed])) if places else None
            for place in places:
                wanted = _summed((whole[place], alone[place][old], alone[place][new]), (1, -1, 1))
                _ask(seen, asked[place], source, f"with {where} replaced", wanted, before[asked[place].name])
    how = f"{len(rows):,} rows in {len(layout.groups)} row groups, a record replaced at each of {len(edges)} edges"
    for kind, found in seen.items():
        scans = f"{found.asked} scans of {how}: the sum of what each record adds alone"
        furthest = float(found.furthest) ** 0.5
        yield judged("files", f"{kind} through {layout.name}", found.faults, scans, 1.0, furthest)


def _ask(
    seen: dict[str, _Seen], example: Example, table: Any, where: str, wanted: Integers, before: Integers | None = None
) -> Integers | None:
    """Totals of one scan, if it ends: the `wanted` ones, and within the declared distance of those `before`."""
    question, kind = example.question, seen[type(example.question).__name__]
    kind.asked += 1
    try:
        totals = integers(scan(table, question))
        apart = distance(question, difference(before or wanted, totals)) / question.squared_distance
    except Exception as error:
        kind.faults.append(f"{example.mechanism}: the scan fails ({type(error).__name__}) on the table {where}")
        return None
    if before is not None:
        kind.furthest = max(kind.furthest, apart)
    if before is not None and apart > 1:
        kind.faults.append(f"{example.mechanism}: further apart than declared, the table {where}")
    elif totals != wanted:
        kind.faults.append(f"{example.mechanism}: not the sum of the records of the table {where}")
    return totals


def _summed(alone: Iterable[Integers], times: Iterable[int]) -> Integers:
    """Totals of a table that holds each record some `times`."""
    total: Integers = {}
    for piece, count in zip(alone, times, strict=True):
        for name, values in piece.items():
            before = total.get(name, [0] * len(values))
            total[name] = [old + count * value for old, value in zip(before, values, strict=True)]
    # a cell that came to be empty is not there
    return {name: values for name, values in total.items() if any(values)} if are_cells(total) else total


def _bystanders(random: np.random.Generator) -> list[Record]:
    """Records of all regions; what each adds differs from what the others add."""
    return [(float(a), float(np.expm1(b))) for a, b in random.normal(0.0, (4.0, 2.0), (40, 2))]


@dataclass
class _Disk:
    """Where tables of a layout are written, one in the place of the other.

    Attributes:
        folder: of the files.
        layout: how they are cut.
        lines: of the last CSV file: all but one of a neighbour's are the same.
        bits: of the records in them, (n, 2).
    """

    folder: Path
    layout: _Layout
    lines: list[str] = field(default_factory=list)
    bits: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))

    def written(self, cells: np.ndarray) -> PrivateTable:
        """Write records (n, 2): columns in another order, among others."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        a, b = cells.T
        other = np.arange(len(cells), dtype=np.float64)
        # a missing cell is a null in one column and NaN in the other
        columns = {"b": pa.array(b), "other": pa.array(other), "a": pa.array(a, from_pandas=True)}
        columns |= {"x": pa.array(-other), "group": pa.array(categories_of(cells)).dictionary_encode()}
        table, start = pa.table(columns), 0
        if path_of_csv := next((self.folder / name for name in self.layout.files if name.endswith(".csv")), None):
            return self._as_text(path_of_csv, table, cells.view(np.int64))
        for name, groups in self.layout.files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            with pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=False) as writer:
                for rows in groups:
                    writer.write_table(table.slice(start, rows))
                    start += rows
        single = len(self.layout.files) == 1
        return PrivateTable.open(path if single else self.folder, COLUMNS, by=GROUPS)

    def _as_text(self, path: Path, table: Any, bits: np.ndarray) -> PrivateTable:
        """Write the same as a CSV file, with a comma and quotes in a cell of each line."""
        if len(self.lines) != len(bits):
            self.lines, self.bits = [""] * len(bits), ~bits
        fresh = np.flatnonzero((bits != self.bits).any(axis=1))  # by bits: a missing cell equals itself, -0 not 0
        cells = zip(*(column.to_pylist() for column in table.take(fresh).columns), strict=True)
        for place, row in zip(fresh.tolist(), cells, strict=True):
            self.lines[place] = _line(row)
        self.bits = bits
        path.write_text("\n".join([",".join([*table.column_names, "words"]), *self.lines]) + "\n")
        return PrivateTable.open(path, COLUMNS, by=GROUPS)


def _line(row: Sequence[Any]) -> str:
    """Write the cells of one record as a line of a CSV file."""
    cells = ("" if cell is None else cell if isinstance(cell, str) else repr(cell) for cell in row)
    return ",".join([*cells, '"a, ""b"""'])
