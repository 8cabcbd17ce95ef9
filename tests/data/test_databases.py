"""Tables in DuckDB and PostgreSQL: the same rows as from Parquet, in an order that stays, and no failure on a value."""

import os

import duckdb
import numpy as np
import pytest
import sqlalchemy as sa
from helpers.stores import PASSWORD, raw

import pubpriv as pp
from pubpriv.common.tables import canonical, overlap, sharing
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput, Unavailable

COLUMNS = ["wage", "cost", "log1p(kids)", "day", "seen", "zoned", "ill", "small"]
SITES = pp.ByCategory("site", ("north", "süd"))

_ROWS = """
SELECT 7 * i AS nr, i % 400 AS id, 20 + 0.1 * i::DOUBLE{} AS wage, (i * 0.03)::NUMERIC(10, 2) AS cost, i % 5 AS kids,
       DATE '1950-01-01' + (37 * i)::INTEGER AS day,
       TIMESTAMP '1999-12-31 23:59:59.999999' + i * INTERVAL '1 hour' AS seen,
       TIMESTAMPTZ '2020-06-30 23:30:00+01' + i * INTERVAL '1 day' AS zoned, i % 3 = 0 AS ill,
       CASE WHEN i % 11 > 0 THEN (i % 100)::SMALLINT END AS small,
       CASE i % 4 WHEN 0 THEN 'north' WHEN 1 THEN 'süd' WHEN 2 THEN 'else' END AS site
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """1,000 rows in a file of DuckDB, of which some were deleted, and the same as Parquet."""
    folder = tmp_path_factory.mktemp("databases")
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(f"CREATE TABLE visits AS {_ROWS.format('')} FROM range(1200) AS r(i)")
        database.execute("DELETE FROM visits WHERE nr % 6 = 0")
        database.execute("CREATE VIEW seen AS FROM visits")
        database.execute('CREATE SCHEMA "Old"; CREATE TABLE "Old"."Two words" AS SELECT 1.5 AS x, 5 AS rowid')
        database.execute(f"COPY visits TO '{folder / 't.parquet'}'")
    return folder


@pytest.fixture(scope="module")
def server(postgres, folder):
    """The beginning of names of tables in PostgreSQL, which has the same rows, inserted in another order."""
    url = postgres.new_url()
    with raw(url) as connection:
        rows = _ROWS.format(" PRECISION")
        connection.execute(sa.text("SET TimeZone = 'UTC'"))
        connection.execute(
            sa.text(
                f"CREATE TABLE visits AS SELECT * FROM ({rows} FROM generate_series(0, 1199) AS r(i)) AS rows "
                "WHERE nr % 6 > 0 ORDER BY md5(nr::text)"
            )
        )
        connection.execute(sa.text("ALTER TABLE visits ADD PRIMARY KEY (nr)"))
        connection.execute(sa.text("UPDATE visits SET small = small WHERE nr % 5 = 0"))
        connection.execute(sa.text('CREATE VIEW seen AS SELECT * FROM visits; CREATE TABLE "No key" (x integer)'))
        connection.execute(
            sa.text("CREATE TABLE above (x integer PRIMARY KEY); CREATE TABLE below () INHERITS (above)")
        )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PGUSER", "pubpriv")
        patched.setenv("PGPASSWORD", PASSWORD)
        made = sa.make_url(url)
        yield f"postgresql://localhost:{made.port}/{made.database}#"


@pytest.fixture(params=["DuckDB", "PostgreSQL"])
def place(request, folder):
    """The beginning of names of tables."""
    return f"duckdb:///{folder}/t.duckdb#" if request.param == "DuckDB" else request.getfixturevalue("server")


def blocks_of(table):
    """All blocks of a table, one after another."""
    return np.concatenate([block.copy() for chunk in table.chunks() for block in chunk.blocks()], axis=1)


def test_a_private_table_is_the_same_as_in_parquet(folder, place):
    """Cells, groups, the number of rows, persons, and the rows of a period, each to the last bit."""
    names = [str(folder / "t.parquet"), f"{place}visits"]
    opened = [PrivateTable.open(name, COLUMNS, by=SITES) for name in names]
    assert [table.n_rows for table in opened] == [1000, 1000]
    assert np.array_equal(*map(blocks_of, opened), equal_nan=True)
    for ids in ("id", "site", ("site", "id")):
        first, second = (PrivateTable.open(name, ["wage"], person=ids) for name in names)
        keys = [np.concatenate([*table.chunks()[0].keys()]) for table in (first, second)]
        assert np.array_equal(*keys)
    for dates, period in (("day", "1999"), ("zoned", "2021-06"), ("seen", "2000-01")):
        months = [PrivateTable.open(name, ["wage"], dates=dates, period=period) for name in names]
        keys = [np.concatenate([*table.chunks()[0].keys()]) for table in months]
        assert np.array_equal(*keys)
        assert np.count_nonzero(keys[0])


def test_no_cell_makes_a_reader_fail(tmp_path, server):
    """The ends of each type, and what Arrow or a driver cannot hold."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'nan'::DOUBLE, 'infinity'::DATE, '-infinity'::TIMESTAMPTZ, "
            "170141183460469231731687303715884105727::HUGEINT), (2, 'inf', NULL, 'infinity', NULL)) "
            "AS t(nr, x, d, z, h)"
        )
    with raw(server_url(server)) as connection:
        connection.execute(
            sa.text(
                "CREATE TABLE t AS SELECT * FROM (VALUES (1, 'nan'::float8, 'infinity'::date, "
                "'-infinity'::timestamptz, 1e400::numeric), (2, 'inf', NULL, 'infinity', 'nan')) AS t(nr, x, d, z, h)"
            )
        )
        connection.execute(sa.text("ALTER TABLE t ADD PRIMARY KEY (nr)"))
    expected = [[np.nan, np.inf], [np.inf, np.nan], [-np.inf, np.inf]]
    for name, last in ((f"duckdb:///{tmp_path}/t.duckdb#t", 2.0**127), (f"{server}t", np.inf)):
        cells = blocks_of(PrivateTable.open(name, ["x", "d", "z", "h"]))[:, :2]
        assert np.array_equal(cells, [*expected, [last, np.nan]], equal_nan=True)


