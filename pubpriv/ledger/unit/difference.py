"""How far the rows of persons with many rows differ from those of the others: what `auto` has to know beside sizes.

Where they do not, nothing is gained by counting more rows of a person; where they do, much. The run asks the mean of
all rows twice, each person counting once, and as many rows of each as tell the most in spite of their noise. How far
the two means are apart says how likely it is that much is left out when fewer rows count. Source: ours; nothing is
proven of it. Its price is that of any question.
"""

import math
from fractions import Fraction

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.images import MOST_WEIGHT
from pubpriv.data.questions import ClippedSums, PerPerson
from pubpriv.data.regions import Everything
from pubpriv.ledger.unit.size import TRIED, Differences, Sizes
from pubpriv.privacy.budgets import Purse

ONCE, MANY = "person/mean-once", "person/mean-many"
"""Labels of the two questions."""

SHARES = {ONCE: Fraction(1, 200), MANY: Fraction(1, 50)}
"""Shares of the run's allotment."""

_LEAST = 1e-150
"""A column of public rows that varies less is left as it is; it shows nothing, and a frame is of finite numbers."""

_POSSIBLE = 0.02 * 2.0 ** np.arange(7)
"""Differences that there may be. Before the two answers the least, which is hardly one, is as likely as all others."""


def asked(purse: Purse, public: np.ndarray, sizes: Sizes) -> dict[str, PerPerson]:
    """Return the two questions, or none, where noise lets no more than one row of a person count, whatever they say.

    Args:
        purse: of the run.
        public: rows (m, d), two at least, which say where columns lie.
        sizes: as released.
    """
    pays = sizes.rows_that_pay(public.shape[1], purse.rho, ((float(_POSSIBLE[-1]), 1.0),))
    if pays == 1 or purse.radial:  # epsilon is too dear for two more questions
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
    """Rows of a person in the second question: what it leaves out less than the first, over the noise in its mean."""
    once = sizes.counted(1)
    return max(TRIED, key=lambda most: (sizes.counted(most) - once) * sizes.counted(most) / most)


def differences(sizes: Sizes, questions: dict[str, PerPerson], sums: dict[str, np.ndarray]) -> Differences:
    """Return how many standard deviations means of rows that count and of rows left out may differ, with their chances.

    A difference is taken to be that of each column by a normal law, so that what was seen of a column is normal too.

    Args:
        sizes: as released.
        questions: that were answered.
        sums: released, (d,) each.
    """
    rows = {label: sizes.counted(question.most) for label, question in questions.items()}
    noise = {label: float(question.noise()["sum"].flat[0]) / rows[label] for label, question in questions.items()}
    off = sums[MANY] / rows[MANY] - sums[ONCE] / rows[ONCE]
    by_chance = noise[MANY] ** 2 + noise[ONCE] ** 2 + 1 / sizes.effective(questions[MANY].most)
    counted = (rows[MANY] - rows[ONCE]) / sizes.counted()
    variances = by_chance + (_POSSIBLE * counted) ** 2
    chances = -off.size * np.log(variances) / 2 - float((off**2).sum()) / variances / 2
    chances[0] += math.log(len(_POSSIBLE) - 1)
    chances = np.exp(chances - chances.max())
    return tuple(zip(_POSSIBLE.tolist(), (chances / chances.sum()).tolist(), strict=True))
