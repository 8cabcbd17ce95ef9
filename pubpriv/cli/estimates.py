"""Console output for a release: its privacy statement, and its numbers with their standard errors."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pubpriv.cli.console import note, out, table

if TYPE_CHECKING:
    from pubpriv.released.estimate import Estimate
    from pubpriv.released.groups import Groups
    from pubpriv.released.numbers import Number


def show(estimate: "Estimate") -> None:
    """Print the privacy statement and the estimates with their standard errors, in the data's own units."""
    from pubpriv.privacy.wording import declared, for_people
    from pubpriv.released.numbers import of_all

    privacy, numbers = estimate.privacy, of_all(estimate.numbers())
    out(f"estimated: {estimate.estimand}")
    out(f"privacy: {privacy['guarantee']['text']}")
    unit = declared(privacy["unit"]) if estimate.provenance["dataset"] else privacy["unit"]
    out(f"unit: {unit}; neighbours: {privacy['neighbouring']}")
    for line in privacy.get("promised", ()):
        out(line)
    if "person" in privacy:
        out(f"counted: {estimate.counted} {estimate.counted_as}")
    spent, charges = for_people(privacy["spent"]), len(privacy["charges"])
    out(f"spent: {spent} in {charges} charges, release {estimate.provenance['release_id']}")
    if estimate.kind == "quantiles":
        _show_quantiles(numbers)
    elif estimate.kind == "regression":
        _show_regression(estimate)
    elif estimate.n_components is None:
        _show_columns(numbers)
        _show_original_units(estimate)
    else:
        _show_components(numbers, estimate.columns)
        _show_ladder(estimate.diagnostics.get("ladder", []))
    out(f"verdict: {estimate.verdict}")
    if estimate.groups is not None and estimate.kind == "quantiles":
        _show_group_quantiles(estimate)
    elif estimate.groups is not None:
        _show_groups(estimate.groups, estimate.columns, estimate.counted_in_groups)
    for warning in estimate.diagnostics.get("warnings", []):
        note(f"warning: {warning}")
    for hint in estimate.diagnostics.get("hints", []):
        note(f"hint: {hint}")


def show_weights(estimate: "Estimate") -> None:
    """Print the weights of a mixture with the parts of their standard errors."""
    from pubpriv.released.numbers import of_all, of_quantity, sources_of

    weights = of_quantity(of_all(estimate.numbers()), "weight")
    sources = sources_of(weights)
    rows = [[str(weight.component), *_cells(weight, ".4f", sources)] for weight in weights]
    table("released weights: estimate ± standard error", ["", "weight", *_heads(sources)], rows)


def _show_columns(numbers: "Sequence[Number]") -> None:
    """Show a row for each column: its mean and, if covariances were released, its standard deviation."""
    from pubpriv.released.numbers import of_columns, of_quantity, sources_of

    means, deviations = of_columns(numbers), of_quantity(numbers, "sd")
    sources, what = sources_of(numbers), means[0].quantity
    rows = [[str(mean.column), *_cells(mean, ".6g", sources)] for mean in means]
    if not deviations:
        table(f"released {what}: estimate ± standard error", ["", what, *_heads(sources)], rows)
        return
    rows = [[*row, *_cells(deviation, ".4g", sources)] for row, deviation in zip(rows, deviations, strict=True)]
    title = "released Gaussian: estimate ± standard error (covariances are in the model file)"
    table(title, ["", what, *_heads(sources), "sd", *_heads(sources)], rows)


def _show_original_units(estimate: "Estimate") -> None:
    """Show means of columns that are roots, and geometric means of columns that are logarithms, in original units."""
    from pubpriv.released.original_units import in_original_units

    found = in_original_units(estimate)
    rows = [[each.column, each.what, f"{each.value:.6g}", f"{each.low:.6g} to {each.high:.6g}"] for each in found]
    if rows:
        table("in the columns' original units", ["", "", "estimate", "95% interval"], rows)


def _show_quantiles(numbers: "Sequence[Number]") -> None:
    """Show a row for each quantile and for each share, with its interval, which may be longer on one side."""
    from pubpriv.released.numbers import of_quantity, sources_of

    quantiles = of_quantity(numbers, "quantile")
    rows, sources = [], sources_of(quantiles)
    for number in quantiles:
        low, high = number.interval
        cells = f"{100 * (number.rank or 0):g}%", f"{number.value:.6g}", f"{low:.6g} to {high:.6g}"
        rows.append([str(number.column), *cells, *_parts(number, sources)])
    title = "released quantiles: so many of the rows lie at or below the value"
    if quantiles:
        table(title, ["", "rows", "value", "95% interval", *_heads(sources)], rows)
    shares = [
        [str(number.source), str(number.level), f"{number.value:.3%}", "{:.3%} to {:.3%}".format(*number.interval)]
        for number in of_quantity(numbers, "share")
    ]
    table("released shares of the rows", ["", "", "share", "95% interval"], shares)


