"""Rows that stand for laws of tails: where they would be counted, and what components would hold of them."""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from pubpriv.estimators._lengths import length_quantiles
from pubpriv.estimators._noisy_counts import log_likelihood
from pubpriv.estimators.gaussian.tail_laws import TailLaw
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._lattice import rows_at
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture.scaling import Scaling

_MIDDLE = (0.001, 0.01, *np.linspace(0.025, 0.9, 36), *(1 - np.geomspace(0.1, 1e-5, 25)[1:]))
_REACH, _BEYOND = 64.0, 60
"""Rows are drawn between lengths at these quantiles of a Gaussian's, as its rows lie there, and between so many further
ones, evenly in the logarithm, up to so many times as far as the last quantile. Of many columns nearly all rows are of
a length: in bins that are evenly wide or evenly filled those of the last tenth would be counted in the wrong shells."""

DRAWN = 20_000
"""Rows that are drawn."""

_ODD = 0.5
_WIDTHS = np.geomspace(4.0, 32.0, 7)
_SHARES = 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08
"""Prior chance that there are odd rows; how many times as wide as others they are, and their shares: each as likely."""

WIDTHS = np.append(1.0, _WIDTHS)
_WIDTH_OF_KIND = np.append(0, np.tile(np.arange(1, len(WIDTHS)), len(_SHARES)))
"""The first kind of odd rows is none, and has the width of others; which of the widths each kind has."""

_FAR_OUT = 1.4, 2.2, 4.0
_FAR_SHARES = np.geomspace(0.0005, 0.08, 29)
"""Others lie together so many times as far out as rows are cut off, and are such a share, which is the likelier the
smaller it is: half as large, and twice as likely. All together are as likely as those that are wide."""

_COUNTED, _STEP, _GAP = 3.0, 0.1, 3.0
"""Where counts show more of them than so many sds, they may also be a group of rows with the same spread as others, at
the place where counts fit best, in such steps; but for a tail, which has no gap, it must be so far beyond the cut.
About the end of a region counts on both sides rule out the places above."""

_AMONG = 0.8
"""Prior chance that those of another component lie among the rows of one then, where there is a single column. It is a
cautious one, and they are the likelier in a place the more they add to a variance there, for an interval has to hold
wherever they lie: where each place was as likely, and all together as likely as not, one in seven missed."""

_PLACES = 8
"""Lengths at which odd rows may lie among those of a component."""

CROWD = 0.5
"""Largest share of a component's rows that are odd ones in one place."""

HARDLY_A_ROW = 1e-9
"""Least share of rows that components, or their shells, are taken to hold, to divide by."""

_NOTHING = 1e-12
"""Least of what components are taken to hold."""

_FLAT = 0.1
"""Least slope of what components hold in the scale of a law: where all rows are clipped there is none."""

_HARDLY = 1e-4
"""Least share of a region that a law of public rows is taken to have."""


