"""A covariance that the user knows: check it, and compute the map that turns it into the identity."""

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.data.codec import public_value, row_tuples
from pubpriv.data.frames import Frame
from pubpriv.errors import InvalidInput
from pubpriv.estimators.public_rows import check_unit

_ACCEPTED = '"auto", "identity", "unknown" or a symmetric positive definite (d, d) array'


@public_value
@dataclass(frozen=True)
class KnownCovariance:
    """A covariance Sigma = U U' and its whitening map: z = W (x - c) with W = U^-1 has covariance I.

    Attributes:
        variances: diagonal of Sigma, in the data's units squared.
        whitening: W (d, d), or None for the identity.
        colouring: U (d, d), or None for the identity.
        sha256: hash of Sigma as given, so that it does not depend on the machine; None for the identity.
    """

    variances: tuple[float, ...]
    whitening: tuple[tuple[float, ...], ...] | None = None
    colouring: tuple[tuple[float, ...], ...] | None = None
    sha256: str | None = None

    @classmethod
    def of(cls, covariance: Any, d: int) -> "KnownCovariance":
        """Read `"identity"` or a (d, d) array.

        Raises:
            InvalidInput: another word, a wrong shape, or a matrix that is not symmetric and positive definite.
        """
        if isinstance(covariance, str):
            if covariance != "identity":
                raise InvalidInput(f"covariance must be {_ACCEPTED}, not {covariance!r}")
            return cls((1.0,) * d)
        sigma = _checked(covariance, d)
        scale = np.sqrt(np.diag(sigma))  # divide out the columns' scales, so that units do not cost precision
        values, vectors = np.linalg.eigh(sigma / np.outer(scale, scale))
        if values[0] <= 1e-13 * values[-1]:
            raise InvalidInput(
                "the known covariance is not positive definite: drop columns that are combinations of others"
            )
        whitening = (vectors / np.sqrt(values)) @ vectors.T / scale
        colouring = scale[:, None] * ((vectors * np.sqrt(values)) @ vectors.T)
        given = hashlib.sha256(sigma.tobytes()).hexdigest()
        return cls(tuple(np.diag(sigma).tolist()), row_tuples(whitening), row_tuples(colouring), given)

    def frame(self, center: np.ndarray) -> Frame:
        """Make the frame z = W (x - center)."""
        return Frame.of(center, None if self.whitening is None else np.array(self.whitening))

    def whiten(self, moves: np.ndarray) -> np.ndarray:
        """Compute W moves, for differences (d,) in the data's units."""
        return moves if self.whitening is None else np.asarray(np.matmul(self.whitening, moves))

    def colour(self, moves: np.ndarray) -> np.ndarray:
        """Compute U moves: turn differences (d,) of z back into the data's units."""
        return moves if self.colouring is None else np.asarray(np.matmul(self.colouring, moves))

    @property
    def covariance(self) -> np.ndarray:
        """Sigma, (d, d)."""
        if self.colouring is None:
            return np.eye(len(self.variances))
        colouring = np.array(self.colouring)
        return np.asarray(colouring @ colouring.T)

    def deviations(self) -> np.ndarray:
        """Standard deviation of each column, (d,)."""
        return np.asarray(np.sqrt(self.variances))

    def fingerprint(self) -> str:
        """Give its name in the run's configuration: `identity`, or a hash of the matrix as given."""
        return "identity" if self.sha256 is None else self.sha256


def read_covariance(path: str, columns: tuple[str, ...]) -> np.ndarray:
    """Read the (d, d) matrix in a CSV file, with or without a first line of column names.

    Raises:
        InvalidInput: no such file, cells that are not numbers, lines of unequal length, or other columns.
    """
    where = f"the covariance file {path}"
    try:
        with Path(path).expanduser().open(newline="", encoding="utf-8-sig") as file:
            lines = [[cell.strip() for cell in line] for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"{where} cannot be read: give a CSV file of numbers, or `identity`") from None
    if lines and sorted(lines[0]) == sorted(columns):
        if lines[0] != list(columns):
            raise InvalidInput(f"{where} has its columns in another order: they have to be {', '.join(columns)}")
        lines = lines[1:]
    try:
        return np.array([[float(cell) for cell in line] for line in lines])
    except ValueError:
        raise InvalidInput(f"{where} is not a table of numbers with equally long lines") from None


def _checked(covariance: Any, d: int) -> np.ndarray:
    try:
        sigma = np.asarray(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"covariance must be {_ACCEPTED}") from None
    if sigma.shape != (d, d):
        raise InvalidInput(f"the known covariance has shape {sigma.shape}, but {d} columns need ({d}, {d})")
    if not np.isfinite(sigma).all():
        raise InvalidInput("the known covariance has a missing or infinite entry")
    if (np.diag(sigma) <= 0).any():
        raise InvalidInput("the known covariance is not positive definite: a variance on its diagonal is not positive")
    scale = np.sqrt(np.diag(sigma))
    for value in (scale.min(), scale.max()):
        check_unit(float(value), "the square root of a variance of the known covariance")
    if (np.abs(sigma - sigma.T) > 1e-9 * np.outer(scale, scale)).any():
        raise InvalidInput("the known covariance is not symmetric")
    return (sigma + sigma.T) / 2
