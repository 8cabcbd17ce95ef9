"""All estimators: the one list that commands, flows, forms, deployment files, plans and tests go through."""

from pubpriv.errors import InvalidInput
from pubpriv.estimators.estimator import Estimator
from pubpriv.estimators.gaussian.declaration import GAUSSIAN
from pubpriv.estimators.mean.declaration import MEAN
from pubpriv.estimators.mixture.declaration import MIXTURE
from pubpriv.estimators.quantiles.declaration import DESCRIBE, QUANTILES
from pubpriv.estimators.regression.declaration import REGRESSION

__all__ = [
    "DESCRIBE",
    "ESTIMATORS",
    "GAUSSIAN",
    "MEAN",
    "MIXTURE",
    "QUANTILES",
    "REGRESSION",
    "Estimator",
    "estimator_named",
]

ESTIMATORS: tuple[Estimator, ...] = (MEAN, GAUSSIAN, MIXTURE, QUANTILES, DESCRIBE, REGRESSION)


def estimator_named(name: str) -> Estimator:
    """Return the estimator of this name.

    Raises:
        InvalidInput: there is none.
    """
    for estimator in ESTIMATORS:
        if estimator.name == name:
            return estimator
    raise InvalidInput(f"{name!r} is no estimator: choose {', '.join(each.name for each in ESTIMATORS)}")
