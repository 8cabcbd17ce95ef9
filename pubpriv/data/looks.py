"""Looks at a private table: one scan sums the question that was charged, and those that are likely to follow it.

Several questions of a run are fixed before the answers to those before them are known, or all but for a number that
their totals do not depend on. One scan is enough for them: what it sums for a question that was not asked yet stays
here, in the memory of the process that scanned, until that question is charged.

Privacy. Totals are a function of the rows and of a question. Nothing that leaves the door depends on when they are
computed: an answer is its question's totals plus noise that is drawn after its own charge, and each question is made of
public values and of answers before it. So the answers of a run have the same joint law as with a scan for each, and
charges add up as they do there: the mechanisms are the same, in the same order, each chosen as before. Totals of a
question that is never asked are thrown away: nothing was drawn, charged or stored for it. What a scan sums is public,
so is how many there are, and no question may fail on any record: each is tried on hostile ones before its totals are
summed, as it is before its charge.
"""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from pubpriv.data.confined import Confined
from pubpriv.data.memory import Kept
from pubpriv.data.questions import Bisection
from pubpriv.data.questions.base import Question, Totals
from pubpriv.data.questions.of_sample import sample_of
from pubpriv.data.scan import scan_together

Source = Callable[[Question], Any]
"""Gives the table that answers a question; the same object for questions that one scan can answer."""


class Looks(Confined):
    """The scans of one run, and totals of questions that it has not asked yet.

    Attributes:
        passes: number of scans of all rows so far; those of a sample that is in memory are not counted.
    """

    def __init__(self) -> None:
        self.passes = 0
        self._foreseen: tuple[Question, ...] = ()
        self._known: list[tuple[Question, Totals]] = []
        self._source: Source | None = None

    @classmethod
    def of_run(cls, run: Hashable) -> "Looks":
        """Return the looks that other tasks of this run in this process share; () names no run."""
        if not run:
            return cls()
        with _sharing:
            return _SHARED.setdefault(run, cls())

    def shared(self, source: Source) -> Source:
        """Return the source of the first curator of this run, so that others find the rows that it keeps in memory.

        Args:
            source: that of the curator which asks, and is the first one if there was none.
        """
        self._source = self._source or source
        return self._source

    def foresee(self, questions: Sequence[Question]) -> None:
        """Let the next scan sum these questions, too; those foreseen before are forgotten."""
        self._foreseen = tuple(questions)

    def has(self, question: Question) -> bool:
        """Return whether an earlier scan summed this question, and its totals are still here."""
        summed = sums_of(question)
        return any(known == summed for known, _ in self._known)

    def needs_no_file(self, question: Question, source: Source) -> bool:
        """Return whether totals of a question need no file: an earlier scan summed it, or has kept its sample."""
        return self.has(question) or (sample_of(question) is not None and _gathered(source(question)))

    def totals(
        self,
        question: Question,
        source: Source,
        fits: Callable[[Question], bool],
        executor: Executor | None,
        here: bool,
    ) -> Totals:
        """Return exact totals of a charged question: of an earlier scan, or of one that also sums what was foreseen.

        Totals are given once.

        Args:
            question: question that was charged.
            source: gives its table.
            fits: whether a foreseen question can be summed; others are left out.
            executor: see `scan_together`.
            here: see `scan_together`.
        """
        summed = sums_of(question)
        self._foreseen = tuple(other for other in self._foreseen if sums_of(other) != summed)
        for each in self._known:
            if each[0] == summed:
                self._known = [other for other in self._known if other is not each]
                return each[1]
        foreseen, self._foreseen = [other for other in self._foreseen if not self.has(other)], ()
        far = executor is not None and not _gathered(source(question))

        def place(asked: Question) -> Any:
            found = source(asked)
            return getattr(found, "whole", found) if far else found

        table = place(question)
        beside = [other for other in foreseen if place(other) is table and fits(other)]
        self.passes += not _gathered(table)
        # where rows are read elsewhere, any pass brings the sample; here, the first question of it reads and keeps it
        samples = [source(asked) for asked in (*([question] if far else []), *foreseen) if sample_of(asked)]
        new = [each for each in samples if not getattr(each, "gathered", True)]
        if new and (far or not sample_of(question)):
            table = _Gathering(table, new[0])
        totals, *kept = scan_together(table, (question, *beside), executor if far else None, here)
        self._known += zip(map(sums_of, beside), kept, strict=True)
        return totals

    def forget(self) -> None:
        """Throw away all totals and rows, and what was foreseen."""
        self._foreseen, self._known, self._source = (), [], None


def _gathered(table: Any) -> bool:
    """Return whether a table is a sample that is in memory."""
    return bool(getattr(table, "gathered", False))


class _Gathering:
    """A table whose next scan, of all rows, keeps those of a sample, of which questions were foreseen."""

    def __init__(self, table: Any, sample: Any) -> None:
        self._table, self._sample = table, sample

    def chunks(self) -> list[Any]:
        """Return the table's chunks; those that are in memory already are left as they are."""
        chunks: list[Any] = self._table.chunks()
        kept = any(isinstance(chunk, Kept) for chunk in chunks)
        return chunks if kept else self._sample.gathering(chunks)


# weak, so that totals are freed with the run's last curator in this process
_SHARED: WeakValueDictionary[Hashable, Looks] = WeakValueDictionary()
_sharing = Lock()


def sums_of(question: Any) -> Question:
    """Return a question as far as its totals depend on it: a `Bisection` counts first, and compares with its rank then.

    Two questions of which this is equal have equal totals.
    """
    if isinstance(question, Bisection):
        return replace(question, rank=0.0)
    inner = getattr(question, "inner", None)
    return question if inner is None else replace(question, inner=sums_of(inner))  # type: ignore[no-any-return]
