"""A Gaussian without public rows and without bounds: where the columns lie, and how wide they are, is asked as well.

The role of public rows is played by a search. Each column is cut into cells of one width, and the fullest cell is asked
for (`StableCells`); the least width at which it holds a quarter of the rows, to a factor of four, is about the column's
standard deviation, and the cell lies about its median. The widths of all columns are halved in, side by side, from
1e-76 to 1e76. The learner goes on from there: it forgives columns that are off by far more than that.

Source: the part that Ashtiani and Liaw 2022 play in the paper (lemma A.24 (1)): a Gaussian without any bounds under
(epsilon, delta)-DP. The way is that of stability-based histograms (Karwa and Vadhan 2018) and is ours in its details.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import StableCells
from pubpriv.data.questions.base import COUNT_FACTOR
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators._few_rows import refusing_by
from pubpriv.estimators.asks import Ask, Plan, split_purse
from pubpriv.estimators.gaussian._bulk import fit_to_gaussian
from pubpriv.estimators.gaussian._learner import Fitted, Measured, Position, measure, walk
from pubpriv.estimators.gaussian._plan import LearnerPlan, check_run, learner_plan
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._results import GaussianResult, debiased
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse

_STEPS = 8
_WIDTHS = (1 << _STEPS) - 1
"""Widths that are tried, each four times the one before; so many steps of halving tell all of them, and none, apart."""

_FULL = Fraction(1, 4)
"""A width is enough if so much of all rows comes out in one cell: half of them may lie on either side of an edge."""

_CLEAR = Fraction(1, 5)
"""The threshold lies at this part of the rows where the budget allows; more noise would decide nothing better."""

_HIGHEST = Fraction(3, 10)
"""A threshold above this part of the rows might never be passed."""

_LEAST_SHARE, _MOST_SHARE = Fraction(1, 500), Fraction(1, 4)
"""What the search takes of the budget, at least and at most."""

_EMPTY = 1000
"""Cells with fewer than one in so many of the rows count as empty: a column has no more cells than this."""

_TO_SD = 0.75
"""A standard deviation over the width that was found: that is between two thirds and four times two thirds of one."""


_FINEST = 2.0**40
"""A cell that is so much further from zero than it is wide holds one value, for all that floating point can tell."""

_ASTRAY = 2.0**20
"""A column that the rounds leave so many times as wide as the search found it has led them astray: beyond a factor of
about a tenth of this none of them converge."""


@public_value
@dataclass(frozen=True)
class _NoPublicPlan(Plan):
    """Questions of a run without public rows.

    Attributes:
        searches: for cells, one after the other.
        learner: what is asked from there.
    """

    searches: tuple[Ask, ...]
    learner: LearnerPlan

    def learner_purse(self, purse: Purse) -> Purse:
        """The part of a run's purse that the learner has."""
        return purse.part(sum((ask.price for ask in self.learner.asks), Fraction(0)))


def no_public_plan(purse: Purse, n: int, d: int, each: int | None = None) -> _NoPublicPlan:
    """Make the plan on n rows of d columns.

    Args:
        purse: of the method.
        n: rows that the learner counts.
        d: columns.
        each: rows that the search counts, one of each person; None: n.

    Raises:
        InvalidInput: the budget pays for no thresholds, or none could be passed.
    """
    rows = each or n
    distance, least = purse.distance(_STEPS * d), rows // _EMPTY
    prices = purse.split([share := _share(purse, rows, d, distance), 1 - share])
    blank = partial(_blank, Frame((0.0,) * d), rows, least, distance)
    shares = {f"cells-{i + 1}": (Fraction(1, _STEPS), blank) for i in range(_STEPS)}
    searches = split_purse(purse.part(prices[0]), "gaussian", shares)
    _check_threshold(blank(searches["cells-1"]), rows)
    learner = learner_plan(purse.part(prices[1]), n, d)
    return _NoPublicPlan((*searches.values(), *learner.asks), tuple(searches.values()), learner)


