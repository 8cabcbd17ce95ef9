"""How far the rows of persons with many rows differ from those of the others: what `auto` has to know beside sizes.

Where they do not, nothing is gained by counting more rows of a person; where they do, much. The run asks the mean of
all rows twice, each person counting once, and as many rows of each as noise allows: by how much the two means differ
says what is left out when fewer rows count. Source: ours; nothing is proven of it. Its price is that of any question.
"""

import math
from fractions import Fraction

import numpy as np

from pubpriv.data.frames import Frame
from pubpriv.data.images import MOST_WEIGHT
from pubpriv.data.questions import ClippedSums, PerPerson
from pubpriv.data.regions import Everything
from pubpriv.privacy.budgets import Purse
from pubpriv.unit.size import Sizes

ONCE, MANY = "person/mean-once", "person/mean-many"
"""Labels of the two questions."""

SHARES = {ONCE: Fraction(1, 200), MANY: Fraction(1, 50)}
"""Of the run's allotment."""

_LARGE = 0.3
"""A difference, in standard deviations, for which the second question counts rows."""

_LEAST = 1e-150
"""A column of public rows that varies less is left as it is; it tells nothing, and a frame is of finite numbers."""

_DOUBT = 2.0
"""Of the squares that chance makes in the mean, so many are taken off: half of all tables would else seem to differ."""

_FLOOR = 0.02
"""A difference that is assumed at least."""


def asked(purse: Purse, public: np.ndarray, sizes: Sizes) -> dict[str, PerPerson]:
    """The two questions, or none, where noise lets no more than one row of a person count.

    Args:
        purse: of the run.
        public: rows (m, d), two at least, which say where columns lie.
        sizes: as released.
    """
    many = sizes.rows_that_pay(public.shape[1], purse.rho, _LARGE)
    if many == 1 or purse.radial:  # epsilon is too dear for two more questions
        return {}
    prices = purse.split([*SHARES.values(), 1 - sum(SHARES.values(), Fraction(0))])
    spread = public.std(axis=0)
    frame = Frame.of(public.mean(axis=0), np.diag(1 / np.where(spread > _LEAST, spread, 1.0)))
    radius = (math.sqrt(public.shape[1]) + 1.5,)
    return {
        label: PerPerson(ClippedSums.priced(Everything(), (frame,), radius, price / most**2), most, MOST_WEIGHT)
        for label, price, most in zip(SHARES, prices, (1, many), strict=False)
    }


def difference(sizes: Sizes, questions: dict[str, PerPerson], sums: dict[str, np.ndarray]) -> float:
    """Standard deviations by which means of rows that count and of rows left out differ.

    Args:
        sizes: as released.
        questions: that were answered.
        sums: released, (d,) each.
    """
    rows = {label: sizes.counted(question.most) for label, question in questions.items()}
    noise = {label: float(question.noise()["sum"].flat[0]) / rows[label] for label, question in questions.items()}
    off = sums[MANY] / rows[MANY] - sums[ONCE] / rows[ONCE]
    by_chance = noise[MANY] ** 2 + noise[ONCE] ** 2 + 1 / sizes.effective(questions[MANY].most)
    few, most = rows[ONCE], rows[MANY]
    squared = max(float(np.mean(off**2)) - _DOUBT * by_chance, 0.0)
    return max(math.sqrt(squared) / max((most - few) / sizes.counted(), 1e-9), _FLOOR)
