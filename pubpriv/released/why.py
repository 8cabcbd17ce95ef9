"""Why the interval of a released number is as wide as it is: its parts, its state, what was found, what would help.

Everything follows from the model file, and costs no privacy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from pubpriv.errors import InvalidInput, nearest
from pubpriv.released.could_hide import CouldHide, could_hide
from pubpriv.released.estimate import Estimate
from pubpriv.released.findings import Finding
from pubpriv.released.numbers import SOURCES, Number, State

_LITTLE = 0.1
"""A part of the squared error below this share is not worth a remedy."""

_AS_GOOD = 1.1
"""An interval that is this many times the one without privacy is as good as that, for advice on budgets and rows."""

_SOURCES = {
    "sampling": "the rows are a sample; without privacy the error would be this",
    "privacy": "noise that was added for privacy; its size is known exactly",
    "clipping": "what clipping may have cut off, or what may lie where nothing is measured",
    "shrinkage": "the group was moved towards all groups together",
    "grid": "how rows lie between two edges is not known",
}


@dataclass(frozen=True)
class Why:
    """The answer for one number.

    Attributes:
        number: with its errors and its state.
        shares: of the squared error, by source; 0 everywhere if the error is 0.
        wider: the error over that of sampling alone; None if sampling has none.
        findings: about the number; empty in files of older versions.
        could_hide: what rows could do that are too few to be seen; None if the file does not say.
        remedies: what would help, most useful first.
    """

    number: Number
    shares: Mapping[str, float]
    wider: float | None
    findings: tuple[Finding, ...]
    could_hide: CouldHide | None
    remedies: tuple[str, ...]

    @property
    def low(self) -> float:
        """Lower end of the 95% interval."""
        return self.number.interval[0]

    @property
    def high(self) -> float:
        """Upper end of the 95% interval."""
        return self.number.interval[1]

    @property
    def state(self) -> str:
        """The state in words."""
        return str(self.number.state or "not stated: an older version made the file")

    def parts(self) -> list[tuple[str, str, str, str]]:
        """List source, standard error, share of the squared error, and what it is, largest first."""
        order = sorted((source for source in SOURCES if getattr(self.number, source)), key=lambda s: -self.shares[s])
        return [(s, f"{getattr(self.number, s):.3g}", f"{self.shares[s]:.0%}", _SOURCES[s]) for s in order]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        hidden = self.could_hide
        return {
            "number": self.number.name,
            "value": self.number.value,
            "low": self.low,
            "high": self.high,
            "error": self.number.error,
            "errors": {source: getattr(self.number, source) for source in SOURCES},
            "shares": dict(self.shares),
            "wider_than_without_privacy": self.wider,
            "state": None if self.number.state is None else str(self.number.state),
            "findings": [finding.to_json() for finding in self.findings],
            "could_hide": None if hidden is None else vars(hidden),
            "remedies": list(self.remedies),
        }


def why(estimate: Estimate, name: str) -> Why:
    """Explain the interval of a number.

    Args:
        estimate: a release.
        name: as `Number.name` writes it: `mean:hours`, `variance:hours`, `covariance:age,hours`, `mean:hours@2` of
            component 2, `mean:hours[north]` of a group, `quantile:hours@0.5`; `sd:hours` is taken as the variance.

    Raises:
        InvalidInput: the release has no such number.
    """
    number = _named(estimate, name)
    squared = number.error**2
    shares = {source: getattr(number, source) ** 2 / squared if squared else 0.0 for source in SOURCES}
    wider = number.error / number.unavoidable if number.unavoidable else None
    findings = tuple(finding for finding in estimate.findings or () if finding.concerns(number))
    hidden = could_hide(estimate, number)
    return Why(number, shares, wider, findings, hidden, tuple(_remedies(estimate, number, shares, findings)))


def _named(estimate: Estimate, name: str) -> Number:
    """Find a number by its name."""
    numbers = {number.name: number for number in estimate.numbers()}
    wanted = f"variance:{name.removeprefix('sd:')}" if name.startswith("sd:") else name
    if wanted not in numbers and wanted.startswith("covariance:"):  # the columns in the other order
        first = next((n for n in numbers.values() if f"covariance:{n.other_column},{n.column}" == wanted), None)
        wanted = wanted if first is None else first.name
    if wanted not in numbers:
        near = nearest(wanted, list(numbers))
        hint = f"; did you mean {near}?" if near else ""
        raise InvalidInput(f"{estimate.of_whom} has no number {name!r}{hint} Names are as in {next(iter(numbers))}")
    return numbers[wanted]


def _remedies(
    estimate: Estimate, number: Number, shares: Mapping[str, float], findings: tuple[Finding, ...]
) -> list[str]:
    """List what would make the interval narrower or the number good, from findings and from the error's parts."""
    told = [finding.remedy for finding in findings if finding.remedy]
    if shares["privacy"] > _LITTLE and number.unavoidable:
        times = (number.privacy / number.unavoidable) ** 2 / (_AS_GOOD**2 - 1)
        if times > 1:
            told.append(
                f"{ceil(times)} times the budget (in rho), or {ceil(times)} times the rows, would bring the noise's "
                f"part down to where the interval is {_AS_GOOD:g} times as wide as without privacy"
            )
    if shares["clipping"] > _LITTLE and number.column is not None and not told:
        hints = [str(hint) for hint in estimate.diagnostics.get("hints", ()) if str(number.column) in str(hint)]
        told += hints or ["a larger budget, or bounds of the column (clip) that are known without the private rows"]
    if shares["sampling"] > 1 - _LITTLE and number.state != State.DOUBTFUL:
        told.append("nothing that privacy takes: more rows alone would make it narrower")
    return list(dict.fromkeys(told))
