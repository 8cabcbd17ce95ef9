"""Components whose columns are small counts: rows of the law that both moments tell, not a Gaussian's."""

import numpy as np
import pytest
from test_pipeline import fit

from pubpriv.data.frames import Frame
from pubpriv.data.regions import View
from pubpriv.estimators.mixture._count_errors import Clip, count_errors
from pubpriv.estimators.mixture._counts import CountLaws
from pubpriv.estimators.mixture._lattice import drawn_rows
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture

RATE, APART = 0.5, 12.0
"""Of counts in halves; between two components, in each column."""


def counted(n, d, seed, rate=RATE):
    """Rows (n, d) of two components of Poisson counts, and their components."""
    generator = np.random.default_rng(seed)
    own = generator.integers(2, size=n)
    return 0.5 * (generator.poisson(rate, (n, d)) + 2 * APART * own[:, None]), own


def truth(d, rate=RATE):
    means = 0.5 * rate + APART * np.arange(2)[:, None] * np.ones(d)
    return Mixture.of([0.5, 0.5], means, [0.25 * rate * np.eye(d)] * 2)


def laws(d):
    return CountLaws.of(truth(d), counted(40, d, 0)[0])


def test_origins_and_steps_are_read_from_public_rows():
    """Each component counts from its own least value, and a row of another's tail among its own does not move that."""
    assert laws(2) == CountLaws(((0.0, 0.0), (APART, APART)), (0.5, 0.5))
    rows = np.r_[counted(40, 2, 0)[0], [[APART - 2.0] * 2]]
    assert CountLaws.of(truth(2), rows) == laws(2)


@pytest.mark.parametrize(
    "public",
    [
        np.c_[counted(40, 1, 0)[0], np.random.default_rng(0).normal(size=40)],
        np.rint(np.random.default_rng(0).normal(size=(40, 2), scale=4.0)) + APART * (np.arange(40) % 2)[:, None],
        counted(40, 2, 0)[0][:0],
        counted(40, 2, 0)[0][:1],
    ],
)
def test_others_do_not_count(public):
    """A column of any values, numbers that are rounded, and no rows of some component."""
    assert CountLaws.of(truth(2), public) is None


def test_rounded_numbers_of_one_column_do_not_count():
    """Of 20 rows a component, some value often has three in ten: rows below it tell that it is not the least one."""
    places = APART * np.arange(3.0)
    found = []
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(scale=2.0, size=60)
        public = np.rint(places[np.arange(60) % 3] + noise)[:, None]
        found.append(CountLaws.of(Mixture.of([1 / 3] * 3, places[:, None], [[[4.0]]] * 3), public))
    assert found == [None] * 60


def test_a_few_values_that_are_far_apart_do_not_count():
    """Half of the rows have the least value, but no row has the next ones: no law of counts leaves a gap there."""
    values, place = np.array([0.0, 0.0, 2.0, 5.0]), 40 * (np.arange(60) % 2)
    generator = np.random.default_rng(0)
    public = generator.choice(values, (60, 2)) + np.r_[0.5, np.zeros(59)][:, None] + place[:, None]
    own = np.array([1.75, 1.75]) + 40 * np.arange(2)[:, None]
    mixture = Mixture.of([0.5, 0.5], own, [4.2 * np.eye(2)] * 2)
    assert CountLaws.of(mixture, public) is None
    halves = np.array([0.0, 0.0, 0.5, 1.5])
    near = generator.choice(halves, (60, 2)) + place[:, None]
    assert CountLaws.of(mixture, near) is not None


@pytest.mark.parametrize("d", [1, 3])
def test_clipping_is_undone(d):
    """Moments of clipped rows become those of the rows; a tenth of the variance was lost."""
    rows = counted(400_000, d, 1)[0]
    rows = rows[rows[:, 0] < APART / 2]
    z = (rows - 0.25) / np.sqrt(0.125)
    radius = 1.05 * np.sqrt(6.63 if d == 1 else 11.34)
    clipped = z * np.minimum(1.0, radius / np.linalg.norm(z, axis=1))[:, None]
    spread = np.cov(clipped.T).reshape(d, d)
    assert np.diag(spread).max() < 0.97
    frame = Frame.of(np.full(d, 0.25), np.eye(d) / np.sqrt(0.125))
    mean, covariance = laws(d).unclipped(0, frame, radius, clipped.mean(axis=0), spread)
    assert mean == pytest.approx(z.mean(axis=0), abs=0.01)
    assert covariance == pytest.approx(np.cov(z.T).reshape(d, d), abs=0.02)


