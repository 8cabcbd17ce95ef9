"""How many rows count: those without a missing or infinite value, and how near to their number a rank may come."""

from dataclasses import dataclass

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Everything
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step

_MARGIN, _LEAST_MARGIN = 3.5, 20.0
"""A high quantile leaves this many sds of its noisy counts above it, and this many rows: else noise alone could carry
it beyond the records."""

_DOUBT = 2.0
"""Sds of the count of whole rows within which no row is taken to be missing, and which the margin allows for."""


@public_value
@dataclass(frozen=True)
class Whole:
    """How many rows have no missing or infinite value.

    Attributes:
        records: n, or the released count where it is clearly less; see `Size.counted`.
        sd: of the noise in that count.
    """

    records: float
    sd: float

    def high_rank(self, sd: float) -> float:
        """Give a rank that noise of its counts does not carry beyond the records.

        It is n - max(3.5 sd, 20) - 2 sd of n, at least n / 2.
        """
        margin = max(_MARGIN * sd, _LEAST_MARGIN) + _DOUBT * self.sd
        return max(self.records - margin, self.records / 2)


def count_question(ask: Ask) -> Counts:
    """How many rows have finite cells throughout."""
    return Counts.priced(Everything(), ask.price)


@step(title="count of whole rows", private=True)
def count_rows(curator: Curator, ask: Ask) -> Whole:
    """How many rows count: ranks near the top must not ask for more than there are.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(count_question(ask), ask.label)
    count, sd = float(answer.values["count"][0]), bounding_sd(answer.question, "count")
    return Whole(curator.size.counted(count, sd, _DOUBT, least=2.0), curator.size.counted_sd(sd))
