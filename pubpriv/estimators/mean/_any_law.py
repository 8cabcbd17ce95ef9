"""The mean of rows that are not Gaussian with the known covariance: step 2 as it was released, and its errors.

Nothing is undone. Errors of a column have three parts: of sampling, by the variance that the counted lengths leave it;
of noise; and of what rows beyond the clip may have added, all of them where they lie on one side. Rows far out that
move the mean of a column are its own, so it gets most of their variance and of what was clipped off them.

Source: ours; figures in `benchmarks.honest`.
"""

import math

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimators.mean._against_public import contradiction
from pubpriv.estimators.mean._clip import Clip
from pubpriv.estimators.mean._known_covariance import KnownCovariance
from pubpriv.estimators.mean._lengths import Lengths
from pubpriv.estimators.mean._plan import MeanPlan
from pubpriv.estimators.mean._reference import MeanResult
from pubpriv.estimators.mean._steps import ClippedMean
from pubpriv.released.findings import DOUBTFUL, Finding

_STRAYED = 1.0
"""Public rows led astray where step 2 found the mean so far, in squared standard deviations per column, from its
centre: it is followed, but by more noise than was planned."""

_TELLING = 12
"""Public rows that show whether columns have one scale."""

_ROOM = 2.0
"""Rows far out may have so many times what is the least that explains how they move a column: counts of them are noisy,
and they do not all lie in one place."""


def as_released(
    plan: MeanPlan,
    known: KnownCovariance,
    public: PublicTable | None,
    last: ClippedMean,
    clip: Clip,
    found: Lengths,
) -> MeanResult:
    """Report step 2 as it was released, with its errors by column.

    A covariance that nobody gave takes the scale that the private rows have, unless columns may have different ones.

    Args:
        plan: of the run, for the rows without a missing value.
        known: the covariance.
        public: the public rows, where nobody gave the covariance; else None.
        last: step 2, over these rows.
        clip: of step 2.
        found: lengths of rows.
    """
    whole, moved, noise = found.whole, np.array(last.move), last.noise
    squared = max(float(np.mean(moved * moved)) - noise**2, 0.0)
    spread = clip.spread.around_mean(squared)
    scaled = public is not None and _same_scale(public, spread)
    wrong = not scaled and clip.spread.contradicts(squared, assumed=public is not None)
    unsure = math.hypot(clip.spread.fuzz, clip.spread.hidden)
    moves = known.colour(moved) / known.deviations()
    unmoved = math.hypot(noise, plan.spread, math.sqrt(spread / whole))
    variances, taken = _by_column(clip, moves, spread, unmoved)
    sampling = np.sqrt((variances + unsure if scaled else np.maximum(variances, 1.0)) / whole)
    facts = {
        "rows": "not Gaussian with the known covariance: the mean is reported as it was released",
        "clip_radii": [plan.steps[0].radius, clip.radius],
        "beyond_clip": {"share": clip.loss.share, "sd": found.sd / whole},
        "distance_after_step_1": math.sqrt(plan.d * squared),
        "mean_square": spread,
    }
    return MeanResult(
        center=tuple((np.array(last.center) + known.colour(moved)).tolist()),
        sampling=tuple(sampling.tolist()),
        privacy=noise,
        findings=_findings(clip, plan.d, squared, wrong),
        diagnostics=facts,
        clipping=tuple(taken.tolist()),
    )


def _by_column(clip: Clip, moves: np.ndarray, spread: float, unmoved: float) -> tuple[np.ndarray, np.ndarray]:
    """Variances (d,) of columns whose mean is `spread`, and what clipping may take from their means (d,).

    Rows far out that are a share q of all, and move the mean of a column by delta, have at least delta^2 / q of its
    variance, by Cauchy and Schwarz. Of what is more than a Gaussian's, columns are taken to have ROOM times as much
    beside an even part of the rest. What is clipped off is theirs as far as rows on one side explain their moves.

    Args:
        clip: of step 2.
        moves: (d,) of the mean that step 2 released from the centre, in standard deviations of the columns.
        spread: mean square of a coordinate around its mean.
        unmoved: sd of a move without such rows.
    """
    squares = np.maximum(moves**2 - unmoved**2, 0.0)
    total, most = max(float(squares.sum()), 1e-300), len(moves) * max(spread - 1, 0.0)
    least = total / max(clip.far_out.share, 1e-12)
    variances = spread - min(least, most) / len(moves) + min(_ROOM * least, most) * squares / total
    one_sided = min(math.sqrt(total) / max(clip.far_out.kept, 1e-12), 1.0)
    return variances, np.maximum(clip.loss.coordinate, clip.loss.length / 2 * one_sided * np.sqrt(squares / total))


def _same_scale(public: PublicTable, spread: float) -> bool:
    """Tell whether the columns have the variance `spread`, as far as the public rows show."""
    m, d = public.rows.shape
    if spread <= 0 or (d > 1 and m < _TELLING):
        return False
    return contradiction(public, KnownCovariance.of(np.eye(d) * spread, d)) is None


def _findings(clip: Clip, d: int, squared: float, wrong: bool) -> tuple[Finding, ...]:
    """Find what the mean is to be mistrusted for. What clipping may take is in its errors, and makes it wide.

    Args:
        clip: of step 2.
        d: columns.
        squared: distance of the mean from the centre of step 2, squared, per column.
        wrong: errors are by the known covariance, which the spread of the rows contradicts.
    """
    findings = []
    if wrong:
        level = clip.spread.around_mean(squared)
        findings.append(
            Finding(
                "wrong-covariance",
                (),
                DOUBTFUL,
                f"the private rows have about {level:.2g} times the mean square that the covariance says, so the "
                "errors are wrong",
                {"times": level},
                remedy="give their covariance, or let it be learnt (--covariance unknown)",
            )
        )
    if squared > _STRAYED:
        distance = math.sqrt(d * squared)
        findings.append(
            Finding(
                "strayed",
                (),
                DOUBTFUL,
                f"the private mean is about {distance:.2g} standard deviations from where the public rows and the "
                "first step put it, and takes more noise to reach than planned",
                {"distance": distance},
                remedy="other public rows are needed",
            )
        )
    if clip.loss.open_end:
        text = "private rows lie further out than can be followed"
        findings.append(Finding("open-end", (), DOUBTFUL, text, remedy="other public rows are needed"))
    return tuple(findings)
