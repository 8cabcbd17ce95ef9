"""A defect in what is made of paid answers costs nothing: the same release id ends the run once it is mended."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.estimators.mixture import _components, driver

NAMES = ["x0", "x1"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("module", "stage", "paid"),
    [(_components, "outside", "mixture/round-2"), (driver, "released", "mixture/fit")],
    ids=["the last round is read", "the release is written"],
)
def test_a_run_that_failed_on_paid_answers_ends_at_its_price(module, stage, paid, tmp_path, monkeypatch):
    """No charge is made twice, also not that of the answer which could not be read; what is released stays so."""
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((4000, 2)) + 9 * (np.arange(4000) % 2)[:, None]
    pq.write_table(pa.table(dict(zip(NAMES, rows[40:].T, strict=True))), tmp_path / "private.parquet")
    table = pp.PrivateTable.open(tmp_path / "private.parquet", NAMES)
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("d", budget="zcdp:0.5", table=table, unit="one row")

        def fit():
            with pp.Curator(table, ledger, "d", "zcdp:0.5", "run") as curator:
                return pp.estimate_mixture(rows[:40], curator, n_components=2)

        def bill():
            (run,) = ledger.history("d")
            assert all(charge.answered for charge in run.charges)
            return run.charges

        def broken(*_, **__):
            raise np.linalg.LinAlgError("Singular matrix")

        with monkeypatch.context() as patched:
            patched.setattr(module, stage, broken)
            with pytest.raises(np.linalg.LinAlgError):
                fit()
        before = bill()
        assert before[-1].label == paid
        mended, replayed = fit(), fit()
        assert bill()[: len(before)] == before
        assert len({charge.label for charge in bill()}) == len(bill())
        assert mended.weights == pytest.approx([0.5, 0.5], abs=0.1)
        assert mended.to_json() == replayed.to_json()
        ledger.verify("d")
