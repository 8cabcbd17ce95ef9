"""A run without a number of components releases the number that predicts best, and splits nothing to get there."""

from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from helpers.runners import instead

import pubpriv as pp
from pubpriv.cli.derived import settings_from
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mixture._components import Round
from pubpriv.estimators.mixture._explained import Explained, with_tails
from pubpriv.estimators.mixture._ladder import Score, Scored, broadened, choose, inhabited, lost_by, penalty
from pubpriv.estimators.mixture._ladder_plan import Ladder, plan_with_ladder
from pubpriv.estimators.mixture._outside import Outside
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture._supercluster import Regime
from pubpriv.estimators.mixture.declaration import MIXTURE
from pubpriv.estimators.mixture.public_model import _fit, public_model, rung_starts
from pubpriv.estimators.mixture.scaling import precondition
from pubpriv.privacy.budgets import Purse
from pubpriv.released.law import Mixture

BUDGET = pp.ZeroConcentratedDP(1.0)
CHEAP = instead(public_model, lambda public, scaling, k: _fit(scaling.apply(public.rows), k, ("diag", 0.01), 1))


def overlapping(n, seed=0):
    """n rows of two Gaussians of one center, long in different directions: nothing lies apart."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, 3)) * [1.0, 0.3, 1.0]
    turned = generator.random(n) < 0.5
    rows[turned] = rows[turned][:, [1, 0, 2]]
    return rows


def run(public, private, budget=BUDGET, seed=1, **options):
    curator = pp.Curator.simulation(private, budget, seed)
    return pp.estimate_mixture(public, curator, max_components=4, runner=CHEAP, **options), curator


@pytest.fixture(scope="module")
def crossed():
    """A run on crossed Gaussians, with its curator."""
    return run(overlapping(80, 1), overlapping(8000))


# --- runs ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_more_components_than_lie_apart_are_released_where_they_predict_better(crossed):
    """Held-out rows are better by a tenth of a nat and more than under one Gaussian; what was scored is told."""
    estimate, _ = crossed
    facts, held_out = estimate.diagnostics, overlapping(4000, 2)
    alone, _ = run(overlapping(80, 1), overlapping(8000), n_components="apart")
    assert (facts["k_apart"], len(alone.weights)) == (1, 1)
    assert facts["k_fit"] == facts["n_components"] == len(estimate.weights) >= 2
    assert estimate.log_density(held_out).mean() > alone.log_density(held_out).mean() + 0.1
    tried = facts["ladder"]
    assert [line["components"] for line in tried] == [2, 3, 4]
    assert any(line["believed"] and line["nats_per_row"] > 0.1 for line in tried)
    assert all(line["asked"] and line["noise"] < 0.1 for line in tried)
    assert "predict better than the 1 that lie apart" in facts["regime_reason"]


@pytest.mark.long
def test_what_a_ladder_asks_is_within_the_budget_and_told(crossed):
    """Charges are the labels of the diagnostics; together they cost no more than the run has, and nearly all of it."""
    estimate, curator = crossed
    charges = {line.label: Fraction(line.cost.split()[0]) for line in curator.statement().charges}
    assert sorted(charges) == sorted(estimate.diagnostics["rounds"])
    assert {"mixture/ladder/2/score", "mixture/ladder/round-2"} <= charges.keys()
    assert "mixture/round-2" not in charges
    assert 0.9 < sum(charges.values()) <= 1


@pytest.mark.slow
def test_scores_are_of_rows_that_lack_no_value(crossed):
    """Half of twice as many rows lack one: their scores were half of what they are, and so was their noise."""
    private = np.full((16_000, 3), np.nan)
    private[::2] = overlapping(8000)
    tried, others = (each.diagnostics["ladder"] for each in (run(overlapping(80, 1), private)[0], crossed[0]))
    for line, alone in zip(tried, others, strict=True):
        assert line["noise"] == pytest.approx(alone["noise"], rel=0.05)
        assert line["penalty"] == pytest.approx(alone["penalty"], rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["gaussian", "whole numbers"])
def test_where_one_gaussian_explains_the_rows_no_ladder_is_paid_for(kind):
    """Its money goes to the last round, and one component stays one."""
    rows = np.random.default_rng(3).normal(size=(8080, 3)) * [1.0, 2.0, 3.0]
    rows = np.rint(rows) if kind == "whole numbers" else rows
    estimate, curator = run(rows[:80], rows[80:])
    labels = {line.label for line in curator.statement().charges}
    assert estimate.diagnostics["ladder"] == []
    assert len(estimate.weights) == 1
    assert "mixture/round-2" in labels
    assert not any("/ladder/" in label for label in labels)


@pytest.mark.slow
def test_heavy_tails_are_not_components():
    """Rows of Student's t, 5 degrees of freedom: the ladder is climbed, and one component is believed."""
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(8080, 3)) / np.sqrt(generator.chisquare(5, size=(8080, 1)) / 5)
    estimate, _ = run(rows[:80], rows[80:])
    assert estimate.diagnostics["ladder"]
    assert not any(line["believed"] for line in estimate.diagnostics["ladder"])
    assert len(estimate.weights) == 1


