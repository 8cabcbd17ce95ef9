"""A regression in scikit-learn's style."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pubpriv.curator import Curator
from pubpriv.estimators.regression.driver import estimate_regression

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Linear regression of a private table, with the attributes of `sklearn.linear_model.LinearRegression`.

    Args:
        outcome: name of a column of the private table.
        on: names of the other columns, in the order of `coef_`; None: as the table has them.
        budget: what the fit may spend; None: all that is left of the run.
        force: run even if little would come of it.

    Attributes:
        coef_: (d,) coefficients.
        intercept_: the expected outcome where all columns are zero.
        feature_names_in_: names of the columns, (d,).
        n_features_in_: d.
        estimate_: the released `RegressionEstimate`, with errors and statement.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> x = np.random.default_rng(1).standard_normal((5000, 2))
        >>> rows = np.column_stack([x, x @ [1.0, -2.0] + np.random.default_rng(2).standard_normal(5000)])
        >>> curator = pp.Curator.simulation(rows, "zcdp:0.5", seed=3, columns=("a", "b", "y"))
        >>> fitted = pp.PrivateLinearRegression(outcome="y").fit(curator, rows[:60])
        >>> fitted.predict(x[:5]).shape
        (5,)
    """

    def __init__(
        self, outcome: str = "y", *, on: Sequence[str] | None = None, budget: Any = None, force: bool = False
    ) -> None:
        self.outcome = outcome
        self.on = on
        self.budget = budget
        self.force = force

    def fit(self, curator: Curator, public: Any) -> Self:
        """Estimate from a private table, with the help of public rows; see `estimate_regression`."""
        self.estimate_ = estimate_regression(
            public, curator, outcome=self.outcome, on=self.on, budget=self.budget, force=self.force
        )
        self.coef_, self.intercept_ = self.estimate_.coefficients, self.estimate_.intercept
        self.feature_names_in_ = np.array(self.estimate_.on, dtype=object)
        self.n_features_in_ = len(self.coef_)
        return self

    def predict(self, rows: "ArrayLike") -> np.ndarray:
        """Return the expected outcome (m,) of rows (m, d)."""
        check_is_fitted(self)
        return np.asarray(np.asarray(rows, dtype=float) @ self.coef_ + self.intercept_)
