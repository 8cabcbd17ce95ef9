"""Without public rows: the columns are found wherever they lie, or there is no answer, and that is said."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.estimators.gaussian._forecast import NoPublicCase
from pubpriv.estimators.gaussian._no_public import Located, no_public_plan
from pubpriv.estimators.gaussian.declaration import GAUSSIAN
from pubpriv.estimators.gaussian.settings import GaussianSettings
from pubpriv.estimators.planning import make_plan
from pubpriv.privacy.budgets import Purse

FOUR = pp.ApproximateDP(4, "1e-6")


def far_away(seed, n, d):
    """(rows, mean, root of the covariance): scales from 1e-6 to 1e6, condition 1e3 besides, a thousand sds off."""
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.standard_normal((d, d)))[0]
    root = np.diag(10.0 ** random.uniform(-6, 6, d)) @ turn @ np.diag(np.geomspace(1, 1e3, d) ** 0.5)
    mean = root @ random.standard_normal(d) * 1e3
    return mean + random.standard_normal((n, d)) @ root.T, mean, root


def off(mean, covariance, truth, root):
    """(covariance, mean): errors where the law is standard."""
    whiten = np.linalg.inv(root)
    return np.linalg.norm(whiten @ covariance @ whiten.T - np.eye(len(mean))), np.linalg.norm(whiten @ (mean - truth))


@pytest.mark.long
@pytest.mark.parametrize("d", [1, 4])
def test_it_comes_close_to_the_non_private_estimate(d):
    """Wherever the columns lie; the median of five runs."""
    ratios = []
    for seed in range(5):
        rows, mean, root = far_away(seed, 5000, d)
        found = pp.estimate_gaussian(None, pp.Curator.simulation(rows, FOUR, seed), method="no-public")
        assert found.converged
        assert found.provenance["n_public"] == 0
        own = off(rows.mean(axis=0), np.cov(rows.T).reshape(d, d), mean, root)
        ratios.append(np.array(off(found.mean, found.covariance, mean, root)) / own)
    assert (np.median(ratios, axis=0) < 1.6).all()


def test_the_plan_is_what_is_asked_and_fills_the_budget():
    """Labels and prices; nothing depends on rows."""
    rows, _, _ = far_away(1, 3000, 2)
    curator = pp.Curator.simulation(rows, FOUR, 1)
    pp.estimate_gaussian(None, curator, method="no-public")
    plan = no_public_plan(Purse.of(FOUR), 3000, 2)
    charged = curator.statement().charges
    asked = [line.label for line in charged]
    assert asked == [ask.label for ask in plan.asks if ask.label in asked]  # rounds that had settled are left out
    priced = make_plan(NoPublicCase(2), 3000, FOUR)
    assert {step.label for step in priced.steps} >= set(asked)
    assert priced.feasible
    assert any("3 public rows" in note for note in priced.notes)
    assert 100 < priced.practical < 3000


def test_the_search_tells_all_widths_apart():
    """Eight answers lead to each of 255 widths, and to none of them, whatever the cells are."""
    ends = set()
    for least in range(256):
        located = Located.nowhere(1)
        for _ in range(8):
            middle = (located.low[0] + located.high[0]) // 2
            located = located.answered(np.array([middle >= least]), np.array([0.0]))
        assert located.low == located.high == (least,)
        ends.add(float(located.centers[0]))
    assert len(ends) == 256


def test_the_order_of_rows_makes_no_difference():
    """A sorted table has the same cells, and so the same search."""
    rows, _, _ = far_away(2, 4000, 2)
    told = []
    for table in (rows, rows[np.argsort(rows[:, 0])]):
        curator = pp.Curator.simulation(table, FOUR, 5)
        pp.estimate_gaussian(None, curator, method="no-public")
        asks = no_public_plan(Purse.of(FOUR), 4000, 2).searches
        # a replay: the question under each label is the one that was asked
        told.append([curator.release(asks[0].question, ask.label).values["cell"].tolist() for ask in asks])
    assert told[0] == told[1]


NOTHING = {
    "far apart": (lambda column: column * 1e100, "close together in x1"),
    "one value": (lambda column: np.where(np.arange(len(column)) % 2, 7.0, column), "same value in x1"),
}


@pytest.mark.parametrize("why", NOTHING)
def test_no_answer_is_said_and_costs_the_search_alone(why):
    """And the count before it. It follows from released answers, and the same run says the same again."""
    change, text = NOTHING[why]
    rows = np.random.default_rng(0).normal(3, 2, (4000, 2))
    rows[:, 1] = change(rows[:, 1])
    curator = pp.Curator.simulation(rows, FOUR, 0)
    for _ in range(2):
        with pytest.raises(NoAnswer, match=text):
            pp.estimate_gaussian(None, curator, method="no-public")
    assert [line.question for line in curator.statement().charges] == ["Counts", *["StableCells"] * 8]
    assert NoAnswer.exit_code == 4


def test_a_heap_of_about_a_quarter_is_said_and_not_followed():
    """Noise decides how wide its cell is: never a mean of 1e26 in another column."""
    told = []
    for seed in range(5):
        random = np.random.default_rng(3)
        costs = np.where(random.random(4000) < 0.26, 0.0, random.gamma(2, 50, 4000))
        curator = pp.Curator.simulation(np.c_[costs, random.normal(size=4000)], pp.ApproximateDP(1, "1e-6"), seed)
        try:
            found = pp.estimate_gaussian(None, curator, method="no-public")
            assert np.abs(found.mean - [74, 0]).max() < 20
        except NoAnswer as error:
            told.append(str(error))
            assert "value in x0" in told[-1]
            assert "gaussian/final" not in [line.label for line in curator.statement().charges]
    assert any("about a quarter" in text for text in told)


REFUSED = {
    "zcdp": ({}, pp.ZeroConcentratedDP(1), 4000, "approx budget"),
    "few rows": ({}, pp.ApproximateDP("0.5", "1e-6"), 300, "too few to find"),
    "public rows": ({"public": np.random.default_rng(0).normal(size=(9, 2))}, FOUR, 4000, "leave them out"),
    "moments": ({"target": "moments"}, FOUR, 4000, "estimates a Gaussian"),
    "no method": ({"method": "learner"}, FOUR, 4000, "works without"),
    "a scale": ({"scale": {"x0": 1.0}}, FOUR, 4000, "scale"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_for_nothing(name):
    """With what would do."""
    options, budget, n, text = REFUSED[name]
    curator = pp.Curator.simulation(np.random.default_rng(0).normal(size=(n, 2)), budget, 0)
    with pytest.raises(InvalidInput, match=text):
        pp.estimate_gaussian(**{"public": None, "curator": curator, "method": "no-public"} | options)
    assert not curator.statement().charges


def test_a_size_is_refused_before_a_run_is_opened():
    """By the same rules."""
    settings, none = GaussianSettings(method="no-public"), PublicTable.none(["a", "b"])
    for budget, n in ((pp.ZeroConcentratedDP(1), 4000), (FOUR, 100)):
        with pytest.raises(InvalidInput):
            GAUSSIAN.checks.size(settings, none, n, budget)
    GAUSSIAN.checks.size(settings, none, 4000, FOUR)


def test_a_mean_takes_the_same_way():
    """The covariance is learnt with it; one that is known has no use."""
    rows, mean, root = far_away(3, 4000, 2)
    found = pp.estimate_mean(None, pp.Curator.simulation(rows, FOUR, 2), method="no-public")
    assert found.converged
    assert np.linalg.norm(np.linalg.solve(root, found.mean - mean)) < 0.1
    with pytest.raises(InvalidInput, match="learns the covariance"):
        pp.estimate_mean(None, pp.Curator.simulation(rows, FOUR, 2), method="no-public", covariance="identity")
    with pytest.raises(InvalidInput, match="public rows are missing"):
        pp.estimate_mean(None, pp.Curator.simulation(rows, FOUR, 2))
