"""Which way a run takes, from public facts alone, in words that a reader can check."""

import math
from dataclasses import dataclass
from typing import ClassVar

from pubpriv.data.codec import public_value

SEPARATED = 4.0
"""Components at least this many standard deviations apart can be told apart by their own geometry."""

_FEW = 5.0
"""Fewer than this many times log(k) / w_min public rows may miss a component."""

_PLENTY = 2.0
"""From this many public rows per column, in a component of the smallest weight, public rows alone tell clusters apart
in all of R^d, and a private subspace is worth nothing."""


@public_value
@dataclass(frozen=True)
class Regime:
    """The way a run takes.

    Attributes:
        name: `overlapping`: several public starts in R^d, the private rows choose. `separated-scarce`: private
            subspaces, public seeds in them. `separated-ample`: public seeds in R^d, no private subspace.
        reason: why, for a reader.
    """

    OVERLAPPING: ClassVar[str] = "overlapping"
    SCARCE: ClassVar[str] = "separated-scarce"
    AMPLE: ClassVar[str] = "separated-ample"

    name: str
    reason: str

    @classmethod
    def of(
        cls, m: int, d: int, k: int, smallest_weight: float, separation: float | None, overlapping: bool
    ) -> "Regime":
        """Tell the regime of a run with k components known beforehand.

        Args:
            m: public rows.
            d: columns.
            k: components.
            smallest_weight: w_min.
            separation: of public clusters, in standard deviations; None: too few public rows to judge.
            overlapping: what the superclustering made of it.
        """
        if k == 1:
            return cls(cls.OVERLAPPING, "one component: there is nothing to separate")
        if overlapping:
            near = "" if separation is None else f" ({separation:.1f} standard deviations, below {SEPARATED:g})"
            return cls(cls.OVERLAPPING, f"public clusters are too close to be told apart by distance{near}")
        if separation is None:
            text = f"{m} public rows are too few to measure how far components lie apart in {d} columns"
            return cls(cls.SCARCE, f"{text}: they are taken to be separated")
        apart = f"public clusters are {separation:.1f} standard deviations apart"
        wanted = math.ceil(_PLENTY * d / smallest_weight)
        if m >= wanted:
            return cls(
                cls.AMPLE, f"{apart}, and {m} public rows ({wanted} would do) tell them apart in all {d} columns"
            )
        return cls(
            cls.SCARCE, f"{apart}, and {m} public rows are fewer than the {wanted} that need no private subspace"
        )

    @classmethod
    def searching(cls, most: int) -> "Regime":
        """Tell the regime of a run that finds k: private rows decide what is separated."""
        return cls(cls.SCARCE, f"the number of components is looked for, up to {most}, among those that lie apart")


def _needed(k: int, smallest_weight: float) -> int:
    """Public rows below which a component may be missed: 5 log(k) / w_min."""
    return math.ceil(_FEW * math.log(max(k, 2)) / smallest_weight) if k > 1 else 2


def advice(m: int, k: int, smallest_weight: float) -> tuple[str, ...]:
    """What to say before anything is spent, where public rows are few."""
    wanted = _needed(k, smallest_weight)
    if m >= wanted:
        return ()
    text = f"{m} public rows are few for {k} components with weights from {smallest_weight:.2g}"
    return (f"{text}: one of them may have been missed; about {wanted} would do",)
