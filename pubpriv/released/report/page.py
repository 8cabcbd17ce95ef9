"""The report page of one release: a single HTML file without external resources.

The content is made here; `templates/page.html` has the layout.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.privacy.wording import for_people, guarantee_lines, guess_in_short, plain_words
from pubpriv.released.could_hide import could_hide
from pubpriv.released.digits import MINUS, rounded, small
from pubpriv.released.estimate import Estimate, write_atomically
from pubpriv.released.findings import doubts
from pubpriv.released.fitted import RegressionEstimate
from pubpriv.released.groups import Groups
from pubpriv.released.histograms import histograms_in, histograms_of
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.numbers import (
    Z95,
    Number,
    State,
    by_component,
    counted,
    of_all,
    of_columns,
    of_quantity,
    sources_of,
)
from pubpriv.released.original_units import in_original_units
from pubpriv.released.quantiles import QuantilesEstimate
from pubpriv.released.report import evidence, words
from pubpriv.released.report._coefficients import coefficient_picture, coefficient_table
from pubpriv.released.report._ellipses import drawn
from pubpriv.released.report._fit import fit_charts
from pubpriv.released.report._history import History
from pubpriv.released.report._markup import Figure, figure, template
from pubpriv.released.report._quantiles import distribution_charts, group_dots, quantile_plot, share_dots
from pubpriv.released.report._tables import Table, correlations, label, number_table, original_table
from pubpriv.released.report.charts import burn_down, group_panels, intervals, positions, weight_bars
from pubpriv.released.report.lead import lead

_MOST_COLUMNS = 12
"""Most columns in pictures and heat maps; tables of means and Gaussians show all columns."""

_MOST_SHARES = 30
"""Most shares in a picture."""

_MOST_RUNS = 20
"""Number of newest runs that are listed."""

_WHICH = {True: "those that separate components best", False: "the first"}
"""Which of many columns are drawn, for a mixture and for other estimates."""


def write_report(
    estimate: Estimate, path: str | os.PathLike[str], public: PublicTable | None = None, history: History | None = None
) -> Path:
    """Write the report page of a release atomically.

    Args:
        estimate: a released mean, Gaussian or mixture.
        path: path of the HTML file.
        public: public rows of the release, drawn in the background; None draws none.
        history: history of the dataset's budget (`History.of`); None leaves it out.

    Returns:
        The path.

    Raises:
        InvalidInput: public rows, or a history, that are not this release's.
        OSError: the disk refuses the file.

    Privacy: none is spent; only released numbers, public rows and the ledger's prices are used.
    """
    file = Path(path)
    write_atomically(file, page(estimate, public, history))
    return file


def page(estimate: Estimate, public: PublicTable | None = None, history: History | None = None) -> str:
    """Make the text of the page, which is the same for the same input; see `write_report`."""
    estimate.check_public(public)
    _check_history(estimate, history)
    fit = _fit(estimate, public)
    # with one column, the pictures of the fit already show everything
    ranked = isinstance(estimate, QuantilesEstimate)
    without = ranked or isinstance(estimate, RegressionEstimate)
    picture = None if without or (len(estimate.columns) == 1 and fit["charts"]) else _picture(estimate, public)
    return template("page.html").render(
        title=words.headline(estimate),
        lead=lead(estimate),
        usable=estimate.usable,
        simulation=estimate.is_simulation,
        glance=words.glance(estimate, _protected(estimate, history), "" if history is None else _left(history)),
        opening=words.opening(estimate),
        warnings=words.warnings(estimate),
        promise=_promise(estimate, history),
        ranked=ranked,
        clipped="clipping" in sources_of(of_all(estimate.numbers())),
        mapped_columns=words.mapped_columns(estimate),
        worth=_worth(estimate),
        numbers=_numbers(estimate),
        groups=_groups(estimate),
        fit=fit,
        picture=picture,
        relations=_relations(estimate),
        budget=None if history is None else _budget(history, estimate),
        origin=_origin(estimate),
    )


def _check_history(estimate: Estimate, history: History | None) -> None:
    """Check that the ledger from which the history was read has the release.

    Raises:
        InvalidInput: it does not.
    """
    if history is None:
        return
    stated = estimate.provenance
    if history.dataset != stated.get("dataset") or not history.knows(stated["release_id"]):
        raise InvalidInput(
            f"the ledger's dataset {history.dataset} does not have the release of this model "
            f"({estimate.of_whom}): name the ledger that it was charged to, or none"
        )


def _promise(estimate: Estimate, history: History | None) -> dict[str, Any]:
    stated, where = estimate.privacy, estimate.provenance
    if estimate.is_simulation:
        return {"text": stated["guarantee"]["text"]}
    cap = None if history is None else history.guarantee
    text = None if cap is None else cap["text"]
    person = stated.get("person", ())
    promised = text, where["release_id"], stated["guarantee"]["text"], person
    lines = [*guarantee_lines(where["dataset"], stated["unit"], *promised, "periods" in stated)]
    lines += stated.get("promised", ())
    return {
        "guarantees": [f"{line[0].upper()}{line[1:]}" for line in lines[1:]],
        "in_words": plain_words(stated["unit"], stated["guarantee"], stated["charges"], cap, person),
        "reviewer": lines[0],
    }


def _protected(estimate: Estimate, history: History | None) -> str:
    if estimate.is_simulation:
        return ""
    stated = estimate.privacy
    return guess_in_short(stated["guarantee"], stated["charges"], None if history is None else history.guarantee)


def _left(history: History) -> str:
    if not history.capped:
        return f"{history.periods} There is no other one."
    left = f"{history.remaining:.4g} {history.currency} of {history.cap:.4g}"
    return f"{left} for further releases of {history.dataset}.{' ' if history.periods else ''}{history.periods}"


def _worth(estimate: Estimate) -> Table | None:
    """Columns that are not good, why, and what would help; None if all are, or if an older version made the release."""
    rows = []
    for name, state in (estimate.states or {}).items():
        findings = [each for each in estimate.findings or () if not each.columns or name in each.columns]
        if state == State.DOUBTFUL:
            findings = list(doubts(findings))
        if state != State.GOOD:
            why = "; ".join(each.text for each in findings) or "its interval is wide for the noise of so small a budget"
            help_ = "; ".join(dict.fromkeys(each.remedy for each in findings if each.remedy))
            rows.append([name, str(state), why, help_ or "a larger budget, more rows or fewer columns"])
    return Table("Columns that are not good", ("", "state", "why", "what would help"), rows, "text") if rows else None


def _numbers(estimate: Estimate) -> dict[str, Any]:
    """Charts and tables of the numbers, and sentences about them."""
    if isinstance(estimate, QuantilesEstimate):
        return _quantiles(estimate)
    if isinstance(estimate, RegressionEstimate):
        return _coefficients(estimate)
    return _components(estimate) if isinstance(estimate, MixtureEstimate) else _columns(estimate)


def _quantiles(estimate: QuantilesEstimate) -> dict[str, Any]:
    """The numbers of quantiles: pictures and tables of quantiles and of shares, and a sentence for each column."""
    numbers, shown = of_all(estimate.numbers()), estimate.ranked[:_MOST_COLUMNS]
    quantiles, shares = of_quantity(numbers, "quantile"), of_quantity(numbers, "share")
    caption = "Values are spaced evenly about the middle of a column, and in proportion far out."
    left_out = _of_columns(len(estimate.ranked), _WHICH[False])
    charts = [figure(quantile_plot(estimate, shown), f"{caption} {left_out}")] if shown else []
    charts.append(figure(share_dots(shares[:_MOST_SHARES]), "Missing cells are a share of all rows."))
    tables = [
        *[number_table("Quantiles, in the columns' own units", quantiles)] * bool(shown),
        number_table("Shares of the rows", shares),
    ]
    return {
        "charts": charts,
        "tables": tables,
        "sentences": [words.sentence(estimate, name) for name in estimate.columns],
    }


def _coefficients(estimate: RegressionEstimate) -> dict[str, Any]:
    """The numbers of a regression: a picture of the coefficients, a table as in a journal, and their errors."""
    numbers = of_quantity(of_all(estimate.numbers()), "coefficient")
    caption = (
        "Each coefficient is times the standard deviation of its column among the public rows, so that columns in "
        "other units stand on one axis; the table has the coefficients themselves."
    )
    chart = figure(coefficient_picture(estimate, _MOST_COLUMNS), f"{caption} {_left_of(numbers)}")
    tables = [coefficient_table(estimate), number_table("Coefficients and the sources of their errors", numbers)]
    return {"charts": [chart], "tables": tables, "sentences": []}


def _left_of(numbers: Sequence[Number]) -> str:
    return _of_columns(len(numbers), _WHICH[False])


def _columns(estimate: Estimate) -> dict[str, Any]:
    """The numbers of a mean or a Gaussian."""
    numbers = of_all(estimate.numbers())
    means, deviations = of_columns(numbers), of_quantity(numbers, "sd")
    variances = [number for number in numbers if number.is_variance]
    caption = f"{means[0].quantity.capitalize()}s, in the columns' own units"
    tables = [number_table(caption, means, _hidden(estimate, means))]
    if deviations:
        tables.append(number_table("Standard deviations of the columns", deviations, _hidden(estimate, variances)))
    if original := in_original_units(estimate):
        tables.append(original_table("In original units", original))
    chart = figure(intervals(means[:_MOST_COLUMNS]), _of_columns(len(means), _WHICH[False]))
    return {"charts": [chart], "tables": tables, "sentences": []}


def _hidden(estimate: Estimate, numbers: Sequence[Number]) -> tuple[str, list[str]] | None:
    """Make a column of what rows too few to be seen could do to means, or to the roots of variances."""
    found = [could_hide(estimate, number) for number in numbers]
    if not any(found):
        return None
    cells = []
    for number, hidden in zip(numbers, found, strict=True):
        if hidden is None:
            cells.append("")
        elif number.is_variance:
            cells.append(f"+{small(np.sqrt(number.value + hidden.high) - np.sqrt(number.value))}")
        else:
            cells.append(f"{MINUS}{small(-hidden.low)} to +{small(hidden.high)}")
    return "could hide", cells


def _components(estimate: MixtureEstimate) -> dict[str, Any]:
    """The numbers of a mixture."""
    numbers, d = of_all(estimate.numbers()), len(estimate.columns)
    shown = list(estimate.columns)
    if d > _MOST_COLUMNS:
        shown = [shown[i] for i in _shown(estimate)]
    weights = of_quantity(numbers, "weight")
    charts = [
        figure(weight_bars(weights), "A component's weight is its share of the records."),
        figure(positions(numbers, shown), _of_columns(d, _WHICH[True])),
    ]
    tables = [number_table("Weights", weights)]
    left_out = "" if len(shown) == d else f" (of {d} columns, {len(shown)}; the model file has all)"
    for component, part in by_component(numbers).items():
        means, deviations = ({n.column: n for n in of_quantity(part, quantity)} for quantity in ("mean", "sd"))
        spread = [f"{deviations[name].value:.4g}" for name in shown]
        caption = f"Means of component {component}{left_out}"
        tables.append(number_table(caption, [means[name] for name in shown], ("sd of rows", spread)))
    return {"charts": charts, "tables": tables, "sentences": []}


def _groups(estimate: Estimate) -> dict[str, Any] | None:
    """Groups of rows: a picture, and a table of each column or of the weights; None if there are none."""
    groups = estimate.groups
    if groups is None:
        return None
    if isinstance(estimate, QuantilesEstimate):
        return _group_quantiles(estimate, groups)
    of = [[n for n in group.numbers(estimate.columns) if n.quantity in ("mean", "weight")] for group in groups.each]
    spreads = [of_quantity(group.numbers(estimate.columns), "sd") for group in groups.each]
    counts = estimate.counted_in_groups
    heads = ["group", counts, *(n.column or f"component {n.component}" for n in of[0])]
    heads += [*(f"sd of {n.column}" for n in spreads[0]), "mostly that of all groups"]
    rows = [
        [
            group.name,
            f"{group.rows[0]:,.0f} ± {Z95 * group.rows[1]:.1g}",
            *(f"{rounded(n.value, n.error)} ± {small(Z95 * n.error)}" for n in numbers),
            *(f"{rounded(n.value, n.error)} ± {small(Z95 * n.error)}" for n in deviations),
            "yes" if group.borrowed else "",
        ]
        for group, numbers, deviations in zip(groups.each, of, spreads, strict=True)
    ]
    chart = group_panels(groups, estimate.columns[:_MOST_COLUMNS])
    caption = f"Each group by {groups.by}, moved towards all groups together, the more the larger its own noise is."
    if counts == "persons":
        caption += " A person counts in a group by the share of their rows that lie there."
    return {
        "by": groups.by,
        "charts": [figure(chart, caption)],
        "tables": [Table(f"Groups by {groups.by}, with halves of 95% intervals", tuple(heads), rows)],
    }


def _group_quantiles(estimate: QuantilesEstimate, groups: Groups) -> dict[str, Any]:
    """Groups of a release of quantiles: the middle quantile of each column and some shares, with intervals."""
    numbers = estimate.main_numbers_by_group()
    columns = [[n for n in column if n is not None] for column in zip(*numbers.values(), strict=True)]
    heads = ["group", "rows", *(label(column[0]) if column else "" for column in columns)]
    rows = [
        [
            group.name,
            f"{group.rows[0]:,.0f} ± {Z95 * group.rows[1]:.1g}",
            *("" if n is None else words.with_interval(n) for n in numbers[group.name]),
        ]
        for group in groups.each
    ]
    chart = group_dots(groups.by, [column for column in columns if column][:_MOST_COLUMNS])
    caption = "Groups that lack a dot have too few rows for it."
    return {
        "by": groups.by,
        "charts": [figure(chart, caption)] if any(columns) else [],
        "tables": [Table(f"Groups by {groups.by}, with 95% intervals", tuple(heads), rows)],
    }


def _shown(estimate: Estimate) -> list[int]:
    """Indices of the columns to draw: all if there are few, else those that separate components best."""
    d = len(estimate.columns)
    if d > _MOST_COLUMNS and isinstance(estimate, MixtureEstimate):
        return [int(i) for i in estimate.mixture.telling[:_MOST_COLUMNS]]
    return list(range(min(d, _MOST_COLUMNS)))


def _fit(estimate: Estimate, public: PublicTable | None) -> dict[str, Any]:
    """Pictures of the release over the public rows, and sentences about its fit."""
    kept = histograms_in(estimate.public, len(estimate.columns)) or ()
    histograms = kept if public is None else histograms_of(public)
    shown = _shown(estimate)
    if isinstance(estimate, QuantilesEstimate):
        found = distribution_charts(estimate, estimate.ranked[:_MOST_COLUMNS])
    elif isinstance(estimate, RegressionEstimate):
        found = []
    else:
        found = fit_charts(estimate, shown, histograms)
    charts = [figure(chart, "") for chart in found]
    tried, tables = evidence.ladder(estimate), []
    if tried:
        tables = [Table("Numbers of components that were tried", ("components", "score, nats a record"), tried)]
    if lacking := evidence.missing_cells(estimate):
        heads = "", "rows that lack it", "complete rows that its mean is worth"
        tables.append(Table("Missing cells, estimated from the other cells of their rows", heads, lacking))
    if estimate.law is not None and (estimate.n_components or 1) > 1:
        center, _, total = estimate.law.moments
        rows = [
            [name, rounded(float(mean)), rounded(float(np.sqrt(variance)))]
            for name, mean, variance in zip(estimate.columns, center, np.diag(total), strict=True)
        ]
        tables.append(Table("All components together", ("", "mean", "standard deviation"), rows))
    return {
        "charts": charts,
        "law": estimate.law is not None,
        "several": (estimate.n_components or 1) > 1,
        "public_rows": histograms[0].rows if histograms else 0,
        "left_out": _of_columns(len(estimate.columns), _WHICH[estimate.kind == "gaussian-mixture"]) if charts else "",
        "sentences": evidence.sentences(estimate),
        "hints": evidence.hints(estimate),
        "foretold": evidence.foretold(estimate),
        "tables": tables,
    }


def _picture(estimate: Estimate, public: PublicTable | None) -> Figure:
    chart = drawn(estimate, public)
    caption = chart.findtext("desc", "")
    if len(estimate.columns) > 2 and estimate.law is not None:
        several = (estimate.n_components or 1) > 1
        why = "they separate the components best" if several else "most of the columns' correlation lies along them"
        caption += (
            f" Directions are found from the released numbers: {why}. One unit is one standard deviation of all rows "
            "along them."
        )
    elif len(estimate.columns) > 2:
        caption += " Of the columns, the first two are drawn."
    return figure(chart, caption)


def _relations(estimate: Estimate) -> list[Any]:
    """Correlations of columns: over all rows first, then in each component."""
    mixture, columns = estimate.law, estimate.columns
    if mixture is None or len(columns) < 2:
        return []
    covariances = mixture.arrays[2]
    if len(covariances) == 1:
        return [correlations("Correlations", columns, covariances[0], _MOST_COLUMNS)]
    whole = "Correlations over all components together", mixture.moments[2]
    parts = [(f"Correlations inside component {j + 1}", covariance) for j, covariance in enumerate(covariances)]
    return [correlations(caption, columns, covariance, _MOST_COLUMNS) for caption, covariance in (whole, *parts)]


def _budget(history: History, estimate: Estimate) -> dict[str, Any]:
    release_id = estimate.provenance["release_id"]
    caption = (
        f"{history.dataset} has a budget of {history.budget} for all its releases, for ever. Spent so far: "
        f"{history.spent:.4g} {history.currency} of {history.cap:.4g}; held by runs under way: {history.held:.4g}; "
        f"left: {history.remaining:.4g}."
    )
    if not history.capped:
        caption = f"{history.periods} Spent in all of them: {history.spent:.4g} {history.currency}."
    elif history.periods:
        caption = f"{caption} {history.periods}"
    newest = history.runs[-_MOST_RUNS:]
    rows = [
        [run.release_id, run.day, run.allotment, f"{run.spent:.4g}", "open" if run.open else "closed"] for run in newest
    ]
    marked = next((i for i, run in enumerate(newest) if run.release_id == release_id), -1)
    of_all = "" if len(newest) == history.number else f", the newest {len(newest)} of {history.number}"
    heads = ("release", "opened", "allotment", f"spent ({history.currency})", "")
    return {
        "chart": figure(burn_down(history, release_id), caption),
        "releases": Table(f"Releases of {history.dataset}{of_all}", heads, rows, marked=marked),
    }


def _fact(value: Any) -> str:
    """Text of a fact of the provenance; for a released number also its noise."""
    if isinstance(value, dict) and "estimate" not in value:
        return "; ".join(f"{column}: {_of_targets(targets)}" for column, targets in value.items())
    if isinstance(value, dict):
        return f"about {value['estimate']:,} (noise of sd {value['sd']:.3g})"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _of_targets(targets: dict[str, dict[str, float]]) -> str:
    """Write by how much the means of two targets differ from the released one."""
    return ", ".join(f"{each['difference']:+.3g} (sd {each['sd']:.1g}) for {what}" for what, each in targets.items())


def _origin(estimate: Estimate) -> dict[str, Any]:
    names = {
        "dataset": "dataset",
        "release_id": "release",
        "n_private": "private records",
        "period": "rows of",
        "persons": "persons (released)",
        "counted_rows": "rows that count (released)",
        "rows_per_person": "rows of a person that count in full",
        "target": "weighing",
        "auto": "means of rows as they are, and of persons each counted once, from the released means",
        "n_public": "public rows",
        "public_sha256": "SHA-256 of the public rows",
        "chain_head": "ledger's chain at the release",
        "version": "made by pubpriv",
        "created": "made on",
    }
    rows = [(names.get(name, name), _fact(value)) for name, value in estimate.provenance.items()]
    rows[2:2] = [("estimated", estimate.estimand), ("method", estimate.method)]
    checked = (
        "No ledger has the numbers of a simulation."
        if estimate.is_simulation
        else "Whether the ledger accounts for this release is checked by: pubpriv ledger verify --model FILE."
    )
    return {
        "provenance": rows,
        "charges": _charges(estimate.privacy),
        "details": _flat({name: value for name, value in estimate.diagnostics.items() if name not in evidence.APART}),
        "checked": checked,
    }


def _flat(data: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    """List names and values of nested data, in order; for long lists only the length."""
    rows: list[tuple[str, str]] = []
    for name, value in data.items():
        full = f"{before}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            rows += _flat(value, f"{full}: ")
        elif isinstance(value, list | tuple | np.ndarray):
            rows += [(full, _listed(list(value)))]
        else:
            rows += [(full, _scalar(value))]
    return rows


def _listed(values: list[Any]) -> str:
    nested = any(isinstance(value, list | tuple | Mapping) for value in values)
    if len(values) > 12 or (nested and len(str(values)) > 160):
        return f"{len(values)} values, in the model file"
    return ", ".join(_listed(list(v)) if isinstance(v, list | tuple) else _scalar(v) for v in values) or "none"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return rounded(value) if isinstance(value, float) else str(value)


def _charges(privacy: Mapping[str, Any]) -> Table:
    bill = privacy["charges"]
    asked, spent = counted(len(bill), "question"), for_people(privacy["spent"])
    cost = f"What was asked of the private rows: {asked}, {spent} in all"
    rows = [[line["label"], line["question"], for_people(line["cost"])] for line in bill]
    return Table(cost, ("step", "question", "cost"), rows, "text")


def _of_columns(d: int, which: str) -> str:
    """Sentence that not all columns are drawn; empty if they are."""
    return "" if d <= _MOST_COLUMNS else f"Of {d} columns, {which} are drawn, {_MOST_COLUMNS} in all."