@pytest.mark.slow
def test_errors_are_those_of_rows_whose_clip_was_undone():
    """What is seen of a column tells what is not: the errors of both are a tenth larger than those of its own rows."""
    n, repeats, generator = 800, 150, np.random.default_rng(5)
    frame, radius = Frame.of(np.array([0.25]), np.array([[1 / np.sqrt(0.125)]])), 1.05 * np.sqrt(6.63)
    found = np.empty((repeats, 2))
    for repeat in range(repeats):
        z = (0.5 * generator.poisson(RATE, (n, 1)) - 0.25) / np.sqrt(0.125)
        clipped = np.minimum(z, radius)
        mean, covariance = laws(1).unclipped(0, frame, radius, clipped.mean(axis=0), np.cov(clipped.T).reshape(1, 1))
        found[repeat] = 0.25 + np.sqrt(0.125) * mean[0], 0.125 * covariance[0, 0]
    gaussian = {
        "means": {"sampling": np.full((2, 1), np.sqrt(0.125 / n)), "privacy": np.zeros((2, 1))},
        "covariances": {"sampling": np.zeros((2, 1, 1)), "privacy": np.full((2, 1, 1), 0.01)},
    }
    away = Frame.of(np.array([APART + 0.25]), np.array([[1 / np.sqrt(0.125)]]))
    told = count_errors(gaussian, laws(1), truth(1), Clip((frame, away), radius, np.zeros(2)))
    assert told["means"]["sampling"] == pytest.approx(np.full((2, 1), found[:, 0].std()), rel=0.2)
    assert told["covariances"]["sampling"] == pytest.approx(np.full((2, 1, 1), found[:, 1].std()), rel=0.2)
    assert (told["covariances"]["privacy"] > 0.0115).all()
    own = ((0.5 * generator.poisson(RATE, 100_000) - 0.25) ** 2).std() / np.sqrt(n)
    assert told["covariances"]["sampling"][0, 0, 0] > 1.08 * own


def test_rows_are_those_of_counts():
    """They have the shares of Poisson's law; no row is drawn below the least value."""
    drawn = drawn_rows(truth(2), counted(40, 2, 0)[0], 20_000)
    assert drawn.shape == (20_000, 2)
    first = drawn[drawn[:, 0] < APART / 2]
    shares = [float((first[:, 0] == 0.5 * k).mean()) for k in range(4)]
    assert shares == pytest.approx([np.exp(-RATE) * RATE**k / (1, 1, 2, 6)[k] for k in range(4)], abs=0.002)
    assert drawn.min() == 0.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("d", "covariance_type"),
    [
        pytest.param(1, "full", marks=pytest.mark.slow),
        (3, "full"),
        *(pytest.param(3, kind, marks=pytest.mark.slow) for kind in ("diag", "spherical")),
    ],
)
def test_a_mixture_of_counts_is_measured_and_fits(d, covariance_type):
    """Nothing is flagged, variances hold within intervals that are as wide as counts need."""
    private, own = counted(6000, d, 3)
    estimate = fit(counted(40, d, 4)[0], private, 2, covariance_type=covariance_type)
    assert estimate.converged
    order = np.argsort(estimate.means[:, 0])
    variances = np.einsum("kii->ki", estimate.covariances)[order]
    parts = {
        name: np.einsum("kii->ki", np.array(part))[order]
        for name, part in estimate.standard_errors["covariances"].items()
    }
    needed = np.array([((private[own == j] - private[own == j].mean(axis=0)) ** 2).std(axis=0) for j in range(2)])
    told = d if covariance_type == "spherical" else 1  # by so many columns
    wider = parts["sampling"] / (needed / np.sqrt(told * np.bincount(own))[:, None])  # for what the clip hides
    assert wider.min() > 0.85
    assert wider.max() < 1.4
    assert (np.abs(variances - 0.125) < 3.5 * np.sqrt(sum(part**2 for part in parts.values()))).all()
    assert estimate.means[order] == pytest.approx(truth(d).arrays[1], abs=0.05)


