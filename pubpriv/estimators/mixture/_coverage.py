"""Ask the private rows, before anything is clustered, what the public rows lack and what they have too much of.

Later is too late: if the public rows lack one component, the others seem to overlap, grow over the rows of the missing
one, and nothing stands out any more. There are three questions, each asked only if it can matter:
- *support*, if some public rows lie apart from all others: how many private rows are nearest to them. Public rows that
  represent almost no private rows are left out from here on.
- *uncovered*: count, mean and spread of the private rows that are further from all public rows than these are from each
  other.
- *absent component*, if those are many: the same for a ball around their mean. If these rows are compact and no public
  row is near, synthetic rows drawn from the answer represent the component wherever components are started from. They
  never count as public rows, neither in the public model nor in errors.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pubpriv.curator import Curator
from pubpriv.data.balls import Cylinder
from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Counts, LiftedGram, Moments, Question
from pubpriv.data.questions.radial import bounding_sd
from pubpriv.data.regions import NearestPoint
from pubpriv.data.tables import PublicTable
from pubpriv.data.uncovered import Uncovered
from pubpriv.estimators._whole_rows import WholeRows, whole_rows
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.mixture._linear import clip_radius, one_thread
from pubpriv.estimators.mixture._outline import Outline, outline
from pubpriv.estimators.mixture._plan import ABSENT, SUPPORT, SURELY_FEW, UNCOVERED
from pubpriv.estimators.mixture.rounds import MOMENT_SHARES
from pubpriv.estimators.mixture.scaling import Scaling, precondition
from pubpriv.estimators.steps import Execution, step

_SURE = 6.0
"""A count is significant if it exceeds this many sds of its noise, ..."""

_MANY = 0.012
"""... and large if it is at least this share of the table: fewer rows are beyond the public ones' reach by chance."""

_UNSUPPORTED, _NOT_MORE = 0.1, 1.0
"""Public rows that lie apart represent some number of private rows. They are left out if the count of these is below
the first share of it plus one noise sd, and also `SURELY_FEW` noise sds below it: if the noise could hide all of them,
a small count shows nothing, and the far rows of a long tail are kept. Not more than one sd: three rows of a real table
that represented forty private ones instead of 116 were left out, and the model without them lost 0.8 nats a row."""

_SURELY, _APART, _CLOSE = (0.6, 4.0, math.inf), (0.75, 3.0, 6.0), (0.85, 1.75, 3.0)
"""Per line: an absent component has at least this share of the uncovered rows; its variance is at most this many times
that of the public clusters, and the variance of all uncovered rows at most the last number of times. The first line is
for more uncovered rows than chance explains: something is absent. Otherwise the rows may be the tail of a component
with few public rows, and more likely so the nearer they are: second and third line."""

_FURTHER, _NEAREST = 1.5, 0.85
"""The second line is for clouds whose mean is at least 1 + 1.5 / sqrt(d) times as far from the public rows as these
reach; clouds nearer than 0.85 times are not used."""

_BALL = 1.5, (0.5, 4.0, 16.0), 1.3
"""The ball's radius: 1.5 times that of rows of the released spread, within these bounds (the last one if more rows are
uncovered than chance explains), and at least that of `clip_radius` with the last factor."""

_TWO = 4.0
"""A cloud has two components if its largest variance exceeds the mean of the others by this many times that mean."""

_REACH = 1.5
"""Uncovered rows are clipped to this many times the largest norm of a public row."""

_SHELLS, _VISIBLE = 7, 4.0
"""Number of shells that uncovered rows are counted in, each twice as far out as the one before; shells with a count
above this many noise sds are added up."""

_DRAWN, _FEWEST_DRAWN = (0.3, 4.0), 3
"""Bounds of the variance of synthetic rows, and their least number."""


@public_value
@dataclass(frozen=True)
class _Support:
    """Counts of private rows nearest to public rows that lie apart.

    Attributes:
        counts: released counts, by group of `Outline.alone`.
        noise: noise sd of each count.
        refused: groups that represent almost no private rows.
        rows: number of private rows without a missing value.
    """

    counts: tuple[float, ...]
    noise: float
    refused: tuple[int, ...]
    rows: float


