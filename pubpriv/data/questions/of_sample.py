"""Questions about a public sample of the records, for early rounds that need no more than that."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.data._checks import integer, kind
from pubpriv.data.codec import public_value
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.questions.base import Delegating, Totals
from pubpriv.data.questions.of_rows import WEIGHED, Weighed
from pubpriv.data.regions import View
from pubpriv.data.samples import sampled
from pubpriv.errors import InvalidInput


@public_value
@dataclass(frozen=True)
class OfSample(Delegating):
    """Another question, asked of one record in `every`: those that a fixed hash of their own cells chooses.

    Sensitivity (replace-one): let m be the map of a record to itself if the hash chooses it, and else to a record of
    missing cells, which adds nothing to any question that may be asked of a sample. This question asks the inner one of
    m(D), in which m is applied to each record by itself. So neighbours D ~ D' become neighbours m(D) ~ m(D'), or the
    same table, and the squared distance is at most that of the inner question. It is not less: a record that the hash
    chooses is as exposed as in a question about all records, and anybody can compute which these are (no amplification
    by sampling).

    No place is used. A table and the same table in another order have the same sample, so whoever keeps a table sorted
    by a cell loses nothing: a record with another value would stand elsewhere, and move no other into the sample or out
    of it.

    Attributes:
        inner: the question.
        every: about one record in so many is asked.

    Raises:
        InvalidInput: cells of columns in a partition, whose counts include missing cells.
    """

    inner: Weighed
    every: int

    def __post_init__(self) -> None:
        kind("the question of a sample", self.inner, *WEIGHED)
        integer("`every` of a sample", self.every, 1)
        partitions = getattr(self.inner, "partitions", (getattr(self.inner, "partition", None),))
        if any(isinstance(partition, ColumnCells) for partition in partitions):
            raise InvalidInput("ColumnCells count missing cells, which those that are not in a sample would be")

    @property
    def squared_distance(self) -> Fraction:
        """That of the inner question."""
        return self.inner.squared_distance

    def totals(self, view: View) -> Totals:
        """Return the inner question's totals over the records of a block that are in the sample.

        Others become missing, in a copy of the block, so that each record keeps its place: the same bits as of all.
        """
        within = sampled(view.block, self.every)
        return self.inner.totals(view if within.all() else view.holding(np.where(within, view.block, np.nan)))


def sample_of(question: Any) -> int | None:
    """Return of how many records one is asked; None: all are."""
    return question.every if isinstance(question, OfSample) else None
