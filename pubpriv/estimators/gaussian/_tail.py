"""What lies beyond the core: which shells hold rows for sure, and what may lie beyond the last of them.

Every shell has three released numbers of its rows: the trace of its second moment, its count in the same release, and
its bins of the histogram. Shells count one beyond another while their rows stand out of the noise; a group of adjacent
shells that stands out clearly counts, too, wherever it lies: the clearer, the more noise it adds to what is known.

Beyond the last one the squared lengths M_k that shell k holds are expected to go on as they fell before: log M_k is
a parabola in k, a straight line for powers, bent down for lognormals and Gaussians. Its three numbers have
a prior law and the likelihood of what was released of the last shells that count and of those beyond. The mean over
that posterior corrects the estimate, and its standard deviation is the error of clipping.
"""

import math
from dataclasses import dataclass

import numpy as np

from pubpriv.estimators.gaussian._shells import RATIO

_STANDS_OUT, _FIRST = 2.5, 3.2
"""Shells count one beyond another while their rows are more than so many sds; the first beyond a Gaussian core, where
none is expected, needs more."""

_FEARED = 3.0
"""Rows beyond the last edge are feared from so many sds on, which noise alone makes in 0.13% of tables: nothing bounds
what they hold. A value that stands for a missing one lies there, or a slip of the pen."""

_GROUP, _WINDOW = 4.0, 6
"""Up to WINDOW adjacent shells with sqrt(GROUP^2 + log(harm)) sds together count, too. Counting them makes the mean
square error so many times as large, and the chance that they are nothing but noise falls as the root of that."""

_FAINT, _FEARLESS = 3.75, 0.3
"""A group with sqrt(FAINT^2 + FEARLESS log(harm)) sds together that does not count is feared: noise alone makes one in
0.1% of tables. At one bar for all, most of these would lie at distances that hardly any row of a table has."""

UNSURE = 0.12
"""Relative sd of the mean squared length in a shell whose rows are counted."""

_UNSURE_APART = 0.3
"""The same in a group that stands apart: its rows may lie anywhere in a shell."""

_BACK, _AHEAD = 3, 10
"""Shells that the parabola is fitted to, besides the last one that counts: before it, and beyond it."""

_FLAT, _MATTERS = 0.7, 0.15
"""A tail hardly falls if the last shell that counts holds more than FLAT of what the second before it does, and what is
expected beyond is more than MATTERS of what the shells that the parabola is fitted to hold."""

_UNSEEN = 100.0
"""Nothing is released beyond the last edge: the noise there counts as so many times that of the last shell."""

_SLOPE, _SLOPE_SD, _BEND = -0.7, 0.7, 0.4
"""Prior of the parabola, per shell: slopes at the last shell that counts are normal where flatter, exponential where
steeper, and bends fall as (1 + bend / BEND)^-2 on `_BENDS`."""

_LEVELS = np.linspace(-2.5, 2.0, 25)
_SLOPES = np.linspace(-4.0, 0.1, 29)[:, None]
_BENDS = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.6, 2.5, 4.0, 6.0, 9.0])
"""Where the posterior is summed: the level at the last shell in sds, slopes, and bends."""

_ADDED = 0.6
"""Part of the posterior mean that is added to the estimate: what lies beyond has a skewed law, so that less than its
mean is nearer to it in most runs, and never more than the last shell that counts holds; the rest is in the standard
deviation."""

_ENDS, _ENDS_APART = 0.1, 0.5
"""Prior chance that nothing lies beyond: counts end, and so do odd rows that are all alike; the second where a gap is
between these and the rest. Its last shell is one of those that the parabola is fitted to: a group that begins at once
ends so."""

_NOTHING = 1e-12
"""Least noise of a squared length per row, so that there is always some."""

_LEAST_LEVEL = 0.3
"""Least sd of the logarithm of the level."""

_BUMPY = 0.2
"""Relative sd by which a shell may miss the parabola."""


@dataclass(frozen=True)
class Shells:
    """Released numbers of the shells beyond the core, (shells,) each, per whole row where not said otherwise.

    Attributes:
        trace, trace_sd: of the second moment, and of its noise.
        rows, rows_sd: how many rows, from all that was released.
        middle: typical squared length.
    """

    trace: np.ndarray
    trace_sd: np.ndarray
    rows: np.ndarray
    rows_sd: np.ndarray
    middle: np.ndarray


