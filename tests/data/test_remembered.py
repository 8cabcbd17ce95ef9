"""A small table is decoded once a run; what is kept changes no bit, and stays in the process."""

import pickle
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.data import memory
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.memory import _Remembered, remembering
from pubpriv.data.pieces import Chunk
from pubpriv.data.questions import Counts, LiftedGram
from pubpriv.data.regions import Cells, Everything, View, _Workspace
from pubpriv.data.scan import scan
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mixture.rounds import GRAM_SHARES

COLUMNS = ["a", "log1p(b)"]


def write(path, n, seed=0):
    """n rows, a tenth of them odd, in row groups of 3000."""
    rows = np.random.default_rng(seed).normal(size=(n, 2))
    rows[::10, 0] = np.nan
    pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), path, row_group_size=3000)
    return path


@pytest.fixture
def table(tmp_path):
    return pp.PrivateTable.open(write(tmp_path / "t.parquet", 10_000), COLUMNS)


def gram():
    """A question that maps, clips and multiplies."""
    frame = Frame.of(np.array([0.1, -0.1]), np.array([[1.0, 0.2], [0.0, 0.9]]))
    return LiftedGram.priced(Everything(), (frame,), (2.0,), Fraction(1), GRAM_SHARES)


def reads(monkeypatch):
    """A list that grows by one whenever a chunk is decoded."""
    read, decode = [], Chunk.blocks
    monkeypatch.setattr(Chunk, "blocks", lambda chunk: (read.append(chunk.piece.number), decode(chunk))[1])
    return read


def test_remembered_blocks_give_the_same_totals_from_one_reading(table, monkeypatch):
    """Three scans of two questions: the totals of a table that is read each time, and each row group decoded once."""
    expected = [scan(table, question) for question in (gram(), Counts.priced(Everything(), Fraction(1)))]
    read, kept = reads(monkeypatch), remembering(table)
    for _ in range(3):
        for question, totals in zip((gram(), Counts.priced(Everything(), Fraction(1))), expected, strict=True):
            found = scan(kept, question)
            assert {name: values.tolist() for name, values in found.items()} == {
                name: values.tolist() for name, values in totals.items()
            }
    assert sorted(read) == [0, 1, 2, 3]


def test_a_run_reads_its_rows_once_and_lets_go_of_them(table, tmp_path, monkeypatch):
    """A curator's two questions decode each row group once; when it closes, nothing is kept."""
    read = reads(monkeypatch)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("kept", budget=pp.ZeroConcentratedDP(10), table=table)
        with pp.Curator(table, ledger, "kept", pp.ZeroConcentratedDP(2)) as curator:
            curator.begin("test", {}, "f00")
            for label in ("one", "two"):
                curator.release(Counts.priced(Everything(), Fraction(1, 2)), label)
            assert isinstance(curator._source(gram()), _Remembered)
        assert not isinstance(curator._source(gram()), _Remembered)
    assert sorted(read) == [0, 1, 2, 3]


def test_a_large_table_is_read_every_time(table, monkeypatch):
    """One byte more than the limit, by rows times columns, and nothing is kept."""
    assert isinstance(remembering(table), _Remembered)
    monkeypatch.setattr(memory, "MOST_BYTES", 10_000 * 2 * 8 - 1)
    assert remembering(table) is table


def test_kept_rows_stay_in_the_process(table):
    """What keeps rows cannot be pickled, and shows none."""
    kept = remembering(table)
    scan(kept, gram())
    for thing in (kept, kept.chunks()[0]):
        assert "array" not in repr(thing)
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(thing)


def test_nothing_else_that_holds_rows_is_pickled_or_shown():
    """A block and what was computed of it, the arrays of a scan, and a simulated curator; arrays are not shown."""
    rows = np.full((4, 2), 73921.5)
    curator = pp.Curator.simulation(rows, pp.ZeroConcentratedDP(1), seed=1)
    view, workspace = View(rows.T), _Workspace()
    workspace.array("kept", (2, 4))[:] = rows.T
    for thing in (view, workspace, curator):
        assert "73921" not in repr(thing)
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(thing)
    assert "73921" not in repr(curator._table)


def test_the_row_count_is_checked_before_every_charge(table, tmp_path):
    """A file that got another row is noticed, although its rows are known, and nothing is spent on it."""
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("kept", budget=pp.ZeroConcentratedDP(10), table=table)
        curator = pp.Curator(table, ledger, "kept", pp.ZeroConcentratedDP(2))
        curator.begin("test", {}, "f00")
        curator.release(Counts.priced(Everything(), Fraction(1, 2)), "one")
        write(tmp_path / "t.parquet", 10_001)
        with pytest.raises(InvalidInput, match="number of rows"):
            curator.release(Counts.priced(Everything(), Fraction(1, 2)), "two")
        assert [charge.label for charge in curator.statement().charges] == ["one"]


def test_a_half_read_table_is_looked_at_again_by_its_scan(table, tmp_path):
    """Until all rows are remembered, a scan checks the row count itself."""
    kept = remembering(table)
    kept.chunks()
    write(tmp_path / "t.parquet", 10_001)
    with pytest.raises(InvalidInput, match="number of rows"):
        scan(kept, gram())


