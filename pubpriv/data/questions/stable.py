"""The fullest cell of each column, among cells that are not listed beforehand: a stability-based histogram."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pubpriv.data._checks import integer, kind
from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.data.questions.base import (
    COUNT_FACTOR,
    LIMIT,
    Draw,
    Part,
    Totals,
    Values,
    check_noise,
    noise_for,
    squared_weight,
)
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

_OUTERMOST = 2.0**62
"""Limit of cell numbers, well within an int64; a record beyond it is in no cell."""

MOST_CELLS = 1 << 27
"""Number of cells that fits in the memory of an ordinary machine. Each row may be in cells of its own, and whether an
answer fails for lack of memory must not depend on that."""

_LEAST_DRAWS = 128
"""Least number of noise draws per column: a trial on public records may fill this many cells."""


@public_value
@dataclass(frozen=True)
class StableCells:
    """The fullest cell [c, c + 1) of each direction of z, c any integer, and its noisy count, if above a threshold.

    A cell with more than `least` records is noised; it leaves if it comes out above `threshold`, in steps of the
    integers, and is the fullest of its direction that does.

    Sensitivity (replace-one): in each direction the record leaves at most one cell and enters at most one other. Fix
    two neighbours, and call a cell alone if one of them has more than `least` records in it and the other has not:
    then these are `least` + 1 and `least` records, and the replaced record left or entered it. So a direction has at
    most one cell that is alone on the one side, and one on the other. Now noise every cell that has more than `least`
    records in D or in D', and go on from there alike: of these counts two in each direction change, by one, and for
    `l` directions that is a Gaussian mechanism at 2 l w^2, with 2 l counts that differ. What is really done to D
    differs from it only where a cell that is alone in D' would leave, which takes noise above `threshold` - `least` *
    COUNT_FACTOR: so for each of `l` cells on either side (`ThresholdEvent`, which charges that). That the fullest cell
    alone leaves is post-processing.

    The proof is for *one* record: where several change at once, as those of a person do, a cell that is alone may hold
    `least` + 1 and none. So persons are asked with one row of each, and with no more than `rows` of them (`PerPerson`).

    Noise is drawn for as many cells as `rows` rows could make, so their number shows nowhere. A record that is not
    finite, or beyond 2^62, is in no cell of that direction.

    Attributes:
        frame: the map to z.
        rows: n of the table; if the unit is a person, the number of rows that count.
        least: cells with at most this many records count as empty; a larger number needs fewer draws.
        noise_scale: sd of the noise, on multiples of 2^-28 of a record.
        threshold: threshold of noisy counts, in the same steps.
    """

    frame: Frame
    rows: int
    least: int
    noise_scale: int
    threshold: int

    def __post_init__(self) -> None:
        kind("the frame of StableCells", self.frame, Frame)
        integer("the rows of StableCells", self.rows, 1)
        integer("the least count of StableCells", self.least, 0)
        integer("the threshold of StableCells", self.threshold, 1)
        check_noise("StableCells", self.noise_scale)
        if self.rows * self.frame.dimension > MOST_CELLS:
            raise InvalidInput(
                f"StableCells count at most {MOST_CELLS:,} cells, one for each row and direction, whatever the rows "
                "are: ask about fewer columns, or give public rows"
            )
        if not 0 < self.margin < LIMIT:
            raise InvalidInput("the threshold of StableCells must lie above the cells that count as empty, below 2^62")

    def check(self, columns: int) -> None:
        """Check that the frame fits the columns."""
        self.frame.check(columns)

    @classmethod
    def priced(
        cls, frame: Frame, rows: int, least: int, squared_distance: Fraction, distance: Fraction
    ) -> "StableCells":
        """Return cells whose price mu^2 is at most `squared_distance`.

        Args:
            frame: the map to z.
            rows: n of the table.
            least: see above.
            squared_distance: the price.
            distance: distance of the threshold from `least`, in sds of the noise; see `Purse.distance`.
        """
        sd = noise_for(squared_distance / (2 * frame.dimension), COUNT_FACTOR)
        return cls(frame, rows, least, sd, least * COUNT_FACTOR + math.ceil(sd * distance))

    @property
    def margin(self) -> int:
        """Noise above this, in steps, would release a cell that counts as empty in a neighbour."""
        return self.threshold - self.least * COUNT_FACTOR

    @property
    def alone(self) -> int:
        """Number of cells that only one of two neighbours has, for either of them: one in each direction."""
        return self.frame.dimension

    @property
    def parts(self) -> Mapping[str, Part]:
        """A cell and a count for each direction: 2 l coordinates, as many as counts that differ between neighbours."""
        directions = self.frame.dimension
        each = max(self.rows // (self.least + 1), _LEAST_DRAWS)
        return {
            "fullest": Part(2 * directions, COUNT_FACTOR, self.noise_scale, 1, directions * each, self.rows),
        }

    @property
    def squared_distance(self) -> Fraction:
        """2 l w^2."""
        return 2 * self.frame.dimension * squared_weight(self.parts["fullest"])

    @property
    def total_sizes(self) -> Mapping[str, int | None]:
        """One total for each cell that has a record."""
        return dict.fromkeys(("direction", "cell", "count"))

    def totals(self, view: View) -> Totals:
        """Return {"direction", "cell", "count": one number for each cell that has a record}, in rising order."""
        z, _ = view.mapped(self.frame)
        found = []
        for direction, row in enumerate(np.floor(z)):
            cells, counts = np.unique(row[np.abs(row) < _OUTERMOST].astype(np.int64), return_counts=True)
            found.append(np.stack([np.full(len(cells), direction), cells, counts]))
        return _named(np.concatenate(found, axis=1).astype(np.int64))

    def exact(self, totals: Totals) -> Totals:
        """Return the counts to which noise is added."""
        return {"fullest": self._heavy(totals)["count"]}

    def _heavy(self, totals: Totals) -> Totals:
        """Cells with more than `least` records, in rising order of direction and cell."""
        heavy = totals["count"] > self.least
        return {name: values[heavy] for name, values in totals.items()}

    def answer(self, totals: Totals, draw: Draw, parts: Mapping[str, Part] | None = None) -> Totals:
        """Return {"fullest": the cells, then their noisy counts, (2 l,)}; a count of 0 means that no cell is above."""
        part, heavy = (parts or self.parts)["fullest"], self._heavy(totals)
        noise = draw("fullest", part.noise_scale, part.draws)
        if noise.shape != (part.draws,) or len(heavy["count"]) > part.draws:
            raise ValueError("noise for another number of cells")
        cells, counts = [0] * self.alone, [0] * self.alone
        listed = zip(*(heavy[name].tolist() for name in self.total_sizes), noise.tolist(), strict=False)
        for direction, cell, count, z in listed:
            noisy = min(count * COUNT_FACTOR + z, LIMIT)
            if noisy > max(self.threshold, counts[direction]):
                cells[direction], counts[direction] = cell, noisy
        return {"fullest": np.array(cells + counts, dtype=np.int64)}

    def values(self, noisy: Totals) -> Values:
        """Return {"cell", "count": (l,)}; a count of 0 means that there is no cell."""
        cells, counts = np.split(noisy["fullest"], 2)
        return {"cell": cells.astype(np.float64), "count": counts / COUNT_FACTOR}

    def noise(self) -> Values:
        """Return one sd for all counts; how far a cell is from the fullest one depends on the data and is unknown."""
        return {"count": np.array([self.noise_scale / COUNT_FACTOR])}


def _named(cells: np.ndarray) -> Totals:
    """Totals from an array (3, cells)."""
    return dict(zip(("direction", "cell", "count"), cells, strict=True))
