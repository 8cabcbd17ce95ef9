"""Which shells beyond the core certainly contain rows, and what may lie beyond the last of them.

Every shell has three released numbers about its rows: the trace of its second moment, its count in the same release,
and its bins of the histogram. Shells count one after another while their rows stand out of the noise; a group of
adjacent shells further out counts, too, if it stands out clearly: the more noise it adds to the estimate, the more
clearly.

Beyond the last one, the squared lengths M_k in shell k are expected to continue to fall as before: log M_k is a
parabola in k, a straight line for powers, bent down for lognormals and Gaussians. Its three parameters have a prior,
and the likelihood of the released numbers of the last shells that count and of those beyond. What is expected there is
an error of clipping and no part of the estimate, but for a single column: of several it is not known which have it.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.estimators.gaussian._shells import RATIO

_STANDS_OUT, _FIRST = 2.5, 3.2
"""Shells count one after another while their rows exceed this many sds; the first one beyond a Gaussian core, where no
rows are expected, needs the second number."""

_FEARED = 3.0
"""Rows beyond the last edge are reported from this many sds on, which noise alone makes in 0.13% of tables: nothing
bounds what they contribute. They may be a value that stands for a missing one, or a typing error."""

_GROUP, _WINDOW = 4.0, 6
"""Up to WINDOW adjacent shells with sqrt(GROUP^2 + log(harm)) sds together count, too. `harm` is the factor by which
counting them multiplies the mean square error; the probability that they are only noise falls as its root."""

UNSURE = 0.12
"""Relative sd of the mean squared length in a shell whose rows are counted."""

_UNSURE_APART = 0.3
"""The same in a group that lies apart: its rows may lie anywhere in a shell."""

_BACK, _AHEAD = 3, 10
"""Shells that the parabola is fitted to, before and beyond the last one that counts."""

_FLAT, _MATTERS = 0.7, 0.15
"""A tail hardly falls if the last shell that counts has more than FLAT of what the second before it has, and what is
expected beyond exceeds MATTERS of what the shells in the fit have."""

_UNSEEN = 100.0
"""Nothing is released beyond the last edge: the noise there is taken as this many times that of the last shell."""

_SLOPE, _SLOPE_SD, _BEND = -0.7, 0.7, 0.4
"""Prior of the parabola, per shell: slopes at the last shell that counts are normal where flatter, exponential where
steeper, and the density of bends falls as (1 + bend / BEND)^-2 on `_BENDS`."""

_LEVELS = np.linspace(-2.5, 2.0, 25)
_SLOPES = np.linspace(-4.0, 0.1, 29)[:, None]
_BENDS = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.6, 2.5, 4.0, 6.0, 9.0])
"""Grid on which the posterior is summed: the level at the last shell in sds, slopes, and bends."""

_ADDED = 0.45
"""Part of the posterior mean that is added to the estimate of a single column. What lies beyond has a skewed law, so
less than its mean is closer in most runs; it is also limited to what the last shell that counts has. The rest is in the
standard deviation. Of several columns nothing is added: rows of tables end sooner than those of laws that go on, and
errors of six skewed tables are a tenth to a third less without."""

_ENDS, _ENDS_APART = 0.1, 0.5
"""Prior probability that nothing lies beyond: counts end, and so do outliers that are all alike; the second number if a
gap lies between these and the rest. The gap's last shell is in the parabola's fit, because a group that begins abruptly
ends abruptly."""

_LAW_ENDS = 1e-3
"""Prior probability that the law of the rows ends there, too: without clear evidence it is not believed."""

_SELDOM = 0.3
"""Most tables have no row at lengths beyond which so few rows of a table are expected."""

_NOTHING = 1e-12
"""Least noise of a squared length per row, to avoid zero."""

_LEAST_LEVEL = 0.3
"""Least sd of the logarithm of the level."""

_BUMPY = 0.2
"""Relative sd by which a shell may deviate from the parabola."""


@dataclass(frozen=True)
class Shells:
    """Released numbers of the shells beyond the core, (shells,) each, per whole row unless stated otherwise.

    Attributes:
        trace, trace_sd: trace of the second moment, and its noise sd.
        rows, rows_sd: number of rows, from everything released, and its noise sd.
        middle: typical squared length.
        joined: released with others as one, those with the same number; None: each by itself.
        clipped: what clipping leaves of a squared length, if others with that number count; None: unknown.
    """

    trace: np.ndarray
    trace_sd: np.ndarray
    rows: np.ndarray
    rows_sd: np.ndarray
    middle: np.ndarray
    joined: np.ndarray | None = None
    clipped: np.ndarray | None = None

    def missing(self, last: int) -> np.ndarray:
        """Compute the part (shells,) of a squared length that is not in an estimate up to shell `last`."""
        if self.joined is None or self.clipped is None or not last:
            return np.ones(len(self.rows))
        left = np.where(self.joined == self.joined[last - 1], self.clipped / self.middle, 0.0)
        return np.asarray(1 - np.minimum(left, 1.0))


@dataclass(frozen=True)
class Law:
    """What the law of the rows has beyond the last shell that counts, per row, if it goes on as the shells show.

    Attributes:
        fourth: mean fourth power of the lengths that tables have.
        unseen: mean squared length of those that most tables do not have.
    """

    fourth: float = 0.0
    unseen: float = 0.0


@dataclass(frozen=True)
class Tail:
    """The tail that the shells show.

    Attributes:
        last: number of shells that certainly contain rows.
        lengths, sds: (last,) mean squared length in each of them, per whole row, and its noise sd.
        beyond, beyond_sd: the same for all that lies beyond, as the tail is expected to fall.
        endless: whether it hardly falls, so that no error of clipping can be given.
        hidden: number of rows that may lie together in any one shell beyond without counting.
        boundless: whether rows seem to lie beyond the last edge, where they are clipped however far out they are.
        law: of rows beyond, for sampling errors.
        length_sd: as `beyond_sd`, of mean lengths instead of squared ones: so far a mean may be off.
    """

    last: int
    lengths: np.ndarray
    sds: np.ndarray
    beyond: float
    beyond_sd: float
    endless: bool
    hidden: float
    boundless: bool = False
    law: Law = Law()
    length_sd: float = 0.0


def read_tail(
    shells: Shells,
    before: tuple[np.ndarray, np.ndarray],
    gaussian: bool,
    n: float,
    alone: int = 0,
    single: bool = False,
) -> Tail:
    """Decide which shells count, and estimate what they contain and what lies beyond.

    Args:
        shells: released numbers of the shells.
        before: mean squared lengths, per row, in shells within the core that end where the first one begins, and their
            noise sds.
        gaussian: whether the core is Gaussian, so that nothing is expected beyond it.
        n: number of whole rows.
        alone: first shell that shows how the tail goes on; 0: those before, too.
        single: whether rows have one column, so that what is expected beyond is that column's.
    """
    known = known_to(shells, n)
    last = last_shell(shells.rows / shells.rows_sd, gaussian, known)
    empty = np.flatnonzero(shells.rows[:last] / shells.rows_sd[:last] <= _STANDS_OUT)
    group = int(empty[-1]) + 1 if len(empty) else 0
    lengths, sds = shell_lengths(shells, n, group)
    beyond, missing = _Beyond(), shells.missing(last)
    if last or not gaussian:
        own = before if not gaussian else (lengths[:0], lengths[:0])
        unseen = float(sds[-1]) * _UNSEEN * RATIO ** (2.0 * np.arange(1, _AHEAD + 1))  # beyond the last edge
        found = np.concatenate([own[0], lengths, np.zeros(_AHEAD)])
        noise = np.concatenate([own[1], sds, unseen])
        at = len(own[0]) + last - 1
        first = len(own[0]) + group - 1 if group else 0  # another group of rows lies before the gap
        first = max(first, len(own[0]) + alone if alone else 0)
        middle = float(shells.middle[0]) * RATIO ** (2.0 * (np.arange(len(found)) - len(own[0])))
        beyond = _expected_beyond(
            found,
            noise,
            middle,
            np.concatenate([np.ones(len(own[0])), missing, np.ones(_AHEAD)]),
            n,
            at,
            min(first, at),
            _ENDS_APART if group else _ENDS,
            _ADDED if single else 0.0,
        )
    harm = _harm(known, last)
    clear = shells.rows[:last] / shells.rows_sd[:last]
    sure = np.where(clear < _STANDS_OUT, 1 - 1 / np.maximum(clear, 1.0) ** 2, 1.0)  # shells in a gap are mostly empty
    past = slice(min(last, len(harm) - 1), None)
    hidden = float((_least(harm[past]) * shells.rows_sd[past]).max())
    boundless = bool(shells.rows[-1] > _FEARED * shells.rows_sd[-1])
    lengths = sure * np.maximum(lengths[:last], 0.0)
    return Tail(
        last,
        lengths,
        sds[:last],
        beyond.added,
        beyond.sd,
        beyond.endless,
        hidden,
        boundless,
        beyond.law,
        beyond.length_sd,
    )


def shell_lengths(shells: Shells, n: float, group: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the mean squared length in each shell, per row, and its noise, from the trace, and rows times middle.

    Args:
        shells: released numbers of the shells.
        n: number of whole rows.
        group: index where a group begins that lies apart; 0: there is none.
    """
    apart = (np.arange(len(shells.rows)) >= group) & (group > 0)
    unsure = np.where(apart, _UNSURE_APART, UNSURE)
    counted = shells.rows * shells.middle / n
    counted_sd = np.hypot(shells.rows_sd * shells.middle / n, unsure * np.maximum(shells.trace, 0.0))
    weight = shells.trace_sd**-2 / (shells.trace_sd**-2 + counted_sd**-2)
    sd = np.sqrt(1 / (shells.trace_sd**-2 + counted_sd**-2))
    return weight * shells.trace + (1 - weight) * counted, sd


