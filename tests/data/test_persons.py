"""Whose rows are whose: keys, weights, tables that are empty or change, and totals that need more than 64 bits."""

import uuid
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.audit._catalogue import PRICE, questions
from pubpriv.data import id_pass, persons
from pubpriv.data._wide import WideTotals
from pubpriv.data.id_pass import IdPass, Replaced
from pubpriv.data.person_table import PersonTable
from pubpriv.data.persons import keys_of, sizes_of, weights_of
from pubpriv.data.questions import Bisection, Counts, PerPerson, PersonSizes, Radial
from pubpriv.data.questions.base import LIMIT
from pubpriv.data.questions.of_rows import WEIGHED
from pubpriv.data.regions import Everything, View
from pubpriv.data.scan import scan
from pubpriv.errors import InvalidInput

COUNTS = Counts.priced(Everything(), PRICE)
ONCE = PerPerson(COUNTS, 1, 64)


def test_the_weights_of_every_size_add_up_and_are_spread_evenly():
    """For each number of rows up to 300: G min(n, L), no weight above G, and none further than one from the mean."""
    for size in range(1, 301):
        keys = np.full(size, 7, dtype=np.uint64)
        for most in (1, 3, 50):
            weights = weights_of(keys, most, 64).astype(int)
            assert weights.sum() == 64 * min(size, most)
            assert np.abs(weights - weights.mean()).max() < 1


def test_a_row_without_an_id_is_nobodys():
    """It weighs nothing, and is no person."""
    keys = keys_of([pa.array([3, None, 3, None, 5])])
    assert sizes_of(keys).tolist().count(2) == 1
    assert weights_of(keys, 1, 64).tolist() == [32, 0, 32, 0, 64]


def test_a_null_of_a_dictionary_is_nobodys():
    """It may be one of its values, and no null of its indices."""
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None]), pa.array(["a", None]))
    assert [int(key != 0) for key in keys_of([ids])] == [1, 0, 1, 0]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()], ids=str)
def test_ids_of_a_dictionary_of_views_are_the_texts_that_they_stand_for(kind):
    """As polars' categories are: such a run was paid for, and could not be answered."""
    texts, places = ["a", None, "longer than a view holds"], pa.array([2, 0, None, 1], pa.uint32())
    ids = pa.DictionaryArray.from_arrays(places, pa.array(texts, pa.large_binary()).cast(kind))
    assert keys_of([ids]).tolist() == keys_of([pa.array([texts[2], "a", None, None])]).tolist()


def test_ids_of_a_dictionary_are_read_however_many_bytes_they_are_together():
    """Two gibibytes do not fit an Arrow array: whether a run was answered hung on how many rows had a long id."""
    texts = pa.array(["x" * 2**20, "b", "nobody's"])
    ids = pa.DictionaryArray.from_arrays(pa.array([0] * 2**11 + [1, None, 0], pa.int32()), texts)
    long, short, missing = keys_of([pa.array(["x" * 2**20, "b", None])]).tolist()
    assert keys_of([ids]).tolist() == [long] * 2**11 + [short, missing, long]


def test_a_number_of_no_value_of_a_dictionary_is_nobodys():
    """Nobody checks the numbers of a batch that is read."""
    ids = pa.DictionaryArray.from_arrays(pa.array([1, 2, -1, 0], pa.int8()), pa.array([7, 8]), safe=False)
    own = keys_of([pa.array([7, 8])]).tolist()
    assert keys_of([ids]).tolist() == [own[1], 0, 0, own[0]]


def test_a_uuid_is_the_text_that_a_database_writes():
    """As DuckDB hands it over in a relation, and writes it into a Parquet file."""
    ids = [uuid.UUID(int=number) for number in (0, 2**128 - 1, 0x0123456789ABCDEF0123456789ABCDEF)]
    array = pa.array([*(each.bytes for each in ids), None], pa.uuid())
    keys = keys_of([pa.array([*map(str, ids), None])]).tolist()
    assert keys_of([array]).tolist() == keys
    assert keys_of([array[1:]]).tolist() == keys[1:]
    assert keys_of([pa.nulls(2, pa.uuid())]).tolist() == [0, 0]


