"""How many rows lack no value is counted in one place, whatever asks: exactly, unless clearly fewer, or pooled."""

from functools import partial

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.errors import NoAnswer
from pubpriv.estimators._whole_rows import left_out, whole_rows
from pubpriv.ledger.unit import Size
from pubpriv.privacy.budgets import Purse

COUNTS = np.array([40.0, 30.0, 21.0, 5.0])


@pytest.mark.parametrize(
    ("size", "sd", "share", "rows"),
    [
        (Size(100), 2.0, 1.0, 100.0),  # 4 less, with a noise of 4
        (Size(100), 0.4, 1.0, 96.0),
        (Size(50), 2.0, 2.0, 50.0),  # each row is in two regions
        (Size(52), 0.4, 2.0, 48.0),
        (Size(100, 4.0), 2.0, 1.0, 98.0),  # the mean of both, of one noise
        (Size(200, 4.0), 2.0, 1.0, 96.0),
    ],
)
def test_rows_are_all_unless_clearly_fewer_or_the_mean_of_two_counts(size, sd, share, rows):
    """By 4.2 sds of the noise of the sum."""
    assert whole_rows(size, COUNTS, sd, share) == pytest.approx(rows)


def test_a_table_without_a_whole_row_has_one():
    """For it is divided by."""
    assert whole_rows(Size(1000), np.array([-3.0, 2.0]), 1.0) == 1


def test_what_lacks_is_said_where_all_rows_are_known():
    """Where their number was released it is that of whole rows: two counts of them that differ are noise."""
    (text,) = left_out(Size(100), 75.0, 2.0)
    assert text.startswith("about 25% (\u00b12%, standard error) of the private rows have a missing")
    assert left_out(Size(1000), 1.0, 0.5)[0].startswith("about 99.9% (\u00b10.05%, standard error) of the private rows")
    assert left_out(Size(100), 100.0, 2.0) == ()
    assert left_out(Size(100), 93.0, 2.0) == ()  # noise alone may do that
    assert left_out(Size(100, 4.0), 98.0, 1.0) == ()


@pytest.mark.long
@pytest.mark.parametrize("n", [500, 5000])
def test_complete_tables_are_not_said_to_lack_values(n):
    """In none of forty runs; at two sds of the count one run in forty said so."""
    said = []
    for seed in range(40):
        random = np.random.default_rng([n, seed])
        curator = pp.Curator.simulation(random.normal(size=(n, 3)), "zcdp:0.5", seed)
        result = pp.estimate_gaussian(random.normal(size=(30, 3)), curator)
        said += [text for text in result.diagnostics["warnings"] if "missing" in text]
    assert said == []


