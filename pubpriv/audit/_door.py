"""One charge, one answer, never a refund: the promises of `Curator.release`, tried on a real ledger on disk.

Each promise is a short scenario that yields claims and whether they hold. The noise source of one curator, which runs
between charge and answer, makes private steps fail, be overtaken, or come too late.
"""

import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction

import numpy as np

from pubpriv.audit._attacks import HALVES, attacks_on_rows
from pubpriv.audit._worlds import DATASET, WatchedNoise, World, world
from pubpriv.audit.finding import Claims, Finding, promised
from pubpriv.curator import Answer, Curator
from pubpriv.data.questions import Bisection, Counts, LiftedGram, Question
from pubpriv.errors import BudgetExceeded, InvalidInput, PrivateStepFailed, PubPrivError, RunClosed
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.units import ceil_units

_BUDGET = ZeroConcentratedDP(100)
_MARK = 73921.46508
"""A cell of the private file; no message may show it."""


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Try every promise on three kinds of question; in a full audit, on every question that is attacked."""
    questions = [attack.question for attack in attacks_on_rows()]
    if fast:
        questions = [next(q for q in questions if isinstance(q, kind)) for kind in (Counts, LiftedGram, Bisection)]
    rows = np.vstack([np.random.default_rng(seed).normal(0.0, 3.0, (40, 2)), (_MARK, 1.0)])
    with world(rows) as place:
        for question in questions:
            for name, story in _PROMISES.items():
                yield _tried(name, story, place, question)


def _tried(name: str, story: "_Story", place: World, question: Question) -> Finding:
    """Try one promise in a run of its own; afterwards the ledger must verify, and spending must not have shrunk."""

    def claims() -> Claims:
        before = place.spent
        yield from story(place, question, place.new_release_id())
        place.ledger.verify(DATASET)
        paid = sum(charge.price_ledger.main for run in place.ledger.history(DATASET) for charge in run.charges)
        yield "what was spent is the sum of the charges", place.spent == paid
        yield "what was spent never falls", place.spent >= before

    return promised("door", f"{name} ({type(question).__name__})", claims(), ", and the ledger verifies")


def _same(first: Answer, second: Answer) -> bool:
    """The same bits, and the same question."""
    names = list(first.values)
    equal = names == list(second.values) and first.question == second.question
    return equal and all(first.values[name].tobytes() == second.values[name].tobytes() for name in names)


def _stored(place: World, release_id: str, label: str) -> dict[str, list[int]] | None:
    """The answer that the ledger has."""
    charge = place.ledger.run(DATASET, release_id).find(label)
    return charge.answer if charge else None


def _cost_of(question: Question) -> int:
    """Units of rho that one release of `question` must cost: half its squared distance, rounded up."""
    return ceil_units(question.squared_distance / 2)


# -- promises -------------------------------------------------------------------------------------------------


def _paid_before_the_look(place: World, question: Question, release_id: str) -> Claims:
    """Between charge and answer, another connection must see the charge and no answer."""
    seen: list[tuple[list[str], bool]] = []

    def look() -> None:
        with Ledger.open(place.url) as other:
            charge = other.run(DATASET, release_id).find("a")
            kinds = [record.kind for record in other.records(DATASET) if record.release_id == release_id]
            seen.append((kinds, charge is not None and charge.answer is None))

    cost, before = _cost_of(question), place.spent
    place.enter(release_id, _BUDGET, WatchedNoise(look)).release(question, "a")
    yield "the noise is drawn once a part", len(seen) == len(question.parts)
    yield "the charge is committed before the answer is drawn", seen[0] == (["opened", "charged"], True)
    yield "a release costs half its squared distance in rho", place.spent == before + cost
    yield "there is one charge and one answer", place.kinds(release_id) == ["opened", "charged", "published"]


def _what_leaves_is_what_is_stored(place: World, question: Question, release_id: str) -> Claims:
    """The answer is the ledger's, and asking again repeats it at no cost and without a look."""
    noise = WatchedNoise()
    curator = place.enter(release_id, _BUDGET, noise)
    answer = curator.release(question, "a")
    kept = _stored(place, release_id, "a") or {}
    integers = {name: np.array(values, dtype=np.int64) for name, values in kept.items()}
    yield "the answer is the stored one", _same(answer, Answer("a", question, question.values(integers)))
    paid, drawn = place.spent, len(noise.drawn)
    yield "the same label repeats it", _same(answer, curator.release(question, "a"))
    yield (
        "the same label repeats it in a curator made later",
        _same(answer, place.enter(release_id, _BUDGET, noise).release(question, "a")),
    )
    yield "a repeat draws nothing", len(noise.drawn) == drawn
    yield "a repeat costs nothing", place.spent == paid


