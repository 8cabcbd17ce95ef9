"""The mean: as good as promised, honest about its errors, the same in any units, and clear about bad input."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import trim_mean

import pubpriv as pp
from benchmarks import intervals
from benchmarks.gaussian import MEAN_SETTINGS, mean_row, real_run
from pubpriv.errors import BudgetExceeded, InvalidInput, SpecMismatch
from pubpriv.estimators._whole_rows import whole_rows
from pubpriv.estimators.mean._clip import choose_clip
from pubpriv.estimators.mean._lengths import Lengths, edges
from pubpriv.estimators.mean._plan import MeanPlan
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import Purse

HALF = pp.ZeroConcentratedDP(0.5)
HALF_PURSE = Purse(5 * 10**11, "zcdp")


def rows(n=1000, d=5, m=1, seed=0):
    """(public, private) standard normal rows."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((m, d)), generator.standard_normal((n, d))


def fit(public, private, budget=HALF, seed=1, **options):
    return pp.estimate_mean(public, pp.Curator.simulation(private, budget, seed), **options)


def errors(n, d, runs, m=1):
    """Errors and standard errors of `runs` estimates of a zero mean: two (runs, d) arrays."""
    found, told = [], []
    for seed in range(runs):
        public, private = rows(n, d, m, seed)
        estimate = fit(public, private, seed=seed)
        parts = estimate.standard_errors["mean"]
        found.append(estimate.mean)
        told.append(np.hypot(parts["sampling"], parts["privacy"]))
    return np.array(found), np.array(told)


# --- how good it is ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_small_table_reaches_its_ratio():
    """d 50, n 200, where public data matters most: at most 1.55 times the non-private error (100 trials, 1 s)."""
    row = mean_row("50-200", "zcdp:0.5", 100, "two-step")
    assert 1.0 < row["ratio"] <= row["target"] == 1.55


@pytest.mark.slow
@pytest.mark.parametrize("name", MEAN_SETTINGS)
def test_every_setting_reaches_its_ratio(name):
    """Each target, within the one per cent to which 100 trials tell a ratio, and at most two false alarms."""
    row = mean_row(name, "zcdp:0.5", 100, "two-step")
    assert 0.95 < row["ratio"] <= 1.01 * row["target"]
    assert row["flagged"] <= 2


@pytest.mark.slow
def test_system_noise_is_as_good_as_simulated_noise():
    """One row of the table with a real curator, a ledger and OpenDP's noise, beside the same rows in simulation.

    The ratio has a standard deviation of 0.007 over the noise, and would be 0.08 larger with a lost root of two.
    """
    real, row = (mean_row("50-1e3", "zcdp:0.5", 100, "two-step", real=real) for real in (True, False))
    assert row["ratio"] <= row["target"]
    assert real["ratio"] == pytest.approx(row["ratio"], abs=0.045)


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "d", "m"),
    [pytest.param(200, 10, 1, marks=pytest.mark.slow), (1000, 3, 1), pytest.param(100, 20, 50, marks=pytest.mark.slow)],
)
def test_predicted_and_told_errors_are_those_measured(n, d, m):
    """The plan's root mean square error is within 15%, and 95% intervals cover 92% to 98% (100 trials each, 1 s)."""
    found, told = errors(n, d, 100, m)
    predicted = MeanPlan.of(HALF_PURSE, n, d, m).error
    assert np.sqrt(np.mean(found**2)) == pytest.approx(predicted, rel=0.15)
    assert 0.92 <= np.mean(np.abs(found) <= 1.959964 * told) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "m"), [(200, 50, 1), (1000, 10, 1), (500, 1, 1), (300, 5, 300)])