def known_to(shells: Shells, n: float) -> np.ndarray:
    """Compute mean square errors (shells,) of the squared length up to each shell's end, from noise and sampling."""
    lengths, sds = shell_lengths(shells, n)
    return np.asarray(np.cumsum(np.maximum(sds, _NOTHING) ** 2 + np.maximum(lengths, 0.0) * shells.middle / n))


def last_shell(clear: np.ndarray, gaussian: bool, known: np.ndarray) -> int:
    """Count the shells that contain rows.

    Args:
        clear: (shells,) sds by which they stand out.
        gaussian: whether none is expected to contain rows.
        known: (shells,) see `known_to`.
    """
    last = 0
    found: int | None = 0
    while found is not None:
        last = found
        while last < len(clear) and clear[last] > (_FIRST if gaussian and not last else _STANDS_OUT):
            last += 1
        found = _next_group(clear, last, _harm(known, last))
    return last


def _next_group(clear: np.ndarray, last: int, harm: np.ndarray) -> int | None:
    """Find the end of the nearest group beyond `last` that stands out together; None if there is none.

    Args:
        clear: (shells,) sds by which shells stand out.
        last: number of shells that count before.
        harm: (shells,) see `_harm`.
    """
    for end in range(last + 1, len(clear) + 1):
        least = float(_least(harm[end - 1]))
        for width in range(1, min(_WINDOW, end - last) + 1):
            group = clear[end - width : end]
            if group.sum() / math.sqrt(width) > least and group[-1] > 1:
                return end
    return None


