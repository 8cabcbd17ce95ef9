"""Compare two releases: what changed, and which differences privacy noise alone would explain.

The difference of each released number is expressed in two units: the standard deviation from privacy noise alone,
which is known exactly, and that from noise and sampling together. If many numbers are compared, some differ by chance,
so a difference counts only beyond Bonferroni's threshold: for two releases of one unchanged law, at most one comparison
in twenty reports any change.

Only released numbers are used, so a comparison costs no privacy.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.estimate import Estimate
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.numbers import Number, State, by_component, of_all, of_columns, of_quantity
from pubpriv.released.quantiles import QuantilesEstimate

_LEVEL = 0.05
"""Probability that any change is reported for two releases of one unchanged law."""

_FAR = 3.0
"""Matched components with means further apart than this, in standard deviations, may be different ones."""

_MEAN, _GAUSSIAN = "mean", "gaussian"

_NOISE, _SAMPLING, _CHANGED = "noise alone explains it", "noise and sampling explain it", "changed"


@dataclass(frozen=True)
class Difference:
    """One number in two releases.

    Attributes:
        quantity: weight, mean, sd (standard deviation of a column), covariance, quantile or share.
        column, other_column: columns of the data; None for a weight.
        component: component in the first release; None if there are no components.
        first, second: the number in each release.
        noise: standard deviation of the difference from privacy noise alone.
        error: standard deviation from noise, sampling and clipping.
        noises, errors: the difference in these units; of a quantile, that of ranks in units of their errors.
        verdict: in words: noise alone explains it, or noise and sampling do, or it changed.
        group: group of rows; None: all rows.
        doubtful: the number is doubtful in either release, so that what differs may be an error that is not stated.
        rank, level: of a quantile or a share; None for other quantities.
    """

    quantity: str
    column: str | None
    other_column: str | None
    component: int | None
    first: float
    second: float
    noise: float
    error: float
    noises: float
    errors: float
    verdict: str
    group: str | None = None
    doubtful: bool = False
    rank: float | None = None
    level: str | None = None

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first


@dataclass(frozen=True)
class _Pair:
    """Matched components: numbers from 1, and the distance of their means in standard deviations."""

    first: int
    second: int
    distance: float


@dataclass(frozen=True)
class Drift:
    """Result of `compare`.

    Attributes:
        kind: kind of both releases; `mean` of a mean and a Gaussian.
        columns: columns that both releases have, in the order of the first.
        threshold: in standard deviations; a difference beyond it is not chance.
        differences: differences of all numbers.
        pairs: matched components; empty if there are no components.
        only_first, only_second: components without a counterpart.
        notes: remarks to read before drawing conclusions.
    """

    kind: str
    columns: tuple[str, ...]
    threshold: float
    differences: tuple[Difference, ...]
    pairs: tuple[_Pair, ...]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def changed(self) -> int:
        """Number of numbers that changed."""
        return self._counted(_CHANGED)

    @property
    def explained_by_noise(self) -> int:
        """Number of numbers whose difference privacy noise alone explains."""
        return self._counted(_NOISE)

    @property
    def explained_by_noise_and_sampling(self) -> int:
        """Number of numbers whose difference both together explain, but noise alone does not."""
        return self._counted(_SAMPLING)

    def _counted(self, verdict: str) -> int:
        return sum(difference.verdict == verdict for difference in self.differences)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "level": _LEVEL,
            "threshold": self.threshold,
            "compared": len(self.differences),
            "changed": self.changed,
            "explained_by_noise": self.explained_by_noise,
            "explained_by_noise_and_sampling": self.explained_by_noise_and_sampling,
            "components": {
                "pairs": [asdict(pair) for pair in self.pairs],
                "only_first": list(self.only_first),
                "only_second": list(self.only_second),
            },
            "differences": [asdict(each) | {"difference": each.difference} for each in self.differences],
            "notes": list(self.notes),
        }


def compare(first: Estimate, second: Estimate) -> Drift:
    """Find the drift from one release to another.

    Args:
        first: a mean, a Gaussian, a mixture or quantiles.
        second: of the same kind, or a mean and a Gaussian, of which the means are compared. Numbers of columns that
            only one of them has are left out, and a note names these columns.

    Raises:
        InvalidInput: they cannot be compared; the message says why.
    """
    columns = _shared_columns(first, second)
    pairs: tuple[_Pair, ...] = ()
    if isinstance(first, MixtureEstimate) and isinstance(second, MixtureEstimate):
        pairs = _match(first, second, columns)
    only_first = _alone(first.n_components or 0, {pair.first for pair in pairs})
    only_second = _alone(second.n_components or 0, {pair.second for pair in pairs})
    one, other = _compared(first), _compared(second)
    matched: list[tuple[int | None, int | None]] = [(pair.first, pair.second) for pair in pairs] or [(None, None)]
    pairs_of = [(i, a, b) for i, j in matched for a, b in _paired(one[i], other[j])]
    pairs_of += [(a.component, a, b) for a, b in _of_groups(first, second)]
    found = [(i, a, b) for i, a, b in pairs_of if {a.column, a.other_column} <= {*columns, None}]
    if not found:
        raise InvalidInput("the releases have no number in common: nothing can be compared")
    threshold = _threshold(len(found))
    differences = tuple(_difference(component, a, b, threshold, _ranks(first, second, a)) for component, a, b in found)
    notes = (*_left_out(first, second, columns), *_notes(first, second, pairs))
    kind = first.kind if first.kind == second.kind else _MEAN
    return Drift(kind, columns, threshold, differences, pairs, only_first, only_second, notes)


def _match(first: MixtureEstimate, second: MixtureEstimate, columns: tuple[str, ...]) -> tuple[_Pair, ...]:
    """Match components of two mixtures: the assignment with the least sum of squared distances.

    Distances are Mahalanobis distances of means in the shared columns, under the mean of both covariances. In the
    larger mixture some components have no counterpart.
    """
    from scipy.optimize import linear_sum_assignment

    one, other = _parts(first, columns), _parts(second, columns)
    squared = np.array([[_distance(a, b) ** 2 for b in other] for a in one])
    pairs = zip(*linear_sum_assignment(squared), strict=True)
    return tuple(_Pair(int(i) + 1, int(j) + 1, float(np.sqrt(squared[i, j]))) for i, j in pairs)


def _alone(k: int, matched: set[int]) -> tuple[int, ...]:
    return tuple(j for j in range(1, k + 1) if j not in matched)


def _parts(release: MixtureEstimate, columns: tuple[str, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean and covariance of each component, in these columns."""
    places = [release.columns.index(name) for name in columns]
    pairs = zip(release.means, release.covariances, strict=True)
    return [(mean[places], covariance[np.ix_(places, places)]) for mean, covariance in pairs]


