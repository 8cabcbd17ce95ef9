"""Standard errors of a released mixture: sampling by plug-in, privacy from the noise that was drawn.

Both condition on the assignment of records to components: where components overlap, what their borders add is not
counted. For a component with released count N, covariance Sigma, and frame covariance F (its records were whitened by
F^(-1/2)), among k components:

| of | sampling variance | privacy variance |
|---|---|---|
| weight w | w (1 - w) / n | ((1 - w)^2 + (k - 1) w^2) (sd of a count / n)^2 |
| mean_i | Sigma_ii / N | F_ii (sd of a sum / N)^2 |
| covariance_ij | (Sigma_ii Sigma_jj + Sigma_ij^2) / N | (F_ii F_jj + F_ij^2) / 2 (sd of a moment / N)^2 |
"""

from typing import Any

import numpy as np

from pubpriv.estimators.mixture.components import Round
from pubpriv.estimators.mixture.scaling import Scaling
from pubpriv.released.law import Mixture


def standard_errors(
    last: Round | None, order: np.ndarray, scaling: Scaling, n: int, m: int, chosen: Mixture
) -> dict[str, Any]:
    """{"weights" (k,), "means" (k, d), "covariances" (k, d, d)}: {"sampling", "privacy"}, in the data's units.

    Args:
        last: the round that was released, or None where the public model was kept: then no private row entered
            the estimate, privacy errors are zero, and sampling errors are those of m public rows.
        order: components by falling weight.
        scaling: of the standard coordinates.
        n: private rows.
        m: public rows.
        chosen: the model in standard coordinates.
    """
    weights, _, covariances = (values[order] for values in chosen.arrays)
    counts = np.array(last.counts)[order] if last else np.maximum(weights * m, 1.0)
    size = n if last else m
    frames = np.array(last.frames)[order] if last else np.zeros_like(covariances)
    count_sd, sum_sd, moment_sd = (last.count_sd, last.sum_sd, last.moment_sd) if last else (0.0, 0.0, 0.0)
    scale = np.array(scaling.scale)
    own, by = np.einsum("kii->ki", covariances), np.einsum("kii->ki", frames)
    per = counts[:, None, None]
    return {
        "weights": {
            "sampling": np.sqrt(weights * (1 - weights) / size),
            # a weight is a count over the sum of counts, whose noise is shared
            "privacy": count_sd / size * np.sqrt((1 - weights) ** 2 + (len(weights) - 1) * weights**2),
        },
        "means": {
            "sampling": scale * np.sqrt(own / counts[:, None]),
            "privacy": scale * np.sqrt(by) * sum_sd / counts[:, None],
        },
        "covariances": {
            "sampling": np.outer(scale, scale) * np.sqrt((own[:, :, None] * own[:, None, :] + covariances**2) / per),
            "privacy": np.outer(scale, scale)
            * np.sqrt((by[:, :, None] * by[:, None, :] + frames**2) / 2)
            * moment_sd
            / per,
        },
    }
