"""Views of a release in Python: one line, a table in a notebook, a frame, intervals, a summary."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubpriv.errors import InvalidInput
from pubpriv.released.exports import csv_of, latex_of, workbook_of
from pubpriv.released.numbers import Z95, Number, State

if TYPE_CHECKING:
    import pandas as pd

_OF_SOME = ("grid", "rank", "level", "low", "high")
"""Fields of numbers that a frame has only if some of its numbers have them."""

_MOST_ROWS = 40
"""Most numbers that a notebook shows; if there are more, it says how many."""


class Shown(ABC):
    """Base class with the views of an estimate, from its numbers and its statement. Nothing here costs privacy."""

    columns: tuple[str, ...]
    converged: bool
    privacy: Mapping[str, Any]
    diagnostics: Mapping[str, Any]

    @property
    @abstractmethod
    def estimand(self) -> str:
        """What was estimated, in words: `mean and covariance of the table itself`."""

    @property
    @abstractmethod
    def of_whom(self) -> str:
        """Name of the release, for titles."""

    @property
    def n_components(self) -> int | None:
        """Number of components of the release; None if it has none."""
        return None

    @property
    @abstractmethod
    def verdict(self) -> str:
        """What the numbers are worth, in a clause: how many columns are good, and which are doubtful and why."""

    @abstractmethod
    def numbers(self) -> tuple[Number, ...]:
        """Return every released number once."""

    def __repr__(self) -> str:
        many = "" if self.n_components is None else f"{self.n_components} components of "
        flag = "" if self.converged else "; DOUBTFUL"
        return f"{type(self).__name__}({many}{', '.join(self.columns)}; {self.of_whom}{flag})"

    def to_frame(self) -> "pd.DataFrame":
        """Return a frame with a row for each released number: its name, its value, and its standard errors by source.

        The column `error` is for all sources together; a weight has no `column`, a mean no `other_column`. `state` is
        good, wide or doubtful, and None where the file of an older version does not say. Quantiles and shares also have
        a `rank` or a `level`, and the ends `low` and `high` of their 95% intervals.
        """
        import pandas as pd

        rows = [asdict(number) | {"error": number.error} for number in self.numbers()]
        absent = {name for name in _OF_SOME if not any(row[name] for row in rows)}
        return pd.DataFrame([{name: cell for name, cell in row.items() if name not in absent} for row in rows])

    def interval(self, level: float = 0.95) -> "pd.DataFrame":
        """Return `to_frame` with the bounds `low` and `high` of an interval for each number by itself.

        Intervals assume normal errors, as on the page, and are not cut at impossible values; those of quantiles and
        shares are stretched from their 95%. `docs/privacy.md` and the warnings of the release say what the errors do
        not cover.

        Args:
            level: probability that such an interval contains the true value, between 0 and 1.

        Raises:
            InvalidInput: another level.
        """
        low, high = self._ends(level)
        return self.to_frame().assign(low=low, high=high)

    def _ends(self, level: float) -> tuple[list[float], list[float]]:
        """Lower and upper ends of the intervals of all numbers."""
        from scipy.special import ndtri

        if not isinstance(level, int | float) or not 0 < level < 1:
            raise InvalidInput(f"a level lies between 0 and 1, for example 0.95, not {level!r}")
        times = float(ndtri(0.5 + level / 2)) / Z95
        ends = [[n.value + times * (end - n.value) for end in n.interval] for n in self.numbers()]
        return [low for low, _ in ends], [high for _, high in ends]

    def to_csv(self, level: float = 0.95) -> str:
        """Write `interval` as CSV; a name that a spreadsheet would run as a formula gets an apostrophe in front."""
        return csv_of(self.interval(level))

    def to_excel(self, path: str | os.PathLike[str], level: float = 0.95) -> None:
        """Write `interval` to a workbook of Excel, with what should be known of the numbers in a second sheet.

        Raises:
            InvalidInput: XlsxWriter is not installed (`pubpriv[excel]`).
        """
        Path(path).write_bytes(self.workbook(level))

    def workbook(self, level: float = 0.95) -> bytes:
        """Return the bytes of the workbook that `to_excel` writes."""
        return workbook_of(self.interval(level), self._facts())

    def to_latex(self, level: float = 0.95) -> str:
        """Write weights, means, standard deviations and quantiles as a table for LaTeX, with the package booktabs."""
        rows = []
        for number, low, high in zip(self.numbers(), *self._ends(level), strict=True):
            shown = number.deviation() if number.is_variance else number
            ends = [max(end, 0.0) ** 0.5 if number.is_variance else end for end in (low, high)]
            if shown.quantity != "covariance":
                mark = " (doubtful)" if number.state == State.DOUBTFUL else ""
                estimate = f"{shown.value:.6g} ± {shown.error:.2g}{mark}"
                rows.append([_named(shown), estimate, " to ".join(f"{end:.6g}" for end in ends)])
        return latex_of(["", "estimate ± standard error", f"{100 * level:g}% interval"], rows, self._facts())

    def _facts(self) -> dict[str, str]:
        """What should be known of the numbers wherever they are."""
        return {
            "release": self.of_whom,
            "estimated": self.estimand,
            "guarantee": str(self.privacy.get("guarantee", {}).get("text", "not stated")),
            "verdict": self.verdict,
        }

    def summary(self) -> str:
        """Describe the release in a few lines: what it is, its guarantee, its main numbers and its warnings."""
        lines = [
            f"{self.of_whom}: {self.estimand}",
            f"privacy: {self.privacy.get('guarantee', {}).get('text', 'not stated')}",
            *(f"  {_named(number)}: {_with_error(number)}" for number in self._main_numbers()),
        ]
        lines += [f"verdict: {self.verdict}"]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.diagnostics.get("warnings", []))])

    def _repr_html_(self) -> str:
        """Show the release in a notebook; names are other people's text, so they are escaped."""
        main = self._main_numbers()
        rows = "".join(
            f"<tr><td>{escape(_named(number))}</td><td>{_with_error(number)}</td><td>{number.state or ''}</td></tr>"
            for number in main[:_MOST_ROWS]
        )
        left = len(main) - _MOST_ROWS
        rest = f"<p>and {left} more: see <code>to_frame()</code></p>" if left > 0 else ""
        mark = "{}" if self.converged else "<strong>{}</strong>"
        flag = f"<p>{mark.format(escape(self.verdict))}.</p>"
        guarantee = escape(str(self.privacy.get("guarantee", {}).get("text", "not stated")))
        return (
            f"<p><strong>{escape(self.of_whom)}</strong>: {escape(self.estimand)}</p>{flag}"
            f"<table><tr><th></th><th>estimate</th><th></th></tr>{rows}</table>{rest}"
            f"<p>Privacy: {guarantee}</p>"
        )

    def _main_numbers(self) -> list[Number]:
        """Weights, means and standard deviations; covariances are only in the frame."""
        deviations = [number.deviation() if number.is_variance else number for number in self.numbers()]
        return [number for number in deviations if number.quantity != "covariance"]


def _named(number: Number) -> str:
    """`component 2: mean of age`."""
    of = f" of {number.column}" if number.column is not None else ""
    where = "" if number.group is None else f"group {number.group}: "
    where += "" if number.component is None else f"component {number.component}: "
    at = "" if number.rank is None else f" {number.rank:g}"
    level = "" if number.level is None else f" = {number.level}"
    return f"{where}{number.quantity}{at}{of}{level}"


def _with_error(number: Number) -> str:
    if number.low is None:
        return f"{number.value:.6g} ± {number.error:.2g}"
    return f"{number.value:.6g} ({number.low:.6g} to {number.high:.6g})"
