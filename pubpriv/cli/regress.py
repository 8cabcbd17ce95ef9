"""`pubpriv regress` and `pubpriv pca`: what follows from a released mean and covariance, at no price."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.options import JsonOption, check_suffix, written
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.released.kinds import GaussianEstimate, MixtureEstimate
    from pubpriv.released.regression.model import Regression

_Model = Annotated[Path, typer.Argument(help="Model file of a Gaussian or a mixture.", show_default=False)]
_Level = Annotated[float, typer.Option(help="Probability with which an interval holds the truth.")]
_Group = Annotated[str | None, typer.Option(help="Within this group, in a release by group.", show_default=False)]


def regress(
    model: _Model,
    outcome: Annotated[str, typer.Option(help="Column to explain.", show_default=False)],
    on: Annotated[
        str | None,
        typer.Option(help='Columns that explain it: age,"log1p(cost)". Default: all others.', show_default=False),
    ] = None,
    contrast: Annotated[
        list[str] | None,
        typer.Option(help="Sum of coefficients, with its error: 'a - b', '2 a + 0.5 b'; may be repeated."),
    ] = None,
    group: _Group = None,
    component: Annotated[
        int | None, typer.Option(min=1, help="Within this component of a mixture.", show_default=False)
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Within each group, or each component.")] = False,
    level: _Level = 0.95,
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Write the table here: .csv, .tex, .txt or .json.", show_default=False),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Regress a released column on others: coefficients with errors from sampling, privacy and clipping. It is free.

    No row is read, no budget spent. It is refused where the noise of the release is too large for it, and marked where
    the release is doubtful.
    """
    if each and (group is not None or component is not None or contrast or out_ is not None):
        raise InvalidInput("--each stands alone: leave out --group, --component, --contrast and --out")
    estimate = _with_covariance(model)
    names = None if on is None else _names(on, estimate.columns)
    (explained,) = _names(outcome, estimate.columns)[:1]
    if each:
        _regress_each(estimate, explained, names, level, as_json)
        return
    found = estimate.regress(explained, names, component, group)
    sums = [found.contrast(text) for text in contrast or []]
    if out_ is not None:
        _write(found, out_, level, overwrite)
    if as_json:
        out(json.dumps(found.to_json(level) | {"contrasts": [each.to_json(level) for each in sums]}, indent=1))
        return
    from pubpriv.released.regression.printing import cells, heads, sources_of

    figures = (*found.coefficients, *sums)
    sources = sources_of(figures)
    table(found.title, heads(level, sources), [cells(figure, level, sources) for figure in figures])
    for line in found.measures(level):
        out(line)
    pairs = zip(found.on, found.correlations, found.partial_correlations, strict=True)
    rows = [[name, *(f"{figure.value:.3f} ±{figure.error:.2g}" for figure in pair)] for name, *pair in pairs]
    table(f"correlations with {found.outcome}", ["", "correlation", "the others held fixed"], rows)
    out(f"privacy: {found.guarantee}; the regression costs nothing more")
    _tell(found.reasons, found.notes)