@pytest.mark.filterwarnings("ignore:column 'id' .* has the type object:UserWarning")
def test_a_uuid_is_one_person_in_a_relation_and_in_a_file(tmp_path):
    """A file was refused for a type that nobody has."""
    duckdb = pytest.importorskip("duckdb")
    ids = "select 1.0::double x, ('6f8ba1c2-0000-4000-8000-0000000000' || (i % 40 + 10))::uuid id from range(80) t(i)"
    duckdb.sql(ids).write_parquet(str(tmp_path / "t.parquet"))
    tables = [
        pp.PrivateTable.open(tmp_path / "t.parquet", ["x"], person="id"),
        pp.PrivateTable.open(duckdb.sql(ids), ["x"], person="id", name="relation"),
        pp.PrivateTable.open(duckdb.sql(ids).df(), ["x"], person="id", name="frame"),
    ]
    whose = [np.concatenate([key for chunk in table.chunks() for key in [*chunk.keys()]]).tolist() for table in tables]
    assert whose[0] == whose[1] == whose[2]
    assert len({*whose[0]}) == 40


@pytest.mark.parametrize(
    "others",
    [
        pa.array([1, -1, None], pa.int8()),
        pa.array([0, 1, -1, None], pa.int32()).slice(1),
        pa.array([1, -1, None], pa.int64()).dictionary_encode(),
    ],
    ids=["int8", "a slice", "a dictionary"],
)
def test_an_integer_has_one_key_however_wide_it_is(others):
    """Two spellings of one person must not be two persons."""
    assert keys_of([others]).tolist() == keys_of([pa.array([1, -1, None], pa.int64())]).tolist()


def test_a_text_has_one_key_by_all_of_its_bytes():
    """Whatever stands before and after it, in whatever type of text; no two of many lengths share one."""
    texts = [letter * length for length in range(1, 40) for letter in "ab"] + ["", "a\0", "a\0\0", "x" * 300, "x" * 301]
    keys = keys_of([pa.array([*texts, None])])
    assert len({*keys.tolist()}) == len(texts) + 1
    assert keys[-1] == 0
    mixed = pa.array(["before", None, *texts[::-1]]).slice(2)
    assert keys_of([mixed]).tolist() == keys[:-1][::-1].tolist()
    for kind in (pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())):
        assert keys_of([pa.array(texts).cast(kind)]).tolist() == keys[:-1].tolist()
    assert keys_of([pa.array(["ab", "cd"], pa.binary(2))]).tolist() == keys_of([pa.array(["ab", "cd"])]).tolist()


def test_two_columns_name_a_person_in_their_order():
    """(1, 2) is not (2, 1), and both have to be there."""
    first, second = pa.array([1, 2, 1, None]), pa.array([2, 1, 2, 2])
    keys = keys_of([first, second])
    assert keys[0] == keys[2] != keys[1]
    assert keys[3] == 0


def write(path, ids, **columns):
    pq.write_table(
        pa.table({"who": ids} | {name: pa.array(values, pa.float64()) for name, values in columns.items()}), path
    )


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (pa.array([1.0, 2.0]), "double"),
        (pa.array([True, False]), "bool"),
        (pa.array([1, 2], pa.int32()).cast(pa.date32()), "date"),
    ],
    ids=["floats", "flags", "dates"],
)
def test_ids_that_may_be_written_in_several_ways_are_refused(tmp_path, ids, says):
    """Of 5 and 5.0 nobody knows whether they are one person."""
    write(tmp_path / "t.parquet", ids, x=[1, 2])
    with pytest.raises(InvalidInput, match=says):
        pp.PrivateTable.open(tmp_path / "t.parquet", ["x"], person="who")


