"""One file has one name: every other way to write it is the same table to the ledger, or refused."""

import os
import pickle
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pubpriv.common.tables import canonical, local_listing, overlap, sharing
from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.tables import PrivateTable, PublicTable
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger

ONE = ZeroConcentratedDP(1)


def write(path, rows=50):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": np.arange(float(rows))}), path)
    return path


@pytest.fixture
def place(tmp_path):
    """A file with a name that holds a bracket and one that does not, and folders of links to it."""
    plain = write(tmp_path / "A" / "x.parquet")
    write(tmp_path / "C" / "].parquet", 7)
    write(tmp_path / "D" / "y[1].parquet", 9)
    (tmp_path / "B").mkdir()
    (tmp_path / "B" / "part.parquet").symlink_to(plain)
    (tmp_path / "H").mkdir()
    os.link(plain, tmp_path / "H" / "other.parquet")
    (tmp_path / "deep").symlink_to(tmp_path / "A")
    return tmp_path


PLAIN = (
    "local://{0}/A/x.parquet",
    "local:///{0}/A/x.parquet",
    "LOCAL://{0}/A/x.parquet",
    "local:{0}/A/x.parquet",
    "file:{0}/A/x.parquet",
    "FILE:{0}/A/x.parquet",
    "FILE://{0}/A/x.parquet",
    "File://{0}/A/x.parquet",
    "file://{0}/A/x.parquet",
    "file://LOCALHOST{0}/A/x.parquet",
    "file://{0}/%41/x%2Eparquet",
    "/proc/self/root{0}/A/x.parquet",
    "/proc/self/root{0}/A",
    "{0}/A/../A/./x.parquet",
    "/{0}//A//x.parquet",
    "{0}/A/[!]].parquet",
    "{0}/A/[]x].parquet",
    "{0}/A/[x].parquet",
    "{0}/A/[!a-w].parquet",
    "{0}/A/[[]*",
    "{0}/A/?.parquet",
    "{0}/A/.//*.parquet",
    "{0}/*/x.parquet",
    "{0}/**/x.parquet",
    "{0}/A",
    "{0}/B",
    "{0}/B/*.parquet",
    "{0}/B/part.parquet",
    "{0}/H",
    "{0}/H/other.parquet",
    "{0}/[!ACD]*",
    "{0}/deep",
    "{0}/d*p",
    "simplecache::file://{0}/A/x.parquet",
    "simplecache::{0}/A/x.parquet",
    "filecache://{0}/A/x.parquet",
    "root://{0}/A/x.parquet",
    "dir://{0}/A/x.parquet",
    "LocalFS://{0}/A/x.parquet",
    "localfs://{0}/A/x.parquet",
    "reference://{0}/A/x.parquet",
    "file://elsewhere{0}/A/x.parquet",
    "arrow_hdfs://{0}/A/x.parquet",
    "s3://{0}/A/x.parquet",
    "memory://{0}/A/x.parquet",
)


