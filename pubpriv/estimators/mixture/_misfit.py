"""Whether a released mixture fits the private rows: their counts against those that the model predicts.

One `JointCounts` release, over the cells of the last round, which were fixed before it: shells of the distance from a
record's component, which show tails, odd rows and covariances that are too wide, and shells of its distance along that
component's longest axis, where two components that were taken for one leave a gap. Lengths are those of the round's
own frames, which the noise of the model itself did not shape. The model predicts each count by rows drawn from it,
rounded where the public rows are rounded. Distances have no sign, so a slight skew, as that of large counts, is none.
In one column, where noise is small or odd rows are seen, shells along it are counted to either side. These show how
skewed rows are (`_skewness`), and whether odd rows lie together among those of a component (`_sided_crowds`). The model
is held against both sides together.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.codec import Matrix, public_value, row_tuples
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.questions import JointCounts
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._beside import DRAWN, beside_model
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._fit_regions import (
    FURTHER,
    beyond,
    longest_axes,
    shells_about,
    shells_along,
    shells_to_sides,
    without_sides,
)
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._outside import MOST, Outside
from pubpriv.estimators.mixture._plan import TELLING
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_LIMIT = 0.005
"""Largest divergence of counts, per row, of a model that fits; t with 5 degrees of freedom has some .1."""

_BY_CHANCE = 0.001
"""... and what noise and sampling make of it is exceeded in this share of runs."""

_CLEAR = 3.0
"""Noise sds by which a count must be below what it is compared with."""

_BLUNT = 0.05
"""Limit of a divergence from which on rows with tails like those of t with 5 degrees of freedom may pass."""

_ROWS_TO_SIDES = 250.0
"""Shells are counted to either side of components that have so many times as many rows as a count has noise."""

_CERTAIN = 3.5
"""Rows beyond the components are reported as a background from so many standard deviations on ..."""

_ODD = 0.001
"""... and from this share of all rows."""

_HOLLOW, _INNER = 0.5, 2
"""A component is hollow if less than the first part of the rows that it should have in the inner shells along its axis
are there, so many shells, and three sds of the noise cannot be why: of two components 4 sds apart that were taken for
one it is a third, of uniform ones .7, of rings and crescents .56."""

_SCALES = tuple(1.5 + 0.25 * step for step in range(400))
"""Scales of a background that are tried."""

_DESCRIBES = (
    "It describes the table less well than its intervals say: do not rely on these; weights and means can still be "
    "used as a description"
)
_DRAWS = (
    "Weights, means and covariances describe the table as well as Gaussians can; rows drawn from the model, and its "
    "probabilities of regions, do less well"
)
_ANYWHERE = (
    "Nothing shows where components lie: intervals are as wide as the table. Give more public rows, or ask for another "
    "number of components"
)
"""What a model means that does not fit: one that was measured and is wrong, or is not Gaussian, and the public one."""


@public_value
@dataclass(frozen=True)
class Background:
    """Rows that no component explains, as Gaussians about the components that are so many times as wide.

    Attributes:
        weight: share of the rows.
        scale: of their distances from the components' means, over that of the components' own rows.
    """

    weight: float
    scale: float

    @classmethod
    def of(cls, further: float, far: float, n: float, d: int) -> "Background":
        """Tell it from how many of n rows of d columns lie beyond the last two radii, above what the model predicts."""
        share = min(max(far / further, 0.0), 1.0)
        scale = next((s for s in _SCALES if beyond(d, FURTHER[1], s) >= share * beyond(d, FURTHER[0], s)), _SCALES[-1])
        return cls(min(further / n / beyond(d, FURTHER[0], scale), 1.0), scale)


@public_value
@dataclass(frozen=True)
class Fit:
    """Released counts against those that the model predicts.

    Attributes:
        divergence: sum (observed - predicted)^2 / predicted over regions, per row, less what noise and sampling make
            of it: of shells, and along axes.
        limits: what each may be where the model fits.
        contradicted: whether counts of one component by themselves contradict the model: in shells, and along its axis.
        noise: spectral noise in the whitened covariance of each component.
        unexplained: share of rows further out than twice the 99% radius, above what the model predicts.
        background: of odd rows beside the model; None: none are seen.
        radii: ends of the shells.
        shells: released counts, of all components together.
        predicted: counts that the model predicts.
        sds: of the noise in released counts.
        rows: private rows without a missing value.
        inner: released counts (k, inner shells) of each component by itself.
        sides: released counts (k, regions) of each component of one column to either side; (): none were asked for.
        hollow: a component has hardly any rows about its mean: it stands for several, or lies where none is.
    """

    divergence: tuple[float, float]
    limits: tuple[float, float]
    contradicted: tuple[bool, bool]
    noise: tuple[float, ...]
    unexplained: float
    background: Background | None
    radii: tuple[float, ...]
    shells: tuple[float, ...]
    predicted: tuple[float, ...]
    sds: tuple[float, ...]
    rows: float
    inner: tuple[tuple[float, ...], ...]
    sides: tuple[tuple[float, ...], ...] = ()
    hollow: bool = False  # for stored answers that are older than this field

    @property
    def sd(self) -> float:
        """Noise in one count."""
        return self.sds[-1]

    @property
    def tested(self) -> bool:
        """Tell whether the noise of some component is small enough for its counts to say anything."""
        return min(self.noise) < TELLING

    @property
    def fits(self) -> bool:
        """No count contradicts the model."""
        return self.background is None and not any(self._off)

    @property
    def wrong(self) -> bool:
        """Tell whether numbers may be wrong, and not only another law than a Gaussian's."""
        return not self.fits and (self.hollow or self.unexplained > MOST)

    @property
    def _off(self) -> tuple[bool, ...]:
        """Tell whether counts contradict the model, of all components together or of one: in shells, and along axes."""
        judged = zip(self.divergence, self.limits, self.contradicted, strict=True)
        return tuple(found > limit or alone for found, limit, alone in judged)

    @property
    def explains(self) -> bool:
        """Counts are those of the model by half of what they may be off, and the noise of every component is small."""
        near = all(found <= limit / 2 for found, limit in zip(self.divergence, self.limits, strict=True))
        return self.fits and near and max(self.noise) < TELLING

    @property
    def blunt(self) -> bool:
        """Rows with tails would not have been noticed."""
        return self.tested and max(self.limits) > _BLUNT

    def lost(self, measured: bool) -> bool:
        """Tell whether nothing shows where components lie: counts contradict a model that was not even `measured`."""
        return not (measured or self.fits or len(self.noise) == 1)

    def warnings(self, measured: bool = True) -> tuple[str, ...]:
        """Say what a reader should know; `measured`: the model was made from private rows, not from public ones."""
        if self.fits:
            if not self.tested:
                return ("whether the model fits could not be tested: the noise in its covariances is too large",)
            text = (
                "too few rows to tell whether they are Gaussian about their components: intervals of covariances are "
                "wider for that, and may still be too narrow for rows with very long tails"
            )
            return (text,) if self.blunt else ()
        shells, axes = self._off
        said = []
        if self.background is not None:
            said.append(
                f"{self.unexplained:.1%} of the rows lie further out than any component explains, as rows about "
                f"{self.background.scale:.2g} times as wide as the components would"
            )
        elif shells:
            said.append("rows are not spread about their components as Gaussians are")
        if axes:
            said.append("a component may stand for several, or lie where none is")
        meant = _ANYWHERE if self.lost(measured) else _DESCRIBES if self.wrong else _DRAWS
        return (f"the model does not fit the private rows: {'; '.join(said)}. {meant}",)

    def facts(self) -> dict[str, Any]:
        """Give what a release says of it among its diagnostics: plain numbers, by name."""
        return {
            "divergence": list(self.divergence),
            "limit": list(self.limits),
            "one_contradicts": any(self.contradicted),
            "noise": max(self.noise),
            "unexplained": self.unexplained,
            "background": None if self.background is None else asdict(self.background),
            "radii": list(self.radii),
            "rows_by_shell": list(self.shells),
            "rows_predicted": list(self.predicted),
            "tested": self.tested,
            "fits": self.fits,
        }


