"""The Private Populous Estimator in simulation: the steps of its proof, what it finds, and whom it refuses."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dp_accounting.rdp import compute_epsilon

import pubpriv as pp
from benchmarks.papers.populous._agreement import Weighting, h_index
from benchmarks.papers.populous._blocks import Blocks, learn
from benchmarks.papers.populous._closeness import Closeness, agreeing, aligned
from benchmarks.papers.populous._masks import ORDERS, Masks, divergences, masked, row_divergence
from benchmarks.papers.populous._simulated import simulated_rows
from benchmarks.papers.populous.driver import _average, estimate_mixture_ppe
from benchmarks.papers.populous.plan import epsilon_of, make_plan, typical_closeness
from pubpriv.errors import InvalidInput

LOOSE = pp.ApproximateDP(4, 1e-6)


# --- the test and the weights ---------------------------------------------------------------------------------


def test_one_block_moves_the_h_index_by_one_at_most():
    """On random graphs, one node of which changes all its edges; the bound is reached."""
    generator, moved = np.random.default_rng(0), set()
    for _ in range(2000):
        t = int(generator.integers(3, 14))
        graph = np.triu(generator.random((t, t)) < generator.random(), 1)
        graph = graph | graph.T | np.eye(t, dtype=bool)
        other, node = graph.copy(), generator.integers(t)
        other[node] = other[:, node] = generator.random(t) < generator.random()
        moved.add(abs(h_index(graph.sum(axis=1)) - h_index(other.sum(axis=1))))
    assert moved == {0, 1}


def test_one_block_moves_the_average_by_less_than_kappa():
    """Total variation of normalised weights, the changed block being another one afterwards; the proof is not idle."""
    generator, worst = np.random.default_rng(1), 0.0
    for _ in range(3000):
        t = int(generator.integers(20, 80))
        weighting = Weighting(t, int(generator.integers(1, max(2, t // 3))))
        if weighting.least > t:
            continue
        degrees = generator.integers(0, t + 1, t)
        degrees[: weighting.least] = generator.integers(weighting.least, t + 1, weighting.least)
        others = np.clip(degrees + generator.integers(-1, 2, t), 0, t)
        others[0] = generator.integers(0, t + 1)
        if min(h_index(degrees), h_index(others)) < weighting.least:
            continue
        one, other = (weighting.weights(each) for each in (degrees, others))
        one, other = one / one.sum(), other / other.sum()
        apart = (np.abs(one - other)[1:].sum() + one[0] + other[0]) / 2
        worst = max(worst, apart / weighting.moved)
    assert 0.1 < worst <= 1


# --- who agrees -----------------------------------------------------------------------------------------------


def _drawn(t, k, d, spread, generator, shuffled=True):
    """Mixtures of t blocks about one truth, with components in random order."""
    centers = 40 * generator.standard_normal((k, d))
    found = []
    for _ in range(t):
        roots = np.eye(d) + spread / math.sqrt(d) * generator.standard_normal((k, d, d))
        means = centers + spread * generator.standard_normal((k, d))
        order = generator.permutation(k) if shuffled else np.arange(k)
        found.append((np.full(k, 1 / k)[order], means[order], (roots @ roots.transpose(0, 2, 1))[order]))
    return Blocks.of(found, k, d), centers


def test_blocks_agree_whatever_the_order_of_their_components():
    """Reordering components changes no edge, and the order that is found is that of the first block."""
    generator = np.random.default_rng(2)
    blocks, centers = _drawn(12, 3, 2, 0.05, generator)
    closeness = Closeness(0.1, 0.5, 0.8, 0.6)
    edges = agreeing(blocks, closeness)
    assert edges.all()
    order = aligned(blocks, np.arange(12))
    means = blocks.means[np.arange(12)[:, None], order]
    assert np.abs(means - means[0]).max() < 1
    assert np.array_equal(np.sort(order, axis=1), np.tile(np.arange(3), (12, 1)))
    far, _ = _drawn(12, 3, 2, 0.05, np.random.default_rng(3))
    both = Blocks(*(np.concatenate([getattr(blocks, name), getattr(far, name)]) for name in vars(blocks)))
    edges = agreeing(both, closeness)
    assert edges[:12, :12].all()
    assert not edges[:12, 12:].any()
    assert centers.shape == (3, 2)


def test_each_threshold_can_part_two_blocks():
    """Two equal Gaussians agree; moved or widened beyond one threshold they do not, whichever comes first."""
    one = (np.ones(1), np.zeros((1, 2)), np.eye(2)[None])

    def agree(weight, mean, covariance):
        other = (np.array([weight]), np.array([mean]), np.array([covariance]))
        edges = agreeing(Blocks.of([one, other], 1, 2), Closeness(0.1, 0.3, 0.4, 0.35))
        assert edges[0, 1] == edges[1, 0]
        return bool(edges[0, 1])

    same = 1.0, (0.0, 0.0), np.eye(2)
    assert agree(*same)
    assert not agree(1.2, *same[1:])
    assert agree(1.0, (0.29, 0.0), np.eye(2))
    assert not agree(1.0, (0.31, 0.0), np.eye(2))
    assert not agree(1.0, (0.0, 0.29), np.diag([1.0, 0.9]))  # in the metric of the second one it is further
    assert agree(1.0, (0.0, 0.0), np.diag([1.3, 1.0]))
    assert not agree(1.0, (0.0, 0.0), np.diag([1.36, 1.0]))
    assert not agree(1.0, (0.0, 0.0), np.diag([1.3, 1.3]))  # Frobenius


def test_blocks_whose_components_could_be_confused_agree_with_none():
    """Two components nearer than three links of means: no block has a neighbour, not even itself."""
    closeness = Closeness(0.1, 0.3, 0.4, 0.3)
    for factor, valid in ((0.99, False), (1.01, True)):
        means = np.array([[0.0, 0.0], [closeness.apart * factor, 0.0]])
        block = (np.full(2, 0.5), means, np.stack([np.eye(2)] * 2))
        assert agreeing(Blocks.of([block, block], 2, 2), closeness).all() == valid


def test_blocks_that_share_a_neighbour_are_within_reach():
    """Pairs that agree with a third one, in the metric of the average: the bounds of the proof hold, and are near."""
    generator, worst = np.random.default_rng(5), np.zeros(3)
    closeness = Closeness(0.05, 0.3, 0.5, 0.4)
    for _ in range(60):
        blocks, _ = _drawn(8, 2, 2, 0.13, generator, shuffled=False)
        edges = agreeing(blocks, closeness)
        for i, j, other in np.argwhere(edges[:, :, None] & edges[None]):
            if len({i, j, other}) < 3:
                continue
            average = blocks.covariances[[i, j, other]].mean(axis=0)
            roots = np.linalg.inv(np.linalg.cholesky(average))
            moved = np.einsum("kij,kj->ki", roots, blocks.means[i] - blocks.means[other])
            wider = roots @ (blocks.covariances[i] - blocks.covariances[other]) @ roots.transpose(0, 2, 1)
            found = 0.0, np.linalg.norm(moved, axis=1).max(), np.linalg.norm(wider, axis=(1, 2)).max()
            worst = np.maximum(worst, np.array(found) / closeness.reach)
    assert (worst <= 1).all()
    assert worst[1:].min() > 0.2


def test_one_changed_row_changes_one_block_and_a_missing_one_ends_its_block():
    """Blocks have streams of their own; rows that are not finite leave their block without a mixture."""
    rows = np.random.default_rng(6).standard_normal((400, 2))
    rows[::2] += 12

    def learner(own, k, generator):
        return np.full(k, 1 / k), own[:k] + generator.standard_normal((k, 2)), np.stack([np.eye(2)] * k)

    before = learn(rows, 10, 2, learner, 7)
    rows[85] = 3.0
    changed = learn(rows, 10, 2, learner, 7)
    assert not (before.means[2:3] != changed.means[2:3]).any()  # 85 is no row that this learner looks at
    rows[80] = 3.0
    assert [*np.flatnonzero((before.means != learn(rows, 10, 2, learner, 7).means).any(axis=(1, 2)))] == [2]
    rows[80, 1] = np.nan
    assert [*np.flatnonzero(~learn(rows, 10, 2, learner, 7).learnt)] == [2]


# --- masks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1.5, 3.0, 8.0])
@pytest.mark.parametrize("x", [0.95, 1.06])
def test_the_divergence_of_a_row_is_its_integral(order, x):
    """Closed form against quadrature: one number with a mean, two without."""
    eta, z = 0.2, np.linspace(-4, 6, 200_001)

    def log_density(mean, sd):
        return -0.5 * ((z - mean) / sd) ** 2 - math.log(sd * math.sqrt(2 * math.pi))

    total = 0.0
    for one, other in ((1.0, math.sqrt(x)), (0.0, 0.0), (0.0, 0.0)):
        exponent = order * log_density(one, eta) + (1 - order) * log_density(other, eta * math.sqrt(x))
        total += math.log(np.trapezoid(np.exp(exponent), z)) / (order - 1)
    assert float(row_divergence(order, x, eta, 3)) == pytest.approx(total, rel=1e-5)


def test_the_price_of_a_mask_covers_the_worst_neighbours():
    """Averages at the ends of their moves: exact divergences of mean and covariance masks are within the bound."""
    masks, (g_m, g_f), d = Masks(0.1, 0.3, 0.2), (0.02, 0.03), 3
    bound = divergences((0.0, g_m, g_f), masks, 1, d)
    usable = np.isfinite(bound) & (ORDERS * g_f < 0.9)
    assert usable.sum() > 5
    reached = np.zeros(len(ORDERS))
    for spectrum in ([g_f, 0, 0], [-g_f, 0, 0], [g_f / math.sqrt(3)] * 3, [-g_f / math.sqrt(3)] * 3):
        x = 1 + np.array(spectrum)
        v = 1 - ORDERS[:, None] + ORDERS[:, None] * x
        mean = ORDERS * g_m**2 / (2 * masks.mean**2) / np.where(v > 0, v, np.nan)[:, 0]
        shape = row_divergence(ORDERS[:, None], x, masks.covariance, d + 1).sum(axis=1)
        reached = np.maximum(reached, np.where(usable, mean + shape, 0.0))
    assert (reached[usable] <= bound[usable]).all()
    assert (reached[usable] > 0.5 * bound[usable])[:6].all()
    assert not np.isfinite(divergences((0.0, g_m, 0.5), masks, 1, d)[ORDERS >= 2]).any()


def test_divergences_become_an_epsilon_as_dp_accounting_has_it():
    """Another implementation of the conversion, over the same orders."""
    for scale in (0.01, 0.1):
        divergence = ORDERS * scale
        theirs = compute_epsilon(ORDERS, divergence, 1e-6)[0]
        assert epsilon_of(divergence, 1e-6) == pytest.approx(theirs, rel=1e-9)


def test_masks_make_the_errors_that_a_plan_predicts():
    """Noise of a masked standard mixture: root mean squares of 300 draws."""
    d, k = 3, 2
    closeness = typical_closeness(d, k, 4000, np.random.default_rng(0))
    plan = make_plan(d, k, 4.0, 1e-6, 400, closeness)
    assert plan.bar < 0.86 * 400
    generator, seen = np.random.default_rng(1), []
    means = np.array([[0.0] * d, [100.0] * d])
    for _ in range(300):
        weights, moved, covariances = masked((np.full(k, 0.5), means, np.stack([np.eye(d)] * k)), plan.masks, generator)
        first = int(np.argmin(moved[:, 0]))
        away = covariances[first] - np.eye(d) * (1 + d * plan.masks.covariance**2)
        seen.append((np.linalg.norm(moved[first]), np.linalg.norm(away)))
        assert weights.sum() == pytest.approx(1)
    rms = np.sqrt(np.mean(np.square(seen), axis=0))
    assert rms == pytest.approx(plan.predicted, rel=0.15)


def test_more_budget_needs_less_noise_and_too_little_has_no_plan():
    """Predicted errors fall with epsilon; blocks that hardly agree have no plan at all."""
    closeness = typical_closeness(2, 2, 2000, np.random.default_rng(0))
    errors = [make_plan(2, 2, epsilon, 1e-6, 400, closeness).predicted[1] for epsilon in (2.0, 4.0, 8.0)]
    assert all(more > less for more, less in pairwise(errors))
    assert make_plan(2, 2, 0.1, 1e-6, 400, closeness) is None
    means = make_plan(2, 2, 4.0, 1e-6, 400, closeness, only_means=True)
    assert means.predicted[0] < make_plan(2, 2, 4.0, 1e-6, 400, closeness).predicted[0]
    assert means.masks.covariance == 0


# --- a run ----------------------------------------------------------------------------------------------------


def _two_groups(n, seed):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, 2))
    rows[generator.random(n) < 0.5] += (8.0, 0.0)
    return 37 * (1e4 + rows)


def _told(block, k, generator):
    """Learn two far groups by the sign of their first column; fast, and right on `_two_groups`."""
    del k, generator
    high = block[:, 0] > 37 * (1e4 + 4)
    own = [block[high], block[~high]]
    return np.array([len(part) / len(block) for part in own]), *map(
        np.stack, ([part.mean(axis=0) for part in own], [np.cov(part.T) for part in own])
    )


def test_a_mixture_far_from_the_origin_is_found_without_public_rows():
    """Two components, (4, 1e-6)-DP in law, 200,000 rows: means and covariances within half of their own scale."""
    simulation = pp.Curator.simulation(_two_groups(200_000, 0), LOOSE, 0)
    found = estimate_mixture_ppe(simulation, 2, learner=_told)
    assert found.converged
    assert found.guarantee.startswith("none (simulation)")
    order = np.argsort(found.means[:, 0])
    means = found.means[order] / 37 - 1e4
    assert np.abs(means - [[0, 0], [8, 0]]).max() < 0.5
    assert np.linalg.norm(found.covariances / 37**2 - np.eye(2), axis=(1, 2)).max() < 1
    assert np.abs(found.weights - 0.5).max() < 0.1


def test_means_alone_are_told_with_less_noise():
    """Sample and aggregate: no covariance leaves."""
    simulation = pp.Curator.simulation(_two_groups(200_000, 0), LOOSE, 0)
    found = estimate_mixture_ppe(simulation, 2, learner=_told, only_means=True)
    assert found.covariances is None
    assert np.abs(np.sort(found.means[:, 0]) / 37 - 1e4 - [0, 8]).max() < 0.3


def test_blocks_that_do_not_agree_give_no_answer():
    """A learner that finds something else in every block; and one that fails in most."""
    rows = _two_groups(100_000, 1)

    def wild(block, k, generator):
        return np.full(k, 1 / k), 1e3 * generator.standard_normal((k, 2)), np.stack([np.eye(2)] * k)

    for learner in (wild, lambda block, k, generator: _told(block, k, generator) if generator.random() < 0.3 else None):
        found = estimate_mixture_ppe(pp.Curator.simulation(rows, LOOSE, 0), 2, learner=learner)
        assert not found.converged
        assert found.means is None


def test_noise_alone_can_pass_the_test_and_then_there_is_no_answer_either():
    """A bar that everything passes, over blocks that agree with none: nothing to average, and no error."""
    closeness = typical_closeness(2, 2, 2000, np.random.default_rng(0))
    plan = replace(make_plan(2, 2, 4.0, 1e-6, 400, closeness), bar=-math.inf)
    blocks = Blocks.of([None] * 400, 2, 2)
    assert not _average(blocks, plan, "", False, np.random.default_rng(0)).converged


def test_a_real_curator_is_refused_before_anything_is_spent(tmp_path):
    """And nothing of its rows is in the refusal; the door to rows is closed to it as well."""
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]}), tmp_path / "visits.parquet")
    ledger = pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}")
    table = pp.PrivateTable.open(tmp_path / "visits.parquet", ["a", "b"])
    ledger.register("visits", budget=LOOSE, table=table, unit="one visit")
    curator = pp.Curator(table, ledger, dataset="visits", budget=LOOSE)
    for ask in (lambda: estimate_mixture_ppe(curator, 1), lambda: simulated_rows(curator, "why")):
        with pytest.raises(InvalidInput, match="simulation only"):
            ask()
    assert curator.statement().charges == ()
    curator.close()


@pytest.mark.parametrize(
    ("budget", "given", "match"),
    [
        (pp.ZeroConcentratedDP(1), {}, "ApproximateDP"),
        (LOOSE, {"k": 0}, "k must be"),
        (LOOSE, {"blocks": 2.5}, "blocks must be"),
        (LOOSE, {"blocks": 900}, "too few for 900 blocks"),
        (LOOSE, {"blocks": 100}, "differ too much"),
    ],
)
def test_what_cannot_be_is_refused(budget, given, match):
    """Before anything is learnt, with what to do."""
    simulation = pp.Curator.simulation(_two_groups(3000, 0), budget, 0)
    with pytest.raises(InvalidInput, match=match):
        estimate_mixture_ppe(simulation, **{"k": 2} | given)


def test_rows_of_a_simulation_are_mapped_as_a_scan_maps_them():
    """A copy: whoever changes it changes no simulation."""
    simulation = pp.Curator.simulation([[1.0, 2.0], [-5.0, 3.0]], LOOSE, 0, columns=["log1p(a)", "b"])
    rows = simulated_rows(simulation, "")
    assert rows[0] == pytest.approx([math.log(2), 2.0])
    assert math.isnan(rows[1, 0])
    rows[:] = 0
    assert simulated_rows(simulation, "")[0, 1] == 2.0


# --- cells ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("d", "k", "epsilon", "n"), [(2, 1, 1, 300_000), (5, 1, 4, 300_000), (2, 2, 4, 200_000)])
def test_cells_of_the_estimator(d, k, epsilon, n):
    """A learner on rows, mixtures 8 standard deviations apart: answers, means within half, covariances within one."""
    from benchmarks.populous import run

    for seed in (40, 41):
        found = run((d, k, epsilon, n, seed))
        assert found["answered"]
        assert found["mean"] < 0.5
        assert found["covariance"] < 1
