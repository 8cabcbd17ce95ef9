"""Try a question itself before it is paid for: what a record adds must not depend on its place or its company.

If the unit is a person, or a period, rows of others move when a row comes or goes. A block is mapped by matrix
products, whose last bits may depend on a column's place in the block, on the shape of the product, and on the kernel
that BLAS chooses for the processor. Such a bit decides on which side of a border a record lies, so one person who
leaves could change what many others add. No list of products shows that: a list missed one.

So a trial asks the question's own `totals` of public records that lie as near to its borders as floats can, where a
last bit decides, and among them zeros and hostile records. The same weighted records in another order must give the
same totals, to the last bit. Orders put each record in every place of a block, among itself, among zeros, among
hostile records and among all others. What is computed on the way, images, products with points and regions, is
compared record by record: a product may be another in one place and move none of the trial's records, and yet some
private one.
"""

import dataclasses
import hashlib
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from pubpriv.data.arithmetic import row_by_row, single_threaded_blas
from pubpriv.data.borders import CODES, HOSTILE_ONES, TRIED, frames_in, integers_in, trial_records
from pubpriv.data.columns import MAPS
from pubpriv.data.frames import Frame
from pubpriv.data.pieces import longest_block
from pubpriv.data.questions.base import Question, Totals
from pubpriv.data.questions.completed import as_seen, fill_of
from pubpriv.data.questions.in_period import weighing
from pubpriv.data.regions import View
from pubpriv.errors import InvalidInput

_SECONDS = 0.05
"""Processor time after which the trial of a shape tries no further order."""

_FEW = 4
"""Orders in which each question is tried; the first one of its shape is tried in many. A trial takes as long as five
blocks, and another one to find borders."""

_PRODUCTS_IN = 1
"""Orders in which products of records and points are compared, besides the first arrangement: that takes as long as
the products."""

_RANDOM_ORDERS = 4

_PARTS = 4
"""Parts into which the records of a trial are divided at random, each of which is then tried without the others."""


@dataclass(frozen=True)
class Trial:
    """What the trial of a question showed on this machine.

    Attributes:
        differs: what differed first; empty if nothing did.
        digest: hex digits, equal on two machines if they give the trial's records the same bits.
    """

    differs: str
    digest: str


def check_places(question: Question, columns: int) -> None:
    """Refuse a question about persons or a period if this machine maps a record differently in different places.

    Raises:
        InvalidInput: this machine does; nothing was spent.
    """
    if weighing(question) is not None:
        _refuse(trial_of(question, columns))


def check_shape(question: Question, columns: int) -> None:
    """Do the same for a planned question, whose numbers are not known yet, with random numbers of its shape.

    Raises:
        InvalidInput: see `check_places`.
    """
    if weighing(question) is not None:
        filled = _filled(question, columns, np.random.default_rng(columns))
        if (_shape_of(filled), columns) not in _SHAPES:
            check_places(filled, columns)


_SHAPES: set[Hashable] = set()
"""Shapes of questions that passed a trial in many orders in this process."""


def _refuse(trial: Trial) -> None:
    if trial.differs:
        raise InvalidInput(
            f"this machine's arithmetic depends on the place of a record (seen in {trial.differs}), so the rows of one "
            "person could move those of others: nothing was asked. Choose other kernels, for example "
            "OPENBLAS_CORETYPE=Haswell, or another machine"
        )


def _shape_of(value: Any) -> Hashable:
    """What is left of a public value without its numbers: classes, and lengths of tuples."""
    if isinstance(value, tuple):
        inner = {_shape_of(item): None for item in value}
        return len(value), tuple(inner)
    if dataclasses.is_dataclass(value):
        return type(value).__name__, tuple(_shape_of(getattr(value, field.name)) for field in dataclasses.fields(value))
    return type(value).__name__


