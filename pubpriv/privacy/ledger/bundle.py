"""The auditor's bundle: a ledger as JSON lines, which can be checked without the database.

The first line names the format; then follows every record with its hash, dataset by dataset and in order; the last
line says where each chain ends. An export kept elsewhere is also a witness: a ledger that lost records, because an
older copy was restored, does not reach the end that the export names.

A continuation has the records after another export. Its first line says where that export ended, and each chain begins
with the record at that end; so a continuation is checked together with all exports that it continues, never by itself.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from pubpriv.errors import InvalidInput, LedgerViolation, Unavailable
from pubpriv.privacy.ledger._replay import replay
from pubpriv.privacy.ledger.records import Record
from pubpriv.privacy.ledger.summary import Checkpoint, Summary
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.ledger.views import Asked

_FORMAT, _VERSION = "pubpriv-ledger", 1
_TAIL = 1 << 16


@dataclass(frozen=True)
class End:
    """End of a chain at the time of its export."""

    records: int
    head: str


_Rows = Iterable[tuple[Record, str]]


def _lines_of(rows: _Rows, ends: Mapping[str, End], at: str, version: str, after: Mapping[str, End]) -> Iterator[str]:
    first = {"format": _FORMAT, "version": _VERSION, "at": at, "pubpriv": version}
    yield canonical(first | ({"after": _plain(after)} if after else {}))
    for record, stored in rows:
        yield canonical({"record": record.columns(), "hash": stored})
    yield canonical({"ends": _plain(ends)})


def _plain(ends: Mapping[str, End]) -> dict[str, Any]:
    return {dataset: end.__dict__ for dataset, end in ends.items()}


def save(path: Path, rows: _Rows, ends: Mapping[str, End], at: str, version: str, after: Mapping[str, End]) -> None:
    """Write a bundle to a temporary file and move it to `path` when it is complete; mode 0600, like the ledger.

    Args:
        path: path of the bundle.
        rows: all records of some datasets, in order, each with its hash; for datasets in `after`, beginning with the
            last record of the export that this one continues.
        ends: end of each of their chains.
        at: the time (UTC, ISO 8601).
        version: version of pubpriv.
        after: ends of the export that this one continues; empty: it continues none.

    Raises:
        Unavailable: it cannot be written; an older file is still there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    refused: str | None = None
    try:
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in _lines_of(rows, ends, at, version, after))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        refused = error.strerror
    finally:
        with suppress(OSError):
            beside.unlink()
    if refused is not None:
        raise Unavailable(f"the export {path} cannot be written: {refused}")


def ends(path: Path) -> dict[str, End]:
    """Return the ends of a bundle's chains, read from its first and last lines only.

    Raises:
        InvalidInput: no file, or not a bundle.
        LedgerViolation: the file is cut off.
    """
    with _opened(path) as file:
        _check_first(file.readline(), path)
        size = file.seek(0, os.SEEK_END)
        tail, length = b"", _TAIL
        while tail.rstrip(b"\n").count(b"\n") < 1 and len(tail) < size:
            file.seek(max(0, size - length))
            tail, length = file.read(), 2 * length
    return _ends_in(_json(tail.rstrip(b"\n").rpartition(b"\n")[2]), "ends", path)


def continues(path: Path) -> dict[str, End]:
    """Return the ends of the export that this bundle continues; empty if it continues none.

    Raises:
        InvalidInput: no file, or not a bundle.
    """
    with _opened(path) as file:
        first = _check_first(file.readline(), path)
    return _ends_in(first, "after", path) if "after" in first else {}


