"""Groups by a column of the file: what has which code, what is no group, and what is refused before it is read."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.data.categories import ByCategory
from pubpriv.data.category_codes import codes_of, texts_of
from pubpriv.data.frames import Frame
from pubpriv.data.memory import remembering
from pubpriv.data.public_categories import groups_of
from pubpriv.data.questions import Counts, LiftedGram
from pubpriv.data.scan import scan
from pubpriv.errors import InvalidInput, SpecMismatch

REGION = ByCategory("region", ("north", "south"))
MONTH = ByCategory("month(day)", ("2026-01", "2025-12"))
DAYS = ["2026-01-31", "2025-12-01", None, "2024-05-05"]


def coded(array, by):
    """Codes as a list, None for no group."""
    return [None if np.isnan(code) else int(code) for code in codes_of(array, by)]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())],
    ids=["text", "large text", "a dictionary"],
)
def test_a_text_has_the_place_that_it_has_in_the_list(kind):
    """Others and null have none; a slice of an array has its own rows only."""
    array = pa.array(["south", "north", None, "west", "north", ""], pa.string()).cast(kind)
    assert coded(array, REGION) == [1, 0, None, None, 0, None]
    assert coded(array.slice(1, 3), REGION) == [0, None, None]
    assert coded(array.slice(6), REGION) == []


def test_a_text_of_a_dictionary_of_views_has_its_place():
    """As polars' categories are, and whatever bytes one of them is made of."""
    found = pa.array([b"west", b"south", b"\xff\xfe", b"north"]).cast(pa.binary_view())
    views = pa.Array.from_buffers(pa.string_view(), len(found), found.buffers())
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 3, 2, 0], pa.uint32()), views)
    assert coded(array, REGION) == [1, None, 0, None, None]


def test_texts_of_a_dictionary_are_read_however_many_bytes_they_are_together():
    """Two gibibytes do not fit an Arrow array: whether a run was answered hung on how many rows had a long text."""
    texts = pa.array(["x" * 2**20, "south"])
    array = pa.DictionaryArray.from_arrays(pa.array([0] * 2**11 + [1], pa.int32()), texts)
    assert coded(array, REGION) == [None] * 2**11 + [1]
    assert texts_of(array[2**11 :], False) == {"south"}


def test_integers_and_truths_are_told_in_words():
    """Whatever width an integer has; 1 is not true."""
    by = ByCategory("store", ("5", "-1", "18446744073709551615"))
    assert coded(pa.array([5, -1, None, 0], pa.int8()), by) == [0, 1, None, None]
    assert coded(pa.array([5, 2**64 - 1], pa.uint64()), by) == [0, 2]
    assert coded(pa.array([True, False, None]), ByCategory("flag", ("True", "false"))) == [0, 1, None]
    assert coded(pa.array([None, None], pa.int64()), by) == [None, None]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), *map(pa.timestamp, ("s", "ms", "us", "ns"))], ids=str)
def test_dates_have_months(kind):
    """Of any unit, before 1970 too, and for the first and last instant that a column can hold."""
    array = pa.array(DAYS, pa.string()).cast(pa.timestamp("s")).cast(kind)
    assert coded(array, MONTH) == [0, 1, None, None]
    assert coded(array.slice(1), MONTH) == [1, None, None]
    width = pa.int32() if kind == pa.date32() else pa.int64()
    ends = pa.array([-(2 ** (width.bit_width - 1)), 2 ** (width.bit_width - 1) - 1], width).cast(kind, safe=False)
    assert coded(ends, MONTH) == [None, None]
    before = pa.array(["1969-12-31T23:59:59"], pa.string()).cast(pa.timestamp("s")).cast(kind, safe=False)
    assert coded(before, ByCategory("month(day)", ("1969-12",))) == [0]


def test_cells_of_a_file_without_types_are_taken_as_they_are_written():
    """Bytes that are no text are no category; a month is that of a date, with or without a time."""
    cells = pa.array([b"north", b"north ", None, b"\xff", b"", b"south"], pa.binary())
    assert coded(cells, REGION) == [0, None, None, None, None, 1]
    assert coded(cells.slice(5), REGION) == [1]
    days = pa.array([b"2026-01-31", b"2025-12-01 10:00", b"2026-01", b"31.01.2026"], pa.binary())
    assert coded(days, MONTH) == [0, 1, None, None]


def test_texts_that_are_no_texts_are_in_no_group():
    """Bytes that are not UTF-8, in a column of texts, fail nothing."""
    odd = pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff\xfe", b"north"]).buffers())
    assert coded(odd, REGION) == [None, 0]


def written(path, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=300)
    return path


@pytest.fixture
def rows():
    generator = np.random.default_rng(0)
    regions = generator.choice(np.array(["north", "south", "west", None], dtype=object), 1000)
    return generator.normal(size=1000), regions