@dataclass(frozen=True)
class TailCounts:
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
    def of(cls, last: Round, fit: Fit) -> "TailCounts":
        """Collect what a round and the test of its fit released."""
        outside = last.outside
        further = () if outside is None else outside.beyond
        edges = () if outside is None else tuple(outside.end * 2.0**j for j in range(len(further)))
        sds = [*fit.sds, *[last.count_sd] * len(further)]
        return cls(fit.radii, edges, np.array([*fit.shells, *further]), np.array(sds))

    @property
    def end(self) -> float:
        """Length from which on rows are outside."""
        return self.outside[0] if self.outside else math.inf

    def regions(self, lengths: np.ndarray) -> np.ndarray:
        """Tell which of the rows (count,) of these lengths are in each region, (count, regions)."""
        shells = np.searchsorted(np.array(self.shells), lengths)
        further = np.searchsorted(np.array(self.outside), lengths)
        inner, outer = np.arange(len(self.shells) + 1), np.arange(1, len(self.outside) + 1)
        return np.hstack([shells[:, None] == inner, further[:, None] == outer])

    @cached_property
    def beyond(self) -> np.ndarray:
        """Give the rows (regions,) of a group that lies outside where counts fit best; none if they show none clearly.

        Regions where there are rows of components are left out of the fit.
        """
        from scipy.special import ndtr

        if not self.outside:
            return np.zeros(len(self.seen))
        ends = np.array(sorted({*self.outside, *(end for end in self.shells if end > self.end)}))
        cells = self.regions(np.append((ends[1:] + ends[:-1]) / 2, 2 * ends[-1])).astype(float)
        lengths = np.arange(self.end, _FAR_OUT[-1] * self.end, _STEP)
        groups = -np.diff(ndtr(lengths[:, None] - ends), axis=1, append=0.0) @ cells
        empty = np.array([0.0, *self.shells, *self.outside]) >= self.end
        expected, seen = groups[:, empty] / self.sds[empty], self.seen[empty] / self.sds[empty]
        squares = (expected**2).sum(axis=1)
        rows = expected @ seen / squares
        best = np.argmax(np.maximum(rows, 0.0) ** 2 * squares)
        clear = rows[best] > _COUNTED * np.linalg.norm(self.sds[-len(self.outside) :])
        apart = lengths[best] > self.end + _GAP
        return np.asarray(rows[best] * groups[best] if clear and apart else 0.0 * groups[best])

    def logs(self, expected: np.ndarray, clumped: float, inexact: np.ndarray) -> np.ndarray:
        """Logarithms of the likelihood of `expected` counts (..., regions), known to `inexact` variances."""
        variances = self.sds**2 + expected * clumped + inexact
        return log_likelihood(self.seen, expected, variances)

    def public_logs(self, lengths: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Logarithms of the likelihood of public rows of these lengths, by shares (..., regions) of a law."""
        shells = slice(len(self.shells) + 1)
        seen = self.regions(lengths)[:, shells].sum(axis=0)
        return np.asarray(np.log(np.maximum(shares[..., shells], _HARDLY)) @ seen)


@dataclass(frozen=True)
class DrawnRows:
    """Where rows go that are drawn at given lengths from the mean of their component, by bin of these lengths.

    Attributes:
        d: columns.
        edges: (bins - 1,) between adjacent bins.
        regions: (bins, regions) share of the rows of each bin in each region.
        inside: (bins,) share that counts for a component.
        held: (bins,) mean squared length that these add, clipped.
        fourth: (bins,) mean fourth power of the length that these add, clipped.
        inner: (k, shells, bins) share of the rows that are in each component's own shells.
        places: (places,) lengths from the mean of a component at which a row may lie.
        strayed: (places, bins) share of the rows that lie there, in a component which is not theirs.
    """

    d: int
    edges: np.ndarray
    regions: np.ndarray
    inside: np.ndarray
    held: np.ndarray
    fourth: np.ndarray
    inner: np.ndarray
    places: np.ndarray
    strayed: np.ndarray

    @classmethod
    def of(
        cls, scaling: Scaling, public: np.ndarray, last: Round, counts: TailCounts, radius: float, shells: int = 0
    ) -> "DrawnRows":
        """Draw rows about the components of a round, and sort and clip them as it did; of `shells` by component."""
        weights, means, _ = last.mixture.arrays
        k, d = means.shape
        middle = length_quantiles(d, np.array(_MIDDLE))
        further = middle[-1] * np.geomspace(1.0, _REACH, _BEYOND + 1)
        edges = np.concatenate([middle, further[1:]])
        bins = len(edges) + 1
        each = -(-DRAWN // (k * bins))
        within = length_quantiles(d, _spread(np.array([0.0, *_MIDDLE]), each))
        lengths = np.concatenate([within, _spread(np.append(further, 2 * further[-1]), each)])
        rows = rows_at(scaling.undo(last.mixture), public, np.tile(lengths.ravel(), (k, 1)))
        own, owners = measured(scaling, last, rows.reshape(-1, d))
        inside = own <= counts.end
        strayed = inside & (owners != np.repeat(np.arange(k), len(own) // k))

        def by_bin(values: np.ndarray) -> np.ndarray:
            return np.asarray(np.tensordot(weights, values.reshape(k, bins, each, -1).mean(axis=2), axes=1))

        held = np.where(inside, np.minimum(own, radius), 0.0) ** 2
        counted, second, fourth = (by_bin(values)[:, 0] for values in (inside, held, held**2))
        ends = np.linspace(0.0, counts.end if math.isfinite(counts.end) else radius, _PLACES + 1)
        there = np.searchsorted(ends[1:-1], own)[:, None] == np.arange(_PLACES)
        places = (ends[1:] + ends[:-1]) / 2
        others = by_bin(strayed[:, None] & there).T
        shell = np.searchsorted(np.array(counts.shells)[:shells], own)
        parts = [by_bin((owners == j)[:, None] & (shell[:, None] == np.arange(shells))) for j in range(k)]
        inner = np.stack(parts).transpose(0, 2, 1)
        return cls(d, edges, by_bin(counts.regions(own)), counted, second, fourth, inner, places, others)

    def shares(self, law: TailLaw, scales: np.ndarray) -> np.ndarray:
        """Give the shares (scales, bins) of rows of a law in each bin, of which all that follows is reckoned."""
        return law.shares(self.edges, scales)

    def expected(self, shares: np.ndarray) -> np.ndarray:
        """Give the shares (scales, regions) of rows in each region."""
        return np.asarray(shares @ self.regions)

    def inside_by(self, shares: np.ndarray) -> np.ndarray:
        """Give the shares (scales,) of rows that count for components."""
        return np.asarray(shares @ self.inside)

    def held_by(self, shares: np.ndarray) -> np.ndarray:
        """Give the mean squared lengths (scales,) that these add, clipped, per row of all."""
        return np.asarray(shares @ self.held)

    def sampling_by(self, shares: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Give relative variances (scales,) of a variance by sampling, times the rows: a Gaussian's has some 2.

        It comes from what components hold, by the slope of that in the scale. Of a column of rows with even directions
        the kurtosis is 3 d / (d + 2) times the fourth moment of the length over the square of its second.
        """
        # of many columns none may be inside
        inside, held, fourth = (np.maximum(shares @ part, _NOTHING) for part in (self.inside, self.held, self.fourth))
        kurtosis = 3 * self.d / (self.d + 2) * fourth * inside / held**2
        slope = np.gradient(np.log(held / inside), 2 * np.log(scales))
        return np.asarray((kurtosis - 1) / inside / np.maximum(slope, _FLAT) ** 2)


def _spread(ends: np.ndarray, each: int) -> np.ndarray:
    """Spread so many numbers evenly between adjacent `ends` (bins + 1,): (bins, each)."""
    return np.asarray(ends[:-1, None] + np.diff(ends)[:, None] * (np.arange(each) + 0.5) / each)


def measured(scaling: Scaling, last: Round, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tell which component a round gives rows to, and how long they are in its frame.

    Args:
        scaling: of the standard coordinates.
        last: the round.
        rows: (m, d) drawn or public, in the table's units.

    Returns:
        Lengths (m,) and components (m,).
    """
    rows, cells = scaling.apply(rows), scaling.cells(last.start)
    frames = [scaling.standard(frame) for frame in cells.frames]
    squares = np.stack([np.square((rows - center) @ matrix.T).sum(axis=1) for center, matrix in frames])
    owner = np.argmax(np.array(cells.offsets)[:, None] - squares / 2, axis=0)
    return np.sqrt(squares[owner, np.arange(len(rows))]), owner


@dataclass(frozen=True)
class OddKinds:
    """Kinds of odd rows beside those of components, which make up a share of all; the first kind is none.

    Odd rows may lie together, see `Crowds`: there are taken to be as many in a component then as lie outside for each.

    Attributes:
        shares: (kinds,).
        prior: (kinds,) chances.
        expected: (kinds, regions) shares of rows of all that are odd and in a region.
        near: (kinds, k, shells) the same in each component's own shells.
        inside: (kinds,) the same of those that count for a component.
        held: (kinds,) mean squared length that these add, clipped, per row of all.
        crowds: (kinds,) share of the rows of a component that are as many as lie outside for each.
        hits: (kinds, places) chance that so many lie in one place among them.
        widths: (kinds,) which of `WIDTHS` they have; those that lie together far out have that of others.
    """

    shares: np.ndarray
    prior: np.ndarray
    expected: np.ndarray
    near: np.ndarray
    inside: np.ndarray
    held: np.ndarray
    crowds: np.ndarray
    hits: np.ndarray
    widths: np.ndarray

    @classmethod
    def of(cls, drawn: DrawnRows, gaussian: TailLaw, components: int, counts: TailCounts) -> "OddKinds":
        """Make each kind of rows beside so many components: wide ones, and such as lie together far out."""
        wide = cls._wide(drawn, gaussian, components)
        return wide._with(cls._far(drawn, components, counts, wide.hits[-1])) if counts.outside else wide

    def _with(self, others: "OddKinds") -> "OddKinds":
        """Add other kinds: all of either are as likely as those of the other, but for none."""
        parts = {
            each.name: np.concatenate([getattr(own, each.name) for own in (self, others)]) for each in fields(self)
        }
        prior = np.concatenate([self.prior[:1], self.prior[1:] / 2, others.prior / 2])
        return replace(OddKinds(**parts), prior=prior)

    @classmethod
    def _far(cls, drawn: DrawnRows, components: int, counts: TailCounts, strayed: np.ndarray) -> "OddKinds":
        """Make those that lie together far out; in several columns a crowd is as likely as one row of the widest."""
        places = counts.regions(counts.end * np.array(_FAR_OUT)).astype(float)
        if counts.beyond.any():
            group = counts.beyond
            places = np.vstack([places, group / group[-len(counts.outside) :].sum()])
        shares, regions = np.tile(_FAR_SHARES, len(places)), np.repeat(places, len(_FAR_SHARES), axis=0)
        adds = np.maximum(drawn.places, 1.0) ** 2
        hits = _AMONG * adds / adds.sum() if drawn.d == 1 and components > 1 else strayed
        nothing = np.zeros(len(shares))
        return cls(
            shares,
            _ODD / shares / (1 / shares).sum(),
            shares[:, None] * regions,
            np.zeros((len(shares), *drawn.inner.shape[:2])),
            nothing,
            nothing,
            np.minimum(components * shares, CROWD),
            np.tile(hits, (len(shares), 1)),
            np.zeros(len(shares), dtype=int),
        )

    @classmethod
    def _wide(cls, drawn: DrawnRows, gaussian: TailLaw, components: int) -> "OddKinds":
        """Make each kind of rows that are so many times as wide as so many components."""
        shares = np.append(0.0, np.repeat(_SHARES, len(_WIDTHS)))
        widths = WIDTHS[_WIDTH_OF_KIND]
        prior = np.where(shares > 0, _ODD / (len(shares) - 1), 1 - _ODD)
        bins = gaussian.shares(drawn.edges, widths)
        inside, held = bins @ drawn.inside, bins @ drawn.held
        return cls(
            shares,
            prior,
            shares[:, None] * (bins @ drawn.regions),
            shares[:, None, None] * np.moveaxis(drawn.inner @ bins.T, 2, 0),
            shares * inside,
            shares * held,
            np.minimum(components * shares * (1 - inside), CROWD),
            np.where(shares[:, None] > 0, bins @ drawn.strayed.T, 0.0),
            _WIDTH_OF_KIND,
        )
