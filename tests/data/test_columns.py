"""Expressions are a closed list of public maps: the same of a private file, a public table and rows in memory."""

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.columns import parse_columns
from pubpriv.errors import InvalidInput
from pubpriv.released.sample import write_sample

FRAME = pd.DataFrame({"cost": [10.0, 0.0, -5.0, 2e4, np.nan], "visits": [4, 0, 2, 5, 1], "km/h": [1.0, 2, 3, 4, 5]})
EXPRESSIONS = {
    "cost / visits": [2.5, np.nan, -2.5, 4000, np.nan],
    "visits / km/h": [4, 0, 2 / 3, 1.25, 0.2],
    "clip(cost, 0, 1e3)": [10, 0, 0, 1000, np.nan],
    "clip(cost, -inf, 5.5)": [5.5, 0, -5, 5.5, np.nan],
    "sqrt(visits)": [2, 0, 2**0.5, 5**0.5, 1],
    "km/h": [1, 2, 3, 4, 5],
}


@pytest.mark.parametrize("written", EXPRESSIONS)
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_an_expression_maps_each_record(written, end, tmp_path):
    """Private cells as by hand; public rows that are left are the same ones. Its text names it again."""
    getattr(FRAME, f"to_{end}")(tmp_path / f"t.{end}", index=False)
    private = pp.PrivateTable.open(tmp_path / f"t.{end}", [written, "visits"])
    (chunk,) = private.chunks()
    (block,) = [block.copy() for block in chunk.blocks()]
    wanted = np.array(EXPRESSIONS[written])
    assert np.allclose(block[0, :5], wanted, equal_nan=True)
    assert np.array_equal(block[1, :5], FRAME["visits"])
    assert parse_columns(private.column_names) == private.columns
    for source in (FRAME, tmp_path / f"t.{end}"):
        table = pp.PublicTable.open(source, [written, "visits"])
        assert np.allclose(table.rows[:, 0], wanted[np.isfinite(wanted)])
        assert table.columns == private.column_names


def test_both_columns_of_a_quotient_are_declared(tmp_path):
    """The ledger declares columns of the file, and a missing one is named."""
    FRAME.to_parquet(tmp_path / "t.parquet")
    private = pp.PrivateTable.open(tmp_path / "t.parquet", ["cost / visits", "cost"])
    assert private.source_columns == ("cost", "visits")
    for opened in (pp.PrivateTable, pp.PublicTable):
        with pytest.raises(InvalidInput, match=r"'visit' is missing from the .*did you mean 'visits'"):
            opened.open(tmp_path / "t.parquet", ["cost / visit"])
    with pytest.raises(InvalidInput, match="says whose row it is"):
        pp.PrivateTable.open(tmp_path / "t.parquet", ["cost / visits"], person="visits")


@pytest.mark.parametrize("typed", ["cost/visits", "exp(cost)", "cost/per_day"])
def test_what_is_no_expression_is_answered_with_the_list(typed):
    """And a slash without blanks is a part of a name."""
    with pytest.raises(InvalidInput, match=r"an expression is one of .*clip\(column, low, high\), .*, column / column"):
        pp.PublicTable.open(FRAME, [typed])


@pytest.mark.parametrize("typed", ["clip(cost, 5, 1)", "clip(cost, a, 1)", "clip(cost, nan, 1)"])
def test_a_clip_has_two_numbers(typed):
    """The lower one first."""
    with pytest.raises(InvalidInput, match="between two numbers"):
        parse_columns([typed])


def test_simulated_rows_are_one_column_each():
    """A quotient has two; a clip is applied to the array's column."""
    with pytest.raises(InvalidInput, match="compute it before"):
        pp.Curator.simulation(np.ones((9, 1)), "zcdp:1", seed=1, columns=["a / b"])
    curator = pp.Curator.simulation(np.full((2000, 1), 50.0), "zcdp:5", seed=1, columns=["clip(x, 0, 3)"])
    found = pp.estimate_mean(np.array([[-1.0], [0], [1]]), curator, covariance="identity")
    assert abs(found.mean[0] - 3) < 0.2