def test_counts_by_group_are_those_of_the_file(tmp_path, rows):
    """Read anew, and read once and kept; the pooled totals do not know that there are groups."""
    a, regions = rows
    path = written(tmp_path / "t.parquet", a=a, region=pa.array(regions))
    table = pp.PrivateTable.open(path, ["a"], by=REGION)
    question, kept = Counts.priced(REGION, Fraction(1)), remembering(table)
    wanted = [int((regions == value).sum()) for value in REGION.values]
    for source in (table, kept, kept):
        assert scan(source, question)["count"].tolist() == wanted
    frame = Frame((0.0,))
    gram = LiftedGram.priced(REGION, (frame,) * 2, (2.0,) * 2, Fraction(1), (Fraction(1, 4),) * 3)
    assert scan(kept, gram)["count"].tolist() == wanted
    pooled = LiftedGram.second_moment(*gram_of_all(), Fraction(1))
    same = scan(pp.PrivateTable.open(path, ["a"]), pooled)["diagonal"]
    assert scan(table, pooled)["diagonal"].tolist() == same.tolist()


def gram_of_all():
    from pubpriv.data.regions import Everything

    return Everything(), (Frame((0.0,)),), (2.0,)


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pa.array([1.5, 2.5]), "double"),
        (pa.array([1, 2], pa.int32()).cast(pa.date32()), r"month\(region\)"),
    ],
    ids=["floats", "dates"],
)
def test_columns_without_categories_are_refused(tmp_path, column, says):
    """With what to do about dates."""
    path = written(tmp_path / "t.parquet", a=[1.0, 2.0], region=column)
    with pytest.raises(InvalidInput, match=says):
        pp.PrivateTable.open(path, ["a"], by=REGION)


UNHOLDABLE = {
    "truths as numbers": (pa.array([True, False]), ("0", "1"), "--by-values false,true"),
    "truths as words": (pa.array([True, False]), ("yes", "no"), "--by-values true,false"),
    "one truth twice": (pa.array([True, False]), ("true", "True"), "in each of 'true', 'True'"),
    "one odd of three": (pa.array([True, False]), ("true", "false", "unknown"), "can be 'unknown'"),
    "numbers with zeros": (pa.array([0, 1]), ("00", "01"), "--by-values 0,1"),
    "numbers as floats": (pa.array([0, 1]), ("0.0", "1.0"), "--by-values 0,1"),
    "numbers with signs": (pa.array([0, 1]), ("+1", "-0"), "--by-values 1,0"),
    "numbers with blanks": (pa.array([0, 1]), (" 1", "0"), "--by-values 1,0"),
    "numbers as truths": (pa.array([0, 1]), ("TRUE", "FALSE"), "--by-values 1,0"),
    "numbers as words": (pa.array([0, 1]), ("north",), "can be 'north'"),
    "beyond a byte": (pa.array([0, 1], pa.int8()), ("127", "128"), "can be '128'"),
    "below none": (pa.array([0, 1], pa.uint64()), ("-1",), "can be '-1'"),
    "of a dictionary": (pa.array([3, 4]).dictionary_encode(), ("03",), "--by-values 3"),
}


@pytest.mark.parametrize("case", UNHOLDABLE)
def test_groups_that_no_cell_can_be_in_are_refused_before_anything_is_spent(case, tmp_path):
    """By the type of the column, which is public, with what to write instead; whatever the cells are."""
    column, values, says = UNHOLDABLE[case]
    path = written(tmp_path / "t.parquet", a=[1.0, 2.0], flag=column)
    with pytest.raises(InvalidInput, match=re.escape(says)) as refused:
        pp.PrivateTable.open(path, ["a"], by=ByCategory("flag", values))
    emptied = written(tmp_path / "e.parquet", a=pa.nulls(2, pa.float64()), flag=pa.nulls(2, column.type))
    with pytest.raises(InvalidInput) as again:
        pp.PrivateTable.open(emptied, ["a"], by=ByCategory("flag", values))
    assert str(again.value).replace("e.parquet", "t.parquet") == str(refused.value)
    if "--by-values" in says:
        right = tuple(says.split()[1].split(","))
        assert pp.PrivateTable.open(path, ["a"], by=ByCategory("flag", right)).by.values == right


def test_groups_of_texts_and_of_cells_without_a_type_may_be_anything(tmp_path):
    """A text can be `00`, and so can a cell of a CSV file; truths may be written in any case."""
    path = written(tmp_path / "t.parquet", a=[1.0, 2.0], code=["00", "TRUE"], flag=[True, False])
    assert pp.PrivateTable.open(path, ["a"], by=ByCategory("code", ("00", "1.0"))).n_rows == 2
    assert pp.PrivateTable.open(path, ["a"], by=ByCategory("flag", ("TRUE", "False"))).n_rows == 2
    (tmp_path / "t.csv").write_text("a,code\n1,00\n2,TRUE\n")
    assert pp.PrivateTable.open(tmp_path / "t.csv", ["a"], by=ByCategory("code", ("00", "1.0"))).n_rows == 2


