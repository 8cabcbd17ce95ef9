"""A Gaussian without public rows and without bounds: place and width of the columns are asked for, too.

A search replaces the public rows. Each column is cut into cells of one width, and the fullest cell is asked for
(`StableCells`). The least width at which it contains a quarter of the rows, to a factor of four, is about the column's
standard deviation, and the cell lies about its median. The widths of all columns are found in parallel by bisection,
from 1e-76 to 1e76. The learner continues from there: it corrects columns that are off by far more than that.

Source: replaces Ashtiani and Liaw 2022 in the paper (lemma A.24 (1)): a Gaussian without any bounds under
(epsilon, delta)-DP. The idea is that of stability-based histograms (Karwa and Vadhan 2018); the details are ours.
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
from pubpriv.estimators._whole_rows import WholeRows, count_whole_rows
from pubpriv.estimators.asks import Ask, Plan, split_purse
from pubpriv.estimators.gaussian._bulk import fit_to_gaussian
from pubpriv.estimators.gaussian._learner import Fitted, Measured, Position, measure, walk
from pubpriv.estimators.gaussian._plan import LearnerPlan, check_run, enough_for, learner_plan
from pubpriv.estimators.gaussian._preconditioner import Preconditioner
from pubpriv.estimators.gaussian._public_shape import PublicShape
from pubpriv.estimators.gaussian._results import GaussianResult, debiased
from pubpriv.estimators.steps import Execution, step
from pubpriv.privacy.budgets import Purse

_STEPS = 8
_WIDTHS = (1 << _STEPS) - 1
"""Number of widths, each four times the one before; this many bisection steps distinguish all of them, and "none"."""

_FULL = Fraction(1, 4)
"""A width is sufficient if this share of all rows is counted in one cell: an edge may split half of the rows in two."""

_CLEAR = Fraction(1, 5)
"""The threshold is at this share of the rows if the budget permits; less noise would not improve the decision."""

_HIGHEST = Fraction(3, 10)
"""A threshold above this share of the rows might never be passed."""

_LEAST_SHARE, _MOST_SHARE = Fraction(1, 500), Fraction(1, 4)
"""Least and largest share of the budget for the search."""

_EMPTY = 1000
"""Cells with less than one row in this many count as empty, so a column has no more cells than this."""

_TO_SD = 0.75
"""The standard deviation as a multiple of the found width, which is between two thirds and four times that of one
sd."""


_FINEST = 2.0**40
"""A cell at this many times its width from zero contains a single value, as far as floating point can distinguish."""

_ASTRAY = 2.0**20
"""If the rounds leave a column this many times as wide as the search found it, they have gone wrong: with a factor of
more than about a tenth of this, none of them converge."""


@public_value
@dataclass(frozen=True)
class _NoPublicPlan(Plan):
    """The questions of a run without public rows.

    Attributes:
        searches: asks for cells, one after the other.
        learner: the plan of the learner from there on.
    """

    searches: tuple[Ask, ...]
    learner: LearnerPlan

    @classmethod
    def of(cls, searches: tuple[Ask, ...], learner: LearnerPlan) -> "_NoPublicPlan":
        """Make it: whole rows are counted first."""
        first, *others = learner.asks
        return cls((first, *searches, *others), searches, learner)

    @property
    def paths(self) -> tuple["_NoPublicPlan", ...]:
        """The plans by where the learner's rounds may end."""
        return tuple(self.of(self.searches, learner) for learner in self.learner.paths)

    def learner_purse(self, purse: Purse) -> Purse:
        """Give the part of a run's purse that the learner has."""
        return purse.part(sum((ask.price for ask in self.learner.asks), Fraction(0)))


def no_public_plan(purse: Purse, n: int, d: int, each: int | None = None) -> _NoPublicPlan:
    """Make the plan for n rows of d columns.

    Args:
        purse: purse of the method.
        n: number of rows that the learner counts.
        d: number of columns.
        each: number of rows that the search counts, one per person; None: n.

    Raises:
        InvalidInput: the budget cannot pay for the thresholds, or none could be passed.
    """
    rows = each or n
    distance, least = purse.distance(_STEPS * d), rows // _EMPTY
    prices = purse.split([share := _share(purse, rows, d, distance), 1 - share])
    blank = partial(_blank, Frame((0.0,) * d), rows, least, distance)
    shares = {f"cells-{i + 1}": (Fraction(1, _STEPS), blank) for i in range(_STEPS)}
    searches = split_purse(purse.part(prices[0]), "gaussian", shares)
    _check_threshold(blank(searches["cells-1"]), rows)
    learner = learner_plan(purse.part(prices[1]), n, d)
    return _NoPublicPlan.of(tuple(searches.values()), learner)