def _show_regression(estimate: "Estimate") -> None:
    """Show a row for each coefficient, as journals print it, and how well the line fits."""
    from pubpriv.released.fitted import RegressionEstimate
    from pubpriv.released.regression.printing import cells, heads, sources_of

    assert isinstance(estimate, RegressionEstimate)  # by its kind
    found, level = estimate.regression, 0.95
    sources = sources_of(found.coefficients)
    title = f"{found.outcome} on the columns below: estimates with standard errors that hold where scatter is uneven"
    table(title, heads(level, sources), [cells(figure, level, sources) for figure in found.coefficients])
    for line in found.measures(level):
        out(line)


def _show_components(numbers: "Sequence[Number]", columns: Sequence[str]) -> None:
    """Show a row for each component: its weight, and the mean and standard deviation of each column."""
    from pubpriv.released.numbers import by_component, of_quantity

    rows = []
    for component, part in by_component(numbers).items():
        weight = "".join(f"{number.value:.3f}" for number in of_quantity(part, "weight"))
        pairs = zip(of_quantity(part, "mean"), of_quantity(part, "sd"), strict=True)
        cells = [f"{_with_error(mean)}\n(sd {sd.value:.3g})" for mean, sd in pairs]
        rows.append([str(component), weight, *cells])
    table("released components: mean ± standard error (sd)", ["", "weight", *columns], rows)


def _show_groups(groups: "Groups", columns: "Sequence[str]", counted: str) -> None:
    """Show a row for each group: its number of rows or persons, its means, and whether it is mostly that of all."""
    from pubpriv.released.numbers import of_quantity

    rows, spread = [], "covariance" in groups.each[0].parts
    for group in groups.each:
        every = [*group.numbers(columns)]
        numbers = [number for number in every if number.quantity in ("mean", "weight")]
        cells = [_with_error(number) for number in numbers]
        if spread:
            deviations = of_quantity(every, "sd")
            cells = [f"{cell}\n(sd {_with_error(sd)})" for cell, sd in zip(cells, deviations, strict=True)]
        count, sd = group.rows
        rows.append([group.name, f"{count:.0f} ±{sd:.1g}", *cells, "yes" if group.borrowed else ""])
    heads = columns if "mean" in groups.each[0].parts else [f"component {j + 1}" for j in range(len(numbers))]
    what = "mean" if "mean" in groups.each[0].parts else "weight"
    also = " (sd ± standard error)" if spread else " (the model file has all)"
    title = f"groups by {groups.by}: {counted}, and {what} ± standard error{also}"
    table(title, ["", counted, *heads, "mostly that of all groups"], rows)


def _with_error(number: "Number") -> str:
    """Write a number to two digits of its error, and the error."""
    from pubpriv.released.digits import rounded, small

    return f"{rounded(number.value, number.error)} ±{small(number.error)}"


def _show_group_quantiles(estimate: "Estimate") -> None:
    """Show a row for each group: its number of rows, the middle quantile of each column, and some shares."""
    from pubpriv.released.quantiles import QuantilesEstimate

    assert isinstance(estimate, QuantilesEstimate)  # by its kind
    assert estimate.groups is not None
    numbers = estimate.main_numbers_by_group()
    heads = [next((n for n in column if n is not None), None) for column in zip(*numbers.values(), strict=True)]
    rows = []
    for group in estimate.groups.each:
        cells = [_in_two_lines(n) for n in numbers[group.name]]
        rows.append([group.name, f"{group.rows[0]:.0f} ±{group.rows[1]:.1g}", *cells])
    named = ["" if n is None else f"{n.source} {f'{100 * n.rank:g}%' if n.rank else f'= {n.level}'}" for n in heads]
    title = f"groups by {estimate.groups.by}: rows, and quantiles or shares (the model file has all)"
    table(title, ["", "rows", *named], rows)


def _in_two_lines(number: "Number | None") -> str:
    """Write a number above its interval."""
    return "" if number is None else "{:.4g}\n({:.4g} to {:.4g})".format(number.value, *number.interval)


def _heads(sources: Sequence[str]) -> list[str]:
    return [f"of {source}" for source in sources]


def _cells(number: "Number", digits: str, sources: Sequence[str]) -> list[str]:
    """Write a number with its error, then the error's parts."""
    from pubpriv.released.digits import small

    return [f"{number.value:{digits}} ±{small(number.error)}", *_parts(number, sources)]


def _parts(number: "Number", sources: Sequence[str]) -> list[str]:
    from pubpriv.released.digits import small

    return [f"±{small(getattr(number, source))}" for source in sources]


def _show_ladder(scored: "Sequence[Mapping[str, Any]]") -> None:
    """Show the score of each number of components relative to those that lie apart, if a run chose the number."""
    if scored:
        rows = [
            [str(line["components"]), f"{line['nats_per_row']:.3f} ±{line['noise']:.2g}", f"{line['penalty']:.3f}"]
            for line in scored
        ]
        title = "nats per row that more components than lie apart were better by, before the last rounds"
        table(title, ["components", "better by", "penalty"], rows)
