"""Versions of tables of Delta Lake: their rows and no others, as the library that wrote them counts them."""

import base64
import datetime
import json
import string

import numpy as np
import pyarrow as pa
import pytest
from helpers.object_store import object_store
from helpers.read_cells import cells, keys_of

import pubpriv as pp
from pubpriv.data.categories import ByCategory
from pubpriv.errors import InvalidInput, Unavailable

deltalake = pytest.importorskip("deltalake", reason="SKIPPED: no deltalake (pip install 'pubpriv[lake]')")

DAY = datetime.date(2026, 1, 1).toordinal() - datetime.date(1970, 1, 1).toordinal()


def rows(count, first, **more):
    """A table of `count` rows: a number, a group, a day and a person, each by the number of the row."""
    numbers = np.arange(first, first + count)
    ward = pa.array(["a b", "c/d%", None])
    table = {
        "a": numbers.astype(float),
        "ward": ward.take(pa.array(numbers % 3)),
        "day": pa.array((DAY + numbers % 2).astype(np.int32)).cast(pa.date32()),
        "who": numbers % 5,
    }
    return pa.table(table | more)


@pytest.fixture(params=[(), ("day", "ward"), ("who",)], ids=["whole", "by day and ward", "by person"])
def visits(request, tmp_path):
    """A table with a version for each of: write, append, overwrite, add a column, delete, compact; by partitions."""
    where = str(tmp_path / "a lake" / "visits é")
    parts = list(request.param) or None
    write = deltalake.write_deltalake
    write(where, rows(6, 0), partition_by=parts)
    write(where, rows(6, 100), mode="append")
    write(where, rows(9, 200), mode="overwrite")
    write(where, rows(3, 300, new=pa.array([1.0, 2.0, None])), mode="append", schema_mode="merge")
    deltalake.DeltaTable(where).delete("a = 204 OR a = 301")
    deltalake.DeltaTable(where).optimize.compact()
    return where


def test_each_version_has_its_rows(visits):
    """Whatever stays in the folder: numbers, days and groups of each row, bit for bit."""
    by = ByCategory("ward", ("a b", "c/d%"))
    for version in range(deltalake.DeltaTable(visits).version() + 1):
        table = pp.PrivateTable.open(f"delta:{visits}@{version}", ["a", "day"], by=by)
        known = deltalake.DeltaTable(visits, version=version).to_pyarrow_table()
        codes = [np.nan if ward is None else by.values.index(ward) for ward in known["ward"].to_pylist()]
        days = known["day"].cast(pa.int32())
        right = np.column_stack([known["a"], days, codes])
        found = cells(table)
        assert table.n_rows == len(right) == (6, 12, 9, 12, 10, 10)[version]
        assert np.array_equal(found[np.argsort(found[:, 0])], right[np.argsort(right[:, 0])], equal_nan=True)


def test_cells_of_a_column_that_is_newer_than_a_file_are_missing(visits):
    found = cells(pp.PrivateTable.open(f"delta:{visits}@3", ["new", "a"]))
    assert found[~np.isnan(found[:, 0])].tolist() in ([[1, 300], [2, 301]], [[2, 301], [1, 300]])
    with pytest.raises(InvalidInput, match="'new' is missing from the private table delta:"):
        pp.PrivateTable.open(f"delta:{visits}@2", ["new"])


def test_persons_and_periods_are_those_of_a_plain_table(visits, tmp_path):
    """Keys of persons, and of those in a period, also where a column of partitions has them."""
    known = deltalake.DeltaTable(visits, version=4).to_pyarrow_table()
    pa.parquet.write_table(known, tmp_path / "plain.parquet")
    how = {"person": "who", "dates": "day"}
    for period in ("", "2026-01-02"):
        both = [
            pp.PrivateTable.open(name, ["a"], **how, period=period)
            for name in (f"delta:{visits}@4", tmp_path / "plain.parquet")
        ]
        keys, plain = ({*zip(cells(each)[:, 0], keys_of(each), strict=True)} for each in both)
        assert keys == plain
        assert both[0].n_rows is None
    assert len({key for _, key in keys}) > 1


def test_a_version_without_rows_is_refused_of_rows_and_accepted_of_persons(tmp_path):
    deltalake.write_deltalake(tmp_path / "t", rows(6, 0))
    deltalake.DeltaTable(tmp_path / "t").delete()
    with pytest.raises(InvalidInput, match="has no rows"):
        pp.PrivateTable.open(f"delta:{tmp_path}/t", ["a"])
    table = pp.PrivateTable.open(f"delta:{tmp_path}/t", ["a"], person="who")
    assert (table.uri, table.newest, table.chunks()) == (f"delta:{tmp_path}/t@1", True, [])
    assert table.layout.columns == 4
    with pytest.raises(InvalidInput, match="'b' is missing"):
        pp.PrivateTable.open(f"delta:{tmp_path}/t", ["b"], person="who")


