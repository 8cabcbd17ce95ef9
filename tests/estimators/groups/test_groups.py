"""Estimates by group: nearer than either extreme, honest, the same again, and the same in the unit of a person."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pubpriv as pp
from pubpriv.data.categories import ByCategory
from pubpriv.data.questions import LiftedGram
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.estimators.groups.steps import AllRows, group_frame, sums_of, tell_groups

BY = ByCategory("region", tuple("abcdef"))
SIZES = np.array([9000, 4000, 2000, 900, 300, 60])


def rows(apart=0.3, d=3, seed=0):
    """(private rows, their regions, means (6, d)); some rows are in no group."""
    generator = np.random.default_rng(seed)
    means = apart * generator.standard_normal((len(SIZES), d))
    whose = generator.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    private = means[whose] + generator.standard_normal((len(whose), d))
    names = np.array(BY.values, dtype=object)[whose]
    names[:50] = None
    names[50:90] = "elsewhere"
    return private, names, means


def public(d=3):
    return np.random.default_rng(99).standard_normal((20, d))


def simulated(private, names, budget="zcdp:0.05", seed=1, **more):
    return pp.Curator.simulation(private, budget, seed, groups=(BY, names), **more)


def told(estimate, part="mean"):
    """(values, standard errors) of all groups."""
    values = np.array([group.parts[part] for group in estimate.groups.each])
    return values, np.sqrt(sum(np.array([g.errors[part][s] for g in estimate.groups.each]) ** 2 for s in SOURCES))


SOURCES = ("sampling", "privacy", "clipping", "shrinkage")


@pytest.mark.parametrize("apart", [0.05, 1.0])
def test_groups_are_nearer_than_all_rows_together_and_cover(apart):
    """Whether groups hardly differ or differ much; means of three columns of six groups."""
    found, pooled, inside, spreads = [], [], [], []
    for seed in range(4):
        private, names, means = rows(apart, seed=seed)
        estimate = pp.estimate_gaussian(public(), simulated(private, names, seed=seed), force=True)
        values, errors = told(estimate)
        found.append((values - means) ** 2)
        pooled.append((estimate.mean - means) ** 2)
        inside.append(np.abs(values - means) < 1.96 * errors)
        own, doubt = told(estimate, "covariance")
        spreads.append(np.abs(own - np.eye(3)) < 1.96 * doubt)
        assert estimate.groups["a"].rows[0] == pytest.approx(9000, abs=150)
    assert np.mean(found) < 1.2 * np.mean(pooled)
    assert np.mean(inside) > 0.9
    assert np.mean(spreads) > 0.9
    if apart == 1.0:
        assert np.mean(found) < 0.08 * np.mean(pooled)
        assert estimate.groups["f"].own["mean"] > 0.5
    else:
        assert estimate.groups["f"].borrowed


@pytest.mark.parametrize("covariance", ["identity", "unknown"])
def test_a_mean_has_groups_too(covariance):
    """With the covariance known, and learnt; no covariances of groups are told."""
    private, names, means = rows(0.5)
    estimate = pp.estimate_mean(public(), simulated(private, names), covariance=covariance)
    values, errors = told(estimate)
    assert np.mean(np.abs(values - means) < 1.96 * errors) > 0.8
    assert {*estimate.groups["a"].parts} == {"mean"}
    assert [charge["question"] for charge in estimate.privacy["charges"]].count("Moments") == 1


def test_groups_far_apart_are_told_to_be_clipped():
    """A small group of rows fifty sds away lies beyond the radius."""
    private, names, _ = rows(0.1)
    private[names == "f"] += 50.0
    estimate = pp.estimate_gaussian(public(), simulated(private, names, "zcdp:0.5"), target="moments", force=True)
    group = estimate.groups["f"]
    assert group.errors["mean"]["clipping"].max() > 0 or group.parts["mean"][0] > 20


@pytest.mark.long
def test_persons_may_be_in_several_groups():
    """The unit of a person: the price is that of any run, and each person's rows weigh one together."""
    private, names, means = rows(0.5)
    persons = np.random.default_rng(0).integers(0, 4000, len(private))
    curator = simulated(private, names, "zcdp:1", persons=persons)
    estimate = pp.estimate_gaussian(public(), curator, force=True)
    values, errors = told(estimate)
    assert np.mean(np.abs(values - means) < 1.96 * errors) > 0.8
    assert sum(group.rows[0] for group in estimate.groups.each) < 4300


