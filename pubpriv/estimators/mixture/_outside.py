"""Rows that belong to no component: odd ones, further out from each of them than Gaussian rows are.

The last round has two regions of its own for them, shells about all components together. That costs nothing: a row
that is replaced leaves one region and enters one other, however many there are. So odd rows are counted, and move no
mean, covariance or weight. Odd rows of the same kind that lie nearer are among those of components. What these add is
expected of rows that are wider than components, by a factor that the two counts tell more or less; it is taken out, and
how little is known of the factor is an error (`clipping`). Shells are of released numbers, so all of this is free.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubpriv.data.codec import Matrix, public_value
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.questions import Question
from pubpriv.data.questions.radial import GAUSSIAN
from pubpriv.data.regions import Cells
from pubpriv.estimators._lengths import length_quantile
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._strays import SortedDraw, Sorting, Strays, drawn
from pubpriv.released.law import Mixture
from pubpriv.released.numbers import Z95

_SHELLS = 2
"""Regions for rows of no component; the second begins twice as far out as the first."""

_UNMEASURED = 2.0
"""Where no round came before, components may be so many times as wide as they were taken to be."""

_CLEAR, MOST = 3.0, 0.03
"""Rows of no component are reported from so many sds of their count on, and from this share of all rows on the run is
flagged: others of their kind lie among the rows of components."""

_HIDDEN = 0.01
"""Where noise would hide this share of all rows, none are left out: a group of rows that no component explained would
be lost without a word, and what is made of them would hang on noise. They make components wider instead."""

_MAY_BE_GAUSSIAN = 0.05
"""Long tails are reported where the chance that there are none is no larger."""

_ALONE = 0.5
"""Long tails are said to be of one column where that is likelier."""

_WIDTHS = np.geomspace(2.0, 32.0, 9)
"""How many times as wide as components odd rows may be; each is as likely beforehand."""

_MANY = 0.5
"""Odd rows are no more than this share of all: widths that would bring so few of them out are left out."""

MISTAKEN = 0.3
"""The true law of tails, or of odd rows, may differ from all that are known by this part of what they correct: one sd.
More would widen intervals of laws that are known, less would miss those of others."""

_DRAWN = 4_000
"""Odd rows that are drawn of each width."""


def outside_end(n: int, d: int, measured: bool) -> float:
    """Tell how far from its component a row of n rows of d columns may lie; `measured`: a round came before.

    One row of n Gaussian ones lies further out.
    """
    return length_quantile(d, 1 - 1 / max(n, 2)) * (1.0 if measured else _UNMEASURED)


def cut(cells: Cells, end: float, ask: Ask) -> Cells | ComponentShells:
    """Cut off what lies further out than `end` from its component.

    Under Gaussian noise regions share one price. Radial noise would be louder over more of them, so a pure run has
    none of these, and such rows are clipped.
    """
    if ask.law != GAUSSIAN:
        return cells
    return ComponentShells(cells, tuple(end * 2.0**j for j in range(_SHELLS)), (), _SHELLS)


def hides_many(question: Question, n: int) -> bool:
    """Tell whether the noise of a round's counts hides more rows of no component, of n, than it may leave out."""
    sd = float(question.noise()["count"].flat[0])
    return _CLEAR * sd * math.sqrt(_SHELLS) > _HIDDEN * n


def as_planned(cells: Cells, ask: Ask) -> Cells | ComponentShells:
    """Cut off what the plan's question for this ask cuts off."""
    planned = getattr(ask.question, "partition", None)
    return replace(planned, cells=cells) if isinstance(planned, ComponentShells) else cells


