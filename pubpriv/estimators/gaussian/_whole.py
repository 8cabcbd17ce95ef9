"""How many rows count: those without a missing or infinite value."""

from pubpriv.curator import Curator
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Everything
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step

_DOUBT = 2.0
"""Sds of the count of whole rows within which no row is taken to be missing."""


def count_question(ask: Ask) -> Counts:
    """How many rows have finite cells throughout."""
    return Counts.priced(Everything(), ask.price)


@step(title="count of whole rows", private=True)
def count_rows(curator: Curator, ask: Ask) -> float:
    """Count the rows that count: n, or the released count where it is clearly less; see `Size.counted`.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(count_question(ask), ask.label)
    count, sd = float(answer.values["count"][0]), bounding_sd(answer.question, "count")
    return curator.size.counted(count, sd, _DOUBT, least=2.0)