@step(title="fit of the model", private=True)
@one_thread
def check_fit(
    curator: Curator,
    scaling: Scaling,
    public: PublicTable,
    last: Round,
    mixture: Mixture,
    noise: tuple[float, ...],
    ask: Ask,
) -> Fit:
    """Tell whether counts of private rows are those that the model predicts.

    Args:
        curator: the run.
        scaling: of the standard coordinates.
        public: rows, whose lattices the drawn rows are put on.
        last: the round that was measured last; the estimate before it fixes the regions.
        mixture: the model that is released, in standard coordinates.
        noise: spectral noise in the covariance of each component.
        ask: for shells, and shells along axes.

    Privacy: one `JointCounts` over two partitions, mu^2 <= ask.price.
    """
    d, outside = len(scaling.location), _seen_outside(last)
    partitions, along = _regions_of(scaling, last, noise, ask)
    shells, axes = counted(curator, partitions, scaling.undo(mixture), public.rows, ask)
    sides: Matrix = ()
    if axes.partition.own > along.own:  # a resumed run answers the question that was paid for
        sides, axes = row_tuples(axes.by_component(axes.seen)), axes.without_sides(along)
    clear, n = np.array(noise) < TELLING, shells.rows
    judged = [divergence(*each.inner(clear), each.noise, n, each.clumped) for each in (shells, axes)]
    further, far = shells.excess[-2:].sum(), shells.excess[-1]
    further_sd = math.sqrt(2 * shells.sd**2 + shells.clumped * shells.predicted[-2:].sum())
    # what the last round left out is no defect of the model, in whatever region of an axis it lies
    left_out = 0.0 if outside is None else outside.count
    room = left_out**2 / max(float(axes.predicted.min()), 4 * float(axes.noise[-1])) / n
    odd = clear.any() and further - left_out > max(_CERTAIN * further_sd, _ODD * n)
    return Fit(
        (judged[0][0], judged[1][0]),
        (judged[0][1], judged[1][1] + room),
        (shells.contradicted(clear, n), axes.contradicted(clear, n, room)),
        noise,
        float(further) / n,
        Background.of(float(further), float(far), n, d) if odd else None,
        shells.partition.edges,
        shells.by_shell(shells.seen),
        shells.by_shell(shells.predicted),
        tuple(np.sqrt(shells.by_shell(np.full(len(shells.seen), shells.sd**2))).tolist()),
        n,
        row_tuples(shells.inner(np.full(len(clear), True))[0]),
        sides,
        axes.hollow(clear),
    )