def test_intervals_cover_over_many_trials(n, d, m):
    """95% intervals cover between 93.5% and 96.5% of at least 4,000 coordinates."""
    found, told = errors(n, d, max(4000 // d, 200), m)
    assert 0.935 <= np.mean(np.abs(found) <= 1.959964 * told) <= 0.965


@pytest.mark.slow
def test_the_privacy_part_of_the_error_is_that_of_the_noise():
    """The same rows under other noise: deviations are the told privacy errors (chi-square, 150 runs)."""
    public, private = rows(300, 10)
    found = np.array([fit(public, private, seed=seed).mean for seed in range(150)])
    told = fit(public, private).standard_errors["mean"]["privacy"][0]
    # 1,500 coordinates less 10 means: 4 standard deviations of the variance's ratio
    assert found.var(axis=0, ddof=1).mean() / told**2 == pytest.approx(1.0, abs=4 * math.sqrt(2 / 1490))


@pytest.mark.slow
def test_many_public_rows_count_for_what_they_know():
    """With as many public as private rows the estimate beats the private mean alone."""
    ours, best = [], []
    for seed in range(60):
        public, private = rows(200, 10, 200, seed)
        ours.append(np.linalg.norm(fit(public, private, seed=seed).mean))
        best.append(np.linalg.norm(private.mean(axis=0)))
    assert trim_mean(ours, 0.1) < 0.9 * trim_mean(best, 0.1)


# --- any units ---------------------------------------------------------------------------------------------


def test_units_and_origin_do_not_matter():
    """Scaling columns by powers of ten and moving them by 1e6 deviations moves the estimate with them."""
    public, private = rows(d=4)
    scale, shift = np.array([1e-6, 1.0, 10.0, 1e6]), 1e6
    plain = fit(public, private)
    moved = fit((public + shift) * scale, (private + shift) * scale, covariance=np.diag(scale**2))
    assert moved.mean / scale - shift == pytest.approx(plain.mean, abs=1e-6)
    for part in ("sampling", "privacy"):
        told = np.array(moved.standard_errors["mean"][part]) / scale
        assert told == pytest.approx(np.array(plain.standard_errors["mean"][part]), rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("condition", [1.0, 1e8])
def test_a_known_covariance_is_undone(condition):
    """Random axes up to condition 1e8: the error in its own norm is at most 1.12 times the non-private one."""
    generator = np.random.default_rng(5)
    d, ours, best = 10, [], []
    axes, _ = np.linalg.qr(generator.standard_normal((d, d)))
    root = axes * np.geomspace(1, math.sqrt(condition), d)
    for seed in range(40):
        public, private = rows(1000, d, 1, seed)
        estimate = fit(public @ root.T + 3, private @ root.T + 3, seed=seed, covariance=root @ root.T)
        ours.append(np.linalg.norm(np.linalg.solve(root, estimate.mean - 3)))
        best.append(np.linalg.norm(private.mean(axis=0)))
    assert trim_mean(ours, 0.1) / trim_mean(best, 0.1) <= 1.12


# --- when to mistrust it -----------------------------------------------------------------------------------


def told(estimate):
    """Errors of each coordinate, all parts together."""
    return np.sqrt(sum(np.square(part) for part in estimate.standard_errors["mean"].values()))


def test_public_rows_from_far_away_are_followed():
    """A public row 30 deviations off in each column: the second step clips where the rows are, and errors say so.

    It is told, for the answer is noisier than from public rows of the same law.
    """
    public, private = rows(d=10)
    assert fit(public, private).converged
    off = fit(public + 30, private)
    assert np.abs(off.mean / told(off)).max() < 4
    assert off.diagnostics["distance_after_step_1"] > 50
    assert not off.converged
    assert any("takes more noise to reach" in warning for warning in off.diagnostics["warnings"])


def test_public_rows_out_of_reach_are_flagged():
    """A public row 1,000 deviations off in each column is too far for two steps."""
    public, private = rows(d=10)
    off = fit(public + 1000, private)
    assert not off.converged
    assert any("further out than can be followed" in warning for warning in off.diagnostics["warnings"])


@pytest.mark.slow
def test_intervals_cover_rows_of_any_law_or_are_flagged():
    """Skewed, long-tailed, whole-number and contaminated columns: coverage of 85% to be expected at 20 draws each."""
    laws = {
        "lognormal": lambda generator, shape: (np.exp(generator.standard_normal(shape)) - 1.6487) / 2.1612,
        "t3": lambda generator, shape: generator.standard_t(3, shape) / math.sqrt(3),
        "whole": lambda generator, shape: (generator.poisson(0.5, shape) - 0.5) / math.sqrt(0.5),
        "odd": lambda generator, shape: (
            np.where(
                generator.random(shape) < 0.01, 15 * generator.standard_normal(shape), generator.standard_normal(shape)
            )
            / math.sqrt(3.24)
        ),
    }
    for name, draw in laws.items():
        covered, flagged = [], []
        for seed in range(20):
            generator = np.random.default_rng([seed, 5])
            estimate = fit(draw(generator, (3, 2)), draw(generator, (5000, 2)), seed=seed, force=True)
            covered.extend(np.abs(estimate.mean) < 1.96 * told(estimate))
            flagged.append(not estimate.converged)
        assert np.mean(covered) >= 0.8 or np.mean(flagged) >= 0.9, name
        if name == "whole":
            assert np.mean(flagged) <= 0.1


def test_a_covariance_that_the_private_rows_contradict_is_flagged():
    """One public row tells nothing of the spread; private rows of three times the known deviation do."""
    public, private = rows(5000)
    assert not fit(public, 3 * private).converged


def test_a_covariance_that_nobody_gave_takes_the_scale_of_the_rows():
    """Rows of 1.25 times the deviation, by public rows that do not rule out 1: errors by the measured scale, no flag.

    It is flagged where the identity was given, and where too few public rows tell whether columns differ.
    """
    public, private = rows(5000, 2, 30)
    found = fit(public, 1.25 * private)
    assert found.converged
    assert np.array(found.standard_errors["mean"]["sampling"]) == pytest.approx(1.25 / math.sqrt(5000), rel=0.1)
    assert not fit(public, 1.25 * private, covariance="identity").converged
    assert not fit(public[:5], 1.25 * private).converged


@pytest.mark.parametrize("seed", [187027, 187150, 187165])
def test_rows_nearer_to_each_other_than_the_public_ones_are_no_alarm(seed):
    """Small counts, of which few public rows show variances too large to go without: the errors are too large, too."""
    assert not intervals.measured(intervals.Task("mean", "poisson-0.5", 500, 5, 30, "zcdp:0.5", seed))["flagged"]
    rows = np.random.default_rng(seed).normal(size=(500, 5)) * 0.6
    told = pp.estimate_mean(rows[:5], pp.Curator.simulation(rows, "zcdp:0.5", seed), covariance=np.eye(5))
    assert not told.converged


@pytest.mark.slow
def test_public_rows_a_little_off_do_no_harm():
    """A public mean three deviations off, known from 50 rows, would halve the error if it were right."""
    ours, best = [], []
    for seed in range(40):
        public, private = rows(1000, 10, 50, seed)
        public[:, 0] += 3
        ours.append(np.linalg.norm(fit(public, private, seed=seed).mean))
        best.append(np.linalg.norm(private.mean(axis=0)))
    assert trim_mean(ours, 0.1) / trim_mean(best, 0.1) < 1.25


def test_a_covariance_that_public_rows_contradict_is_refused():
    """Rows of variance 9 under `identity`: refused with nothing spent, unless forced; by default it is learnt."""
    public, private = rows(m=50)
    assert fit(public, private).diagnostics["covariance"] == "identity"
    curator = pp.Curator.simulation(3 * private, HALF, seed=1)
    with pytest.raises(InvalidInput, match=r"times the variance (of column \S+ )?that the covariance says.*unknown"):
        pp.estimate_mean(3 * public, curator, covariance="identity")
    assert not curator.statement().charges
    assert not fit(3 * public, 3 * private, covariance="identity", force=True).converged
    assert fit(3 * public, 3 * private).diagnostics["covariance"] == "unknown"


def test_what_is_clipped_of_skewed_rows_is_in_the_errors():
    """Counts of 500 lognormal rows: six per cent lie beyond what noise shows, on one side, and move the mean.

    The counts have no noise here; some 26 rows beyond two standard deviations are worth .06 of one.
    """
    inner = (50.0, 105, 130, 130, 36, 15, 11, 9, 6, 4)
    ends = edges(1, 0.1)
    found = Lengths(ends, (*inner, *[0.0] * (len(ends) + 1 - len(inner))), 6.3, 500, 500.0)
    clip = choose_clip(found, 1, 0.1, noise=0.0075)
    beyond = np.maximum(found.middles - clip.radius, 0) @ np.array(found.counts) / 500
    assert not clip.gaussian
    assert beyond < 2 * np.hypot(clip.loss.coordinate, 0.0075 * clip.radius)


def test_correlations_of_public_rows_contradict_the_identity():
    """Columns of variance 1 that are nearly one: the covariance is learnt, and the mean is known across it, too."""
    shared, own = np.random.default_rng(1).standard_normal((2, 5030, 3))
    both = 0.999 * shared[:, :1] + np.sqrt(1 - 0.999**2) * own
    with pytest.raises(InvalidInput, match=r"of column x[12], given those before it, that the covariance says"):
        fit(both[:30], both[30:], covariance="identity")
    estimate = fit(both[:30], both[30:])
    assert estimate.diagnostics["covariance"] == "unknown"
    assert np.abs(np.diff(estimate.mean - both[30:].mean(axis=0))).max() < 0.01
    known = 0.999**2 + (1 - 0.999**2) * np.eye(3)
    assert fit(both[:30], both[30:], covariance=known).diagnostics["covariance"] == "known"


@pytest.mark.long
def test_rows_far_out_on_one_side_widen_the_interval_of_their_column():
    """One row in a hundred lies 20 away in one column: its errors tell of that, and hold it; the others' stay small."""
    held, wider = [], []
    for seed in range(30):
        public, private = rows(5000, 5, 30, seed)
        private[:50, 0] += 20
        estimate = fit(public, private, seed=seed, covariance="identity")
        assert estimate.diagnostics["rows"].startswith("not Gaussian")
        sds = np.sqrt(sum(np.square(part) for part in estimate.standard_errors["mean"].values()))
        held.append(np.abs(estimate.mean - private.mean(axis=0))[0] < 2 * sds[0])
        wider.append(sds[0] / sds[1:].mean())
    assert np.mean(held) >= 0.9
    assert np.median(wider) > 1.4
    assert np.quantile(wider, 0.1) > 1.1


def test_few_public_rows_that_contradict_the_identity_let_a_covariance_be_learnt():
    """Fewer than columns, they show how wide each is."""
    public, private = rows(m=4)
    found = fit(5 * public, 5 * private)
    assert found.converged
    errors = np.sqrt(sum(np.square(np.array(each)) for each in found.standard_errors["mean"].values()))
    assert (np.abs(found.mean - 5 * private.mean(axis=0)) < 3 * errors).all()


@pytest.mark.long
@pytest.mark.parametrize("scale", [1.0, 1.25], ids=["Gaussian", "wider"])
def test_rows_with_missing_values_are_left_out_and_said_to_be(scale):
    """Half of the rows, and one public row: answers were pulled back half the way, twice, and errors did not say so."""
    errors = []
    for seed in range(20):
        public, private = rows(5000, 3, 1, seed)
        private[::2, 1] = np.nan
        estimate = fit(public + 100, scale * private + 100, seed=seed)
        errors.append((estimate.mean - 100) / told(estimate))
        assert any("of the private rows have a missing" in text for text in estimate.diagnostics["warnings"])
    assert np.sqrt(np.mean(np.square(errors))) < 1.4


def test_noise_in_few_rows_is_no_sign_that_none_are_whole():
    """Where noise could hide all of them it says nothing either way."""
    counts, sd = (40.0, 30.0, 10.0), 40.0
    assert whole_rows(Size(300), np.array(counts), sd) == 300
    assert not Lengths((1.0, 2.0), counts, sd, 300, 300.0).none
    assert Lengths((1.0, 2.0), counts, sd, 3000, whole_rows(Size(3000), np.array(counts), sd)).none


# --- what it spends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["zcdp:0.5", "approx:1,1e-6"])
def test_a_run_charges_what_was_rehearsed_and_no_more_than_its_budget(budget):
    """Noise scales of the run are those of the plan, and the plan uses the whole share."""
    public, private = rows()
    curator = pp.Curator.simulation(private, pp.parse_budget(budget), seed=1)
    estimate = pp.estimate_mean(public, curator)
    charged = {line.label: line.noise_scale for line in curator.statement().charges}
    labels = ["mean/count", "mean/step-1", "mean/lengths", "mean/step-2"]
    assert list(charged) == labels == list(estimate.diagnostics["shares"])
    if budget == "zcdp:0.5":
        plan = MeanPlan.of(HALF_PURSE, 1000, 5, 1)
        assert sum(ask.price for ask in plan.asks) == 1
        planned = [(q, ask) for q, ask in zip(plan.questions, plan.asks, strict=True)]
        assert charged == {
            ask.label: tuple(part.noise_scale for part in question.parts.values()) for question, ask in planned
        }
        assert all(Fraction(999, 1000) * ask.price < q.squared_distance <= ask.price for q, ask in planned)


@pytest.mark.parametrize("text", ["zcdp:1e-12", "approx:24,1e-6"])
def test_a_budget_that_some_step_cannot_use_is_refused_with_nothing_spent(text):
    """Shares below a unit, failure terms past the reserve."""
    public, private = rows()
    curator = pp.Curator.simulation(private, pp.parse_budget(text), seed=1)
    with pytest.raises(InvalidInput, match=r"too small|failure terms"):
        pp.estimate_mean(public, curator, force=True)
    assert not curator.statement().charges


@pytest.mark.long
def test_a_run_that_would_tell_nothing_is_refused_with_what_would_do():
    """Below the line: refused with nothing spent; with the rows or the budget it names, accepted; forced, flagged."""
    public, private = rows(30, 20)
    budget = pp.ZeroConcentratedDP(0.01)
    curator = pp.Curator.simulation(private, budget, seed=1)
    with pytest.raises(InvalidInput, match="would add little") as refused:
        pp.estimate_mean(public, curator)
    assert not curator.statement().charges
    told = re.search(r"About (\d+) private rows or a budget worth zcdp:(\S+) would do", str(refused.value))
    assert fit(*rows(int(told[1]), 20), budget).converged
    assert fit(public, private, pp.ZeroConcentratedDP(float(told[2]))).converged
    assert not pp.estimate_mean(public, curator, force=True).converged


def test_a_part_of_the_budget_leaves_the_rest():
    """A second method may spend what the mean left, and not more."""
    public, private = rows()
    curator = pp.Curator.simulation(private, HALF, seed=1)
    pp.estimate_mean(public, curator, budget=pp.ZeroConcentratedDP(0.05))
    with pytest.raises(BudgetExceeded):
        curator.begin("other", {}, "0" * 64, pp.ZeroConcentratedDP(0.46))
    curator.begin("other", {}, "0" * 64, pp.ZeroConcentratedDP(0.45))


def test_the_same_run_gives_the_same_bits_and_costs_nothing_again(tmp_path):
    """Through a real ledger: the second fit replays; other settings under the same id are refused."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    public, private = rows(d=3)
    path = tmp_path / "private.parquet"
    pq.write_table(pa.table({f"x{i}": private[:, i] for i in range(3)}), path)
    table = pp.PrivateTable.open(path, ["x0", "x1", "x2"])
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("d", budget=pp.ZeroConcentratedDP(1.0), table=table, unit="one row")

        def again(**options):
            with pp.Curator(table, ledger, "d", HALF, "run") as curator:
                return pp.estimate_mean(public, curator, **options)

        first, second = again(), again()
        assert first.mean.tobytes() == second.mean.tobytes()
        assert first.privacy == second.privacy
        assert first.provenance["dataset"] == "d"
        assert first.method == "two-step"
        with pytest.raises(SpecMismatch):
            again(covariance=2 * np.eye(3))
        assert len(first.privacy["charges"]) == 4


def test_steps_run_through_the_runner_and_give_the_same_bits():
    """Steps are run in order, those that repeat say which they are, and whoever runs them changes nothing."""
    seen = []

    def around(step, place, /, *args):
        seen.append(step.at(place))
        return step(*args)

    public, private = rows()
    wrapped = fit(public, private, runner=around)
    assert seen == [
        "count of whole rows",
        *("clipped mean 1 of 2", "lengths of rows", "choose the clip", "clipped mean 2 of 2", "combine means"),
    ]
    assert wrapped.mean.tobytes() == fit(public, private).mean.tobytes()


def test_a_real_curator_estimates_the_mean():
    """Once through Parquet, ledger and the system's noise."""
    public, private = rows(1000, 5)
    estimate = real_run(public, private, "zcdp:0.5", pp.estimate_mean)
    assert np.linalg.norm(estimate.mean) < 0.5
    assert "simulation" not in estimate.method


# --- bad input ---------------------------------------------------------------------------------------------

HALF_DEFINITE = np.ones((5, 5))
LOPSIDED = np.eye(5) + np.triu(np.full((5, 5), 0.1), 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"covariance": "unknown", "method": "coinpress"}, "needs a known covariance"),
        ({"covariance": "diagonal"}, '"unknown" or a symmetric'),
        ({"covariance": np.eye(4)}, r"shape \(4, 4\), but 5 columns need \(5, 5\)"),
        ({"covariance": [1.0, 2.0]}, "shape"),
        ({"covariance": [[1.0], [2.0, 3.0]]}, "symmetric positive definite"),
        ({"covariance": None}, "shape|must be"),
        ({"covariance": HALF_DEFINITE}, "not positive definite"),
        ({"covariance": -np.eye(5)}, "not positive definite"),
        ({"covariance": LOPSIDED}, "not symmetric"),
        ({"covariance": np.diag([1, 1, 1, 1, np.nan])}, "missing or infinite"),
        ({"method": "median"}, "method must be one of two-step"),
        ({"rounds": 3}, "options of method coinpress"),
        ({"covariance": "unknown", "rounds": 3}, "options of method coinpress"),
        ({"covariance": "unknown", "ball": (np.zeros(5), 9.0)}, "options of method coinpress"),
        ({"method": "coinpress", "rounds": 0}, "from 1 to 50"),
        ({"method": "coinpress", "rounds": 2.5}, "whole number"),
        ({"method": "coinpress", "ball": (np.zeros(4), 1.0)}, "5 finite numbers"),
        ({"method": "coinpress", "ball": (np.zeros(5), -1.0)}, "positive radius"),
        ({"method": "coinpress", "ball": 3.0}, "ball must be"),
    ],
)
def test_bad_options_are_told_before_anything_is_spent(options, told):
    """One line that says what is wrong; the run is not even begun."""
    public, private = rows()
    curator = pp.Curator.simulation(private, HALF, seed=1)
    with pytest.raises(InvalidInput, match=told):
        pp.estimate_mean(public, curator, **options)
    assert not curator.statement().charges
    pp.estimate_mean(public, curator)  # the method's name is still free