def _with_missing(share: float, n: int = 4000, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which a share has a missing or an infinite cell, and which rows are whole."""
    random = np.random.default_rng([int(1000 * share), n])
    rows = random.normal(50, 10, (n, d))
    lost = random.random(n) < share
    rows[lost, np.arange(n)[lost] % d] = np.where(np.arange(n)[lost] % 3 == 0, np.inf, np.nan)
    return rows, ~lost


METHODS = {
    "mean": partial(pp.estimate_mean, missing="drop"),
    "gaussian": partial(pp.estimate_gaussian, missing="drop"),
    "gaussian's target": partial(pp.estimate_gaussian, target="gaussian", missing="drop"),
    "no-public": lambda _, curator: pp.estimate_gaussian(None, curator, method="no-public", target="gaussian"),
}


def _budget(name: str) -> str:
    return "approx:4,1e-6" if name == "no-public" else "zcdp:0.5"


@pytest.mark.long
@pytest.mark.parametrize("share", [0.3, 0.55, 0.8])
@pytest.mark.parametrize("name", METHODS)
def test_what_follows_is_about_the_whole_rows(name, share):
    """Rounds that ask for the radius of half of *all* rows went 1e4 standard deviations off in a third of the runs."""
    rows, whole = _with_missing(share)
    public = np.random.default_rng(1).normal(50, 10, (30, 2))
    off = []
    for seed in range(4):
        made = METHODS[name](public, pp.Curator.simulation(rows, _budget(name), seed))
        off += list((made.mean - rows[whole].mean(axis=0)) / (10 / np.sqrt(whole.sum())))
        assert any("are left out" in text for text in made.diagnostics["warnings"])
        assert made.diagnostics["whole_rows"] == pytest.approx(whole.sum(), abs=100)
        sds = [np.square(np.asarray(part)) for part in made.standard_errors["mean"].values()]
        assert np.sqrt(sum(sds)).max() < 2 * 10 / np.sqrt(whole.sum())
    assert np.abs(off).max() < 2.5


@pytest.mark.parametrize("name", METHODS)
def test_complete_tables_are_asked_what_they_were(name):
    """No count of a complete table changes what follows: the same questions, radii and divisors as for n rows."""
    rows, _ = _with_missing(0.0)
    curator = pp.Curator.simulation(rows, _budget(name), 3)
    made = METHODS[name](np.random.default_rng(1).normal(50, 10, (30, 2)), curator)
    assert made.diagnostics["whole_rows"] == len(rows)
    assert curator.statement().charges[0].label == "gaussian/count"


ENDING = {
    **METHODS,
    "mean, known": partial(pp.estimate_mean, covariance=100 * np.eye(2)),
    "mixture": partial(pp.estimate_mixture, n_components=2),
    "mixture, k looked for": pp.estimate_mixture,
}


@pytest.mark.long
@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize("kind", ["zcdp:0.5", "pure:3"])
def test_a_run_ends_after_the_count_where_no_row_is_whole(name, kind):
    """At 1% of its budget, with what is missing first, and what to look for."""
    if name == "no-public":
        kind = _budget(name)
    rows, _ = _with_missing(1.0)
    curator = pp.Curator.simulation(rows, kind, 1)
    with pytest.raises(NoAnswer, match=r"^no answer: about (9|1).*missing or infinite.*too few.*decimal commas"):
        ENDING[name](np.random.default_rng(1).normal(50, 10, (30, 2)), curator)
    (charge,) = curator.statement().charges
    assert charge.label.endswith("/count")
    statement = curator.statement()
    assert float(statement.to_json()["spent"].split()[0]) <= 0.011 * float(Purse.of(curator.budget).units) / 1e12


@pytest.mark.parametrize(("share", "force"), [(0.985, False), (1.0, True)])
@pytest.mark.parametrize("name", ["mean", "gaussian", "gaussian's target"])
def test_a_run_ends_where_too_few_rows_are_left_for_it(name, share, force):
    """Unless it is forced, and some can be seen."""
    rows, _ = _with_missing(share)
    curator = pp.Curator.simulation(rows, "zcdp:0.5", 1)
    with pytest.raises(NoAnswer, match="too few to be seen" if force else "are too few for the"):
        METHODS[name](np.random.default_rng(1).normal(50, 10, (30, 2)), curator, force=force)
    assert [charge.label for charge in curator.statement().charges] == ["gaussian/count"]


@pytest.mark.long
@pytest.mark.parametrize("share", [0.55, 0.9])
@pytest.mark.parametrize("name", ["mean, known", "mixture"])
def test_other_methods_are_about_the_whole_rows_too(name, share):
    """And say what share was left out, to the noise of the count."""
    rows, whole = _with_missing(share)
    rows[::2] += 200 * (name == "mixture")
    public = np.random.default_rng(1).normal(50, 10, (30, 2))
    public[::2] += 200 * (name == "mixture")
    made = ENDING[name](public, pp.Curator.simulation(rows, "zcdp:0.5", 1))
    means = np.atleast_2d(made.means if name == "mixture" else made.mean)
    for at, mean in enumerate(means[np.argsort(means[:, 0])]):
        assert mean == pytest.approx(50 + 200 * at, abs=4 * 10 / np.sqrt(whole.sum() / len(means)))
    (said,) = [text for text in made.diagnostics["warnings"] if "missing" in text]
    assert float(said.split("%")[0].split()[-1]) == pytest.approx(100 * (1 - whole.mean()), abs=2)


def test_a_forced_run_goes_on_with_the_rows_that_are_left():
    """Below the line of feasibility, but clearly some: the user knows what comes."""
    rows, _ = _with_missing(0.97)
    public = np.random.default_rng(1).normal(50, 10, (30, 2))
    made = pp.estimate_mean(public, pp.Curator.simulation(rows, "zcdp:0.5", 1), force=True, missing="drop")
    assert not made.converged
    assert made.diagnostics["whole_rows"] == pytest.approx(120, abs=60)


def _persons(lost: float, rows_each: int, n: int = 2500) -> tuple[np.ndarray, np.ndarray]:
    """Rows and ids of persons, of whom half lose this share of their rows to missing cells, and are 2 sds lower."""
    random = np.random.default_rng(9)
    ids = np.repeat(np.arange(n), rows_each)
    few = ids % 2 == 0
    rows = random.normal(50, 10, (len(ids), 2)) - 20.0 * few[:, None]
    rows[few & (np.arange(len(ids)) % rows_each < lost * rows_each), 1] = np.nan
    return rows, ids


PERSONS = {
    "mean": pp.estimate_mean,
    "mean, known": partial(pp.estimate_mean, covariance=200 * np.eye(2)),
    "gaussian's target": partial(pp.estimate_gaussian, target="gaussian"),
    "mixture": partial(pp.estimate_mixture, n_components=1),
}


@pytest.mark.long
@pytest.mark.parametrize(("lost", "most"), [(0.75, 1), (0.5, 1), (0.75, 3), (0.0, 1), (0.0, 3)])
@pytest.mark.parametrize("name", PERSONS)
def test_what_persons_count_for_is_said(name, lost, most):
    """A person counts by the share of whole rows: told and flagged where it is clear, never of complete tables."""
    rows, ids = _persons(lost, 4)
    public = np.random.default_rng(1).normal(40, 14, (40, 2))
    curator = pp.Curator.simulation(rows, "zcdp:4", 1, persons=ids, rows_per_person=most)
    made = PERSONS[name](public, curator)
    said = [text for text in made.diagnostics["warnings"] if "what persons count for" in text]
    assert len(said) == (lost > 0)
    if lost:
        assert not made.converged
        counted = min(4, most) if most > 1 else 1
        share = lost / 2 if most == 1 else 1 - (counted + counted * (1 - lost)) / (2 * counted)
        assert float(said[0].split("%")[0].split()[-1]) == pytest.approx(100 * share, abs=2)
        assert made.counted_as == (
            "persons, each by the share of their rows that are whole"
            if most == 1
            else "persons, 3 rows of each counted in full"
        )
    elif most == 1:
        assert made.counted_as == "persons, each counted once"


def test_a_run_of_persons_ends_where_no_row_is_whole():
    """After the numbers of persons and rows, and says why."""
    rows, ids = _persons(0.0, 4)
    rows[:, 0] = np.nan
    for name in ("mean", "mean, known", "mixture"):
        curator = pp.Curator.simulation(rows, "zcdp:1", 1, persons=ids)
        with pytest.raises(NoAnswer, match="what persons count for is"):
            PERSONS[name](np.random.default_rng(1).normal(40, 14, (40, 2)), curator)
        assert float(curator.statement().to_json()["spent"].split()[0]) <= 0.041
