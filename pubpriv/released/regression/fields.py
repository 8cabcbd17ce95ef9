"""Errors of functions of a released mean and covariance, to first order, by source.

A function f of a mean and covariance (mu, S) changes by a . dmu + sum A_ij dS_ij to first order. A release says what is
in dmu and dS: exactly, if its file has the law of its noise (`NoiseLaw`); else by the errors of single numbers, which
`_by_entries` completes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pubpriv.released.law import Mixture
from pubpriv.released.noise import NoiseLaw

SOURCES = ("sampling", "privacy", "clipping", "shrinkage")
"""Sources of error of what follows from a mean and covariance."""

ALONE = "alone"
"""The error that sampling would leave of a group's numbers by themselves, which is no part of their error."""

_SMALL = 1e-300

_LEVEL = 1e-6
"""Change of a sum with the scale of the covariance, over its standard error for one row, that rounding may make."""


@dataclass(frozen=True)
class Functions:
    """m functions of a mean and covariance of d columns, to first order.

    Attributes:
        means: (m, d) derivatives by the mean.
        covariances: (m, d, d) derivatives by the covariance, symmetric.
    """

    means: np.ndarray
    covariances: np.ndarray

    @classmethod
    def of_covariance(cls, covariances: np.ndarray) -> "Functions":
        """Make functions of the covariance alone, from derivatives (m, d, d) that need not be symmetric."""
        symmetric = (covariances + covariances.transpose(0, 2, 1)) / 2
        return cls(np.zeros(covariances.shape[:2]), symmetric)

    def combined(self, weights: np.ndarray) -> "Functions":
        """Return sums of these functions with weights (l, m)."""
        return Functions(weights @ self.means, np.einsum("lm,mij->lij", weights, self.covariances))


@dataclass(frozen=True)
class Field:
    """A released mean and covariance, with their standard errors by source, in the data's own units.

    Attributes:
        mean: (d,).
        covariance: (d, d).
        mean_errors: standard errors (d,) by source.
        covariance_errors: standard errors (d, d) by source.
        noise: law of the noise; None: only the standard errors are known.
        drawn_to: mean and covariance of all groups, towards which those of a group were drawn; None: they were not.
    """

    mean: np.ndarray
    covariance: np.ndarray
    mean_errors: Mapping[str, np.ndarray]
    covariance_errors: Mapping[str, np.ndarray]
    noise: NoiseLaw | None = None
    drawn_to: tuple[np.ndarray, np.ndarray] | None = None

    def errors(self, source: str, functions: Functions) -> np.ndarray:
        """Compute the covariance (m, m) of the errors that a source leaves in m functions."""
        if source == "privacy" and self.noise is not None:
            return np.asarray(self.noise.of_means(functions.means) + self.noise.of_covariances(functions.covariances))
        of_means = self.mean_errors.get(source, np.zeros(len(self.mean)))
        of_covariance = self.covariance_errors.get(source, np.zeros(self.covariance.shape))
        if source == "clipping":
            known = np.zeros(of_covariance.shape) if self.noise is None else np.array(self.noise.lost)
            rest = np.sqrt(np.maximum(of_covariance**2 - _entries_of(known), 0.0))
            most = np.abs(functions.means) @ of_means  # all means may be off to the same side
            beyond = _traces(functions.covariances, known)
            return np.asarray(np.outer(most, most) + beyond + self._by_entries(functions.covariances, rest))
        if source == "sampling" and self.drawn_to is None:
            return self._of_sampling(functions, of_means, of_covariance)
        found = self._of_mean(functions.means, of_means) + self._by_entries(functions.covariances, of_covariance)
        if source == "shrinkage" and self.drawn_to is not None:
            # each number was drawn by itself towards that of all groups: the signs of these errors are known
            mean, covariance = self.drawn_to
            moved = functions.means @ (of_means * np.sign(self.mean - mean))
            moved = moved + np.einsum(
                "mij,ij->m", functions.covariances, of_covariance * np.sign(self.covariance - covariance)
            )
            found = found + np.outer(moved, moved)
        return np.asarray(found)

    def _by_entries(self, weights: np.ndarray, errors: np.ndarray) -> np.ndarray:
        """Compute the covariance (m, m) of errors in sums of covariances, from the standard errors (d, d) of each.

        Errors of a covariance S that was measured in whitened coordinates, and those of sampling from a Gaussian, have
        the covariance c tr(A S B S) of two sums with weights A and B, and the variance c (S_ii S_jj + S_ij^2) / 2 of
        one entry. So each entry tells c. If they differ, as for long tails or shrunk groups, c is their average over
        the entries of a sum, each counted by the square of its weight in standardised columns.
        """
        sizes = np.diag(self.covariance)
        shares = weights**2 * np.outer(sizes, sizes)
        own = (shares * self._factors(errors)).sum(axis=(1, 2)) / np.maximum(shares.sum(axis=(1, 2)), _SMALL)
        return np.asarray(_traces(weights, self.covariance) * np.sqrt(np.outer(own, own)))

    def _factors(self, errors: np.ndarray) -> np.ndarray:
        """Compute the c (d, d) that each entry tells."""
        sizes = np.diag(self.covariance)
        return np.asarray(errors**2 / np.maximum((np.outer(sizes, sizes) + self.covariance**2) / 2, _SMALL))

    def _of_sampling(self, functions: Functions, of_means: np.ndarray, of_covariance: np.ndarray) -> np.ndarray:
        """Compute the covariance (m, m) of errors of sampling.

        Long tails of a column make its variance uncertain, but not slopes and correlations by themselves: with scatter
        that does not depend on the regressors these have the errors of Gaussian rows. A common scale of whole rows, as
        of an elliptical law, makes them larger by its fourth moment, and every column has tails at least as long as
        that. So sums that do not change with the scale of S get the factor of the column with the shortest tails.
        """
        weights, sizes = functions.covariances, np.maximum(np.diag(self.covariance), _SMALL)
        found = self._by_entries(weights, of_covariance)
        traces = _traces(weights, self.covariance)
        level = np.einsum("mij,ij->m", weights, self.covariance)
        scaled = np.abs(level) > _LEVEL * np.sqrt(np.maximum(np.diag(traces), 0.0))
        used = (weights != 0).any(axis=2)
        tails = np.where(used, np.diag(self._factors(of_covariance)), np.inf).min(axis=1, initial=np.inf)
        even = np.where(used, 2 * of_means**2 / sizes, np.inf).min(axis=1, initial=np.inf)
        tails = np.where(np.isfinite(tails), np.maximum(tails, even), 0.0)
        own = np.where(scaled, np.sqrt(np.diag(found) / np.maximum(np.diag(traces), _SMALL)), np.sqrt(tails))
        return np.asarray(self._of_mean(functions.means, of_means) + traces * np.outer(own, own))

    def _of_mean(self, weights: np.ndarray, errors: np.ndarray) -> np.ndarray:
        """Compute the same for sums of means, with weights (m, d), from the standard errors (d,) of each."""
        sizes = np.maximum(np.diag(self.covariance), _SMALL)
        shares = weights**2 * sizes
        own = shares @ (errors**2 / sizes) / np.maximum(shares.sum(axis=1), _SMALL)
        return np.asarray(weights @ self.covariance @ weights.T * np.sqrt(np.outer(own, own)))


