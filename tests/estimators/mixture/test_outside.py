"""Odd rows belong to no component: they are counted, they move no number, and it is said."""

from dataclasses import replace

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.regions import Cells
from pubpriv.deployments.comparison import others, scored
from pubpriv.estimators.mixture._outside import outside
from pubpriv.estimators.mixture._plan import MixturePlan
from pubpriv.estimators.mixture._strays import Sorting
from pubpriv.estimators.mixture.rounds import round_question
from pubpriv.privacy.budgets import Purse
from pubpriv.released.law import Mixture
from pubpriv.released.report.lead import lead

N = 6_000
PLACES = np.array([[0.0, 0.0], [12.0, 0.0]])
TWO = Mixture.of([0.5, 0.5], PLACES, [np.eye(2)] * 2)


def fitted(rows, budget="zcdp:0.5", k=2, public=40):
    """A mixture of rows, with public ones of the clean law."""
    clean = TWO.sample(public, seed=7)[:, : rows.shape[1]]
    return pp.estimate_mixture(clean, pp.Curator.simulation(rows, pp.parse_budget(budget), seed=5), n_components=k)


def with_odd(rows, share, at):
    """The rows, of which the first are odd."""
    odd = rows.copy()
    odd[: int(share * len(rows))] += at
    return odd


@pytest.fixture(scope="module")
def clean():
    """Rows of two components, and the mixture that is released of them."""
    rows = TWO.sample(N, seed=1)
    return rows, fitted(rows)


@pytest.mark.long
@pytest.mark.parametrize("far", [25.0, 1e6])
def test_far_rows_move_no_number_and_are_told(clean, far):
    """Their share with its error, in a warning, in the report's first sentence, and how many could hide."""
    rows, without = clean
    found = fitted(with_odd(rows, 0.02, [0.0, far]))
    assert found.converged
    outside = found.diagnostics["outside"]
    assert outside["seen"]
    assert found.background == outside["share"]
    assert abs(outside["share"] - 0.02) < 3 * outside["sd"] < 0.01
    ratios = np.linalg.eigvals(np.linalg.solve(without.covariances, found.covariances))
    assert ratios == pytest.approx(1.0, abs=0.12)
    assert any("belong to no component" in warning for warning in found.diagnostics["warnings"])
    assert "of them belong to no group, and are left out" in lead(found)
    assert "without those that lie far" in found.estimand
    assert np.shape(found.standard_errors["covariances"]["clipping"]) == (2, 2, 2)


@pytest.mark.long
def test_a_few_odd_rows_do_not_decide_what_a_model_is_worth():
    """One in a hundred, fifteen times as wide: their likelihood under components alone is below that of public rows."""
    wide = np.where(np.arange(2 * N) % 100 == 0, 15.0, 1.0)[:, None]
    rows = PLACES[np.arange(2 * N) % 2] + np.random.default_rng(3).normal(size=(2 * N, 2)) * wide
    rows = np.random.default_rng(4).permutation(rows)
    public, private, held_out = rows[:60], rows[60:N], rows[N:]
    found = pp.estimate_mixture(public, pp.Curator.simulation(private, "zcdp:0.5", seed=5), n_components=2)
    assert 0.005 < found.background < 0.015
    alone = scored(replace(found, background=0.0), others(pp.PublicTable.open(public), private, 2, 0), held_out)
    beside = scored(found, others(pp.PublicTable.open(public), private, 2, 0), held_out)
    assert beside.released > alone.released + 0.5
    assert beside.released > max(alone.public_only, beside.public_only) + 0.1


def test_of_sound_rows_nothing_is_told_but_how_many_could_hide(clean):
    """No warning; and what could hide is a small part of errors."""
    diagnostics = clean[1].diagnostics
    assert clean[1].converged
    assert not diagnostics["outside"]["seen"]
    assert clean[1].background == 0.0
    assert diagnostics["warnings"] == []
    assert 0 < diagnostics["could_hide"]["rows"] < 0.01 * N
    for errors in (clean[1].standard_errors[name] for name in ("means", "covariances")):
        assert (np.array(errors["clipping"]) < 0.4 * np.array(errors["sampling"]).max()).all()


def test_too_many_are_no_odd_rows(clean):
    """A twentieth of the rows is something else: the run is flagged, and says so first."""
    found = fitted(with_odd(clean[0], 0.06, [0.0, 25.0]))
    assert not found.converged
    assert any("too many to be odd rows" in warning for warning in found.diagnostics["warnings"])


@pytest.mark.long
def test_odd_rows_among_those_of_components_are_taken_out():
    """In one column nearly half of the wide rows lie no further out than others; left in, they add four per cent."""
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(60_000, 1))
    wide = generator.random(len(rows)) < 0.02
    rows[wide] *= 8.0
    rows[::2] += 200.0
    public = generator.normal(size=(40, 1)) + 200.0 * (np.arange(40) % 2)[:, None]
    found = pp.estimate_mixture(public, pp.Curator.simulation(rows, pp.parse_budget("zcdp:5"), seed=5), n_components=2)
    assert found.converged
    assert found.covariances.ravel() == pytest.approx([1.0, 1.0], abs=0.025)
    error = found.standard_errors["covariances"]["clipping"].ravel()
    assert (error > 0.002).all()
    assert (error < 0.03).all()


def test_they_are_a_share_of_the_rows_that_lack_no_value(clean):
    """Half of the rows lack one: 5% of the others were said to be 2.5%, and nothing was flagged."""
    rows = with_odd(clean[0], 0.05, [0.0, 25.0])
    rows[1::2, 0] = np.nan
    found = fitted(rows)
    outside = found.diagnostics["outside"]
    assert abs(outside["share"] - 0.05) < 3 * outside["sd"] < 0.02
    assert not found.converged
    assert any(warning.startswith(("4", "5", "6")) for warning in found.diagnostics["warnings"])


@pytest.mark.parametrize(("budget", "regions"), [("zcdp:0.5", 2), ("pure:3", 0)])
def test_the_last_round_alone_tells_them_apart_at_no_price(budget, regions):
    """Regions for them cost nothing under Gaussian noise; under radial noise there are none."""
    plan = MixturePlan.of(Purse.of(pp.parse_budget(budget)), N, 2, 3)
    *others, last = [ask.question for ask in plan.asks if "round" in ask.label]
    partition = getattr(last, "inner", last).partition
    assert partition.n_regions == 3 + regions
    assert isinstance(partition, ComponentShells) is bool(regions)
    assert all(getattr(other, "inner", other).partition.n_regions == 3 for other in others)
    if regions:
        without = round_question("full", partition.cells, last.frames[:3], plan.asks[-1])
        assert last.noise_scales == without.noise_scales
        assert last.squared_distance == without.squared_distance
        assert {name: part.size for name, part in last.parts.items()} == {
            name: part.size + (regions if name == "count" else 0) for name, part in without.parts.items()
        }


def test_widths_that_bring_no_row_out_are_left_out():
    """Rows so far out are of no width that is tried: they are counted, and nothing is taken out for others."""
    cells = Cells((Frame.of(np.zeros(1), np.eye(1)),), (0.0,))
    sorting = Sorting(ComponentShells(cells, (1e4, 2e4), (), 2), [(np.zeros(1), np.eye(1))], 3.0)
    one = Mixture.of([1.0], [[0.0]], [[[1.0]]])
    found, among = outside(sorting, np.array([1000.0]), np.array([50.0, 40.0]), 1.0, one)
    assert found.seen
    assert among is None
    assert found.unsure == (0.0,)
