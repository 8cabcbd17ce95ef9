"""Versions of tables of Iceberg: their rows and no others, whatever the columns were called before."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.object_store import object_store
from helpers.read_cells import cells, keys_of

import pubpriv as pp
from pubpriv.errors import InvalidInput

pytest.importorskip("pyiceberg", reason="SKIPPED: no pyiceberg (pip install 'pubpriv[lake]')")

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestWriterV2,
)
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType


def rows(count, first):
    numbers = np.arange(first, first + count)
    return pa.table({"a": numbers.astype(float), "b": numbers % 2, "who": numbers % 5})


class Lake:
    """A table, and the names of its versions."""

    def __init__(self, folder):
        catalog = SqlCatalog("tests", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        catalog.create_namespace("n")
        self.table = catalog.create_table("n.visits", schema=rows(1, 0).schema)
        self.folder = folder / "n" / "visits"

    @property
    def name(self):
        version = self.table.metadata_location.rpartition("/")[2].removesuffix(".metadata.json")
        return f"iceberg:{self.folder}@{version}"


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path)


def known(table):
    """Rows as the library itself reads them."""
    return table.scan().to_arrow().sort_by("a")


def check(lake, columns):
    opened = pp.PrivateTable.open(lake.name, columns)
    right = np.column_stack([known(lake.table)[name].cast(pa.float64()).to_numpy(False) for name in columns])
    found = cells(opened)
    assert opened.n_rows == len(right)
    order = np.argsort(found[:, columns.index("a")])
    assert np.array_equal(found[order], right, equal_nan=True)


def test_each_version_has_its_rows(lake):
    """After each write, also of those before: whatever stays in the folder."""
    kept = []
    for write in (
        lambda: lake.table.append(rows(6, 0)),
        lambda: lake.table.append(rows(6, 100)),
        lambda: lake.table.overwrite(rows(9, 200)),
        lambda: lake.table.delete("a = 204 or b = 0"),
    ):
        write()
        kept.append((lake.name, known(lake.table)["a"].to_pylist()))
        check(lake, ["a", "b"])
    assert [len(numbers) for _, numbers in kept] == [6, 12, 9, 4]
    for name, numbers in kept:
        assert sorted(cells(pp.PrivateTable.open(name, ["a"])).ravel()) == numbers
    location = lake.table.metadata_location
    assert pp.PrivateTable.open(f"iceberg:{location}", ["a"]).uri == lake.name
    of_persons = pp.PrivateTable.open(lake.name, ["a"], person="who")
    persons = {*zip(cells(of_persons).ravel() % 5, keys_of(of_persons), strict=True)}
    assert len(persons) == len({key for _, key in persons}) == len({person for person, _ in persons})


def test_columns_are_known_by_their_numbers(lake):
    """A new one is missing in older files, also one under the name of an old one; a renamed one is refused."""
    lake.table.append(rows(6, 0))
    with lake.table.update_schema() as change:
        change.add_column("new", DoubleType())
    lake.table.append(rows(3, 50).append_column("new", pa.array([1.0, 2.0, None])))
    check(lake, ["a", "new", "b"])
    with lake.table.update_schema() as change:
        change.rename_column("b", "c")
    check(lake, ["a", "new"])
    with pytest.raises(InvalidInput, match=r"'c' has another name in .*parquet: rewrite its data files"):
        pp.PrivateTable.open(lake.name, ["c"])
    with pytest.raises(InvalidInput, match="'b' is missing from the private table iceberg:"):
        pp.PrivateTable.open(lake.name, ["b"])
    with lake.table.update_schema() as change:
        change.delete_column("c")
    with lake.table.update_schema() as change:
        change.add_column("b", LongType())
    assert np.isnan(cells(pp.PrivateTable.open(lake.name, ["b"]))).all()
    lake.table.append(pa.table({"a": [70.0], "who": [1], "new": [3.0], "b": [9]}))
    check(lake, ["a", "new", "b"])


def test_columns_that_make_partitions_are_those_of_the_files(lake):
    """A file without such a column, as another program may have left it to its folder's name, is refused."""
    with lake.table.update_spec() as change:
        change.add_identity("b")
    lake.table.append(rows(6, 0))
    check(lake, ["a", "b"])
    for file in lake.folder.rglob("*.parquet"):
        pq.write_table(pq.read_table(file, partitioning=None).drop(["b"]), file)
    check(lake, ["a", "who"])
    with pytest.raises(InvalidInput, match="'b' is not in all data files"):
        pp.PrivateTable.open(lake.name, ["a", "b"])


