"""Judge whether the last round's measurements can be relied on, in every regime."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    "the last round still moved {} far, and one more might do so again: means and covariances may be off by more than "
    "their intervals say. Give more public rows, or more of the budget"
)

_EMPTY = "the noise may hide all rows of {}, so few are they: ask for fewer components"


@dataclass(frozen=True)
class Doubt:
    """What is wrong with a last round.

    Attributes:
        text: a warning.
        components: numbers of the components that it is about, by decreasing weight from 1; (): all.
        quantities: that it is about; (): all.
    """

    text: str
    components: tuple[int, ...] = ()
    quantities: tuple[str, ...] = ()

    @classmethod
    def named(cls, text: str, components: tuple[int, ...]) -> "Doubt":
        """Make a doubt about components, which the text names."""
        names = " and ".join(map(str, components))
        return cls(text.format(f"component{'s' if len(components) > 1 else ''} {names}"), components)


@dataclass(frozen=True)
class Verdict:
    """Doubts about a last round, and the spectral noise in each whitened covariance."""

    noise: tuple[float, ...]
    doubts: tuple[Doubt, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The doubts in words."""
        return tuple(doubt.text for doubt in self.doubts)

    @property
    def sound(self) -> bool:
        """Whether there are no doubts."""
        return not self.doubts

    @classmethod
    def of(cls, last: Round, kind: str, asks: tuple[Ask, ...], loud: str = LOUD) -> "Verdict":
        """Judge a last round.

        A component that the round did not move far is where it was measured, whatever became of the others: a doubt
        is about the components that give rise to it.

        Args:
            last: the last round.
            kind: type of the released covariances.
            asks: asks of the rounds up to this one, each from the estimate before; a single round is expected to move
                components.
            loud: warning if the noise is larger than the covariances.
        """
        noise = last.noise(kind)
        louder = math.sqrt(asks[-1].rho / asks[-2].rho) if len(asks) > 1 else math.inf
        # all rows are those of a single component: if it was taken for wider, it still clipped none and took none
        far = last.moved if len(noise) > 1 else last.grown
        still = _moving(last, far, [own * louder for own in noise], _MOVED)
        doubts = (
            Doubt(loud, _numbers(last, [own > UNTRUSTED for own in noise]), ("covariance",)),
            Doubt.named(_MOVING, _numbers(last, still)),
            Doubt.named(_EMPTY, _numbers(last, [not held for held in last.hold])),
        )
        shared = () if last.settled else (Doubt(_SHARED),)
        return cls(noise, (*shared, *(doubt for doubt in doubts if doubt.components)))


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
    return any(_moving(before, far, noise, _ONE_MORE * _reach(before)))


def _moving(found: Round, moved: Sequence[float], noise: Sequence[float], limit: float) -> list[bool]:
    """Decide of each component whether a round moved it further than its spectral noise explains."""
    anyhow = _ANYHOW * _reach(found)
    return [far > (limit if own < _QUIET else anyhow) for far, own in zip(moved, noise, strict=True)]


def _numbers(found: Round, which: Sequence[bool]) -> tuple[int, ...]:
    """Give the numbers of these components in a release, which has them by decreasing weight."""
    order = np.argsort(-np.array(found.mixture.weights), kind="stable")
    return tuple(number for number, place in enumerate(order, start=1) if which[place])


def _reach(found: Round) -> float:
    """Compute the factor by which the number of columns raises the limits."""
    return max(1.0, math.sqrt(len(found.mixture.means[0]) / _FEW_COLUMNS))