@pytest.mark.long
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("estimate", [pp.estimate_mean, pp.estimate_gaussian])
def test_groups_under_pure_dp(estimate, persons):
    """Noise is drawn for each group by itself, what is told covers, and the run spends its epsilon."""
    private, names, means = rows(1.0)
    whose = np.random.default_rng(0).integers(0, 9000, len(private)) if persons else None
    curator = simulated(private, names, "pure:8", persons=whose)
    found = estimate(public(), curator, **({"force": True} if estimate is pp.estimate_gaussian else {}))
    values, errors = told(found)
    assert np.mean(np.abs(values - means) < 1.96 * errors) > 0.8
    assert np.abs(values - means)[:3].max() < 0.2  # the mean of all rows is further from these
    charges = found.privacy["charges"]
    assert charges[-1]["question"].startswith("Radial(")
    assert sum(float(charge["cost"].split()[0]) for charge in charges) == pytest.approx(8, abs=1e-6)


def test_what_groups_cannot_be():
    """A table tells of those that it has."""
    private, names, _ = rows()
    with pytest.raises(InvalidInput, match="no group 'z'"):
        pp.estimate_gaussian(public(), simulated(private, names), force=True).groups["z"]


@pytest.mark.long
def test_a_run_by_group_is_one_run_of_a_ledger(tmp_path):
    """Within its allotment, the same again for nothing, with other groups refused; and its file reads back."""
    private, names, _ = rows()
    frame = pd.DataFrame(private, columns=["x", "y", "z"]).assign(region=names)
    frame.to_parquet(tmp_path / "visits.parquet")
    helped = pd.DataFrame(public(), columns=["x", "y", "z"])
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", "approx:4,1e-6")

        def run(by):
            table = pp.PrivateTable.open(tmp_path / "visits.parquet", ["x", "y", "z"], by=by)
            return pp.estimate_gaussian(helped, pp.Curator(table, ledger, "visits", "approx:1,1e-6", "r"))

        first = run(BY)
        assert [charge["label"] for charge in first.privacy["charges"]][-1] == "groups/moments"
        spent = ledger.balance("visits").spent
        again = run(BY)
        assert ledger.balance("visits").spent == spent
        assert again.groups.to_json() == first.groups.to_json()
        with pytest.raises(SpecMismatch, match=r"values: \[.*\] then, \[.a., .b.\] now"):
            run(ByCategory("region", ("a", "b")))
        assert ledger.verify("visits") is None or ledger.verify("visits")
    first.save(tmp_path / "model.json")
    loaded = pp.load(tmp_path / "model.json")
    loaded.check_whole()
    assert loaded.numbers() == first.numbers()
    frame = loaded.interval()
    assert len(frame[frame["group"] == "a"]) == 1 + 3 + 6
    assert frame[frame["group"].isna()]["value"].tolist()[:3] == first.mean.tolist()


@pytest.mark.long
def test_a_mixture_has_weights_by_group():
    """Overlapping components in shares that differ by group; rows drawn of a group have its shares."""
    generator = np.random.default_rng(3)
    shares = generator.dirichlet([4, 4], len(SIZES))
    whose = generator.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    second = generator.random(len(whose)) < shares[whose, 1]
    private = generator.standard_normal((len(whose), 2)) + 3.0 * second[:, None]
    names = np.array(BY.values, dtype=object)[whose]
    helped = generator.standard_normal((40, 2)) + 3.0 * (np.arange(40) % 2)[:, None]
    estimate = pp.estimate_mixture(helped, simulated(private, names, "zcdp:0.2"), n_components=2)
    values, errors = told(estimate, "weight")
    true = shares[:, np.argsort(estimate.means[:, 0] > 1.5)]
    assert np.abs(values - true)[:4].max() < 0.05
    assert np.mean(np.abs(values - true) < 2.5 * errors) > 0.8
    group = estimate.of_group("c")
    assert group.weights == pytest.approx(values[2])
    assert (group.groups, group.noise) == (None, None)
    assert {number.state for number in estimate.numbers() if number.quantity == "rows"} == {"good"}
    assert {number.group for number in estimate.numbers()} == {None, *BY.values}


