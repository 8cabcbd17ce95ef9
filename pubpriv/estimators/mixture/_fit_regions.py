"""Regions in which rows are counted to see whether a mixture fits: shells about components, and along their axes."""

import math

import numpy as np

from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.regions import Cells
from pubpriv.estimators._lengths import SHELLS, beyond_share, length_quantile
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

FURTHER = 2.0, 4.0
"""Shells end at `SHELLS` of a Gaussian's distance, and at these multiples of the last."""

_INSIDE = 0.3, 0.7, 0.95
"""The same where there are several cells."""

_NARROWER = 3.0
"""Others are much narrower along an axis if their variances are smaller by this factor (harmonic mean)."""

_AXIS = 0.15, 0.3, 0.5, 0.7, 0.85, 0.95
"""The same of its distance along one axis."""

_FURTHER_OUT = 2.6, 4.0
"""Distances, in sds, at which shells to either side end besides."""

_FROM = 100.0
"""Rows of one column lie to a side of a mean by how far they are from a point so many sds before it."""


def shells_about(cells: Cells) -> ComponentShells:
    """Shells of the distance from a record's component."""
    radii = [length_quantile(cells.frames[0].dimension, share) for share in SHELLS]
    return ComponentShells(cells, (*radii, *(factor * radii[-1] for factor in FURTHER)), (), len(FURTHER))


def shells_inside(cells: Cells) -> ComponentShells:
    """Few shells in each of several cells."""
    return ComponentShells(cells, tuple(length_quantile(cells.frames[0].dimension, share) for share in _INSIDE))


def shells_along(cells: Cells, axes: tuple[Frame, ...]) -> ComponentShells:
    """Shells of the distance along the axis of a record's component, which has one direction; see `longest_axes`."""
    return ComponentShells(cells, tuple(length_quantile(1, share) for share in _AXIS), axes)


def side_edges() -> np.ndarray:
    """Give the ends, in sds from a mean, of shells to either side of it: negative ones, 0, and positive ones."""
    ends = np.array([*(length_quantile(1, share) for share in _AXIS), *_FURTHER_OUT])
    return np.concatenate([-ends[::-1], [0.0], ends])


def shells_to_sides(cells: Cells) -> ComponentShells:
    """Shells of the distance from a record's component in one column, to either side: from the least value on.

    Distances are from points so far before the means that none of a component's own rows lies before these.
    """
    frames = []
    for frame in cells.frames:
        center, matrix = frame.dense()
        along = np.abs(matrix)
        frames.append(Frame.of(center - _FROM / along[0], along))
    return ComponentShells(cells, tuple((_FROM + side_edges()).tolist()), tuple(frames))


def without_sides(counts: np.ndarray) -> np.ndarray:
    """Give sums (..., shells) along axes, of what is given (..., regions) of shells to either side."""
    half, inner = counts.shape[-1] // 2, len(_AXIS)
    both = counts[..., half:] + counts[..., :half][..., ::-1]
    return np.concatenate([both[..., :inner], both[..., inner:].sum(axis=-1, keepdims=True)], axis=-1)


def longest_axes(scaling: Scaling, mixture: Mixture, noise: tuple[float, ...]) -> tuple[Frame, ...]:
    """Frames that map a record to its distance from the mean along a component's longest axis, in its sd there.

    The axis is that along which the others are much narrower, where there is such a one: a component that holds two is
    long from one to the other, whatever the units of the columns, which few public rows tell badly. Else it is the
    longest in standard coordinates.

    Args:
        scaling: of the standard coordinates.
        mixture: in these.
        noise: spectral noise in the covariance of each component: noise makes some axes look narrow.
    """
    weights, means, covariances = mixture.arrays
    frames = []
    for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        whiten = np.linalg.inv(np.linalg.cholesky(covariance))
        others = [i for i in range(len(means)) if i != j]
        narrow = np.zeros_like(covariance)
        for i in others:
            own = whiten @ covariances[i] @ whiten.T + noise[i] * np.eye(len(mean))
            narrow += weights[i] / weights[others].sum() * np.linalg.inv(own)
        values, vectors = np.linalg.eigh(narrow)
        if values[-1] > _NARROWER:
            axis = vectors[:, -1] @ whiten
        else:
            values, vectors = np.linalg.eigh(covariance)
            axis = vectors[:, -1] / math.sqrt(values[-1])
        frames.append(scaling.frame(mean, axis[None, :]))
    return tuple(frames)


def beyond(d: int, times: float, scale: float) -> float:
    """Share of Gaussian rows, `scale` times as wide as a component, further out than so many times its 99% radius."""
    return beyond_share(d, length_quantile(d, SHELLS[-1]) * times / scale)
