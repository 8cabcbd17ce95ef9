"""Findings: what an estimator concluded about the numbers that it releases, and the verdict on each number.

A finding is made where the judgement is made, by an estimator, from released answers and public rows. Pages, console,
tables, exit codes and notifications read codes, columns and severities, never the text. So a run is flagged only if
some number is doubtful, and a reader learns which one, why, and what would help.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from pubpriv.released.numbers import Number, State, counted

DOUBTFUL, NOTE = "doubtful", "note"
"""Severities: a doubtful number may lie outside its interval; a note changes no verdict."""

_MOST_NAMES = 6
"""Most columns that a sentence names."""

_UNJUDGED = ("rows", "share")
"""Quantities that are released as they were counted, with noise of a known law: they are good, whatever was found."""


@dataclass(frozen=True)
class Finding:
    """One judgement about released numbers.

    Attributes:
        code: its name for programs, in lower case with dashes: `endless-tail`.
        columns: columns that it is about; empty: all of them, and numbers of no column.
        severity: `doubtful` or `note`.
        text: the reason, a clause that fits after `because`.
        figures: the numbers in the text, by name.
        quantities: quantities that it is about: `mean`, `covariance`, `weight`; empty: all.
        remedy: what would help, a clause; empty if nothing is known to.
        ranks: of the quantiles that it is about; empty: all.
        components: numbers of the components that it is about; empty: all, and numbers of no component.
    """

    code: str
    columns: tuple[str, ...]
    severity: str
    text: str
    figures: Mapping[str, float] = field(default_factory=dict)
    quantities: tuple[str, ...] = ()
    remedy: str = ""
    ranks: tuple[float, ...] = ()
    components: tuple[int, ...] = ()

    def concerns(self, number: Number) -> bool:
        """Tell whether it is about a number; a covariance is one of both its columns."""
        if self.quantities and number.quantity not in self.quantities:
            return False
        if self.ranks and number.rank not in self.ranks:
            return False
        if self.components and number.component not in self.components:
            return False
        return not self.columns or number.column in self.columns or number.other_column in self.columns

    def sentence(self) -> str:
        """Write it as a warning: its columns, the reason, and what would help."""
        of = f"{', '.join(self.columns)}: " if self.columns else ""
        return f"{of}{self.text}{f'; {self.remedy}' if self.remedy else ''}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return {
            "code": self.code,
            "columns": list(self.columns),
            "quantities": list(self.quantities),
            "severity": self.severity,
            "text": self.text,
            "figures": dict(self.figures),
            "remedy": self.remedy,
            **({"ranks": list(self.ranks)} if self.ranks else {}),
            **({"components": list(self.components)} if self.components else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Finding":
        """Read what `to_json` wrote.

        Raises:
            ValueError: a severity or a figure that cannot be.
        """
        figures = {str(name): float(value) for name, value in data["figures"].items()}
        if data["severity"] not in (DOUBTFUL, NOTE) or not all(map(isfinite, figures.values())):
            raise ValueError("a finding is doubtful or a note, and its figures are finite")
        columns, quantities = (tuple(map(str, data[name])) for name in ("columns", "quantities"))
        texts, ranks = (str(data["text"]), str(data["remedy"])), tuple(map(float, data.get("ranks", ())))
        what = str(data["code"]), columns, str(data["severity"]), texts[0], figures, quantities, texts[1], ranks
        return cls(*what, tuple(map(int, data.get("components", ()))))


def doubts(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Select the findings that make numbers doubtful."""
    return tuple(finding for finding in findings if finding.severity == DOUBTFUL)


def about(findings: Iterable[Finding], quantities: Iterable[str]) -> tuple[Finding, ...]:
    """Select the findings about an estimate of these quantities: one of variances alone says nothing of a mean."""
    released = set(quantities)
    return tuple(finding for finding in findings if not finding.quantities or released & set(finding.quantities))


def judged(numbers: Iterable[Number], findings: Sequence[Finding]) -> tuple[Number, ...]:
    """Give each number its state."""
    against = doubts(findings)
    return tuple(replace(number, state=_state_of(number, against)) for number in numbers)


def _state_of(number: Number, against: Sequence[Finding]) -> State:
    if number.quantity in _UNJUDGED:
        return State.GOOD
    if any(finding.concerns(number) for finding in against):
        return State.DOUBTFUL
    return State.WIDE if number.wide else State.GOOD


def states_of_columns(columns: Sequence[str], numbers: Iterable[Number]) -> dict[str, State]:
    """Give each column the worst state among its own numbers: means, variances and quantiles, of all components.

    Args:
        columns: all columns.
        numbers: numbers with their states, without those of groups.
    """
    own: dict[str, list[Number]] = {name: [] for name in columns}
    for number in numbers:
        if number.column is not None and (number.other_column is None or number.is_variance):
            own[number.column].append(number)
    return {name: worst_of(each) for name, each in own.items()}


def worst_of(numbers: Iterable[Number]) -> State:
    """Return the worst state among numbers; good if there are none."""
    return max((number.state for number in numbers if number.state), key=list(State).index, default=State.GOOD)


def headline(states: Mapping[str, State], findings: Sequence[Finding]) -> str:
    """Count the columns by their states, and say which are doubtful and why: a clause without a full stop.

    Args:
        states: of each column.
        findings: of the release.
    """
    of = {state: [name for name, own in states.items() if own == state] for state in State}
    good, wide, bad = (of[state] for state in State)
    text = f"{len(good)} of {counted(len(states), 'column')} {'is' if len(good) == 1 else 'are'} good"
    text += f", {len(wide)} {'is' if len(wide) == 1 else 'are'} wide ({_named(wide)})" if wide else ""
    against = doubts(findings)
    if against and not bad:
        return f"{text}; other numbers are doubtful, because {_reasons(against)}"
    return text + "".join(f"; {line}" for line in _doubtful_columns(bad, against))


def _doubtful_columns(bad: Sequence[str], against: Sequence[Finding]) -> list[str]:
    """Write `hours: doubtful, because ...`, with one line for columns of the same reasons."""
    reasons: dict[str, list[str]] = {}
    for name in bad:
        own = [finding for finding in against if not finding.columns or name in finding.columns]
        reasons.setdefault(_reasons(own), []).append(name)
    return [f"{_named(names)}: doubtful, because {why}" for why, names in reasons.items()]


def _reasons(findings: Iterable[Finding]) -> str:
    return "; and ".join(dict.fromkeys(finding.text for finding in findings))


def _named(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")