def fit_question(scaling: Scaling, last: Round, noise: tuple[float, ...], ask: Ask) -> JointCounts:
    """Make the question of `check_fit`, which depends on the last round alone, and not on the model that is judged."""
    return JointCounts.priced(_regions_of(scaling, last, noise, ask)[0], ask.price)


def _regions_of(
    scaling: Scaling, last: Round, noise: tuple[float, ...], ask: Ask
) -> tuple[tuple[ComponentShells, ComponentShells], ComponentShells]:
    """Both partitions that are counted, and the shells along axes; one column may have those to its sides instead."""
    cells = scaling.cells(last.start)  # a scan has the lengths in them from the round itself
    along = shells_along(cells, longest_axes(scaling, last.start, noise))
    partitions = shells_about(cells), along
    if len(scaling.location) == 1:
        to_sides = partitions[0], shells_to_sides(cells)
        partitions = to_sides if _seen_outside(last) is not None or _quiet(to_sides, ask, last) else partitions
    return partitions, along


def _seen_outside(last: Round) -> Outside | None:
    """Rows outside all components, where a round clearly has some."""
    return last.outside if last.outside is not None and last.outside.seen else None


def _quiet(partitions: tuple[ComponentShells, ...], ask: Ask, last: Round) -> bool:
    """Tell whether noise is so small that counts to either side show skewness, and test as well."""
    sd = float(np.max(JointCounts.priced(partitions, ask.price).noise()["count"]))
    return min(last.counts) > _ROWS_TO_SIDES * sd


