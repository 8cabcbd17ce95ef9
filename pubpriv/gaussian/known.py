"""A covariance that the user knows: checked, and turned into the map that makes it the identity."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pubpriv.data.codec import public_value
from pubpriv.data.frames import Frame
from pubpriv.errors import InvalidInput

ACCEPTED = '"identity" or a symmetric positive definite (d, d) array'


@public_value
@dataclass(frozen=True)
class KnownCovariance:
    """z = W (x - c) has covariance I if x has the known one, Sigma = U U', W = U^-1.

    Attributes:
        variances: diagonal of Sigma, in the data's units squared.
        whitening: W (d, d), or None for the identity.
        colouring: U (d, d), or None for the identity.
    """

    variances: tuple[float, ...]
    whitening: tuple[tuple[float, ...], ...] | None = None
    colouring: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, covariance: Any, d: int) -> "KnownCovariance":
        """From `"identity"` or a (d, d) array.

        Raises:
            InvalidInput: another word, a wrong shape, or a matrix that is not symmetric and positive definite.
        """
        if isinstance(covariance, str):
            if covariance != "identity":
                raise InvalidInput(
                    f"covariance must be {ACCEPTED}, not {covariance!r}; where it is not known, estimate a Gaussian"
                )
            return cls((1.0,) * d)
        sigma = _checked(covariance, d)
        scale = np.sqrt(np.diag(sigma))  # column scales apart, so that units do not cost digits
        values, vectors = np.linalg.eigh(sigma / np.outer(scale, scale))
        if values[0] <= 1e-13 * values[-1]:
            raise InvalidInput(
                "the known covariance is not positive definite: drop columns that are combinations of others"
            )
        whitening = (vectors / np.sqrt(values)) @ vectors.T / scale
        colouring = scale[:, None] * ((vectors * np.sqrt(values)) @ vectors.T)
        return cls(tuple(np.diag(sigma).tolist()), _rows(whitening), _rows(colouring))

    def frame(self, center: np.ndarray) -> Frame:
        """The frame z = W (x - center)."""
        return Frame.of(center, None if self.whitening is None else np.array(self.whitening))

    def whiten(self, moves: np.ndarray) -> np.ndarray:
        """W moves for differences (d,) in the data's units."""
        return moves if self.whitening is None else np.asarray(np.matmul(self.whitening, moves))

    def colour(self, moves: np.ndarray) -> np.ndarray:
        """U moves: differences (d,) of z back in the data's units."""
        return moves if self.colouring is None else np.asarray(np.matmul(self.colouring, moves))

    def deviations(self) -> np.ndarray:
        """Standard deviation of each column, (d,)."""
        return np.asarray(np.sqrt(self.variances))

    def fingerprint(self) -> str:
        """For the run's configuration: `identity`, or a hash of the matrix's bits."""
        if self.whitening is None:
            return "identity"
        from hashlib import sha256

        return sha256(np.array(self.colouring).tobytes()).hexdigest()


def _checked(covariance: Any, d: int) -> np.ndarray:
    try:
        sigma = np.asarray(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"covariance must be {ACCEPTED}") from None
    if sigma.shape != (d, d):
        raise InvalidInput(f"the known covariance has shape {sigma.shape}, but {d} columns need ({d}, {d})")
    if not np.isfinite(sigma).all():
        raise InvalidInput("the known covariance has a missing or infinite entry")
    if (np.diag(sigma) <= 0).any():
        raise InvalidInput("the known covariance is not positive definite: a variance on its diagonal is not positive")
    scale = np.sqrt(np.diag(sigma))
    if (np.abs(sigma - sigma.T) > 1e-9 * np.outer(scale, scale)).any():
        raise InvalidInput("the known covariance is not symmetric")
    return (sigma + sigma.T) / 2


def _rows(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))