def _filled(value: Any, columns: int, random: np.random.Generator) -> Any:
    """Return a public value with a full matrix in each frame, and other points."""
    if isinstance(value, Frame):
        return Frame.of(random.normal(size=columns), random.normal(size=(value.dimension, columns)))
    if isinstance(value, tuple):
        return tuple(_filled(item, columns, random) for item in value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    changed = {field.name: _filled(getattr(value, field.name), columns, random) for field in dataclasses.fields(value)}
    for name in {"points", "centers"} & {*changed}:
        changed[name] = tuple(tuple(random.normal(size=len(point)).tolist()) for point in changed[name])
    return dataclasses.replace(value, **changed)


def trial_of(question: Question, columns: int) -> Trial:
    """Try a question on public records, the same on every machine of one kind; once in a process."""
    frozen: Any = question
    return _remembered(frozen, columns)


@lru_cache(maxsize=32)
def _remembered(question: Any, columns: int) -> Trial:
    """Try the first question of a shape in many orders, and others in a few, as without weights the digest needs none.

    Shapes are computed here alone: a question may have a hundred thousand numbers.
    """
    shape = _shape_of(question), columns
    many = weighing(question) is not None and shape not in _SHAPES
    trial = _tried(question, columns, _SECONDS if many else 0.0)
    if many and not trial.differs:
        _SHAPES.add(shape)
    return trial


def _tried(question: Question, columns: int, seconds: float) -> Trial:
    """Try a question in `_FEW` orders, and in more of them until `seconds` of processor time have passed."""
    random, length, start = np.random.default_rng(columns), longest_block(columns), time.thread_time()
    with single_threaded_blas(), row_by_row():
        block = _Block.in_turn(question, trial_records(question, columns, random), length, random)
        expected = block.look(products=True)
        differs = "" if _maps_alike(length) else "a map of columns"
        for tried, order in enumerate(_orders(length, random)):
            if differs or (tried >= _FEW and time.thread_time() - start > seconds):
                break
            differs = block.in_order(order).look(products=tried < _PRODUCTS_IN).difference(expected)
        if fill_of(question) is not None and not differs:  # records of other patterns of missing cells were there
            for some in np.sort(random.permutation(TRIED).reshape(_PARTS, -1)):
                differs = differs or block.of_some(some).look(products=False).image_difference(expected, some)
    return Trial(differs, expected.digest())


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of the trial's records, each in many places.

    Attributes:
        question: the question, with its wrapper for persons or a period.
        records: (d, TRIED).
        which: (length,) number of the record in each place.
        weights: (length,) its weight there, as persons' rows have weights; None for a question without weights.
    """

    question: Question
    records: np.ndarray
    which: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def in_turn(cls, question: Question, records: np.ndarray, length: int, random: np.random.Generator) -> "_Block":
        """Let all records follow each other in turn, with weights at random, so that differences do not cancel."""
        weighed = weighing(question)
        weights = None if weighed is None else random.integers(1, weighed[1] + 1, length).astype(np.float64)
        return cls(question, records, np.resize(np.arange(TRIED), length), weights)

    def in_order(self, order: np.ndarray) -> "_Block":
        """Return the same weighted records in another order."""
        weights = None if self.weights is None else self.weights[order]
        return dataclasses.replace(self, which=self.which[order], weights=weights)

    def of_some(self, chosen: np.ndarray) -> "_Block":
        """Return a block of some records alone, in turn."""
        return dataclasses.replace(self, which=np.resize(chosen, len(self.which)))

    def look(self, products: bool) -> "_Look":
        """Compute images, regions and totals of this block, and if wanted, keep products of records and points."""
        _, first, place = np.unique(self.which, return_index=True, return_inverse=True)
        images: dict[str, np.ndarray] = {}
        uneven: list[str] = []

        def note(name: str, values: np.ndarray) -> None:
            images[name] = values.take(first, axis=-1)
            if not self._same(values, images[name].take(place, axis=-1)):
                uneven.append(name)

        def note_product(values: np.ndarray) -> None:
            by_record = values if values.shape[-1] == len(self.which) else values.T
            note(f"product {len(images)} of records and points", by_record)

        records, watch = self.records.take(self.which, axis=1), note_product if products else None
        view = View(records, weights=self.weights, codes=CODES.take(self.which), watch=watch)
        shown = as_seen(self.question, view)
        for number, frame in enumerate(frames_in(self.question)):
            image, lengths = shown.mapped(frame)
            note(f"the image under frame {number}", image)
            note(f"the length under frame {number}", lengths)
        for number, assign in enumerate(integers_in(self.question)):
            note(f"the region of partition {number}", assign(shown))
        return _Look(self.question.totals(view), images, uneven)

    def _same(self, values: np.ndarray, of_records: np.ndarray) -> bool:
        """Check that each record has the same value in all its places; hostile ones, whose images may be NaN, apart."""
        return bool(((values == of_records) | (self.which < HOSTILE_ONES)).all())


@dataclass(frozen=True, eq=False)
class _Look:
    """What one arrangement of the trial's records gave.

    Attributes:
        totals: the question's own.
        images: images, products and regions of each record, (TRIED,) or (any number, TRIED), by name.
        uneven: names of images that are not the same in all places of a record.
    """

    totals: Totals
    images: dict[str, np.ndarray]
    uneven: list[str]

    def difference(self, expected: "_Look") -> str:
        """Name what depends on the place of a record; empty if nothing does."""
        if uneven := (*self.uneven, *expected.uneven):
            return uneven[0]
        totals, differs = expected.totals, self.image_difference(expected, np.arange(TRIED))
        return differs or next(
            (f"the {name}" for name in totals if not np.array_equal(self.totals[name], totals[name])), ""
        )

    def image_difference(self, expected: "_Look", records: np.ndarray) -> str:
        """Name an image that is another one in this arrangement of some `records`, rising, than in one of all."""
        plain = records >= HOSTILE_ONES
        for name, values in self.images.items():
            if not np.array_equal(values[..., plain], expected.images[name][..., records[plain]]):
                return name
        return self.uneven[0] if self.uneven else ""

    def digest(self) -> str:
        """Hex digits of all bits."""
        parts = (*self.totals.values(), *self.images.values())
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


def _orders(length: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield orders of records in turn: each among records of other kinds, among itself, at random, and all shifts."""
    places = np.arange(length)
    runs = places.reshape(-1, TRIED).T.ravel()
    others, near = np.split(runs, 2)  # the latter half of the records lie near borders, the first ones are hostile
    yield np.roll(places, TRIED // 2 + 1)  # where zeros were there are others now
    yield np.stack([near, others]).T.ravel()
    yield runs
    yield random.permutation(places)
    yield np.stack([others[::-1], near]).T.ravel()
    for _ in range(_RANDOM_ORDERS):
        yield random.permutation(places)
    for shift in range(1, TRIED):
        yield np.roll(places, shift)


@cache
def _maps_alike(length: int) -> bool:
    """Check that each map of columns gives a cell the same bits wherever it stands in a row of a block."""
    cells = np.concatenate([np.geomspace(1e-300, 1e300, TRIED - 1), [np.nan]])
    for apply in MAPS.values():
        rows = np.stack([np.roll(np.resize(cells, length), -turn) for turn in range(TRIED)])
        for row in rows:
            apply(row, out=row)
        if not np.array_equal(rows, np.stack([np.roll(rows[0], -turn) for turn in range(TRIED)]), equal_nan=True):
            return False
    return True