@dataclass(frozen=True)
class Tail:
    """What the shells say.

    Attributes:
        last: shells that hold rows for sure.
        lengths, sds: (last,) mean squared length in each of them, per whole row, and its noise.
        beyond, beyond_sd: the same of all that lies beyond, as the tail is expected to fall, and groups of rows that
            noise may have made.
        endless: whether it hardly falls, so that no error of clipping can be given.
        hidden: rows that may lie together in a shell beyond, whichever it is, and would not count.
        boundless: whether rows seem to lie beyond the last edge, where they are clipped however far out they are.
    """

    last: int
    lengths: np.ndarray
    sds: np.ndarray
    beyond: float
    beyond_sd: float
    endless: bool
    hidden: float
    boundless: bool = False


def read_tail(shells: Shells, before: tuple[np.ndarray, np.ndarray], gaussian: bool, n: float) -> Tail:
    """Say which shells count, how much they hold, and what lies beyond.

    Args:
        shells: released numbers.
        before: mean squared lengths, per row, in shells within the core that end where the first one begins, and the
            sds of their noise.
        gaussian: whether the core is a Gaussian's, so that nothing is expected beyond it.
        n: whole rows.
    """
    known = known_to(shells, n)
    last = last_shell(shells.rows / shells.rows_sd, gaussian, known)
    empty = np.flatnonzero(shells.rows[:last] / shells.rows_sd[:last] <= _STANDS_OUT)
    group = int(empty[-1]) + 1 if len(empty) else 0
    lengths, sds = shell_lengths(shells, n, group)
    beyond, beyond_sd, endless = 0.0, 0.0, False
    if last or not gaussian:
        own = before if not gaussian else (lengths[:0], lengths[:0])
        unseen = float(sds[-1]) * _UNSEEN * RATIO ** (2.0 * np.arange(1, _AHEAD + 1))  # beyond the last edge
        found = np.concatenate([own[0], lengths, np.zeros(_AHEAD)])
        noise = np.concatenate([own[1], sds, unseen])
        at = len(own[0]) + last - 1
        first = len(own[0]) + group - 1 if group else 0  # before the gap lies another group of rows
        share = float(shells.middle[0]) / n * RATIO ** (2.0 * (np.arange(len(found)) - len(own[0])))
        beyond, beyond_sd, endless = _expected_beyond(
            found, noise, share, at, min(first, at), _ENDS_APART if group else _ENDS
        )
    harm = _harm(known, last)
    beyond_sd = math.hypot(beyond_sd, _feared(shells, last, harm, n))
    clear = shells.rows[:last] / shells.rows_sd[:last]
    sure = np.where(clear < _STANDS_OUT, 1 - 1 / np.maximum(clear, 1.0) ** 2, 1.0)  # shells in a gap are mostly empty
    past = slice(min(last, len(harm) - 1), None)
    hidden = float((_least(harm[past]) * shells.rows_sd[past]).max())
    boundless = bool(shells.rows[-1] > _FEARED * shells.rows_sd[-1])
    return Tail(last, sure * np.maximum(lengths[:last], 0.0), sds[:last], beyond, beyond_sd, endless, hidden, boundless)


