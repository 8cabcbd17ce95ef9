"""A CSV file of persons needs its owner's word that no cell contains a line break; it is kept, and asked for once."""

import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.id_pass import IdPass
from pubpriv.errors import InvalidInput
from pubpriv.privacy.ledger.views import NamedTable

PUBLIC = [[0.0], [1.0], [2.0]]
NOTE = "\n".join(["x", *(f"{i},{i},y" for i in range(100, 150)), "z"])
"""A note of one person, whose lines read as rows of fifty others."""


@pytest.fixture
def ledger(tmp_path):
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as books:
        yield books


def written(path, notes=("", "")):
    frame = pd.DataFrame({"id": [1, 2], "x": [5.0, 6.0], "note": notes})
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return pp.PrivateTable.open(path, ["x"], person="id")


def test_a_note_of_one_person_is_rows_of_fifty_others(tmp_path):
    """Which is why somebody has to say that there is none: m line breaks are m + 1 records, of any persons."""
    assert len(IdPass(written(tmp_path / "t.csv")).sizes()) == 2
    assert len(IdPass(written(tmp_path / "t.csv", (NOTE, "ok"))).sizes()) == 51
    assert len(IdPass(written(tmp_path / "t.parquet", (NOTE, "ok"))).sizes()) == 2


@pytest.mark.filterwarnings("ignore::pubpriv.errors.FilesNotRead")
@pytest.mark.parametrize("where", ["t.csv", "folder", "*.csv"])
def test_lines_are_records_of_persons_only_where_their_owner_says_so(where, tmp_path, ledger):
    """A file, a folder, a glob: refused by whoever would bind it, with nothing kept; then it is said once."""
    (tmp_path / "folder").mkdir()
    written(tmp_path / "t.csv")
    written(tmp_path / "folder" / "t.csv")
    table = pp.PrivateTable.open(tmp_path / where, ["x"], person="id")
    with pytest.raises(InvalidInput, match=r"m \+ 1 records, of any persons.*--no-line-breaks, in Python") as caught:
        ledger.register("new", "zcdp:1", table=table, person="id")
    assert "\n" not in str(caught.value)
    assert ledger.datasets() == []
    ledger.register("clinic", "zcdp:1", person="id")
    for _ in range(2):
        with pytest.raises(
            InvalidInput, match=r"said once, with `pubpriv budget set clinic zcdp:1 .* --no-line-breaks`"
        ):
            pp.Curator(table, ledger, "clinic", "zcdp:0.1")
    assert (ledger.balance("clinic").tables, ledger.balance("clinic").held.main) == ((), 0)
    ledger.register("clinic", "zcdp:1", table=table, no_line_breaks=True)
    pp.Curator(table, ledger, "clinic", "zcdp:0.1", release_id="r").close()
    assert ledger.balance("clinic").tables[0]["no_line_breaks"] is True
    more = pp.PrivateTable.open(tmp_path / where, ["x", "log1p(note)"], person="id")
    ledger.register("clinic", "zcdp:1", table=more)  # other columns of it: it was said
    (declared,) = ledger.balance("clinic").tables
    assert declared["uri"] == table.uri
    assert declared["columns"] == ["note", "x"]
    assert declared["no_line_breaks"] is True


def test_a_table_that_was_registered_before_is_asked_for_it_once(tmp_path, ledger):
    """As earlier versions registered it, or a machine that does not have it; a resumed run is refused too."""
    table = written(tmp_path / "t.csv")
    ledger.register("clinic", "zcdp:1", table=NamedTable(table.uri, ("x",)), person="id")
    with pytest.raises(InvalidInput, match=f"--private {table.uri} --columns x --no-line-breaks`"):
        pp.Curator(table, ledger, "clinic", "zcdp:0.1")
    ledger.register("clinic", "zcdp:1", table=NamedTable(table.uri, ("x",)), no_line_breaks=True)
    pp.Curator(table, ledger, "clinic", "zcdp:0.1", release_id="r").close()
    ledger.verify("clinic")


def test_nobody_is_asked_where_a_record_is_no_line_or_no_persons(tmp_path, ledger):
    """Rows of Parquet and of frames; lines where the unit is a row, whose number is public."""
    frame = pp.PrivateTable.open(pd.DataFrame({"id": [1], "x": [1.0]}), ["x"], person="id", name="frame")
    for number, table in enumerate((written(tmp_path / "t.parquet"), frame)):
        ledger.register(f"persons{number}", "zcdp:1", table=table, person="id")
    written(tmp_path / "t.csv")
    ledger.register("rows", "zcdp:1", table=pp.PrivateTable.open(tmp_path / "t.csv", ["x"]), another_table=True)
    with pytest.raises(InvalidInput, match="--no-line-breaks says something of a private table: name it too"):
        ledger.register("rows", "zcdp:1", no_line_breaks=True)


def test_it_is_carried_on_with_the_books(tmp_path, ledger):
    """A ledger that continues closed books knows what was said."""
    table = written(tmp_path / "t.csv")
    ledger.register("clinic", "zcdp:1", table=table, person="id", no_line_breaks=True)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/next.db") as new:
        ledger.carry_on(new, tmp_path / "archive.jsonl")
        pp.Curator(table, new, "clinic", "zcdp:0.1", release_id="r").close()
