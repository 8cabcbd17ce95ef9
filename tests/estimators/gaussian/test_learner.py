"""The learner finds mean and covariance within a few per cent, says when it cannot, and spends what it planned."""

import json
import math
import re
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.learner import SETTINGS, Setting, bench, world
from pubpriv.data.codec import from_json, row_tuples, to_json
from pubpriv.data.frames import GRID, Frame
from pubpriv.data.questions.base import squared_weight
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.estimators.asks import Ask
from pubpriv.estimators.gaussian import driver
from pubpriv.estimators.gaussian._learner import Measured, pool, predicted_errors
from pubpriv.estimators.gaussian._plan import _needed, final_theta, joint_question, learner_plan
from pubpriv.estimators.gaussian._preconditioner import precondition
from pubpriv.estimators.steps import plain as plain_runner
from pubpriv.privacy.budgets import Purse

HALF = pp.ZeroConcentratedDP(0.5)
estimate_gaussian = partial(driver.estimate_gaussian, target="gaussian")


def learn(setting, seed=1, budget=HALF, change=None, **options):
    """(world, estimate) of one simulated run; `change` spoils the private rows first."""
    drawn = world(setting, seed)
    rows = drawn.private if change is None else change(drawn.private.copy())
    return drawn, estimate_gaussian(drawn.public, pp.Curator.simulation(rows, budget, seed), **options)


def ratios(drawn, estimate):
    """(covariance, mean): errors over those of the non-private estimate."""
    return tuple(np.array(drawn.error(estimate.mean, estimate.covariance)) / np.array(drawn.best()))


# ------------------------------------------------------------------------------------------------ prices


@pytest.mark.parametrize("theta", [Fraction(3, 10), final_theta(1), final_theta(5), final_theta(50)])
def test_the_joint_question_costs_its_price_and_the_count_is_free(theta):
    """Its noise is the paper's sigma = sqrt2 R^2 (1 + theta / 2) / sqrt(mu^2), as if no count were asked."""
    ask = Ask("gaussian/final", 37, 100)
    question = joint_question(Frame((0.0,) * 3), 2.0, theta, ask)
    assert ask.price * (1 - Fraction(1, 10**6)) < question.squared_distance <= ask.price
    n, s, m = (float(squared_weight(question.parts[name])) for name in ("count", "sum", "diagonal"))
    assert 1 / math.sqrt(m) == pytest.approx(math.sqrt(2 / 0.37) * GRID**2 * (1 + float(theta) / 2), rel=1e-6)
    assert s == pytest.approx(float(theta) * GRID**2 * m, rel=1e-6)
    assert n == pytest.approx(s * s / (4 * m), rel=1e-6)


@pytest.mark.parametrize("d", [1, 5, 50])
def test_a_part_of_the_price_for_the_count_is_well_spent(d):
    """The price stays the same; the count has a fraction of its noise, the moment hardly more."""
    ask, theta = Ask("final", 1, 2), final_theta(d)
    free, paid = (joint_question(Frame((0.0,) * d), 2.0, theta, ask, part) for part in (Fraction(0), Fraction(1, 20)))
    assert paid.squared_distance <= ask.price
    assert float(paid.squared_distance / ask.price) == pytest.approx(1.0, abs=1e-6)
    count, _, moment = np.array(paid.noise_scales) / np.array(free.noise_scales)
    assert moment == pytest.approx(1 / math.sqrt(0.95), rel=1e-3)
    assert count < {1: 0.9, 5: 0.6, 50: 0.1}[d]


@pytest.mark.parametrize(("n", "d", "rho"), [(1000, 5, 0.5), (10_000, 20, 0.05), (10**6, 3, 2.0), (300, 50, 0.5)])
def test_a_plan_adds_up_to_its_purse(n, d, rho):
    """Prices are positive and sum to what the purse holds, whatever n, d and rho."""
    purse = Purse(int(rho * 10**12), "zcdp")
    plan = learner_plan(purse, n, d)
    assert sum(ask.price for ask in plan.asks) == purse.squared_distance(purse.units)
    assert min(ask.price for ask in plan.asks) > 0
    assert len(plan.asks) == 17
    assert plan.asks[0] == plan.count
    assert plan.final.price >= Fraction(71, 100) * purse.squared_distance(purse.units)