def _share(purse: Purse, n: int, d: int, distance: Fraction) -> Fraction:
    """The part of the purse at which the threshold lies at `_CLEAR` of the rows, within bounds.

    A threshold of so many sds is `least` + distance / w records, and the searches cost 2 d w^2 each.
    """
    weight = distance / (n * _CLEAR - n // _EMPTY)
    wanted = _STEPS * 2 * d * weight**2 / purse.squared_distance(purse.units)
    return max(_LEAST_SHARE, min(_MOST_SHARE, wanted.limit_denominator(10_000)))


def _blank(frame: Frame, n: int, least: int, distance: Fraction, ask: Ask) -> StableCells:
    """The question for cells of the widths that are the inverse of the frame's diagonal."""
    return StableCells.priced(frame, n, least, ask.price, distance)


def _check_threshold(question: StableCells, n: int) -> None:
    highest = question.threshold / COUNT_FACTOR
    if highest > _HIGHEST * n:
        raise InvalidInput(
            f"{n} private rows are too few to find {question.alone} columns without public rows at this budget: a "
            f"column shows only where more than {math.ceil(highest)} rows lie close together. About "
            f"{math.ceil(highest / _HIGHEST)} rows would do, or a larger budget; {question.alone + 1} public rows "
            "make the search unnecessary"
        )


@public_value
@dataclass(frozen=True)
class Located:
    """What the search knows: of each column, which widths are left, and the finest one that was enough.

    Attributes:
        low, high: the least number of a width that is enough lies between, both included; `_WIDTHS`: none is.
        centers: middle of the fullest cell at the width of number `high`, in the table's units; 0 where none was found.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    centers: tuple[float, ...]

    @classmethod
    def nowhere(cls, d: int) -> "Located":
        """Make what is known of d columns before the first search: nothing."""
        return cls((0,) * d, (_WIDTHS,) * d, (0.0,) * d)

    @property
    def widths(self) -> np.ndarray:
        """Widths of the cells to be asked for next, or of those that were found at the end, (d,)."""
        middle = (np.array(self.low) + np.array(self.high)) // 2
        return np.asarray(2.0 ** (2.0 * (middle - _WIDTHS // 2)))

    def answered(self, full: np.ndarray, cells: np.ndarray) -> "Located":
        """Give what is known after an answer.

        Args:
            full: which columns have a cell that holds enough, (d,).
            cells: numbers of the fullest ones.
        """
        low, high = np.array(self.low), np.array(self.high)
        middle = (low + high) // 2
        centers = np.where(full, (cells + 0.5) * self.widths, self.centers)
        low, high = np.where(full, low, middle + 1), np.where(full, middle, high)
        return Located(tuple(low.tolist()), tuple(high.tolist()), tuple(centers.tolist()))


@step(title="find cells", private=True)
def _find_cells(curator: Curator, located: Located, ask: Ask) -> Located:
    """Ask for one halving of the widths, for all columns at once.

    Privacy: one `StableCells`, mu^2 at most ask.price, and its threshold's failures.
    """
    asked = ask.question
    if not isinstance(asked, StableCells):
        raise InvalidInput(f"{ask.label} is no search for cells")
    d = len(located.low)
    frame = Frame((0.0,) * d, None, tuple((1 / located.widths).tolist()))
    answer = curator.release(replace(asked, frame=frame), ask.label)
    return located.answered(answer.values["count"] >= float(_FULL) * curator.size.one_each, answer.values["cell"])


@step(title="standardise columns")
def _standardise(located: Located, columns: tuple[str, ...]) -> Preconditioner:
    """Center and scale of each column, as the search has found them, in the place of public rows.

    Raises:
        NoAnswer: a column without a cell that holds enough, or with one that is as narrow as a value.
    """
    high = np.array(located.high)
    lost = high == _WIDTHS
    points = (high == 0) | (np.abs(located.centers) > _FINEST * located.widths)
    if lost.any() or points.any():
        raise NoAnswer(_nothing(columns, lost, points))
    scale = _TO_SD * located.widths
    return Preconditioner(located.centers, _diagonal(1 / scale), _diagonal(scale), 0)


def _check_agreement(found: Preconditioner, position: Position, columns: tuple[str, ...]) -> None:
    """Refuse to go on where the rounds contradict the search.

    About a quarter of the rows have one value, then: noise decides whether a cell around it holds enough, so the cell
    may be of any width. The column that led the rounds astray takes the others with it.

    Raises:
        NoAnswer: the rounds left a column far wider than the search found it.
    """
    _, _, colour = found.arrays
    _, matrix = position.frame.dense()
    wider = np.linalg.norm(np.linalg.inv(matrix), axis=1) / np.diag(colour)
    worst = int(np.argmax(wider))
    if not wider[worst] <= _ASTRAY:
        raise NoAnswer(
            f"no answer: about a quarter of the rows have nearly the same value in {columns[worst]}, and the rest lie "
            "elsewhere. Search and rounds are paid for, the final release is not: leave the column out, or give "
            "public rows"
        )


def _nothing(columns: tuple[str, ...], lost: np.ndarray, points: np.ndarray) -> str:
    """Say of which columns there is no answer, and what was paid."""

    def named(those: np.ndarray) -> str:
        return ", ".join(name for name, chosen in zip(columns, those, strict=True) if chosen)

    why = [f"no quarter of the rows lies close together in {named(lost)} (missing values?)"] * bool(lost.any())
    why += [f"a quarter of the rows or more has one and the same value in {named(points)}"] * bool(points.any())
    return (
        f"no answer: {'; '.join(why)}. The search for the columns is paid for, the rest of the run's budget is not: "
        "leave these columns out, or give public rows"
    )


def no_public(run: Execution, purse: Purse, force: bool) -> GaussianResult:
    """Search for the columns, then run the learner.

    Args:
        run: of the curator.
        purse: of the method.
        force: run below the learner's line of feasibility as well.

    Raises:
        InvalidInput: see `no_public_plan`.
        NoAnswer: see `standardise` and `check_agreement`.
    """
    curator = run.curator
    n, d = curator.n_rows, len(curator.columns)
    each = curator.size.one_each
    # a threshold depends on what is held for failures, and a resumed run has to ask what it planned
    with refusing_by(curator.size):
        plan = curator.settled("gaussian/no-public", partial(no_public_plan, purse, n, d, each))
        paid = plan.learner_purse(purse)
    check_run(curator, d, paid, force)
    curator.rehearse(plan.questions)
    located = Located.nowhere(d)
    for number, ask in enumerate(plan.searches, start=1):
        located = run.at(f"{number} of {_STEPS}")(_find_cells, located, ask)
    preconditioner = run(_standardise, located, curator.columns)
    center, whitening, _ = preconditioner.arrays
    position = walk(run, Position(Frame.of(center, whitening), n), math.sqrt(d), plan.learner)
    _check_agreement(preconditioner, position, curator.columns)
    measured = run(measure, position, plan.learner.final)
    fitted = run(_as_measured, measured)
    fit = fit_to_gaussian(run, fitted, measured.records, PublicShape(), plan.learner.histogram)
    return debiased(curator, preconditioner, measured, plan, paid, fitted, fit)


@step(title="in the table's units")
def _as_measured(measured: Measured) -> Fitted:
    """The final release in the table's units; there are no public rows to pool it with."""
    center, matrix = measured.frame.dense()
    colour = np.linalg.inv(matrix)
    return Fitted.of(center + colour @ np.array(measured.mean), colour @ np.array(measured.covariance) @ colour.T)


def _diagonal(values: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return row_tuples(np.diag(values))
