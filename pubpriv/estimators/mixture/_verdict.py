"""Whether what the last round measured can be relied on: the same for every way to a last round."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture.rounds import UNTRUSTED

_MOVED, _QUIET = 1.25, 0.5
"""A component is on its way if the last round moved its mean by more than so many standard deviations, or a variance by
more than such a power of e, where the spectral noise of the round before was below the second number: then it is not
that noise which was undone."""

_ANYHOW = 2.3
"""... or by more than this, whatever the noise: of ninety sound components of 170 rows in five and ten columns, which
were measured in one round, none was moved by 2."""

_ONE_MORE = 1.0
"""A round that moved a component further than this, in the same units, is worth one more before the last."""

_FEW_COLUMNS = 10
"""In more columns both are larger, as the root of their number: what few public rows miss adds up over columns, though
it brings no row to another component."""

LOUD = "noise is larger than the covariances of a component: trust weights, means and scale only"

_SHARED = (
    "components share so many rows that these do not tell them apart: means, covariances and weights may be off by "
    "more than their intervals say. Give more public rows, or ask for fewer components"
)

_MOVING = (
    "the last round still moved a component far, and one more might do so again: means and covariances may be off by "
    "more than their intervals say. Give more public rows, or more of the budget"
)

_EMPTY = "a component holds so few private rows that the noise may hide them all: ask for fewer components"


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a last round, in words, and the spectral noise in each whitened covariance."""

    noise: tuple[float, ...]
    warnings: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Nothing is wrong."""
        return not self.warnings

    @classmethod
    def of(cls, last: Round, kind: str, asks: tuple[Ask, ...], loud: str = LOUD) -> "Verdict":
        """Judge a round.

        Args:
            last: of the run.
            kind: of the covariances that are released.
            asks: of the rounds up to this one, each from the estimate before it; one alone may move components.
            loud: what is said where noise is larger than the covariances.
        """
        noise = last.noise(kind)
        louder = math.sqrt(asks[-1].rho / asks[-2].rho) if len(asks) > 1 else math.inf
        moving = _moving(last, [own * louder for own in noise], _MOVED)
        wrong = {loud: max(noise) > UNTRUSTED, _SHARED: not last.settled, _MOVING: moving, _EMPTY: not last.held}
        return cls(noise, tuple(text for text, is_so in wrong.items() if is_so))


def on_its_way(before: Round, kind: str) -> bool:
    """Tell whether a round of covariances of that type moved a component so far that the next one will, too.

    Then its own noise is not what moved it: that, and what is still wrong, would move it in the next.
    """
    return _moving(before, before.noise("full" if kind == "auto" else kind), _ONE_MORE * _reach(before))


def _moving(found: Round, noise: Sequence[float], limit: float) -> bool:
    """Tell whether a round moved a component further than spectral noise of that size explains, for each component."""
    anyhow = _ANYHOW * _reach(found)
    return any(far > (limit if own < _QUIET else anyhow) for far, own in zip(found.moved, noise, strict=True))


def _reach(found: Round) -> float:
    """Tell by how much larger limits are in so many columns."""
    return max(1.0, math.sqrt(len(found.mixture.means[0]) / _FEW_COLUMNS))