def shell_lengths(shells: Shells, n: float, group: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mean squared length in each shell, per row, and its noise: the released trace, and rows times their middle.

    Args:
        shells: released numbers.
        n: whole rows.
        group: where a group begins that stands apart; 0: none does.
    """
    apart = (np.arange(len(shells.rows)) >= group) & (group > 0)
    unsure = np.where(apart, _UNSURE_APART, UNSURE)
    counted = shells.rows * shells.middle / n
    counted_sd = np.hypot(shells.rows_sd * shells.middle / n, unsure * np.maximum(shells.trace, 0.0))
    weight = shells.trace_sd**-2 / (shells.trace_sd**-2 + counted_sd**-2)
    sd = np.sqrt(1 / (shells.trace_sd**-2 + counted_sd**-2))
    return weight * shells.trace + (1 - weight) * counted, sd


def known_to(shells: Shells, n: float) -> np.ndarray:
    """Give mean square errors (shells,) of the squared length up to the end of each shell, by noise and sampling."""
    lengths, sds = shell_lengths(shells, n)
    return np.asarray(np.cumsum(np.maximum(sds, _NOTHING) ** 2 + np.maximum(lengths, 0.0) * shells.middle / n))


def last_shell(clear: np.ndarray, gaussian: bool, known: np.ndarray) -> int:
    """Count the shells that hold rows.

    Args:
        clear: (shells,) sds by which they stand out.
        gaussian: whether none is expected to hold any.
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
    """The end of the nearest group beyond `last` that stands out together; None if there is none.

    Args:
        clear: (shells,) sds by which shells stand out.
        last: how many count before.
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
    """Give logarithms (shells,) of how many times as large the mean square error is up to the end of each shell."""
    return np.asarray(np.log(known / known[max(last - 1, 0)]))


def _least(harm: np.ndarray) -> np.ndarray:
    """Give the sds that a group must have to count, by `_harm` up to its end."""
    return np.asarray(np.sqrt(_GROUP**2 + harm))


def _feared(shells: Shells, last: int, harm: np.ndarray, n: float) -> float:
    """Mean squared length, per row, of the clearest group beyond `last` that stands out, but not enough to count."""
    rows, sds = shells.rows, shells.rows_sd
    groups = [(begin, begin + width) for width in range(1, _WINDOW + 1) for begin in range(last, len(rows) - width + 1)]
    above = [
        float(rows[a:b].sum()) / math.sqrt(float((sds[a:b] ** 2).sum()))
        - math.sqrt(_FAINT**2 + _FEARLESS * float(harm[b - 1]))
        for a, b in groups
    ]
    if not above or max(above) < 0:
        return 0.0
    begin, end = groups[int(np.argmax(above))]
    return float(np.maximum(rows[begin:end] * shells.middle[begin:end], 0.0).sum()) / n


def _expected_beyond(
    found: np.ndarray, sds: np.ndarray, share: np.ndarray, at: int, first: int, chance: float
) -> tuple[float, float, bool]:
    """(mean, sd) of the squared lengths beyond shell `at`, per row, and whether they hardly fall.

    Args:
        found: (shells,) squared lengths that were released, per row, from some shell in the core to the last.
        sds: (shells,) their noise.
        share: (shells,) what one row adds to each.
        at: the last shell that counts.
        first: the empty shell before the group that it belongs to; 0: there is none.
        chance: prior chance that nothing lies beyond.
    """
    begin, end = max(at - _BACK, first), min(at + _AHEAD, len(found) - 1) + 1
    steps = np.arange(begin, end) - at
    # a table of one value has no length at all
    found, sds, share = found[begin:end], np.maximum(sds[begin:end], _NOTHING), share[begin:end]
    noise = float(sds[-begin + at])
    here = max(float(found[-begin + at]), noise / 2)
    unsure = min(1.0, 2 * noise / here + _LEAST_LEVEL)
    level = math.log(here) + unsure * _LEVELS
    curve = level[:, None, None, None] + _SLOPES[..., None] * steps - _BENDS[:, None] * steps**2 / 2
    held = np.exp(np.clip(curve, -40.0, 20.0 + math.log(here)))
    variance = sds**2 + held * share + (_BUMPY * held) ** 2
    chances = -((found - held) ** 2) / variance / 2 - np.log(variance) / 2
    off = (_SLOPES - _SLOPE) / _SLOPE_SD
    prior = np.where(off > 0, -(off**2) / 2, off / 2) - 2 * np.log1p(_BENDS / _BEND)
    known = prior + chances[..., steps <= 0].sum(axis=-1)
    known = known - math.log(float(np.exp(known - known.max()).sum())) - known.max()
    further = steps > 0
    goes_on = known + chances[..., further].sum(axis=-1)
    ends = float((-(found[further] ** 2) / sds[further] ** 2 / 2 - np.log(sds[further])).sum())
    most = max(float(goes_on.max()), ends)
    weight = (1 - chance) * np.exp(goes_on - most)
    weight /= float(weight.sum()) + chance * math.exp(ends - most)
    beyond = held[..., further].sum(axis=-1)
    mean = float((weight * beyond).sum())
    square = float((weight * beyond**2).sum())
    spread = math.sqrt(max(square - mean**2, 0.0))
    before = float(found[-begin + at - 2]) if at - begin >= 2 else math.inf
    endless = here > _FLAT * before and mean > _MATTERS * float(np.maximum(found[steps <= 0], 0.0).sum())
    added = min(_ADDED * mean, here)
    return added, math.hypot(spread, mean - added), endless
