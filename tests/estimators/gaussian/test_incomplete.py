"""Rows that lack cells, used by the cells that they have: near EM where dropping them is wrong, and priced as ever."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.arithmetic import row_by_row
from pubpriv.data.frames import Frame
from pubpriv.data.questions import CompletedGram, LiftedGram
from pubpriv.data.regions import Everything, View
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators.gaussian._degenerate_columns import examine
from pubpriv.estimators.gaussian._incomplete_rounds import incomplete_plan
from pubpriv.estimators.gaussian._incomplete_table import incomplete_table_plan
from pubpriv.estimators.gaussian._information import Information, completed_clips
from pubpriv.estimators.gaussian._pattern_law import PatternLaw, law_of, listed_patterns
from pubpriv.estimators.gaussian._plan import learner_plan, table_plan
from pubpriv.privacy.budgets import Purse, parse_budget

CORRELATED = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
PUBLIC = np.random.default_rng(99).multivariate_normal(np.zeros(3), CORRELATED, 60)


def rows_of(n, seed, by_column=False, share=0.3):
    """Rows (n, 3); cells of two columns are missing at random, or where the first column is high."""
    rng = np.random.default_rng([n, seed])
    rows = rng.multivariate_normal(np.zeros(3), CORRELATED, n, method="cholesky")
    odds = 1 / (1 + np.exp(-(1.5 * rows[:, :1] - 1))) if by_column else np.full((n, 1), share)
    rows[:, 1:][rng.random((n, 2)) < odds] = np.nan
    return rows


def estimate(rows, seed=1, target="gaussian", **settings):
    """A simulated release of the target gaussian, or of another."""
    curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=seed)
    return pp.estimate_gaussian(PUBLIC, curator, target=target, **settings), curator


def em(rows, steps=60):
    """The maximum likelihood estimate of incomplete rows."""
    mean, covariance = np.zeros(3), np.eye(3)
    groups = [(mask, rows[(np.isnan(rows) == mask).all(axis=1)]) for mask in MASKS]
    for _ in range(steps):
        first, second = np.zeros(3), np.zeros((3, 3))
        for lacking, own in groups:
            seen = ~np.array(lacking)
            slope = covariance[:, seen] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
            filled = mean + (own[:, seen] - mean[seen]) @ slope.T
            first += filled.sum(axis=0)
            second += filled.T @ filled + len(own) * (covariance - slope @ covariance[seen])
        mean = first / len(rows)
        covariance = second / len(rows) - np.outer(mean, mean)
    return mean, covariance


MASKS = [(False, False, False), (False, True, False), (False, False, True), (False, True, True)]


def errors_of(estimate):
    """Standard errors of means and covariances, all sources together."""
    return [
        np.sqrt(sum(np.array(v) ** 2 for v in estimate.standard_errors[n].values())) for n in ("mean", "covariance")
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("target", "by_column"),
    [("auto", True), *(pytest.param("gaussian", by_column, marks=pytest.mark.slow) for by_column in (False, True))],
)
def test_releases_are_near_em_and_their_intervals_hold(target, by_column):
    """Cells missing at random, or by another column, where the mean of whole rows is dozens of its errors off."""
    off, own, best = [], [], []
    for seed in range(1000, 1006):
        rows = rows_of(5000, seed, by_column)
        found, _ = estimate(rows, seed, target, missing="estimate")
        assert found.converged
        mean_error, covariance_error = errors_of(found)
        off += [*(found.mean / mean_error), *((found.covariance - CORRELATED) / covariance_error)[np.triu_indices(3)]]
        reached, mean = np.array(found.covariance) - CORRELATED, np.array(found.mean)
        own.append((mean @ mean, (reached**2).sum()))
        mean, covariance = em(rows)
        best.append((mean @ mean, ((covariance - CORRELATED) ** 2).sum()))
    assert (np.sqrt(np.mean(own, axis=0) / np.mean(best, axis=0)) < 1.4).all()
    assert np.sqrt(np.mean(np.square(off))) < 1.3  # of errors as they are stated
    if by_column:
        dropped, _ = estimate(rows_of(5000, 0, by_column), target=target, missing="drop")
        assert np.abs(dropped.mean / errors_of(dropped)[0]).max() > 5


@pytest.mark.long
@pytest.mark.parametrize("target", ["gaussian", "auto", "moments"])
def test_tables_without_missing_cells_are_asked_as_ever(target):
    """The same questions at the same prices, and the same bits."""
    rows = np.random.default_rng(3).multivariate_normal(np.zeros(3), CORRELATED, 3000)
    (dropped, first), (estimated, second) = (estimate(rows, 1, target, missing=each) for each in ("drop", "estimate"))
    charges = [[(c.label, c.question, c.cost) for c in curator.statement().charges] for curator in (first, second)]
    assert charges[0] == charges[1]
    assert (dropped.mean == estimated.mean).all()
    assert (dropped.covariance == estimated.covariance).all()
    assert dropped.diagnostics == estimated.diagnostics


@pytest.mark.long
def test_rows_of_any_law_are_estimated_where_cells_are_missing_at_random():
    """Squares of Gaussian columns: means, variances and covariances of 1, 2 and 1/2 times that, and long tails."""
    off, errors = [], {"estimate": [], "drop": []}
    truth = np.ones(3), 2 * CORRELATED**2
    for seed in range(4):
        rng = np.random.default_rng([9, seed])
        rows = rng.multivariate_normal(np.zeros(3), CORRELATED, 12_060, method="cholesky") ** 2
        public, rows = rows[:60], rows[60:]
        rows[rng.random(rows.shape) < 0.3] = np.nan
        for missing, own in errors.items():
            found = pp.estimate_gaussian(public, pp.Curator.simulation(rows, "zcdp:1", seed=seed), missing=missing)
            own.append(((found.covariance - truth[1]) ** 2).sum())
            if missing == "estimate":
                mean_error, covariance_error = errors_of(found)
                off += [*((found.mean - 1) / mean_error)]
                off += [*((found.covariance - truth[1]) / covariance_error)[np.triu_indices(3)]]
    assert np.mean(np.abs(off) < 1.96) > 0.88
    assert np.mean(errors["estimate"]) < 0.9 * np.mean(errors["drop"])


def test_rows_that_lack_cells_are_used_unless_that_is_not_measured():
    """By `auto`: as if asked to; with many columns, a pure budget or degenerate columns they are left out."""
    rows = rows_of(5000, 1)
    plain, asked = (
        estimate(rows, target="auto", missing="auto")[0],
        estimate(rows, target="auto", missing="estimate")[0],
    )
    assert (plain.covariance == asked.covariance).all()
    assert "missing" in plain.diagnostics
    pure = pp.estimate_gaussian(PUBLIC, pp.Curator.simulation(rows, "pure:6", seed=1), missing="auto")
    assert any("are left out" in warning for warning in pure.diagnostics["warnings"])
    rare, public = np.c_[rows, np.zeros(5000)], np.c_[PUBLIC, np.zeros(60)]
    found = pp.estimate_gaussian(public, pp.Curator.simulation(rare, "zcdp:0.5", seed=1), missing="auto")
    assert any("are left out" in warning for warning in found.diagnostics["warnings"])
    with pytest.raises(InvalidInput, match="show the spread of every column"):
        pp.estimate_gaussian(public, pp.Curator.simulation(rare, "zcdp:0.5", seed=1), missing="estimate")


def test_a_run_whose_rows_have_no_cells_ends_before_the_rounds():
    """All but twenty rows are empty: what would be spent on them stays."""
    rows = rows_of(5000, 3)
    rows[20:] = np.nan
    curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=1)
    with pytest.raises(NoAnswer, match="have no cell"):
        pp.estimate_gaussian(PUBLIC, curator, missing="auto")
    assert len(curator.statement().charges) == 3


def test_both_plans_cost_the_same_and_begin_alike():
    """Which of them follows is decided by the answer to the first question, which both ask at one price."""
    purse = Purse.of(parse_budget("zcdp:0.5"))
    plain, incomplete = learner_plan(purse, 5000, 3), incomplete_plan(purse, 5000, 3)
    assert plain.asks[0] == incomplete.asks[0]
    assert sum(ask.price for ask in plain.asks) == sum(ask.price for ask in incomplete.asks)
    for path in incomplete.paths:
        assert sum(ask.price for ask in path.asks) == sum(ask.price for ask in plain.asks)
    layout = examine(pp.PublicTable.open(PUBLIC))
    plain, incomplete = table_plan(purse, 5000, layout, "auto"), incomplete_table_plan(purse, 5000, layout)
    assert plain.asks[0] == incomplete.asks[0]
    for path in incomplete.paths:
        assert sum(ask.price for ask in path.asks) == sum(ask.price for ask in plain.asks)


def test_a_release_says_what_was_done_and_of_how_many_rows_each_mean_is_worth():
    """Shares of missing cells, effective rows, and what no number can show."""
    found, curator = estimate(rows_of(5000, 1), missing="estimate")
    columns = found.diagnostics["missing"]["columns"]
    assert [*columns] == ["x0", "x1", "x2"]
    assert columns["x0"]["share"] == pytest.approx(0, abs=0.02)
    assert columns["x1"]["share"] == pytest.approx(0.3, abs=0.04)
    assert 3500 < columns["x1"]["effective_rows"] < 4500 < columns["x0"]["effective_rows"] <= 5000
    assert any("no number here can show" in warning for warning in found.diagnostics["warnings"])
    assert {c.question for c in curator.statement().charges} >= {"CompletedGram", "JointCounts"}


def test_rows_without_any_cell_are_left_out_and_not_divided_by():
    """A tenth of the rows are empty: variances of the others are not a tenth smaller."""
    rows = rows_of(5000, 2)
    rows[:500] = np.nan
    found, _ = estimate(rows, missing="estimate")
    assert np.abs((np.diag(found.covariance) - 1) / np.diag(errors_of(found)[1])).max() < 3


def test_two_columns_that_no_row_has_together_are_named():
    """Their covariance is a guess, and the run says so."""
    rows = np.random.default_rng(5).multivariate_normal(np.zeros(3), CORRELATED, 5000)
    rows[:2500, 1], rows[2500:, 2] = np.nan, np.nan
    found, _ = estimate(rows, missing="estimate")
    (unseen,) = [finding for finding in found.findings if finding.code == "unseen-pair"]
    assert unseen.columns == ("x1", "x2")
    assert not found.converged


@pytest.mark.parametrize("target", ["gaussian", "auto"])
def test_a_column_that_no_private_row_has_ends_the_run_and_is_named(target):
    """Before the rounds; if forced, its numbers are doubtful, and those of other columns are right."""
    rows = rows_of(5000, 4)
    rows[:, 2] = np.nan
    curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=1)
    with pytest.raises(NoAnswer, match="if any private row has x2, it is too few"):
        pp.estimate_gaussian(PUBLIC, curator, target=target, missing="auto")
    assert len(curator.statement().charges) == 3
    found, _ = estimate(rows, target=target, force=True, missing="auto")
    assert not found.converged
    assert [finding.columns for finding in found.findings if finding.code == "unseen-pair"] == [("x2",)]
    assert np.abs(found.mean[:2] / errors_of(found)[0][:2]).max() < 3


@pytest.mark.parametrize(("shift", "scale"), [(10.0, 3.0), (0.0, 0.1)])
def test_rounds_find_rows_that_public_rows_are_far_from(shift, scale):
    """Public rows of another place and scale: the rounds go there by completed rows."""
    public = shift + scale * PUBLIC[:10]
    curator = pp.Curator.simulation(rows_of(20_000, 6, by_column=True), "zcdp:0.5", seed=1)
    found = pp.estimate_gaussian(public, curator, target="gaussian", missing="estimate")
    assert found.converged
    assert np.abs(found.mean / errors_of(found)[0]).max() < 3.5
    assert np.abs((found.covariance - CORRELATED) / errors_of(found)[1]).max() < 4


def test_a_mean_is_estimated_likewise():
    """By a learnt covariance, which a plain call takes; with a known covariance it is refused."""
    rows = rows_of(5000, 3, by_column=True)

    def mean(**settings):
        return pp.estimate_mean(PUBLIC, pp.Curator.simulation(rows, "zcdp:0.5", seed=1), **settings)

    found = mean(missing="estimate")
    assert (found.mean == mean(covariance="unknown", missing="auto").mean).all()
    assert np.abs(found.mean / np.hypot(*list(found.standard_errors["mean"].values())[:2])).max() < 3
    assert found.diagnostics["missing"]["columns"]["x1"]["share"] > 0.2
    with pytest.raises(InvalidInput, match="covariance=unknown"):
        mean(covariance="identity", missing="estimate")


def test_what_is_not_measured_yet_is_refused():
    """Other methods, pure budgets, groups, and many columns: before anything is spent."""
    rows = rows_of(3000, 1)
    curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=1)
    with pytest.raises(InvalidInput, match="method learner"):
        pp.estimate_gaussian(PUBLIC, curator, missing="estimate", target="gaussian", method="algorithm-2")
    with pytest.raises(InvalidInput, match="missing must be one of"):
        pp.estimate_gaussian(PUBLIC, curator, target="gaussian", missing="impute")
    pure = pp.Curator.simulation(rows, "pure:4", seed=1)
    with pytest.raises(InvalidInput, match="noise is Gaussian"):
        pp.estimate_gaussian(PUBLIC, pure, target="gaussian", missing="estimate")
    wide = np.random.default_rng(1).normal(size=(9000, 21))
    many = pp.Curator.simulation(wide[50:], "zcdp:9", seed=1)
    with pytest.raises(InvalidInput, match="at most 20 columns"):
        pp.estimate_gaussian(wide[:50], many, target="gaussian", missing="estimate")
    assert not curator.statement().charges


@pytest.mark.long
@pytest.mark.parametrize("d", [3, 12])
def test_the_law_of_patterns_follows_from_exact_counts(d):
    """Shares of columns are right, and those of patterns where they are listed or as the columns say."""
    rng, n = np.random.default_rng(d), 200_000
    lacking = rng.random((n, d)) < np.linspace(0.05, 0.35, d)
    lacking = lacking[~lacking.all(axis=1)]
    listed = listed_patterns(d)
    places = {pattern: place for place, pattern in enumerate(listed)}
    counts, numbers = np.zeros(len(listed) + d + 1), np.bincount(lacking.sum(axis=1), minlength=d + 1)
    for row in lacking:
        pattern = tuple(np.flatnonzero(row).tolist())
        counts[places.get(pattern, len(listed) + len(pattern))] += 1
    law = law_of(float(len(lacking)), 1.0, np.concatenate([counts, numbers, lacking.sum(axis=0)]), 1.0, d)
    has, shares = law.arrays
    assert shares.sum() == pytest.approx(1)
    assert law.columns == pytest.approx(lacking.mean(axis=0))
    assert shares @ ~has == pytest.approx(lacking.mean(axis=0), rel=0.2, abs=0.005)
    assert law.cells() == pytest.approx(
        np.bincount(d - lacking.sum(axis=1), minlength=d + 1)[1:] / len(lacking), abs=1e-3
    )


def test_information_is_what_simulated_rows_show():
    """Slopes, levels and variances of what completed and clipped rows add, against the question itself."""
    rng, n, radius = np.random.default_rng(0), 400_000, 2.0
    colour = np.linalg.cholesky(CORRELATED)
    masks = ((), (0,), (1, 2))
    law = PatternLaw(n, 0.0, masks, (0.5, 0.3, 0.2), (0.0,) * 3, 0.0)
    information = Information.of(law, colour, radius)
    frame = Frame.of(np.zeros(3), np.linalg.inv(colour))
    plain = LiftedGram(Everything(), (frame,), (radius,), (1 << 28, 1 << 34, 1 << 31))
    question = CompletedGram.of(plain, frame, *completed_clips(3, radius))
    delta, excess = np.array([0.05, -0.03, 0.02]), np.array([[0.06, 0.02, 0], [0.02, -0.05, 0.03], [0, 0.03, 0.02]])
    w = rng.multivariate_normal(delta, np.eye(3) + excess, n)
    rows = w @ colour.T
    for mask, own in zip(masks, np.split(np.arange(n), [n // 2, n * 8 // 10]), strict=True):
        rows[np.ix_(own, list(mask))] = np.nan
    totals = dict.fromkeys(question.parts, 0)
    with row_by_row():
        for block in np.split(rows, 100):
            for name, values in question.totals(View(np.ascontiguousarray(block.T))).items():
                totals[name] = totals[name] + values
    values = question.values({name: totals[name] * part.factor for name, part in question.parts.items()})
    moved, found = information.solved(values["sum"][0] / n, values["moment"][0] / n)
    assert moved == pytest.approx(delta, abs=0.012)
    assert found - np.outer(moved, moved) == pytest.approx(excess, abs=0.02)
