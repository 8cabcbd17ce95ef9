"""`PrivateGaussianMixture`: the mixture estimate with scikit-learn's interface.

This module loads scikit-learn; `import pubpriv` does not load this module.
"""

import inspect
import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from pubpriv.curator import Curator
from pubpriv.data.columns import parse_columns
from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.estimators.mixture._settings import MixtureSettings
from pubpriv.estimators.mixture.driver import estimate_mixture
from pubpriv.estimators.settings import OF_GROUPS, settings_of
from pubpriv.privacy.budgets import BudgetLike


def _signature() -> inspect.Signature:
    """Make the constructor's signature, which scikit-learn reads: the `MixtureSettings`, and the budget."""
    named = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter(
            "n_components", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=3, annotation=int | str | None
        ),
    ]
    # groups come from the curator's table
    others = [each for each in settings_of(MixtureSettings) if each.field not in ("n_components", *OF_GROUPS)]
    parameters += [inspect.Parameter(each.field, named, default=each.default, annotation=each.type) for each in others]
    return inspect.Signature(
        [*parameters, inspect.Parameter("budget", named, default=None, annotation=BudgetLike | None)]
    )


_SIGNATURE = _signature()

_NOT_A_CURATOR = (
    "fit takes the curator of the private rows first, then public rows: PrivateGaussianMixture(...).fit(curator, "
    "public). Rows that are given as an array are never private rows. GridSearchCV, cross_validate and pipelines fit "
    "to parts of an array, and each part would be a release to pay for: let n_components='auto' choose in one release, "
    "or compare fitted models by score(X), bic(X) or aic(X) on public rows"
)


