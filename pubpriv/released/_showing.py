"""Views of a release in Python: one line, a table in a notebook, a frame, intervals, a summary."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from pubpriv.errors import InvalidInput
from pubpriv.released.numbers import Z95, Number

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
        from scipy.special import ndtri

        if not isinstance(level, int | float) or not 0 < level < 1:
            raise InvalidInput(f"a level lies between 0 and 1, for example 0.95, not {level!r}")
        frame, times = self.to_frame(), float(ndtri(0.5 + level / 2)) / Z95
        ends = [[n.value + times * (end - n.value) for end in n.interval] for n in self.numbers()]
        return frame.assign(low=[low for low, _ in ends], high=[high for _, high in ends])

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
