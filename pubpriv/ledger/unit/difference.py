"""Estimate how far rows of persons with many rows differ from other rows, which `auto` needs in addition to sizes.

If they do not differ, counting more rows of a person gains nothing; if they do, it gains much. The run asks the mean of
all rows twice: once each person counts once, once as many rows of each count as gives the most information in spite
of the noise. The distance of the two means shows how likely it is that much is left out when fewer rows count. Source:
ours; nothing is proven about it. It is paid for like any question.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.images import MOST_WEIGHT
from pubpriv.data.questions import ClippedSums, PerPerson
from pubpriv.data.regions import Everything
from pubpriv.ledger.unit.size import TRIED, Differences, Learnt, Sizes
from pubpriv.privacy.budgets import Purse

ONCE, MANY = "person/mean-once", "person/mean-many"
"""Labels of the two questions."""

SHARES = {ONCE: Fraction(1, 200), MANY: Fraction(1, 50)}
"""Shares of the run's allotment."""

_LEAST = 1e-150
"""Columns of public rows with a smaller spread are not scaled: they show nothing, and a frame needs finite numbers."""

_POSSIBLE = 0.02 * 2.0 ** np.arange(7)
"""Possible differences. A priori the smallest, which is almost none, is as likely as all others together."""


def asked(purse: Purse, public: np.ndarray, sizes: Sizes) -> dict[str, PerPerson]:
    """Return the two questions, or none if the noise allows only one row of a person whatever the answers are.

    Args:
        purse: the run's purse.
        public: public rows (m, d), at least two, for location and scale of columns.
        sizes: released sizes.
    """
    pays = sizes.rows_that_pay(public.shape[1], purse.rho, ((float(_POSSIBLE[-1]), 1.0),))
    if pays == 1 or purse.radial:  # in pure DP two more questions cost too much
        return {}
    many = _most_telling(sizes)
    prices = purse.split([*SHARES.values(), 1 - sum(SHARES.values(), Fraction(0))])
    spread = public.std(axis=0)
    frame = Frame.of(public.mean(axis=0), np.diag(1 / np.where(spread > _LEAST, spread, 1.0)))
    radius = (math.sqrt(public.shape[1]) + 1.5,)
    return {
        label: PerPerson(ClippedSums.priced(Everything(), (frame,), radius, price / most**2), most, MOST_WEIGHT)
        for label, price, most in zip(SHARES, prices, (1, many), strict=False)
    }


def _most_telling(sizes: Sizes) -> int:
    """Rows of a person in the second question: the most that it counts beyond the first, relative to its noise."""
    once = sizes.counted(1)
    return max(TRIED, key=lambda most: (sizes.counted(most) - once) * sizes.counted(most) / most)


def differences(sizes: Sizes, questions: dict[str, PerPerson], sums: dict[str, np.ndarray]) -> Differences:
    """Return possible differences between the means of counted and of omitted rows, in sds, with their probabilities.

    The difference of each column is modelled as normal with that sd, so what was observed of a column is normal too.

    Args:
        sizes: released sizes.
        questions: the two questions.
        sums: released sums, (d,) each.
    """
    off, by_chance, counted = _seen(sizes, questions, sums)
    variances = by_chance + (_POSSIBLE * counted) ** 2
    chances = -off.size * np.log(variances) / 2 - float((off**2).sum()) / variances / 2
    chances[0] += math.log(len(_POSSIBLE) - 1)
    chances = np.exp(chances - chances.max())
    return tuple(zip(_POSSIBLE.tolist(), (chances / chances.sum()).tolist(), strict=True))


def learnt(
    sizes: Sizes, questions: dict[str, PerPerson], sums: dict[str, np.ndarray], most: int, columns: tuple[str, ...]
) -> Learnt:
    """Tell by how much the two targets of a run differ that counts `most` rows of a person.

    The rows that are not counted in full are taken to differ from the others as those do that only one question counts.

    Args:
        sizes: released sizes.
        questions: the two questions.
        sums: released sums, (d,) each.
        most: L.
        columns: names of the columns.
    """
    off, by_chance, counted = _seen(sizes, questions, sums)
    asked: Any = questions[ONCE].inner
    scales = 1 / np.diag(asked.frames[0].dense()[1]) / counted
    everything = sizes.counted()
    return Learnt(
        columns,
        tuple((off * scales).tolist()),
        tuple((math.sqrt(by_chance) * np.abs(scales)).tolist()),
        sizes.counted(most) / everything,
        sizes.counted(1) / everything,
    )


def _seen(
    sizes: Sizes, questions: dict[str, PerPerson], sums: dict[str, np.ndarray]
) -> tuple[np.ndarray, float, float]:
    """Compute the distance of the two means, (d,) in sds, its variance by chance, and which share of rows makes it."""
    rows = {label: sizes.counted(question.most) for label, question in questions.items()}
    noise = {label: float(question.noise()["sum"].flat[0]) / rows[label] for label, question in questions.items()}
    off = sums[MANY] / rows[MANY] - sums[ONCE] / rows[ONCE]
    by_chance = noise[MANY] ** 2 + noise[ONCE] ** 2 + 1 / sizes.effective(questions[MANY].most)
    return off, by_chance, (rows[MANY] - rows[ONCE]) / sizes.counted()
