"""Runs of a bench, each kept as a line of a file as soon as it is made: a bench that was stopped goes on there."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.grid import in_processes
from pubpriv.errors import InvalidInput

_Task = TypeVar("_Task")
_Row = dict[str, Any]


def recorded(work: Callable[[_Task], _Row], tasks: list[_Task], workers: int, record: Path | None) -> Iterator[_Row]:
    """What `work` says of every task, in order; what a record has of them is taken from there, the rest added.

    Args:
        work: one run; its row begins with the fields of the task.
        tasks: dataclasses of one class, of numbers and texts.
        workers: processes.
        record: file of JSON lines; None: nothing is kept.

    Raises:
        InvalidInput: the file is no record of such tasks.
    """
    if record is None or not tasks:
        yield from in_processes(work, tasks, workers)
        return
    names = tuple(field.name for field in fields(tasks[0]))  # type: ignore[arg-type]  # dataclasses, see above
    known = _read(record, names)
    wanted = [_key(asdict(task), names) for task in tasks]  # type: ignore[call-overload]
    left = [task for task, key in zip(tasks, wanted, strict=True) if key not in known]
    with record.open("a", encoding="utf-8") as lines:
        if lines.tell() and not record.read_bytes().endswith(b"\n"):
            lines.write("\n")
        for row in in_processes(work, left, workers):
            lines.write(json.dumps(row) + "\n")
            lines.flush()
            known[_key(row, names)] = row
    yield from (known[key] for key in wanted)


def _key(row: _Row, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _read(record: Path, names: tuple[str, ...]) -> dict[tuple[Any, ...], _Row]:
    """Runs of a record by their tasks; a line that was broken off when a bench was stopped is none."""
    if not record.exists():
        return {}
    try:
        lines = record.read_text(encoding="utf-8").splitlines()
        rows = [_row_of(line, f'{{"{names[0]}"') for line in lines]
        return {_key(row, names): row for row in rows if row is not None}
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInput(f"{record} is no record of this bench: give another file") from None


def _row_of(line: str, beginning: str) -> _Row | None:
    try:
        return dict(json.loads(line))
    except ValueError:
        if line.startswith(beginning):
            return None
        raise
