"""Defective questions about two columns, made by their constructors and without them.

Each has a description of its defect; `malformed` asks them.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.audit._attacks import HALVES
from pubpriv.data.balls import Balls, Cylinder
from pubpriv.data.categories import ByCategory
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.missing_patterns import MissingPatterns
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import (
    Bisection,
    BoundedScore,
    ClippedSums,
    Completed,
    CompletedGram,
    Counts,
    FourthMoments,
    LiftedGram,
    Moments,
    PerPerson,
    Radial,
    Selection,
    StableCells,
)
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything, NearestPoint, Shells
from pubpriv.data.score_frames import ScoreFrame
from pubpriv.data.uncovered import Uncovered

Make = Callable[..., Any]
"""make(class, field=value, ...), through the constructor or around it."""

_SD = 1 << 44
_SCALES = 1 << 44, 1 << 40, 1 << 44
_PLANE, _NARROW, _WIDE = Frame((0.0, 0.0)), Frame((0.0,)), Frame((0.0, 0.0, 0.0))
_POINTS = (-4.0, 0.0), (4.0, 0.0)


def built(kind: type, **fields: Any) -> Any:
    """Make an object of `kind` by its constructor."""
    return kind(**fields)


def forged(kind: type, **fields: Any) -> Any:
    """Make an object of `kind` whose constructor never saw its fields."""
    copy: Any = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(copy, name, value)
    return copy


class _Cheap(ClippedSums):
    """A question that claims to cost almost nothing."""

    @property
    def squared_distance(self) -> Fraction:
        return Fraction(1, 10**9)


class _Twice(NearestPoint):
    """A partition that could put a record anywhere."""


class _Bent(Frame):
    """A frame that could map a record anywhere."""


class _Duck:
    """An object with all methods of a question."""

    squared_distance = Fraction(1, 10**9)
    parts = Counts(Everything(), _SD).parts

    def totals(self, view: Any) -> dict[str, np.ndarray]:
        return {"count": np.array([view.block.shape[1]])}


def _nearest(make: Make, points: Any = _POINTS, groups: Any = (0, 1), frame: Any = _PLANE) -> Any:
    return make(NearestPoint, frame=frame, points=points, groups=groups)


def _counts(make: Make, partition: Any, noise_scale: Any = _SD) -> Any:
    return make(Counts, partition=partition, noise_scale=noise_scale)


def _sums(make: Make, frames: Any, radii: Any, partition: Any = None, noise_scale: Any = _SD) -> Any:
    return make(ClippedSums, partition=partition or Everything(), frames=frames, radii=radii, noise_scale=noise_scale)


def _fourth(make: Make, frames: Any, radii: Any, noise_scale: Any = _SD) -> Any:
    return make(FourthMoments, partition=Everything(), frames=frames, radii=radii, noise_scale=noise_scale)


def _shells(make: Make, *edges: Any, frame: Any = _PLANE) -> Any:
    return make(Shells, frame=frame, edges=edges)


def _completed(make: Make, **changed: Any) -> Any:
    told = {"partition": Everything(), "frames": (_PLANE,), "radii": (1.0,), "noise_scales": _SCALES}
    return make(CompletedGram, **told, **{"fill": _PLANE, "level": 0.5, "parts_of_radius": (0.5, 1.0)} | changed)


def _joint(make: Make, kind: type, frames: Any, radii: Any, scales: Any = _SCALES, partition: Any = None) -> Any:
    return make(kind, partition=partition or Everything(), frames=frames, radii=radii, noise_scales=scales)


def _bisection(make: Make, lower: Any, upper: Any, steps: Any = 4, rank: Any = 5.0, **more: Any) -> Any:
    fields = {"frame": _PLANE, "noise_scale": _SD, "logarithmic": False, "signed": False} | more
    return make(Bisection, lower=lower, upper=upper, steps=steps, rank=rank, **fields)


def _cells(make: Make, *frames: Frame, offsets: Any = None) -> Any:
    return make(Cells, frames=frames, offsets=(0.0,) * len(frames) if offsets is None else offsets)


def _balls(make: Make, frame: Frame, ball: int = 0) -> Any:
    return make(Balls, balls=(make(Cylinder, frame=frame, radius=1.0),), paths=(((ball, True),),))


def _refined(make: Make, *inner: Any, groups: Any = HALVES) -> Any:
    return make(Refined, groups=groups, inner=inner)


def _groups(make: Make, *values: Any, column: Any = "group") -> Any:
    return make(ByCategory, column=column, values=values)


def _grid(make: Make, frames: Any = (_PLANE, _PLANE), cells: Any = (((0, 0),), ((1, 1),))) -> Any:
    return make(GridCells, groups=HALVES, frames=frames, cells=cells)


def _score(make: Make, first: Any, bound: Any = 1.0) -> Any:
    return make(BoundedScore, first=first, second=Cells((_PLANE,), (0.0,)), bound=bound, noise_scale=_SD)


def stable(make: Make, **fields: Any) -> Any:
    """A search for cells of a table of forty rows."""
    arguments = {"frame": _PLANE, "rows": 40, "least": 1, "noise_scale": _SD, "threshold": 10 * _SD} | fields
    return make(StableCells, **arguments)


MALFORMED_SEARCHES: dict[str, Callable[[Make], Any]] = {
    "one centre": lambda m: stable(m, frame=_NARROW),
    "a map of another making": lambda m: stable(m, frame=m(_Bent, center=(0.0, 0.0), matrix=None, diagonal=None)),
    "fewer rows than there are, so too little noise": lambda m: stable(m, rows=39),
    "more rows than memory holds cells for": lambda m: stable(m, rows=10**9),
    "less than no records": lambda m: stable(m, least=-1),
    "no threshold": lambda m: stable(m, threshold=0),
    "a threshold below the cells that count as empty": lambda m: stable(m, least=1 << 30),
    "a threshold beyond 64 bits": lambda m: stable(m, threshold=1 << 63),
    "no noise": lambda m: stable(m, noise_scale=0),
    "noise that is no integer": lambda m: stable(m, noise_scale=float(_SD)),
}
"""Makers of malformed searches for cells."""


def _selection(make: Make, **fields: Any) -> Any:
    """A selection for a table of forty rows."""
    arguments = {"frame": _PLANE, "rows": 40, "step": 1.0, "steps": 3, "slack": 0.05, "noise_scale": _SD} | fields
    return make(Selection, **arguments)


def _radial(make: Make, inner: Any, by_region: Any = False) -> Any:
    return make(Radial, inner=inner, by_region=by_region)


MALFORMED: dict[str, dict[str, Callable[[Make], Any]]] = {
    "maps of other columns than the table's": {
        "one centre for two sums": lambda m: _sums(m, (_NARROW,), (300.0,)),
        "three centres for two sums": lambda m: _sums(m, (_WIDE,), (300.0,)),
        "one centre for a second moment": lambda m: _joint(m, LiftedGram, (_NARROW,), (300.0,), (0, 0, _SD)),
        "one centre for moments": lambda m: _joint(m, Moments, (_NARROW,), (300.0,)),
        "one centre in one of two regions": lambda m: _sums(m, (_PLANE, _NARROW), (1.0, 1.0), HALVES),
        "one centre for a bisection": lambda m: _bisection(m, 0.1, 9.0, frame=_NARROW),
        "one centre for a score": lambda m: _score(m, _cells(m, _NARROW)),
        "one centre for nearest points": lambda m: _counts(m, _nearest(m, ((0.0,), (1.0,)), frame=_NARROW)),
        "one centre for pairs": lambda m: _counts(m, m(PairBins, frame=_NARROW, centers=((0.0,), (1.0,)))),
        "one centre for fourth moments": lambda m: _fourth(m, (_NARROW,), (300.0,)),
        "one centre for shells": lambda m: _counts(m, _shells(m, 1.0, frame=_NARROW)),
        "one centre for uncovered records": lambda m: _counts(
            m, m(Uncovered, frame=_NARROW, points=((0.0,),), distances=(1.0,), ball=None)
        ),
        "one centre for the ball of uncovered records": lambda m: _counts(
            m,
            m(Uncovered, frame=_PLANE, points=_POINTS, distances=(1.0,), ball=m(Cylinder, frame=_NARROW, radius=1.0)),
        ),
        "one centre for a grid": lambda m: _counts(m, _grid(m, frames=(_NARROW, _PLANE))),
        "one centre for shells of components": lambda m: _counts(
            m, m(ComponentShells, cells=_cells(m, _NARROW), edges=(1.0,), frames=(), shared=0)
        ),
        "one centre for the lengths of shells": lambda m: _counts(
            m, m(ComponentShells, cells=_cells(m, _PLANE), edges=(1.0,), frames=(_NARROW,), shared=0)
        ),
        "one centre for cells": lambda m: _counts(m, _cells(m, _PLANE, _NARROW)),
        "one centre for balls": lambda m: _counts(m, _balls(m, _NARROW)),
        "a column that the table has not": lambda m: _counts(m, m(ColumnCells, column=2, edges=(0.0,))),
        "one centre inside a refined partition": lambda m: _counts(
            m, _refined(m, _cells(m, _PLANE), _cells(m, _NARROW))
        ),
        "one centre for scores": lambda m: _sums(m, (m(ScoreFrame, inner=_NARROW),), (1.0,)),
        "one centre for lengths of scores": lambda m: _counts(
            m, m(Shells, frame=m(ScoreFrame, inner=_NARROW), edges=(1.0,))
        ),
        "scores of three directions": lambda m: _sums(
            m, (m(ScoreFrame, inner=Frame((0.0, 0.0), ((1.0, 0.0),) * 3)),), (1.0,)
        ),
        "a matrix with a short row": lambda m: _sums(
            m, (m(Frame, center=(0.0, 0.0), matrix=((1.0, 0.0), (1.0,)), diagonal=None),), (1.0,)
        ),
        "a diagonal of one": lambda m: _sums(m, (m(Frame, center=(0.0, 0.0), matrix=None, diagonal=(1.0,)),), (1.0,)),
    },
    "points and groups that do not fit": {
        "a point without a group": lambda m: _counts(m, _nearest(m, (*_POINTS, (9.0, 9.0)))),
        "a point without a group, refined": lambda m: _counts(
            m, _refined(m, _cells(m, _PLANE), _cells(m, _PLANE), groups=_nearest(m, (*_POINTS, (9.0, 9.0))))
        ),
        "a group without a point": lambda m: _counts(m, _nearest(m, groups=(0, 1, 1))),
        "a negative group": lambda m: _counts(m, _nearest(m, groups=(0, -2))),
        "half a group": lambda m: _counts(m, _nearest(m, groups=(0, 0.5))),
        "points of three numbers": lambda m: _counts(m, _nearest(m, ((0.0,) * 3, (1.0,) * 3))),
        "a point that is no number": lambda m: _counts(m, _nearest(m, (_POINTS[0], (np.nan, 0.0)))),
        "no points": lambda m: _counts(m, _nearest(m, (), ())),
    },
    "regions that do not fit": {
        "fewer frames than regions": lambda m: _sums(m, (_PLANE,), (1.0,), HALVES),
        "more frames than regions": lambda m: _joint(m, LiftedGram, (_PLANE, _PLANE), (1.0, 1.0)),
        "fewer radii than regions": lambda m: _joint(m, Moments, (_PLANE, _PLANE), (1.0,), partition=HALVES),
        "a radius that is no number": lambda m: _sums(m, (_PLANE,), (np.nan,)),
        "a radius of zero": lambda m: _joint(m, LiftedGram, (_PLANE,), (0.0,)),
        "a radius whose fourth power is no number": lambda m: _fourth(m, (_PLANE,), (1e90,)),
        "shells that do not rise": lambda m: _counts(m, _shells(m, 1.0, 3.0, 2.0)),
        "no shells": lambda m: _counts(m, _shells(m)),
        "edges of a column that fall": lambda m: _counts(m, m(ColumnCells, column=0, edges=(1.0, 0.0))),
        "a shell of radius zero": lambda m: _counts(m, _shells(m, 0.0, 2.0)),
        "fewer inner partitions than groups": lambda m: _counts(m, _refined(m, _cells(m, _PLANE))),
        "fewer lists of grid cells than groups": lambda m: _counts(m, _grid(m, cells=(((0, 0),),))),
        "a grid cell of one number": lambda m: _counts(m, _grid(m, cells=(((0,),), ((1, 1),)))),
        "a grid cell that is listed twice": lambda m: _counts(m, _grid(m, cells=(((0, 0), (0, 0)), ()))),
        "half a grid cell": lambda m: _counts(m, _grid(m, cells=(((0, 0.5),), ()))),
        "no grid cells": lambda m: _counts(m, _grid(m, cells=((), ()))),
        "grid cells beyond 64 bits": lambda m: _counts(m, _grid(m, cells=(((0, 0), (1 << 70, 0)), ()))),
        "more inner partitions than groups": lambda m: _counts(m, _refined(m, *[_cells(m, _PLANE)] * 3)),
        "points inside a refined partition": lambda m: _counts(m, _refined(m, _cells(m, _PLANE), HALVES)),
        "fewer offsets than cells": lambda m: _counts(m, _cells(m, _PLANE, _PLANE, offsets=(0.0,))),
        "a ball that is not there": lambda m: _counts(m, _balls(m, _PLANE, 1)),
        "frames of two dimensions": lambda m: _joint(
            m, LiftedGram, (_PLANE, Frame((0.0, 0.0), ((1.0, 0.0),))), (1.0, 1.0), partition=HALVES
        ),
    },
    "thresholds that do not rise": {
        "from high to low": lambda m: _bisection(m, 9.0, 0.1),
        "to infinity": lambda m: _bisection(m, 0.1, np.inf),
        "from no number": lambda m: _bisection(m, np.nan, 1.0),
        "further apart than floats reach": lambda m: _bisection(m, -1.7e308, 1.7e308, signed=True),
        "closer than floats": lambda m: _bisection(m, 1.0, 1.0 + 1e-12, 20),
        "rounded out of their order": lambda m: _bisection(m, 1e300, 1e300 * (1 + 1e-14), 8, logarithmic=True),
        "no steps": lambda m: _bisection(m, 0.1, 9.0, 0),
        "a rank that is no number": lambda m: _bisection(m, 0.1, 9.0, rank=np.nan),
    },
    "groups that the table does not tell apart": {
        "of a table without groups": lambda m: _counts(m, _groups(m, "west", "east")),
        "inside a refined partition": lambda m: _counts(
            m, _refined(m, _cells(m, _PLANE), _cells(m, _PLANE), groups=_groups(m, "west", "east"))
        ),
        "no groups": lambda m: _counts(m, _groups(m)),
        "a group twice": lambda m: _counts(m, _groups(m, "west", "west")),
        "a group that is no text": lambda m: _counts(m, _groups(m, 1.0, 2.0)),
        "more groups than a scan takes": lambda m: _counts(m, _groups(m, *map(str, range(1001)))),
        "groups by no column": lambda m: _counts(m, _groups(m, "west", column="")),
        "months that are none": lambda m: _counts(m, _groups(m, "2026-13", column="month(day)")),
    },
    "completed records that do not fit": {
        "a fill of one centre": lambda m: _completed(m, fill=_NARROW),
        "a fill of one direction": lambda m: _completed(
            m, fill=m(Frame, center=(0.0, 0.0), matrix=((1.0, 0.0),), diagonal=None)
        ),
        "a fill that is no frame": lambda m: _completed(m, fill=Everything()),
        "more uncertainty than there is": lambda m: _completed(m, level=1.5),
        "less uncertainty than none": lambda m: _completed(m, level=-0.5),
        "a level that is no number": lambda m: _completed(m, level=np.nan),
        "fewer radii than cells": lambda m: _completed(m, parts_of_radius=(1.0,)),
        "a part of a radius that is no number": lambda m: _completed(m, parts_of_radius=(np.nan, 1.0)),
        "complete records that are clipped shorter": lambda m: _completed(m, parts_of_radius=(0.5, 0.5)),
        "a count that is completed twice": lambda m: m(
            Completed, inner=m(Completed, inner=_counts(m, HALVES), fill=_PLANE), fill=_PLANE
        ),
        "a choice among completed records": lambda m: m(Completed, inner=_selection(m), fill=_PLANE),
        "patterns of a column that the table has not": lambda m: _counts(
            m, m(MissingPatterns, columns=(0, 2), listed=((),), by_number=True)
        ),
        "a pattern that is listed twice": lambda m: _counts(
            m, m(MissingPatterns, columns=(0, 1), listed=((1,), (1,)), by_number=True)
        ),
        "no patterns": lambda m: _counts(m, m(MissingPatterns, columns=(0, 1), listed=(), by_number=False)),
    },
    "noise that is none": {
        "zero": lambda m: _counts(m, HALVES, 0),
        "negative": lambda m: _counts(m, HALVES, -_SD),
        "true": lambda m: _counts(m, HALVES, True),
        "a float": lambda m: _counts(m, HALVES, float(_SD)),
        "zero for sums": lambda m: _sums(m, (_PLANE,), (1.0,), noise_scale=0),
        "zero for a second moment": lambda m: _joint(m, LiftedGram, (_PLANE,), (1.0,), (_SD, _SD, 0)),
        "zero for the sum of moments": lambda m: _joint(m, Moments, (_PLANE,), (1.0,), (_SD, 0, _SD)),
        "shares without a proof": lambda m: _joint(m, Moments, (_PLANE,), (1.0,), (_SD << 9, 1 << 20, _SD << 9)),
        "a bound of zero": lambda m: _score(m, _cells(m, _PLANE), 0.0),
    },
    "selections that are not proven": {
        "one centre": lambda m: _selection(m, frame=_NARROW),
        "three directions": lambda m: _selection(m, frame=_WIDE),
        "a map of another making": lambda m: _selection(
            m, frame=m(_Bent, center=(0.0, 0.0), matrix=None, diagonal=None)
        ),
        "fewer rows than there are": lambda m: _selection(m, rows=39),
        "more hypotheses than are compared": lambda m: _selection(m, steps=26),
        "more hypotheses than memory holds": lambda m: _selection(m, steps=1 << 40),
        "one hypothesis": lambda m: _selection(m, steps=0),
        "half a step": lambda m: _selection(m, steps=1.5),
        "a step of zero": lambda m: _selection(m, step=0.0),
        "a step that is no number": lambda m: _selection(m, step=np.nan),
        "hypotheses without a rival": lambda m: _selection(m, slack=0.4),
        "less slack than none": lambda m: _selection(m, slack=-0.1),
        "no noise": lambda m: _selection(m, noise_scale=0),
        "noise that is no integer": lambda m: _selection(m, noise_scale=float(_SD)),
        "under radial noise": lambda m: _radial(m, _selection(m)),
        "of persons, under radial noise": lambda m: _radial(m, m(PerPerson, inner=_selection(m), most=1, grain=1)),
        "of more rows of a person": lambda m: m(PerPerson, inner=_selection(m), most=2, grain=1),
        "of rows that weigh in parts": lambda m: m(PerPerson, inner=_selection(m), most=1, grain=64),
    },
    "radial noise that does not fit": {
        "around radial noise": lambda m: _radial(m, _radial(m, _counts(m, HALVES))),
        "around a map": lambda m: _radial(m, _PLANE),
        "around a question that says it is cheap": lambda m: _radial(
            m, m(_Cheap, partition=Everything(), frames=(_PLANE,), radii=(1.0,), noise_scale=_SD)
        ),
        "around a question of another width": lambda m: _radial(m, _sums(m, (_NARROW,), (300.0,))),
        "around noise that is none": lambda m: _radial(m, _counts(m, HALVES, 0)),
        "by region, of a bisection": lambda m: _radial(m, _bisection(m, 0.1, 9.0), True),
        "by region, of frames of two dimensions": lambda m: _radial(
            m,
            _joint(m, Moments, (_PLANE, Frame((0.0, 0.0), ((1.0, 0.0),))), (1.0, 1.0), partition=HALVES),
            True,
        ),
        "by region, one or none": lambda m: _radial(m, _counts(m, HALVES), 1),
    },
    "objects that are not on the closed list": {
        "another class with all of a question's methods": lambda m: _Duck(),  # noqa: ARG005
        "a question that says it is cheap": lambda m: m(
            _Cheap, partition=Everything(), frames=(_PLANE,), radii=(1.0,), noise_scale=_SD
        ),
        "a partition of another making": lambda m: _counts(m, m(_Twice, frame=_PLANE, points=_POINTS, groups=(0, 1))),
        "a map of another making": lambda m: _sums(
            m, (m(_Bent, center=(0.0, 0.0), matrix=None, diagonal=None),), (1.0,)
        ),
        "a map in the place of a partition": lambda m: _counts(m, _PLANE),
        "a score of a score": lambda m: _sums(m, (m(ScoreFrame, inner=m(ScoreFrame, inner=_PLANE)),), (1.0,)),
        "a score in the place of a point's map": lambda m: _counts(m, _cells(m, m(ScoreFrame, inner=_PLANE))),
        "a question in the place of a partition": lambda m: _counts(m, Counts(HALVES, _SD)),
        "a map in the place of a question": lambda m: _PLANE,  # noqa: ARG005
        "nothing": lambda m: None,  # noqa: ARG005
    },
}
"""Makers of malformed questions about two columns, by what is wrong with them."""