@pytest.mark.parametrize("budget", [HALF, pp.ApproximateDP(4.0, 1e-6)])
def test_a_run_asks_what_was_planned_and_spends_its_budget(budget):
    """One line on the bill per planned question; nothing is left, nothing is overdrawn, in either currency."""
    _, estimate = learn(Setting(2000, 3), budget=budget)
    assert [charge["label"] for charge in estimate.privacy["charges"]] == estimate.diagnostics["rounds"]
    spent = float(str(estimate.privacy["spent"]).split()[0])
    assert 0.999 * float(budget.cap.main) / 1e12 < spent <= float(budget.cap.main) / 1e12
    assert estimate.converged


# ---------------------------------------------------------------------------------------------- accuracy


@pytest.mark.parametrize(
    ("setting", "most"),
    [
        (Setting(10_000, 1), 1.6),
        (Setting(10_000, 5), 1.2),
        (Setting(10_000, 5, condition=1e8, shift=1e6), 1.2),
        (Setting(10_000, 5, 25, public_scale=1e6), 1.2),
        (Setting(10_000, 5, 25, public_scale=1e-6), 1.2),
        (Setting(10_000, 5, 25, public_condition=1e4), 1.2),
        (Setting(10_000, 5, 25, public_condition=1e8), 1.2),
        (Setting(10_000, 5, 25, public_shift=1e4), 1.2),
    ],
)
def test_near_and_far_public_rows_lead_to_the_same_accuracy(setting, most):
    """Condition, shift, and public rows wrong by orders of magnitude; the median of three runs. 0.1 s a run."""
    found = [ratios(*learn(setting, seed)) for seed in (1, 2, 3)]
    assert np.median([covariance for covariance, _ in found]) < most
    assert np.median([mean for _, mean in found]) < most


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "50-1e4"])
def test_the_promised_ratios(name):
    """The issue's table at 100 runs each, with none above twice the non-private error that is not flagged."""
    told = bench(name, runs=100)
    assert told["ratio"] <= told["target"]
    assert told["bad"] == told["bad_and_flagged"]


def test_units_do_not_matter():
    """Columns in other units give the same estimate in those units, to the last bits of the arithmetic."""
    drawn = world(Setting(3000, 4), 3)
    units = 2.0 ** np.array([0, 30, -30, 5])
    plain, other = (
        estimate_gaussian(drawn.public * u, pp.Curator.simulation(drawn.private * u, HALF, 3)) for u in (1.0, units)
    )
    np.testing.assert_allclose(other.covariance, plain.covariance * np.outer(units, units), rtol=1e-9, atol=0)
    np.testing.assert_allclose(other.mean, plain.mean * units, rtol=1e-9, atol=0)


def test_rows_with_missing_cells_are_counted_and_left_out():
    """A fifth of the rows broken in three ways: the covariance is that of the others, and the share is said."""

    def broken(rows):
        rows[0:2000:3, 1], rows[1:2000:3, 0], rows[2:2000:3, 2] = np.nan, np.inf, -np.inf
        return rows

    drawn, estimate = learn(Setting(10_000, 4), change=broken)
    assert estimate.diagnostics["whole_rows"] == pytest.approx(8000, abs=200)
    said = r"about (19\.9|20(\.1)?)% \(\u00b10\.\d+%, standard error\) of the private rows"
    assert any(re.match(said, text) for text in estimate.diagnostics["warnings"])
    assert ratios(drawn, estimate)[0] < 1.5
    assert estimate.converged


@pytest.mark.slow
def test_a_gaussian_is_not_flagged_for_the_rounds_own_noise():
    """In low dimension the rounds leave records less standard than the release could tell; that harms nothing."""
    for seed in range(25):
        rows = np.random.default_rng(1000 + seed).standard_normal((1512, 2))
        estimate = estimate_gaussian(rows[:12], pp.Curator.simulation(rows[12:], HALF, seed))
        assert estimate.converged
        assert np.linalg.norm(estimate.covariance - np.eye(2)) < 0.3


