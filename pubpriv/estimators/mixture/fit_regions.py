"""Regions in which rows are counted to see whether a mixture fits: shells about components, and along their axes."""

import math

import numpy as np

from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.regions import Cells
from pubpriv.estimators.lengths import beyond_share, length_quantile
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

_SHELLS = 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99
FURTHER = 2.0, 4.0
"""Shells end at these quantiles of a Gaussian's distance, and at these multiples of the last."""

_INSIDE = 0.3, 0.7, 0.95
"""The same where there are several cells."""

_AXIS = 0.15, 0.3, 0.5, 0.7, 0.85, 0.95
"""The same of its distance along one axis."""


def shells_about(cells: Cells) -> ComponentShells:
    """Shells of the distance from a record's component."""
    radii = [length_quantile(cells.frames[0].dimension, share) for share in _SHELLS]
    return ComponentShells(cells, (*radii, *(factor * radii[-1] for factor in FURTHER)), (), len(FURTHER))


def shells_inside(cells: Cells) -> ComponentShells:
    """Few shells in each of several cells."""
    return ComponentShells(cells, tuple(length_quantile(cells.frames[0].dimension, share) for share in _INSIDE))


def shells_along(cells: Cells, axes: tuple[Frame, ...]) -> ComponentShells:
    """Shells of the distance along the axis of a record's component, which has one direction; see `longest_axes`."""
    return ComponentShells(cells, tuple(length_quantile(1, share) for share in _AXIS), axes)


def longest_axes(scaling: Scaling, mixture: Mixture) -> tuple[Frame, ...]:
    """Frames that map a record to its distance from the mean along a component's longest axis, in its sd there.

    `mixture` is in standard coordinates.
    """
    _, means, covariances = mixture.arrays
    frames = []
    for mean, covariance in zip(means, covariances, strict=True):
        values, vectors = np.linalg.eigh(covariance)
        frames.append(scaling.frame(mean, vectors[:, -1:].T / math.sqrt(values[-1])))
    return tuple(frames)


def beyond(d: int, times: float, scale: float) -> float:
    """Share of Gaussian rows, `scale` times as wide as a component, further out than so many times its 99% radius."""
    return beyond_share(d, length_quantile(d, _SHELLS[-1]) * times / scale)
