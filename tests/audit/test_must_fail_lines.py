"""Seeded bugs of a reader of CSV files: each is patched into the product and caught by a fast audit. About 10 s."""

import numpy as np
import pyarrow as pa
import pytest

from pubpriv.audit import _lines
from pubpriv.data import pieces
from pubpriv.data.formats import _delimited

pytestmark = pytest.mark.long

KINDS = _lines._KINDS
PLAIN = "a CSV file"


def broken(monkeypatch, *kinds):
    """What a fast audit finds broken of some kinds of files: {kind: detail}."""
    monkeypatch.setattr(_lines, "_KINDS", {kind: KINDS[kind] for kind in kinds})
    return {f.mechanism.partition(":")[0]: f.detail for f in _lines.findings(True, 0) if not f.holds}


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_nothing_is_found_without_a_bug(monkeypatch):
    """All findings of a fast audit."""
    assert broken(monkeypatch, *KINDS) == {}


def test_quotes_that_are_not_reset_where_a_line_ends(monkeypatch):
    """One odd quote turns all later lines inside out, up to the next one."""
    monkeypatch.setattr(_delimited, "_before_lines", lambda odd, feeds: np.zeros(len(feeds), dtype=bool))
    found = broken(monkeypatch, *KINDS)
    assert {*found} == {*KINDS}
    for name in (PLAIN, "a CSV file, gzip", "a CSV file, zstd, without a last line feed"):
        assert "line 1 of 150, one quote too many: every other line has the same bits" in found[name]
        assert "line 76 of 150, one quote too many: every other line has the same bits" in found[name]


def test_quotes_that_are_not_reset_in_the_last_line_alone(monkeypatch):
    """An odd quote in the line before it, or no line feed."""

    def before(odd, feeds):
        found = np.concatenate([[False], odd[feeds[:-1]]])
        found[-1] = found[-1] if len(feeds) < 149 else found[0]
        return found

    monkeypatch.setattr(_delimited, "_before_lines", before)
    assert "every other line has the same bits" in broken(monkeypatch, PLAIN)[PLAIN]


def test_carriage_returns_that_end_lines(monkeypatch):
    """As in files of old; one record becomes several."""
    right = _delimited._read

    def read(handle):
        for data in right(handle):
            yield np.where(data == ord("\r"), ord("\n"), data).astype(np.uint8)

    monkeypatch.setattr(_delimited, "_read", read)
    assert PLAIN in broken(monkeypatch, PLAIN)


def test_cells_that_have_to_be_text(monkeypatch):
    """A byte that is no UTF-8 makes the scan fail, or not: whether it is there shows for free."""
    right = _delimited._Cells.column

    def column(self, place):
        return right(self, place).cast(pa.string()).cast(pa.binary())

    monkeypatch.setattr(_delimited._Cells, "column", column)
    assert "ArrowInvalid came instead" in broken(monkeypatch, PLAIN)[PLAIN]


def test_keys_that_count_what_came_before(monkeypatch):
    """A person's number in the order of ids, which follows from who else is there."""
    right = pieces.keys_of
    monkeypatch.setattr(pieces, "keys_of", lambda ids: np.unique(right(ids), return_inverse=True)[1].astype(np.uint64))
    assert "every other line has the same bits" in broken(monkeypatch, PLAIN)[PLAIN]


@pytest.mark.parametrize("name", _lines._BYTES)
def test_what_is_put_into_lines(name):
    """Bytes of every kind, many times, and never a line feed."""
    random = np.random.default_rng(1)
    made = [_lines._BYTES[name](random) for _ in range(10 if name.startswith("more") else 300)]
    assert not [line for line in made if b"\n" in line]
    if name in ("one quote too many", "marks of other readers", "random bytes", "more bytes than are read at a time"):
        assert any(line.count(b'"') % 2 for line in made)