@pytest.mark.parametrize(
    ("public", "told"),
    [(np.ones((1, 4)), "4 columns"), (np.full((2, 5), 1e308), "too large"), (np.full((1, 5), np.nan), "finite value")],
)
def test_bad_public_rows_are_told(public, told):
    """Wrong width, values that cannot be added, no usable row."""
    with pytest.raises(InvalidInput, match=told):
        fit(public, rows()[1])


def test_an_unknown_covariance_is_learnt_with_the_mean():
    """Uneven, correlated columns far from the origin; the last question tells more of the mean than a Gaussian's."""
    generator = np.random.default_rng(4)
    colour = np.array([[3.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.0, 5.0, 40.0]])
    private, public = (generator.standard_normal((n, 3)) @ colour.T + [1e3, -5.0, 0.0] for n in (5000, 6))
    curator = pp.Curator.simulation(private, pp.ZeroConcentratedDP("0.5"), 1)
    found = pp.estimate_mean(public, curator, covariance="unknown")
    assert found.converged
    error, told = found.mean - private.mean(axis=0), found.standard_errors["mean"]
    assert (np.abs(error) < 5 * np.array(told["privacy"])).all()
    with pytest.raises(SpecMismatch):
        pp.estimate_gaussian(public, curator)
    both = pp.estimate_gaussian(public, pp.Curator.simulation(private, pp.ZeroConcentratedDP("0.5"), 1))
    assert (np.array(told["privacy"]) < 0.9 * np.array(both.standard_errors["mean"]["privacy"])).all()