@pytest.mark.slow
def test_a_run_goes_on_from_what_it_has_asked(crossed):
    """The same run again has the same numbers and no further charges."""
    estimate, curator = crossed
    before = len(curator.statement().charges)
    again = pp.estimate_mixture(overlapping(80, 1), curator, max_components=4, runner=CHEAP)
    assert len(curator.statement().charges) == before
    assert np.array_equal(again.means, estimate.means)


def test_a_rung_starts_with_and_without_the_correlations_that_components_share():
    """Places and column spreads are of one fit; rows correlated at .8 in both components keep that in one start."""
    rows = np.random.default_rng(7).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=200)
    rows[100:] += [20.0, 0.0]
    public = PublicTable.open(rows)
    pooled, alone = rung_starts(public, precondition(public), 2)
    assert pooled.means == alone.means
    for with_them, without in zip(pooled.arrays[2], alone.arrays[2], strict=True):
        assert np.diag(with_them) == pytest.approx(np.diag(without))
        assert without[0, 1] == 0
        assert with_them[0, 1] / np.sqrt(with_them[0, 0] * with_them[1, 1]) == pytest.approx(0.8, abs=0.1)


# --- what is concluded ---------------------------------------------------------------------------------------


def scored(k, apart, best=None, noise=0.05, cost=0.01):
    return Scored(k, Score(apart, noise), cost, None if best is None else Score(best, 0.01))


@pytest.mark.parametrize(
    ("scores", "k"),
    [
        ([], 1),
        ([scored(2, 0.1), scored(4, 0.105, 0.1)], 1),
        ([scored(2, 0.12), scored(4, 0.11, -0.01)], 2),
        ([scored(2, 0.2), scored(4, 0.3, 0.1, cost=0.15)], 2),
        ([scored(2, 0.2), scored(4, 0.3, 0.1), scored(8, -2.0, -2.3)], 4),
        ([scored(2, 0.02), scored(3, 0.5, 0.5), scored(4, 0.7, 0.009)], 3),
        ([scored(2, 0.2), scored(3, 0.1, -0.3), scored(4, 0.15, 0.1)], 4),
        ([scored(2, -3.0), scored(3, 0.5, 3.0)], 3),
        ([scored(2, 0.3), scored(3, -0.1, 0.4)], 2),
    ],
    ids=[
        "nothing tried",
        "noise",
        "best",
        "penalty",
        "worse",
        "as good",
        "over the best before",
        "first one failed",
        "steps alone",
    ],
)
def test_a_number_is_chosen_if_some_score_is_sure(scores, k):
    """Two sds and the penalty for there being more at all; then what is better than the best of fewer components."""
    assert choose(1, scores) == k


