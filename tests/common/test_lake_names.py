"""A table with versions has one name in a ledger, whatever version is read, and that of no other table."""

import pytest

from pubpriv.common.lake_names import LakeName, identity_of
from pubpriv.common.tables import canonical, identified, overlap, refuse_credentials, sharing
from pubpriv.errors import InvalidInput


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("delta:lake/visits@7", "delta:{here}/lake/visits@7"),
        ("DELTA:lake/../lake/visits/@0", None),
        ("delta:./lake/visits/", "delta:{here}/lake/visits"),
        ("delta:s3a://bucket/visits@12", "delta:s3://bucket/visits@12"),
        ("delta:file:///lake/visits@1", "delta:/lake/visits@1"),
        ("iceberg:lake/visits@00001-ab", "iceberg:{here}/lake/visits@00001-ab"),
        ("iceberg:lake/visits/metadata/00001-ab.metadata.json", "iceberg:{here}/lake/visits@00001-ab"),
        ("iceberg:file:///w/v/metadata/v3.metadata.json", "iceberg:/w/v@v3"),
        ("delta:a@b/visits@1", "delta:{here}/a@b/visits@1"),
        ("delta:visits@-1", None),
        ("delta:visits@07", None),
        ("delta:visits@", None),
        ("delta:a@3@7", None),
        ("delta:", None),
        ("delta:vis*ts@7", None),
        ("delta:delta:visits@7", None),
        ("delta:frame://visits", None),
        ("delta:https://host/visits", None),
        ("delta:s3://user:secret@host/visits@7", None),
    ],
)
def test_each_version_has_one_name_and_the_ledger_one_for_all(written, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name is None:
        with pytest.raises(InvalidInput) as caught:
            canonical(written)
        assert "secret" not in str(caught.value)
        return
    name = name.format(here=tmp_path)
    assert (canonical(written), canonical(name)) == (name, name)
    assert identified(written) == identity_of(name) == str(LakeName.of(name).table)
    refuse_credentials(written)


def test_no_version_is_another_table_than_its_folder():
    """Under no spelling, above it or below it; another folder is another table."""
    names = ("delta:/l/v", "delta:/l/v@3", "iceberg:/l/v@1", "/l/v", "/l/v/part.parquet", "/l/*", "/l")
    for ours in names[:3]:
        for theirs in names:
            assert overlap(ours, theirs), (ours, theirs)
            assert overlap(theirs, ours)
            assert sharing(ours)(theirs)
        assert not overlap(ours, "delta:/l/w@3")
        assert not sharing(ours)("/l/w")
