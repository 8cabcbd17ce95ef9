"""Records that were written into the ledger without the door, or changed in it: are they answered, used or noticed?

Somebody who can write to a ledger's file can append records and edit them. So a charge is priced again before it is
answered, records are compared with their digests, and `verify` computes every event again.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.audit._attacks import HALVES
from pubpriv.audit._defects import forged
from pubpriv.audit._worlds import DATASET, WatchedNoise, World, world
from pubpriv.audit.finding import Claims, Finding, promised, refuses
from pubpriv.data.codec import to_json
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums, Counts, Question
from pubpriv.data.regions import Everything, NearestPoint
from pubpriv.errors import BooksClosed, BudgetExceeded, InvalidInput, LedgerViolation, PubPrivError
from pubpriv.ledger import Ledger, event_of
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.events import Event, GaussianEvent, PureEvent
from pubpriv.privacy.ledger import Ledger as UncheckedLedger
from pubpriv.privacy.ledger.records import Record

_ONE = ZeroConcentratedDP(1)
_PLANE = Frame((0.0, 0.0))
_BARE = ClippedSums(Everything(), (_PLANE,), (300.0,), 1)
"""The sums of all records with one grid step of noise: next to no privacy."""

_CHEAP: dict[str, Event] = {
    "a cheap event": GaussianEvent(Fraction(2, 10**12), ((1 << 40, 2),)),
    "an event of another kind": PureEvent(Fraction(1, 10**6)),
}
_HONEST = Counts.priced(HALVES, Fraction(1, 10))
_SURPLUS = forged(
    Counts,
    partition=forged(NearestPoint, frame=_PLANE, points=((-4.0, 0.0), (4.0, 0.0), (0.0, 0.0)), groups=(0, 1)),
    noise_scale=1 << 44,
)
"""A question that fails for some records, at its right price."""


def findings(fast: bool, seed: int) -> Iterator[Finding]:  # noqa: ARG001 - a fast audit tries all of them
    """Try each promise in a world of its own, for a story leaves a broken ledger behind."""
    rows = np.random.default_rng(seed).normal(0.0, 3.0, (40, 2))
    for name, story in _PROMISES.items():
        with world(rows, _ONE) as place:
            yield promised("tampering", name, story(place))


def _plant(place: World, label: str, question: Question, event: Event) -> None:
    """Append a charge by the ledger's own method, which reads no questions; it may be refused there."""
    with suppress(InvalidInput, LedgerViolation), UncheckedLedger.open(place.url) as ledger:
        ledger.run(DATASET, "r").charge(label, to_json(question), event)


def _planted(place: World) -> Claims:
    """The next release under the label of a planted charge is refused before a row is read, and verify finds it."""
    noise = WatchedNoise()
    curator = place.enter("r", ZeroConcentratedDP("0.5"), noise)
    for label, event in _CHEAP.items():
        _plant(place, label, _BARE, event)
        yield f"{label}: not answered", refuses(partial(curator.release, _HONEST, label), PubPrivError)
        yield f"{label}: nothing is drawn", not noise.drawn
    yield "nothing is published", "published" not in place.kinds("r")
    yield (
        "verify finds it",
        not place.kinds("r").count("charged") or refuses(partial(place.ledger.verify, DATASET), LedgerViolation),
    )


def _answered(place: World) -> Claims:
    """A planted charge with an answer beside it is not handed out as a release."""
    curator = place.enter("r", ZeroConcentratedDP("0.5"))
    _plant(place, "planted", _BARE, _CHEAP["a cheap event"])
    with suppress(PubPrivError), UncheckedLedger.open(place.url) as ledger:
        ledger.run(DATASET, "r").publish("planted", "an attempt", {"sum": [1, 2]})
    yield "not replayed", refuses(partial(curator.release, _HONEST, "planted"), PubPrivError)


def _malformed(place: World) -> Claims:
    """A planted question at its right price is checked as one that is asked now."""
    noise = WatchedNoise()
    curator = place.enter("r", ZeroConcentratedDP("0.5"), noise)
    _plant(place, "planted", _SURPLUS, event_of(_SURPLUS))
    refused = refuses(partial(curator.release, _HONEST, "planted"), InvalidInput, LedgerViolation)
    yield "refused as bad input, or as no question of this ledger", refused
    yield "nothing is drawn", not noise.drawn