@pytest.mark.parametrize(("apart", "kept"), [(1, [0, 2]), (3, [0, 1, 2])])
def test_components_that_hold_hardly_a_row_are_left_out(apart, kept):
    """Of a number that nobody asked for; what is told of the others stays theirs, and their weights add up to one."""
    mixture = Mixture.of([0.5, 0.1, 0.4], [[0.0], [1.0], [2.0]], [[[1.0]], [[2.0]], [[3.0]]])
    start = Mixture.of([0.2, 0.2, 0.6], [[0.1], [1.1], [2.1]], [[[4.0]], [[5.0]], [[6.0]]])
    odd = Outside(3.0, 40.0, 1.0, among=(0.1, 0.2, 0.3), unsure=(0.01, 0.02, 0.03))
    known = {"moved": (0.1, 0.2, 0.3), "grown": (0.0, 0.1, 0.2), "outside": odd, "hidden": ((0.1,), (0.2,), (0.3,))}
    before = Round(mixture, (500.0, 51.0, 400.0), 10.0, 1.0, 1.0, start, 950.0, **known)
    last = inhabited(before, apart)
    assert last.mixture.arrays[1][:, 0].tolist() == kept
    assert last.mixture.arrays[2][:, 0, 0].tolist() == [1 + j for j in kept]
    assert last.mixture.arrays[0].sum() == pytest.approx(1)
    assert last.counts == tuple((500.0, 51.0, 400.0)[j] for j in kept)
    assert last.moved == tuple((0.1, 0.2, 0.3)[j] for j in kept)
    assert last.grown == tuple((0.0, 0.1, 0.2)[j] for j in kept)
    assert last.hidden == tuple(((0.1,), (0.2,), (0.3,))[j] for j in kept)
    assert last.frames == tuple(start.covariances[j] for j in kept)
    assert last.start.arrays[0].sum() == pytest.approx(1)
    assert last.outside.among == tuple(odd.among[j] for j in kept)
    assert last.outside.unsure == tuple(odd.unsure[j] for j in kept)


@pytest.mark.parametrize(
    ("count", "noise", "lost"), [(10.0, 1.0, 0.0), (25.0, 1.0, 0.025), (25.0, 9.0, 0.0), (None, 1.0, 0.0)]
)
def test_a_group_that_the_last_round_left_out_is_noticed(count, noise, lost):
    """More rows than odd ones, and clear of the noise."""
    mixture = Mixture.of([1.0], [[0.0]], [[[1.0]]])
    last = Round(mixture, (990.0,), 1.0, 1.0, 1.0, mixture, 1000.0)
    if count is not None:
        last = replace(last, outside=Outside(3.0, count, noise))
    assert lost_by(last) == lost


@pytest.mark.slow
def test_where_a_group_was_left_out_the_round_before_is_released(crossed, monkeypatch):
    """The same was asked; the numbers have its larger noise, the run is flagged, and the first warning says why."""
    monkeypatch.setattr("pubpriv.estimators.mixture._ladder.lost_by", lambda last: 0.03)
    kept, curator = run(overlapping(80, 1), overlapping(8000))
    last, before = crossed
    assert curator.statement().charges == before.statement().charges
    assert min(kept.diagnostics["covariance_noise"]) > 1.3 * max(last.diagnostics["covariance_noise"])
    assert not kept.converged
    assert "left 3.0% of the private rows to no component" in kept.diagnostics["warnings"][0]
    assert "outside" not in kept.diagnostics


def test_the_penalty_is_half_that_of_bic():
    """One more component of two columns has 6 parameters; BIC takes log(n) / 2 nats for each."""
    assert penalty(1, 1000, 2) == pytest.approx(6 * np.log(1000) / 4 / 1000)


def test_no_variance_is_below_a_part_of_a_step():
    """In columns with steps; others keep the floor of all covariances."""
    sharp = Mixture.of([1.0], [[0.0, 0.0]], [np.diag([1e-6, 1e-6])])
    assert np.diag(broadened(sharp, (0.5, 0.0)).arrays[2][0]) == pytest.approx([0.09, 0.0025])