@public_value
@dataclass(frozen=True)
class Tails:
    """What is made of the tails of components, see `tails`.

    Attributes:
        factors: by which variances were multiplied, (k, d); covariances by the root of two of these.
        places: by how many standard deviations means were moved, (k, d).
        unsure: relative sd that is to be added to errors of variances, (k, d).
        shift: sd that is to be added to errors of means, in standard deviations of a column, (k, d).
        gaussian: chance that the rows of components are Gaussian.
        odd: chance that rows outside of components are odd ones, and not their tails.
        alone: chance of each column that it has a tail which the others have not, (d,).
        skewed: whether tails are longer to one side, as those of skewed laws are.
        crowded: columns that take more rows far out than any law of tails lets them.
    """

    factors: Matrix
    places: Matrix
    unsure: Matrix
    shift: Matrix
    gaussian: float
    odd: float
    alone: tuple[float, ...]
    skewed: bool = False  # for stored tails of runs that are older than these fields
    crowded: tuple[int, ...] = ()

    def warnings(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Tell what a reader should know, in words; `columns` are the names of columns."""
        if self.crowded:
            names = ", ".join(columns[j] for j in self.crowded)
            text = (
                f"more rows lie far out in {names} than long tails explain: a second group of rows lies among those of "
                "components. Means and covariances there are of all of them together: do not use them"
            )
            return (text,)
        if self.gaussian > _MAY_BE_GAUSSIAN:
            return ()
        added, error = max(map(max, self.factors)) - 1, Z95 * max(map(max, self.unsure))
        text = "rows of components have longer tails than Gaussian ones"
        if self.skewed:
            text = "rows of components are skewed: what that did to means and covariances is put back"
            changed = max(abs(factor - 1) for (factor,) in self.factors)
            return (f"{text}, up to {changed:.1%} (+- {error:.1%}) of a covariance",)
        if added > 0:
            text += f": what was cut off of them is counted in, up to {added:.1%} (+- {error:.1%}) of a covariance"
        else:
            text += f", or odd rows lie among them: covariances may be off by {error:.1%} for that"
        if sum(self.alone) > _ALONE:
            most = max(range(len(self.alone)), key=lambda j: self.alone[j])
            text += (
                f". One column seems to have them alone: {columns[most]}, by its values "
                f"(chance {self.alone[most]:.2f}). Give log1p(x) of a column that is skewed"
            )
        return (text,)


@public_value
@dataclass(frozen=True)
class Outside:
    """Rows that belong to no component.

    Attributes:
        end: they are further out than so many standard deviations.
        count: of them, above what the components explain.
        noise: sd of the count.
        beyond: released counts of the regions outside.
        among: what others of their kind add to a variance of 1 of each component, (k,); it was taken out.
        unsure: sd of that.
    """

    end: float
    count: float
    noise: float
    beyond: tuple[float, ...] = ()
    among: tuple[float, ...] = ()
    unsure: tuple[float, ...] = ()

    @property
    def seen(self) -> bool:
        """Tell whether there are some for sure."""
        return self.count > _CLEAR * self.noise

    def few(self, n: float, most: float = MOST) -> bool:
        """They are not so many, of n whole rows, that the components themselves are in doubt: less than `most`."""
        return not self.seen or self.count < most * n

    def share(self, n: float) -> float:
        """Give their share of n whole rows; 0: there may be none."""
        return min(self.count / n, 1.0) if self.seen else 0.0

    def of_components(self, kept: list[int]) -> "Outside":
        """Give the same where only these components are left."""
        if not self.among:
            return self
        among, unsure = (tuple(part[j] for j in kept) for part in (self.among, self.unsure))
        return replace(self, among=among, unsure=unsure)

    def beside(self, models: tuple[Mixture, Mixture], n: float) -> tuple[Mixture, Mixture]:
        """Give two models of n whole rows a background in common, about the first, if there are some.

        So they are compared by the rows of components. Each odd row would be as good for the wider of two models as
        hundreds of rows are for the better one, and would decide.
        """
        if not (self.seen and self.few(n)):
            return models
        first, second = models
        return first.beside_background(self.share(n)), second.beside_background(self.share(n), first)

    def warnings(self, n: float) -> tuple[str, ...]:
        """Tell what a reader should know of them, of n whole rows, in words."""
        if not self.seen:
            return ()
        error = Z95 * math.hypot(self.noise, math.sqrt(self.count)) / n
        text = (
            f"{self.count / n:.1%} (+- {error:.1%}) of the private rows belong to no component: they lie more than "
            f"{self.end:.3g} standard deviations from each. Weights, means and covariances are those of the other rows"
        )
        if self.few(n):
            return (text,)
        return (f"{text}. They are too many to be odd rows: do not use these numbers, but look for what they are",)

    def facts(self, n: float) -> dict[str, Any]:
        """Give what a release says of them, of n whole rows, among its diagnostics."""
        return {
            "outside": {
                "share": self.count / n,
                "sd": math.hypot(self.noise, math.sqrt(max(self.count, 0.0))) / n,
                "beyond": self.end,
                "seen": self.seen,
            },
            "could_hide": {"rows": math.ceil(_CLEAR * self.noise), "beyond": self.end, "left_out": True},
        }


def outside(
    sorting: Sorting, counts: np.ndarray, beyond: np.ndarray, sd: float, model: Mixture
) -> tuple[Outside, Strays | None]:
    """Tell how many rows belong to no component, and what others of their kind add to totals, per row of components.

    Args:
        sorting: of the round; its partition has regions outside.
        counts: of components, released.
        beyond: of the regions outside, released.
        sd: of the noise in a count.
        model: in standard coordinates, made of these values.

    Returns:
        What is known of them; and what is to be taken out, or None where none are seen.
    """
    assert isinstance(sorting.partition, ComponentShells)
    end, noise, rows = sorting.partition.edges[0], sd * math.sqrt(_SHELLS), max(float(counts.sum()), 1.0)
    released = tuple(beyond.tolist())
    known = Outside(end, float(beyond.sum()), noise, released)
    if known.seen:  # components may be wider than the frames that cut them
        beyond = beyond - rows * SortedDraw.of(sorting, model).strays.outside
        known = Outside(end, float(beyond.sum()), noise, released)
    if not known.seen:
        return known, None
    kinds = [_of_width(sorting, model, width) for width in _WIDTHS]
    kinds = [kind for kind in kinds if known.count < _MANY * rows * kind.outside.sum()]
    if not kinds:
        nothing = (0.0,) * len(counts)
        return replace(known, among=nothing, unsure=nothing), None
    sizes = np.array([known.count / kind.outside.sum() for kind in kinds])
    expected = sizes[:, None] * np.array([kind.outside for kind in kinds])
    likely = -((beyond - expected) ** 2 / (sd**2 + expected)).sum(axis=1) / 2
    chance = np.exp(likely - likely.max())
    chance /= chance.sum()
    added = sizes / rows
    among = added[:, None] * np.array([_variances_added(sorting, model, kind) for kind in kinds])
    mean = chance @ among
    unsure = np.hypot(np.sqrt(chance @ (among - mean) ** 2), MISTAKEN * np.abs(mean))
    known = replace(known, among=tuple(mean.tolist()), unsure=tuple(unsure.tolist()))
    return known, Strays.sum_of(kinds, chance * added)


def _of_width(sorting: Sorting, model: Mixture, width: float) -> Strays:
    """Tell where rows go that are so many times as wide as components, per row."""
    weights = model.arrays[0]
    each = _DRAWN // len(weights)
    shares = np.repeat(weights, each) / each
    return SortedDraw(sorting, drawn(model, each, width), np.zeros((len(weights), len(shares))), shares).strays


def _variances_added(sorting: Sorting, model: Mixture, odd: Strays) -> np.ndarray:
    """Tell what one odd row for each row of a table adds to variances of 1, averaged over columns: (k,)."""
    weights, _, covariances = model.arrays
    found = []
    for (_, whiten), weight, covariance, count, moment in zip(
        sorting.frames, weights, covariances, odd.counts, odd.moments, strict=True
    ):
        own = float(np.trace(whiten @ covariance @ whiten.T))
        found.append((float(np.trace(moment)) / own - count) / weight)
    return np.array(found)
