"""Tables in object stores: the same rows as on a disk, credentials from the environment, one name for one table.

The store is a real S3 server (moto) on loopback.
"""

import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.neighbours import QUESTIONS
from helpers.object_store import SECRET, object_store

import pubpriv as pp
from pubpriv.audit._neighbours import COLUMNS
from pubpriv.common.tables import canonical
from pubpriv.data import memory, stores
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import PerPerson
from pubpriv.data.scan import scan
from pubpriv.data.stores import content_hash
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput, PubPrivError, Unavailable
from pubpriv.estimators import MEAN
from pubpriv.estimators.jobs import Job, run_job
from pubpriv.privacy.ledger import Ledger


@pytest.fixture(scope="module")
def server():
    """A server of our own, whose credentials are in the environment."""
    with object_store() as store:
        yield store


@pytest.fixture(scope="module")
def bucket(server):
    """An Arrow file system on its bucket."""
    return server.filesystem


def rows(n: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(0, 2, (n, 2))
    drawn[::50, 1] = np.nan
    return drawn


def put(bucket, name: str, table: pa.Table, **options) -> None:
    with bucket.open_output_stream(f"clinic/{name}") as out:
        pq.write_table(table, out, **options)


def put_text(bucket, name: str, text: str) -> None:
    with bucket.open_output_stream(f"clinic/{name}") as out:
        out.write(text.encode())


@pytest.mark.long
def test_a_table_in_a_store_has_the_totals_of_the_same_table_on_disk(bucket, tmp_path):
    """Folders, globs and files; odd names; other people's files in the folder are left alone."""
    pieces = [pa.table({"a": rows(n, n)[:, 0], "b": rows(n, n)[:, 1]}) for n in (7000, 5000, 900)]
    names = ("visits/2026/p 1%20.parquet", "visits/2026/p2.parquet", "visits/q.parquet")
    for name, piece in zip(names, pieces, strict=True):
        put(bucket, name, piece, row_group_size=3000)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(piece, path, row_group_size=3000)
    put_text(bucket, "visits/_SUCCESS.parquet", "not a table")
    sizes = {"visits": 12_900, "visits/2026": 12_000, "visits/2026/p*.parquet": 12_000, "visits/q.parquet": 900}
    for below, n in sizes.items():
        there = PrivateTable.open(f"s3://clinic/{below}", COLUMNS)
        here = PrivateTable.open(tmp_path / below, COLUMNS)
        assert there.n_rows == here.n_rows == n
        question = QUESTIONS["moments-cells"]
        totals, expected = scan(there, question), scan(here, question)
        assert all(totals[name].tobytes() == expected[name].tobytes() for name in expected)


@pytest.mark.long
def test_columns_of_all_kinds_are_fetched_side_by_side(bucket, tmp_path):
    """More columns than connections; long texts, whose batches are shorter; times in INT96, which are read twice."""
    n = 40_000
    drawn = np.random.default_rng(1)
    cells = {f"c{i:02}": drawn.normal(size=n) for i in range(20)} | {"who": [f"{i % 900:0200}" for i in range(n)]}
    times = np.datetime64("1800-01-01") + drawn.integers(0, 10**6, n).astype("timedelta64[D]")
    cells["when"] = pa.array(times.astype("datetime64[s]").tolist(), pa.timestamp("us"))
    put(bucket, "kinds.parquet", pa.table(cells), use_deprecated_int96_timestamps=True)
    pq.write_table(pa.table(cells), tmp_path / "kinds.parquet", use_deprecated_int96_timestamps=True)
    names, seen = [f"c{i:02}" for i in range(20)] + ["when"], []
    for uri in ("s3://clinic/kinds.parquet", tmp_path / "kinds.parquet"):
        (chunk,) = PrivateTable.open(uri, names, person="who").chunks()
        keys = list[np.ndarray]()
        blocks = [block.copy() for block in chunk.keyed_blocks(4096, keys.append)]
        seen.append((np.hstack(blocks), np.concatenate(keys)))
    (there, own), (here, others) = seen
    assert there.shape == (21, 40_960)
    assert there.tobytes() == here.tobytes()
    assert own.tobytes() == others.tobytes()


def test_a_run_asks_a_store_for_its_columns_as_often_as_it_passes_over_them(server, bucket, tmp_path, monkeypatch):
    """And for the end of the file: for the layout before each pass, and once a row group in it."""
    n, groups, end = 280_000, 4, 1 << 16
    monkeypatch.setattr(memory, "MOST_BYTES", 1 << 22)  # the table is not kept, a sample of 2^16 rows is
    cells = {f"x{i}": column for i, column in enumerate(np.random.default_rng(1).standard_normal((4, n)))}
    put(bucket, "long.parquet", pa.table(cells), row_group_size=n // groups, use_dictionary=False)
    with bucket.open_input_file("clinic/long.parquet") as file:
        layout = pq.ParquetFile(file).metadata
    sizes = [sum(layout.row_group(g).column(c).total_compressed_size for g in range(groups)) for c in range(3)]
    table = PrivateTable.open("s3://clinic/long.parquet", [*cells][:3])
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("long", budget=pp.parse_budget("zcdp:2"), table=table)
        with pp.Curator(table, ledger, "long", "zcdp:0.5") as curator:
            server.reads.clear()
            pp.estimate_gaussian(np.random.default_rng(2).standard_normal((60, 3)), curator)
            passes = curator.passes
    assert passes == 4
    assert passes * sum(sizes) <= sum(server.reads) <= passes * (sum(sizes) + (1 + groups) * end)


@pytest.mark.slow
def test_starts_of_a_mixture_need_a_pass_less_from_a_store(bucket, tmp_path):
    """What follows each start is summed beside the choice among them, where a pass costs more than sums."""
    drawn = np.random.default_rng(1).standard_normal((6_000, 3)) + 1.5 * (np.arange(6_000) % 2)[:, None]
    put(bucket, "near.parquet", pa.table({f"x{i}": column for i, column in enumerate(drawn[60:].T)}))
    table = PrivateTable.open("s3://clinic/near.parquet", ["x0", "x1", "x2"])
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("near", budget=pp.parse_budget("zcdp:2"), table=table)
        with pp.Curator(table, ledger, "near", "zcdp:0.5") as curator:
            pp.estimate_mixture(drawn[:60], curator, n_components=2)
            labels = [charge.label for charge in curator.statement().charges]
            assert curator.passes == 6 + ("mixture/absent-component" in labels) + ("mixture/home/round-1" in labels)
    assert "mixture/pick-3" in labels


def test_a_store_that_fails_in_a_scan_fails_the_scan(server, bucket):
    """In whichever thread a column is fetched; once it answers again, so does the table."""
    put(bucket, "fails.parquet", pa.table({f"x{i}": np.arange(50_000.0) for i in range(6)}), use_dictionary=False)
    table, question = PrivateTable.open("s3://clinic/fails.parquet", ["x0", "x5"]), QUESTIONS["moments-cells"]
    chunks, before = table.chunks(), threading.active_count()
    server.fails_after = 2
    with pytest.raises(OSError, match="AWS Error"):
        [*chunks[0].blocks()]
    server.fails_after = None
    assert threading.active_count() <= before + 4
    assert scan(table, question)


def test_persons_in_a_store_have_the_weights_that_they_have_on_disk(bucket, tmp_path):
    """Their rows lie in two files, and their ids are read there, before the rows and with them."""
    question = PerPerson(QUESTIONS["moments-cells"], 2, 64)
    (tmp_path / "own").mkdir()
    for name, n in (("own/p1.parquet", 4000), ("own/p2.parquet", 2500)):
        drawn, who = rows(n, n), np.random.default_rng(n).integers(0, 900, n)
        piece = pa.table({"a": drawn[:, 0], "b": drawn[:, 1], "who": [f"p{i}" for i in who]})
        put(bucket, name, piece, row_group_size=1500)
        pq.write_table(piece, tmp_path / name, row_group_size=1500)
    there, here = (
        PersonTable(PrivateTable.open(uri, COLUMNS, person="who"), most_bytes=0)
        for uri in ("s3://clinic/own", tmp_path / "own")
    )
    totals, expected = scan(there.asked(question), question), scan(here.asked(question), question)
    assert all(totals[name].tobytes() == expected[name].tobytes() for name in expected)
    put(bucket, "own/p2.parquet", pa.table({"a": [0.0], "b": [0.0], "who": ["p1"]}))
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is, it ends inside the door
        scan(there.asked(question), question)


def test_a_run_on_stored_tables_needs_no_secret_in_any_name(bucket, tmp_path):
    """Private and public table by URL: a release, whose ledger has the names and no credential."""
    put(bucket, "run/private.parquet", pa.table({"a": rows(3000, 1)[:, 0], "b": rows(3000, 2)[:, 0]}))
    put(bucket, "run/public.parquet", pa.table({"a": rows(8, 3)[:, 0], "b": rows(8, 4)[:, 0]}))
    url = f"sqlite:///{tmp_path}/ledger.db"
    with Ledger.open(url) as ledger:
        ledger.register("visits", budget=pp.parse_budget("zcdp:2"))
    tables = "s3://clinic/run/private.parquet", "s3://clinic/run/public.parquet"
    job = Job.of(MEAN, *tables, None, "zcdp:0.5", "visits", url, "r1")
    estimate = run_job(job)
    assert estimate.columns == ("a", "b")
    assert estimate.provenance["n_private"] == 3000
    with Ledger.open(url) as ledger:
        assert [table["uri"] for table in ledger.balance("visits").tables] == ["s3://clinic/run/private.parquet"]
    assert SECRET.encode() not in (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(InvalidInput, match="rows cannot be both"):
        run_job(Job.of(MEAN, job.private, "s3a://clinic/run/private.parquet", None, "zcdp:0.5", "visits", url, "r2"))


def test_public_tables_come_as_csv_parquet_and_folders(bucket):
    """The same rows as from the frame itself."""
    frame = pd.DataFrame({"a": [1.0, 2.5], "b": [3.0, 4.0]})
    put_text(bucket, "public/p.csv", frame.to_csv(index=False))
    put(bucket, "public/all/1.parquet", pa.Table.from_pandas(frame[:1]))
    put(bucket, "public/all/2.parquet", pa.Table.from_pandas(frame[1:]))
    expected = PublicTable.open(frame).sha256
    assert PublicTable.open("s3://clinic/public/p.csv").sha256 == expected
    assert PublicTable.open("s3://clinic/public/all/").sha256 == expected
    with pytest.raises(InvalidInput, match=r"no public table at s3://clinic/public/q\.csv"):
        PublicTable.open("s3://clinic/public/q.csv")
    put_text(bucket, "public/odd.parquet", "a,b")
    with pytest.raises(InvalidInput, match="cannot be read as Parquet: Parquet file size"):
        PublicTable.open("s3://clinic/public/odd.parquet")


def test_the_hash_of_a_public_table_follows_its_content(bucket, tmp_path):
    """Whatever holds it: a file, a folder, an object. What is not there is `missing`."""
    frame = pd.DataFrame({"a": [1.0]})
    (tmp_path / "folder").mkdir()
    for place in (str(tmp_path / "p.csv"), str(tmp_path / "folder"), "s3://clinic/hash/p.csv"):
        seen = set()
        for value in (1.0, 2.0):
            frame["a"] = value
            frame.to_csv(tmp_path / "p.csv", index=False)
            frame.to_parquet(tmp_path / "folder" / "p.parquet")
            put_text(bucket, "hash/p.csv", frame.to_csv(index=False))
            seen.add(content_hash(place))
        assert len(seen - {"missing"}) == 2
    assert content_hash("s3://clinic/hash/q.csv") == content_hash(str(tmp_path / "q.csv")) == "missing"


def test_what_is_not_there_or_damaged_is_told_as_on_a_disk(bucket):
    """Missing, no table, a changed number of rows: one line each, with the name."""
    with pytest.raises(InvalidInput, match="no private table at s3://clinic/no/such"):
        PrivateTable.open("s3://clinic/no/such", ["a"])
    put_text(bucket, "odd/t.parquet", "PAR1 nothing")
    with pytest.raises(PubPrivError, match=r"s3://clinic/odd/t\.parquet"):
        PrivateTable.open("s3://clinic/odd/t.parquet", ["a"])
    put(bucket, "grows/1.parquet", pa.table({"a": [1.0]}))
    table = PrivateTable.open("s3://clinic/grows", ["a"])
    put(bucket, "grows/2.parquet", pa.table({"a": [1.0]}))
    with pytest.raises(InvalidInput, match="changed its number of rows"):
        table.chunks()


def test_no_file_of_a_table_with_a_log_is_read_from_a_store(bucket):
    """By the name of the table, of what is above or below it, of a glob or a file; private and public."""
    table = pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    put(bucket, "lake/t/data/p.parquet", table)
    put_text(bucket, "lake/t/data/p.csv", "a,b\n1,2\n")
    names = ("lake", "lake/t", "lake/t/data/*.parquet", "lake/*/data/p.parquet", "lake/t/data/p.parquet")
    assert PrivateTable.open("s3://clinic/lake/t/data/*.parquet", COLUMNS).n_rows == 2
    put_text(bucket, "lake/t/metadata/00000-1.metadata.json", "{}")
    for name in (*names, "lake/t/data/p.csv"):
        for opening in (PrivateTable.open, PublicTable.open):
            with pytest.raises(InvalidInput, match="a table of Iceberg"):
                opening(f"s3://clinic/{name}", COLUMNS)


def test_a_store_that_shows_nothing_above_a_file_may_still_give_the_file(bucket, monkeypatch):
    """A log that credentials may not look for is taken not to be there; a store that fails is not."""
    put(bucket, "denied/p.parquet", pa.table({"a": [1.0], "b": [1.0]}))
    right, said = stores.locate, "AWS Error ACCESS_DENIED during HeadObject operation: No response body."

    class Store:
        def __init__(self, filesystem):
            self.open_input_file = filesystem.open_input_file
            self.filesystem = filesystem

        def get_file_info(self, asked):
            if asked == "clinic/denied/p.parquet":
                return self.filesystem.get_file_info(asked)
            raise OSError(said)

    monkeypatch.setattr(stores, "locate", lambda url: (Store(right(url)[0]), right(url)[1]))
    assert PrivateTable.open("s3://clinic/denied/p.parquet", COLUMNS).n_rows == 1
    said = "AWS Error NETWORK_CONNECTION during HeadObject operation"
    with pytest.raises(Unavailable):
        PrivateTable.open("s3://clinic/denied/p.parquet", COLUMNS)


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_unavailable(monkeypatch):
    """Nobody listens: worth another try, and told without the library's own words."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    stores._store.cache_clear()
    with pytest.raises(Unavailable, match="does not answer") as refused:
        PrivateTable.open("s3://clinic/t.parquet", ["a"])
    assert "curl" not in str(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None
    stores._store.cache_clear()


CREDENTIALS = {
    "key and secret": f"s3://AKIA:{SECRET}@clinic/t.parquet",
    "user": f"s3://{SECRET}@clinic/t.parquet",
    "query": f"s3://clinic/t.parquet?secret_key={SECRET}",
    "endpoint": f"s3://clinic/t.parquet?endpoint_override=h&x={SECRET}",
    "azure key": f"abfs://box:{SECRET}@account.dfs.core.windows.net/t.parquet",
    "signature": f"abfs://box@account.dfs.core.windows.net/t.parquet?sv=1&sig={SECRET}",
    "presigned": f"https://store.example/t.parquet?X-Amz-Signature={SECRET}",
    "upper case": f"S3://AKIA:{SECRET}@clinic/t.parquet",
    "slash in it": f"s3://AKIA:a/{SECRET}@clinic/t.parquet",
    "one slash": f"s3:/AKIA:{SECRET}@clinic/t.parquet",
    "chain": f"simplecache::s3://clinic/{SECRET}.parquet",
}


@pytest.mark.parametrize("name", CREDENTIALS)
def test_credentials_in_a_url_are_refused_and_not_repeated(name):
    """By every door through which a URL comes in: it would be kept and shown."""
    from pubpriv.flows.parameters import form_of

    uri = CREDENTIALS[name]
    form = {"budget": "zcdp:1", "dataset": "v", "ledger": "sqlite:///l.db"}
    doors = (
        lambda: PrivateTable.open(uri, ["a"]),
        lambda: PublicTable.open(uri),
        lambda: form_of(MEAN)(private=uri, public="p.csv", **form),
        lambda: form_of(MEAN)(private="t.parquet", public=uri, **form),
    )
    for door in doors:
        with pytest.raises(ValueError, match=r"carries no credentials|names one store") as refused:
            door()
        assert SECRET not in str(refused.value)


def test_one_stored_table_has_one_name():
    """Other tools' schemes, Azure's two ways to write a container, and slashes at the end are the same table."""
    same = {
        "s3://b/t": ("s3a://b/t/", "S3://b/t", "s3n://b/t"),
        "gs://b/t": ("gcs://b/t",),
        "abfs://c@acc.dfs.core.windows.net/t": (
            "abfss://c@ACC.dfs.core.windows.net/t/",
            "abfs://acc.blob.core.windows.net/c/t",
        ),
    }
    for name, spellings in same.items():
        assert {canonical(spelling) for spelling in spellings} == {name}
    assert canonical("s3://b/a%20b") != canonical("s3://b/a b")  # S3 keys are letters, not escapes


def test_other_stores_are_fsspecs():
    """A store in memory, as an example of those that fsspec knows; and one that nobody knows."""
    import fsspec

    memory = fsspec.filesystem("memory")
    with memory.open("/clinic/t.parquet", "wb") as out:
        pq.write_table(pa.table({"a": rows(500, 1)[:, 0]}), out)
    table = PrivateTable.open("memory://clinic", ["a"])
    assert table.n_rows == 500
    assert sum(np.isfinite(block).sum() for block in table.chunks()[0].blocks()) == 500
    memory.rm("/clinic", recursive=True)
    with pytest.raises(InvalidInput, match="no store that Arrow or fsspec knows"):
        PrivateTable.open("ftpx://clinic/t.parquet", ["a"])