@public_value
@dataclass(frozen=True)
class _Cloud:
    """Uncovered rows, from one release.

    Attributes:
        count: number of rows.
        noise: noise sd of the count.
        mean: mean (d,), in the outline's units.
        variance: variance in these units, averaged over columns; without the direction `apart` if that is given.
        blur: noise sd of `variance`.
        apart: (d,), half the vector between two components that share the cloud; (): there is only one.
    """

    count: float
    noise: float
    mean: tuple[float, ...]
    variance: float
    blur: float
    apart: tuple[float, ...] = ()

    def many(self, n: float) -> bool:
        """Whether the count is well above the noise and not a small share of n rows."""
        return self.count >= max(_SURE * self.noise, _MANY * n)

    def beyond(self, count: float) -> bool:
        """Whether there are more than `count` rows, allowing for noise."""
        return self.count - 2 * self.noise > count


@dataclass(frozen=True)
class Coverage:
    """What a run continues with after the questions.

    Attributes:
        rows: public rows that represent private rows.
        scaling: the scaling made from them.
        starts: these rows, and synthetic rows for an absent component: where components are started from.
        asked: names of the questions that were asked.
        facts: facts for the diagnostics.
        warnings: warnings for the reader.
        complete: False if many private rows are far from all public rows and no component was started there. Then the
            run is flagged, unless its fit test shows that the model explains them.
    """

    rows: PublicTable
    scaling: Scaling
    starts: PublicTable
    asked: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    complete: bool = True

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Facts for the release; None where nothing was asked."""
        nothing = {"uncovered_rows": None, "noise": None, "added": 0, "component": False, "public_rows_left_out": 0}
        return nothing | self.facts | {"asked": [f"mixture/{name}" for name in self.asked]}


def cover(
    run: Execution,
    rows: PublicTable,
    scaling: Scaling,
    seen: Outline,
    most: int,
    clusters: int,
    asks: dict[str, Ask],
    whole: WholeRows,
) -> Coverage:
    """Ask what the public rows lack, and return what the run continues with.

    Args:
        run: begun.
        rows: public rows.
        scaling: the scaling made from them.
        seen: their outline.
        most: number of components, or the most that there may be.
        clusters: number of clusters for scalings; see `precondition`.
        asks: asks of `coverage_questions`, by name; if empty, nothing is asked.
        whole: number of whole rows.
    """
    known, n = Coverage(rows, scaling, rows), whole.rows
    if SUPPORT in asks:
        support = run(_support, scaling, seen, whole, asks[SUPPORT])
        n = support.rows
        known = _without(run, known, seen, support, most, clusters)
        if known.rows is not rows:
            seen = run(outline, known.rows, known.scaling, most)
    if UNCOVERED not in asks or not seen.distance:
        return known
    found = run(_uncovered, known.scaling, seen, asks[UNCOVERED])
    known = replace(
        known,
        asked=(*known.asked, UNCOVERED),
        facts=known.facts
        | {"uncovered_rows": found.count, "noise": found.noise, "uncovered_by_chance": seen.by_chance * n},
    )
    if not found.many(n):
        return known
    inside = run(_absent, known.scaling, seen, found, n, asks[ABSENT])
    added = run(_drawn, seen, found, inside, len(known.rows.rows), n)
    return _concluded(replace(known, asked=(*known.asked, ABSENT)), found, inside, added, seen, n)


def coverage_questions(scaling: Scaling, seen: Outline, asks: dict[str, Ask]) -> list[Question]:
    """Make the first questions of `cover`, which are the same whatever is answered if all public rows are kept."""
    made = list[Question]()
    if SUPPORT in asks:
        made.append(_support_question(scaling, seen, asks[SUPPORT]))
    if UNCOVERED in asks and seen.distance:
        made.append(_uncovered_question(scaling, seen, asks[UNCOVERED]))
    return made


def _support_question(scaling: Scaling, seen: Outline, ask: Ask) -> Counts:
    return Counts.priced(NearestPoint(_frame(scaling, seen), seen.points, seen.alone), ask.price)


def _uncovered_question(scaling: Scaling, seen: Outline, ask: Ask) -> Moments:
    frame, widest = _frame(scaling, seen), _widest(seen)
    distances = tuple(seen.distance * 2.0**j for j in range(_SHELLS + 1))
    # only far rows are clipped, in the first and the last shell
    radii = (_REACH * widest, *(widest + outer for outer in distances[2:]))
    regions = Uncovered(frame, seen.points, distances[:-1])
    return Moments.priced(regions, (frame,) * _SHELLS, radii, ask.price, MOMENT_SHARES)


@step(title="support of public rows", private=True)
@one_thread
def _support(curator: Curator, scaling: Scaling, seen: Outline, whole: WholeRows, ask: Ask) -> _Support:
    """Count the private rows nearest to public points that lie apart from all others.

    Privacy: one `Counts` over a partition, mu^2 <= ask.price.
    """
    answer = curator.release(_support_question(scaling, seen, ask), ask.label)
    counts, noise = answer.values["count"], bounding_sd(answer.question, "count")
    rows = whole_rows(whole.of(curator.size), counts, noise)
    expected = np.bincount(seen.alone) * rows / len(seen.alone)
    few = counts < np.minimum(_UNSUPPORTED * expected + _NOT_MORE * noise, expected - SURELY_FEW * noise)
    return _Support(tuple(counts.tolist()), noise, tuple((np.flatnonzero(few[1:]) + 1).tolist()), rows)


@step(title="uncovered rows", private=True)
@one_thread
def _uncovered(curator: Curator, scaling: Scaling, seen: Outline, ask: Ask) -> _Cloud:
    """Measure count, mean and spread of the private rows beyond the reach of public ones.

    Privacy: one `Moments` over a partition, mu^2 <= ask.price.
    """
    answer = curator.release(_uncovered_question(scaling, seen, ask), ask.label)
    counts, count_sd = answer.values["count"], bounding_sd(answer.question, "count")
    # noise grows with the radius, so shells without visible rows are left out; the first one is always used
    visible = [0, *(j for j in range(1, _SHELLS) if counts[j] > _VISIBLE * count_sd)]
    noise, d = answer.question.noise(), len(seen.units)
    count = max(float(answer.values["count"][visible].sum()), 1.0)
    shift = answer.values["sum"].reshape(_SHELLS, d)[visible].sum(axis=0) / count
    sd = math.sqrt(float((noise["sum"].reshape(_SHELLS, d)[visible, 0] ** 2).sum())) / count
    mean, blur = _believed(shift, sd)
    variance = (float(answer.values["square"][visible].sum()) / count - float((shift**2).sum()) + blur) / d
    noisy = math.sqrt(float((noise["square"][visible] ** 2).sum())) / count / d
    return _Cloud(count, float(noise["count"][0]) * math.sqrt(len(visible)), tuple(mean.tolist()), variance, noisy)


@step(title="absent component", private=True)
@one_thread
def _absent(curator: Curator, scaling: Scaling, seen: Outline, found: _Cloud, n: float, ask: Ask) -> _Cloud:
    """Measure the uncovered rows in a ball around their mean, and decide whether they are one component or two.

    Privacy: one `LiftedGram` over a partition, mu^2 <= ask.price.
    """
    center = np.array(found.mean)
    d = len(center)
    times, bounds, least = _BALL
    sure = found.beyond(seen.by_chance * n)
    top = bounds[2 if sure else 1]
    radius = max(times * math.sqrt(d * float(np.clip(found.variance, bounds[0], top))), clip_radius(d, least))
    ball = _frame(scaling, seen, center)
    regions = Uncovered(_frame(scaling, seen), seen.points, (seen.distance,), Cylinder(ball, radius))
    answer = curator.release(LiftedGram.priced(regions, (ball,), (radius,), ask.price, MOMENT_SHARES), ask.label)
    noise = answer.question.noise()
    count = max(float(answer.values["count"][0]), 1.0)
    shift, _ = _believed(answer.values["sum"][0] / count, float(np.max(noise["sum"])) / count)
    values, vectors = np.linalg.eigh(answer.values["moment"][0] / count - np.outer(shift, shift))
    sd = float(np.max(noise["moment"])) / count
    rest = float(values[:-1].mean()) if d > 1 else 1.0
    apart = values[-1] - rest
    two = sure and apart > _TWO * max(rest, 0.0) + sd * math.sqrt(2 * d)
    return _Cloud(
        count,
        float(noise["count"][0]),
        tuple((center + shift).tolist()),
        rest if two else float(values.mean()),
        sd / math.sqrt(d),
        tuple((vectors[:, -1] * math.sqrt(apart)).tolist()) if two else (),
    )


def _believed(shift: np.ndarray, sd: float) -> tuple[np.ndarray, float]:
    """Shrink a noisy shift (d,) to zero by the share that noise of this sd explains (James and Stein 1961).

    Also return what noise adds to its squared length.
    """
    d, square = len(shift), float((shift**2).sum())
    return shift * max(0.0, 1 - max(d - 2, 0) * sd**2 / max(square, 1e-12)), d * sd**2


def _widest(seen: Outline) -> float:
    """Compute the largest norm of a public point."""
    return float(np.linalg.norm(np.array(seen.points), axis=1).max())


@step(title="rows in the place of a component")
def _drawn(seen: Outline, found: _Cloud, inside: _Cloud, m: int, n: float) -> tuple[tuple[float, ...], ...]:
    """Draw rows (m', d) for a component that the public rows lack, in standard coordinates; () if there is none.

    There are as many as the component should have public rows; the seed is fixed, so they are public.
    """
    centers = np.array(inside.mean) + np.outer([1.0, -1.0], inside.apart) if inside.apart else np.array([inside.mean])
    gaps = np.linalg.norm(np.array(seen.points)[:, None] - centers, axis=2)
    near = float(gaps.min()) / seen.distance
    away = near >= 1 + _FURTHER / math.sqrt(len(seen.units))
    sure = found.beyond(seen.by_chance * n)
    least, widest, widest_of_all = _SURELY if sure else _APART if away else _CLOSE
    compact = inside.variance - inside.blur <= widest and found.variance - found.blur <= widest_of_all
    held = inside.count >= max(_SURE * inside.noise, least * found.count)
    if not (compact and held) or near < _NEAREST:
        return ()
    count = int(np.clip(round(m * found.count / max(n - found.count, 1)), _FEWEST_DRAWN, max(m, _FEWEST_DRAWN)))
    sd = math.sqrt(float(np.clip(inside.variance, *_DRAWN)))
    noise = sd * np.random.default_rng(0).standard_normal((count, len(seen.units)))
    points = centers[np.arange(count) % len(centers)] + noise
    return row_tuples(points * np.array(seen.units))


def _frame(scaling: Scaling, seen: Outline, center: np.ndarray | None = None) -> Frame:
    """Make the map from the table's units to those of the outline, around `center`."""
    units = np.array(seen.units)
    origin = np.zeros(len(units)) if center is None else center * units
    return scaling.frame(origin, np.diag(1 / units))


def _without(run: Execution, known: Coverage, seen: Outline, support: _Support, most: int, clusters: int) -> Coverage:
    """Leave out the public rows that represent no private ones, unless too few would remain."""
    from scipy.spatial.distance import cdist

    asked = (*known.asked, SUPPORT)
    points = known.scaling.apply(known.rows.rows) / np.array(seen.units)
    nearest = np.argmin(cdist(points, np.array(seen.points)), axis=1)
    kept = ~np.isin(np.array(seen.alone)[nearest], support.refused)
    out = int((~kept).sum())
    if out == 0 or kept.sum() < max(most, 2):
        return replace(known, asked=asked)
    rows = known.rows
    rows = rows.without(~kept)
    warning = f"{out} of {len(kept)} public rows lie where almost no private row is: they were left out"
    return replace(
        known,
        rows=rows,
        scaling=run(precondition, rows, clusters),
        starts=rows,
        asked=asked,
        facts={"public_rows_left_out": out},
        warnings=(warning,),
    )


def _concluded(
    known: Coverage, found: _Cloud, inside: _Cloud, added: tuple[tuple[float, ...], ...], seen: Outline, n: float
) -> Coverage:
    """Conclude: if nothing could be added, more uncovered rows than by chance are a defect of the run."""
    rows, scaling = known.rows, known.scaling
    facts = known.facts | {"added": len(added), "component": bool(added)}
    text = f"about {found.count / n:.0%} of the private rows lie where no public row is"
    if added:
        drawn = scaling.restore(np.array(added))
        steps = np.array(seen.steps) * np.array(scaling.scale)
        whole = rows.rows[0] + np.rint((drawn - rows.rows[0]) / np.where(steps > 0, steps, 1.0)) * steps
        drawn = np.where(steps > 0, whole, drawn)
        starts = PublicTable(rows.columns, np.vstack([rows.rows, drawn]), rows.dropped, rows.source)
        text += ": a component was started from their released mean"
        return replace(known, starts=starts, facts=facts, warnings=(*known.warnings, text))
    if not found.beyond(seen.by_chance * n):
        if inside.count < _SURELY[0] * found.count or inside.variance - inside.blur > _SURELY[1]:
            return replace(known, facts=facts)
        text += ", most of them in one place: a long tail, or a component that the public rows lack"
        return replace(known, facts=facts, warnings=(*known.warnings, text))
    text += ", and they form no component that could be started there: the model may lack a part of the table"
    return replace(known, facts=facts, warnings=(*known.warnings, text), complete=False)
