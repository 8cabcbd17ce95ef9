"""Score rows of a regression: what they are, what they cost, and that their second moment rides free on a sum."""

from fractions import Fraction

import numpy as np
import pytest

from pubpriv.data.borders import trial_records
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums, Counts, LiftedGram
from pubpriv.data.regions import Everything, Shells, View
from pubpriv.data.scan import scan
from pubpriv.data.score_frames import ScoreFrame
from pubpriv.data.tables import ArrayTable

QUARTERS = Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)
D = 3
INNER = Frame.of(np.array([1.0, -2.0, 0.5]), np.array([[-0.5, 0.25, 1.0], [2.0, 0.0, 0.0], [0.5, 1.5, 0.0]]))


def test_an_image_is_the_residual_times_one_and_the_regressors():
    """And its length is that of the same numbers."""
    rows = np.random.default_rng(0).normal(size=(64, D))
    center, matrix = INNER.dense()
    r, *w = matrix @ (rows - center).T
    z, norms = View(np.ascontiguousarray(rows.T)).mapped(ScoreFrame(INNER))
    np.testing.assert_allclose(z, [r, w[0] * r, w[1] * r], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(norms, (np.stack([r, w[0] * r, w[1] * r]) ** 2).sum(axis=0), rtol=1e-12)


def test_slopes_are_derivatives_of_the_image():
    """Trials walk along them to the borders of the grid."""
    records = np.random.default_rng(1).normal(size=(D, 4))
    frame, step = ScoreFrame(INNER), 1e-6
    for column in range(D):
        ends = [records.copy(), records.copy()]
        ends[0][column] += step
        ends[1][column] -= step
        up, down = (frame.map(end, np.empty((D, 4))) for end in ends)
        np.testing.assert_allclose(frame.slopes(records)[:, column], (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 1.7e308, -1.7e308])
def test_an_odd_cell_drops_its_record_alone(cell):
    """Whatever overflows: the others add what they add without it."""
    rows = np.random.default_rng(2).normal(size=(10, D))
    odd = rows.copy()
    odd[4, 2] = cell
    question = LiftedGram.priced(Everything(), (ScoreFrame(INNER),), (2.0,), Fraction(1), QUARTERS)
    found, rest = (scan(ArrayTable.of(table), question, here=True) for table in (odd, np.delete(rows, 4, axis=0)))
    assert {name: part.tolist() for name, part in found.items()} == {n: part.tolist() for n, part in rest.items()}


@pytest.mark.parametrize("price", [Fraction(1, 3), Fraction(1, 100), Fraction(7, 2)])
def test_meat_and_count_ride_free_on_the_sum(price):
    """At shares 1/4, 1/2, 1/4 the sum has the noise of `ClippedSums` at the same price.

    N = D/8, S R^2 = D/4, M R^4 = D/8 in squared weights: 4 N M = S^2, the last term of the distance vanishes, and
    2 (N + S R^2 + M R^4) = D; `ClippedSums` pays 4 R^2 w^2 = D, so w^2 R^2 = D/4.
    """
    frames, radii = (ScoreFrame(INNER),), (5.0,)
    together = LiftedGram.priced(Everything(), frames, radii, price, QUARTERS)
    alone = ClippedSums.priced(Everything(), frames, radii, price)
    assert together.squared_distance <= price
    assert float(together.noise()["sum"].flat[0] / alone.noise()["sum"].flat[0]) == pytest.approx(1, rel=1e-6)


def test_a_trial_finds_records_at_half_steps_of_the_grid():
    """Where a last bit decides to which integer a coordinate of a score is rounded."""
    question = ClippedSums.priced(Everything(), (ScoreFrame(INNER),), (4.0,), Fraction(1))
    records = trial_records(question, D, np.random.default_rng(3))[:, 32:]
    z, norms = View(np.ascontiguousarray(records)).mapped(ScoreFrame(INNER))
    steps = z * ((65536 - np.sqrt(D) / 2 - 1) / 4.0) * np.minimum(1, 4.0 / np.sqrt(norms))
    assert (np.abs(np.abs(steps - np.floor(steps)) - 0.5).min(axis=0) < 1e-6).mean() > 0.5


def test_lengths_of_scores_are_counted_in_shells():
    """A record without a finite score is in none."""
    rows = np.random.default_rng(4).normal(size=(50, D))
    rows[7, 0] = np.nan
    counts = scan(ArrayTable.of(rows), Counts(Shells(ScoreFrame(INNER), (1.0, 3.0)), 1 << 30), here=True)["count"]
    center, matrix = INNER.dense()
    r, *w = matrix @ (np.delete(rows, 7, axis=0) - center).T
    lengths = np.abs(r) * np.sqrt(1 + w[0] ** 2 + w[1] ** 2)
    assert counts.tolist() == [(lengths <= 1).sum(), ((lengths > 1) & (lengths <= 3)).sum(), (lengths > 3).sum()]