def _share(purse: Purse, n: int, d: int, distance: Fraction) -> Fraction:
    """Compute the share of the purse that puts the threshold at `_CLEAR` of the rows, within bounds.

    A threshold of this many sds is `least` + distance / w records, and the searches cost 2 d w^2 each.
    """
    weight = distance / (n * _CLEAR - n // _EMPTY)
    wanted = _STEPS * 2 * d * weight**2 / purse.squared_distance(purse.units)
    return max(_LEAST_SHARE, min(_MOST_SHARE, wanted.limit_denominator(10_000)))


def _blank(frame: Frame, n: int, least: int, distance: Fraction, ask: Ask) -> StableCells:
    """Ask for cells; their widths are the inverse of the frame's diagonal."""
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
    """What the search knows: which widths remain for each column, and the least one that was sufficient.

    Attributes:
        low, high: range of the index of the least sufficient width, both included; `_WIDTHS`: none is.
        centers: middle of the fullest cell at the width with index `high`, in the table's units; 0 if none was found.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    centers: tuple[float, ...]

    @classmethod
    def nowhere(cls, d: int) -> "Located":
        """Make the state before the first search: nothing is known of d columns."""
        return cls((0,) * d, (_WIDTHS,) * d, (0.0,) * d)

    @property
    def widths(self) -> np.ndarray:
        """Widths (d,) of the cells to ask for next or, at the end, of those that were found."""
        middle = (np.array(self.low) + np.array(self.high)) // 2
        return np.asarray(2.0 ** (2.0 * (middle - _WIDTHS // 2)))

    def answered(self, full: np.ndarray, cells: np.ndarray) -> "Located":
        """Update the state by an answer.

        Args:
            full: (d,) whether each column's fullest cell contains enough rows.
            cells: indices of the fullest cells.
        """
        low, high = np.array(self.low), np.array(self.high)
        middle = (low + high) // 2
        centers = np.where(full, (cells + 0.5) * self.widths, self.centers)
        low, high = np.where(full, low, middle + 1), np.where(full, middle, high)
        return Located(tuple(low.tolist()), tuple(high.tolist()), tuple(centers.tolist()))


@step(title="find cells", private=True)
def _find_cells(curator: Curator, located: Located, ask: Ask, whole: WholeRows) -> Located:
    """Ask for one bisection step of the widths, for all columns at once; a full cell has a share of the whole rows.

    Privacy: one `StableCells`, mu^2 at most ask.price, and its threshold's failures.
    """
    asked = ask.question
    if not isinstance(asked, StableCells):
        raise InvalidInput(f"{ask.label} is no search for cells")
    d = len(located.low)
    frame = Frame((0.0,) * d, None, tuple((1 / located.widths).tolist()))
    answer = curator.release(replace(asked, frame=frame), ask.label)
    full = float(_FULL) * curator.size.one_each * min(whole.rows / curator.n_rows, 1.0)
    return located.answered(answer.values["count"] >= full, answer.values["cell"])


@step(title="standardise columns")
def _standardise(located: Located, columns: tuple[str, ...]) -> Preconditioner:
    """Make center and scale of each column from the search, instead of from public rows.

    Raises:
        NoAnswer: a column has no cell with enough rows, or one as narrow as a single value.
    """
    high = np.array(located.high)
    lost = high == _WIDTHS
    points = (high == 0) | (np.abs(located.centers) > _FINEST * located.widths)
    if lost.any() or points.any():
        raise NoAnswer(_nothing(columns, lost, points))
    scale = _TO_SD * located.widths
    return Preconditioner(located.centers, _diagonal(1 / scale), _diagonal(scale), 0)


def _check_agreement(found: Preconditioner, position: Position, columns: tuple[str, ...]) -> None:
    """Refuse to continue if the rounds contradict the search.

    Then about a quarter of the rows have one value: noise decides whether a cell around it contains enough rows, so the
    cell may have any width. The column that made the rounds fail affects the others, too.

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
    """Say for which columns there is no answer, and what was paid."""

    def named(those: np.ndarray) -> str:
        return ", ".join(name for name, chosen in zip(columns, those, strict=True) if chosen)

    why = [f"no quarter of the rows lies close together in {named(lost)} (missing values?)"] * bool(lost.any())
    why += [f"a quarter of the rows or more has one and the same value in {named(points)}"] * bool(points.any())
    return (
        f"no answer: {'; '.join(why)}. The search for the columns is paid for, the rest of the run's budget is not: "
        "leave these columns out, or give public rows"
    )


def no_public(run: Execution, purse: Purse, force: bool) -> GaussianResult:
    """Run the search for the columns, then the learner.

    Args:
        run: run of the curator.
        purse: purse of the method.
        force: whether to run below the learner's line of feasibility, too.

    Raises:
        InvalidInput: see `no_public_plan`.
        NoAnswer: see `_standardise` and `_check_agreement`.
    """
    curator = run.curator
    n, d = curator.n_rows, len(curator.columns)
    each = curator.size.one_each
    # a threshold depends on the delta held for failures, and a resumed run must ask what it planned
    with refusing_by(curator.size):
        plan = curator.settled("gaussian/no-public", partial(no_public_plan, purse, n, d, each))
        paid = plan.learner_purse(purse)
    check_run(curator, d, paid, force)
    curator.rehearse(*(path.questions for path in plan.paths))
    whole = count_whole_rows(run, plan.learner.count, enough_for(curator, d, paid, force))
    located = Located.nowhere(d)
    for number, ask in enumerate(plan.searches, start=1):
        located = run.at(f"{number} of {_STEPS}")(_find_cells, located, ask, whole)
    preconditioner = run(_standardise, located, curator.columns)
    center, whitening, _ = preconditioner.arrays
    position, learner = walk(run, Frame.of(center, whitening), math.sqrt(d), plan.learner, whole)
    _check_agreement(preconditioner, position, curator.columns)
    measured = run(measure, position, learner.final, whole)
    fitted = run(_as_measured, measured)
    fit = fit_to_gaussian(run, fitted, measured, PublicShape(), plan.learner.histogram)
    followed = _NoPublicPlan.of(plan.searches, learner)
    return debiased(curator, preconditioner, measured, followed, paid, fitted, fit, whole)


@step(title="in the table's units")
def _as_measured(measured: Measured) -> Fitted:
    """Convert the final release to the table's units; there are no public rows to pool it with."""
    center, matrix = measured.frame.dense()
    colour = np.linalg.inv(matrix)
    return Fitted.of(center + colour @ np.array(measured.mean), colour @ np.array(measured.covariance) @ colour.T)


def _diagonal(values: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return row_tuples(np.diag(values))