@pytest.mark.parametrize("seed", [860057, 860070])
def test_a_mean_is_not_flagged_for_the_tail_of_a_variance(seed):
    """Of 500 rows the variance may hang on a tail that noise hides, and the mean not: it is judged by itself."""
    of_both, of_mean = (
        intervals.measured(intervals.Task(estimator, "poisson-20", 500, 1, 30, "zcdp:0.5", seed))
        for estimator in ("gaussian", "mean")
    )
    assert all(of_both["variances"]["covered"]) or of_both["flagged"]
    assert not of_mean["flagged"]
    assert all(of_mean["means"]["covered"])


def test_the_variance_that_nobody_gave_is_that_of_the_rows_where_they_show_a_larger_one():
    """Rows of variance 1.5 that 500 noisy lengths take for Gaussian ones of variance 1; one that was given is kept."""
    generator, told = np.random.default_rng(6), []
    for seed in range(20):
        public, private = (math.sqrt(1.5) * generator.standard_normal((n, 1)) for n in (5, 500))
        for covariance in ("auto", "identity"):
            curator = pp.Curator.simulation(private, pp.ZeroConcentratedDP("0.5"), seed)
            found = pp.estimate_mean(public, curator, covariance=covariance)
            if found.diagnostics["rows"].startswith("as long as Gaussian"):
                told.append((covariance, float(found.standard_errors["mean"]["sampling"][0]) * math.sqrt(500)))
    own, given = ([error for name, error in told if name == wanted] for wanted in ("auto", "identity"))
    assert min(own) > 0.95
    assert np.mean(own) > 1.1
    assert max(given) < 1.02