def test_a_file_without_numbers_of_columns_is_refused(lake):
    lake.table.append(rows(6, 0))
    (file,) = lake.folder.rglob("*.parquet")
    plain = pq.read_table(file)
    pq.write_table(plain.cast(pa.schema([field.remove_metadata() for field in plain.schema])), file)
    with pytest.raises(InvalidInput, match="without Iceberg's numbers"):
        pp.PrivateTable.open(lake.name, ["a"])


class _Deletes(ManifestWriterV2):
    def content(self):
        return ManifestContent.DELETES

    @property
    def _meta(self):
        return super()._meta | {"content": "deletes"}


class _DeletingRows(_FastAppendFiles):
    """Writes the files that are appended as files of deleted rows, which the library itself only reads."""

    def new_manifest_writer(self, spec):
        meta = self._transaction.table_metadata
        return _Deletes(spec, meta.schema(), self.new_manifest_output(), self._snapshot_id, "deflate")


def test_rows_that_are_deleted_beside_their_files_are_refused(lake):
    lake.table.append(rows(6, 0))
    (file,) = lake.folder.rglob("*.parquet")
    pq.write_table(pa.table({"file_path": [f"file://{file}"], "pos": [1]}), lake.folder / "data/deletes.parquet")
    of_deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=f"file://{lake.folder}/data/deletes.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=1,
        sort_order_id=None,
        spec_id=0,
    )
    of_deletes.spec_id = 0
    with lake.table.transaction() as change, change.update_snapshot().fast_append() as appending:
        appending.__class__ = _DeletingRows
        appending.append_data_file(of_deletes)
    with pytest.raises(InvalidInput, match=r"has delete files.*rewrite_data_files"):
        pp.PrivateTable.open(lake.name, ["a"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('"format-version":2', '"format-version":3'), "version 3 of its format"),
        (("{", "["), "cannot be read as a version"),
    ],
)
def test_what_is_newer_or_damaged_is_refused(change, why, lake):
    lake.table.append(rows(6, 0))
    file = lake.folder / "metadata" / (lake.name.rpartition("@")[2] + ".metadata.json")
    text = file.read_text().replace(": ", ":").replace(*change, 1)
    assert text != file.read_text()
    file.write_text(text)
    with pytest.raises(InvalidInput, match=why) as caught:
        pp.PrivateTable.open(lake.name, ["a"])
    assert caught.value.__context__ is None


def test_a_table_that_was_moved_is_refused(lake, tmp_path):
    """Its log names files of another folder, which the ledger would not know as this table's."""
    lake.table.append(rows(6, 0))
    name = lake.name.replace(str(lake.folder), f"{tmp_path}/moved")
    lake.folder.rename(tmp_path / "moved")
    with pytest.raises(InvalidInput, match="files outside of its folder"):
        pp.PrivateTable.open(name, ["a"])


def test_the_version_is_asked_for(lake):
    """With the last one that there is; only a catalog knows which is current."""
    lake.table.append(rows(6, 0))
    with pytest.raises(InvalidInput, match=rf"names no version: write iceberg:.*@VERSION.*{lake.name[-36:]}"):
        pp.PrivateTable.open(f"iceberg:{lake.folder}", ["a"])
    with pytest.raises(InvalidInput, match=r"no table of Iceberg at|no private table at"):
        pp.PrivateTable.open(f"iceberg:{lake.folder}/data", ["a"])
    with pytest.raises(InvalidInput, match="no private table at"):
        pp.PrivateTable.open(f"iceberg:{lake.folder}@00000-missing", ["a"])


def test_a_version_in_an_object_store_is_read_with_the_credentials_of_the_environment(tmp_path):
    """Log and rows, through Arrow; nothing of the writer's settings is needed."""
    with object_store() as store:
        known = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.access-key-id": "AWS_ACCESS_KEY_ID"}
        known |= {"s3.secret-access-key": "AWS_SECRET_ACCESS_KEY"}
        settings = {name: store.environment[variable] for name, variable in known.items()} | {"s3.region": "us-east-1"}
        catalog = SqlCatalog("s3", uri=f"sqlite:///{tmp_path}/s3.db", warehouse="s3://clinic/lake", **settings)
        catalog.create_namespace("n")
        table = catalog.create_table("n.v", schema=rows(1, 0).schema)
        table.append(rows(6, 0))
        opened = pp.PrivateTable.open(f"iceberg:{table.metadata_location}", ["a"])
        assert opened.uri.startswith("iceberg:s3://clinic/lake/n/v@00001-")
        assert sorted(cells(opened).ravel()) == [*range(6)]