@pytest.mark.parametrize("spelling", PLAIN)
def test_no_spelling_of_a_file_gives_it_a_second_budget(spelling, place, tmp_path):
    """Declared once by its path; by any other name it is that table, another dataset's, or no table at all."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        first = PrivateTable.open(place / "A" / "x.parquet", ["a"])
        ledger.register("first", budget=ONE, table=first)
        ledger.register("second", budget=ONE)
        with pytest.raises((InvalidInput, SpecMismatch)):
            ledger.bind("second", PrivateTable.open(spelling.format(place), ["a"]))
        assert ledger.balance("second").tables == ()


@pytest.mark.parametrize("spelling", ["y[[]1].parquet", "y?1?.parquet", "y*", "y[[]1]*", "y[!a]1[!a].parquet", "*"])
def test_a_name_with_brackets_is_one_table(spelling, place, tmp_path):
    """Also where an earlier version wrote the name of the file as it is."""

    class Earlier:
        uri, source_columns = str(place / "D" / "y[[]1].parquet"), ("a",)

    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("first", budget=ONE, table=Earlier)
        ledger.register("second", budget=ONE)
        with pytest.raises(SpecMismatch, match="belongs to dataset 'first'"):
            ledger.bind("second", PrivateTable.open(place / "D" / spelling, ["a"]))
    assert overlap(str(place / "D" / "y[1].parquet"), str(place / "D" / spelling))


@pytest.mark.parametrize("name", ["x[1].parquet", "?", "[]]", "a*b", "[!]", "]", "[", "x[", "a[[]b", "**"])
def test_the_name_of_a_name_is_itself(name, tmp_path):
    """Whatever a file is called: its canonical name means it alone, and stays what it is."""
    path = write(tmp_path / name, 3)
    decoy = write(tmp_path / "x1.parquet", 5)
    wild = any(char in name for char in "*?[") and name not in ("[", "x[", "[!]", "a[[]b")
    if wild:
        with pytest.raises(InvalidInput, match="is a glob"):
            canonical(str(path))
    (tmp_path / "link").symlink_to(path)
    found = canonical(str(tmp_path / "link"))
    assert canonical(found) == found
    assert PrivateTable.open(found, ["a"]).n_rows == 3
    assert overlap(found, found)
    assert not sharing(found)(canonical(str(decoy)))


@pytest.mark.parametrize("again", ["link", "hard link", "folder", "folder of links"])
def test_a_file_is_counted_once(again, place):
    """A second entry of a folder that is the same file is refused when it is opened, and named."""
    folder, file = place / "A", place / "A" / "x.parquet"
    if again == "hard link":
        os.link(file, folder / "z.parquet")
    elif again == "link":
        (folder / "z.parquet").symlink_to(file)
    elif again == "folder":
        (folder / "z").symlink_to(place / "B")
    else:
        (folder / "y").symlink_to(place / "B")
        file.rename(place / "A" / "w.parquet")
        (place / "B" / "part.parquet").unlink()
        (place / "B" / "part.parquet").symlink_to(place / "A" / "w.parquet")
    with pytest.raises(InvalidInput, match=r"one file under two names, .*parquet and .*parquet"):
        PrivateTable.open(folder, ["a"])


def test_a_link_that_appears_later_stops_the_next_look(place):
    """What was opened whole is looked at again before each scan."""
    write(place / "A" / "more.parquet", 50)
    table = PrivateTable.open(place / "A", ["a"])
    (place / "A" / "more.parquet").unlink()
    (place / "A" / "more.parquet").symlink_to(place / "A" / "x.parquet")
    with pytest.raises(InvalidInput, match="one file under two names"):
        table.chunks()


def test_links_in_a_circle_end(place):
    """A folder in itself is looked through once."""
    (place / "A" / "again").symlink_to(place / "A")
    assert PrivateTable.open(place / "A", ["a"]).n_rows == 50


def test_two_folders_of_links_to_each_others_files_are_one_table(place, tmp_path):
    """No name of one is a name of the other, and every row is in both."""
    for name in ("P", "Q"):
        (place / name).mkdir()
    one, two = write(place / "P" / "1.parquet"), write(place / "Q" / "2.parquet")
    (place / "P" / "2.parquet").symlink_to(two)
    (place / "Q" / "1.parquet").symlink_to(one)
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("first", budget=ONE, table=PrivateTable.open(place / "P", ["a"]))
        with pytest.raises(SpecMismatch, match="belongs to dataset 'first'"):
            ledger.register("second", budget=ONE, table=PrivateTable.open(place / "Q", ["a"]))


def link_among_odd_ones(place):
    """A folder that leads to A/x.parquet, where half of what else is in it leads around in a circle."""
    folder = place / "odd"
    folder.mkdir()
    for i in range(8):
        (folder / f"{i}").symlink_to(f"{i}")
        (folder / f"dead{i}").symlink_to("nowhere")
    (folder / "x.parquet").symlink_to(place / "A" / "x.parquet")
    return folder


def test_links_to_themselves_hide_no_other(place):
    """A public folder with them is private like any other, and is read like any other where it is not."""
    ours = canonical(str(link_among_odd_ones(place)))
    theirs = f"{place}/A/x.parquet"
    assert sharing(ours)(theirs)
    assert sharing(theirs)(ours)
    assert len(PublicTable.open(ours).rows) == 50


def test_a_folder_that_may_not_be_listed_hides_none_of_its_files(place, monkeypatch):
    """Another dataset's folder, to us: its files may be opened by name, or some of its folders may not be listed."""
    ours = canonical(str(link_among_odd_ones(place)))
    for i in range(8):
        (place / "T" / f"A{i}").mkdir(parents=True)
    os.link(place / "A" / "x.parquet", place / "T" / "x.parquet")
    listed = os.scandir

    def scandir(folder):
        if os.path.basename(folder).startswith("A"):
            raise PermissionError
        return listed(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert sharing(ours)(f"{place}/A")
    assert sharing(ours)(f"{place}/T")
    assert sharing(f"{place}/T")(f"{place}/H")
    with pytest.raises(PermissionError):
        local_listing(f"{place}/A")


def test_public_folders_are_read_as_they_are_compared(tmp_path):
    """The Parquet files in it, as in a private folder; its folders' names are no columns."""
    write(tmp_path / "year=2020" / "x.parquet")
    (tmp_path / "notes.txt").write_text("no table")
    with pytest.warns(UserWarning, match=r"not read of .*: notes\.txt"):
        table = PublicTable.open(tmp_path)
    assert table.columns == ("a",)
    assert len(table.rows) == 50


def test_tables_apart_are_apart(place):
    """Neighbours in one folder, brackets and all, keep budgets of their own."""
    write(place / "D" / "y[2].parquet")
    names = [f"{place}/D/y[[]{i}].parquet" for i in (1, 2)]
    assert not sharing(names[0])(names[1])
    assert not sharing(f"{place}/A")(f"{place}/D")
    assert not sharing("s3://bucket/a")("s3://bucket/b")


ODD = {
    "no name": {"uri": ""},
    "a number": {"uri": 3},
    "nul": {"uri": "/a\0b"},
    "a list of columns": {"columns": [Column("a")]},
    "no columns": {"columns": ()},
    "names": {"columns": ("a",)},
    "twice": {"columns": (Column("a"), Column("a"))},
    "a map that nobody knows": {"columns": (Column("a", "exp"),)},
    "no rows": {"n_rows": 0},
    "half a row": {"n_rows": 1.5},
    "true": {"n_rows": True},
}


@pytest.mark.parametrize("odd", ODD)
def test_a_table_made_by_hand_is_checked(odd):
    """As an opened one is."""
    with pytest.raises(InvalidInput):
        PrivateTable(**{"uri": "/d/x.parquet", "columns": parse_columns(["a"]), "n_rows": 3} | ODD[odd])


def test_a_table_made_by_hand_has_the_one_name(place, monkeypatch):
    """Another spelling, by hand or in a pickle, is the same table."""
    opened = PrivateTable.open(place / "A" / "x.parquet", ["a"])
    monkeypatch.chdir(place)
    made = PrivateTable("A/../deep/x.parquet", opened.columns, 50)
    assert made == opened
    assert pickle.loads(pickle.dumps(made)) == opened


@pytest.mark.parametrize("open_", [lambda path: PrivateTable.open(path, ["a"]), PublicTable.open])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_refused_at_once(open_, kind, tmp_path):
    """Nothing waits for a pipe or reads from a device."""
    path = "/dev/zero"
    if kind == "pipe":
        path = tmp_path / "pipe.csv"
        os.mkfifo(path)
    refusals = []

    def attempt():
        try:
            open_(path)
        except InvalidInput as refusal:
            refusals.append(str(refusal))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(timeout=20)
    assert refusals
    assert "neither a file nor a folder" in refusals[0]


@pytest.mark.parametrize(
    "name",
    [
        "s3://b/./v/t.parquet",
        "s3://b/v/../v/t.parquet",
        "s3://b//v/t.parquet",
        "gs://b/v/..",
        "ftp://host//t.parquet",
        "https://host/v/%2e%2e/t.parquet",
        "https://host/t.parquet?v",
        "https://host/t.parquet#v",
    ],
)
def test_a_url_has_no_way_around(name):
    """What lies between takes it for another path: an S3 server sees no `..`, and gave one table two budgets."""
    with pytest.raises(InvalidInput, match="the URL of a table in"):
        canonical(name)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ftp://host:2121/v/t.parquet", "ftp://HOST:02121/v/t.parquet"),
        ("ftp://host/v/t.parquet", "ftp://host.:21/v"),
        ("https://host/v/t.parquet", "http://Host:443/v/%74.parquet"),
        ("sftp://host:22/v/t.parquet", "ssh://host/v/*.parquet"),
        ("hdfs://one:8020/v/t.parquet", "hdfs:///v/t.parquet"),
        ("hdfs://anna@one/v/t.parquet", "hdfs://bert@ONE/v"),
        ("abfs://box@account.dfs.core.windows.net/v/t.parquet", "abfs://box/v/t.parquet"),
        ("hf://datasets/clinic/visits@main/t.parquet", "hf://datasets/clinic/visits/t.parquet"),
    ],
)
def test_one_host_is_one_host_however_it_is_written(tmp_path, ours, theirs):
    """The second dataset gets no budget for the table, and no one reads it as public rows."""
    first, second = (PrivateTable(canonical(name), parse_columns(["a"]), 9) for name in (ours, theirs))
    with Ledger.open(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        ledger.register("one", ONE, first)
        with pytest.raises(SpecMismatch, match="one table has one budget"):
            ledger.register("two", ONE, second)
        with pytest.raises(InvalidInput, match="rows cannot be both"):
            ledger.refuse_private(theirs)


def test_other_hosts_ports_and_keys_are_other_tables():
    """And letters of a key have a case, and no escapes, where the store is none of the web."""
    pairs = [
        ("ftp://host:2121/t.parquet", "ftp://host/t.parquet"),
        ("https://host/t.parquet", "https://other/t.parquet"),
        ("https://host/t.parquet", "ftp://host/t.parquet"),
        ("abfs://box@one.dfs.core.windows.net/t.parquet", "abfs://box@two.dfs.core.windows.net/t.parquet"),
        ("abfs://box@one.dfs.core.windows.net/t.parquet", "abfs://other/t.parquet"),
        ("s3://b/t.parquet", "s3://b/T.parquet"),
        ("s3://b/a b.parquet", "s3://b/a%20b.parquet"),
    ]
    for ours, theirs in pairs:
        assert not overlap(canonical(ours), canonical(theirs))
    assert canonical("hdfs:///") == canonical("hdfs://") == "hdfs://"
    for ours, theirs in [("hdfs://", "hdfs://one/t.parquet"), ("s3://b", "s3://b/v/t.parquet")]:
        assert overlap(ours, theirs), "all of a store holds each of its tables"
