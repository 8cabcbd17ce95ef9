"""No file of a table with a log is read as a file: the log says which of them are current, and nothing else does."""

import re

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.data.stores import content_hash
from pubpriv.errors import InvalidInput

LOGS = {
    "Delta Lake": ("_delta_log/00000000000000000000.json",),
    "Delta Lake, old entries of its log cleaned": ("_delta_log/00000000000000000010.checkpoint.parquet",),
    "Iceberg": ("metadata/00000-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json",),
    "Iceberg in Hadoop's way": ("metadata/v1.gz.metadata.json", "metadata/version-hint.text"),
    "Iceberg, compressed as it was once": ("metadata/v1.metadata.json.gz",),
    "Hudi": (".hoodie/hoodie.properties",),
    "Paimon": ("snapshot/snapshot-1", "snapshot/LATEST", "schema/schema-0"),
    "Spark's streams": ("_spark_metadata/0",),
}
"""Files of the log of each kind of table, below its folder."""

FILE = "data/day=1/part.parquet"

NAMES = (
    "lake/visits",
    "lake",
    "lake/visits/data",
    f"lake/visits/{FILE}",
    "lake/visits/data/day=1/*.parquet",
    "lake/*/data/day=1/part.parquet",
    "lake/visits/**/*.parquet",
    "lake/**",
    "l*",
    "lake/v[a-i]sits",
    f"?ake/visits/{FILE}",
)
"""The table, what is above and below it, globs into it, and a file of it."""


def write(path, rows=3):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": np.arange(float(rows)), "b": np.arange(float(rows))}), path)


def log(folder, *files):
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("{}")


def refused(name):
    """What is said of a name, which is the same of private and of public rows."""
    said = []
    for open_ in (pp.PrivateTable.open, pp.PublicTable.open):
        with pytest.raises(InvalidInput) as caught:
            open_(name, ["a", "b"])
        said.append(str(caught.value))
    assert said[0] == said[1]
    return said[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", LOGS)
def test_no_name_leads_to_files_of_a_table_with_a_log(kind, name, tmp_path):
    """Whoever names the table, a folder above or below it, or one of its files."""
    write(tmp_path / "lake/visits" / FILE)
    assert pp.PrivateTable.open(f"{tmp_path}/{name}", ["a"]).n_rows == 3
    log(tmp_path / "lake/visits", *LOGS[kind])
    said = refused(f"{tmp_path}/{name}")
    assert f"a table of {kind.split(',')[0].split(' in ')[0]}" in said
    above = f"{tmp_path}/{name}".startswith(f"{tmp_path}/lake/visits")
    assert (f"{tmp_path}/lake/visits" in said.replace(f"{tmp_path}/{name}", "", 1)) == (above and name != "lake/visits")
    assert "Write the table's current version to a folder of its own" in said
    assert content_hash(f"{tmp_path}/{name}") == "missing"


@pytest.mark.parametrize("name", ["hive/base_0000012/part.parquet", "hive/delta_0000013_0000013_0000/part.parquet"])
def test_folders_of_hives_transactions_are_known_by_their_names(name, tmp_path):
    """Their log is in a database."""
    write(tmp_path / name)
    for opened in (tmp_path / "hive", (tmp_path / name).parent, tmp_path / name):
        assert "Hive's transactions" in refused(f"{opened}")


def test_files_of_ducklake_are_known_by_their_names(tmp_path):
    """Its log is in a database too."""
    write(tmp_path / "main/visits/ducklake-019a9a4e-6a6f-7c3b-8f0b-1b7b6b2f9a11.parquet")
    for name in ("main", "main/visits", "main/visits/ducklake-*"):
        assert "DuckLake" in refused(f"{tmp_path}/{name}")


def test_links_do_not_hide_a_log(tmp_path):
    """A link to a file or a folder of such a table, and such a table made of links."""
    write(tmp_path / "lake" / FILE)
    log(tmp_path / "lake", "_delta_log/0.json")
    write(tmp_path / "plain/part.parquet")
    for folder in ("file", "folder", "made"):
        (tmp_path / folder).mkdir()
    (tmp_path / "file/part.parquet").symlink_to(tmp_path / "lake" / FILE)
    (tmp_path / "folder/sub").symlink_to(tmp_path / "lake/data")
    (tmp_path / "made/part.parquet").symlink_to(tmp_path / "plain/part.parquet")
    (tmp_path / "made/_delta_log").symlink_to(tmp_path / "nowhere")
    for name in ("file", "file/part.parquet", "file/*", "folder", "folder/sub", "folder/*/*", "made"):
        assert "Delta Lake" in refused(f"{tmp_path}/{name}")
    assert pp.PrivateTable.open(tmp_path / "plain", ["a"]).n_rows == 3


def test_where_the_unit_is_a_person_no_folder_below_is_shown(tmp_path):
    """What folders there are is private then."""
    write(tmp_path / "visits/patient=Krzyszkowiak/part.parquet")
    log(tmp_path / "visits/patient=Krzyszkowiak", ".hoodie_partition_metadata")
    for name in ("visits", "visits/*", "visits/p*/part.parquet"):
        with pytest.raises(InvalidInput, match="Hudi") as caught:
            pp.PrivateTable.open(f"{tmp_path}/{name}", ["a"], person="b")
        assert "Krzyszkowiak" not in str(caught.value)


def test_what_only_looks_like_a_log_is_read(tmp_path):
    """Folders of these names that other people have, and tables beside a table with a log."""
    for name in ("a/metadata/notes.json", "a/snapshot/snapshot-of-may.txt", "a/.hidden/_delta_log/0.json"):
        log(tmp_path, name)
    write(tmp_path / "a/part.parquet")
    write(tmp_path / "a/snapshot/old.parquet")
    write(tmp_path / "b/lake" / FILE)
    write(tmp_path / "b/other.parquet")
    log(tmp_path / "b/lake", "_delta_log/0.json")
    for name, rows in {"a": 6, "b/*.parquet": 3, "b/other.parquet": 3, "b/[!l]*": 3}.items():
        assert pp.PrivateTable.open(f"{tmp_path}/{name}", ["a"]).n_rows == rows


def test_a_folder_that_became_a_table_with_a_log_is_not_read_any_more(tmp_path):
    """Neither by a handle that was opened before."""
    write(tmp_path / "t/part.parquet")
    table = pp.PrivateTable.open(tmp_path / "t", ["a"])
    assert table.chunks()
    log(tmp_path / "t", "_delta_log/0.json")
    with pytest.raises(InvalidInput, match="Delta Lake"):
        table.chunks()


@pytest.mark.parametrize(
    "name", ["", "/visits", "/visits/data", f"/visits/{FILE}", "/*/data/**", "/visits/*/*/*.parquet"]
)
@pytest.mark.parametrize("kind", LOGS)
def test_a_store_that_fsspec_reads_hides_no_log(kind, name):
    """Above the folder that is listed, the store is asked."""
    place, memory = f"memory://lake-{re.sub(r'[^a-z]', '', kind.lower())}", fsspec.filesystem("memory")
    with memory.open(f"{place}/visits/{FILE}", "wb") as out:
        pq.write_table(pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0]}), out)
    try:
        assert pp.PrivateTable.open(place + name, ["a"]).n_rows == 2
        for file in LOGS[kind]:
            memory.pipe_file(f"{place}/visits/{file}", b"{}")
        assert "a table of" in refused(place + name)
    finally:
        memory.rm(place, recursive=True)
