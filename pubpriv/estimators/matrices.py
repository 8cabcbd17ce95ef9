"""Operations on symmetric matrices that several estimators use."""

import numpy as np


def floored(matrix: np.ndarray, floor: float) -> np.ndarray:
    """Return the symmetric `matrix` with its eigenvalues raised to at least `floor`."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, floor)) @ vectors.T)


def entry_variances(gram: np.ndarray, shape: float, trace: float) -> np.ndarray:
    """Return the variances of a_i' E a_j, where gram = a a' and E is symmetric noise.

    `shape` and `trace` are the variances of its trace-free part and its trace part.

    a_i' E a_j = <E, H> with H = (a_i a_j' + a_j a_i') / 2, so
    |H|^2 = (|a_i|^2 |a_j|^2 + (a_i . a_j)^2) / 2 and tr H = a_i . a_j.
    """
    d = len(gram)
    own = np.diag(gram)
    square = (np.outer(own, own) + gram**2) / 2
    return np.asarray(shape * (square - gram**2 / d) + trace * gram**2 / d)