@pytest.mark.long
@pytest.mark.parametrize("estimator", [pp.estimate_mean, pp.estimate_gaussian, pp.estimate_mixture])
@pytest.mark.parametrize(("shift", "warned"), [(0, False), (10, True)])
def test_groups_that_together_have_almost_no_rows_are_warned_of(estimator, shift, warned):
    """By the released counts, since nothing else of the cells may be told; a group that is small alone is none."""
    random = np.random.default_rng(4)
    cells = random.normal(size=(6000, 2)) + 4.0 * (np.arange(6000) % 3 == 0)[:, None]
    by, stores = ByCategory("store", ("1", "2", "3")), np.where(np.arange(6000) % 50 == 0, 2, 1) + shift
    curator = pp.Curator.simulation(cells, "zcdp:4", seed=3, groups=(by, stores))
    more = {"n_components": 2} if estimator is pp.estimate_mixture else {}
    estimate = estimator(cells[:60], curator, **more)
    told = [text for text in estimate.diagnostics.get("warnings", []) if "all groups by store together" in text]
    assert bool(told) == warned
    assert not warned or "of 6,000 rows" in told[0]


def test_a_column_is_of_groups_or_of_the_estimate(tmp_path):
    """Never both, and it has to be there."""
    path = written(tmp_path / "t.parquet", a=[1.0, 2.0], region=[1, 2], who=[1, 2])
    with pytest.raises(InvalidInput, match="cannot be a column of the estimate"):
        pp.PrivateTable.open(path, ["a", "region"], by=REGION)
    with pytest.raises(InvalidInput, match="or an id"):
        pp.PrivateTable.open(path, ["a"], person="region", by=REGION)
    with pytest.raises(InvalidInput, match="missing"):
        pp.PrivateTable.open(path, ["a"], by=ByCategory("area", ("1",)))


def test_a_question_about_other_groups_is_refused_and_free(tmp_path):
    """Its codes would be places in another list."""
    path = written(tmp_path / "t.parquet", a=np.arange(40.0), region=["north", "south"] * 20)
    table = pp.PrivateTable.open(path, ["a"], by=REGION)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", "zcdp:5", table=table)
        with pp.Curator(table, ledger, "visits", "zcdp:1") as curator:
            for other in (("south", "north"), ("north",), ("north", "south", "west")):
                with pytest.raises(InvalidInput, match="other"):
                    curator.release(Counts.priced(ByCategory("region", other), Fraction(1)), "counts")
            assert not curator.statement().charges
            assert curator.release(Counts.priced(REGION, Fraction(1)), "counts").values["count"].shape == (2,)


def test_groups_of_a_dataset_are_declared(tmp_path):
    """A column that nobody declared tells no groups apart, with the line that declares it."""
    path = written(tmp_path / "t.parquet", a=np.arange(40.0), region=["north", "south"] * 20)
    table = pp.PrivateTable.open(path, ["a"])
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", "zcdp:5", table=table)
        grouped = pp.PrivateTable.open(path, ["a"], by=REGION)
        with pytest.raises(SpecMismatch, match="--columns a --by region"):
            pp.Curator(grouped, ledger, "visits", "zcdp:1")
        ledger.register("visits", "zcdp:5", table=grouped)
        pp.Curator(grouped, ledger, "visits", "zcdp:1").close()
        assert ledger.balance("visits").tables[0]["columns"] == ["a"]


def test_public_rows_tell_which_groups_there_are(tmp_path):
    """Distinct texts, in order; of dates the months; a CSV file has them as they are written."""
    parquet = written(tmp_path / "p.parquet", region=["south", None, "north"], day=pa.array(DAYS[:3]).cast(pa.date32()))
    assert groups_of(parquet, "region") == REGION
    assert groups_of(parquet, "month(day)") == ByCategory("month(day)", ("2025-12", "2026-01"))
    csv = tmp_path / "p.csv"
    csv.write_text("a,store,day\n1.0,05,2026-01-31\n2.0,,2025-12-01 10:00\n3.0,5,\n")
    assert groups_of(csv, "store").values == ("05", "5")
    assert groups_of(csv, "month(day)").values == ("2025-12", "2026-01")
    assert groups_of(pd.DataFrame({"region": ["south", "north", None]}), "region") == REGION
    for public, column in ((parquet, "area"), (np.zeros((3, 1)), "region"), (csv, "area")):
        with pytest.raises(InvalidInput, match="--by-values"):
            groups_of(public, column)


def test_groups_of_private_rows_are_not_told():
    """Neither by their name nor by the object itself."""
    frame = pd.DataFrame({"a": [1.0, 2.0], "region": ["north", "secretville"]})
    pp.PrivateTable.open(frame, ["a"], by=REGION, name="held")
    for private in (frame, "frame://held"):
        with pytest.raises(InvalidInput) as refused:
            groups_of(private, "region")
        assert "secretville" not in str(refused.value)