def server_url(server):
    """The URL, for SQLAlchemy, of the database in which tables with such names are."""
    return server.replace("//", f"//pubpriv:{sa.URL.create('x', 'y', PASSWORD).render_as_string(False)[6:-1]}@")[:-1]


def test_what_has_no_order_that_stays_is_refused(folder, server):
    """Views, tables without a key, those with heirs, and a column that hides DuckDB's numbers of rows."""
    local = f"duckdb:///{folder}/t.duckdb#"
    for name, words in (
        (f"{local}seen", "is a view, in which one record may change many rows"),
        (f"{local}old.two words", "has a column rowid"),
        (f"{server}seen", "is a view"),
        (f"{server}No key", r"has no primary key, .* ADD PRIMARY KEY"),
        (f"{server}above", "inherit from it"),
    ):
        with pytest.raises(InvalidInput, match=words) as refused:
            PrivateTable.open(name, ["x"])
        assert refused.value.__context__ is None


def test_what_is_not_there_is_said(folder, server, tmp_path):
    with pytest.raises(InvalidInput, match=r"no table main\.visit in .*; its tables: main\.visits, old\.two words"):
        PrivateTable.open(f"duckdb:///{folder}/t.duckdb#visit", ["x"])
    with pytest.raises(InvalidInput, match="no private table at duckdb:////nowhere"):
        PrivateTable.open("duckdb:////nowhere/t.duckdb#visits", ["x"])
    with pytest.raises(InvalidInput, match=r"no table public\.Visits .* small and capital letters count"):
        PrivateTable.open(f"{server}Visits", ["x"])
    with pytest.raises(InvalidInput, match="'wages' is missing"):
        PrivateTable.open(f"{server}visits", ["wages"])
    with pytest.raises(InvalidInput, match=r"'site' of the private table .* is .*string"):
        PrivateTable.open(f"{server}visits", ["site"])
    with pytest.raises(InvalidInput, match="of which private rows alone are read"):
        PublicTable.open(f"{server}visits", ["wage"])
    writing = duckdb.connect(str(tmp_path / "busy.duckdb"))
    with pytest.raises(Unavailable, match="is open elsewhere"):
        PrivateTable.open(f"duckdb:///{tmp_path}/busy.duckdb#t", ["x"])
    writing.close()


