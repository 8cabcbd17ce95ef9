"""Covariances with fewer parameters: diagonal, spherical, and the choice between them.

| type | numbers per component | question of a round |
|---|---|---|
| `full` | d (d + 1) / 2 | `LiftedGram` (`_components.estimate_components`) |
| `diag` | d | `LiftedGram`, of which the diagonal is used |
| `spherical` | 1 | `Moments`: count, sum, squared norm |

A diagonal needs no question of its own: the sum of the squares of z, column by column, has the same sensitivity R^4
as the sum of z z' (a record may lie on one axis), so leaving out the other entries would not reduce the noise.

`spherical` means one variance for all columns in the data's own units.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_EXPLAINED = 2.0
"""Parameters whose scatter is below this many times what noise and sampling explain are dropped: they would add more
error than they remove."""


@public_value
@dataclass(frozen=True)
class Shape:
    """A covariance type and the reason for it."""

    kind: str
    reason: str


def shaped(mixture: Mixture, kind: str, scaling: Scaling) -> Mixture:
    """Give the mixture, in standard coordinates, the nearest covariances of this type in the data's own units."""
    if kind in ("full", "auto"):
        return mixture
    weights, means, covariances = mixture.arrays
    scale = np.array(scaling.scale)
    variances = np.einsum("kii->ki", covariances)
    if kind == "spherical":
        variances = (variances * scale**2).mean(axis=1)[:, None] / scale**2
    return Mixture.of(weights, means, [np.diag(own) for own in variances])


def narrowed(last: Round, kind: str, scaling: Scaling) -> Round:
    """Convert a round of full covariances to this type; the mean of d noisy variances is less noisy than one."""
    d = len(scaling.location)
    quieter = last.moment_sd / d**0.5 if kind == "spherical" else last.moment_sd
    return replace(last, mixture=shaped(last.mixture, kind, scaling), moment_sd=quieter)


@step(title="covariance type")
def choose_shape(last: Round, scaling: Scaling) -> Shape:
    """Choose the type for `auto` after the last round: parameters that noise explains are dropped. Free.

    Args:
        last: a round of full covariances.
        scaling: the standard coordinates.
    """
    _, _, covariances = last.mixture.arrays
    frames, counts = np.array(last.frames), np.array(last.counts)
    own, by = np.einsum("kii->ki", covariances), np.einsum("kii->ki", frames)
    d = own.shape[1]
    if scaling.shape:
        return Shape("full", "columns nearly determine each other inside the components of the public rows")
    if d == 1:
        return Shape("full", "one column: all types are the same")
    off = ~np.eye(d, dtype=bool)
    sides = own[:, :, None] * own[:, None, :]
    sampling = (sides + covariances**2) / counts[:, None, None]
    noise = (by[:, :, None] * by[:, None, :] + frames**2) / 2 * (last.moment_sd / counts[:, None, None]) ** 2
    seen = float((covariances**2 / sides)[:, off].mean())
    expected = float(((sampling + noise) / sides)[:, off].mean())
    if seen > _EXPLAINED * expected:
        text = f"correlations are {math.sqrt(seen):.2g} (root mean square), noise and sampling explain"
        return Shape("full", f"{text} {math.sqrt(expected):.2g}")
    text = f"correlations ({math.sqrt(seen):.2g}, root mean square) are no more than noise and sampling explain"
    scale = np.array(scaling.scale)
    relative = own * scale**2 / (own * scale**2).mean(axis=1)[:, None]
    scatter = float(((relative - 1) ** 2).mean())
    expected = float((((sampling + noise)[:, ~off]) / own**2).mean())
    if scatter > _EXPLAINED * expected:
        return Shape("diag", f"{text}; variances of columns differ by more")
    return Shape("spherical", f"{text}, and so are differences of variances")