@dataclass(frozen=True)
class Counted:
    """Released counts (regions,) of noise `sd`, and those that the model predicts of so many rows.

    Rows of one person are alike: counts vary by sampling `clumped` times as much as those of rows by themselves. Counts
    that were added up are `louder` by shell.
    """

    partition: ComponentShells
    seen: np.ndarray
    predicted: np.ndarray
    sd: float
    rows: float
    clumped: float = 1.0
    louder: tuple[float, ...] = (1.0,)

    @property
    def excess(self) -> np.ndarray:
        """Rows above what the model predicts."""
        return np.asarray(self.seen - self.predicted)

    def inner(self, clear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts of the shells of components that are `clear`, and those predicted: (components, shells)."""
        return self.by_component(self.seen)[clear], self.by_component(self.predicted)[clear]

    def by_component(self, counts: np.ndarray) -> np.ndarray:
        """Counts (components, shells) of the shells that components have for themselves."""
        return counts[: len(counts) - self.partition.shared].reshape(-1, self.partition.own)

    def without_sides(self, partition: ComponentShells) -> "Counted":
        """Counts to either side together, over the shells of `partition`."""
        seen, predicted = (without_sides(self.by_component(each)).ravel() for each in (self.seen, self.predicted))
        louder = np.sqrt(without_sides(np.ones(self.partition.own)))
        return replace(self, partition=partition, seen=seen, predicted=predicted, louder=tuple(louder.tolist()))

    @property
    def noise(self) -> np.ndarray:
        """Sds of the noise of the shells that components have for themselves."""
        return self.sd * np.array(self.louder)

    def contradicted(self, clear: np.ndarray, n: float, room: float = 0.0) -> bool:
        """Tell whether counts of a component that is `clear` contradict the model of n rows by themselves.

        Among those of all others noise hid two components in one. There are two tests of each component. `room` is for
        rows that the last round left out.
        """
        chance = _BY_CHANCE / (2 * len(clear))
        judged = (
            divergence(*each, self.noise, n, self.clumped, chance) for each in zip(*self.inner(clear), strict=True)
        )
        return any(found > limit + room for found, limit in judged)

    def hollow(self, clear: np.ndarray) -> bool:
        """Tell whether a component that is `clear` has hardly any of the rows that it should have about its mean."""
        seen, predicted = (part[:, :_INNER].sum(axis=1) for part in self.inner(clear))
        noise = _CLEAR * math.sqrt(_INNER) * float(np.max(self.noise))
        return bool((seen + noise < _HOLLOW * predicted).any())

    def by_shell(self, counts: np.ndarray) -> tuple[float, ...]:
        """Counts of all components together."""
        inner = len(counts) - self.partition.shared
        return (*self.by_component(counts).sum(axis=0).tolist(), *counts[inner:].tolist())


def counted(
    curator: Curator, partitions: tuple[ComponentShells, ...], model: Mixture, public: np.ndarray, ask: Ask
) -> list[Counted]:
    """Count private rows over partitions, beside what a model predicts: one for each partition.

    Args:
        curator: the run.
        partitions: in standard coordinates.
        model: in the table's own units.
        public: rows (m, d), whose lattices the drawn rows are put on.
        ask: for the counts.

    Privacy: one `JointCounts`, mu^2 <= ask.price.
    """
    found = beside_model(curator, JointCounts.priced(partitions, ask.price), model, public, ask.label)
    seen, predicted = found.asked.split(found.seen), found.asked.split(found.predicted)
    return [
        Counted(*each, found.sd, found.rows, found.clumped)
        for each in zip(found.asked.partitions, seen, predicted, strict=True)
    ]


def divergence(
    seen: np.ndarray,
    predicted: np.ndarray,
    sd: float | np.ndarray,
    n: float,
    clumped: float = 1.0,
    chance: float = _BY_CHANCE,
) -> tuple[float, float]:
    """Divergence of released counts from predicted ones, and its limit where the model fits.

    Released counts vary by the noise of sd `sd` and by sampling, `clumped` times as much as counts of independent rows;
    the predicted ones because so many rows were drawn.
    The sum of squares less these variances is zero in the mean for the right model, and spread like a chi-square
    variable of the same first two moments (Satterthwaite 1946). Counts below four sds of the noise are weighed as if
    they were that large.
    """
    from scipy.special import chdtri

    if not len(seen):
        return 0.0, _LIMIT
    variance = sd**2 + predicted * (clumped + n / DRAWN)
    least = np.maximum(predicted, 4 * sd)
    found = float((((seen - predicted) ** 2 - variance) / least).sum()) / n
    parts = variance / least
    unit = float((parts**2).sum() / parts.sum())
    freedom = float(parts.sum()) / unit
    return found, _LIMIT + unit * float(chdtri(freedom, chance) - freedom) / n