def _harm(known: np.ndarray, last: int) -> np.ndarray:
    """Compute logarithms (shells,) of the factor by which counting up to a shell multiplies the mean square error."""
    return np.asarray(np.log(known / known[max(last - 1, 0)]))


def _least(harm: np.ndarray) -> np.ndarray:
    """Give the sds that a group needs to count, from `_harm` up to its end."""
    return np.asarray(np.sqrt(_GROUP**2 + harm))


@dataclass(frozen=True)
class _Beyond:
    """What is expected beyond the last shell that counts.

    Attributes:
        added: squared length per row that the estimate gets.
        sd: its standard deviation.
        length_sd: that of the length per row.
        endless: whether the tail hardly falls.
        law: of rows beyond.
    """

    added: float = 0.0
    sd: float = 0.0
    length_sd: float = 0.0
    endless: bool = False
    law: Law = Law()


def _expected_beyond(
    found: np.ndarray,
    sds: np.ndarray,
    middle: np.ndarray,
    missing: np.ndarray,
    n: float,
    at: int,
    first: int,
    chance: float,
    part: float,
) -> _Beyond:
    """Estimate squared lengths and lengths beyond shell `at`, per row, whether they hardly fall, and their law.

    Args:
        found: (shells,) released squared lengths, per row, from some shell in the core to the last.
        sds: (shells,) their noise sds.
        middle: (shells,) their typical squared lengths.
        missing: (shells,) part of these that is not in the estimate, for rows beyond `at`.
        n: number of whole rows.
        at: the last shell that counts.
        first: the empty shell before the group that `at` belongs to; 0: there is none.
        chance: prior probability that nothing lies beyond.
        part: of their mean that is the estimate; the distance from the mean is in the sd.
    """
    begin, end = max(at - _BACK, first), min(at + _AHEAD, len(found) - 1) + 1
    steps = np.arange(begin, end) - at
    # in a table of a single value all lengths are 0
    found, sds, middle = found[begin:end], np.maximum(sds[begin:end], _NOTHING), middle[begin:end]
    noise = float(sds[-begin + at])
    here = max(float(found[-begin + at]), noise / 2)
    unsure = min(1.0, 2 * noise / here + _LEAST_LEVEL)
    level = math.log(here) + unsure * _LEVELS
    curve = level[:, None, None, None] + _SLOPES[..., None] * steps - _BENDS[:, None] * steps**2 / 2
    held = np.exp(np.clip(curve, -40.0, 20.0 + math.log(here)))
    variance = sds**2 + held * middle / n + (_BUMPY * held) ** 2
    chances = -((found - held) ** 2) / variance / 2 - np.log(variance) / 2
    off = (_SLOPES - _SLOPE) / _SLOPE_SD
    prior = np.where(off > 0, -(off**2) / 2, off / 2) - 2 * np.log1p(_BENDS / _BEND)
    known = prior + chances[..., steps <= 0].sum(axis=-1)
    known = known - math.log(float(np.exp(known - known.max()).sum())) - known.max()
    further = steps > 0
    goes_on = known + chances[..., further].sum(axis=-1)
    ends = float((-(found[further] ** 2) / sds[further] ** 2 / 2 - np.log(sds[further])).sum())
    weight = _weights(goes_on, ends, chance)
    missing = missing[begin:end][further]
    beyond = (held[..., further] * missing).sum(axis=-1)
    mean, spread = _mean_and_sd(weight, beyond)
    lengths = held / np.sqrt(np.maximum(middle, _NOTHING))
    short = lengths[..., further] * (1 - np.sqrt(1 - missing))
    length, length_spread = _mean_and_sd(weight, short.sum(axis=-1))
    before = float(found[-begin + at - 2]) if at - begin >= 2 else math.inf
    endless = here > _FLAT * before and mean > _MATTERS * float(np.maximum(found[steps <= 0], 0.0).sum())
    added = min(part * mean, here)
    law = _law(_weights(goes_on, ends, _LAW_ENDS), held[..., further], middle[further], n)
    left = 1 - added / mean if mean > 0 else 1.0
    return _Beyond(added, math.hypot(spread, mean - added), math.hypot(length_spread, left * length), endless, law)


