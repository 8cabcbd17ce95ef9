"""Questions about tables in which a person may have many rows, which together count as a fixed number of records.

A row's weight is a public function of its place among the rows of its own person and of their number (`data.persons`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.data._checks import integer, kind
from pubpriv.data.codec import public_value
from pubpriv.data.images import MOST_TOGETHER, MOST_WEIGHT
from pubpriv.data.questions.base import (
    COUNT_FACTOR,
    Additive,
    InGrains,
    Part,
    Question,
    Totals,
    Values,
    check_noise,
    noise_for,
    squared_weight,
)
from pubpriv.data.questions.in_shares import InShares
from pubpriv.data.questions.of_rows import OF_ONE_ROW, WEIGHED
from pubpriv.data.questions.stable import StableCells
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

MOST_ROWS = 1 << 10
"""Largest number of rows of a person that may count in full."""

SIZES = (1, 2, 4, 8, 16, 32)
"""Upper ends of the bins of `PersonSizes`; the last bin is open."""


@public_value
@dataclass(frozen=True)
class PerPerson(InGrains):
    """Another question, in which the rows of each person count as at most `most` records.

    Row r has an integer weight a_r in [0, G], G = `grain`, and the weights of one person's rows add up to A = G L at
    most, L = `most`. The exact totals are T = sum_r a_r phi(x_r), where phi(x) is what the inner question adds for one
    record; they are what it would answer, times G.

    Sensitivity (one person's rows replaced by any others, or by none): let Phi be the set of all phi(x) with 0, and S
    the inner question's squared distance, the largest sum_k (u_k - v_k)^2 w_k^2 over u, v in Phi. A person adds
    sum a_r phi(x_r) with a_r >= 0 and sum a_r <= A, which is A u for a u in the convex hull of Phi, as 0 is in Phi.
    Rows of others do not move: their weights depend on their own person's rows alone. So the totals change by
    A (u - v) with u, v in the hull. |u - v| is convex in u and in v, so it is largest where both are in Phi itself:
    a set and its convex hull have one diameter. Hence the squared distance is at most A^2 S. It does not matter in
    which regions a person's rows lie. In units of the inner noise, below, that is L^2 S.

    S has to cover a record that appears or goes, that is |u|^2 for u in Phi and v = 0: every proof of the closed list
    does, since an odd record adds 0. `Bisection` is adaptive: each of its steps is a count at a threshold that is fixed
    by the answers before it, so the theorem holds step by step, and its steps compose as they do for one record.

    Noise: as in `InGrains`, so that (factor A / sd) is L times what it is in the inner question.

    One row of each person: a question that is not a sum over records (`OF_ONE_ROW`) is asked with L = G = 1. Then one
    row of each person, the last, weighs 1, as if the table consisted of these rows. If the answer needs a limit on the
    number of rows (`first_rows`), the first N of them count, in the order of the table.

    Sensitivity: let z be the list of these rows without that of the person who differs. Either table's list is z with
    one row put in somewhere, or z. So its first N are z_1 to z_(N-1) with one row more: the person's, or z_N, or none
    where z is as short as that. Two such tables differ by one row that is replaced, comes or goes; for that the inner
    question's proof holds, as an odd record adds nothing to it.

    Attributes:
        inner: the question, priced for one record.
        most: L.
        grain: G, a power of two.

    Raises:
        InvalidInput: a question that is neither a sum over records nor asked of one row, or L or G out of bounds.
    """

    inner: Question
    most: int
    grain: int

    def __post_init__(self) -> None:
        kind("the question of each person", self.inner, *WEIGHED, *OF_ONE_ROW)
        integer("the rows of a person that count", self.most, 1)
        integer("the grain of weights", self.grain, 1)
        if self.most > MOST_ROWS:
            raise InvalidInput(f"at most {MOST_ROWS} rows of a person count in full")
        if self.grain > MOST_WEIGHT or self.grain & (self.grain - 1):
            raise InvalidInput(f"the grain of weights is a power of two, at most {MOST_WEIGHT}")
        if self.grain * (self.inner.grain if isinstance(self.inner, InShares) else 1) > MOST_TOGETHER:
            raise InvalidInput(f"weights and shares have at most {MOST_TOGETHER} grains together")
        if isinstance(self.inner, OF_ONE_ROW) and not self.most == self.grain == 1:
            raise InvalidInput(f"a {type(self.inner).__name__} is asked of one row of each person, which weighs 1")

    def _in_grains(self, part: Part) -> Part:
        """Return a part whose bound is for what one person adds."""
        if isinstance(self.inner, OF_ONE_ROW):
            return replace(part, rows=None)  # the number of rows is private
        return super()._in_grains(replace(part, bound=part.bound * self.most))

    @property
    def squared_distance(self) -> Fraction:
        """L^2 times the squared distance of the inner question."""
        return self.most**2 * self.inner.squared_distance

    @property
    def squared_length(self) -> Fraction:
        """L^2 times the inner question's: squared length of what a person adds to a region, at most."""
        return Fraction(self.most**2 * self.inner.squared_length)  # type: ignore[attr-defined]

    def totals(self, view: View) -> Totals:
        """Return exact totals over one block of weighted records.

        Raises:
            ValueError: a defect; without weights all rows of a person would count in full.
        """
        if view.weights is None:
            raise ValueError("records without weights")
        if isinstance(self.inner, OF_ONE_ROW):
            view = View(np.where(view.weights > 0, view.block, np.nan))
        return self.inner.totals(view)


def of_one_row(question: Any) -> Any:
    """Return the wrapped question that is asked of one row of each person; None if there is none."""
    while hasattr(question, "inner"):
        question = question.inner
    return question if isinstance(question, OF_ONE_ROW) else None


def first_rows(question: Any) -> int | None:
    """Return the limit N of rows that count, with one row of each person; None: all rows count."""
    inner = of_one_row(question)
    return inner.rows if isinstance(inner, StableCells) else None


@public_value
@dataclass(frozen=True)
class PersonSizes(Additive):
    """How many persons there are, and how many have 1, 2, 3 to 4, 5 to 8, 9 to 16, 17 to 32, and more rows.

    It is asked of a table with one record for each person, whose first column is that person's number of rows.

    Sensitivity (one person replaced, added or removed): a person adds (1, e_b), one to the total and one to a bin, and
    nobody adds 0. Two persons differ by e_b - e_b', squared length 2; a person and nobody by (1, e_b), squared length
    2. So 2: the total is free.
    """

    noise_scale: int

    def __post_init__(self) -> None:
        check_noise("PersonSizes", self.noise_scale)

    def check(self, columns: int) -> None:
        """Accept any table: its columns are not read."""

    @classmethod
    def priced(cls, squared_distance: Fraction) -> "PersonSizes":
        """Return the question whose price mu^2 is at most `squared_distance`."""
        return cls(noise_for(squared_distance / 2, COUNT_FACTOR))

    @property
    def parts(self) -> Mapping[str, Part]:
        """All persons, then each bin."""
        return {"persons": Part(len(SIZES) + 2, COUNT_FACTOR, self.noise_scale, 1)}

    @property
    def squared_distance(self) -> Fraction:
        """2 w^2."""
        return 2 * squared_weight(self.parts["persons"])

    def totals(self, view: View) -> Totals:
        """Return {"persons": (bins + 1,)} for a block of persons."""
        rows = view.block[0]
        bins = np.searchsorted(np.array(SIZES, dtype=np.float64), rows[np.isfinite(rows)], side="left")
        counts = np.bincount(bins, minlength=len(SIZES) + 1)
        return {"persons": np.concatenate([[counts.sum()], counts]).astype(np.int64)}

    def values(self, noisy: Totals) -> Values:
        """Return persons in all and by bin, (bins + 1,)."""
        return {"persons": noisy["persons"] / COUNT_FACTOR}

    def noise(self) -> Values:
        """Return one sd for all counts."""
        return {"persons": np.array([self.noise_scale / COUNT_FACTOR])}
