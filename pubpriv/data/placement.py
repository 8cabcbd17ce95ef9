"""Check that a record's integers do not depend on its place, which changes when rows before it come or go.

A block is mapped by matrix products. Their last bits could depend on a column's place in the block, and one differing
bit in later rows could cost the privacy of many records. If the unit is a row nothing moves. If it is a person, every
product of a question is tried on public random columns, in several orders, before it is paid for. With OpenBLAS,
products of blocks of fixed length, a multiple of 64, pass, and odd lengths fail.
"""

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from pubpriv.data.arithmetic import single_threaded_blas
from pubpriv.data.frames import Frame
from pubpriv.data.pairs import PairBins
from pubpriv.data.pieces import longest_block
from pubpriv.data.questions.base import Question
from pubpriv.data.questions.in_period import weighing
from pubpriv.data.regions import NearestPoint
from pubpriv.data.uncovered import Uncovered
from pubpriv.errors import InvalidInput

_ORDERS = 3
"""Random orders of the columns that are tried, in addition to a shift and the reverse."""


def check_places(question: Question, columns: int) -> None:
    """Refuse a question about persons or a period if this machine maps a record differently in different places.

    Raises:
        InvalidInput: this machine does; nothing was spent.
    """
    if weighing(question) is None:
        return
    length = longest_block(columns)
    for rows, inner in sorted({(1, columns), *_products(question)}):
        if not _same_everywhere(rows, inner, length):
            raise InvalidInput(
                "this machine's matrix products depend on the place of a record, so the rows of one person could move "
                "those of others: nothing was asked. Choose other kernels, for example OPENBLAS_CORETYPE=Haswell, or "
                "another machine"
            )


def _products(value: Any) -> Iterator[tuple[int, int]]:
    """Shapes of the matrices by which a public value multiplies blocks."""
    if isinstance(value, Frame):
        yield from value.products
    elif isinstance(value, tuple):
        if not isinstance(value[0] if value else 0, tuple | float | int):
            for item in value:
                yield from _products(item)
    elif dataclasses.is_dataclass(value):
        if isinstance(value, NearestPoint | PairBins | Uncovered):
            points = value.centers if isinstance(value, PairBins) else value.points
            yield len(points), value.frame.dimension
        for field in dataclasses.fields(value):
            yield from _products(getattr(value, field.name))


@cache
def _same_everywhere(rows: int, inner: int, length: int) -> bool:
    """Check whether a (rows, inner) matrix times a block gives each column the same bits in every place."""
    random = np.random.default_rng([rows, inner, length])
    matrix, block = random.normal(size=(rows, inner)), random.normal(size=(inner, length))
    block[:, :: length // 8] = np.nan
    places = np.arange(length)
    orders = [np.roll(places, 1), places[::-1], *(random.permutation(length) for _ in range(_ORDERS))]
    with single_threaded_blas(), np.errstate(all="ignore"):
        whole = np.matmul(matrix, block)
        moved = [np.matmul(matrix, np.ascontiguousarray(block[:, order])) for order in orders]
    return all(np.array_equal(a, whole[:, order], equal_nan=True) for a, order in zip(moved, orders, strict=True))
