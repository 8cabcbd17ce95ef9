"""Count the whole rows: those without a missing or infinite value."""

from pubpriv.curator import Curator
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Everything
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step

_DOUBT = 2.0
"""No row is taken to be incomplete if the count of whole rows is within this many sds of n."""


def count_question(ask: Ask) -> Counts:
    """Ask how many rows have only finite cells."""
    return Counts.priced(Everything(), ask.price)


@step(title="count of whole rows", private=True)
def count_rows(curator: Curator, ask: Ask) -> float:
    """Count the whole rows: n, or the released count if it is clearly less; see `Size.counted`.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(count_question(ask), ask.label)
    count, sd = float(answer.values["count"][0]), bounding_sd(answer.question, "count")
    return curator.size.counted(count, sd, _DOUBT, least=2.0)
