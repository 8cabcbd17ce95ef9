"""Settings of `estimate_quantiles`: what a user may choose."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pubpriv.estimators.settings import Grouped, setting


@dataclass(frozen=True, kw_only=True)
class CountedSettings(Grouped):
    """Settings of what is counted beside ranks, and of groups."""

    shares: tuple[str, ...] = setting(
        (),
        planned=True,
        help="Columns to count, not to rank: yes/no, categories, ratings. Levels are those of the public rows, or "
        "declared: levels(region, north, south)",
    )
    above: Mapping[str, float] = setting(
        default_factory=dict, planned=True, help="Count the rows above this value of a column, too"
    )


@dataclass(frozen=True)
class DescribeSettings(CountedSettings):
    """Settings of a description: its ranks are always the same."""

    at: ClassVar[tuple[float, ...] | None] = None


@dataclass(frozen=True)
class QuantilesSettings(CountedSettings):
    """Settings of quantiles."""

    at: tuple[float, ...] = setting(
        (0.1, 0.25, 0.5, 0.75, 0.9), planned=True, help="Ranks, rising, as shares of the rows: 0.25,0.5,0.75"
    )