def _a_crash_is_resumed(place: World, question: Question, release_id: str) -> Claims:
    """A crash between charge and answer leaves the charge; the next attempt answers the question that was paid for."""
    cost, before = _cost_of(question), place.spent
    for _ in range(2):
        with suppress(_Crash):
            place.enter(release_id, _BUDGET, WatchedNoise(_crash)).release(question, "a")
            yield "the crash is not swallowed", False
        yield "the charge stays, once", place.spent == before + cost
        yield "there is no answer yet", _stored(place, release_id, "a") is None
    other = Counts.priced(HALVES, Fraction(1, 2))
    answer = place.enter(release_id, _BUDGET).release(other, "a")
    yield "the stored question is answered, not the one that is asked now", answer.question == question
    yield "going on costs nothing", place.spent == before + cost
    kinds = place.kinds(release_id)
    yield "there is one charge and one answer", (kinds.count("charged"), kinds.count("published")) == (1, 1)
    yield "a retry repeats that answer", _same(answer, place.enter(release_id, _BUDGET).release(question, "a"))


def _a_failure_has_one_text(place: World, question: Question, release_id: str) -> Claims:
    """A failure after the charge becomes one fixed text that quotes nothing; the charge is kept."""
    cost, before = _cost_of(question), place.spent
    failures: list[PrivateStepFailed] = []
    for cause in (ValueError(_MARK), OSError(str(_MARK)), MemoryError()):
        try:
            place.enter(release_id, _BUDGET, WatchedNoise(_failing(cause))).release(question, "a")
        except PrivateStepFailed as error:
            failures.append(error)
    yield "every cause fails in the same way", len(failures) == 3
    for failed in failures:
        yield "the text is fixed", str(failed) == PrivateStepFailed.TEXT and failed.args == (PrivateStepFailed.TEXT,)
        yield "nothing is chained to it", failed.__cause__ is None and failed.__context__ is None
        yield "its trace quotes no cell", str(_MARK) not in "".join(traceback.format_exception(failed))
        came_through = [frame.f_code.co_name for frame, _ in traceback.walk_tb(failed.__traceback__)]
        yield "its trace keeps no variable of what saw rows", Curator._look.__name__ not in came_through
    yield "the charge is kept, once", place.spent == before + cost
    place.ledger.run(DATASET, release_id).close("given up")
    yield "closing refunds nothing", place.spent == before + cost


def _a_failing_scan_is_the_same(place: World, question: Question, release_id: str) -> Claims:
    """A table that cannot be scanned after the charge: same text, and the charge is kept."""
    cost, before = _cost_of(question), place.spent
    curator = place.enter(release_id, _BUDGET)
    curator._executor = _Unwilling()  # type: ignore[assignment]
    caught: PrivateStepFailed | None = None
    try:
        curator.release(question, "a")
    except PrivateStepFailed as error:
        caught = error
    yield "the scan's failure has the fixed text", caught is not None and str(caught) == PrivateStepFailed.TEXT
    yield "nothing is chained to it", caught is not None and caught.__cause__ is None and caught.__context__ is None
    yield "the charge is kept", place.spent == before + cost
    yield "there is no answer", _stored(place, release_id, "a") is None


