"""Exact integer totals of a question over a table, block by block, on any executor.

Blocks have one public length inside a row group and BLAS runs one thread inside a block, so a record's
integers depend on that record and its place alone; totals are sums of integers. Hence they are the same bits
for any number of threads, any order of blocks, and any distribution of the row groups over files.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from os import cpu_count
from typing import Any, TypeVar

import numpy as np

from pubpriv.common.threads import kept_threads
from pubpriv.data._wide import Sums, nothing_of
from pubpriv.data.arithmetic import row_by_row, single_threaded_blas, taking_turns
from pubpriv.data.memory import Kept
from pubpriv.data.placement import check_places, trial_of
from pubpriv.data.progress import Count
from pubpriv.data.questions.base import Question, Totals
from pubpriv.data.questions.in_period import weighing, whole
from pubpriv.data.questions.radial import in_person_unit
from pubpriv.data.regions import View
from pubpriv.data.samples import GatheringChunk, TakingChunk

_Piece = TypeVar("_Piece")

_TASKS, _TOGETHER = 32, 8
"""An executor gets up to `_TOGETHER` chunks in one task if at least `_TASKS` tasks remain: each task costs some
milliseconds on both sides, and carries the question."""


def scan(table: Any, question: Question, executor: Executor | None = None, here: bool = False) -> Totals:
    """Sum `question` over all records of `table`, to int64 totals; zeros if there are no records.

    See `scan_together`. The result is private data without noise yet: only the door's looks call it, between a charge
    and its noise (benchmarks and tests call this on tables of their own).
    """
    return scan_together(table, (question,), executor, here)[0]


def scan_together(
    table: Any, questions: Sequence[Question], executor: Executor | None = None, here: bool = False
) -> list[Totals]:
    """Sum each of some questions over all records of `table`, in one pass; the same bits as by a pass for each.

    Args:
        table: a `PrivateTable` or `ArrayTable`.
        questions: what to sum, at least one; with the same weights, if records have weights.
        executor: any `concurrent.futures.Executor`; default: threads, one per processor.
        here: read a single chunk in this thread, since starting one takes a third of the time of a small simulation.
            Private rows are always read in other threads, where Ctrl-C raises no exception.
    """
    chunks = table.chunks()
    # the number of blocks is private if the unit is a person, or if only rows of one period are asked
    weighed = weighing(questions[0]) is not None
    private = weighed or in_person_unit(whole(questions[0]))
    watched = nullcontext() if private else Count.watched(lambda: [chunk.n_blocks for chunk in chunks])
    with single_threaded_blas(), watched as count:
        # the number of rows of each person is computed in this process, and does not leave it
        if executor is not None and (weighed or not private):
            sent = [chunk.travelling() for chunk in chunks] if private else chunks
            together = min(max(len(sent) // _TASKS, 1), _TOGETHER)
            digests = _digests(questions, len(chunks[0].columns)) if chunks else None
            gathering = [chunk for chunk in chunks if isinstance(chunk, GatheringChunk)]
            if gathering:
                taking = [chunk.travelling() for chunk in gathering]
                work = partial(_take_and_scan, questions, digests=digests)
                found = executor.map(work, taking, range(len(taking)), chunksize=together)
                return _joined(questions, _counted(_keeping(gathering, found), count))
            each = executor.map(partial(_scan_chunk, questions, digests=digests), sent, chunksize=together)
            return _joined(questions, _counted(each, count))
        if here and len(chunks) == 1:
            return _joined(questions, [_scan_chunk(questions, chunks[0], count=count)])
        with kept_threads(cpu_count() or 1) as threads, taking_turns():
            each = threads.map(partial(_scan_chunk, questions, count=count), chunks, range(len(chunks)))
            return _joined(questions, each)


def _joined(questions: Sequence[Question], pieces: Iterable[Sequence[Sums]]) -> list[Totals]:
    """Add the sums of all chunks up, question by question, as they arrive."""
    totals = [nothing_of(question) for question in questions]
    for piece in pieces:
        for total, own in zip(totals, piece, strict=True):
            total.join([own])
    return [total.clamped(question) for total, question in zip(totals, questions, strict=True)]


def _digests(questions: Sequence[Question], columns: int) -> tuple[str, ...]:
    return tuple(trial_of(question, columns).digest for question in questions)


def _scan_chunk(
    questions: Sequence[Question],
    chunk: Any,
    number: int = 0,
    count: Count | None = None,
    digests: tuple[str, ...] | None = None,
) -> list[Sums]:
    """Sum one chunk, in a thread or on another machine.

    Questions share the view of a block, and so the images of its records under equal frames: the same product, hence
    the same bits.

    Args:
        questions: what to sum.
        chunk: chunk of the table.
        number: number of the chunk in `count`.
        count: counter of the blocks read, if somebody watches.
        digests: what the trials of the questions gave where the scan was begun; None: it is this process.

    Raises:
        ValueError: a trial gives other bits here, or depends on a record's place.
    """
    # no warnings, since they would depend on values
    with single_threaded_blas(), row_by_row():
        blocks = chunk.blocks() if count is None else count.of(number, chunk.blocks())
        totals = [nothing_of(question) for question in questions]
        weights = None if weighing(questions[0]) is None else chunk.weights
        kept = chunk.norms() if isinstance(chunk, Kept) else None
        records = chunk.n_records if weights is None else None
        views = View.of_each(blocks, weights, chunk.by is not None, kept, len(questions) > 1, records)
        for number_of_block, view in enumerate(views):
            if number_of_block == 0:
                for question in questions:
                    check_places(question, len(view.block))  # the door could only check its own machine
                if digests is not None and _digests(questions, len(view.block)) != digests:
                    raise ValueError("the trial of a question gives other bits on this machine")
            for total, question in zip(totals, questions, strict=True):
                total.add(question.totals(view))
                view.make_room()
    return totals


@dataclass(frozen=True, eq=False, repr=False)
class _Taken:
    """Sums of a chunk, and its records that are in a sample; without a representation, which a worker would log."""

    number: int
    sums: list[Sums]
    sample: list[np.ndarray]


def _take_and_scan(questions: Sequence[Question], chunk: TakingChunk, number: int, digests: Any) -> _Taken:
    """Sum a chunk on another machine, and take the records in a sample along."""
    sums = _scan_chunk(questions, chunk, digests=digests)
    return _Taken(number, sums, chunk.taken)


def _keeping(chunks: Sequence[GatheringChunk], found: Iterable[_Taken]) -> Iterator[list[Sums]]:
    """Keep the samples of chunks that were read elsewhere, in whatever order, and yield the sums."""
    for taken in found:
        chunks[taken.number].keep(taken.sample)
        yield taken.sums


def _counted(pieces: Iterable[_Piece], count: Count | None) -> Iterator[_Piece]:
    """Yield the totals of chunks that were read elsewhere, and count their blocks."""
    for number, piece in enumerate(pieces):
        if count is not None:
            count.whole(number)
        yield piece
