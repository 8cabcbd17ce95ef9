"""Every record of a Parquet table counts once, and a scan that counts one twice, never or wrongly is caught. About 4 s.

Bugs are seeded in the code that reads and sums private rows; each is caught by what `pubpriv audit --fast` asks.
"""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from pubpriv.audit._catalogue import EAST, WEST, adds, at, examples
from pubpriv.audit._defects import forged
from pubpriv.audit._files import _LAYOUTS, _tried
from pubpriv.audit._neighbours import NOBODY, totals_of
from pubpriv.audit._sensitivity import _records
from pubpriv.data import _norms, memory, pieces
from pubpriv.data import scan as scanning
from pubpriv.data.formats import BATCH
from pubpriv.data.memory import _Remembered
from pubpriv.data.pieces import Chunk, block_length
from pubpriv.data.questions import Counts
from pubpriv.data.regions import NearestPoint
from pubpriv.data.tables import ArrayTable, PrivateTable

pytestmark = pytest.mark.long

EXAMPLES = {example.name: example for example in examples()}
FILE, FOLDER, LINES = _LAYOUTS
SHARE = 7
"""A question for three of seven edges is enough here."""

ASKED = ("counts-nearest", "gram-cells", "bisection-signed")


def broken(layout):
    """What a few questions find broken of one layout: {kind: detail}."""
    found = _tried(layout, [EXAMPLES[name] for name in ASKED], 0, share=SHARE)
    return {f.mechanism.partition(" ")[0]: f.detail for f in found if not f.holds}


@pytest.mark.parametrize("layout", _LAYOUTS, ids=["file", "folder", "lines"])
def test_nothing_is_caught_where_nothing_is_broken(layout):
    """The searches used below, on the product as it is."""
    assert broken(layout) == {}


@pytest.mark.parametrize(
    # of the largest tables half of what a fast audit asks: all kinds come as near to what is declared
    ("layout", "share"),
    [(FILE, 11), (FOLDER, 5), (LINES, 5)],
    ids=["file", "folder", "lines"],
)
def test_every_kind_is_asked_of_every_layout(layout, share):
    """One finding a kind, each near the largest distance that is declared."""
    found = list(_tried(layout, list(EXAMPLES.values()), 1, share=share))
    assert [finding.detail for finding in found if not finding.holds] == []
    assert {f.mechanism.partition(" ")[0] for f in found} == {type(e.question).__name__ for e in EXAMPLES.values()}
    assert all(finding.check == "files" and 0.7 < finding.found <= finding.claimed == 1 for finding in found)


