"""What EM makes of rows without privacy, from where a release begins: the numbers that a release of a mixture means.

Real tables are no mixtures of Gaussians, so there is no true mixture; but the release describes a place at which EM,
run over the same rows, stays or from which it goes.
"""

import numpy as np

from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.numbers import Number

_RIDGE = 1e-6
"""Part of a variance that EM adds to it, which only matters for components of a heap of equal rows."""


class LocalFit:
    """EM over rows, from the components of a release, as far as it goes.

    Args:
        estimate: where it starts.
        rows: (n, d), the columns of the estimate.
    """

    def __init__(self, estimate: MixtureEstimate, rows: np.ndarray) -> None:
        from sklearn.mixture import GaussianMixture

        scale = rows.std(axis=0)
        law = estimate.mixture
        covariances = np.array(law.covariances) / np.multiply.outer(scale, scale)
        found = GaussianMixture(
            len(law.weights),
            weights_init=np.array(law.weights) / np.sum(law.weights),
            means_init=np.array(law.means) / scale,
            precisions_init=np.linalg.inv(covariances),
            reg_covar=_RIDGE,
            max_iter=500,
        ).fit(rows / scale)
        self._places = {name: at for at, name in enumerate(estimate.columns)}
        self._weights, self._means = found.weights_, found.means_ * scale
        self._covariances = found.covariances_ * np.multiply.outer(scale, scale)

    def value(self, number: Number) -> float:
        """Return what EM says of a number of the release."""
        assert number.component is not None
        at = number.component - 1
        if number.column is None:
            return float(self._weights[at])
        place = self._places[number.column]
        if number.other_column is None:
            return float(self._means[at, place])
        return float(self._covariances[at, place, self._places[number.other_column]])