def _rewritten(place: World) -> Claims:
    """A balance that says again that nothing is spent: no record is added, with or without a hash to match."""
    _spend(place)
    witness = _file_of(place).with_name("witness.jsonl")
    place.ledger.export(witness)
    for number, (how, repair, options) in enumerate(
        (
            ("its hash kept", False, {}),
            ("its hash kept, with a witness", False, {"witness": witness}),
            ("its hash made anew, with a witness", True, {"witness": witness}),
        )
    ):
        _edit(place, repair)
        yield f"{how}: no second budget", refuses(partial(_begin, place, f"again-{number}", options), LedgerViolation)


def _unguarded(place: World) -> Claims:
    """Try whether anything is written without the triggers that keep records as they are."""
    with closing(sqlite3.connect(_file_of(place))) as database, database:
        for name, _ in _triggers(database):
            database.execute(f"DROP TRIGGER {name}")
    yield "no run is opened", refuses(partial(_begin, place, "r", {}), LedgerViolation)


def _closed(place: World) -> Claims:
    """A budget of which half is spent is not whole again in the books that carry these on; nothing follows in these."""
    half = ZeroConcentratedDP("0.5")
    with place.enter("r", half) as curator:
        curator.release(Counts.priced(HALVES, Fraction(1)), "a")
    folder = _file_of(place).parent
    with Ledger.open(f"sqlite:///{folder}/next.db") as books, Ledger.open(f"sqlite:///{folder}/free.db") as free:
        place.ledger.carry_on(books, folder / "archive.jsonl")
        free.register(DATASET, _ONE)
        yield "closed: no run is opened", refuses(partial(place.ledger.run(DATASET, "again").open, half), BooksClosed)
        yield "carried on: no second budget", refuses(partial(books.run(DATASET, "again").open, _ONE), BudgetExceeded)
        yield (
            "carried on: a release is not asked again",
            refuses(partial(books.run(DATASET, "r").open, half), BooksClosed),
        )
        second = partial(place.ledger.carry_on, free, folder / "archive.jsonl")
        yield "not carried on in a second ledger", refuses(second, InvalidInput)
        for ledger, whole in ((books, False), (free, True)):
            found = refuses(partial(ledger.check_carried, folder / "archive.jsonl"), LedgerViolation)
            yield f"books {'with all of the budget' if whole else 'as they are'}: shown by the archive", found == whole


def _begin(place: World, release_id: str, options: dict[str, Any]) -> None:
    """Open the ledger anew, and a run that holds all of the budget."""
    with Ledger.open(place.url, **options) as ledger:
        ledger.run(DATASET, release_id).open(_ONE)


def _spend(place: World) -> None:
    """Spend the whole budget on one answer."""
    with place.enter("r", _ONE) as curator:
        curator.release(Counts.priced(HALVES, Fraction(2)), "a")


def _edit(place: World, repair: bool) -> None:
    """Set what is spent to nothing in the newest record, with the triggers taken away for a moment.

    Args:
        place: its ledger.
        repair: the record's hash is made anew; else it stays what it was.
    """
    newest = "SELECT * FROM records WHERE dataset = ? ORDER BY seq DESC LIMIT 1"
    with closing(sqlite3.connect(_file_of(place))) as database, database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute(newest, (DATASET,)).fetchone())
        stored = row.pop("hash")
        state = json.loads(row["state"])
        state["dataset"]["spent"]["main"] = state["dataset"]["held"]["main"] = "0"
        record = Record(**row | {"state": json.dumps(state, sort_keys=True, separators=(",", ":"))})
        guards = _triggers(database)
        for name, _ in guards:
            database.execute(f"DROP TRIGGER {name}")
        values = record.state, record.digest() if repair else stored, DATASET, record.seq
        database.execute("UPDATE records SET state = ?, hash = ? WHERE dataset = ? AND seq = ?", values)
        for _, statement in guards:
            database.execute(statement)


def _triggers(database: sqlite3.Connection) -> list[Any]:
    """(name, statement) of each."""
    return database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()


def _file_of(place: World) -> Path:
    """Give the path of the ledger's database."""
    return Path(place.url.removeprefix("sqlite:///"))


_PROMISES: dict[str, Callable[[World], Claims]] = {
    "a charge that is not its question's is not answered": _planted,
    "an answer to such a charge is not handed out": _answered,
    "a planted question that does not fit is not asked": _malformed,
    "a balance that was edited gives no second budget": _rewritten,
    "without the triggers nothing is written": _unguarded,
    "books that are closed give no second budget": _closed,
}