def replaced(path, groups):
    """The same 1000 records, in row groups of these lengths."""
    rows = pa.table({"a": np.arange(1000.0)})
    with pq.ParquetWriter(path, rows.schema) as writer:
        for first, length in zip(np.cumsum([0, *groups[:-1]]), groups, strict=True):
            writer.write_table(rows.slice(int(first), length))
    return path


@pytest.mark.parametrize("later", [[100, 400, 500], [500, 500], [1000]])
def test_a_file_that_was_replaced_gives_no_record_two_places(tmp_path, later):
    """The file is written anew in other row groups between two questions: each record still counts once."""
    table = remembering(pp.PrivateTable.open(replaced(tmp_path / "t.parquet", [100, 900]), ["a"]))
    count = Counts.priced(Everything(), Fraction(1))
    assert scan(table, count)["count"].tolist() == [1000]
    replaced(tmp_path / "t.parquet", later)
    assert scan(table, count)["count"].tolist() == [1000]


def test_half_a_reading_is_not_remembered(tmp_path, monkeypatch):
    """A scan breaks in its second row group: the next one reads the first again, with the rest."""
    table = remembering(pp.PrivateTable.open(replaced(tmp_path / "t.parquet", [100, 900]), ["a"]))
    decode, broken = Chunk.blocks, [True]

    def blocks(chunk):
        if chunk.piece.number == 1 and broken.pop():
            raise OSError("half read")
        return decode(chunk)

    monkeypatch.setattr(Chunk, "blocks", blocks)
    count = Counts.priced(Everything(), Fraction(1))
    with pytest.raises(OSError, match="half read"):
        scan(table, count)
    read = reads(monkeypatch)
    broken.append(False)
    assert scan(table, count)["count"].tolist() == [1000]
    assert sorted(read) == [0, 1]


def about(frame, radius=1.0):
    """Counts of shells of lengths under a frame, and a question that maps records by it."""
    partition = Cells((frame,), (0.0,))
    mapping = LiftedGram.priced(partition, (frame,), (2.0,), Fraction(1), GRAM_SHARES)
    return mapping, Counts.priced(ComponentShells(partition, (radius,)), Fraction(1))


def norms_made(monkeypatch):
    """A list of the frames under which lengths alone are worked out."""
    made, alone = [], View._norms_alone
    monkeypatch.setattr(View, "_norms_alone", lambda view, frame: (made.append(frame), alone(view, frame))[1])
    return made


def test_lengths_are_those_of_the_scan_that_mapped(table, monkeypatch):
    """Found under an equal frame, to the same totals; made under another."""
    square, other, halved = (
        Frame.of(np.array([0.1, 0.0]), np.array(matrix))
        for matrix in ([[1.0, 0.2], [0.3, 0.9]], [[1.0, 0.2], [0.3, 0.8]], [[1.0, 0.0], [0.3, 0.9]])
    )
    expected = [scan(table, about(frame)[1])["count"].tolist() for frame in (square, other, halved)]
    made = norms_made(monkeypatch)
    for frame, asked, want, found in (
        (square, replace(square), expected[0], True),
        (square, other, expected[1], False),
        (halved, replace(halved), expected[2], True),
    ):
        kept = remembering(table)
        scan(kept, about(frame)[0])
        made.clear()
        assert scan(kept, about(asked)[1])["count"].tolist() == want
        assert (made == []) == found


def test_lengths_of_a_scan_that_broke_are_not_found(table, monkeypatch):
    """Rows are read again, by another table's worth of blocks: nothing of the first reading is left."""
    kept, (mapping, counts) = remembering(table), about(gram().frames[0])
    expected, blocks = scan(table, counts)["count"].tolist(), Chunk.blocks

    def breaks(chunk):
        if chunk.piece.number == 2:
            raise OSError("gone")
        return blocks(chunk)

    with monkeypatch.context() as broken:
        broken.setattr(Chunk, "blocks", breaks)
        with pytest.raises(OSError, match="gone"):
            scan(kept, mapping)
    made = norms_made(monkeypatch)
    assert scan(kept, counts)["count"].tolist() == expected
    assert made


def test_lengths_take_no_more_room_than_the_rows(table):
    """Of a question with more frames than columns none are kept; of the next one they are."""
    kept = remembering(table)
    frames = tuple(Frame.of(np.array([0.1 * j, 0.0]), np.array([[1.0, 0.2], [0.3, 0.9]])) for j in range(3))
    cells = Cells(frames, (0.0,) * 3)
    scan(kept, LiftedGram.priced(cells, frames, (2.0,) * 3, Fraction(1), GRAM_SHARES))
    assert kept._held[2] == {}
    scan(kept, about(frames[0])[0])
    assert [[*norms] for norms in kept._held[2].values()] == [[frames[0]]] * 4


def test_chunks_of_one_look_share_one_memory(table):
    """Another thread looks while they are listed: a scan would count rows of both, of files that were replaced."""

    class Interrupted(list):
        def __iter__(self):
            for number, chunk in enumerate(list(self[:])):
                if number == 1:
                    kept.chunks()
                yield chunk

    kept, listed = remembering(table), table.chunks()
    kept._table = mock.Mock(chunks=mock.Mock(side_effect=[Interrupted(listed), *[listed] * 4]))
    assert len({id(chunk.memory) for chunk in kept.chunks()}) == 1