@pytest.mark.slow
def test_standard_errors_cover():
    """Between 92% and 98% of entries lie within 1.96 standard errors: 40 runs at (5, 1000), 2 s."""
    inside = {"mean": [], "covariance": []}
    for seed in range(40):
        drawn, estimate = learn(Setting(1000, 5), seed)
        truth = {"mean": drawn.mean, "covariance": drawn.root @ drawn.root.T}
        for part, values in truth.items():
            errors = estimate.standard_errors[part]
            sd = np.hypot(errors["sampling"], errors["privacy"])
            inside[part].append(np.abs(getattr(estimate, part) - values) <= 1.96 * sd)
    assert 0.91 < np.mean(inside["mean"]) < 0.99
    assert 0.91 < np.mean(inside["covariance"]) < 0.99


@pytest.mark.slow
def test_the_privacy_part_of_the_errors_is_the_noise():
    """Same rows, other noise: the spread of the estimates is what the privacy part says. 40 runs, 2 s."""
    drawn = world(Setting(1000, 3), 5)
    runs = [estimate_gaussian(drawn.public, pp.Curator.simulation(drawn.private, HALF, seed)) for seed in range(40)]
    for part in ("mean", "covariance"):
        spread = np.std([getattr(run, part) for run in runs], axis=0)
        told = np.mean([run.standard_errors[part]["privacy"] for run in runs], axis=0)
        assert 0.8 < np.sqrt(np.mean(spread**2) / np.mean(told**2)) < 1.4


@pytest.mark.long
@pytest.mark.parametrize(("n", "d"), [(1000, 5), pytest.param(10_000, 5, marks=pytest.mark.slow)])
def test_the_error_is_predicted_before_a_row_is_read(n, d):
    """Within 20% of the root mean square of 30 runs, both parts; 2 s."""
    told = predicted_errors(learner_plan(Purse(HALF.cap.main, "zcdp"), n, d), n, d)
    runs = [learn(Setting(n, d), seed) for seed in range(30)]
    found = np.sqrt(np.mean([np.square(drawn.error(e.mean, e.covariance)) for drawn, e in runs], axis=0))
    assert told["covariance"] == pytest.approx(found[0], rel=0.2)
    assert told["mean"] == pytest.approx(found[1], rel=0.2)
    assert told["covariance_best"] < told["covariance"] < 1.3 * told["covariance_best"]
    assert 0 < told["covariance_noise"] < told["covariance"]


# ----------------------------------------------------------------------------------------------- pooling


def measured(d=3, mean=0.0, scale=1.0):
    """A final release of variances `scale` in the table's own coordinates."""
    values = row_tuples(scale * np.eye(d))
    return Measured(Frame.of(np.zeros(d), np.eye(d)), (mean,) * d, values, 1000.0, 2.0, 0.01, 0.01, 0.1, 0.3, 0.0, 0.2)


def public(m, scale=1.0, shift=0.0):
    rows = shift + scale * np.random.default_rng(4).standard_normal((m, 3))
    return precondition(pp.PublicTable.open(rows, ["a", "b", "c"]))


def test_public_rows_of_the_same_law_are_pooled_and_others_are_not():
    """Weight by what they are worth: more with more rows, nothing when they contradict the release."""
    few, many = pool(public(10), measured()), pool(public(300), measured())
    assert 0 < few.covariance_weight < many.covariance_weight < 1
    assert 0 < few.mean_weight < many.mean_weight < 1
    far = pool(public(300, scale=10.0, shift=50.0), measured())
    assert far.covariance_weight < 1e-4
    assert far.mean_weight < 1e-4
    np.testing.assert_allclose(far.covariance, np.eye(3), atol=0.02)


def test_the_first_radius_is_where_a_new_row_is():
    """Hotelling's law, against drawing it: the median of |y| over public draws, within 4%."""
    generator, d, m = np.random.default_rng(1), 4, 9
    lengths = []
    for _ in range(400):
        made = precondition(pp.PublicTable.open(generator.standard_normal((m, d)), list("abcd")))
        center, whitening, _ = made.arrays
        lengths += list(np.linalg.norm((generator.standard_normal((20, d)) - center) @ whitening.T, axis=1))
    assert np.median(lengths) == pytest.approx(made.typical_radius, rel=0.04)


