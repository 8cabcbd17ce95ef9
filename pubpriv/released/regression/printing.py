"""Tables of a regression as text and for LaTeX."""

from collections.abc import Iterable, Sequence

from pubpriv.released.exports import escaped
from pubpriv.released.numbers import State
from pubpriv.released.regression.fields import SOURCES
from pubpriv.released.regression.figures import Figure


def sources_of(figures: Iterable[Figure]) -> tuple[str, ...]:
    """Return the sources of error of these figures: without clipping and shrinkage where there is none of it."""
    known = tuple(figures)
    return tuple(each for each in SOURCES if each in SOURCES[:2] or any(getattr(figure, each) for figure in known))


def heads(level: float, sources: Sequence[str]) -> list[str]:
    """Return the heads of the table of coefficients."""
    return ["", "estimate", "std. error", *sources, "t", f"{100 * level:g}% interval", "state"]


def cells(figure: Figure, level: float, sources: Sequence[str]) -> list[str]:
    """Return the row of a coefficient."""
    low, high = figure.interval(level)
    parts = [figure.error, *(getattr(figure, each) for each in sources)]
    state = "" if figure.state is None else str(figure.state)
    return [
        figure.name,
        f"{figure.value:.6g}",
        *(f"{part:.2g}" for part in parts),
        f"{figure.statistic:.2f}",
        f"{low:.4g} to {high:.4g}",
        state,
    ]


class Printed:
    """Base class of a regression, with its tables.

    Attributes:
        title: what was regressed, of which release.
        outcome: name of the column.
        coefficients, r2, residual_sd: its numbers.
        n: number of rows, or of persons.
        guarantee: of the release, in words.
        free: whether it follows from a release for other ends.
        reasons: why it is doubtful.
        notes: what a reader should know.
    """

    title: str
    outcome: str
    coefficients: tuple[Figure, ...]
    r2: Figure
    residual_sd: Figure
    n: float
    guarantee: str
    free: bool
    reasons: tuple[str, ...]
    notes: tuple[str, ...]

    def measures(self, level: float = 0.95) -> list[str]:
        """Say how well the line fits: rows, R^2, standard deviation about it."""
        return [
            f"n {self.n:,.0f}, R2 {_with_interval(self.r2, level)}",
            f"standard deviation about the line: {_with_interval(self.residual_sd, level)}",
        ]

    def summary(self, level: float = 0.95) -> str:
        """Write the regression as a text of some lines: table, fit, guarantee, notes."""
        sources = sources_of(self.coefficients)
        rows = [heads(level, sources), *(cells(figure, level, sources) for figure in self.coefficients)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{row[0]:<{widths[0]}}  "
            + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        rule = "-" * max(map(len, lines))
        told = [self.title, rule, lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:]), rule]
        told += [*self.measures(level), f"privacy: {self.guarantee}{'; the regression costs nothing more' * self.free}"]
        told += [f"doubtful: {reason}" for reason in self.reasons]
        return "\n".join([*told, *(f"note: {note}" for note in self.notes)])

    def to_latex(self, level: float = 0.95) -> str:
        """Write the table as journals print it, for LaTeX with booktabs: standard errors below, intervals beside."""
        lines = [
            r"% needs \usepackage{booktabs}",
            r"\begin{tabular}{lrr}",
            r"\toprule",
            rf" & {escaped(self.outcome)} & {100 * level:g}\% interval \\",
            r"\midrule",
        ]
        for figure in self.coefficients:
            low, high = figure.interval(level)
            mark = r"$^{\dagger}$" if figure.state == State.DOUBTFUL else ""
            lines.append(rf"{escaped(figure.name)} & ${figure.value:.4g}${mark} & $[{low:.4g},\ {high:.4g}]$ \\")
            lines.append(rf" & $({figure.error:.2g})$ & \\")
        lines += [
            r"\midrule",
            rf"$n$ & {self.n:.0f} & \\",
            rf"$R^2$ & {self.r2.value:.3f} & \\",
            rf"Residual standard deviation & {self.residual_sd.value:.4g} & \\",
            r"\bottomrule",
            r"\end{tabular}",
            "",
            r"% Note for the table: standard errors in parentheses: sampling, privacy and clipping together.",
            rf"% Released under {self.guarantee}.",
        ]
        if self.reasons:
            lines.append(r"% $^{\dagger}$ doubtful: " + "; ".join(self.reasons))
        return "\n".join(lines) + "\n"


def _with_interval(figure: Figure, level: float) -> str:
    low, high = figure.interval(level)
    return f"{figure.value:.4g} ({low:.4g} to {high:.4g})"