def test_synthetic_rows_of_a_clipped_column_stay_between(tmp_path):
    """No draw is beyond what a cell could be; a quotient keeps its name in original units."""
    rows = np.random.default_rng(0).normal(0, 1, (4000, 2))
    curator = pp.Curator.simulation(rows, "zcdp:5", seed=1, columns=["clip(x, -1, 1)", "y"])
    public = pp.PublicTable.open(pd.DataFrame(rows[:40], columns=["x", "y"]), ["clip(x, -1, 1)", "y"])
    model = pp.estimate_gaussian(public, curator)
    bent = write_sample(model, 500, tmp_path / "s.csv", seed=1, original_units=True)
    drawn = pd.read_csv(tmp_path / "s.csv")
    assert list(drawn.columns) == ["x", "y"]
    assert drawn["x"].abs().max() == 1
    assert [each.column for each in bent] == ["x"]
    assert parse_columns(["a / b"])[0].original == "a / b"


# --- columns of any name: a text has one meaning, whatever the table is


ODD = pd.DataFrame(
    {
        "price": [1.0, 10.0, 100.0],
        "log(price)": [0.0, 1.0, 2.0],
        "cost / visits": [7.0, 8.0, 9.0],
        "cost": [4.0, 6.0, 8.0],
        "visits": [2.0, 2.0, 2.0],
        " b": [3.0, 4.0, 5.0],
        "": [5.0, 6.0, 7.0],
        "weight, kg": [6.0, 7.0, 8.0],
        "a`b": [7.0, 8.0, 9.0],
        '"q"': [8.0, 9.0, 10.0],
        "clip(price, 0, 1)": [9.0, 10.0, 11.0],
        "month(t)": [1.0, 2.0, 3.0],
    }
)
NAMES = {
    "`log(price)`": "log(price)",
    '"log(price)"': "log(price)",
    " `cost / visits` ": "cost / visits",
    "` b`": " b",
    "``": "",
    '""': "",
    "weight, kg": "weight, kg",
    '"weight, kg"': "weight, kg",
    "a`b": "a`b",
    "`a``b`": "a`b",
    '`"q"`': '"q"',
    '"""q"""': '"q"',
    "`clip(price, 0, 1)`": "clip(price, 0, 1)",
    "`price`": "price",
    "month(t)": "month(t)",
    "`month(t)`": "month(t)",
}
QUOTED_SOURCES = {
    "log(`price`)": np.log(ODD["price"]),
    "`cost` / `visits`": [2.0, 3.0, 4.0],
    "`cost / visits` / visits": [3.5, 4.0, 4.5],
    "sqrt(`log(price)`)": [0.0, 1.0, 2**0.5],
    "clip(` b`, 0, 4)": [3.0, 4.0, 4.0],
    'log1p("weight, kg")': np.log1p([6.0, 7.0, 8.0]),
}


def read(opened_from, text, ends=("csv", "parquet")):
    """The column `text`, private and public, of files and of a frame; all the same."""
    opened_from.mkdir(exist_ok=True)
    found = [pp.PublicTable.open(ODD, [text])]
    for end in ends:
        path = opened_from / f"t.{end}"
        getattr(ODD, f"to_{end}")(path, index=False)
        private = pp.PrivateTable.open(path, [text])
        (chunk,) = private.chunks()
        (block,) = [block.copy() for block in chunk.blocks()]
        assert private.columns == parse_columns(private.column_names)
        found += [block[:1, :3].T, pp.PublicTable.open(path, [text])]
    rows = [each if isinstance(each, np.ndarray) else each.rows for each in found]
    assert all(np.allclose(each, rows[0]) for each in rows)
    return rows[0][:, 0]


@pytest.mark.parametrize("text", NAMES)
def test_quotes_name_a_column_of_any_name(text, tmp_path):
    """The column itself, everywhere; its text names it again; an array's column needs no such name."""
    assert np.array_equal(read(tmp_path, text), ODD[NAMES[text]])
    (column,) = parse_columns([text])
    assert (column.source, column.function) == (NAMES[text], None)
    assert parse_columns([column.name]) == (column,)
    table = pp.PublicTable.open(ODD, [text, "visits"])
    assert table.select([text]).rows[:, 0].tolist() == ODD[NAMES[text]].tolist()
    assert pp.PublicTable.open(np.ones((2, 1)), [text]).columns == (column.name,)


@pytest.mark.parametrize("text", QUOTED_SOURCES)
def test_quotes_stand_inside_of_expressions(text, tmp_path):
    """And the text of the expression has them where it would mean something else without."""
    assert np.allclose(read(tmp_path, text), QUOTED_SOURCES[text])
    assert parse_columns([parse_columns([text])[0].name]) == parse_columns([text])