# ----------------------------------------------------------------------------------------- refusals, flags


@pytest.mark.long
@pytest.mark.parametrize("budget", [pp.ZeroConcentratedDP(0.02), pp.ApproximateDP(0.5, 1e-6)])
def test_below_the_line_a_run_is_refused_before_it_spends(budget):
    """The message names the rows and the budget that would do, and both do."""
    drawn = world(Setting(700, 5), 1)
    curator = pp.Curator.simulation(drawn.private, budget, 1)
    with pytest.raises(InvalidInput) as refusal:
        estimate_gaussian(drawn.public, curator)
    assert curator.statement().charges == ()
    rows, text = re.search(r"About (\d+) rows would do, or a budget of (\S+),", str(refusal.value)).groups()
    enough = world(Setting(int(rows), 5), 1)
    assert estimate_gaussian(enough.public, pp.Curator.simulation(enough.private, budget, 1)).diagnostics["feasible"]
    richer = pp.Curator.simulation(drawn.private, pp.parse_budget(text.rstrip(",")), 1)
    assert estimate_gaussian(drawn.public, richer).diagnostics["feasible"]


def test_a_forced_run_is_flagged():
    """60 rows for five columns: the noise wins, and the result says so."""
    _, estimate = learn(Setting(60, 5), force=True)
    assert not estimate.converged
    assert any("too few private rows" in text for text in estimate.diagnostics["warnings"])
    assert np.linalg.eigvalsh(estimate.covariance)[0] > 0


def test_a_mixture_of_far_clusters_does_not_pass_for_a_gaussian():
    """Two clusters: what the final release sees is not standard, and the run is flagged."""

    def split(rows):
        rows[::10] += 1000.0
        return rows

    _, estimate = learn(Setting(5000, 3), change=split)
    assert not estimate.converged


@pytest.mark.parametrize("d", [1, 5])
def test_a_few_odd_rows_do_not_move_the_gaussian(d):
    """One row in a hundred at 15 times the scale: errors of eight runs hardly grow, and the rows are told."""

    def widened(rows):
        rows[::100] *= 15.0
        return rows

    found = []
    for seed in range(8):
        drawn, clean = learn(Setting(5000, d), seed, target="gaussian")
        odd = learn(Setting(5000, d), seed, change=widened, target="gaussian")[1]
        assert odd.converged
        found.append([drawn.error(estimate.mean, estimate.covariance)[0] for estimate in (odd, clean)])
    ours, best = np.sqrt(np.mean(np.square(found), axis=0))
    assert ours < 1.5 * best
    assert odd.diagnostics["beyond_clip"]["share"] > 2 * odd.diagnostics["beyond_clip"]["sd"]
    assert any("further out than Gaussian rows" in text for text in odd.diagnostics["warnings"])


@pytest.mark.long
def test_few_gaussian_rows_are_no_cause_for_alarm():
    """(1 column, 500 rows): at most one of twenty runs; a radius that was looked for too briefly flagged one in six."""
    assert sum(learn(Setting(500, 1), seed, target="gaussian")[1].converged for seed in range(20)) >= 19


@pytest.mark.parametrize(
    ("options", "words"),
    [({"target": "median"}, "target must be one of"), ({"method": "coinpress"}, "method must be one of")],
)
def test_what_is_not_offered_is_refused_with_what_is(options, words):
    """Before anything is spent."""
    with pytest.raises(InvalidInput, match=words):
        learn(Setting(1000, 3), **options)


def test_too_few_public_rows_are_refused():
    """m < d + 1 leaves the shape unknown, which the target `gaussian` takes for known."""
    drawn = world(Setting(2000, 4), 1)
    with pytest.raises(InvalidInput, match="at least 5 public rows, not 4"):
        estimate_gaussian(drawn.public[:4], pp.Curator.simulation(drawn.private, HALF, 1), target="gaussian")