def test_integers_in_one_file_and_text_in_another_are_refused(tmp_path):
    """'5' and 5 have two keys."""
    write(tmp_path / "a.parquet", pa.array([1]), x=[1])
    write(tmp_path / "b.parquet", pa.array(["1"]), x=[1])
    with pytest.raises(InvalidInput, match="write them alike"):
        pp.PrivateTable.open(tmp_path, ["x"], person="who")


@pytest.mark.parametrize("kind", [pa.int32(), pa.string()], ids=["integers", "texts"])
def test_the_ids_of_a_long_table_are_read_in_parts(tmp_path, monkeypatch, kind):
    """A part of the persons at a time, over files and row groups: the same weights and sizes; ids that change fail."""
    whose = [None if i % 11 == 0 else i * i % 37 for i in range(500)]
    for name, part in (("a", whose[:200]), ("b", whose[200:])):
        rows = pa.table({"who": pa.array(part).cast(kind), "x": np.zeros(len(part))})
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=70)
    table = pp.PrivateTable.open(tmp_path, ["x"], person="who")
    most_held, plain = [], persons.weights_of
    monkeypatch.setattr(id_pass, "weights_of", lambda keys, *of: most_held.append(len(keys)) or plain(keys, *of))
    told = []
    for at_once in (1 << 24, 250, 50):
        monkeypatch.setattr(id_pass, "_AT_ONCE", at_once)
        found = IdPass(table)
        told.append(([each.tolist() for each in found.weights(3, 64)], sorted(found.sizes().tolist()), found.digests))
    assert told[0] == told[1] == told[2]
    assert [sum(most_held[:1]), sum(most_held[1:3]), sum(most_held[3:])] == [500] * 3
    assert len(most_held) == 1 + 2 + 10
    read = IdPass(table)
    parts = read._parts()
    next(parts)
    write(tmp_path / "a.parquet", pa.array([9] * 200).cast(kind), x=np.zeros(200))
    with pytest.raises((Replaced, InvalidInput)):
        next(parts)


def test_a_person_of_more_rows_than_are_weighed_at_once(monkeypatch):
    """Rows are weighed slice by slice, wherever a slice ends."""
    keys = np.random.default_rng(0).choice(np.arange(6, dtype=np.uint64), 300, p=[0.1, 0.6, 0.1, 0.1, 0.05, 0.05])
    whole = weights_of(keys, 2, 64)
    for rows in (1, 7, 64):
        monkeypatch.setattr(persons, "_SLICE", rows)
        assert weights_of(keys, 2, 64).tolist() == whole.tolist()
    assert whole[keys == 0].sum() == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_table_is_answered_like_any_other(tmp_path, rows):
    """It is a neighbour of the table of one person."""
    write(tmp_path / "t.parquet", pa.array([9] * rows, pa.int64()), x=[1.0] * rows)
    handle = pp.PrivateTable.open(tmp_path / "t.parquet", ["x"], person="who")
    assert handle.n_rows is None
    table = PersonTable(handle)
    assert scan(table.asked(sizes := PersonSizes.priced(Fraction(1))), sizes)["persons"][0] == rows
    assert scan(table.asked(ONCE), ONCE)["count"].tolist() == [64 * rows]


def test_records_without_weights_are_not_counted():
    """A scan that forgot them fails; it does not count each row in full."""
    with pytest.raises(ValueError, match="without weights"):
        ONCE.totals(View(np.zeros((1, 64))))


