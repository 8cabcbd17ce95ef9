"""Counts of private rows beside those that a model predicts, which rows that are drawn from it show."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pubpriv.common.threads import kept_threads
from pubpriv.curator import Curator
from pubpriv.data.arithmetic import row_by_row
from pubpriv.data.questions import Counts, JointCounts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import View
from pubpriv.estimators._whole_rows import whole_rows
from pubpriv.estimators.mixture._lattice import drawn_rows
from pubpriv.released.law import Mixture

DRAWN = 20_000
"""Rows that are drawn from the model."""

_BLOCK = 5_000
"""... and mapped at a time: a processor's cache holds them."""


@dataclass(frozen=True)
class Beside:
    """Released counts (regions,) of the question `asked`, beside those that a model predicts of so many rows.

    The noise of a count is `sd`. Rows of one person are alike: counts vary by sampling `clumped` times as much as those
    of rows by themselves.
    """

    asked: Any
    seen: np.ndarray
    predicted: np.ndarray
    sd: float
    rows: float
    clumped: float


def beside_model(
    curator: Curator, question: Counts | JointCounts, model: Mixture, public: np.ndarray, label: str
) -> Beside:
    """Count private rows, and work out what a model predicts.

    Args:
        curator: the run.
        question: counts over one partition, or several.
        model: in the table's own units.
        public: rows (m, d), whose lattices the drawn rows are put on.
        label: of the question.

    Privacy: the question, at its price.
    """
    # what a model predicts is public, so it is worked out while the charge is written
    with kept_threads(1) as beside:
        shares = beside.submit(_shares, question, model, public)
        answer = curator.release(question, label)
    asked, seen, sd = answer.question, answer.values["count"], bounding_sd(answer.question, "count")
    # a resumed run answers the question that was paid for
    share = shares.result() if _regions(asked) == _regions(question) else _shares(asked, model, public)
    rows = whole_rows(curator.size, seen, sd, float(share.sum()))
    return Beside(asked, seen, rows * share, sd, rows, curator.size.widening**2)


def _regions(question: Any) -> Any:
    """Give the partition or the partitions of a question, whatever is around it."""
    return getattr(question, "partitions", None) or question.partition


def _shares(question: Counts | JointCounts, model: Mixture, public: np.ndarray) -> np.ndarray:
    """Share of the rows of a model in each region, by rows that are drawn from it, half of them in each thread."""
    with kept_threads(2) as threads:
        return np.asarray(sum(threads.map(partial(_drawn_counts, question, model, public), range(2))) / DRAWN)


def _drawn_counts(question: Counts | JointCounts, model: Mixture, public: np.ndarray, seed: int) -> np.ndarray:
    """Counts of half of the drawn rows."""
    drawn = drawn_rows(model, public, DRAWN // 2, seed)
    blocks = (np.ascontiguousarray(drawn[first : first + _BLOCK].T) for first in range(0, len(drawn), _BLOCK))
    with row_by_row():
        return np.asarray(sum(question.totals(view)["count"] for view in View.of_each(blocks)))
