"""How much each law of tails is believed, by released counts and public rows, and what follows for an estimate."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pubpriv.estimators.gaussian.clipping import mean_constants
from pubpriv.estimators.gaussian.tail_belief import prior
from pubpriv.estimators.gaussian.tail_laws import TailLaw, tail_laws
from pubpriv.estimators.mixture._crowds import Crowds
from pubpriv.estimators.mixture._lone_tails import LoneTail
from pubpriv.estimators.mixture._tail_rows import DRAWN, HARDLY_A_ROW, DrawnRows, OddKinds, TailCounts
from pubpriv.released.numbers import Z95

_GAUSSIAN = 0.65
"""Prior chance that rows of components are Gaussian: that of a single Gaussian's rows is .4, but of rows in groups the
tails that these make together are explained."""

_AT_MOST = 3.0
"""Public rows change the weight of a law against the Gaussian's by this power of e at most, up or down: private ones
may be of another law."""

_LONE = 0.5
"""Prior chance that a tail is of one column, where it is."""

_SCALES = np.linspace(-0.3, 0.8, 56)
"""Logarithms of scales of a law at which rows are clipped and counted."""

_STEPS = np.linspace(-2.0, 2.0, 5)
"""Scales are uncertain: so many of their sds from the likeliest one are tried."""

_UNLIKELY, _PLACES = 1e-5, 9
"""Cases of a smaller chance than this are left out of errors, where crowds may be in so many places."""

_HELD, _OF_OTHERS, _HALVINGS = 0.95, 0.98, 25
"""Intervals hold this share of what is believed, of long tails and of crowds that counts may tell the second one, since
there are others than those that are tried; and reach so many errors to either side, found in so many steps."""


@dataclass(frozen=True)
class Seen:
    """What laws are held against.

    Attributes:
        counts: released.
        drawn: rows that stand for laws.
        lengths: (m,) of the public rows.
        level: mean squared length of rows that count for components, clipped, as released.
        unsure: relative sd of the scale that this gives.
        n: private rows.
        clumped: by how much more counts vary by sampling than those of independent rows.
        columns: (d, bins) values of public rows by column, see `seen_in_columns`.
        far: (lone laws, d) log odds by the rows that columns take far out; 0: not counted.
    """

    counts: TailCounts
    drawn: DrawnRows
    lengths: np.ndarray
    level: float
    unsure: float
    n: int
    clumped: float
    columns: np.ndarray
    far: np.ndarray | float = 0.0


@dataclass(frozen=True)
class TailBelief:
    """Chances of each law of tails (the first is the Gaussian), with each kind of odd rows (the first is none).

    Attributes:
        laws: of tails; the last ones are those of `lone`.
        odd: kinds of odd rows.
        chances: (laws, kinds), that add up to 1.
        scales: (laws, kinds) at which components hold what they were seen to hold.
        sampling: (laws, kinds) variances of a variance by sampling, over a Gaussian's.
        lone: laws of a tail of one column.
        whose: (lone laws, d) chances of the columns to be that one, or one of several.
        crowds: of odd rows in components.
    """

    laws: tuple[TailLaw, ...]
    odd: OddKinds
    chances: np.ndarray
    scales: np.ndarray
    sampling: np.ndarray
    lone: tuple[LoneTail, ...]
    whose: np.ndarray
    crowds: Crowds

    @classmethod
    def of(cls, seen: Seen, odd: OddKinds, crowds: Crowds, lone: tuple[LoneTail, ...] = ()) -> "TailBelief":
        """Hold every law against what was seen, also those of a tail of one column."""
        alike = tail_laws(seen.drawn.d)
        laws = (*alike, *(each.law for each in lone))
        scales, logs, public, sampling = np.stack([_weighed(law, odd, seen) for law in laws], axis=1)
        odds = np.clip(public - public[0, 0], -_AT_MOST, _AT_MOST)
        own = np.reshape([seen.columns @ each.odds for each in lone], (len(lone), seen.drawn.d))
        own = np.clip(own, -_AT_MOST, _AT_MOST)
        # of one column its values show more than lengths of rows
        (public_lone, _), (all_lone, whose) = _of_columns(own), _of_columns(own + seen.far)
        odds[len(alike) :] = np.clip(odds[0] + public_lone[:, None], -_AT_MOST, _AT_MOST)
        odds[len(alike) :] += (all_lone - public_lone)[:, None]
        logs = logs + odds
        chances = np.exp(logs - logs.max()) * _prior(alike, len(lone))[:, None] * odd.prior
        return cls(laws, odd, chances / chances.sum(), scales, sampling / sampling[0, 0], lone, whose, crowds)

    @property
    def gaussian(self) -> float:
        """Chance that rows of components are Gaussian."""
        return float(self.chances[0].sum())

    @property
    def of_odd_rows(self) -> float:
        """Chance that there are odd rows."""
        return float(self.chances[:, 1:].sum())

    @property
    def alone(self) -> np.ndarray:
        """Chances (d,) of the columns to have a tail that the others have not."""
        return np.asarray(self._of_lone.sum(axis=1) @ self.whose)

    @property
    def _of_lone(self) -> np.ndarray:
        """Chances (lone laws, kinds)."""
        return self.chances[len(self.laws) - len(self.lone) :]

    @property
    def factors(self) -> np.ndarray:
        """Give by how much variances (k, d) are larger than was measured: the mean over laws."""
        return np.array([[each.factor for each in row] for row in self._cases])

    def unsure(self, factors: np.ndarray, sampling: float, noise: float) -> np.ndarray:
        """Tell what is to be added to relative errors of variances (k, d) that were multiplied by `factors`.

        It makes intervals hold what is believed. A law in which one believes by less than a twentieth need not lie in
        them; the root of a mean square over laws would be that of the longest tail.

        Args:
            factors: (k, d), which need not be what is believed.
            sampling: relative variance of a Gaussian's variance by sampling.
            noise: the same by noise.
        """
        pairs = zip(self._cases, factors, strict=True)
        errors = [
            [each.error(wanted, sampling, noise, about) for each, about in zip(*pair, strict=True)]
            for pair, wanted in zip(pairs, self._wanted, strict=True)
        ]
        return np.sqrt(np.maximum(np.square(errors) - sampling - noise, 0.0))

    @property
    def places(self) -> np.ndarray:
        """Give where means (d,) lie from what was measured, in sds: the mean over laws."""
        return np.asarray(self._own_places @ (self._of_lone.sum(axis=1)[:, None] * self.whose))

    @property
    def moved(self) -> np.ndarray:
        """Give by how much crowds moved means (k, 1), in sds: the mean over what may be, where sides are known."""
        found = (self.crowds.chances * self.crowds.moves).sum(axis=2) @ self.chances.sum(axis=0)
        return np.asarray(found[:, None])

    def shifts(self, places: np.ndarray, radius: float, end: float, known: float) -> np.ndarray:
        """Tell what is to be added to errors of means (k, d) that were moved by `places`, in sds.

        Skewed laws lose one tail; odd rows among those of a component may lie in one place. Intervals hold what is
        believed: a crowd moves a mean by so much, and no further.

        Args:
            places: (k, d), which need not be what is believed.
            radius: to which rows are clipped.
            end: from which on they are outside.
            known: variance of a mean by sampling and noise.
        """
        d = places.shape[1]
        slope = mean_constants(d, radius).slope
        lost = [
            [scale * (law.place + law.clipped_mean(radius / scale, end / scale) / slope) for scale in own]
            for law, own in zip(self.laws, self.scales, strict=True)
        ]
        common = known + float((self.chances * np.square(lost)).sum())
        # along one column a crowd lies to either side; along one of several it may lie at any angle
        leans = self.crowds.leans
        to_a_side, around = (np.sqrt(leans), 0.0 * leans) if d == 1 else (0.0 * leans, leans)
        errors = np.zeros((len(self.crowds.chances), d))
        for column, (whose, moved) in enumerate(zip(self.whose.T, places.T, strict=True)):
            lone = whose[:, None] * self._of_lone
            with_tails = np.vstack([self.chances.sum(axis=0) - lone.sum(axis=0), lone])
            true = np.append(0.0, self._own_places)[:, None, None] + to_a_side - self.crowds.moves
            for component, (crowds, place) in enumerate(zip(self.crowds.chances, moved, strict=True)):
                chances, off = with_tails[..., None] * crowds, true - place
                likely = self._likely(chances)
                shares = chances[likely] / chances[likely].sum()
                sds = np.broadcast_to(np.sqrt(common + around), chances.shape)[likely]
                errors[component, column] = _error_that_holds(self._wanted[component], shares, off[likely], sds)
        return np.sqrt(np.maximum(errors**2 - known, 0.0))

    def _likely(self, chances: np.ndarray) -> np.ndarray:
        """Tell which of chances (..., places) matter."""
        return np.asarray(chances > _UNLIKELY * min(1.0, _PLACES / chances.shape[-1]))

    @property
    def _own_places(self) -> np.ndarray:
        """Give where the mean of a column lies from what was measured, (lone laws,), if the tail is its own."""
        return np.array([each.place for each in self.lone])

    @property
    def _wanted(self) -> list[float]:
        """Give the share of what is believed that intervals hold, by component."""
        nowhere = np.ones(len(self.crowds.chances))
        if self.crowds.moves.any():
            nowhere = self.crowds.chances[:, :, 0] @ self.chances.sum(axis=0)
        return [_HELD + (_OF_OTHERS - _HELD) * (1 - self.gaussian * float(each)) for each in nowhere]

    @cached_property
    def _cases(self) -> "list[list[_Cases]]":
        """Tell what may be true of each column in each component."""
        return [[self._of_column(whose, crowds) for whose in self.whose.T] for crowds in self.crowds.chances]

    def _of_column(self, whose: np.ndarray, crowds: np.ndarray) -> "_Cases":
        """Tell what may be true of a column in a component.

        Args:
            whose: (lone laws,) chances that this column has the tail.
            crowds: (kinds, places) chances of a crowd in this component.
        """
        count, squares = len(self.laws) - len(self.lone), self.scales**2
        factors, sampling = (np.array([getattr(each, name) for each in self.lone]) for name in ("factor", "sampling"))
        lone, chance = self._of_lone, whose[:, None]
        chances = np.concatenate([self.chances[:count], (1 - chance) * lone, chance * lone])[..., None] * crowds
        true = np.concatenate([squares, factors[:, None] * squares[count:]])[..., None] / (1 + self.crowds.bends)
        spread = np.concatenate([self.sampling, sampling[:, None] + 0 * squares[count:]])
        turns = self.crowds.turns / (1 + self.crowds.bends) ** 2
        likely = self._likely(chances)
        spreads = (np.broadcast_to(each, chances.shape)[likely] for each in (spread[..., None], turns))
        return _Cases(chances[likely] / chances[likely].sum(), true[likely], *spreads)


@dataclass(frozen=True)
class _Cases:
    """What may be true of a column, (cases,).

    Attributes:
        chances: that add up to 1.
        true: variances over what was measured.
        sampling: of a variance, over a Gaussian's.
        turns: relative variance, as it is not known along which columns crowds lie.
    """

    chances: np.ndarray
    true: np.ndarray
    sampling: np.ndarray
    turns: np.ndarray

    @property
    def factor(self) -> float:
        """Mean of the variances."""
        return float(self.chances @ self.true)

    def error(self, wanted: float, sampling: float, noise: float, about: float) -> float:
        """Give the relative error of a variance whose interval holds what is true with the chance that is `wanted`.

        The variance that was measured is multiplied by `about`.
        """
        true = self.true / about
        return _error_that_holds(
            wanted, self.chances, true - 1, true * np.sqrt(sampling * self.sampling + noise + self.turns)
        )


def _error_that_holds(wanted: float, chances: np.ndarray, off: np.ndarray, sds: np.ndarray) -> float:
    """Give the error whose interval about 0 holds what is true with the chance that is `wanted`.

    Args:
        wanted: share.
        chances: (cases,) that add up to 1.
        off: (cases,) what is true then.
        sds: (cases,) by which that was measured.
    """
    from scipy.special import ndtr

    low, high = 0.0, float((np.abs(off) + 3 * sds).max())
    for _ in range(_HALVINGS):
        error = (low + high) / 2
        upper, lower = (ndtr((side * Z95 * error - off) / sds) for side in (1, -1))
        held = float(chances @ (upper - lower))
        low, high = (error, high) if held < wanted else (low, error)
    return high


def _of_columns(odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Combine the log odds (laws, d) of columns to be long, of which one or several are.

    Returns:
        Log odds (laws,) that some are, which are 0 where nothing is known of any column; and the chances (laws, d) of
        each, if some are.
    """
    from scipy.special import exprel

    own = odds + np.log(2 ** (1 / odds.shape[1]) - 1)
    either = np.logaddexp(0.0, own)
    # in logarithms throughout: of a million rows a column that is not long has odds of exp(-1000)
    some, log_some = either.sum(axis=1), np.logaddexp.reduce(own - either - np.log(exprel(-either)), axis=1)
    log_chance = log_some + np.log(exprel(-some))
    return some + log_chance, np.exp(own - either - log_chance[:, None])


