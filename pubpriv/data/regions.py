"""Public, hard partitions of R^d: the region to which each record belongs.

Every partition is fixed by public data and by answers that were already released, so replacing one record
moves that record alone: out of at most one region and into at most one other. A record with a cell or a score
that is not finite belongs to no region (label -1).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np

from pubpriv.data._checks import integer, kind, kinds, numbers, size
from pubpriv.data._norms import KeptNorms
from pubpriv.data.codec import public_value
from pubpriv.data.completion import Completion
from pubpriv.data.confined import Confined
from pubpriv.data.frames import Frame, squared_norms
from pubpriv.data.score_frames import FRAMES, AnyFrame
from pubpriv.errors import InvalidInput

_POINTS_AT_ONCE = 64
"""Points whose products with a block are computed at once: they fit in a processor's cache."""

_ROOM = 1 << 25
"""Bytes of images that one question of a pass leaves to the next at most."""

_F = TypeVar("_F", bound=AnyFrame)

_PADDING = 8
"""Cells by which rows of products are longer than a block."""


class _Workspace(Confined):
    """Arrays that one thread reuses for every block: allocating new ones would cost more than the arithmetic.

    Args:
        together: whether several questions, each with frames of its own, are asked of each block.
    """

    def __init__(self, together: bool = False) -> None:
        self._arrays: dict[object, np.ndarray] = {}
        self._together = together
        self._by_id: dict[int, tuple[AnyFrame, AnyFrame]] = {}
        self._by_value: dict[AnyFrame, AnyFrame] = {}
        self._beside: dict[int, _Workspace] = {}

    def beside(self, key: int) -> "_Workspace":
        """Return a workspace of the same kind for other records in the same places."""
        return self._beside.setdefault(key, _Workspace(self._together))

    def same(self, frame: _F) -> _F:
        """Return the first of equal frames, so that they map a block once. They are compared once, which is slow."""
        if not self._together:
            return frame
        known = self._by_id.get(id(frame))
        if known is None:  # with the frame itself, since others may get its id when it is gone
            known = self._by_id[id(frame)] = frame, self._by_value.setdefault(frame, frame)
        return known[1]  # type: ignore[return-value]  # equal frames are of one class

    def array(self, name: object, shape: tuple[int, ...]) -> np.ndarray:
        """Return the array of that name, with its old contents."""
        found = self._arrays.get(name)
        if found is None or found.shape != shape:
            found = self._arrays[name] = np.empty(shape)
        return found