def verify(
    path: Path, asked: Callable[[Any], Asked | None] | None = None, after: Sequence[Path] = ()
) -> dict[str, Summary]:
    """Replay every record of a bundle, and compare its ends.

    Args:
        path: path of the bundle.
        asked: computes the event of a stored question again; see `replay`.
        after: the bundles that it continues, oldest first; each is replayed too.

    Returns:
        Summaries by dataset.

    Raises:
        InvalidInput: no file, not a bundle, or a bundle that does not continue the one before it.
        LedgerViolation: names the first record that does not follow.
    """
    found: dict[str, Summary] = {}
    known: dict[str, End] = {}
    for each in (*after, path):
        if continues(each) != known:
            before = f"it does not continue what was named before it, {', '.join(map(str, after))}" if after else ""
            raise InvalidInput(
                f"{each} cannot be checked: {before or 'it continues another export'}. Name all exports, oldest first"
            )
        since = {dataset: Checkpoint.of(summary) for dataset, summary in found.items()}
        # changes since then were replayed just now
        found |= {
            dataset: replace(replay(dataset, rows, asked=asked, since=since.get(dataset)), trusted=0)
            for dataset, rows in chains(each)
        }
        known = {dataset: End(summary.records, summary.head) for dataset, summary in found.items()}
        if known != ends(each):
            raise LedgerViolation(f"the records in {each} are not those that its last line names")
    return found


def chains(path: Path) -> Iterator[tuple[str, Iterator[tuple[Record, str]]]]:
    """Read the records of a bundle, dataset by dataset; `verify` it first."""
    seen: set[str] = set()
    for dataset, rows in groupby(_rows(path), key=lambda row: row[0].dataset):
        if dataset in seen:
            raise LedgerViolation(f"the records of dataset {dataset!r} are in pieces in {path}")
        seen.add(dataset)
        yield dataset, rows


def _rows(path: Path) -> Iterator[tuple[Record, str]]:
    with _opened(path) as file:
        _check_first(file.readline(), path)
        for number, line in enumerate(file, start=2):
            data = _json(line)
            if "ends" in data:
                if file.read(1):
                    raise LedgerViolation(f"{path} goes on after its last line, which is line {number}")
                return
            row = _row(data)
            if row is None:
                raise LedgerViolation(f"line {number} of {path} is no record")
            yield row


def _row(data: dict[str, Any]) -> tuple[Record, str] | None:
    """Read a record; None unless it has exactly the right fields and types."""
    columns, stored = data.get("record"), data.get("hash")
    if set(data) != {"record", "hash"} or not isinstance(columns, dict) or set(columns) != set(_TYPES):
        return None
    typed = all(type(columns[name]) in types for name, types in _TYPES.items())
    return (Record(**columns), stored) if typed and isinstance(stored, str) else None


_TYPES: dict[str, tuple[type, ...]] = {field.name: (str,) for field in fields(Record)} | {
    "seq": (int,),
    "release_id": (str, type(None)),
    "key": (str, type(None)),
    "period": (str, type(None)),
}


def _opened(path: Path) -> Any:
    refused: str | None = None
    try:
        return path.open("rb")
    except OSError as error:
        refused = error.strerror
    raise InvalidInput(f"the export {path} cannot be read: {refused}")


def _check_first(line: bytes, path: Path) -> dict[str, Any]:
    first = _json(line)
    if first.get("format") != _FORMAT:
        raise InvalidInput(f"{path} is no export of a ledger: make one with `pubpriv ledger export`")
    if first.get("version") != _VERSION:
        raise InvalidInput(f"{path} was written by a newer version of pubpriv: upgrade pubpriv")
    return first


def _ends_in(line: Mapping[str, Any], name: str, path: Path) -> dict[str, End]:
    """Read the ends in the first or the last line: numbers of records, at least one, and hashes."""
    named = line.get(name)
    try:
        found = {name: End(**end) for name, end in named.items()} if isinstance(named, dict) else None
    except TypeError:
        found = None
    if found is None or not all(_is_end(end) for end in found.values()):
        cut_off = "is cut off: its last line does not say where it ends"
        changed = "was changed: its first line does not say where the export ends that it continues"
        raise LedgerViolation(f"the export {path} {cut_off if name == 'ends' else changed}")
    return found


def _is_end(end: End) -> bool:
    return type(end.records) is int and 0 < end.records < 1 << 63 and isinstance(end.head, str)


def _json(line: bytes) -> dict[str, Any]:
    """Parse a line as a JSON object without repeated names; {} for any other line."""
    try:
        data = json.loads(line, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        data = None
    return data if isinstance(data, dict) else {}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a name occurs twice in an object")
    return data
