"""Settings of `estimate_quantiles`: what a user may choose."""

from dataclasses import dataclass
from typing import ClassVar

from pubpriv.estimators.settings import setting


@dataclass(frozen=True)
class DescribeSettings:
    """Settings of a description: its ranks are always the same."""

    at: ClassVar[tuple[float, ...] | None] = None


@dataclass(frozen=True)
class QuantilesSettings:
    """Settings of quantiles."""

    at: tuple[float, ...] = setting(
        (0.1, 0.25, 0.5, 0.75, 0.9), planned=True, help="Ranks, rising, as shares of the rows: 0.25,0.5,0.75"
    )