class View(Confined):
    """One block of records and values computed from it, so that assignment and statistic share the same map.

    Attributes:
        block: (d, length).
        weights: (length,) how often each record counts, integers as floats; None: each counts once.
        codes: (length,) index of each record's category in the table's list, NaN for none; None: no groups.
        records: number of records; what follows them pads the block. Padding has missing cells and weight 0, so only
            a partition that counts missing cells needs it. None: all.
        kept: norms that scans of these records keep for later scans; None: nothing is kept.
        watch: is handed each product, for a trial of places; None: nobody looks.
    """

    def __init__(
        self,
        block: np.ndarray,
        workspace: _Workspace | None = None,
        weights: np.ndarray | None = None,
        codes: np.ndarray | None = None,
        kept: KeptNorms | None = None,
        watch: Callable[[np.ndarray], None] | None = None,
        records: int | None = None,
    ) -> None:
        self.block = block
        self.records = block.shape[1] if records is None else records
        self.weights = weights
        self.codes = codes
        self._kept = kept
        self._watch = watch
        self._workspace = workspace or _Workspace()
        self._mapped: dict[int, tuple[AnyFrame, np.ndarray, np.ndarray]] = {}
        self._lengths: dict[int, tuple[AnyFrame, np.ndarray]] = {}
        self._completed: dict[int, tuple[Frame, View, Completion | None]] = {}
        self._used = 0
        self._counts = False

    @classmethod
    def of_each(
        cls,
        blocks: Iterable[np.ndarray],
        weights: np.ndarray | None = None,
        coded: bool = False,
        kept: KeptNorms | None = None,
        together: bool = False,
        records: int | None = None,
    ) -> Iterator["View"]:
        """Yield a view of each block. Views share their arrays, so each is valid until the next one.

        Args:
            blocks: blocks of one length, the last one padded.
            weights: weights of all records in order, without the padding, which weighs nothing.
            coded: whether the last row of each block contains category codes.
            kept: norms of the records of all blocks, in order.
            together: whether several questions are asked of each view.
            records: number of records in all blocks; None: nothing is known of padding.
        """
        workspace, start = _Workspace(together), 0
        for block in blocks:
            own, length = None, block.shape[1]
            if weights is not None:
                own = np.zeros(length)
                of_rows = weights[start : start + length]
                own[: len(of_rows)] = of_rows
            inside = None if records is None else min(length, records - start)
            start += length
            cells, codes = (block[:-1], block[-1]) if coded else (block, None)
            yield cls(cells, workspace, own, codes, kept, records=inside)
            if kept is not None:
                kept.next_block()
        if kept is not None:
            kept.close()

    def make_room(self) -> None:
        """Forget images if they take more than some memory: between questions, which may share them."""
        if self._used * self.block.nbytes > _ROOM:
            self._mapped, self._used = {}, 0

    def weights_of(self, wanted: np.ndarray) -> np.ndarray | None:
        """Return the weights of the `wanted` records."""
        return None if self.weights is None else self.weights[wanted]

    def counting(self) -> "View":
        """Return a view for questions that only assign regions: it keeps z of one frame at a time, in one array.

        One such array fits in a processor's cache, those of ten components do not.
        """
        view = View(self.block, self._workspace, self.weights, self.codes, self._kept, self._watch, self.records)
        view._counts = True
        return view

    def completed(self, fill: Frame) -> tuple["View", Completion | None]:
        """Return a view of the same records, completed by the Gaussian of `fill`, and how; itself if none is to be.

        Weights and places are the same, and nothing is kept of it for later scans.
        """
        fill = self._workspace.same(fill)
        known = self._completed.get(id(fill))
        if known is None:
            inner = self._workspace.beside(id(fill))
            found = Completion.of(self.block, fill, self.products, inner.array("completed", self.block.shape))
            view = self
            if found is not None:
                view = View(found.block, inner, self.weights, self.codes, None, self._watch, self.records)
            known = self._completed[id(fill)] = fill, view, found
        return known[1], known[2]

    def holding(self, block: np.ndarray) -> "View":
        """Return a view of other records in the same places, with the same weights, from which nothing is kept."""
        return View(block, None, self.weights, self.codes, None, self._watch, self.records)

    def norms(self, frame: AnyFrame) -> np.ndarray:
        """Return the squared norms of the block under `frame`, computed once."""
        frame = self._workspace.same(frame)
        found = self._lengths.get(id(frame))
        if found is None:
            norms = None if self._kept is None else self._kept.find(frame)
            if norms is None:
                norms = self._norms_alone(frame) if self._counts else self.mapped(frame)[1]
            found = self._lengths[id(frame)] = (frame, norms)
        return found[1]

    def _norms_alone(self, frame: AnyFrame) -> np.ndarray:
        """Return the same if z itself is not needed."""
        self._mapped = {}
        out = self._workspace.array("the one", (frame.dimension, self.block.shape[1]))
        return squared_norms(frame.map(self.block, out))

    def mapped(self, frame: AnyFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return (z, squared norms) of the block under `frame`, computed once; see `counting`.

        The caller must not overwrite them: another question may be asked of this block.
        """
        frame = self._workspace.same(frame)
        found = self._mapped.get(id(frame))
        if found is None:
            if self._counts:
                self._mapped = {}
            name = "the one" if self._counts else self._used
            out = self._workspace.array(name, (frame.dimension, self.block.shape[1]))
            z = frame.map(self.block, out)
            self._used += 1
            found = self._mapped[id(frame)] = (frame, z, squared_norms(z))
            if self._kept is not None:
                self._kept.keep(frame, found[2])
        return found[1], found[2]

    def products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return left @ right in an array that the next call overwrites; allocating costs more than the product.

        Rows of the array are a little longer than its contents: a processor's cache holds few rows whose lengths are
        a power of two.
        """
        padded = self._workspace.array("products", (len(left), right.shape[1] + _PADDING))
        values = np.matmul(left, right, out=padded[:, :-_PADDING])
        if self._watch is not None:
            self._watch(values)
        return values

    def picked(self, frame: AnyFrame, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (z, squared norms) of the `wanted` records; the caller may overwrite z.

        A matrix product is computed for the whole block, of fixed shape, so the selection does not change it. A frame
        without a matrix works cell by cell, with one rounding each, so only the selected records are mapped.
        """
        frame = self._workspace.same(frame)
        if isinstance(frame, Frame) and frame.matrix is None and id(frame) not in self._mapped:
            cells = self.block if wanted.all() else np.compress(wanted, self.block, axis=1)
            room = self._workspace.array("picked", (self.block.size,))[: cells.size]
            z = frame.map_cells(cells, room.reshape(cells.shape))
            return z, squared_norms(z)
        z, norms = self.mapped(frame)
        if wanted.all():
            del self._mapped[id(frame)]
            return z, norms
        return np.compress(wanted, z, axis=1), norms[wanted]


class Partition(Protocol):
    """A public map from a record to one of `n_regions` regions or to none."""

    @property
    def n_regions(self) -> int:
        """Number of regions."""

    def check(self, columns: int) -> None:
        """Check that the partition fits records with this number of columns; InvalidInput if not."""

    def assign(self, view: View) -> np.ndarray:
        """Return the region of each record of the block: int64 (length,), -1 for none."""


@public_value
@dataclass(frozen=True)
class Everything:
    """One region, with every record whose cells and their sum are finite."""

    n_regions = 1

    def check(self, columns: int) -> None:
        """Accept records of any length."""

    def assign(self, view: View) -> np.ndarray:
        """Return 0 where the sum of the cells is finite; no infinite or missing cell has a finite sum."""
        return np.where(np.isfinite(np.ones(len(view.block)) @ view.block), 0, -1)


@public_value
@dataclass(frozen=True)
class NearestPoint:
    """Regions by the nearest of some public points, with distances measured after `frame`.

    Attributes:
        frame: public map into the space in which distances are measured.
        points: (count, ell), in that space.
        groups: region of each point, 0 to n_regions - 1; every region has a point.

    Raises:
        InvalidInput: points and groups that do not match each other or the frame.
    """

    frame: Frame
    points: tuple[tuple[float, ...], ...]
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        check_points("the points of NearestPoint", self.frame, self.points)
        kind("the groups of NearestPoint", self.groups, tuple)
        for group in self.groups:
            integer("each of the groups of NearestPoint", group, 0)
        if len(self.groups) != len(self.points):
            raise InvalidInput(f"NearestPoint has {len(self.points)} points, but {len(self.groups)} groups")
        used = set(self.groups)
        if used != set(range(len(used))):
            raise InvalidInput("the groups of NearestPoint must be numbered 0, 1, ... without a gap")

    def check(self, columns: int) -> None:
        """Check that the frame fits the columns."""
        self.frame.check(columns)

    @property
    def n_regions(self) -> int:
        """Number of groups."""
        return max(self.groups) + 1

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        points = np.array(self.points, dtype=np.float64)
        # |z - p|^2 = |z|^2 - 2 p.z + |p|^2; the first term does not change which point is nearest
        return points, np.einsum("ij,ij->i", points, points)[:, None] / 2, np.array(self.groups)

    def assign(self, view: View) -> np.ndarray:
        """Return the group of the nearest point."""
        points, half_norms, groups = self._arrays
        z, norms = view.mapped(self.frame)
        nearest = best = np.zeros(0)
        for first in range(0, len(points), _POINTS_AT_ONCE):
            some = slice(first, first + _POINTS_AT_ONCE)
            scores = view.products(points[some], z)
            scores -= half_norms[some]
            if first == 0:
                nearest, best = np.argmax(scores, axis=0), scores.max(axis=0)
                continue
            top = scores.max(axis=0)
            nearer = np.flatnonzero(top > best)  # few records, after the first points
            best[nearer] = top[nearer]
            nearest[nearer] = first + np.argmax(scores[:, nearer], axis=0)
        return np.where(np.isfinite(norms), groups[nearest], -1)


@public_value
@dataclass(frozen=True)
class Cells:
    """Hard assignment to Gaussian components: argmax_j offset_j - |z_j|^2 / 2 with z_j = frames[j](x).

    If frames[j] whitens by the covariance of component j, and offset_j = log w_j - log det(Sigma_j)/2, this is the
    most likely component.
    """

    frames: tuple[Frame, ...]
    offsets: tuple[float, ...]

    def __post_init__(self) -> None:
        kinds("the frames of Cells", self.frames, Frame)
        numbers("the offsets of Cells", self.offsets, len(self.frames))

    def check(self, columns: int) -> None:
        """Check that every frame fits the columns."""
        for frame in self.frames:
            frame.check(columns)

    @property
    def n_regions(self) -> int:
        """Number of components."""
        return len(self.frames)

    def scores(self, view: View) -> np.ndarray:
        """Return offset_j - |z_j|^2 / 2, shape (n_regions, length)."""
        return np.stack(
            [offset - view.norms(frame) / 2 for frame, offset in zip(self.frames, self.offsets, strict=True)]
        )

    def assign(self, view: View) -> np.ndarray:
        """Return the most likely component."""
        scores = self.scores(view)
        return np.where(np.isfinite(scores).all(axis=0), np.argmax(scores, axis=0), -1)

    def shares(self, view: View, grain: int) -> np.ndarray:
        """Divide `grain` among components by how likely each record is to be of them: integers (n_regions, length)."""
        return divided(self.scores(view), grain)

    def log_density(self, view: View) -> np.ndarray:
        """Return log sum_j exp(score_j): the log density up to the constant -(d/2) log(2 pi)."""
        scores = self.scores(view)
        top = scores.max(axis=0)
        return np.asarray(top + np.log(np.exp(scores - top).sum(axis=0)))


def divided(scores: np.ndarray, grain: int) -> np.ndarray:
    """Divide `grain` in proportion to exp(scores), column by column: non-negative integers of the shape (k, length).

    The ends of a column's parts along [0, grain] rise, are rounded, and the last is `grain`: so the parts add up to it
    exactly. Each column is a function of itself. One with a score that is not finite has no meaning.
    """
    with np.errstate(invalid="ignore"):
        ends = np.cumsum(np.exp(scores - scores.max(axis=0)), axis=0)
        ends = np.rint(ends * (grain / ends[-1]))
    ends[-1] = grain
    return np.diff(ends, axis=0, prepend=0.0)


@public_value
@dataclass(frozen=True)
class Shells:
    """Shells by distance: region k has edge_(k-1) < |z| <= edge_k with z = frame(x); the last one is open.

    Attributes:
        frame: public map into the space in which lengths are measured.
        edges: radii, positive and rising; there is one region more than edges.
    """

    frame: AnyFrame
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        kind("the frame of Shells", self.frame, *FRAMES)
        numbers("the edges of Shells", self.edges)
        for edge in self.edges:
            size("each of the edges of Shells", edge)
        if any(near >= far for near, far in pairwise(self.edges)):
            raise InvalidInput("the edges of Shells must rise")

    def check(self, columns: int) -> None:
        """Check that the frame fits the columns."""
        self.frame.check(columns)

    @property
    def n_regions(self) -> int:
        """One more than edges."""
        return len(self.edges) + 1

    @cached_property
    def _squares(self) -> np.ndarray:
        return np.square(np.array(self.edges, dtype=np.float64))

    def assign(self, view: View) -> np.ndarray:
        """Return the shell of each record, -1 if its squared length is not finite."""
        norms = view.norms(self.frame)
        return np.where(np.isfinite(norms), np.searchsorted(self._squares, norms, side="left"), -1)


def check_points(what: str, frame: Frame, points: tuple[tuple[float, ...], ...]) -> None:
    """Check that there is a point, and that each is in the space into which `frame` maps.

    Raises:
        InvalidInput: no point, or one of another length.
    """
    kind("the frame of a partition", frame, Frame)
    kinds(what, points, tuple)
    for point in points:
        numbers(f"each of {what}", point, frame.dimension)