@pytest.mark.parametrize("text", ["log(price)", " log(price) ", "cost / visits", "clip(price, 0, 1)"])
def test_an_expression_that_is_also_a_name_is_refused_before_anything_is_spent(text, tmp_path):
    """The message has both texts of one meaning. Of public rows the expression is read, as of private ones."""
    ODD.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match=r"for that column, or .* for the expression") as refused:
        pp.PrivateTable.open(tmp_path / "t.parquet", [text])
    (column,) = parse_columns([text])
    for offered in (f"`{column.name}`", column.explicit):
        assert offered in str(refused.value)
        assert pp.PrivateTable.open(tmp_path / "t.parquet", [offered]).n_rows == 3
    with pytest.warns(UserWarning, match="the expression is used"):
        public = pp.PublicTable.open(ODD, [text])
    assert np.array_equal(public.rows, pp.PublicTable.open(ODD, [column.explicit]).rows)
    assert public.columns == (column.name,)


def test_the_name_of_an_expression_is_not_taken_for_its_source(tmp_path):
    """A table that has only the column called log(price) has no price; the message says how the column is written."""
    only = ODD[["log(price)", "visits"]]
    only.to_csv(tmp_path / "t.csv", index=False)
    for source, opened in ((tmp_path / "t.csv", pp.PrivateTable), (tmp_path / "t.csv", pp.PublicTable), (only, None)):
        with pytest.raises(InvalidInput, match=r"write `log\(price\)` for that column"):
            (opened or pp.PublicTable).open(source, ["log(price)"])
    assert pp.PublicTable.open(only).columns == ("`log(price)`", "visits")  # all its numeric columns, by their names


def test_a_column_without_a_name_is_taken_only_if_it_is_named(tmp_path):
    """Row numbers that pandas and R write first."""
    ODD[["", "cost"]].to_csv(tmp_path / "t.csv", index=False)
    assert pp.PublicTable.open(tmp_path / "t.csv").columns == ("cost",)
    assert pp.PublicTable.open(tmp_path / "t.csv", ["``", "cost"]).rows.tolist() == [[5, 4], [6, 6], [7, 8]]


def test_texts_of_earlier_versions_keep_their_meaning():
    """What ledgers, models and files have recorded is parsed as before, and written as before."""
    for text in (
        "cost",
        "log1p(cost)",
        "cost / visits",
        "visits / km/h",
        "clip(a (b), 0, 9)",
        "weight, kg",
        "a`b",
        '5"',
    ):
        assert parse_columns([text])[0].name == text
    assert parse_columns(["log(log(x))"])[0].source == "log(x)"


def test_groups_ids_and_dates_are_named_by_the_same_texts(tmp_path):
    """In quotes of any name; an expression is no id and no date."""
    frame = ODD.assign(**{"log(id)": [1, 2, 2], " g": ["a", "b", "b"], "x / day": pd.to_datetime(["2026-11-02"] * 3)})
    frame.to_parquet(tmp_path / "t.parquet")
    by, month = pp.ByCategory("` g`", ("a", "b")), pp.ByCategory("month(`x / day`)", ("2026-11",))
    assert (by.source, by.by_month, month.source, month.by_month) == (" g", False, "x / day", True)
    assert pp.ByCategory("`region`", ("a",)) == pp.ByCategory("region", ("a",))
    assert pp.ByCategory("`month(t)`", ("1",)).source == "month(t)"
    assert not pp.ByCategory("`month(t)`", ("1",)).by_month
    table = pp.PrivateTable.open(tmp_path / "t.parquet", ["cost"], person="`log(id)`", by=by, dates="`x / day`")
    assert (table.person, table.group_columns, table.dates) == (("log(id)",), (" g",), "x / day")
    assert pp.PrivateTable.open(tmp_path / "t.parquet", ["cost"], by=month).by.source == "x / day"
    for wrong in ({"person": "log(id)"}, {"dates": "x / day"}):
        with pytest.raises(InvalidInput, match="is no expression"):
            pp.PrivateTable.open(tmp_path / "t.parquet", ["cost"], **wrong)


def test_a_calculation_that_there_is_not_is_answered_with_those_that_there_are():
    """Names of columns with a sign between them; a misspelt name that holds one is still answered with the nearest."""
    for name in ("cost+visits", "visits^2", "cost - visits"):
        with pytest.raises(InvalidInput, match=r"an expression is one of log\(column\)"):
            pp.PublicTable.open(FRAME, [name])
    with pytest.raises(InvalidInput, match="did you mean 'km/h'"):
        pp.PublicTable.open(FRAME, ["km/hh"])
