"""Read the shares of all columns off their distributions."""

from collections.abc import Iterator, Sequence

from pubpriv.estimators.quantiles._targets import Targets, level_names
from pubpriv.released.described import LevelShare
from pubpriv.released.distributions.distribution import Distribution
from pubpriv.released.distributions.reading import share_missing, share_up_to, shares_of_heaps
from pubpriv.released.numbers import MISSING


def shares_of(
    names: Sequence[str], columns: Sequence[Distribution], targets: Targets, records: float, widening: float
) -> tuple[LevelShare, ...]:
    """Read the shares of all columns."""
    facts = zip(names, columns, targets.above, strict=True)
    return tuple(each for fact in facts for each in _shares(*fact, records, widening))


def _shares(
    name: str, column: Distribution, above: Sequence[float], records: float, widening: float
) -> Iterator[LevelShare]:
    """Yield the share of missing cells, of each value with a cell of its own, and of what lies above others."""
    yield LevelShare(name, MISSING, share_missing(column, records, widening))
    counted = shares_of_heaps(column, widening)
    for value, text in level_names(name, tuple(counted)).items():
        yield LevelShare(name, text, counted[value])
    for value in above:
        yield LevelShare(name, f"> {value:.12g}", share_up_to(column, value, widening).rest)
