"""Means, covariances and mixtures of a private table, released under differential privacy.

Public names are loaded on first use, so that `import pubpriv` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "ApproximateDP": "pubpriv.privacy.budgets",
    "ByCategory": "pubpriv.data.categories",
    "Curator": "pubpriv.curator",
    "GaussianEstimate": "pubpriv.released.kinds",
    "Ledger": "pubpriv.ledger",
    "MeanEstimate": "pubpriv.released.kinds",
    "MixtureEstimate": "pubpriv.released.kinds",
    "PrivateGaussianMixture": "pubpriv.estimators.mixture.scikit",
    "PrivateLinearRegression": "pubpriv.estimators.regression.scikit",
    "PrivateTable": "pubpriv.data.tables",
    "PublicTable": "pubpriv.data.tables",
    "PureDP": "pubpriv.privacy.budgets",
    "QuantilesEstimate": "pubpriv.released.quantiles",
    "Regression": "pubpriv.released.regression.model",
    "RegressionEstimate": "pubpriv.released.fitted",
    "ZeroConcentratedDP": "pubpriv.privacy.budgets",
    "estimate_gaussian": "pubpriv.estimators.gaussian.driver",
    "estimate_mean": "pubpriv.estimators.mean.driver",
    "estimate_mixture": "pubpriv.estimators.mixture.driver",
    "estimate_quantiles": "pubpriv.estimators.quantiles.driver",
    "estimate_regression": "pubpriv.estimators.regression.driver",
    "load": "pubpriv.released.kinds",
    "parse_budget": "pubpriv.privacy.budgets",
}

if TYPE_CHECKING:
    from pubpriv.curator import Curator
    from pubpriv.data.categories import ByCategory
    from pubpriv.data.tables import PrivateTable, PublicTable
    from pubpriv.estimators.gaussian.driver import estimate_gaussian
    from pubpriv.estimators.mean.driver import estimate_mean
    from pubpriv.estimators.mixture.driver import estimate_mixture
    from pubpriv.estimators.mixture.scikit import PrivateGaussianMixture
    from pubpriv.estimators.quantiles.driver import estimate_quantiles
    from pubpriv.estimators.regression.driver import estimate_regression
    from pubpriv.estimators.regression.scikit import PrivateLinearRegression
    from pubpriv.ledger import Ledger
    from pubpriv.privacy.budgets import ApproximateDP, PureDP, ZeroConcentratedDP, parse_budget
    from pubpriv.released.fitted import RegressionEstimate
    from pubpriv.released.kinds import GaussianEstimate, MeanEstimate, MixtureEstimate, load
    from pubpriv.released.quantiles import QuantilesEstimate
    from pubpriv.released.regression.model import Regression

__all__ = [
    "ApproximateDP",
    "ByCategory",
    "Curator",
    "GaussianEstimate",
    "Ledger",
    "MeanEstimate",
    "MixtureEstimate",
    "PrivateGaussianMixture",
    "PrivateLinearRegression",
    "PrivateTable",
    "PublicTable",
    "PureDP",
    "QuantilesEstimate",
    "Regression",
    "RegressionEstimate",
    "ZeroConcentratedDP",
    "estimate_gaussian",
    "estimate_mean",
    "estimate_mixture",
    "estimate_quantiles",
    "estimate_regression",
    "load",
    "parse_budget",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pubpriv")
    if name not in _HOMES:
        raise AttributeError(f"module 'pubpriv' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
