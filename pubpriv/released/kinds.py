"""Kinds of released estimates: means, Gaussians, mixtures, quantiles and regressions, and their model files."""

import json
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pubpriv.errors import InvalidInput
from pubpriv.released.estimate import Estimate
from pubpriv.released.fitted import RegressionEstimate
from pubpriv.released.groups import Group
from pubpriv.released.law import Mixture
from pubpriv.released.margins import check_count
from pubpriv.released.numbers import counted
from pubpriv.released.original_units import OriginalNumber, in_file, in_original_units
from pubpriv.released.quantiles import QuantilesEstimate
from pubpriv.released.regression.model import Regression
from pubpriv.released.regression.principal import PrincipalComponents, principal_components
from pubpriv.released.regression.regression import regress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.mixture import GaussianMixture


@dataclass(frozen=True, kw_only=True, repr=False)
class MeanEstimate(Estimate):
    """A released mean.

    Attributes:
        center: d numbers, in the data's own units.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2))
        >>> found = pp.estimate_mean(rows[:5], pp.Curator.simulation(rows, "zcdp:0.5", seed=2))
        >>> sorted(found.standard_errors["mean"])
        ['privacy', 'sampling']
    """

    kind: ClassVar[str] = "mean"
    quantities: ClassVar[Mapping[str, str]] = {"mean": "mean"}
    targets: ClassVar[Mapping[str, str]] = {
        "gaussian": "mean of the Gaussian that the rows are drawn from",
        "moments": "mean of the table itself, whatever its law",
    }

    center: tuple[float, ...]

    @property
    def estimand(self) -> str:
        """What was estimated, in words; only a mean with a learned covariance has a choice of targets."""
        return self.targets.get(str(self.target), "mean of the table itself")

    @property
    def mean(self) -> np.ndarray:
        """(d,)."""
        return np.array(self.center)

    def in_original_units(self) -> tuple[OriginalNumber, ...]:
        """Return numbers of columns like `sqrt(cost)` or `log1p(cost)` in the units of `cost`; it costs nothing.

        Of `sqrt(cost)` it is the mean, of logarithms the geometric mean: that of `cost` itself does not follow.
        """
        return in_original_units(self)

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return super().to_json() | in_file(self)

    def parts_of_group(self, group: Group) -> dict[str, Any]:
        """Return the mean of a group."""
        return {"center": tuple(group.parts["mean"].tolist())}

    @classmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read the mean of a group."""
        return {"center": tuple(float(value) for value in data["mean"])}


@dataclass(frozen=True, kw_only=True, repr=False)
class _LawEstimate(Estimate):
    """Base class of released laws of rows: Gaussian and mixture."""

    @property
    @abstractmethod
    def law(self) -> Mixture:
        """The law, in the data's own units."""

    def log_density(self, rows: "ArrayLike") -> np.ndarray:
        """Return log p(x) of each row (n, d), in the data's own units."""
        return self.law.log_density(self._checked(rows))

    def sample(self, n: int, seed: int | None = None) -> np.ndarray:
        """Return `n` synthetic rows (n, d); they are post-processing and cost nothing."""
        return self.law.sample(check_count(n), seed)

    def to_sklearn(self) -> "GaussianMixture":
        """Return a fitted `sklearn.mixture.GaussianMixture` with these parameters."""
        return self.law.to_sklearn(self.converged)

    def regress(
        self,
        outcome: str,
        on: Sequence[str] | None = None,
        component: int | None = None,
        group: str | None = None,
    ) -> Regression:
        """Regress a column on others, by least squares; see `pubpriv.released.regression.regress`. It costs nothing.

        Args:
            outcome: name of a column.
            on: names of other columns; None: all others.
            component: 1 to k: within this component of a mixture; None: over all rows.
            group: within this group of rows; None: over all rows.

        Raises:
            InvalidInput: no such column, collinear columns, or noise that is too large for a regression on them.
        """
        return regress(self, outcome, on, component, group)

    def principal_components(
        self, columns: Sequence[str] | None = None, standardised: bool = True, group: str | None = None
    ) -> PrincipalComponents:
        """Compute principal components of columns, with the errors of their variances and loadings. It costs nothing.

        Args:
            columns: names; None: all.
            standardised: of the correlation matrix; else of the covariance, where units matter.
            group: within this group of rows; None: over all rows.

        Raises:
            InvalidInput: no such column.
        """
        return principal_components(self, columns, standardised, group)

    def _checked(self, rows: "ArrayLike") -> np.ndarray:
        """Convert rows (n, d) to floats, or refuse anything but a table of the model's columns."""
        try:
            table = np.asarray(rows, dtype=float)
        except (TypeError, ValueError):
            table = np.empty(0)
        if table.ndim != 2 or table.shape[1] != len(self.columns):
            raise InvalidInput(f"rows are an array of numbers (n, {len(self.columns)}): {', '.join(self.columns)}")
        return table


