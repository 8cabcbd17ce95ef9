"""Settings of `estimate_mixture`: one object for driver, job, plan, flow and command."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from pubpriv.errors import InvalidInput
from pubpriv.estimators.settings import Grouped, chosen, setting, settings_of

AUTO, APART = "auto", "apart"
"""Words that may replace the number of components."""

KSSU = "kssu"
"""The method that works without public rows."""

_METHODS = ("auto", "bks-scarce", "bks-ample", KSSU)
_CONSTANTS = ("practical", "paper")
_COVARIANCE_TYPES = ("full", "diag", "spherical", "auto")
_MOST_COMPONENTS = 100
_SMALLEST_BOUND, _LARGEST_BOUND = 1e-60, 1e60
_MOST_UNKNOWN = 8
"""Largest number of components that a run looks for by default."""

_MOST_LOOKED_FOR = 20
"""Largest permitted value of that: every pair of components is counted, for every number that is tried."""


@dataclass(frozen=True, kw_only=True)
class MixtureSettings(Grouped):
    """Settings of `estimate_mixture`, described there.

    Raises:
        InvalidInput: one of them, or their combination, is impossible.
    """

    n_components: int | str | None = setting(
        AUTO,
        name="components",
        least=1,
        most=_MOST_COMPONENTS,
        words=(AUTO, APART),
        planned=True,
        help="Number of mixture components; auto: the number that predicts best, no fewer than lie apart; "
        "apart: as many as lie apart. Finding out costs a share of the budget",
    )
    max_components: int = setting(
        _MOST_UNKNOWN,
        least=1,
        most=_MOST_LOOKED_FOR,
        planned=True,
        instead_of="n_components",
        because="--components says how many there are, --max-components that the run finds out: give one",
        help="Most components that a run may find by itself",
    )
    method: str = setting(
        "auto",
        choices=_METHODS,
        planned=True,
        help="auto: the default pipeline; kssu, for where there are no public rows, with --bound; or, to compare with, "
        "the paper's algorithms: bks-scarce or bks-ample",
    )
    constants: str = setting(
        "practical",
        choices=_CONSTANTS,
        planned=True,
        help="Constants of bks-scarce and bks-ample: practical, or paper as printed",
    )
    covariance_type: str = setting(
        "full",
        choices=_COVARIANCE_TYPES,
        planned=True,
        help="Shape of the components: full, diag, spherical, or auto: as the noise of the answers permits",
    )
    min_weight: float | None = setting(
        None, above=0, most=1, planned=True, help="Smallest weight of a component that has to be found; none: 1 / k"
    )
    bound: float | None = setting(
        None,
        above=0,
        planned=True,
        help="For kssu: every row lies within this of zero in every column. Do not look that up in the private rows",
    )

    def __post_init__(self) -> None:
        _one_of("method", self.method, _METHODS)
        _one_of("constants", self.constants, _CONSTANTS)
        _one_of("covariance_type", self.covariance_type, _COVARIANCE_TYPES)
        if self.n_components not in (None, AUTO, APART):
            _count("the number of components", self.n_components, f", {AUTO} or {APART}")
        _count("max_components", self.max_components)
        if self.max_components > _MOST_LOOKED_FOR:
            raise InvalidInput(
                f"at most {_MOST_LOOKED_FOR} components are looked for, not {self.max_components}: "
                "lower max_components, or say how many components there are"
            )
        if self.method not in ("auto", KSSU):
            self._check_paper()
        self._check_without_public()
        if self.min_weight is not None:
            _weight(self.min_weight, self.known or 1)

    def _check_paper(self) -> None:
        """Refuse what the paper's algorithms cannot do."""
        if self.known is None:
            raise InvalidInput(
                f"the method {self.method} needs the number of components: give it, or use the method auto"
            )
        if self.covariance_type != "full":
            raise InvalidInput(
                f"the method {self.method} estimates full covariances only: leave covariance_type out, "
                "or use the method auto"
            )

    def _check_without_public(self) -> None:
        """Refuse settings that do not fit the method, with or without public rows."""
        if self.method != KSSU:
            if self.bound is not None:
                raise InvalidInput(f"a bound is for the method {KSSU}: the others find the range in public rows")
            return
        if self.known is None:
            raise InvalidInput(f"the method {KSSU} needs the number of components: give it")
        if self.covariance_type == "auto":
            raise InvalidInput(f"the method {KSSU} takes the covariance type full, diag or spherical: give one")
        if self.bound is None or not _SMALLEST_BOUND <= self.bound <= _LARGEST_BOUND:
            raise InvalidInput(
                f"the method {KSSU} needs a bound between {_SMALLEST_BOUND:g} and {_LARGEST_BOUND:g}: how far from "
                "zero a row may lie in any column, known beforehand and not looked up in the rows"
            )

    @property
    def known(self) -> int | None:
        """k if the user gave it; None: the run finds it."""
        return None if isinstance(self.n_components, str | None) else int(self.n_components)

    @property
    def climbs(self) -> bool:
        """Whether the run looks for the number of components that predicts best."""
        return self.known is None and self.n_components != APART

    @property
    def most(self) -> int:
        """k, or the most that it may be."""
        if self.known is not None:
            return self.known
        return self.max_components if self.min_weight is None else min(self.max_components, int(1 / self.min_weight))

    def clusters(self, m: int) -> int:
        """Most clusters of m public rows from which a shape of narrow components is learnt; 0: none is learnt."""
        return min(self.most, m) if self.covariance_type in ("full", "auto") else 0

    @property
    def smallest_weight(self) -> float:
        """w_min as given, or 1 / k."""
        return 1 / self.most if self.min_weight is None else float(self.min_weight)

    def configuration(self) -> dict[str, Any]:
        """Give the settings that a run is bound to, as JSON data.

        A setting at its default is left out, except for the two oldest ones: a release that is older than a setting can
            then be replayed with the default. An older release without a number of components found those that lie
            apart.
        """
        found = AUTO if self.climbs else None
        configuration: dict[str, Any] = {"n_components": self.known or found, "method": self.method}
        if self.known is None:
            configuration["max_components"] = self.max_components
        defaults = {each.field: each.default for each in settings_of(MixtureSettings)}
        return configuration | {
            name: value
            for name, value in chosen(self).items()
            if name not in ("n_components", "max_components", "method") and value != defaults[name]
        }


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInput(f"{name} must be one of {', '.join(known)}, not {value!r}")


def _count(name: str, value: Any, words: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidInput(f"{name} must be a positive integer{words}, not {value!r}")
    if int(value) > _MOST_COMPONENTS:
        raise InvalidInput(f"at most {_MOST_COMPONENTS} components are estimated, not {value}")


def _weight(value: Any, k: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 1 / k:
        raise InvalidInput(
            f"min_weight must be a number above 0 and at most 1 / k ({1 / k:.3g} for k = {k}), not {value!r}"
        )
