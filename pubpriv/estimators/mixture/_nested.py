"""Nested components: a start with both scales, if a tight cluster of public rows lies inside a wide one.

It replaces the first public start of overlapping components, and the private rows choose among the starts.
"""

from dataclasses import dataclass

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.estimators.mixture._components import Floors
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._seeding import allocate
from pubpriv.estimators.mixture._supercluster import Groups
from pubpriv.estimators.mixture.scaling import FLOOR
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture


@public_value
@dataclass(frozen=True)
class FlooredStart:
    """A first mixture, in standard coordinates, with the floors of models made from it."""

    mixture: Mixture
    floors: Floors


@step(title="clusters inside others")
@one_thread
def nested_start(groups: Groups, n_components: int) -> FlooredStart | None:
    """Give each group its components, round in the group's own units; None: no group lies inside another."""
    if not groups.inside:
        return None
    points, labels = np.array(groups.points), np.array(groups.inside)
    units = np.array(groups.inside_units)
    found = allocate([points[labels == group] / unit for group, unit in enumerate(units)], n_components)
    if found is None:
        return None
    own = [unit for unit, each in zip(units, found, strict=True) for _ in each.weights]
    weights = np.concatenate([each.weights * (labels == group).sum() for group, each in enumerate(found)])
    centers, variances = (np.concatenate([getattr(each, name) for each in found]) for name in ("centers", "variances"))
    mixture = Mixture.of(
        weights / weights.sum(),
        centers * np.array(own),
        [np.diag(variance * unit**2) for variance, unit in zip(variances, own, strict=True)],
    )
    return FlooredStart(mixture, tuple(tuple((FLOOR * unit**2).tolist()) for unit in own))