def test_edges_are_those_of_batches_blocks_and_row_groups():
    """Of the large row group: its ends, its first block's, its last block's, and a batch's."""
    length = block_length(2, 70_000)
    assert dict(FILE.edges()) == {
        "the first row of row group 0": 0,
        "the last row of its first block of row group 0": length - 1,
        "the first row of its second block of row group 0": length,
        "the last row of a batch of row group 0": 65_535,
        "the first row of the next batch of row group 0": 65_536,
        "the first row of its last block of row group 0": 70_000 // length * length,
        "the last row before the padding of row group 0": 69_999,
    } | {name: row for name, row in FILE.edges() if "group 0" not in name}
    assert BATCH % length  # a batch ends inside a block
    last = [row for name, row in FILE.edges() if "group 4" in name]
    assert last == [sum(FILE.groups) - 1]
    assert not [name for name, _ in FILE.edges() if "group 1" in name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_reference_is_what_one_record_adds(name):
    """Against the statistic itself, a record at a time, at the edges of the maps."""
    question = EXAMPLES[name].question
    records = _records(np.random.default_rng(5))[::4]
    for record in [*records, at(WEST, (1.0, 0.0)), at(EAST, (0.0, 1.0)), NOBODY]:
        assert adds(question, record) == totals_of(question, [record]), record


def test_a_kind_without_a_reference_is_an_error():
    """What is added to the closed list needs one."""
    with pytest.raises(TypeError, match="write one"):
        adds(object(), (0.0, 0.0))
    with pytest.raises(TypeError, match="write one"):
        adds(forged(Counts, partition=SimpleNamespace(n_regions=1), noise_scale=1), (0.0, 0.0))


# -- seeded bugs ----------------------------------------------------------------------------------------------


def blocks_patched(monkeypatch, change):
    """Blocks of a file pass through `change` (a list of copies) on their way to the scan."""
    right = Chunk.blocks

    def blocks(self) -> Iterator[np.ndarray]:
        yield from change([block.copy() for block in right(self)])

    monkeypatch.setattr(Chunk, "blocks", blocks)


def test_the_last_record_of_each_block_counted_twice(monkeypatch):
    """Sensitivity 2: no table in memory, and no single record, shows it."""

    def change(read):
        return [np.hstack([block, block[:, -1:]]) for block in read]

    blocks_patched(monkeypatch, change)
    caught = broken(FILE)
    assert set(caught) == {"Counts", "LiftedGram", "Bisection"}
    assert "not the sum of the records of the table as it is" in caught["Counts"]


def test_the_last_record_of_each_block_counted_twice_everywhere(monkeypatch):
    """Files and memory agree with each other, and not with the records."""
    right = scanning.View
    monkeypatch.setattr(scanning, "View", lambda block, workspace: right(np.hstack([block, block[:, -1:]]), workspace))
    detail = broken(FILE)["Counts"]
    assert "in memory" in detail
    assert "read once and kept" in detail


def test_lengths_that_a_scan_left_of_another_block(monkeypatch):
    """A record would lie in the shell of a record one block before it, where rows are kept and nowhere else."""
    asked = [EXAMPLES[name] for name in ("gram-unbalanced", "counts-lengths")]
    assert all(finding.holds for finding in _tried(FILE, asked, 0, share=SHARE))
    right = _norms.KeptNorms.find

    def before(self, frame):
        block, self._block = self._block, max(self._block - 1, 0)
        norms, self._block = right(self, frame), block
        return norms

    monkeypatch.setattr(_norms.KeptNorms, "find", before)
    wrong = [finding for finding in _tried(FILE, asked, 0, share=SHARE) if not finding.holds]
    assert [finding.mechanism for finding in wrong] == [f"Counts through {FILE.name}"]


def test_a_neighbour_that_counts_twice_is_further_apart(monkeypatch):
    """A scan that is right on the table as it is, and doubles a record only where it was replaced."""
    right, first = scanning._scan_chunk, {}

    def doubled(questions, chunk, *rest, **more):
        (totals,) = right(questions, chunk, *rest, **more)
        if isinstance(chunk, memory.Kept):
            key = (str(questions), chunk.number)
            low = totals.low
            before = first.setdefault(key, {name: values.copy() for name, values in low.items()})
            totals.low.update({name: values + (values - before[name]) for name, values in low.items()})
        return [totals]

    monkeypatch.setattr(scanning, "_scan_chunk", doubled)
    assert "further apart than declared" in broken(FOLDER)["Counts"]


@pytest.mark.parametrize("twice", [False, True], ids=["dropped", "counted twice"])
def test_a_record_at_the_border_of_a_batch(twice, monkeypatch):
    """Off by one where one batch of decoded rows ends and the next begins, and nowhere else."""
    right = pieces._reblocked

    def reblocked(batches, columns, length, by):
        def shifted():
            last = None
            for batch in batches:
                if last is not None:
                    yield from (last, batch) if twice else (batch.slice(1),)
                else:
                    yield batch
                last = batch.slice(batch.num_rows - 1)

        return right(shifted(), columns, length, by)

    monkeypatch.setattr(pieces, "_reblocked", reblocked)
    assert "Counts" in broken(FILE)


def test_a_row_group_read_twice(monkeypatch):
    """The first of the row groups with rows, instead of the last."""
    right = PrivateTable.chunks
    monkeypatch.setattr(PrivateTable, "chunks", lambda self: [*right(self)[:-1], right(self)[0]])
    assert set(broken(FILE)) == set(broken(FOLDER)) == {"Counts", "LiftedGram", "Bisection"}


def test_a_row_group_left_out(monkeypatch):
    """The last of the table, which holds one row."""
    right = PrivateTable.chunks
    monkeypatch.setattr(PrivateTable, "chunks", lambda self: right(self)[:-1])
    assert {"Counts", "LiftedGram"} <= set(broken(FILE))


def test_columns_in_the_order_of_the_file(monkeypatch):
    """Cells by position, as the file has them, instead of by name."""
    right = pieces._reblocked

    def by_position(batches, columns, length, by):
        return right((batch.rename_columns(batch.schema.names[::-1]) for batch in batches), columns, length, None)

    monkeypatch.setattr(pieces, "_reblocked", by_position)
    assert set(broken(FOLDER)) == {"Counts", "LiftedGram", "Bisection"}


def test_a_column_mapped_twice(monkeypatch):
    """log1p of log1p."""
    right = pieces.map_columns
    monkeypatch.setattr(pieces, "map_columns", lambda block, columns: right(right(block, columns), columns))
    assert "LiftedGram" in broken(FOLDER)


@pytest.mark.parametrize("left", ["what was there", "zeros"])
def test_padding_that_is_counted(left, monkeypatch):
    """The rest of the last block holds records of the block before, or zeros, and not nobody."""

    def change(read):
        for number, block in enumerate(read):
            padding = np.isnan(block).all(axis=0) & (np.cumsum(~np.isnan(block).all(axis=0)[::-1])[::-1] == 0)
            block[:, padding] = read[number - 1][:, padding] if left == "what was there" and number else 0.0
        return read

    blocks_patched(monkeypatch, change)
    assert {"Counts", "LiftedGram"} <= set(broken(FILE))


def test_kept_blocks_that_are_overwritten(monkeypatch):
    """Blocks share one buffer: kept without a copy they all become the last."""

    class Careless(memory.Kept):
        def blocks(self):
            if self.number not in self.memory:
                self.memory[self.number] = list(self.chunk.blocks())
            yield from self.memory[self.number]

    def chunks(self):
        return [Careless(chunk, self._held[1], number) for number, chunk in enumerate(self._table.chunks())]

    monkeypatch.setattr(_Remembered, "chunks", chunks)
    detail = broken(FILE)["Counts"]
    assert "read once and kept" in detail
    assert "read anew" not in detail


def test_a_simulation_that_counts_differently(monkeypatch):
    """Rows in memory whose last batch is left out: simulations would promise what real runs do not give."""
    right = ArrayTable.chunks
    monkeypatch.setattr(ArrayTable, "chunks", lambda self: right(self)[: max(1, len(right(self)) - 1)])
    assert "in memory" in broken(FILE)["Counts"]


def test_a_region_that_depends_on_the_company(monkeypatch):
    """A record's region follows from the first record of its block."""
    right = NearestPoint.assign

    def assign(self, view):
        labels = right(self, view)
        return np.where(labels == labels[0], 0, labels)

    monkeypatch.setattr(NearestPoint, "assign", assign)
    assert "Counts" in broken(FILE)


def test_a_failing_scan_is_a_finding(monkeypatch):
    """By the type of its exception alone."""

    def totals(self, view):
        raise KeyError("a cell")

    monkeypatch.setattr(Counts, "totals", totals)
    detail = broken(FOLDER)["Counts"]
    assert "the scan fails (KeyError)" in detail
    assert "a cell" not in detail


def test_more_faults_than_are_shown_are_counted(monkeypatch):
    """A detail stays readable."""
    monkeypatch.setattr(Counts, "totals", lambda self, view: {})
    assert broken(FOLDER)["Counts"].endswith("and 1 more")