class PrivateGaussianMixture(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]  # scikit-learn has no types
    TransformerMixin,  # type: ignore[misc]
    DensityMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A Gaussian mixture of private rows, estimated with the help of public ones.

    Settings are stored as given and checked by `fit`, so `get_params`, `set_params` and `sklearn.clone` work. Unlike
    scikit-learn's own estimators, `fit` takes no array: private rows never leave their curator. GridSearchCV and
    cross_validate, which fit to parts of a table, are refused: each part would be a release of its own.
    `n_components="auto"` chooses in one release, and `bic`, `aic` and `score` compare models on public rows.

    ```
    model = pp.PrivateGaussianMixture(n_components=3).fit(curator, public)
    labels = model.predict(rows)
    ```

    Rows given as a table (DataFrame, file, `PublicTable`) go through the model's column expressions; an array must be
    in the model's own columns already, as `sample` draws them.

    Args:
        n_components: k; or found by the run, at most `max_components`: `auto` or None: the number that predicts best;
            `apart`: as many as lie apart.
        budget: what `fit` may spend, in the run's kind, or as text (`zcdp:0.5`); None: all that is left of the run.
        settings: see `estimate_mixture` and `MixtureSettings`.

    Attributes:
        estimate_: the release itself, a `MixtureEstimate`: its privacy statement, standard errors, diagnostics,
            `save`.
        n_components_: number of components found.
        weights_: (k,), decreasing.
        means_: (k, d), in the data's own units.
        covariances_: (k, d, d), for every covariance type.
        precisions_: (k, d, d), inverses of the covariances.
        precisions_cholesky_: (k, d, d), upper triangular P with precision P P'.
        converged_: False if the estimate is to be mistrusted; `estimate_.diagnostics` says why.
        n_features_in_: d.
        feature_names_in_: (d,), columns or column expressions.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2)) + 9 * (np.arange(4000) % 2)[:, None]
        >>> trial = pp.Curator.simulation(rows, "zcdp:0.5", seed=2)
        >>> model = pp.PrivateGaussianMixture(n_components=2).fit(trial, rows[:20])
        >>> len(set(model.predict([[0, 0], [9, 9]])))
        2
    """

    def __init__(
        self, n_components: int | str | None = 3, *, budget: BudgetLike | None = None, **settings: Any
    ) -> None:
        given = _SIGNATURE.bind(self, n_components, budget=budget, **settings)
        given.apply_defaults()
        for name, value in given.arguments.items():
            if name != "self":
                setattr(self, name, value)

    def fit(self, curator: Curator, public: Any = None) -> Self:
        """Release a mixture; see `estimate_mixture` for what it costs and what it raises.

        Args:
            curator: the run.
            public: public rows of the same kind: path, DataFrame, (m, d) array or `PublicTable`.
        """
        if not isinstance(curator, Curator):
            raise InvalidInput(_NOT_A_CURATOR)
        if public is None:
            raise InvalidInput("fit takes public rows, too: PrivateGaussianMixture(...).fit(curator, public)")
        self.estimate_ = estimate_mixture(public, curator, **self.get_params(deep=False))
        model = self._model()
        self.n_components_ = len(model.weights_)
        self.weights_, self.means_, self.covariances_ = model.weights_, model.means_, model.covariances_
        self.precisions_, self.precisions_cholesky_ = model.precisions_, model.precisions_cholesky_
        self.converged_ = self.estimate_.converged
        self.n_features_in_ = self.means_.shape[1]
        self.feature_names_in_ = np.array(self.estimate_.columns, dtype=object)
        return self

    def fit_predict(self, curator: Curator, public: Any = None) -> np.ndarray:
        """Release a mixture, and give the likeliest component (m,) of each public row: private rows have no labels."""
        return self.fit(curator, public).predict(public)

    def fit_transform(self, curator: Curator, public: Any = None) -> Any:
        """Release a mixture, and give `transform` of the public rows."""
        return self.fit(curator, public).transform(public)

    def transform(self, X: Any) -> np.ndarray:
        """Return posterior probabilities (n, k), as features of a pipeline; `set_output` and names work as usual."""
        return self.predict_proba(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return likeliest component (n,) of each row."""
        model = self._model()
        return np.asarray(model.predict(self._rows(X)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return posterior probabilities (n, k) of the components."""
        model = self._model()
        return np.asarray(model.predict_proba(self._rows(X)))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return log p(x) of each row (n,), in the data's own units; see `MixtureEstimate.background`."""
        rows = self._rows_of_fitted(X)
        return self.estimate_.log_density(rows)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002  # scikit-learn's signature
        """Return mean log-likelihood per row, in nats."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Return Bayesian information criterion on rows, public or held out: lower is better.

        The model was found by other rows, so it is a comparison of models on these, and not the criterion of a fit.
        """
        rows = self._rows_of_fitted(X)
        return -2 * self.score(rows) * len(rows) + self._n_parameters * float(np.log(len(rows)))

    def aic(self, X: Any) -> float:
        """Return Akaike information criterion on rows, public or held out: lower is better; see `bic`."""
        rows = self._rows_of_fitted(X)
        return -2 * self.score(rows) * len(rows) + 2 * self._n_parameters

    def to_sklearn(self) -> GaussianMixture:
        """Return a fitted `sklearn.mixture.GaussianMixture` with these parameters and the names of the columns.

        It is plain scikit-learn: its columns are the model's, so a table has to hold `log1p(x)` under that name.
        """
        model = self._model()
        model.feature_names_in_ = self.feature_names_in_
        return model

    def sample(self, n_samples: int = 1, seed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return synthetic rows (n, d) and their components (n,), by component; post-processing, free."""
        model = self._model()
        model.random_state = seed
        rows, labels = model.sample(n_samples)
        return np.asarray(rows), np.asarray(labels)

    def _model(self) -> Any:
        check_is_fitted(self, "estimate_")
        return self.estimate_.to_sklearn()

    def _rows_of_fitted(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "estimate_")
        return self._rows(X)

    @property
    def _n_features_out(self) -> int:
        """k, for the names of `transform`."""
        return int(self.n_components_)

    @property
    def _n_parameters(self) -> int:
        """Free numbers of the model, as scikit-learn counts them."""
        k, d = self.means_.shape
        kind = str(self.estimate_.diagnostics.get("covariance_type", "full"))
        shape = {"full": d * (d + 1) // 2, "diag": d, "spherical": 1}[kind]
        return int(k * (shape + d) + k - 1)

    def _rows(self, X: Any) -> np.ndarray:
        """(n, d) numbers of the model's columns: arrays as they are, tables through the columns' expressions."""
        if isinstance(X, PublicTable | str | os.PathLike) or hasattr(X, "columns"):
            table = PublicTable.open(X, parse_columns(self.estimate_.columns))
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


PrivateGaussianMixture.__init__.__signature__ = _SIGNATURE  # type: ignore[attr-defined]