@dataclass(frozen=True, kw_only=True, repr=False)
class MixtureEstimate(_LawEstimate):
    """A released Gaussian mixture, with components in the order of falling weight.

    Attributes:
        mixture: the numbers, in the data's own units.
        background: released share of the rows that lie far from every component; 0: none are seen. Densities have a
            wide Gaussian of this weight beside the components, so that a few odd rows do not decide a mean of them.
            Weights, means, covariances, samples and labels are those of the components alone.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2)) + 9 * (np.arange(4000) % 2)[:, None]
        >>> found = pp.estimate_mixture(rows[:20], pp.Curator.simulation(rows, "zcdp:0.5", seed=2), n_components=2)
        >>> found.to_sklearn().means_.shape
        (2, 2)
    """

    kind: ClassVar[str] = "gaussian-mixture"
    quantities: ClassVar[Mapping[str, str]] = {"weights": "weight", "means": "mean", "covariances": "covariance"}

    mixture: Mixture
    background: float = 0.0

    @property
    def estimand(self) -> str:
        """What was estimated, in words; the paper's methods leave no rows out."""
        outside = ", without those that lie far from every component" if "outside" in self.diagnostics else ""
        return f"weights, means and covariances of a Gaussian mixture that describes the rows{outside}"

    @property
    def subject(self) -> str:
        """What was released, in a few words."""
        columns = counted(len(self.columns), "column")
        return f"a mixture of {counted(self.n_components, 'Gaussian component')} over {columns}"

    @property
    def n_components(self) -> int:
        """k."""
        return len(self.mixture.weights)

    @property
    def law(self) -> Mixture:
        """The released mixture."""
        return self.mixture

    @property
    def weights(self) -> np.ndarray:
        """(k,), falling."""
        return self.mixture.arrays[0]

    @property
    def means(self) -> np.ndarray:
        """(k, d)."""
        return self.mixture.arrays[1]

    @property
    def covariances(self) -> np.ndarray:
        """(k, d, d)."""
        return self.mixture.arrays[2]

    def log_density(self, rows: "ArrayLike") -> np.ndarray:
        """Return log p(x) of each row (n, d), in the data's own units, with the background if there is one."""
        return self.mixture.beside_background(self.background).log_density(self._checked(rows))

    def to_sklearn(self, background: bool = False) -> "GaussianMixture":
        """Return a fitted `sklearn.mixture.GaussianMixture` with these parameters.

        Args:
            background: whether the background is the last component, if there is one: for the densities of
                `log_density`, and to label rows that belong to no component.
        """
        law = self.mixture.beside_background(self.background) if background else self.mixture
        return law.to_sklearn(self.converged)

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return super().to_json() | ({"background": self.background} if self.background else {})

    def _lacking(self) -> Iterator[str]:
        yield from super()._lacking()
        if not 0 <= self.background < 1:
            yield "its background should be a share of the rows"

    def parts_of_group(self, group: Group) -> dict[str, Any]:
        """Return the same components with the group's weights."""
        return {"mixture": Mixture.of(group.parts["weight"], self.means, self.covariances)}

    @classmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read weights, means and covariances, and the background; files of older versions have none."""
        mixture = Mixture.of(data["weights"], data["means"], data["covariances"])
        return {"mixture": mixture, "background": float(data.get("background", 0.0))}


@dataclass(frozen=True, kw_only=True, repr=False)
class GaussianEstimate(_LawEstimate):
    """A released Gaussian; `target` says whether it describes the law behind the rows, or the table itself.

    Attributes:
        gaussian: the numbers, in the data's own units: a mixture of one component.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2))
        >>> found = pp.estimate_gaussian(rows[:20], pp.Curator.simulation(rows, "zcdp:0.5", seed=2))
        >>> len(found.sample(1000, seed=3))
        1000
    """

    kind: ClassVar[str] = "gaussian"
    quantities: ClassVar[Mapping[str, str]] = {"mean": "mean", "covariance": "covariance"}
    targets: ClassVar[Mapping[str, str]] = {
        "gaussian": "mean and covariance of the Gaussian that the rows are drawn from",
        "moments": "mean and covariance of the table itself, whatever its law",
    }

    gaussian: Mixture

    @property
    def estimand(self) -> str:
        """What was estimated, in words; older files do not say which target."""
        return self.targets.get(str(self.target), "mean and covariance")

    @property
    def subject(self) -> str:
        """What was released, in a few words."""
        return f"the mean and covariance of {counted(len(self.columns), 'column')}"

    @property
    def law(self) -> Mixture:
        """The Gaussian, as a mixture of one component."""
        return self.gaussian

    @property
    def mean(self) -> np.ndarray:
        """(d,)."""
        return np.asarray(self.gaussian.arrays[1][0])

    @property
    def covariance(self) -> np.ndarray:
        """(d, d)."""
        return np.asarray(self.gaussian.arrays[2][0])

    def in_original_units(self) -> tuple[OriginalNumber, ...]:
        """Return numbers of columns like `sqrt(cost)` or `log1p(cost)` in the units of `cost`; it costs nothing.

        Of `sqrt(cost)` it is the mean, of logarithms the geometric mean: that of `cost` itself does not follow.
        """
        return in_original_units(self)

    def to_json(self) -> dict[str, Any]:
        """Return the model file as plain data."""
        return super().to_json() | in_file(self)

    def to_scipy(self) -> Any:
        """Return a frozen `scipy.stats.multivariate_normal`."""
        from scipy.stats import Covariance, multivariate_normal

        root = np.linalg.cholesky(self.covariance)
        return multivariate_normal(self.mean, Covariance.from_cholesky(root))

    def parts_of_group(self, group: Group) -> dict[str, Any]:
        """Return mean and covariance of a group."""
        return {"gaussian": Mixture.of([1.0], [group.parts["mean"]], [group.parts["covariance"]])}

    @classmethod
    def read_parts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read mean and covariance."""
        return {"gaussian": Mixture.of([1.0], [data["mean"]], [data["covariance"]])}