def _prior(laws: tuple[TailLaw, ...], lone: int) -> np.ndarray:
    """Weights of laws, and of so many of a tail of one column, before anything is known.

    Those of laws other than the Gaussian are to each other as they were.
    """
    weights = prior(laws)
    others = weights[1:] * (1 - _GAUSSIAN) / (1 - weights[0])
    shared = _LONE if lone else 0.0
    return np.concatenate([[_GAUSSIAN], (1 - shared) * others, np.full(lone, shared * (1 - _GAUSSIAN) / max(lone, 1))])


def _weighed(law: TailLaw, odd: OddKinds, seen: Seen) -> np.ndarray:
    """Hold a law, with each kind of odd rows beside it, against what was seen.

    Returns:
        (4, kinds): scales at which components hold what they were seen to hold; logarithms of how likely released
        counts are then, and public rows; and relative variances of a variance by sampling, times the rows.
    """
    drawn, grid = seen.drawn, np.exp(_SCALES)
    by_bin = drawn.shares(law, grid)
    held, inside, expected = drawn.held_by(by_bin), drawn.inside_by(by_bin), drawn.expected(by_bin)
    left = 1 - odd.shares[:, None]
    # rows of many columns may all be outside
    rows = np.maximum(left * inside + odd.inside[:, None], HARDLY_A_ROW)
    levels = (left * held + odd.held[:, None]) / rows
    logs_of_scales = np.array([np.interp(seen.level, np.maximum.accumulate(own), _SCALES) for own in levels])
    place = (logs_of_scales[:, None] + seen.unsure * _STEPS - _SCALES[0]) / (_SCALES[1] - _SCALES[0])
    place = np.clip(place, 0.0, len(_SCALES) - 1.001)
    below = place.astype(int)
    part = (place - below)[..., None]
    shares = (1 - part) * expected[below] + part * expected[below + 1]
    of_law = left[..., None] * shares
    shares = of_law + odd.expected[:, None, :]
    # the number of drawn rows limits how exactly counts under a law are known; those of odd rows are not drawn
    inexact = seen.n * of_law * (seen.n / DRAWN + (seen.n / law.rows if law.rows else 0.0))
    logs = seen.counts.logs(seen.n * shares, seen.clumped, inexact) - _STEPS**2 / 2
    public = seen.counts.public_logs(seen.lengths, shares[:, len(_STEPS) // 2])
    sampling = np.interp(logs_of_scales, _SCALES, drawn.sampling_by(by_bin, grid))
    most = logs.max()
    likely = most + np.log(np.exp(logs - most).mean(axis=1) + 1e-300)
    return np.stack([np.exp(logs_of_scales), likely, public, sampling])
