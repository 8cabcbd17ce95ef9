"""The demo's comparison: a released model beside the public sample alone and a non-private mixture."""

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.randhie import COLUMNS, UNITS, split
from pubpriv.estimators.mixture.public_model import public_model
from pubpriv.estimators.mixture.scaling import FLOOR, precondition

K = 4
BUDGET = "approx:4,1e-6"


@dataclass(frozen=True)
class Comparison:
    """Mean held-out log-likelihood per row, in nats, of three models with one covariance floor.

    Attributes:
        public_only: the pipeline's own model of the public rows.
        released: the private model.
        non_private: scikit-learn's mixture of the private rows.
    """

    public_only: float
    released: float
    non_private: float

    @property
    def gap_closed(self) -> float:
        """Share of the gap between the public-only and the non-private model; 1 where there is no gap left."""
        if self.released >= self.non_private:
            return 1.0
        gap = self.non_private - self.public_only
        return (self.released - self.public_only) / gap if gap > 0 else 0.0


def compare(estimate: Any, public: Any, private: Any, held_out: Any, seed: int) -> Comparison:
    """Score `estimate` and its two neighbours on held-out rows (DataFrames, open data only)."""
    rows, peers, test = (pp.PublicTable.open(part, list(estimate.columns)) for part in (public, private, held_out))
    released = float(estimate.log_density(test.rows).mean())
    return Comparison(released=released, **neighbours(rows, peers.rows, test.rows, len(estimate.weights), seed))


def neighbours(
    public: pp.PublicTable, private: np.ndarray, held_out: np.ndarray, k: int, seed: int
) -> dict[str, float]:
    """Scores of the public-only and of the non-private model of k components, with one covariance floor.

    Args:
        public: public rows, with their columns.
        private: (n, d) rows that nobody protects here: open data only.
        held_out: (t, d) rows that are scored.
        k: components.
        seed: of scikit-learn's five starts.
    """
    from sklearn.mixture import GaussianMixture

    scaling = precondition(public)
    standard = scaling.apply(held_out)
    to_units = float(np.log(scaling.scale).sum())
    alone = public_model(public, scaling, k).log_density(standard).mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianMixture(k, n_init=5, reg_covar=FLOOR, random_state=seed).fit(scaling.apply(private))
    return {"public_only": float(alone) - to_units, "non_private": float(model.score(standard)) - to_units}


def run_split(seed: int, unit: str) -> Comparison:
    """One split with a real curator and system noise, on a ledger of its own that is thrown away."""
    parts = split(seed, unit)
    budget = pp.parse_budget(BUDGET)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "private.parquet"
        parts.private.to_parquet(path)
        table = pp.PrivateTable.open(path, list(COLUMNS))
        with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
            ledger.register("rand-hie", budget=budget, table=table, unit=UNITS[unit])
            with pp.Curator(table, ledger, "rand-hie", budget, f"split-{seed}") as curator:
                estimate = pp.estimate_mixture(parts.public, curator, n_components=K)
    return compare(estimate, parts.public, parts.private, parts.held_out, seed)


def bench(unit: str, seeds: int) -> dict[str, Any]:
    """All splits; `ratio` is the median share of the gap that the released model closes."""
    found = [run_split(seed, unit) for seed in range(seeds)]
    return {
        "bench": "demo",
        "unit": UNITS[unit],
        "budget": BUDGET,
        "ratio": median(c.gap_closed for c in found),
        "ratio_of": "gap closed between the public-only and the non-private model, held-out log-likelihood, median",
        "worst_below_public_only": min(c.released - c.public_only for c in found),
        "splits": [c.__dict__ | {"gap_closed": c.gap_closed} for c in found],
    }
