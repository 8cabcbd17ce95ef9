"""`PrivateGaussianMixture`: the mixture estimate in the manner of scikit-learn.

This module loads scikit-learn; `import pubpriv` does not load this module.
"""

import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pubpriv.curator import Curator
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.mixture.pipeline import estimate_mixture
from pubpriv.mixture.settings import MOST_UNKNOWN
from pubpriv.privacy.budgets import Budget


class PrivateGaussianMixture(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A Gaussian mixture of private rows, found with the help of public ones.

    Settings are kept as they are given and checked by `fit`, so `get_params`, `set_params` and `sklearn.clone` work.
    Unlike scikit-learn's own estimators it is not fitted to an array: private rows never leave their curator.

    ```
    model = pp.PrivateGaussianMixture(n_components=3).fit(curator, public)
    labels = model.predict(rows)
    ```

    Rows that are given as a table (DataFrame, file, `PublicTable`) go through the model's column expressions; an array
    is taken to be in the model's own columns already, as `sample` draws it.

    Args:
        n_components: k; None: found by the run, at most `max_components`.
        max_components: see `estimate_mixture`, as all others.
        method: `auto`, `bks-scarce` or `bks-ample`.
        constants: of the paper's methods: `practical` or `paper`.
        covariance_type: `full`, `diag`, `spherical` or `auto`.
        min_weight: smallest weight of a component that has to be found.
        budget: what `fit` may spend, in the run's kind; None: all that is left of the run.

    Attributes:
        estimate_: the release itself, a `MixtureEstimate`: its privacy statement, standard errors, diagnostics,
            `save`.
        n_components_: components found.
        weights_: (k,), falling.
        means_: (k, d), in the data's own units.
        covariances_: (k, d, d), whatever the covariance type.
        precisions_: (k, d, d), inverses of the covariances.
        precisions_cholesky_: (k, d, d), upper triangular P with precision P P'.
        converged_: False if the estimate is to be mistrusted; `estimate_.diagnostics` says why.
        n_features_in_: d.
        feature_names_in_: (d,), columns or column expressions.
    """

    def __init__(
        self,
        n_components: int | None = 3,
        *,
        max_components: int = MOST_UNKNOWN,
        method: str = "auto",
        constants: str = "practical",
        covariance_type: str = "full",
        min_weight: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.method = method
        self.constants = constants
        self.covariance_type = covariance_type
        self.min_weight = min_weight
        self.budget = budget

    def fit(self, curator: Curator, public: Any) -> Self:
        """Release a mixture; see `estimate_mixture` for what it costs and what it raises.

        Args:
            curator: the run.
            public: public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`.
        """
        if not isinstance(curator, Curator):
            raise InvalidInput(
                "fit takes the curator of the private rows first, then public rows: "
                "PrivateGaussianMixture(...).fit(curator, public)"
            )
        self.estimate_ = estimate_mixture(public, curator, **self.get_params(deep=False))
        model = self.estimate_.to_sklearn()
        self.n_components_ = len(model.weights_)
        self.weights_, self.means_, self.covariances_ = model.weights_, model.means_, model.covariances_
        self.precisions_, self.precisions_cholesky_ = model.precisions_, model.precisions_cholesky_
        self.converged_ = self.estimate_.converged
        self.n_features_in_ = self.means_.shape[1]
        self.feature_names_in_ = np.array(self.estimate_.columns, dtype=object)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Likeliest component (n,) of each row."""
        model = self._model()
        return np.asarray(model.predict(self._rows(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probabilities (n, k) of the components."""
        model = self._model()
        return np.asarray(model.predict_proba(self._rows(X)))

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of each row (n,), in the data's own units."""
        model = self._model()
        return np.asarray(model.score_samples(self._rows(X)))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002  # scikit-learn's signature
        """Mean log-likelihood per row, in nats."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, seed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Synthetic rows (n, d) and their components (n,), by component; post-processing, free."""
        model = self._model()
        model.random_state = seed
        rows, labels = model.sample(n_samples)
        return np.asarray(rows), np.asarray(labels)

    def _model(self) -> Any:
        check_is_fitted(self, "estimate_")
        return self.estimate_.to_sklearn()

    def _rows(self, X: Any) -> np.ndarray:
        """(n, d) numbers of the model's columns: arrays as they are, tables through the columns' expressions."""
        if isinstance(X, PublicTable | str | os.PathLike) or hasattr(X, "columns"):
            table = PublicTable.open(X, list(self.estimate_.columns))
            if table.dropped:
                raise InvalidInput(f"{table.dropped} rows have a missing or infinite value: leave them out first")
            return table.rows
        try:
            rows = np.asarray(X, dtype=float)
        except (TypeError, ValueError):
            raise InvalidInput("rows must be numbers") from None
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise InvalidInput(f"rows must be an array (n, {self.n_features_in_}), not one of shape {rows.shape}")
        if not np.isfinite(rows).all():
            raise InvalidInput("some rows have a missing or infinite value: leave them out first")
        return rows