def _distance(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    covariance = (one[1] + other[1]) / 2
    return float(np.linalg.norm(np.linalg.solve(np.linalg.cholesky(covariance), one[0] - other[0])))


def _shared_columns(first: Estimate, second: Estimate) -> tuple[str, ...]:
    """Columns that both have, in the order of the first.

    Raises:
        InvalidInput: a simulation, other kinds, or no such column.
    """
    for number, estimate in (("first", first), ("second", second)):
        if estimate.provenance.get("dataset") is None:
            raise InvalidInput(f"the {number} model is a simulation, without a release's noise: it is not compared")
    kinds = {first.kind, second.kind}
    if len(kinds) > 1 and kinds != {_MEAN, _GAUSSIAN}:
        raise InvalidInput(
            f"a {first.kind} and a {second.kind} cannot be compared: give two releases of one kind, or a mean and a "
            "gaussian"
        )
    shared = tuple(name for name in first.columns if name in second.columns)
    if not shared:
        raise InvalidInput(
            f"the releases have no column in common: the first has {', '.join(first.columns)}, the second "
            f"{', '.join(second.columns)}"
        )
    return shared


def _left_out(first: Estimate, second: Estimate, columns: tuple[str, ...]) -> list[str]:
    """Notes about what only one release has: columns, and the covariance of a Gaussian beside a mean."""
    notes = []
    for which, release in (("first", first), ("second", second)):
        alone = [name for name in release.columns if name not in columns]
        if alone:
            notes.append(f"columns of the {which} release alone are left out: {', '.join(alone)}")
    if first.kind != second.kind:
        which = "first" if first.kind == _GAUSSIAN else "second"
        notes.append(f"only the means are compared: the {which} release is a gaussian, whose covariance is left out")
    if notes and isinstance(first, MixtureEstimate):
        notes.append("components that were found in other columns may be other groups of rows, though these are alike")
    return notes


def _compared(estimate: Estimate) -> dict[int | None, list[Number]]:
    """Numbers to compare, by component: standard deviations instead of variances, then covariances of pairs."""
    return {component: _without_variances(part) for component, part in by_component(of_all(estimate.numbers())).items()}


def _without_variances(numbers: list[Number]) -> list[Number]:
    pairs = [number for number in of_quantity(numbers, "covariance") if not number.is_variance]
    return of_quantity(numbers, "weight") + of_columns(numbers) + of_quantity(numbers, "sd") + pairs


def _of_groups(first: Estimate, second: Estimate) -> list[tuple[Number, Number]]:
    """Pairs of numbers of groups in both releases, without weights, since components need not be the same."""
    if first.groups is None or second.groups is None or first.groups.by != second.groups.by:
        return []
    found = []
    others = {group.category: group for group in second.groups.each}
    for group in first.groups.each:
        if group.category in others:
            one, other = (_without_variances(list(g.numbers(first.columns))) for g in (group, others[group.category]))
            pairs = [(a, b) for a, b in _paired(one, other) if a.quantity != "weight"]
            found += pairs
    return found


def _paired(one: list[Number], other: list[Number]) -> list[tuple[Number, Number]]:
    """Pair numbers of the same place; quantiles of one release need not have the ranks of the other."""
    places = {_place(number): number for number in other}
    return [(number, places[_place(number)]) for number in one if _place(number) in places]


def _place(number: Number) -> tuple[Any, ...]:
    """Place of a number, whatever the order of columns: a covariance has none of its two columns first."""
    quantity, column, other, *rest = number.place
    pair = (column, other) if other is None else tuple(sorted((str(column), other)))
    return quantity, *pair, *rest


def _ranks(first: Estimate, second: Estimate, number: Number) -> tuple[float, float] | None:
    """Express the difference of a quantile in ranks, since values that many rows have differ by no small amounts."""
    if not (isinstance(first, QuantilesEstimate) and isinstance(second, QuantilesEstimate)) or number.rank is None:
        return None
    group = None if number.group is None or first.groups is None else first.groups[number.group].category
    one, other = (e if group is None else e.of_group(group) for e in (first, second))
    return one.described.apart(other.described, str(number.column), number.rank)


def _difference(
    component: int | None, a: Number, b: Number, threshold: float, ranks: tuple[float, float] | None
) -> Difference:
    apart = b.value - a.value
    noise = float(np.hypot(a.privacy, b.privacy))
    error = float(np.hypot(a.error, b.error))
    noises, errors = ranks or (_units(apart, noise), _units(apart, error))
    verdict = _NOISE if abs(noises) <= threshold else _SAMPLING if abs(errors) <= threshold else _CHANGED
    name = (a.quantity, a.column, a.other_column, component, a.value, b.value)
    doubtful = State.DOUBTFUL in (a.state, b.state)
    return Difference(*name, noise, error, noises, errors, verdict, a.group, doubtful, a.rank, a.level)


def _units(apart: float, sd: float) -> float:
    if apart == 0:
        return 0.0
    return apart / sd if sd > 0 else float(np.copysign(np.inf, apart))


def _threshold(comparisons: int) -> float:
    """Bonferroni's threshold: a standard normal exceeds it, on either side, with probability _LEVEL / comparisons."""
    from scipy.special import ndtri

    return float(-ndtri(_LEVEL / (2 * max(1, comparisons))))


def _groups_alone(*releases: Estimate) -> list[str]:
    """Note about groups that only one release has."""
    names = [{g.category: g.name for g in release.groups.each} if release.groups else {} for release in releases]
    alone = ", ".join(sorted((names[0] | names[1])[category] for category in names[0].keys() ^ names[1].keys()))
    return [f"groups that only one of the releases has are not compared: {alone}"] if alone else []


def _numbers_alone(first: Estimate, second: Estimate) -> list[str]:
    """Note about ranks and levels that only one release has."""
    names = [{n.name for n in of_all(each.numbers()) if n.rank or n.level} for each in (first, second)]
    alone = ", ".join(sorted(names[0] ^ names[1]))
    return [f"numbers that only one of the releases has are not compared: {alone}"] if alone else []


def _worth(which: str, estimate: Estimate) -> list[str]:
    """Note about numbers that should not be trusted, or of which nothing is said."""
    if not estimate.converged:
        return [f"do not trust all numbers and errors of the {which} release: {estimate.verdict}"]
    return [f"the {which} release has no states: an older version made it"] if estimate.states is None else []


def _notes(first: Estimate, second: Estimate, pairs: tuple[_Pair, ...]) -> tuple[str, ...]:
    notes = []
    if first.provenance["release_id"] == second.provenance["release_id"]:
        notes.append("both are the same release: their noise is the same, so nothing differs by chance")
    notes += [note for name, estimate in (("first", first), ("second", second)) for note in _worth(name, estimate)]
    for name in ("dataset", "method"):
        a, b = (e.provenance.get(name, getattr(e, name, None)) for e in (first, second))
        if a != b:
            notes.append(f"the releases are of different {name}s ({a}, {b}): that alone may explain the differences")
    if first.target != second.target and first.target and second.target:
        notes.append(
            f"the releases have different targets ({first.target}: {first.estimand}; {second.target}: "
            f"{second.estimand}): if rows are not Gaussian these are different numbers, and that alone may explain "
            "the differences"
        )
    shapes = [e.diagnostics.get("covariance_type", "full") for e in (first, second)]
    if shapes[0] != shapes[1]:
        notes.append(
            f"covariances are {shapes[0]} in the first and {shapes[1]} in the second: that alone makes spreads differ"
        )
    if first.n_components != second.n_components:
        notes.append(
            f"the first has {first.n_components} components and the second {second.n_components}: some have no "
            "counterpart, and numbers of the others move because rows are divided differently"
        )
    notes += [*_groups_alone(first, second), *_numbers_alone(first, second)]
    notes += [
        f"components {pair.first} and {pair.second} are {pair.distance:.1f} standard deviations apart: they may be "
        "different ones"
        for pair in pairs
        if pair.distance > _FAR
    ]
    facts = [tuple(each.provenance.get(name) for name in ("dataset", "period", "persons")) for each in (first, second)]
    (whose, earlier, persons), (other, later, _) = facts
    if whose != other or persons or not earlier or not later or earlier == later:  # else no row is in both
        notes.append(
            "sampling errors are those of two tables with no record in common; if the tables share records, less "
            "differs by chance than is said here"
        )
    return tuple(notes)
