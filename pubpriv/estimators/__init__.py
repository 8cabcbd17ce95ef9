"""All estimators: the one list that commands, flows, forms, deployment files, plans and tests go through."""

from pubpriv.estimators.estimator import Estimator
from pubpriv.estimators.gaussian.declaration import GAUSSIAN
from pubpriv.estimators.mean.declaration import MEAN
from pubpriv.estimators.mixture.declaration import MIXTURE
from pubpriv.estimators.quantiles.declaration import DESCRIBE, QUANTILES
from pubpriv.estimators.regression.declaration import REGRESSION

__all__ = ["DESCRIBE", "ESTIMATORS", "GAUSSIAN", "MEAN", "MIXTURE", "QUANTILES", "REGRESSION", "Estimator"]

ESTIMATORS: tuple[Estimator, ...] = (MEAN, GAUSSIAN, MIXTURE, QUANTILES, DESCRIBE, REGRESSION)
