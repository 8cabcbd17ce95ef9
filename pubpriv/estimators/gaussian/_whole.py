"""Count the whole rows: those without a missing or infinite value."""

from pubpriv.curator import Curator
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Everything
from pubpriv.estimators._whole_rows import SURELY
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import step


def count_question(ask: Ask) -> Counts:
    """Ask how many rows have only finite cells."""
    return Counts.priced(Everything(), ask.price)


def count_error(ask: Ask) -> float:
    """Return the standard error of that count, by noise."""
    return bounding_sd(count_question(ask), "count")


@step(title="count of whole rows", private=True)
def count_rows(curator: Curator, ask: Ask) -> float:
    """Count the whole rows: n, or the released count if it is clearly less; see `Size.counted`.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(count_question(ask), ask.label)
    count, sd = float(answer.values["count"][0]), bounding_sd(answer.question, "count")
    return curator.size.counted(count, sd, SURELY, least=2.0)
