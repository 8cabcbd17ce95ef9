"""Tails of components that are longer than a Gaussian's: what clipping, cutting and sorting took of them.

A round clips rows, cuts off those far out, gives others to the wrong component, and undoes all that for Gaussian rows.
Rows with longer tails lose more. So each of several laws of rows that look like Gaussian ones in the middle is held
against what was released: counts in shells about components, and of the rows outside of all. These may be odd rows,
which belong to no component, or the tail of all others: where they lie just beyond what is cut off, as the tail of
some law does, they are counted in; where there is a gap, or they reach far, they are left out. How much a law would
have lost is told by rows that are drawn of it. The mean over laws corrects covariances, and by how much they differ is
an error.

Released numbers and public rows go in, so this is free. Where counts are a Gaussian's, nothing changes.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian.tail_belief import prior
from pubpriv.estimators.gaussian.tail_laws import TailLaw, tail_laws
from pubpriv.estimators.lengths import gaussian_shares, length_quantile
from pubpriv.estimators.mixture.components import Round
from pubpriv.estimators.mixture.lattice import rows_at
from pubpriv.estimators.mixture.linear import one_thread
from pubpriv.estimators.mixture.misfit import Fit
from pubpriv.estimators.mixture.outside import Tails
from pubpriv.estimators.mixture.rounds import round_radius
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_DOUBT, _WIDER = 1.5, 1.5
"""Laws are weighed where counts show rows that are wider and rows that are narrower, by the second factor, by more than
so many sds; and where there are rows outside."""

_SCALES = np.linspace(-0.3, 0.8, 56)
"""Logarithms of scales of a law at which rows are clipped and counted."""

_MIDDLE = (0.001, 0.01, *np.linspace(0.025, 0.9, 36))
_REACH, _BEYOND = 64.0, 60
"""Rows are drawn between lengths at these quantiles of a Gaussian's, and so many further ones, evenly in the logarithm,
up to so many times as far as the last quantile."""

_DRAWN = 20_000
"""Rows that are drawn."""

_ODD = 0.5
_WIDTHS = np.geomspace(4.0, 32.0, 7)
_SHARES = 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08
"""Prior chance that there are odd rows; how many times as wide as others they are, and their shares: each as likely."""

_HARDLY_A_ROW = 1e-9
"""Least share of rows that components are taken to hold."""

_LIKELIER = 0.5
"""Rows outside belong to components if the chance that there are odd rows is smaller."""

_MISTAKEN = 0.3
"""The true tail may differ from all laws that are known by this part of what they correct: one sd."""


@dataclass(frozen=True)
class _Counts:
    """Released counts by how far rows lie from their component: in shells (edges), and in regions outside.

    Attributes:
        shells: edges of the shells.
        outside: edges of the regions outside, beyond the first of them; () if there are none.
        seen: released, of the shells and then of the regions outside.
        sds: of their noise.
    """

    shells: tuple[float, ...]
    outside: tuple[float, ...]
    seen: np.ndarray
    sds: np.ndarray

    @classmethod
    def of(cls, last: Round, fit: Fit) -> "_Counts":
        """Collect what a round and the test of its fit released."""
        outside = last.outside
        further = () if outside is None else outside.beyond
        edges = () if outside is None else tuple(outside.end * 2.0**j for j in range(len(further)))
        sds = [*fit.sds, *[last.count_sd] * len(further)]
        return cls(fit.radii, edges, np.array([*fit.shells, *further]), np.array(sds))

    def regions(self, lengths: np.ndarray) -> np.ndarray:
        """Tell which of the rows (count,) of these lengths are in each region, (count, regions)."""
        shells = np.searchsorted(np.array(self.shells), lengths)
        further = np.searchsorted(np.array(self.outside), lengths)
        inner, outer = np.arange(len(self.shells) + 1), np.arange(1, len(self.outside) + 1)
        return np.hstack([shells[:, None] == inner, further[:, None] == outer])

    def logs(self, expected: np.ndarray, clumped: float) -> np.ndarray:
        """Logarithms of the likelihood of `expected` counts (..., regions)."""
        variances = self.sds**2 + expected * clumped
        return np.asarray(-((self.seen - expected) ** 2 / variances + np.log(variances)).sum(axis=-1) / 2)


@dataclass(frozen=True)
class _Drawn:
    """Where rows go that are drawn at given lengths from the mean of their component, by bin of these lengths.

    Attributes:
        edges: (bins - 1,) between adjacent bins.
        regions: (bins, regions) share of the rows of each bin in each region.
        inside: (bins,) share that counts for a component.
        held: (bins,) mean squared length that these add, clipped.
    """

    edges: np.ndarray
    regions: np.ndarray
    inside: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, scaling: Scaling, public: np.ndarray, last: Round, counts: _Counts, radius: float) -> "_Drawn":
        """Draw rows about the components of a round, and sort and clip them as the round did."""
        weights, means, _ = last.mixture.arrays
        k, d = means.shape
        middle = np.array([length_quantile(d, share) for share in _MIDDLE])
        edges = np.concatenate([middle, middle[-1] * np.geomspace(1.0, _REACH, _BEYOND + 1)[1:]])
        ends = np.concatenate([[0.0], edges, [2 * edges[-1]]])
        each = -(-_DRAWN // (k * (len(ends) - 1)))
        lengths = ends[:-1, None] + np.diff(ends)[:, None] * (np.arange(each) + 0.5) / each
        rows = rows_at(scaling.undo(last.mixture), public, np.tile(lengths.ravel(), (k, 1)))
        rows, cells = scaling.apply(rows.reshape(-1, d)), scaling.cells(last.start)
        frames = [scaling.standard(frame) for frame in cells.frames]
        squares = np.stack([np.square((rows - center) @ matrix.T).sum(axis=1) for center, matrix in frames])
        owner = np.argmax(np.array(cells.offsets)[:, None] - squares / 2, axis=0)
        own = np.sqrt(squares[owner, np.arange(len(rows))])
        inside = own <= (counts.outside[0] if counts.outside else np.inf)

        def by_bin(values: np.ndarray) -> np.ndarray:
            return np.asarray(np.tensordot(weights, values.reshape(k, len(ends) - 1, each, -1).mean(axis=2), axes=1))

        held = np.where(inside, np.minimum(own, radius), 0.0) ** 2
        return cls(edges, by_bin(counts.regions(own)), by_bin(inside)[:, 0], by_bin(held)[:, 0])

    def expected(self, law: TailLaw, scales: np.ndarray) -> np.ndarray:
        """Give the shares (scales, regions) of rows of a law in each region."""
        return np.asarray(law.shares(self.edges, scales) @ self.regions)

    def inside_by(self, law: TailLaw, scales: np.ndarray) -> np.ndarray:
        """Give the shares (scales,) of rows of a law that count for components."""
        return np.asarray(law.shares(self.edges, scales) @ self.inside)

    def held_by(self, law: TailLaw, scales: np.ndarray) -> np.ndarray:
        """Give the mean squared lengths (scales,) that these add, clipped, per row of all."""
        return np.asarray(law.shares(self.edges, scales) @ self.held)


@dataclass(frozen=True)
class _Odd:
    """Kinds of odd rows beside those of components, which make up a share of all; the first kind is none.

    Attributes:
        shares: (kinds,).
        prior: (kinds,) chances.
        expected: (kinds, regions) shares of rows of all that are odd and in a region.
        inside: (kinds,) the same of those that count for a component.
        held: (kinds,) mean squared length that these add, clipped, per row of all.
    """

    shares: np.ndarray
    prior: np.ndarray
    expected: np.ndarray
    inside: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, drawn: _Drawn, gaussian: TailLaw) -> "_Odd":
        """Make each kind of rows that are so many times as wide as components."""
        shares = np.append(0.0, np.repeat(_SHARES, len(_WIDTHS)))
        widths = np.append(1.0, np.tile(_WIDTHS, len(_SHARES)))
        prior = np.where(shares > 0, _ODD / (len(shares) - 1), 1 - _ODD)
        parts = drawn.inside_by(gaussian, widths), drawn.held_by(gaussian, widths)
        expected = shares[:, None] * drawn.expected(gaussian, widths)
        return cls(shares, prior, expected, *(shares * part for part in parts))


@step(title="tails of components")
@one_thread
def read_tails(
    scaling: Scaling, public: PublicTable, last: Round, fit: Fit, kind: str, n: int, clumped: float
) -> Tails | None:
    """Weigh what the tails of components may be; None where there is no sign that they are not Gaussian.

    Args:
        scaling: of the standard coordinates.
        public: rows, on whose lattices rows are drawn.
        last: the round that is released.
        fit: counts about its components.
        kind: of the covariances of the round.
        n: private rows.
        clumped: by how much more counts vary by sampling than those of independent rows.
    """
    d, k, outside = len(scaling.location), len(last.counts), last.outside
    counts = _Counts.of(last, fit)
    seen = outside is not None and outside.seen
    if not (seen or _doubtful(counts, np.array(fit.predicted), d, n, clumped)):
        return None
    drawn = _Drawn.of(scaling, public.rows, last, counts, round_radius(kind, d))
    laws, weights = tail_laws(d), last.mixture.arrays[0]
    # what was taken out of components for odd rows among theirs, and stays so where there are such rows
    taken = np.array(outside.among) if outside is not None and outside.among else np.zeros(k)
    grown = 1 + float(weights @ taken)
    odd = _Odd.of(drawn, laws[0])
    level = grown * float(drawn.held_by(laws[0], np.ones(1))[0] / drawn.inside_by(laws[0], np.ones(1))[0])
    noise = last.moment_sd * math.sqrt(k / d) / n
    unsure = math.hypot(noise, math.sqrt(2 * clumped / (n * d))) / 2
    scales, logs = np.empty((2, len(laws), len(odd.shares)))
    for i, law in enumerate(laws):
        varied = clumped + n / _DRAWN + (n / law.rows if law.rows else 0.0)
        scales[i], logs[i] = _weighed(counts, drawn, law, odd, level, unsure, n, varied)
    chances = np.exp(logs - logs.max()) * prior(laws)[:, None] * odd.prior
    chances /= chances.sum()
    factors = scales**2 * (1 + taken[:, None, None]) / grown
    mean = (factors * chances).sum(axis=(1, 2))
    spread = np.sqrt((chances * (factors - mean[:, None, None]) ** 2).sum(axis=(1, 2)))
    return Tails(
        tuple(mean.tolist()),
        tuple(np.hypot(spread, _MISTAKEN * (mean - 1)).tolist()),
        float(chances.sum(axis=1) @ [law.excess for law in laws]),
        float(chances[0].sum()),
        float(chances[:, 1:].sum()),
    )


def _weighed(
    counts: _Counts, drawn: _Drawn, law: TailLaw, odd: _Odd, level: float, unsure: float, n: int, clumped: float
) -> tuple[np.ndarray, np.ndarray]:
    """Give the scales of a law at which components hold what they were seen to hold, and how likely counts are then.

    Args:
        counts: released.
        drawn: rows.
        law: of the rows of components.
        odd: rows beside these: for each of several kinds a scale, and the logarithm of a likelihood.
        level: mean squared length of rows that count for components, clipped, as released.
        unsure: relative sd of the scale.
        n: private rows.
        clumped: variance of a count by sampling over its mean.
    """
    grid = np.exp(_SCALES)
    held, inside, expected = drawn.held_by(law, grid), drawn.inside_by(law, grid), drawn.expected(law, grid)
    left = 1 - odd.shares[:, None]
    # rows of many columns may all be outside
    rows = np.maximum(left * inside + odd.inside[:, None], _HARDLY_A_ROW)
    levels = (left * held + odd.held[:, None]) / rows
    scales = np.array([np.interp(level, np.maximum.accumulate(own), _SCALES) for own in levels])
    sds = np.linspace(-2.0, 2.0, 5)
    place = (scales[:, None] + unsure * sds - _SCALES[0]) / (_SCALES[1] - _SCALES[0])
    place = np.clip(place, 0.0, len(_SCALES) - 1.001)
    below = place.astype(int)
    part = (place - below)[..., None]
    seen = (1 - part) * expected[below] + part * expected[below + 1]
    logs = counts.logs(n * (left[..., None] * seen + odd.expected[:, None, :]), clumped) - sds**2 / 2
    most = logs.max()
    return np.exp(scales), most + np.log(np.exp(logs - most).mean(axis=1) + 1e-300)


def with_tails(last: Round, tails: Tails | None) -> Round:
    """Give a round its covariances with their tails; rows outside that are no odd ones are no longer told apart."""
    if tails is None:
        return last
    weights, means, covariances = last.mixture.arrays
    mixture = Mixture.of(weights, means, np.array(tails.factors)[:, None, None] * covariances)
    counted_in = last.outside is not None and last.outside.seen and tails.odd < _LIKELIER
    return replace(last, mixture=mixture, outside=None if counted_in else last.outside, tails=tails)


def _doubtful(counts: _Counts, predicted: np.ndarray, d: int, n: int, clumped: float) -> bool:
    """Tell whether counts show rows that are wider, and others that are narrower, than a Gaussian's of any scale."""
    edges = [np.array(counts.shells), np.array(counts.outside)]

    def shares(scale: float) -> np.ndarray:
        inner, further = (gaussian_shares(each, d, np.array([scale]))[0] for each in edges)
        return np.append(inner, further[1:])

    predicted = np.append(predicted, n * shares(1.0)[len(predicted) :])
    spread = (shares(_WIDER) + shares(1 / _WIDER)) / 2 - shares(1.0)
    scaled = shares(1.05) - shares(1 / 1.05)
    roots = np.sqrt(counts.sds**2 + predicted * (clumped + n / _DRAWN))
    ways = n * np.stack([spread, scaled], axis=1) / roots[:, None]
    variances = np.linalg.inv(ways.T @ ways)
    found = variances @ ways.T @ ((counts.seen - predicted) / roots)
    return bool(found[0] > _DOUBT * math.sqrt(variances[0, 0]))
