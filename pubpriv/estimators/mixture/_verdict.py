"""Judge whether the last round's measurements can be relied on, in every regime."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture.rounds import UNTRUSTED

_MOVED, _QUIET = 1.25, 0.5
"""A component is still moving if the last round moved its mean by more than the first number of standard deviations, or
the log of a variance by more than that, although the spectral noise of the round before was below the second number:
then the move did not merely undo that noise, ..."""

_ANYHOW = 2.3
"""... or if it moved by more than this, whatever the noise: of ninety sound components of 170 rows in five and ten
columns, measured in one round, none was moved by 2."""

_ONE_MORE = 1.0
"""If a round moved a component further than this, in the same units, or made it wider, one more round before the last
is worthwhile; ..."""

_LEFT = 1.0
"""... or narrower, where its noise is more than so many of the variances that are left."""

_FEW_COLUMNS = 10
"""With more columns than this, limits grow as the root of their number: errors of few public rows add up over columns,
without moving rows to another component."""

LOUD = "noise is larger than the covariances of a component: trust weights, means and scale only"

_SHARED = (
    "components share so many rows that they cannot be distinguished: means, covariances and weights may be off by "
    "more than their intervals say. Give more public rows, or ask for fewer components"
)

_MOVING = (
    "the last round still moved a component far, and one more might do so again: means and covariances may be off by "
    "more than their intervals say. Give more public rows, or more of the budget"
)

_EMPTY = "a component holds so few private rows that the noise may hide them all: ask for fewer components"


@dataclass(frozen=True)
class Verdict:
    """Warnings about a last round, and the spectral noise in each whitened covariance."""

    noise: tuple[float, ...]
    warnings: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether there are no warnings."""
        return not self.warnings

    @classmethod
    def of(cls, last: Round, kind: str, asks: tuple[Ask, ...], loud: str = LOUD) -> "Verdict":
        """Judge a last round.

        Args:
            last: the last round.
            kind: type of the released covariances.
            asks: asks of the rounds up to this one, each from the estimate before; a single round is expected to move
                components.
            loud: warning if the noise is larger than the covariances.
        """
        noise = last.noise(kind)
        louder = math.sqrt(asks[-1].rho / asks[-2].rho) if len(asks) > 1 else math.inf
        moving = _moving(last, last.moved, [own * louder for own in noise], _MOVED)
        wrong = {loud: max(noise) > UNTRUSTED, _SHARED: not last.settled, _MOVING: moving, _EMPTY: not last.held}
        return cls(noise, tuple(text for text, is_so in wrong.items() if is_so))


def on_its_way(before: Round, kind: str) -> bool:
    """Decide whether a round moved a component so far that the next one will, too.

    A move that far is not due to the round's own noise; that noise, and the remaining error, would move it again. A
    component that is narrower than it was taken for, which clips none of its rows, is where it should be, unless the
    noise is large for what is left of it.
    """
    noise = before.noise("full" if kind == "auto" else kind)
    far = [
        moved if own * math.exp(moved) > _LEFT else grown
        for moved, grown, own in zip(before.moved, before.grown, noise, strict=True)
    ]
    return _moving(before, far, noise, _ONE_MORE * _reach(before))


def _moving(found: Round, moved: Sequence[float], noise: Sequence[float], limit: float) -> bool:
    """Decide whether a round moved a component further than the spectral noise of each component explains."""
    anyhow = _ANYHOW * _reach(found)
    return any(far > (limit if own < _QUIET else anyhow) for far, own in zip(moved, noise, strict=True))


def _reach(found: Round) -> float:
    """Compute the factor by which the number of columns raises the limits."""
    return max(1.0, math.sqrt(len(found.mixture.means[0]) / _FEW_COLUMNS))