@pytest.mark.parametrize("freedom", [4, np.inf])
def test_tails_are_told_by_counts_in_shells(freedom):
    """Student's t is explained by scales, much better than by one Gaussian; a Gaussian stays as it is."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(50_000, 2))
    if np.isfinite(freedom):
        rows /= np.sqrt(generator.chisquare(freedom, size=(50_000, 1)) / freedom)
    radii = 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 6.0, 12.0
    one = Mixture.of([1.0], [[0.0, 0.0]], [np.cov(rows.T)])
    lengths = np.linalg.norm(rows / rows.std(axis=0), axis=1)
    shells = np.histogram(lengths, [0.0, *radii, np.inf])[0].astype(float)
    found = Explained(
        one, radii, tuple(shells.tolist()), (0.2 if np.isfinite(freedom) else 0.0, 0.0), (0.01, 0.01), 50_000.0
    )
    better = with_tails(found)
    assert found.complete == (not np.isfinite(freedom))
    if not np.isfinite(freedom):
        assert better == one
    else:
        assert better.log_density(rows).mean() > one.log_density(rows).mean() + 0.15
        assert np.array(better.weights).sum() == pytest.approx(1)


# --- the plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["zcdp", "approx"])
def test_every_ladder_costs_what_the_last_round_would(kind):
    """Whatever is chosen: the same sum exactly, and the same asks at the same prices until the choice."""
    purse = Purse.of(pp.parse_budget("zcdp:0.5" if kind == "zcdp" else "approx:4,1e-6"))
    plan, ladder = plan_with_ladder(purse, 20_000, 4, 1, Regime.SCARCE, "full", 8, 1, 100, True)
    assert ladder is not None
    assert sum(ask.price for ask in plan.asks) == purse.squared_distance(purse.units)
    rungs = ladder.plan(1).rungs
    climbed = [ask for rung in rungs for ask in (*chain(*rung.starts), rung.pick, rung.score, rung.rank) if ask]
    for k in (1, *ladder.rungs):
        own = ladder.plan(k)
        assert sum(ask.price for ask in own.asks) == plan.rounds[-1].price
        assert {ask.label for ask in own.asks}.isdisjoint(ask.label for ask in plan.asks)
        prices = {ask.label: ask.price for ask in own.asks}
        assert all(prices[ask.label] == ask.price for ask in climbed)
        assert [rung.rank is None for rung in own.rungs] == [True, False, False, False]


def test_numbers_that_public_rows_or_noise_rule_out_are_not_tried():
    """Above those that lie apart, at most as many as are looked for, four public rows each, and not only noise."""
    purse = Purse.of(pp.parse_budget("zcdp:0.5"))

    def rungs(n=50_000, m=100, d=5, apart=1, most=8):
        return Ladder.of(purse, n, m, d, apart, most, "full").rungs

    assert rungs() == (2, 3, 4, 8)
    assert rungs(apart=3) == (4, 8)
    assert rungs(most=7) == (2, 3, 4)
    assert rungs(m=11) == (2,)
    assert rungs(apart=8) == rungs(m=7) == ()
    assert rungs(n=1000) == (2, 3, 4)
    assert rungs(n=100, d=20) == ()


# --- settings ------------------------------------------------------------------------------------------------


def test_words_stand_for_a_number_and_old_releases_are_those_apart():
    """None is `auto`; a run made before there was a ladder has the configuration of `apart`."""
    assert MixtureSettings().climbs
    assert MixtureSettings(n_components=None).configuration() == MixtureSettings().configuration()
    assert MixtureSettings(n_components="apart").configuration()["n_components"] is None
    assert MixtureSettings(n_components=3).known == 3
    assert not MixtureSettings(n_components=3).climbs
    with pytest.raises(InvalidInput, match="auto or apart, not 'many'"):
        MixtureSettings(n_components="many")


def test_the_option_takes_a_number_or_a_word():
    """`--max-components` goes with a word; text that is neither is refused by name."""
    assert settings_from(MIXTURE, {"n_components": "4"}).n_components == 4
    both = settings_from(MIXTURE, {"n_components": "apart", "max_components": 5})
    assert both == MixtureSettings(n_components="apart", max_components=5)
    with pytest.raises(InvalidInput, match="--components takes a whole number, auto or apart"):
        settings_from(MIXTURE, {"n_components": "1.5"})
    with pytest.raises(InvalidInput, match="give one"):
        settings_from(MIXTURE, {"n_components": "4", "max_components": 5})