def test_no_password_is_in_a_name_or_an_error(server, monkeypatch):
    """Of URLs that carry one, that are written wrongly, and of a server that refuses it."""
    for wrong in (
        f"postgresql://ann:{PASSWORD}@db/clinic#visits",
        f"postgresql://ann:{PASSWORD}@db/clinic",
        "postgresql://db/clinic?password=s3cret#visits",
        "postgres://s3cret@db/clinic#visits",
    ):
        with pytest.raises(InvalidInput) as refused:
            PrivateTable.open(wrong, ["x"])
        assert "s3cret" not in str(refused.value)
        assert "PGPASSWORD" in str(refused.value)
    monkeypatch.setenv("PGPASSWORD", "other-s3cret")
    with pytest.raises(Unavailable, match="not to the user of this environment") as denied:
        PrivateTable.open(f"{server}visits", ["x"])
    assert denied.value.__context__ is None
    assert "s3cret" not in str(denied.value)


NAMES = {
    "postgres://DB:5432/clinic#visits": "postgresql://db/clinic#public.visits",
    "postgresql+psycopg://db:05433/clinic#old.Visits": "postgresql://db:5433/clinic#old.Visits",
    "postgresql:///clinic#visits": "postgresql:///clinic#public.visits",
    "duckdb:////data/t.duckdb#Visits": "duckdb:////data/t.duckdb#main.visits",
    "DuckDB:////data/../data/a#b.duckdb#Old.Visits": "duckdb:////data/a#b.duckdb#old.visits",
}


def test_a_table_has_one_name():
    for written, name in NAMES.items():
        assert canonical(written) == name
        assert canonical(name) == name
    assert canonical("duckdb:///t.duckdb#t") == f"duckdb:///{os.getcwd()}/t.duckdb#main.t"
    for wrong in ("postgresql://db#t", "postgresql://db/a/b#t", "duckdb:///t.duckdb", "duckdb:///x#", "duckdb://x#t"):
        with pytest.raises(InvalidInput, match=r"the name of a table in \w+ is written"):
            canonical(wrong)
    with pytest.raises(InvalidInput, match="is in one file"):
        canonical("duckdb:///*.duckdb#t")


def test_names_of_one_table_are_compared(folder, tmp_path):
    """Hosts of this machine are one, two tables of a database are two, and a file of DuckDB may have two names."""
    here, there = (canonical(f"postgresql://{host}/clinic#visits") for host in ("localhost", "127.0.0.1:5432"))
    assert overlap(here, there)
    assert overlap(here, canonical("postgresql:///clinic#visits"))
    assert not overlap(here, canonical("postgresql://localhost/clinic#others"))
    assert not overlap(here, canonical("postgresql://localhost:5433/clinic#visits"))
    os.link(folder / "t.duckdb", tmp_path / "same.duckdb")
    ours, linked = f"duckdb:///{folder}/t.duckdb#main.visits", f"duckdb:///{tmp_path}/same.duckdb#main.visits"
    assert sharing(ours)(linked)
    assert not sharing(ours)(linked.replace("visits", "others"))
    assert sharing("/data/t.xlsx")("/data/t.xlsx#visits")


def test_a_table_that_changes_while_it_is_read_ends_the_pass(server):
    with raw(server_url(server)) as connection:
        connection.execute(sa.text("CREATE TABLE growing AS SELECT nr, wage AS x FROM visits"))
        connection.execute(sa.text("ALTER TABLE growing ADD PRIMARY KEY (nr)"))
    table = PrivateTable.open(f"{server}growing", ["x"])
    chunks = table.chunks()
    with raw(server_url(server)) as connection:
        connection.execute(sa.text("INSERT INTO growing VALUES (-1, 5)"))
    with pytest.raises(InvalidInput, match="was replaced while it was read"):
        [*chunks[0].blocks()]
    with pytest.raises(InvalidInput, match="changed its number of rows"):
        table.chunks()