def test_a_rare_row_is_not_given_away():
    """A component none of whose public rows is a step off is not taken to have none: its neighbour would get them."""
    scaling = Scaling((0.0,) * 3, (0.5,) * 3)
    means = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    narrow = Mixture.of([0.5, 0.5], means, [1e-4 * np.eye(3), 0.05 * np.eye(3)])
    found = CountLaws(((0.0,) * 3, (0.5,) * 3), (0.5,) * 3)
    rare = View(np.array([[0.5, 0.0, 0.0]]).T)
    assert scaling.cells(narrow).assign(rare).tolist() == [1]
    held = found.held(scaling, narrow, 60)
    assert found.cells(scaling, held).assign(rare).tolist() == [0]
    assert np.einsum("kii->ki", held.arrays[2])[0] == pytest.approx(np.full(3, 0.025 / 2 + 1e-4 / 4 + 1 / 60), rel=0.01)


def test_measured_variances_untie_a_column_of_which_public_rows_showed_two_values():
    """The first column varies as two values do, the second one twice as much: its third value was not seen."""
    means = np.array([[0.2, 0.2], [12.2, 12.2]])
    two = CountLaws(((0.0, 0.0), (APART, APART)), (1.0, 1.0), (True, True))
    measured = Mixture.of([0.5, 0.5], means, [np.diag([0.17, 0.32])] * 2)
    scaling, quiet, loud = Scaling((0.0, 0.0), (1.0, 1.0)), np.full((2, 2), 0.01), np.full((2, 2), 0.2)
    upheld = two.upheld(scaling, measured, quiet, quiet)
    assert upheld.two_valued == (True, False)
    found = upheld.tied(scaling, measured)
    assert np.array(found.covariances)[:, [0, 1], [0, 1]] == pytest.approx(np.array([[0.16, 0.32]] * 2))
    assert two.in_force(found).two_valued == (True, False)
    assert two.upheld(scaling, measured, quiet, loud) == two


def test_what_a_third_value_may_add_is_what_was_measured():
    """Noise, and what variances exceed those of two values by; a clip to 2 leaves a sixth of a row two steps up."""
    two = CountLaws(((0.0, 0.0),), (1.0, 1.0), (True, True))
    measured, scaling = Mixture.of([1.0], [[0.2, 0.2]], [np.diag([0.15, 0.16])]), Scaling((0.0, 0.0), (1.0, 1.0))
    quiet, far = np.full((1, 2), 0.01), np.full((1, 2), 0.02)
    noise = np.hypot(0.02, (1 - 2 * 0.2) * 0.01)
    assert two.hidden(scaling, measured, quiet, far, 9.0) == pytest.approx(np.full((1, 2), noise))
    lengths = np.array([1.8**2 / 0.15, 1.8**2 / 0.16]) + 1
    assert two.hidden(scaling, measured, quiet, far, 2.0)[0] == pytest.approx(noise * lengths / 4)
    more = Mixture.of([1.0], [[0.2, 0.2]], [np.diag([0.15, 0.25])])
    assert two.hidden(scaling, more, quiet, far, 9.0)[0, 1] == pytest.approx(np.hypot(noise, 0.25 - 0.16))


@pytest.mark.slow
def test_many_rows_leave_no_room_for_a_third_value():
    """Sixty public rows may have missed one; variances of ten thousand would show it: intervals are those of rows."""
    generator = np.random.default_rng(5)
    rows = (generator.random((20_060, 1)) < 0.3) + 5.0 * (np.arange(20_060) % 2)[:, None]
    estimate = fit(rows[:60], rows[60:], 2)
    error = np.sqrt(sum(np.array(part).ravel() ** 2 for part in estimate.standard_errors["covariances"].values()))
    assert (error < 1.5 * 0.4 * np.sqrt(0.21 / 10_000)).all()
    assert (np.abs(np.array(estimate.covariances).ravel() - 0.21) < 3 * error).all()


@pytest.mark.slow
def test_counts_whose_third_value_no_public_row_has_are_measured():
    """One table of some three hundred has such rows: the private ones tell, nothing is flagged, variances hold."""
    private, public = counted(6000, 1, 3)[0], np.minimum(counted(60, 1, 4)[0] % APART, 0.5)
    public += APART * (np.arange(60) % 2)[:, None]
    estimate = fit(public, private, 2)
    assert estimate.converged
    parts = [np.array(part).ravel() for part in estimate.standard_errors["covariances"].values()]
    assert (
        np.abs(np.array(estimate.covariances).ravel() - 0.125) < 3.5 * np.sqrt(sum(part**2 for part in parts))
    ).all()
