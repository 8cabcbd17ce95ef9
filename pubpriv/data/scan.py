"""Exact integer totals of a question over a table, block by block, on any executor.

Blocks have one public length inside a row group and BLAS runs one thread inside a block, so a record's
integers depend on that record and its place alone; totals are sums of integers. Hence they are the same bits
for any number of threads, any order of blocks, and any distribution of the row groups over files.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import nullcontext
from functools import partial
from os import cpu_count
from typing import Any

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

_TASKS, _TOGETHER = 32, 8
"""An executor gets up to `_TOGETHER` chunks in one task if at least `_TASKS` tasks remain: each task costs some
milliseconds on both sides, and carries the question."""


def scan(table: Any, question: Question, executor: Executor | None = None, here: bool = False) -> Totals:
    """Sum `question` over all records of `table`, to int64 totals; zeros if there are no records.

    The result is private data without noise yet: only the curator may call this, between a charge and its noise
    (benchmarks and tests call it on tables of their own).

    Args:
        table: a `PrivateTable` or `ArrayTable`.
        question: what to sum.
        executor: any `concurrent.futures.Executor`; default: threads, one per processor.
        here: read a single chunk in this thread, since starting one takes a third of the time of a small simulation.
            Private rows are always read in other threads, where Ctrl-C raises no exception.
    """
    chunks = table.chunks()
    # the number of blocks is private if the unit is a person, or if only rows of one period are asked
    private = in_person_unit(whole(question)) or weighing(question) is not None
    watched = nullcontext() if private else Count.watched(lambda: [chunk.n_blocks for chunk in chunks])
    total = nothing_of(question)
    with single_threaded_blas(), watched as count:
        # the number of rows of each person is computed in this process, and does not leave it
        if executor is not None and (weighing(question) is not None or not private):
            sent = [chunk.travelling() for chunk in chunks] if private else chunks
            together = min(max(len(sent) // _TASKS, 1), _TOGETHER)
            digest = trial_of(question, len(chunks[0].columns)).digest if chunks else None
            each = executor.map(partial(_scan_chunk, question, digest=digest), sent, chunksize=together)
            return total.join(_counted(each, count)).clamped(question)
        if here and len(chunks) == 1:
            return total.join([_scan_chunk(question, chunks[0], count=count)]).clamped(question)
        with kept_threads(cpu_count() or 1) as threads, taking_turns():
            each = threads.map(partial(_scan_chunk, question, count=count), chunks, range(len(chunks)))
            return total.join(each).clamped(question)


def _scan_chunk(
    question: Question, chunk: Any, number: int = 0, count: Count | None = None, digest: str | None = None
) -> Sums:
    """Sum one chunk, in a thread or on another machine.

    Args:
        question: what to sum.
        chunk: chunk of the table.
        number: number of the chunk in `count`.
        count: counter of the blocks read, if somebody watches.
        digest: what the trial of the question gave where the scan was begun; None: it is this process.

    Raises:
        ValueError: the trial gives other bits here, or depends on a record's place.
    """
    # no warnings, since they would depend on values
    with single_threaded_blas(), row_by_row():
        blocks = chunk.blocks() if count is None else count.of(number, chunk.blocks())
        total = nothing_of(question)
        weights = None if weighing(question) is None else chunk.weights
        kept = chunk.norms() if isinstance(chunk, Kept) else None
        records = chunk.n_records if weights is None else None
        for number_of_block, view in enumerate(View.of_each(blocks, weights, chunk.by is not None, kept, records)):
            if number_of_block == 0:
                check_places(question, len(view.block))  # the door could only check its own machine
                if digest is not None and trial_of(question, len(view.block)).digest != digest:
                    raise ValueError("the trial of the question gives other bits on this machine")
            total.add(question.totals(view))
    return total


def _counted(pieces: Iterable[Sums], count: Count | None) -> Iterator[Sums]:
    """Yield the totals of chunks that were read elsewhere, and count their blocks."""
    for number, piece in enumerate(pieces):
        if count is not None:
            count.whole(number)
        yield piece