@pytest.mark.parametrize("m", [1, 2, 4])
def test_few_public_rows_in_natural_units_are_enough(m):
    """One row shows where the columns lie, two how wide they are; rounds, or counts of sizes, find the rest."""
    units, middle = np.array([12.0, 900.0, 0.05, 2.0]), np.array([43.0, 3000.0, 0.2, 7.0])
    mixed = np.eye(4) + 0.7 * np.diag([1.0, 0.0, -1.0], 1)
    inside = []
    for seed in range(4):
        generator = np.random.default_rng(seed)
        rows = generator.standard_normal((4000 + m, 4)) @ mixed.T * units + middle
        found = pp.estimate_gaussian(rows[:m], pp.Curator.simulation(rows[m:], HALF, seed))
        assert found.converged
        true = mixed @ mixed.T * np.outer(units, units)
        means, spreads = (
            np.sqrt(sum(np.square(np.array(each)) for each in found.standard_errors[part].values()))
            for part in ("mean", "covariance")
        )
        inside += [*(np.abs(found.mean - middle) < 1.96 * means)]
        inside += [*(np.abs(found.covariance - true) < 1.96 * spreads)[np.triu_indices(4)]]
        assert np.allclose(np.diag(found.covariance) / np.diag(true), 1, atol=0.25)
    assert np.mean(inside) > 0.88


# ---------------------------------------------------------------------------------------------- real runs


@pytest.mark.parametrize("method", ["learner", "algorithm-2"])
def test_whoever_runs_the_steps_gets_the_same_bits(method):
    """Every step of the method passes through the runner, and values that travel as JSON change nothing."""
    called = []

    def around(step, place, /, *values):
        called.append(step.name)
        return step(*(from_json(json.loads(json.dumps(to_json(v)))) if _travels(v) else v for v in values))

    drawn = world(Setting(2000, 3), 1)
    plain, stepped = (
        estimate_gaussian(drawn.public, pp.Curator.simulation(drawn.private, HALF, 1), method=method, runner=runner)
        for runner in (plain_runner, around)
    )
    assert plain.to_json()["covariance"] == stepped.to_json()["covariance"]
    assert plain.to_json()["mean"] == stepped.to_json()["mean"]
    rounds = (
        {"count_rows", "approach", "measure", "pool", "public_lattices", "count_lengths", "judge_bulk"}
        if method == "learner"
        else {"bound", "covariance_round", "mean_round"}
    )
    assert set(called) == rounds | {"precondition"}


def _travels(value):
    return type(value).__name__ in {"Preconditioner", "Position", "Measured", "Frame", "Ball", "Ask", "WholeRows"}


def test_a_real_run_replays_for_nothing_and_is_bound_to_its_settings(tmp_path):
    """OpenDP's noise, a ledger on disk: as accurate as a simulation; again is the same model at no cost."""
    import pandas as pd

    drawn = world(Setting(4000, 3), 2)
    names = ["a", "b", "c"]
    pd.DataFrame(drawn.private, columns=names).to_parquet(tmp_path / "private.parquet")
    table = pp.PrivateTable.open(tmp_path / "private.parquet", names)
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=pp.ZeroConcentratedDP(1.0), table=table)
        models = []
        for _ in range(2):
            with pp.Curator(table, ledger, "visits", HALF, release_id="r1") as curator:
                models.append(estimate_gaussian(drawn.public, curator))
        first, again = (model.to_json() for model in models)
        assert 0 <= HALF.cap.main - ledger.balance("visits").spent.main < 10_000  # in 1e-12: noise scales are integers
        for part in ("mean", "covariance", "standard_errors", "diagnostics"):
            assert first[part] == again[part]
        assert ratios(drawn, models[0])[0] < 2
        with (
            pp.Curator(table, ledger, "visits", HALF, release_id="r1") as curator,
            pytest.raises(SpecMismatch),
        ):
            estimate_gaussian(drawn.public, curator, method="algorithm-2")


def test_needed_grows_with_the_columns():
    """The line is that of the study: 150 up to d = 6, 10 d^1.5 beyond."""
    assert _needed(2) == 150
    assert _needed(20) == pytest.approx(894.43, abs=0.01)
