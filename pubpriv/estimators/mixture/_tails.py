"""Tails of components that are longer than a Gaussian's: what clipping, cutting and sorting took of them.

A round clips rows, cuts off those far out, gives others to the wrong component, and undoes all that for Gaussian rows.
Rows with longer tails lose more. So each of several laws of rows that look like Gaussian ones in the middle is held
against what was released: counts in shells about components, and of the rows outside of all. These may be odd rows,
which belong to no component, or the tail of all others: where they lie just beyond what is cut off, as the tail of
some law does, they are counted in; where there is a gap, or they reach far, they are left out. Public rows are weighed,
too, within bounds, for they may be of another law. How much a law would have lost, rows that are drawn of it show.

A tail may be of all columns alike, or of one: which one, public rows show (`lone_tails`). Odd rows may lie together in
a component: its own counts show whether they do (`crowds`), and in one column to which side (`sided_crowds`). So each
column of each component has a belief of its own. Rows that are a little skewed, in one column, have laws of their own
(`skewed`), and where these explain all counts, the others are not asked.

The mean over laws corrects covariances, and means of a column that is long to one side. What else laws would make of
them is an error (`clipping`): where private rows are too few to tell laws apart, that is most of it.

Released numbers and public rows go in, so this is free. Where counts are a Gaussian's and noise could not hide that
they are not, nothing changes.
"""

import math
from dataclasses import replace

import numpy as np

from pubpriv.data.codec import row_tuples
from pubpriv.data.tables import PublicTable
from pubpriv.estimators._lengths import gaussian_shares
from pubpriv.estimators.gaussian.tail_laws import tail_laws
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._crowds import Crowds
from pubpriv.estimators.mixture._far_rows import FarRows
from pubpriv.estimators.mixture._linear import one_thread
from pubpriv.estimators.mixture._lone_tails import lone_tails, seen_in_columns
from pubpriv.estimators.mixture._misfit import Fit
from pubpriv.estimators.mixture._outside import MISTAKEN, Tails
from pubpriv.estimators.mixture._sided_crowds import crowds_to_sides
from pubpriv.estimators.mixture._skewness import read_skewness
from pubpriv.estimators.mixture._tail_belief import Seen, TailBelief
from pubpriv.estimators.mixture._tail_rows import DRAWN, DrawnRows, OddKinds, TailCounts, measured
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.estimators.steps import step
from pubpriv.released.law import Mixture

_DOUBT, _WIDER = 1.5, 1.5
"""Laws are weighed where counts show rows that are wider and rows that are narrower, by the second factor, by more than
so many sds; where there are rows outside; ..."""

_COULD_HIDE = 0.01
"""... and where counts may be off by a larger divergence than this and the model still fits: then noise hides tails."""

_LIKELIER = 0.5
"""Rows outside belong to components if the chance that there are odd rows is smaller."""