def registry(seed, n=12_000):
    """(rows, groups, truth by group): a normal column, one of zeros but for some rows, and one with a far heap."""
    generator = np.random.default_rng(seed)
    whose = generator.choice(len(SIZES), n, p=SIZES / SIZES.sum())
    some = generator.random(n) < 0.03 + 0.01 * whose
    heap = generator.random(n) < 0.04 + 0.02 * (whose % 2)
    rows = np.column_stack(
        [
            generator.normal(0.3 * whose, 1.0),
            np.where(some, generator.normal(7.0, 1.0, n), 0.0),
            np.where(heap, 0.0, generator.normal(7.4, 0.3, n)),
        ]
    )
    truth = []
    for g in range(len(SIZES)):
        p, q = 0.03 + 0.01 * g, 0.04 + 0.02 * (g % 2)
        means = np.array([0.3 * g, 7 * p, 7.4 * (1 - q)])
        spreads = np.array([1.0, p * 50 - (7 * p) ** 2, (1 - q) * (7.4**2 + 0.09) - (7.4 * (1 - q)) ** 2])
        truth.append((means, spreads))
    return rows, np.array(BY.values, dtype=object)[whose], truth


@pytest.mark.long
def test_groups_of_columns_of_zeros_and_heaps_are_covered_and_narrow():
    """Sampling errors are those of such rows, and no column pays for what another lacks beyond the clip radius."""
    means, spreads, wide = [], [], []
    for seed in range(3):
        rows, names, truth = registry(seed)
        generator = np.random.default_rng(1000 + seed)
        public = rows[generator.permutation(len(rows))[:60]]
        estimate = pp.estimate_gaussian(public, simulated(rows, names, "zcdp:0.5", seed), force=True)
        for group, (mean, spread) in zip(estimate.groups.each, truth, strict=True):
            own = {part: np.sqrt(sum(each**2 for each in group.errors[part].values())) for part in group.parts}
            means.append(np.abs(group.parts["mean"] - mean) / own["mean"])
            variances = np.diag(group.parts["covariance"])
            spreads.append(np.abs(variances - spread) / np.diag(own["covariance"]))
            wide.append(own["mean"] / np.sqrt(spread / (names == group.name).sum()))
    assert np.mean(np.array(means) < 1.96) > 0.9
    assert np.mean(np.array(spreads) < 1.96) > 0.9
    assert max(np.max(means), np.max(spreads)) < 6
    assert np.median(wide, axis=0).max() < 3


def test_a_number_that_is_mostly_borrowed_is_wide_only_by_what_its_own_rows_would_leave():
    """It has hardly any sampling error, and may be surer than its own rows without privacy."""
    private, names, _ = rows(0.05)
    estimate = pp.estimate_gaussian(public(), simulated(private, names), force=True)
    numbers = {number.name: number for number in estimate.numbers()}
    small = numbers["mean:x0[f]"]
    assert small.sampling < small.alone
    assert (small.wide, small.state) == (small.error > 3 * small.alone, "wide" if small.wide else "good")
    loaded = pp.GaussianEstimate.from_json(estimate.to_json())
    assert [number.alone for number in loaded.numbers()] == [number.alone for number in estimate.numbers()]


@pytest.mark.parametrize("kept", [True, False], ids=["radii", "no radii"])
def test_an_answer_of_older_versions_is_read_as_it_was_asked(kept):
    """They asked one region of each group, and did not keep its radius: a run that stopped there goes on."""
    private, names, means = rows(0.5)
    curator = simulated(private, names, "zcdp:0.5")
    curator.begin("groups", {}, "0" * 64)
    frame, radius = group_frame((0.0,) * 3, tuple(map(tuple, np.cov(private.T).tolist()))), 3**0.5 + 2.5
    shares = Fraction(8, 100), Fraction(30, 100), Fraction(62, 100)
    asked = LiftedGram.priced(BY, (frame,) * 6, (radius,) * 6, Fraction(1, 2), shares)
    found = sums_of(curator.release(asked, "groups/moments"), BY, spreads=True)
    known = AllRows(np.cov(private.T), *np.full((2, 3, 3), 0.01), np.full(3, 0.01), np.full(3, 3.5), len(private), 1.0)
    told = tell_groups(found if kept else replace(found, ends=()), known, True)
    errors = np.sqrt(sum(np.square(part) for part in told.mean_errors))
    assert np.mean(np.abs(np.array(told.means) - means) < 1.96 * errors) > 0.85
    spreads = np.sqrt(sum(np.square(part) for part in told.covariance_errors))
    assert np.mean(np.abs(np.array(told.covariances) - np.eye(3)) < 1.96 * spreads) > 0.85
