"""Runs of closed books, as the books that continue them remember them: names, prices and settings.

Answers stay in the archive. These facts are kept because later runs are checked against them: an id is never opened
twice, releases of a series keep their settings, and spending is listed run by run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pubpriv.privacy.budgets import Amount

_IN_ONE = 500
"""Largest number of runs in one record."""


@dataclass(frozen=True)
class OldRun:
    """A closed run: who opened it and when (UTC, ISO 8601), its allotment, and what it held and charged in all.

    Amounts are in the ledger's units; the allotment is a budget as JSON data.
    """

    release_id: str
    opened_at: str
    user: str
    allotment: dict[str, str]
    hold: Amount
    charged: Amount


@dataclass(frozen=True)
class OldStart:
    """A method that a closed run began, and its settings as JSON text."""

    release_id: str
    method: str
    configuration: str


def to_bodies(runs: Sequence[OldRun], starts: Sequence[OldStart]) -> Iterator[dict[str, Any]]:
    """Write the bodies of the records that remember runs and methods, in order; repeated values are written once."""
    for first in range(0, max(len(runs), len(starts)), _IN_ONE):
        allotments: list[Any] = []
        settings: list[Any] = []
        part = slice(first, first + _IN_ONE)
        yield {
            "runs": [_run_line(run, _index(allotments, run.allotment)) for run in runs[part]],
            "starts": [
                [start.release_id, _index(settings, [start.method, start.configuration])] for start in starts[part]
            ],
            "allotments": allotments,
            "settings": settings,
        }


def runs_in(body: Mapping[str, Any]) -> list[OldRun]:
    """Read the runs in a record, in the order in which they were opened."""
    return [
        OldRun(name, at, user, body["allotments"][number], Amount.from_json(hold), Amount.from_json(charged))
        for name, at, user, number, hold, charged in body["runs"]
    ]


def starts_in(body: Mapping[str, Any]) -> list[OldStart]:
    """Read the methods that they began, in the same order."""
    return [OldStart(name, *body["settings"][number]) for name, number in body["starts"]]


def _run_line(run: OldRun, allotment: int) -> list[Any]:
    return [run.release_id, run.opened_at, run.user, allotment, run.hold.to_json(), run.charged.to_json()]


def _index(known: list[Any], value: Any) -> int:
    """Return the index of a value among the known ones; a new value is added."""
    if value not in known:
        known.append(value)
    return known.index(value)