@pytest.mark.parametrize("grain", [1, 8, 64])
@pytest.mark.parametrize("name", ["counts-cells", "sums-cells", "fourth-cells", "moments-cells", "gram-cells", "score"])
def test_values_and_noise_are_those_of_the_inner_question(name, grain):
    """G times the totals, and G times the noise where the factor does not make up for it."""
    inner = questions()[name]
    asked, random = PerPerson(inner, 2, grain), np.random.default_rng(0)
    assert asked.squared_distance == 4 * inner.squared_distance
    totals = {name: random.integers(0, 2**20, size) for name, size in inner.total_sizes.items()}
    many = {name: values * grain for name, values in totals.items()}
    drawn = {name: random.integers(-(2**30), 2**30, part.size) for name, part in inner.parts.items()}

    def draw(part, sd, size):
        assert size == inner.parts[part].size
        return drawn[part] * (sd // inner.parts[part].noise_scale)

    plain, weighed = inner.values(inner.answer(totals, draw)), asked.values(asked.answer(many, draw))
    assert all(np.allclose(plain[part], weighed[part], rtol=1e-12) for part in plain)
    assert {name: sd.tolist() for name, sd in asked.noise().items()} == {
        name: sd.tolist() for name, sd in inner.noise().items()
    }


@pytest.mark.parametrize("by_region", [False, True])
@pytest.mark.parametrize("name", ["counts-cells", "gram-cells", "moments-cells"])
def test_radial_noise_costs_persons_as_many_times_epsilon_as_rows_count(name, by_region):
    """L times what it costs a row; values and noise are those of the same question about rows."""
    inner = questions()[name]
    asked, plain = Radial(PerPerson(inner, 3, 64), by_region), Radial(inner, by_region)
    assert asked.squared_distance == 9 * plain.squared_distance
    assert (asked.blocks, asked.block_size) == (plain.blocks, plain.block_size)
    many = {part: np.full(size, 64 * 5) for part, size in inner.total_sizes.items()}
    few = {part: values // 64 for part, values in many.items()}
    silent = lambda part, scales, size: np.zeros(size, dtype=np.int64)  # noqa: E731
    told = asked.values(asked.answer(many, silent)), plain.values(plain.answer(few, silent))
    assert all(np.allclose(told[0][part], told[1][part], rtol=1e-12) for part in told[1])
    assert {part: sd.tolist() for part, sd in asked.noise().items()} == {
        part: sd.tolist() for part, sd in plain.noise().items()
    }


def test_a_bisection_of_persons_finds_the_rank_in_rows():
    """Its counts are grains, and its rank is not."""
    inner = questions()["bisection-signed"]
    histogram = np.zeros((1 << inner.steps) + 1, dtype=np.int64)
    histogram[20] = 10
    silent = lambda part, sd, size: np.zeros(size, dtype=np.int64)  # noqa: E731
    asked = PerPerson(inner, 1, 64)
    plain = inner.values(inner.answer({"histogram": histogram}, silent))
    weighed = asked.values(asked.answer({"histogram": 64 * histogram}, silent))
    assert isinstance(inner, Bisection)
    assert plain["quantile"] == weighed["quantile"]
    assert plain["count"].tolist() == weighed["count"].tolist()


@pytest.mark.parametrize(
    ("inner", "most", "grain", "says"),
    [
        (PersonSizes(1), 1, 64, "must be a"),
        (ONCE, 1, 64, "must be a"),
        (COUNTS, 0, 64, "at least 1"),
        (COUNTS, 5000, 64, "at most"),
        (COUNTS, 1, 128, "power of two"),
        (COUNTS, 1, 3, "power of two"),
    ],
)
def test_questions_of_persons_that_are_none(inner, most, grain, says):
    """Nothing is asked per person twice, or with weights that do not fit their bytes."""
    with pytest.raises(InvalidInput, match=says):
        PerPerson(inner, most, grain)
    assert len(WEIGHED) == 11


def test_totals_beyond_64_bits_are_clamped_and_never_wrap():
    """Clamping moves no two totals apart; wrapping would turn a neighbour's sum into its opposite."""
    big = np.array([2**62, -(2**62), 5, -5, 2**61])
    question = PerPerson(Counts(Everything(), 1 << 30), 1, 64)
    wide = WideTotals({"count": np.zeros(5, dtype=np.int64)}, {"count": np.zeros(5, dtype=np.int64)})
    for _ in range(6):
        wide.add({"count": big})
    whole = WideTotals({"count": np.zeros(5, dtype=np.int64)}, {"count": np.zeros(5, dtype=np.int64)})
    most = (LIMIT - 1) // question.parts["count"].factor
    assert whole.join([wide, wide]).clamped(question)["count"].tolist() == [most, -most, 60, -60, most]