def _mean_and_sd(weight: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Compute the posterior mean and standard deviation; what is missing from a weight of 1 is 0."""
    mean = float((weight * values).sum())
    return mean, math.sqrt(max(float((weight * values**2).sum()) - mean**2, 0.0))


def _weights(goes_on: np.ndarray, ends: float, chance: float) -> np.ndarray:
    """Compute posterior weights of curves; the rest is that nothing lies beyond.

    Args:
        goes_on: (curves...) logarithms of prior weight and likelihood.
        ends: logarithm of the likelihood that nothing lies beyond.
        chance: prior probability of that.
    """
    most = max(float(goes_on.max()), ends)
    weight = (1 - chance) * np.exp(goes_on - most)
    return np.asarray(weight / (float(weight.sum()) + chance * math.exp(ends - most)))


def _law(weight: np.ndarray, held: np.ndarray, middle: np.ndarray, n: float) -> Law:
    """Read the law of rows beyond from curves.

    Args:
        weight: (curves...) posterior weights.
        held: (curves..., shells) squared lengths in the shells beyond, per row.
        middle: (shells,) their typical squared lengths.
        n: number of whole rows.
    """
    seen = n * (held / middle)[..., ::-1].cumsum(axis=-1)[..., ::-1] > _SELDOM
    fourth = float((weight * (held * middle * seen).sum(axis=-1)).sum())
    return Law(fourth, math.sqrt(float((weight * (held * ~seen).sum(axis=-1) ** 2).sum())))
