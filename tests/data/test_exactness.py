"""Totals are the same bits for any threads, any order, any layout in files, and any numeric type."""

import pickle
import random
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.neighbours import QUESTIONS, FileTable, plain

from pubpriv.audit._catalogue import CENTERS, PARTITIONS, PRICE
from pubpriv.audit._neighbours import COLUMNS, categories_of
from pubpriv.audit._neighbours import GROUPS as BY_GROUP
from pubpriv.data._wide import nothing_of
from pubpriv.data.arithmetic import bits
from pubpriv.data.columns import parse_columns
from pubpriv.data.frames import Frame
from pubpriv.data.pieces import block_length
from pubpriv.data.questions import ClippedSums, Counts, LiftedGram, Moments
from pubpriv.data.regions import Cells, Everything, View
from pubpriv.data.scan import _scan_chunk, scan
from pubpriv.data.tables import ArrayTable, PrivateTable

GROUPS = (5000, 4096, 1, 2300, 4095)
ODD = [np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, -1.0, -3.0]


def _rows(seed=0, n=15_492):
    """Rows about the centers of all regions, with odd cells."""
    generator = np.random.default_rng(seed)
    centers = np.array([point for points in CENTERS.values() for point in points])
    rows = centers[generator.integers(len(centers), size=n)] + generator.normal(0, 1.5, (n, 2))
    rows[:, 1] = np.expm1(rows[:, 1])
    odd = generator.random(rows.shape) < 0.02
    rows[odd] = generator.choice(ODD, odd.sum())
    return rows


def _table(rows, nulls_at=()):
    mask = np.isin(np.arange(len(rows)), list(nulls_at))
    groups = pa.array(categories_of(rows), pa.string())
    return pa.table({"a": pa.array(rows[:, 0]), "b": pa.array(rows[:, 1], mask=mask), "group": groups})


def _write(path, pieces):
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, pieces[0].schema) as writer:
        for piece in pieces:
            writer.write_table(piece, row_group_size=len(piece))
    return path


@pytest.fixture(scope="module")
def pieces():
    ends = np.cumsum((0, *GROUPS))
    table = _table(_rows(), nulls_at=range(7, sum(GROUPS), 501))
    return [table.slice(start, stop - start) for start, stop in pairwise(ends)]


@pytest.fixture(scope="module")
def one_file(pieces, tmp_path_factory):
    return PrivateTable.open(_write(tmp_path_factory.mktemp("one") / "t.parquet", pieces), COLUMNS, by=BY_GROUP)


def same(first, second):
    """Equal names, types and integers."""
    assert list(first) == list(second)
    return all(first[n].dtype == second[n].dtype == np.int64 and (first[n] == second[n]).all() for n in first)


@pytest.fixture(scope="module")
def expected(one_file):
    with ThreadPoolExecutor(1) as one:
        return {name: scan(one_file, question, one) for name, question in QUESTIONS.items()}


def test_the_data_reach_every_region_and_leave_some_records_out(one_file, expected):
    """The comparisons below are not of zeros."""
    for name in PARTITIONS:
        counts = expected[f"counts-{name}"]["count"]
        assert counts.min() > 500
        assert counts.sum() < one_file.n_rows - 100
    assert all(any(values.any() for values in totals.values()) for totals in expected.values())


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("name", QUESTIONS)
def test_threads_do_not_change_a_bit(name, threads, one_file, expected):
    """Two and four threads, and the default executor, give the totals of one."""
    with ThreadPoolExecutor(threads) as executor:
        assert same(scan(one_file, QUESTIONS[name], executor), expected[name])
    assert same(scan(one_file, QUESTIONS[name]), expected[name])