def test_the_log_moves_no_block(tmp_path):
    """Where cells say in which file a record is, blocks are as long as the number of columns lets them be."""
    deltalake.write_deltalake(tmp_path / "t", rows(70, 0), partition_by=["who"])
    lengths = {
        block.shape[1]
        for columns in (["a", "who"], ["who"])
        for chunk in pp.PrivateTable.open(f"delta:{tmp_path}/t", columns).chunks()
        for block in chunk.blocks()
    }
    assert lengths == {4096}


B85 = string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~"
Z85 = string.digits + string.ascii_lowercase + string.ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"


def edited(folder, version, change):
    """Change what the log says of a version."""
    log = folder / "_delta_log" / f"{version:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        change(action)
    log.write_text("\n".join(map(json.dumps, actions)))


def deleted(action):
    """The second row is deleted, in the log alone: a roaring bitmap in 64 bits, in ZeroMQ's letters."""
    if "protocol" in action:
        names = ["deletionVectors"]
        action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names}
        action["protocol"]["writerFeatures"] = names
    if "add" in action:
        bitmap = np.array([12346, 1, 0, 16, 1], "<u4").tobytes()  # cookie, one container: key and size - 1, place, row
        data = np.array([1681511377, 1, 0, 0], "<u4").tobytes() + bitmap[:18] + b"\0\0"
        text = base64.b85encode(data).decode().translate(str.maketrans(B85, Z85))
        vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data) - 2, "cardinality": 1}
        action["add"]["deletionVector"] = vector


def mapped(action):
    if "metaData" in action:
        schema = json.loads(action["metaData"]["schemaString"])
        for number, column in enumerate(schema["fields"], 1):
            names = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": column["name"]}
            column["metadata"] = names
        action["metaData"]["schemaString"] = json.dumps(schema)
        action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
    if "protocol" in action:
        action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}


def newer(action):
    if "protocol" in action:
        names = {"readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}
        action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7} | names


def elsewhere(action):
    if "add" in action:
        action["add"]["path"] = "../other/part.parquet"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (deleted, "deletion vectors"),
        (mapped, "column mapping: name"),
        (newer, r"not known here \(typeWidening\)"),
        (elsewhere, "files outside of its folder"),
    ],
)
def test_a_version_is_refused_whose_files_are_not_the_table(change, why, tmp_path):
    deltalake.write_deltalake(tmp_path / "t", rows(20, 0))
    edited(tmp_path / "t", 0, change)
    with pytest.raises(InvalidInput, match=why) as caught:
        pp.PrivateTable.open(f"delta:{tmp_path}/t@0", ["a"])
    assert caught.value.__context__ is None


def test_an_instant_among_partitions_is_refused_where_it_is_used(tmp_path):
    """Some writers put it down in the time of their zone."""
    day = pa.array([86_400_000_000] * 4, pa.timestamp("us"))
    table = rows(4, 0, at=day.cast(pa.timestamp("us", "UTC")), local=day)
    deltalake.write_deltalake(tmp_path / "t", table, partition_by=["at", "local"])
    assert set(cells(pp.PrivateTable.open(f"delta:{tmp_path}/t", ["local"])).ravel()) == {1.0}
    with pytest.raises(InvalidInput, match=r"'at' .* makes partitions .* instants"):
        pp.PrivateTable.open(f"delta:{tmp_path}/t", ["a", "at"])


@pytest.mark.parametrize("name", ["{}@9", "{}/missing", "{}@0"])
def test_what_is_no_version_is_refused(name, tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read as a version of a table"):
        pp.PrivateTable.open(f"delta:{name.format(tmp_path)}", ["a"])


def test_a_version_in_an_object_store_has_the_rows_of_one_on_a_disk(tmp_path, monkeypatch):
    """With credentials of the environment; its files are read through Arrow, like those of any table there."""
    with object_store():
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_S3_ALLOW_UNSAFE_RENAME", "true")
        for where in ("s3://clinic/visits", str(tmp_path / "visits")):
            deltalake.write_deltalake(where, rows(6, 0), partition_by=["ward"])
            deltalake.write_deltalake(where, rows(9, 50), mode="overwrite")
        stored, local = (
            pp.PrivateTable.open(f"delta:{where}", ["a"], by=ByCategory("ward", ("a b", "c/d%")))
            for where in ("s3://clinic/visits", tmp_path / "visits")
        )
        assert stored.uri == "delta:s3://clinic/visits@1"
        both = [cells(table) for table in (stored, local)]
        assert np.array_equal(*(found[np.argsort(found[:, 0])] for found in both), equal_nan=True)
        with pytest.raises((InvalidInput, Unavailable), match="s3://clinic/missing"):
            pp.PrivateTable.open("delta:s3://clinic/missing@0", ["a"])
