"""All rounds of a long table but the last read a sample of its rows: sorted and clustered tables come out the same."""

from unittest import mock

import numpy as np
import pytest

import pubpriv as pp
from benchmarks.fits import write_rows
from pubpriv.data import memory
from pubpriv.data.tables import PublicTable
from pubpriv.estimators.gaussian import _plan
from pubpriv.estimators.gaussian._plan import early_sample
from pubpriv.privacy.budgets import Purse, parse_budget
from pubpriv.privacy.runs import RecordedRun

N, D, BUDGET = 280_000, 3, "zcdp:0.1"


def wide(generator):
    """Correlated columns of spreads 1 to 30."""
    turn = np.linalg.qr(generator.standard_normal((D, D)))[0]
    return generator.standard_normal((N, D)) @ (turn * np.geomspace(1, 30, D)).T + 5


def one_site_at_the_end(generator):
    """A fiftieth of the rows, three times as wide and elsewhere."""
    rows = generator.standard_normal((N, D))
    rows[-N // 50 :] = 3 * rows[-N // 50 :] + 8
    return rows


def sites(generator):
    """Two hundred in order, whose means differ twice as much as their rows do."""
    own = np.sort(generator.integers(0, 200, N))
    return generator.standard_normal((N, D)) + 2 * generator.standard_normal((200, D))[own]


def some_are_equal(generator):
    """A hundredth of the rows are one row: all of them are in a sample, or none."""
    rows = np.exp(generator.standard_normal((N, D)) / 2)
    rows[::100] = 0.25
    return rows


def half_missing(generator):
    """The first column, in the latter half of the table."""
    rows = generator.standard_normal((N, D))
    rows[N // 2 :, 0] = np.nan
    return rows


def fitted(rows, public, **settings):
    """The estimate, how far it is from the rows' own mean and covariance in their units, and passes over all rows."""
    curator = pp.Curator.simulation(rows, BUDGET, seed=3)
    made = pp.estimate_gaussian(public, curator, **settings)
    whole = rows[np.isfinite(rows).all(axis=1)]
    root = np.linalg.inv(np.linalg.cholesky(np.cov(whole.T)))
    off = (
        np.linalg.norm(root @ (made.mean - whole.mean(axis=0))),
        np.linalg.norm(root @ made.covariance @ root.T - np.eye(D)),
    )
    return made, np.array(off), curator


@pytest.mark.long
@pytest.mark.parametrize(
    ("law", "target"),
    [
        *((law, "auto") for law in (one_site_at_the_end, some_are_equal)),
        *(pytest.param(law, "auto", marks=pytest.mark.slow) for law in (wide, sites, half_missing)),
        (wide, "gaussian"),
    ],
)
def test_the_order_of_rows_does_not_matter(law, target):
    """As they are, shuffled, sorted by each column, and if all rounds read all rows: no answer is further off."""
    generator = np.random.default_rng(1)
    rows = law(generator)
    public = rows[generator.choice(N, 200, replace=False)]
    public = public[np.isfinite(public).all(axis=1)][:60]
    orders = [np.arange(N), generator.permutation(N), *(np.argsort(rows[:, j]) for j in range(D))]
    first = None
    with mock.patch("pubpriv.estimators.gaussian._table_driver.early_sample", return_value=None):
        all_rows = fitted(rows, public, target=target)[1]
    for order in orders:
        made, off, curator = fitted(rows[order], public, target=target)
        first = (made, off) if first is None else first
        assert made.converged == first[0].converged
        assert (off < 1.02 * first[1] + 0.001).all()
        assert (off < 1.02 * all_rows + 0.005).all()
        assert curator.passes <= 6


def test_rounds_but_the_last_ask_a_sample_at_the_prices_that_were_planned():
    """The statement names them; in a short table no round does."""
    generator = np.random.default_rng(2)
    rows = generator.standard_normal((N, D))
    kinds = {}
    for n in (N, 20_000):
        made, *_ = fitted(rows[:n], rows[:60])
        kinds[n] = {line["label"]: line["question"] for line in made.privacy["charges"]}
    assert float(made.privacy["spent"].split()[0]) == pytest.approx(0.1, rel=1e-6)
    asked = {label for label, kind in kinds[N].items() if kind.endswith(" of a sample")}
    rounds = {label for label in kinds[N] if label.startswith("gaussian/round-")}
    assert asked == rounds - {"gaussian/round-7/radius", "gaussian/round-7/moments"}
    assert len(asked) >= 2
    assert not any(kind.endswith(" of a sample") for kind in kinds[20_000].values())


def curator_of(n, budget=BUDGET, **more):
    return pp.Curator.simulation(np.zeros((n, 1)), budget, seed=1, **more)


def public_of(rows):
    rows = np.atleast_2d(rows)
    return PublicTable(tuple(f"x{i}" for i in range(rows.shape[1])), rows)


HALF = Purse.of(parse_budget("zcdp:0.5"))
PUBLIC = public_of(np.random.default_rng(5).standard_normal((60, 10)))


def test_a_sample_is_as_large_as_the_noise_of_a_round_needs():
    """And of about 65,536 rows at least; of a short table all rows are read."""
    assert early_sample(curator_of(1_000_000), PUBLIC, 10, HALF) == 15
    small = Purse.of(parse_budget("zcdp:0.001"))
    every = early_sample(curator_of(1_000_000), PUBLIC, 10, small)
    assert 1_000_000 / every * small.rho**0.5 >= 12 * _plan._needed(10)
    assert early_sample(curator_of(262_143), PUBLIC, 10, HALF) is None
    assert early_sample(curator_of(262_144), PUBLIC, 10, HALF) == 4
    assert early_sample(curator_of(400_000), PUBLIC, 10, small) is None


def test_runs_without_a_proof_read_all_rows():
    assert early_sample(curator_of(400_000, "pure:1"), PUBLIC, 10, HALF) is None
    who = curator_of(400_000, persons=np.arange(400_000) + 1)
    who.begin("test", {}, "f00")
    assert early_sample(who, PUBLIC, 10, HALF) is None


def test_tables_in_which_many_rows_may_be_equal_are_read_whole():
    """They would be in a sample together: where public rows repeat, or all columns are whole numbers."""
    whole, curator = np.random.default_rng(6).integers(0, 30, (60, 2)).astype(float), curator_of(400_000)
    assert early_sample(curator, public_of(whole), 2, HALF) is None
    assert early_sample(curator, public_of(np.c_[whole, PUBLIC.rows[:, 0]]), 3, HALF) is not None
    assert early_sample(curator, public_of(np.vstack([PUBLIC.rows, PUBLIC.rows[:1]])), 10, HALF) is None


def test_a_run_that_asked_all_rows_is_resumed_as_it_began(monkeypatch):
    """An earlier version asked no samples: its answers are read as what they are about."""
    generator = np.random.default_rng(4)
    rows = 3 * generator.standard_normal((N, D))
    curator = pp.Curator.simulation(rows, BUDGET, seed=3)
    with monkeypatch.context() as earlier:
        earlier.setattr("pubpriv.estimators.gaussian._table_driver.early_sample", lambda *_: None)
        before = pp.estimate_gaussian(rows[:60], curator)
    again = pp.estimate_gaussian(rows[:60], curator)
    assert np.array_equal(again.covariance, before.covariance)
    assert again.privacy["charges"] == before.privacy["charges"]


@pytest.mark.long
def test_a_long_run_is_cut_short_and_resumed(tmp_path, monkeypatch):
    """From a file that is too large to be kept: one charge and one answer each, and a replay reads nothing."""
    generator = np.random.default_rng(7)
    rows = 2 * generator.standard_normal((N, 2))
    names = write_rows(rows, tmp_path / "rows.parquet", row_groups=5)
    monkeypatch.setattr(memory, "MOST_BYTES", N * 2 * 8 - 1)
    table, asked = pp.PrivateTable.open(tmp_path / "rows.parquet", names), []
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("long", budget="zcdp:1", table=table)

        def fit(most):
            real = RecordedRun.publish

            def publish(run, label, *rest):
                asked.append(label)
                if len(asked) > most:
                    raise KeyboardInterrupt
                return real(run, label, *rest)

            with monkeypatch.context() as cut:
                cut.setattr(RecordedRun, "publish", publish)
                with pp.Curator(table, ledger, "long", BUDGET, "r1") as curator:
                    return pp.estimate_gaussian(rows[:60], curator), curator.passes

        with pytest.raises(KeyboardInterrupt):
            fit(6)  # in the third round, of a sample
        made, _ = fit(99)
        again, passes = fit(99)
        assert passes == 0
        assert np.array_equal(again.covariance, made.covariance)
        assert np.abs(made.covariance - np.cov(rows.T)).max() < 0.05
        kinds = [record.kind for record in ledger.records("long")]
        assert kinds.count("charged") == kinds.count("published") == len(made.privacy["charges"])
        ledger.verify("long")
