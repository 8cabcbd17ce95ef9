"""Compare a released mixture with the public sample alone and with a non-private mixture: open data only."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import pubpriv as pp
from pubpriv.data.columns import parse_columns
from pubpriv.estimators.mixture.public_model import public_model
from pubpriv.estimators.mixture.scaling import FLOOR, precondition
from pubpriv.released.law import Mixture


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
        """Closed share of the gap between the public-only and the non-private model; 1 if there is no gap."""
        if self.released >= self.non_private:
            return 1.0
        gap = self.non_private - self.public_only
        return (self.released - self.public_only) / gap if gap > 0 else 0.0


def compare(estimate: pp.MixtureEstimate, public: Any, private: Any, held_out: Any, seed: int) -> Comparison:
    """Score `estimate` and two reference models on held-out rows.

    Args:
        estimate: the released mixture.
        public: DataFrame with its columns.
        private: the same for private rows, read without protection: open data only.
        held_out: the same for the rows that are scored.
        seed: seed of scikit-learn's five starts.
    """
    rows, peers, test = (
        pp.PublicTable.open(part, parse_columns(estimate.columns)) for part in (public, private, held_out)
    )
    return scored(estimate, others(rows, peers.rows, len(estimate.weights), seed), test.rows)


def others(public: pp.PublicTable, private: np.ndarray, k: int, seed: int) -> tuple[Mixture, Mixture]:
    """Fit the public-only and the non-private model of k components, with one covariance floor, in the data's units.

    Args:
        public: public rows, with their columns.
        private: (n, d) rows that nobody protects here: open data only.
        k: components.
        seed: of scikit-learn's five starts.
    """
    from sklearn.mixture import GaussianMixture

    scaling = precondition(public)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianMixture(k, n_init=5, reg_covar=FLOOR, random_state=seed).fit(scaling.apply(private))
    non_private = Mixture.of(model.weights_, model.means_, model.covariances_)
    return scaling.undo(public_model(public, scaling, k)), scaling.undo(non_private)


def scored(estimate: pp.MixtureEstimate, models: tuple[Mixture, Mixture], held_out: np.ndarray) -> Comparison:
    """Score `estimate` and two other `models` on rows (t, d), each with the released background, if there is one.

    Else the few rows that belong to no component would decide.
    """
    public_only, non_private = (
        float(model.beside_background(estimate.background).log_density(held_out).mean()) for model in models
    )
    return Comparison(public_only, float(estimate.log_density(held_out).mean()), non_private)