def _an_overtaken_draw_is_dropped(place: World, question: Question, release_id: str) -> Claims:
    """While one process draws, another answers the same label: one charge, one answer, and both return it."""
    cost, before = _cost_of(question), place.spent
    faster: list[Answer] = []

    def overtake() -> None:
        if not faster:
            faster.append(place.enter(release_id, _BUDGET).release(question, "a"))

    slow = WatchedNoise(overtake)
    answer = place.enter(release_id, _BUDGET, slow).release(question, "a")
    yield "both draw", len(slow.drawn) == len(question.parts)
    yield "both return one answer", _same(answer, faster[0])
    kinds = place.kinds(release_id)
    yield "there is one charge and one answer", (kinds.count("charged"), kinds.count("published")) == (1, 1)
    yield "it is paid for once", place.spent == before + cost
    yield "it stays the answer", _same(faster[0], place.enter(release_id, _BUDGET).release(question, "a"))


def _a_late_draw_is_dropped(place: World, question: Question, release_id: str) -> Claims:
    """A run that is closed while it draws publishes nothing; what it was charged stays charged."""
    cost, before = _cost_of(question), place.spent
    late = WatchedNoise(lambda: place.ledger.run(DATASET, release_id).close("recovered"))
    refused = False
    try:
        place.enter(release_id, _BUDGET, late).release(question, "a")
    except RunClosed:
        refused = True
    yield "the late draw is refused", refused
    yield "nothing is published", "published" not in place.kinds(release_id)
    yield "the charge stays", place.spent == before + cost


def _a_closed_run_repeats_and_charges_no_more(place: World, question: Question, release_id: str) -> Claims:
    """Closing returns what was not charged, keeps answers, and ends charges."""
    cost, free = _cost_of(question), place.ledger.balance(DATASET).remaining.main
    curator = place.enter(release_id, _BUDGET)
    answer = curator.release(question, "a")
    paid = place.spent
    curator.close()
    yield "what was not charged returns", place.ledger.balance(DATASET).remaining.main == free - cost
    yield "closing refunds nothing", place.spent == paid
    yield "the answer is repeated", _same(answer, place.enter(release_id, _BUDGET).release(question, "a"))
    refused = False
    try:
        place.enter(release_id, _BUDGET).release(question, "b")
    except RunClosed:
        refused = True
    yield "a new label is refused", refused and place.spent == paid


def _a_refusal_looks_at_nothing(place: World, question: Question, release_id: str) -> Claims:
    """A question for which there is no room draws nothing, costs nothing and leaves no record of a charge."""
    before, noise = place.spent, WatchedNoise()
    curator = place.enter(release_id, ZeroConcentratedDP("0.000001"), noise)
    curator._executor = _Unwilling()  # type: ignore[assignment]
    refusals = 0
    for label in ("a", "b"):
        try:
            curator.release(question, label)
        except (BudgetExceeded, InvalidInput):
            refusals += 1
        except PubPrivError:
            pass
    yield "it is refused", refusals == 2
    yield "nothing is drawn", not noise.drawn
    yield "nothing is charged", place.spent == before and "charged" not in place.kinds(release_id)


_Story = Callable[[World, Question, str], Claims]
_PROMISES: dict[str, _Story] = {
    "paid before the look": _paid_before_the_look,
    "what leaves is what is stored": _what_leaves_is_what_is_stored,
    "a crash is resumed, with one charge and one answer": _a_crash_is_resumed,
    "a failure has one text and no refund": _a_failure_has_one_text,
    "a failing scan is the same": _a_failing_scan_is_the_same,
    "an overtaken draw is dropped": _an_overtaken_draw_is_dropped,
    "a late draw is dropped": _a_late_draw_is_dropped,
    "a closed run repeats and charges no more": _a_closed_run_repeats_and_charges_no_more,
    "a refusal looks at nothing": _a_refusal_looks_at_nothing,
}


def _crash() -> None:
    raise _Crash


def _failing(cause: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise cause

    return fail


class _Crash(BaseException):
    """The process dies here: no handler of `Exception` sees it."""


class _Unwilling:
    """An executor that fails when it is given work, quoting a cell."""

    def map(self, *_: object) -> None:
        raise OSError(str(_MARK))
