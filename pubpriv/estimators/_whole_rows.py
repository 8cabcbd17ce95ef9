"""Whole rows: those without a missing or infinite value. Others are left out of every question.

How many there are is asked before all else: what follows asks for the radius that holds half of them, divides by them,
and is not worth its price if there are almost none. Plans and prices do not depend on it, only what is put into a
question; see section 5 of `docs/privacy.md`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from pubpriv.common.confidence import SURELY
from pubpriv.curator import Curator
from pubpriv.data.codec import public_value
from pubpriv.data.questions import Counts
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import Everything
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.steps import Execution, step
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import percent
from pubpriv.released.findings import DOUBTFUL, NOTE, Finding

COUNT_SHARE, PURE_COUNT_SHARE = percent(1), Fraction(1, 1000)
"""Share of the count of whole rows in the budget, and in a pure run, where small shares cost more (`PureDP.split`): 1%
of epsilon. A larger one would take more from all that follows, a smaller one would not see a few missing rows."""

_CLEARLY = 2.5
"""Two targets differ if their difference is this many of its sds: with less, one column in some twenty is named that
does not."""

_TARGETS = {"rows": "rows as they are", "persons": "persons each counted once"}

_UNEVEN = 0.05
"""Share of what persons count for above which all numbers are doubtful; see `uneven`."""

LOOK = (
    "A column may be text in that file, have thousands separators, decimal commas or % signs, or stand beside names of "
    "rows that shift it: look at the file, or leave out a column that is mostly empty. What was asked is paid for, the "
    "rest of the run's budget is not; try again with another release id"
)


@public_value
@dataclass(frozen=True)
class WholeRows:
    """The number of whole rows, which a run counted first.

    Attributes:
        rows: n, or the count if it is clearly less; the mean of both by their noise if n was released, too.
        sd: of the noise in the count, or in that mean.
        fewer: whether the count is clearly less than a public n.
    """

    rows: float
    sd: float
    fewer: bool

    def of(self, size: Size) -> Size:
        """Return the size of the table without the rows that are left out.

        Args:
            size: size of the table; returned as it is if none are.
        """
        return replace(size, rows=max(2, round(self.rows)), sd=self.sd) if self.fewer or size.sd else size


def count_question(ask: Ask) -> Counts:
    """Ask how many rows have only finite cells."""
    return Counts.priced(Everything(), ask.price)


@step(title="count of whole rows", private=True)
def count_rows(curator: Curator, ask: Ask) -> WholeRows:
    """Count the whole rows; see `Size.counted`.

    Privacy: one `Counts`, mu^2 at most ask.price.
    """
    answer = curator.release(count_question(ask), ask.label)
    return whole_rows_of(curator.size, float(answer.values["count"][0]), bounding_sd(answer.question, "count"))


def whole_rows_of(size: Size, count: float, sd: float) -> WholeRows:
    """Read the number of whole rows off a released count of them; see `Size.counted`.

    Args:
        size: size of the table.
        count: released.
        sd: of its noise.
    """
    rows = size.counted(count, sd, SURELY, least=2.0)
    if not size.sd:
        return WholeRows(rows, sd, rows < size.rows)
    return WholeRows(rows, sd if rows == max(count, 2.0) else 1 / math.hypot(1 / sd, 1 / size.sd), fewer=False)


def count_whole_rows(run: Execution, ask: Ask, enough: Callable[[int], None] | None = None) -> WholeRows:
    """Count the whole rows before all else, and end the run if what is left of it would be spent on nothing.

    Args:
        run: the run.
        ask: label and price of the count.
        enough: refuses a number of rows, by `InvalidInput`; None: any number will do that is not noise alone.

    Raises:
        NoAnswer: there are clearly fewer whole rows than rows, and these are too few, or may be none. Where the number
            of rows was released, the driver has refused too few already; here, only none.
    """
    whole = run(count_rows, ask)
    end_if_too_few(whole, left_out(run.curator.size, whole.rows, whole.sd), enough)
    return whole


def end_if_too_few(whole: WholeRows, said: tuple[str, ...], enough: Callable[[int], None] | None = None) -> None:
    """End a run if what is left of it would be spent on nothing; see `count_whole_rows`.

    Args:
        whole: number of rows that later questions are about.
        said: what is left out; nothing if no row is.
        enough: refuses a number of rows, by `InvalidInput`; None: any number will do that is not noise alone.

    Raises:
        NoAnswer: rows are left out, and the others are too few, or may be none.
    """
    if not said:
        return
    why = ""
    if whole.rows <= max(2.0, SURELY * whole.sd):
        why = "if any is left, it is too few to be seen"
    elif whole.fewer and enough is not None:
        try:
            enough(round(whole.rows))
        except InvalidInput as error:
            why = str(error)
    if why:
        raise NoAnswer(f"no answer: {'; '.join(said)}: {why}. {LOOK}")


def whole_rows(size: Size, counts: np.ndarray, sd: float, share: float = 1.0) -> float:
    """Estimate the number of rows without missing values; see `Size.counted`.

    Args:
        size: number of rows of the table.
        counts: (regions,), released.
        sd: of the noise in each count.
        share: expected sum of the counts as a share of all complete rows; a row may be in several regions.
    """
    return size.counted(float(counts.sum()) / share, sd * math.sqrt(len(counts)) / share, SURELY, least=1.0)


def left_out(size: Size, whole: float, sd: float) -> tuple[str, ...]:
    """Report the share of rows that lack values, or of what persons count for; nothing if no released number tells.

    Args:
        size: number of rows of the table.
        whole: estimated number of rows without missing values.
        sd: standard error of that estimate, by noise alone.
    """
    if size.sd:
        return _left_out_of_persons(size)
    if whole >= size.rows - SURELY * sd:
        return ()
    about = _about(1 - whole / size.rows, sd / size.rows)
    return (f"about {about} of the private rows have a missing or infinite value and are left out",)


def of_persons(size: Size) -> tuple[Finding, ...]:
    """Find what makes the mean of persons another than is asked for: how their rows count, and which are whole."""
    return *_uneven(size), *_two_targets(size)


def _two_targets(size: Size) -> Iterator[Finding]:
    """Tell what `auto` chose, and where the two means differ that may be meant: of rows as they are, and of persons."""
    learnt = size.learnt
    if learnt is None:
        return
    counted = "each person once" if size.most == 1 else f"{size.most} rows of a person in full"
    text = f"auto counts {counted}, and with that {learnt.kept:.0%} of all rows"
    remedy = "say what is meant: --rows-per-person 1 for persons, or as many as they have for rows as they are"
    yield Finding("auto-rows", (), NOTE, text, {"kept": learnt.kept}, remedy=remedy)
    for name, targets in learnt.targets().items():
        clear = {what: each for what, each in targets.items() if abs(each["difference"]) > _CLEARLY * each["sd"] > 0}
        if not clear:
            continue
        told = [
            f"of {_TARGETS[what]} it is about {each['difference']:+.3g} (\u00b1{each['sd']:.1g}) from that"
            for what, each in clear.items()
        ]
        text = f"persons with many rows differ from others: the mean is that of the rows that count; {', '.join(told)}"
        figures = {f"{what}_{part}": value for what, each in clear.items() for part, value in each.items()}
        yield Finding("two-targets", (name,), NOTE, text, figures, ("mean",))


def _uneven(size: Size) -> tuple[Finding, ...]:
    """Find that persons count for so unlike shares of themselves that their mean may be another than is asked for.

    A person counts by the share of their rows that are whole. Where a twentieth is left out, and those who lack it
    differ by half a standard deviation from others, a mean moves by a fortieth of one: a standard error of 1,600 rows.
    """
    share, sd = size.deficit
    if share <= _UNEVEN:
        return ()
    return (
        Finding(
            "uneven-persons",
            (),
            DOUBTFUL,
            "persons count by the share of their rows that are whole, and those with fewer whole rows weigh less",
            {"share": share, "sd": sd},
            remedy="leave out a column that is often missing, or give each person one row, made beforehand",
        ),
    )


def _left_out_of_persons(size: Size) -> tuple[str, ...]:
    """Say what is left out of persons, if released numbers show that."""
    share, sd = size.deficit
    if not share:
        return ()
    least = "about" if size.most == 1 else "at least"
    text = (
        f"{least} {_about(share, sd)} of what persons count for is left out, in rows with a missing or infinite value: "
        "a person counts by the share of their rows that are whole, not once"
    )
    return (text,)


def _about(share: float, error: float) -> str:
    """Write a share with its error: `37.5% (+-1%, standard error)`."""
    return f"{100 * share:.3g}% (\u00b1{100 * error:.1g}%, standard error)"