@step(title="tails of components")
@one_thread
def read_tails(
    scaling: Scaling,
    public: PublicTable,
    last: Round,
    fit: Fit,
    kind: str,
    n: int,
    clumped: float,
    far: FarRows | None = None,
) -> Tails | None:
    """Weigh what the tails of components may be; None where they are Gaussian and noise could not hide others.

    Args:
        scaling: of the standard coordinates.
        public: rows, on whose lattices rows are drawn.
        last: the round that is released.
        fit: counts about its components.
        kind: of the covariances of the round.
        n: private rows.
        clumped: by how much more counts vary by sampling than those of independent rows.
        far: rows that columns take far out; None: not counted.
    """
    d, k, outside = len(scaling.location), len(last.counts), last.outside
    skewed = read_skewness(scaling, public.rows, last, fit, clumped) if fit.sides else None
    if skewed is not None:
        return skewed
    counts = TailCounts.of(last, fit)
    seen, hidden = outside is not None and outside.seen, fit.tested and max(fit.limits) > _COULD_HIDE
    # along which directions one may be long, columns do not say where all is measured in others
    by_columns = not scaling.shape and kind != "spherical"
    long = by_columns and far is not None and far.doubtful
    if not (seen or hidden or long or _doubtful(counts, np.array(fit.predicted), d, n, clumped)):
        return None
    radius, gaussian = last.radius, tail_laws(d)[0]
    drawn = DrawnRows.of(scaling, public.rows, last, counts, radius, len(fit.inner[0]))
    # what was taken out of components for odd rows among theirs, and stays so where there are such rows
    taken = np.array(outside.among) if outside is not None and outside.among else np.zeros(k)
    grown = 1 + float(last.mixture.arrays[0] @ taken)
    by_bin = drawn.shares(gaussian, np.ones(1))
    level = grown * float(drawn.held_by(by_bin)[0] / drawn.inside_by(by_bin)[0])
    sampling, noise = 2 * clumped * k / n, (last.moment_sd * k / n) ** 2
    scale_sd = math.sqrt((noise + sampling) / (d * k)) / 2
    lengths, owners = measured(scaling, last, public.rows)
    lone = lone_tails(d, radius, counts.end) if by_columns else ()
    columns = seen_in_columns(scaling, last, public.rows, owners)
    odd = OddKinds.of(drawn, gaussian, k, counts)
    if fit.sides and seen:
        crowds = crowds_to_sides(scaling, public.rows, last, fit, drawn, odd, clumped)
    else:
        crowds = Crowds.of(scaling, last, fit, drawn, odd, counts.beyond, n, clumped)
    odds = 0.0 if far is None else far.log_odds(lone)
    what = Seen(counts, drawn, lengths, level, scale_sd, n, clumped, columns, odds)
    belief = TailBelief.of(what, odd, crowds, lone)
    # where odd rows are seen, what looks like a tail may be others of their kind, which are to be taken out and not
    # counted in; where none are, nothing is taken out. What is believed, and not counted in, is an error
    all_odd = seen and belief.of_odd_rows > _LIKELIER
    believed, places = belief.factors, belief.places
    factors = np.minimum(believed, 1.0) if all_odd else believed if seen else np.maximum(believed, 1.0)
    placed = (0.0 if all_odd else 1.0) * places - belief.moved
    crowded = () if far is None else far.beyond_laws(lone)
    factors[:, list(crowded)], placed[:, list(crowded)] = 1.0, 0.0  # no law is that of such a column
    unsure = np.hypot(belief.unsure(factors, sampling, noise), MISTAKEN * (believed - 1))
    measured_mean = clumped * k / n + (last.sum_sd * k / n) ** 2
    mistaken = MISTAKEN * np.hypot(places, belief.moved)
    shift = np.hypot(belief.shifts(placed, radius, counts.end, measured_mean), mistaken)
    factors = factors * ((1 + taken) / grown)[:, None]
    return Tails(
        row_tuples(factors),
        row_tuples(placed),
        row_tuples(unsure),
        row_tuples(shift),
        belief.gaussian,
        belief.of_odd_rows,
        tuple(belief.alone.tolist()),
        crowded=crowded,
    )


def with_tails(last: Round, tails: Tails | None) -> Round:
    """Give a round its means and covariances with their tails; rows outside that are no odd ones are not apart."""
    if tails is None:
        return last
    weights, means, covariances = last.mixture.arrays
    roots = np.sqrt(np.array(tails.factors))
    covariances = roots[:, :, None] * roots[:, None, :] * covariances
    means = means + np.array(tails.places) * np.sqrt(np.einsum("kii->ki", covariances))
    mixture = Mixture.of(weights, means, covariances)
    counted_in = last.outside is not None and last.outside.seen and tails.odd < _LIKELIER
    return replace(last, mixture=mixture, outside=None if counted_in else last.outside, tails=tails)


def _doubtful(counts: TailCounts, predicted: np.ndarray, d: int, n: int, clumped: float) -> bool:
    """Tell whether counts show rows that are wider, and others that are narrower, than a Gaussian's of any scale."""
    edges = [np.array(counts.shells), np.array(counts.outside)]

    def shares(scale: float) -> np.ndarray:
        inner, further = (gaussian_shares(each, d, np.array([scale]))[0] for each in edges)
        return np.append(inner, further[1:])

    predicted = np.append(predicted, n * shares(1.0)[len(predicted) :])
    spread = (shares(_WIDER) + shares(1 / _WIDER)) / 2 - shares(1.0)
    scaled = shares(1.05) - shares(1 / 1.05)
    roots = np.sqrt(counts.sds**2 + predicted * (clumped + n / DRAWN))
    ways = n * np.stack([spread, scaled], axis=1) / roots[:, None]
    variances = np.linalg.inv(ways.T @ ways)
    found = variances @ ways.T @ ((counts.seen - predicted) / roots)
    return bool(found[0] > _DOUBT * math.sqrt(variances[0, 0]))