@dataclass(frozen=True)
class WholeMixture:
    """The mean and covariance of a whole released mixture, which its components and weights make up.

    Attributes:
        law: the mixture.
        weight_errors: standard errors (k,) of the weights, by source.
        components: mean and covariance of each component, with their errors.
        n: number of rows, or of persons.
    """

    law: Mixture
    weight_errors: Mapping[str, np.ndarray]
    components: tuple[Field, ...]
    n: float

    @property
    def mean(self) -> np.ndarray:
        """(d,)."""
        return self.law.moments[0]

    @property
    def covariance(self) -> np.ndarray:
        """(d, d)."""
        return self.law.moments[2]

    def errors(self, source: str, functions: Functions) -> np.ndarray:
        """Compute the covariance (m, m) of the errors that a source leaves in m functions.

        The error of sampling is that of rows of this very mixture: it has the uneven scatter that the mixture has.
        """
        if source == ALONE:  # the error of sampling is that of the group's rows
            return np.zeros((len(functions.means),) * 2)
        weights, means, _ = self.law.arrays
        weights, apart = weights / weights.sum(), means - self.mean
        levels = self._levels(functions)
        levels = levels - (levels @ weights)[:, None]
        if source == "sampling":
            return self._of_rows(functions, levels)
        of_weights = self.weight_errors.get(source, np.zeros(len(weights)))
        total = (levels * of_weights**2) @ levels.T
        for weight, off, component in zip(weights, apart, self.components, strict=True):
            moved = functions.means + 2 * functions.covariances @ off
            total = total + component.errors(source, Functions(weight * moved, weight * functions.covariances))
        return np.asarray(total)

    def _levels(self, functions: Functions) -> np.ndarray:
        """Compute the mean (m, k) of a . z + z' A z in each component, z = x - mean."""
        _, means, covariances = self.law.arrays
        apart = means - self.mean
        squares = np.einsum("ki,mij,kj->mk", apart, functions.covariances, apart)
        return np.asarray(
            functions.means @ apart.T + squares + np.einsum("mij,kij->mk", functions.covariances, covariances)
        )

    def _of_rows(self, functions: Functions, levels: np.ndarray) -> np.ndarray:
        """Compute the covariance (m, m) of a . z + z' A z over n rows of the mixture: exact for Gaussian components."""
        weights, means, covariances = self.law.arrays
        weights, total = weights / weights.sum(), np.zeros((len(levels), len(levels)))
        for k, off in enumerate(means - self.mean):
            slopes = functions.means + 2 * functions.covariances @ off
            own = slopes @ covariances[k] @ slopes.T + 2 * _traces(functions.covariances, covariances[k])
            total += weights[k] * (own + np.outer(levels[:, k], levels[:, k]))
        return np.asarray(total / self.n)


Source = Field | WholeMixture
"""A mean and covariance whose errors are known."""


def _traces(weights: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Compute tr(A S B S) (m, m) of each two of the weights A, B (m, d, d)."""
    inner = weights @ matrix
    flat = inner.transpose(0, 2, 1).reshape(len(inner), -1)
    return np.asarray(inner.reshape(len(inner), -1) @ flat.T)


def _entries_of(lost: np.ndarray) -> np.ndarray:
    """Compute the squared errors (d, d) of single covariances that an unmeasured second moment (d, d) leaves."""
    return np.asarray((np.outer(np.diag(lost), np.diag(lost)) + lost**2) / 2)
