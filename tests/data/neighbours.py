"""Questions of every kind over partitions of every kind, and the exact distance of neighbouring tables.

Tables have two columns, `a` and `log1p(b)`; regions are cut at a = 0, so that (-4, 0) and (4, 0) lie deep in
two regions. The distance is worked out from `question.parts` in fractions: no float, no formula of the product.
"""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pubpriv.data.columns import Column, parse_columns
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Bisection, BoundedScore, ClippedSums, Counts, LiftedGram, Moments
from pubpriv.data.regions import Cells, Everything, NearestPoint, Refined
from pubpriv.data.scan import scan
from pubpriv.data.tables import Chunk

COLUMNS = ("a", "log1p(b)")
ONE_THREAD = ThreadPoolExecutor(1)
PRICE = Fraction(7, 10)

WEST, EAST, NORTH = (-4.0, 0.0), (4.0, 0.0), (4.0, 6.0)
PLANE = Frame.of(np.zeros(2), np.array([[1.0, 0.0], [0.0, 0.5]]))
TILTED = np.array([[1.0, 0.25], [-0.5, 2.0]])


def _cells(*centers):
    return Cells(tuple(Frame.of(np.array(c), np.eye(2)) for c in centers), tuple(0.1 * i for i in range(len(centers))))


PARTITIONS = {
    "everything": Everything(),
    "nearest": NearestPoint(PLANE, (WEST, EAST, (40.0, 1.0)), (0, 1, 1)),
    "cells": _cells(WEST, EAST),
    "refined": Refined(NearestPoint(PLANE, (WEST, EAST), (0, 1)), (_cells(WEST), _cells(EAST, NORTH))),
}
CENTERS = {"everything": [WEST], "nearest": [WEST, EAST], "cells": [WEST, EAST], "refined": [WEST, EAST, NORTH]}


def frames_of(name, matrix=TILTED):
    """A frame for each region, about a point deep in it."""
    return tuple(Frame.of(np.array(center), matrix) for center in CENTERS[name])


def radii_of(name):
    """One radius a region, small enough for both ends of a diameter to lie in it."""
    return tuple(0.5 + 0.25 * i for i in range(len(CENTERS[name])))


def over_partitions(name, price=PRICE, matrix=TILTED):
    """Every question that asks by region, over one kind of partition."""
    partition, frames, radii = PARTITIONS[name], frames_of(name, matrix), radii_of(name)
    shares = Fraction(24, 100), Fraction(45, 100), Fraction(31, 100)
    without_count = LiftedGram.priced(partition, frames, radii, price, shares).noise_scales
    return {
        f"counts-{name}": Counts.priced(partition, price),
        f"sums-{name}": ClippedSums.priced(partition, frames, radii, price),
        f"moments-{name}": Moments.priced(partition, frames, radii, price, shares),
        f"gram-{name}": LiftedGram.priced(partition, frames, radii, price, shares),
        f"second-moment-{name}": LiftedGram.second_moment(partition, frames, radii, price),
        f"gram-without-count-{name}": LiftedGram(partition, frames, radii, (0, *without_count[1:])),
    }


def of_one_number(price=PRICE):
    """Questions that look at one number of a record."""
    sd = Bisection.noise_for(6, price)
    frame = Frame.of(np.array([0.5, 0.5]), TILTED)
    return {
        "bisection-linear": Bisection(frame, 0.5, 9.0, 6, 4.0, sd),
        "bisection-log": Bisection(frame, 1e-3, 1e3, 6, 4.0, sd, logarithmic=True),
        "bisection-signed": Bisection(frame, -5.0, 5.0, 6, 4.0, sd, signed=True),
        "score": BoundedScore.priced(_cells(WEST, NORTH), _cells(EAST), 3.0, price),
    }


QUESTIONS = {k: q for name in PARTITIONS for k, q in over_partitions(name).items()} | of_one_number()


class FileTable:
    """One Parquet file as `scan` sees a table, without the look at its footer."""

    def __init__(self, path, columns=COLUMNS, row_groups=1):
        self.path, self.row_groups = str(path), row_groups
        self.columns = parse_columns(columns) if isinstance(columns[0], str) else columns

    def chunks(self):
        """One chunk a row group."""
        return [Chunk(self.path, group, self.columns) for group in range(self.row_groups)]


def plain(*names):
    """Columns without a map."""
    return tuple(Column(name) for name in names)


def write(path, rows):
    """Rows of (a, b), None for null, as a Parquet file."""
    a, b = ([row[i] for row in rows] for i in (0, 1))
    pq.write_table(pa.table({"a": pa.array(a, pa.float64()), "b": pa.array(b, pa.float64())}), path)
    return FileTable(path)


def alone(rows, position):
    """The same table with every other record gone: nulls are nobody."""
    return [row if i == position else (None, None) for i, row in enumerate(rows)]


def totals_of(question, table, executor=ONE_THREAD):
    """Exact totals by the product's own scan, as Python integers."""
    return {name: [int(v) for v in values] for name, values in scan(table, question, executor).items()}


def difference(first, second):
    """second - first, part by part."""
    assert list(first) == list(second)
    return {name: [b - a for a, b in zip(first[name], second[name], strict=True)] for name in first}


def distance(question, delta):
    """sum_k (factor Delta_k)^2 / sd_k^2; for a bisection, the worst over all sequences of thresholds."""
    if isinstance(question, Bisection):
        part = question.parts["count"]
        return _worst_path(np.cumsum(delta["histogram"]).tolist(), 0, 1 << question.steps) * (
            Fraction(part.factor, part.noise_scale) ** 2
        )
    assert set(delta) == set(question.parts)
    found = Fraction(0)
    for name, part in question.parts.items():
        assert len(delta[name]) == part.size
        found += Fraction(part.factor**2 * sum(d * d for d in delta[name]), part.noise_scale**2)
    return found


def _worst_path(changes, low, high):
    """Largest sum of squared changes over the thresholds that any answers could make the bisection ask."""
    if high - low < 2:
        return 0
    middle = (low + high) // 2
    return changes[middle] ** 2 + max(_worst_path(changes, low, middle), _worst_path(changes, middle, high))


def check(question, first, second):
    """Neighbouring totals are no further apart than the question says; returns the share that was reached."""
    found = distance(question, difference(first, second))
    if isinstance(question, Bisection):
        changes = np.cumsum(difference(first, second)["histogram"])
        assert np.abs(changes).max() <= 1, "a count moved by more than one"
    assert found <= question.squared_distance, "neighbours are further apart than the declared sensitivity"
    return float(found / question.squared_distance)