KINDS: Mapping[str, type[Estimate]] = {
    estimate.kind: estimate
    for estimate in (MeanEstimate, GaussianEstimate, MixtureEstimate, QuantilesEstimate, RegressionEstimate)
}


def load(path: str | os.PathLike[str]) -> Estimate:
    """Read a model file: the estimate of its kind, such as a `MeanEstimate` or a `QuantilesEstimate`.

    Raises:
        InvalidInput: no such file, not a model, or one that a newer version wrote.

    Example:
        >>> import numpy as np, pubpriv as pp
        >>> rows = np.random.default_rng(1).standard_normal((4000, 2))
        >>> pp.estimate_mean(rows[:5], pp.Curator.simulation(rows, "zcdp:0.5", seed=2)).save("model.json")
        >>> pp.load("model.json").columns
        ('x0', 'x1')
    """
    file = Path(path)
    if not file.exists():
        raise InvalidInput(f"no model at {file}: check the path")
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        known, kind = int(data["format"]), str(data["kind"])
    except (ValueError, KeyError, TypeError, OSError):
        raise InvalidInput(f"{file} is not a pubpriv model") from None
    if known > Estimate.format or kind not in KINDS:
        raise InvalidInput(
            f"{file} is a model of format {known} ({kind}), which this version cannot read: upgrade pubpriv"
        )
    try:
        return KINDS[kind].from_json(data)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise InvalidInput(f"{file} is damaged: it is not a whole pubpriv model") from None