class Backwards(Executor):
    """Runs what it is given in a shuffled order, each on a copy that went through pickle."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def map(self, fn, *iterables, timeout=None, chunksize=1):
        work = [tuple(pickle.loads(pickle.dumps(arguments))) for arguments in zip(*iterables, strict=True)]
        futures = [Future() for _ in work]
        order = list(range(len(work)))
        self._random.shuffle(order)
        for i in order:
            futures[i].set_result(pickle.loads(pickle.dumps(fn))(*work[i]))
        self._random.shuffle(futures)
        return (future.result() for future in futures)


@pytest.mark.parametrize("name", QUESTIONS)
def test_order_of_chunks_and_blocks_does_not_change_a_bit(name, one_file, expected):
    """Chunks in any order on an executor that pickles them; blocks of all chunks in one shuffled pile."""
    question = QUESTIONS[name]
    for seed in (1, 2):
        assert same(scan(one_file, question, Backwards(seed)), expected[name])
    with np.errstate(all="ignore"):
        blocks = [block.copy() for chunk in one_file.chunks() for block in chunk.blocks()]
        random.Random(3).shuffle(blocks)
        found = nothing_of(question)
        for block in blocks:
            found.add(question.totals(View(block[:-1], codes=block[-1])))
    assert same(found.clamped(question), expected[name])


LAYOUTS = {
    "folder": ("{}", ["0.parquet", "1.parquet", "2.pq", "3.parquet", "4.parquet"]),
    "nested": ("{}", ["y=1/m=2/p.parquet", "y=1/m=1/p.parquet", "y=0/q.parquet", "y=0/p.parquet", "p.parquet"]),
    "glob": ("{}/part-*.parquet", [f"part-{i}.parquet" for i in range(5)]),
    "nested glob": ("{}/y=*/p?.parquet", [f"y={i % 2}/p{i}.parquet" for i in range(5)]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_in_files_does_not_change_a_bit(layout, pieces, expected, tmp_path):
    """The same row groups over five files, in a folder, in partition folders or behind a glob, give the same totals."""
    pattern, names = LAYOUTS[layout]
    for name, piece in zip(names, pieces, strict=True):
        _write(tmp_path / name, [piece])
    (tmp_path / "notes.txt").write_text("not a table")
    table = PrivateTable.open(pattern.format(tmp_path), COLUMNS, by=BY_GROUP)
    assert table.n_rows == sum(GROUPS)
    assert len(table.chunks()) == 5
    assert all(same(scan(table, question), expected[name]) for name, question in QUESTIONS.items())


def test_a_wide_table_uses_one_blas_thread(tmp_path):
    """Matrix products of 40 columns over blocks of some length give the same bits under any executor, and in memory."""
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(6 * 1024 + 77, 40))
    names = [f"x{i}" for i in range(40)]
    pq.write_table(pa.table({n: rows[:, i] for i, n in enumerate(names)}), tmp_path / "w.parquet", row_group_size=2048)
    whiten = generator.normal(size=(40, 40)) / 6
    cells = Cells(tuple(Frame.of(c, whiten) for c in generator.normal(size=(3, 40))), (0.0, 0.1, 0.2))
    shares = Fraction(3, 100), Fraction(12, 100), Fraction(85, 100)
    question = LiftedGram.priced(cells, cells.frames, (7.0,) * 3, PRICE, shares)
    table = PrivateTable.open(tmp_path / "w.parquet", names)
    assert block_length(40, 2048) == 2048
    assert block_length(40, len(rows)) == 3136
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(4) as four:
        expected = scan(table, question, one)
        assert same(scan(table, question, four), expected)
        assert same(scan(ArrayTable(rows, parse_columns(names)), question, four), expected)
    assert expected["count"].sum() == len(rows)
    (totals,) = _scan_chunk((question,), table.chunks()[0])
    assert totals.clamped(question)["count"].sum() == 2048


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_a_far_origin_costs_what_the_rounding_of_cells_costs(offset):
    """A frame with a matrix maps x + offset about c + offset as x about c, to the last bits of the cells."""
    generator = np.random.default_rng(2)
    near, center, matrix = generator.normal(size=(5, 300)), generator.normal(size=5), generator.normal(size=(5, 5))
    far = near + offset
    expected = matrix @ (near - center[:, None])
    found = Frame.of(center + offset, matrix).map(far, np.empty((5, 300)))
    assert np.abs(found - expected).max() < 40 * np.spacing(offset)


def test_totals_are_what_they_say(tmp_path):
    """Counts, sums, squares and second moments agree with a plain loop over Python integers."""
    rows = _rows(5, 300)
    pq.write_table(_table(rows), tmp_path / "t.parquet")
    table = PrivateTable.open(tmp_path / "t.parquet", ["a", "b"])
    frame, radius = Frame.of(np.array([0.5, -0.5])), 3.0
    steps = ((1 << 16) - np.sqrt(2) / 2 - 1) / radius
    count, total, square, gram = 0, np.zeros(2, object), 0, np.zeros((2, 2), object)
    for row in rows:
        with np.errstate(all="ignore"):
            z = row - np.array([0.5, -0.5])
            norm = float(z @ z)
        if not np.isfinite(norm):
            continue
        q = np.array([round(float(v)) for v in z * (steps * min(1.0, radius / max(norm, 1e-300) ** 0.5))], object)
        count, total, square, gram = count + 1, total + q, square + int(q @ q), gram + np.outer(q, q)
    shares = Fraction(25, 100), Fraction(45, 100), Fraction(30, 100)
    everything = Everything(), (frame,), (radius,)
    moments = scan(table, Moments.priced(*everything, PRICE, shares))
    lifted = scan(table, LiftedGram.priced(*everything, PRICE, shares))
    assert moments["count"].tolist() == lifted["count"].tolist() == [count]
    # one rounding of a product may differ from ours at a tie: a step a record is not allowed, a few in all are
    for found in (moments["sum"], lifted["sum"], scan(table, ClippedSums.priced(*everything, PRICE))["sum"]):
        assert np.abs(found - total.astype(np.int64)).max() <= 2
    assert abs(int(moments["square"][0]) - square) <= 4 * (1 << 17)
    assert lifted["diagonal"].sum() == moments["square"][0]
    assert abs(int(lifted["upper"][0]) - int(gram[0, 1])) <= 4 * (1 << 17)


BIG = (1 << 53) + 1
TYPES = {
    "int8": (pa.int8(), [-128, 127, None, 3]),
    "uint8": (pa.uint8(), [0, 255, None, 3]),
    "int32": (pa.int32(), [-(1 << 31), None, 5, 1]),
    "int64 beyond 2^53": (pa.int64(), [BIG, -BIG, None, (1 << 63) - 1, -(1 << 63), 7]),
    "uint64": (pa.uint64(), [(1 << 64) - 1, BIG, None, 0]),
    "float16": (pa.float16(), [np.float16(1.5), np.float16("nan"), None, np.float16("inf"), np.float16(-2)]),
    "float32": (pa.float32(), [1.25, float("nan"), None, float("-inf"), np.float32(3e38), np.float32(1e-45)]),
    "float64": (pa.float64(), [1.25, float("nan"), None, float("inf"), 1e308, 5e-324]),
    "decimal128": (pa.decimal128(38, 10), [Decimal("1.5"), None, Decimal(10) ** 27, Decimal("-0.0000000001")]),
    "decimal128 whole": (pa.decimal128(38, 0), [Decimal("9" * 38), None, Decimal("-" + "9" * 38), Decimal(2)]),
    "decimal256": (pa.decimal256(76, 5), [Decimal("9" * 70), None, Decimal("-1.5"), Decimal(2)]),
    "all null": (pa.int64(), [None, None, None]),
}


@pytest.mark.parametrize("kind", TYPES)
def test_every_numeric_type_is_read_as_float64(kind, tmp_path):
    """Integers and decimals never fail, however large; nulls, NaN and infinities are nobody."""
    arrow, cells = TYPES[kind]
    floats = np.array([np.nan if cell is None else float(cell) for cell in cells])
    pq.write_table(pa.table({"a": pa.array(cells, arrow)}), tmp_path / "typed.parquet")
    pq.write_table(pa.table({"a": floats}), tmp_path / "floats.parquet")
    typed, plain_floats = (PrivateTable.open(tmp_path / f"{name}.parquet", ["a"]) for name in ("typed", "floats"))
    shares = Fraction(25, 100), Fraction(45, 100), Fraction(30, 100)
    for center, radius in ((0.0, 10.0), (0.0, 1e19), (float(BIG), 4.0)):
        frame = Frame.of(np.array([center]))
        question = LiftedGram.priced(Everything(), (frame,), (radius,), PRICE, shares)
        found = scan(typed, question)
        assert same(found, scan(plain_floats, question))
        with np.errstate(over="ignore"):
            assert found["count"][0] == np.isfinite((floats - center) ** 2).sum()
    assert scan(typed, Counts.priced(Everything(), PRICE))["count"][0] == np.isfinite(floats).sum()


def test_types_may_differ_between_files(tmp_path):
    """One file of integers and one of decimals are one table."""
    pq.write_table(pa.table({"a": pa.array([1, 2, None], pa.int16())}), tmp_path / "0.parquet")
    decimals = pa.array([Decimal("3.5"), None], pa.decimal128(9, 2))
    pq.write_table(pa.table({"z": [0, 0], "a": decimals}), tmp_path / "1.parquet")
    table = PrivateTable.open(tmp_path, ["a"])
    assert table.n_rows == 5
    assert scan(table, Counts.priced(Everything(), PRICE))["count"].tolist() == [3]


def test_expressions_of_one_column_do_not_touch_it(tmp_path):
    """`a` beside `log(a)`: the map of one leaves the other as it is, for a column read without a copy."""
    cells = np.array([1.0, np.e, 0.0, -1.0, np.inf])
    pq.write_table(pa.table({"a": cells}), tmp_path / "t.parquet")
    table = PrivateTable.open(tmp_path / "t.parquet", ["log(a)", "a", "log1p(a)"])
    with np.errstate(all="ignore"):
        (block,) = [block.copy() for chunk in table.chunks() for block in chunk.blocks()]
        assert np.array_equal(block[:, :5], [np.log(cells), cells, np.log1p(cells)], equal_nan=True)
    assert np.isnan(block[:, 5:]).all()


def test_blocks_have_one_length_and_little_padding(tmp_path):
    """Every block has the public length of its width and row count; the last is padded with NaN."""
    assert [block_length(1, rows) for rows in (0, 1, 64, 65, 4096, 4097, 70_001)] == [64, 64, 64, 128, 4096, 2112, 3904]
    assert [block_length(d, 12_500) for d in (32, 100, 5000)] == [3136, 1792, 256]
    pq.write_table(pa.table({"a": np.arange(70_001.0)}), tmp_path / "t.parquet", row_group_size=70_001)
    table = FileTable(tmp_path / "t.parquet", plain("a"))
    blocks = [block.copy() for chunk in table.chunks() for block in chunk.blocks()]
    assert {block.shape for block in blocks} == {(1, 3904)}
    assert [chunk.n_blocks for chunk in table.chunks()] == [len(blocks)] == [18]
    cells = np.concatenate([block[0] for block in blocks])
    assert np.array_equal(cells[:70_001], np.arange(70_001.0))
    assert np.isnan(cells[70_001:]).all()


@pytest.mark.parametrize("name", ["einsum", "exp", "log", "log1p", "sqrt"])
def test_arithmetic_whose_last_bits_are_others_has_another_digest(monkeypatch, name):
    """Of every function of cells that scans use: a worker whose exponentials are others would map records otherwise."""
    right, here = getattr(np, name), bits()
    monkeypatch.setattr(np, name, lambda *args, **more: right(*args, **more) * (1 + 2.0**-52))
    assert bits.__wrapped__() != here