def _regress_each(
    estimate: "GaussianEstimate | MixtureEstimate", outcome: str, on: list[str] | None, level: float, as_json: bool
) -> None:
    """Show the regression within each group or component, and why there is none where there is none."""
    from pubpriv.released.regression.printing import cells, heads, sources_of

    parts: dict[str, Regression | str] = {}
    if estimate.groups is None and estimate.n_components is None:
        raise InvalidInput("the release has no groups and no components: leave --each out")
    names = [] if estimate.groups is None else [group.name for group in estimate.groups.each]
    for j, name in enumerate(names or [f"component {j + 1}" for j in range(estimate.n_components or 0)]):
        try:
            where = {"group": name} if names else {"component": j + 1}
            parts[name] = estimate.regress(outcome, on, **where)
        except InvalidInput as problem:
            parts[name] = str(problem)
    if as_json:
        told = {
            name: {"refused": part} if isinstance(part, str) else part.to_json(level) for name, part in parts.items()
        }
        out(json.dumps({"each": told}, indent=1))
        return
    good = {name: part for name, part in parts.items() if not isinstance(part, str)}
    figures = [(name, part, figure) for name, part in good.items() for figure in part.coefficients]
    sources = sources_of(figure for _, _, figure in figures)
    rows = [[name, f"{part.n:,.0f}", *cells(figure, level, sources)] for name, part, figure in figures]
    table(f"{outcome} on others, in each of {estimate.of_whom}", ["", "n", *heads(level, sources)], rows)
    for name, part in parts.items():
        if isinstance(part, str):
            note(f"warning: {name}: {part}")
    some = next(iter(good.values()), None)
    if some is not None:
        out(f"privacy: {some.guarantee}; the regressions cost nothing more")
        reasons = {reason: None for part in good.values() for reason in part.reasons}
        _tell(tuple(reasons), some.notes)


def pca(
    model: _Model,
    columns: Annotated[str | None, typer.Option(help="Use these columns. Default: all.", show_default=False)] = None,
    covariance: Annotated[
        bool, typer.Option("--covariance", help="Of the covariance, where units matter, not of the correlations.")
    ] = False,
    group: _Group = None,
    level: _Level = 0.95,
    as_json: JsonOption = False,
) -> None:
    """Compute principal components of released columns, with errors of variances and loadings. It is free."""
    estimate = _with_covariance(model)
    names = None if columns is None else _names(columns, estimate.columns)
    found = estimate.principal_components(names, not covariance, group)
    if as_json:
        out(json.dumps(found.to_json(level), indent=1))
        return
    rows = [
        [
            str(i + 1),
            f"{variance.value:.4g} ±{variance.error:.2g}",
            f"{share.value:.1%} ±{share.error:.1%}",
            *(f"{figure.value:.3f} ±{figure.error:.2g}" for figure in loadings),
            "" if apart else "not told apart",
        ]
        for i, (variance, share, loadings, apart) in enumerate(
            zip(found.variances, found.shares, found.loadings, found.apart, strict=True)
        )
    ]
    table("principal components: estimate ± standard error", ["", "variance", "share", *found.columns, ""], rows)
    _tell(found.reasons, ())


def _tell(reasons: tuple[str, ...], notes: tuple[str, ...]) -> None:
    for reason in reasons:
        note(f"warning: doubtful: {reason}")
    for text in notes:
        note(f"note: {text}")


def _names(text: str, columns: Sequence[str]) -> list[str]:
    """Read names of a release's columns, as it writes them; quotes around a name that needs none may stay."""
    from pubpriv.common.column_names import inside, split_columns

    return [each if each in columns else inside(each) for each in split_columns(text)]


def _with_covariance(model: Path) -> "GaussianEstimate | MixtureEstimate":
    from pubpriv.released.kinds import GaussianEstimate, MixtureEstimate, load

    estimate = load(model)
    estimate.check_whole()
    if not isinstance(estimate, GaussianEstimate | MixtureEstimate):
        raise InvalidInput(f"{model} is a released {estimate.kind}, without covariances: this needs `fit gaussian`")
    return estimate


def _write(found: "Regression", path: Path, level: float, overwrite: bool) -> None:
    from pubpriv.released.estimate import write_atomically

    check_suffix(path, "a regression", ".csv", ".tex", ".txt", ".json")
    if path.exists() and not overwrite:
        raise InvalidInput(f"{path} exists: choose another --out, or say --overwrite")
    texts = {".csv": found.to_csv, ".tex": found.to_latex, ".txt": found.summary}
    suffix = path.suffix.lower()
    text = texts[suffix](level) if suffix in texts else json.dumps(found.to_json(level), indent=1) + "\n"
    written(lambda: write_atomically(path, text), path)
    note(f"written to {path}")
