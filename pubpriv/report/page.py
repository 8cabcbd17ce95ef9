"""The report page: one HTML file that needs nothing else, about one release."""

import os
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.estimate import write_atomically
from pubpriv.privacy.wording import guarantee_lines, plain_words
from pubpriv.report import words
from pubpriv.report.burndown import burn_down
from pubpriv.report.charts import errors_of, intervals, positions, weight_bars
from pubpriv.report.elements import element, page_text
from pubpriv.report.ellipses import drawn, mixture_of
from pubpriv.report.history import History
from pubpriv.report.inputs import check_history, check_public
from pubpriv.report.plane import moments_of, telling
from pubpriv.report.style import CSS
from pubpriv.report.tables import (
    HEADS,
    correlations,
    facts,
    flat,
    heat_map,
    number_rows,
    spread_rows,
    strongest,
    table,
)

MOST_COLUMNS = 12
"""Pictures and heat maps show so many columns; tables of means and Gaussians show all."""

MOST_RUNS = 20
"""So many of the newest runs are listed."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load for the page: nothing."""


def write_report(
    estimate: Any, path: str | os.PathLike[str], public: PublicTable | None = None, history: History | None = None
) -> Path:
    """Write the report page of a release, atomically.

    Args:
        estimate: a released mean, Gaussian or mixture.
        path: of the HTML file.
        public: the public rows that helped, to be drawn beneath; None draws none.
        history: of the dataset's budget (`report.history_of`); None leaves it out.

    Returns:
        The path.

    Raises:
        InvalidInput: public rows, or a history, that are not this release's.
        OSError: the disk refuses the file.

    Privacy: none is spent: released numbers, public rows and the ledger's prices go in.
    """
    file = Path(path)
    write_atomically(file, page(estimate, public, history))
    return file


def page(estimate: Any, public: PublicTable | None = None, history: History | None = None) -> str:
    """The text of the page; the same for the same input. See `write_report`."""
    check_public(estimate, public)
    check_history(estimate, history)
    title = words.headline(estimate)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", CSS),
    )
    parts = [
        *_opening(estimate, title),
        *_privacy(estimate, history),
        *_numbers(estimate),
        *_picture(estimate, public),
        *_relations(estimate),
        *([] if history is None else _budget(history, estimate)),
        *_origin(estimate),
    ]
    return page_text(element("html", head, element("body", element("main", *parts)), lang="en"))


# --- sections --------------------------------------------------------------------------------------------------


def _opening(estimate: Any, title: str) -> list[Element]:
    made = [element("h1", title)]
    if words.is_simulation(estimate):
        made.append(element("p", "Simulation: not private. Its rows were read without protection.", class_="alarm"))
    made.append(element("p", words.opening(estimate)))
    known = words.first_of_all(estimate)
    if known:
        listed = element("ul", *[element("li", text) for text in known])
        made.append(element("section", element("h2", "Read this first"), listed, class_="first"))
    return made


def _privacy(estimate: Any, history: History | None) -> list[Element]:
    told, where = estimate.privacy, estimate.provenance
    made = [element("h2", "What is promised")]
    if words.is_simulation(estimate):
        made.append(element("p", f"Nothing. Privacy of this result: {told['guarantee']['text']}."))
    else:
        cap = None if history is None else history.guarantee["text"]
        lines = guarantee_lines(where["dataset"], told["unit"], cap, where["release_id"], told["guarantee"]["text"])
        promise = [element("p", f"{line[0].upper()}{line[1:]}.") for line in lines[1:]]
        made += [element("div", *promise, class_="promise")]
        promised = None if history is None else history.guarantee
        in_words = plain_words(told["unit"], told["guarantee"], told["charges"], promised)
        made += [element("p", text) for text in in_words]
        made.append(element("p", f"For a reviewer: {lines[0]}.", class_="quiet"))
    return made


def _numbers(estimate: Any) -> list[Element]:
    made = [element("h2", "The released numbers"), element("p", words.ERRORS)]
    note = words.mapped_columns(estimate)
    made += [element("p", note)] if note else []
    if estimate.kind == "gaussian-mixture":
        return made + _components(estimate)
    names, errors = estimate.columns, errors_of(estimate.standard_errors["mean"], (len(estimate.columns),))
    shown = slice(0, MOST_COLUMNS)
    chart = intervals(names[shown], estimate.mean[shown], errors[0][shown], errors[1][shown])
    made.append(_figure(chart, _of_columns(len(names), "the first")))
    made.append(table("Means, in the columns' own units", HEADS, number_rows(names, estimate.mean, *errors)))
    if estimate.kind == "gaussian":
        rows = spread_rows(names, estimate.covariance, estimate.standard_errors["covariance"])
        made.append(table("Standard deviations of the columns", HEADS, rows))
    return made


def _components(estimate: Any) -> list[Element]:
    k, d = estimate.means.shape
    weight_errors = errors_of(estimate.standard_errors["weights"], (k,))
    errors = errors_of(estimate.standard_errors["means"], (k, d))
    chosen = [int(i) for i in telling(estimate.mixture)[:MOST_COLUMNS]]
    shown = chosen if d > MOST_COLUMNS else list(range(d))
    bars = _figure(weight_bars(estimate.weights, *weight_errors), "A component's weight is its share of the records.")
    place = positions(estimate.columns, estimate.mixture, shown, *errors)
    where = _figure(place, _of_columns(d, "those that tell components apart best"))
    made = [element("div", bars, where, class_="pair")]
    rows = number_rows([f"component {j + 1}" for j in range(k)], estimate.weights, *weight_errors)
    made.append(table("Weights", HEADS, rows))
    names = [estimate.columns[i] for i in shown]
    for j in range(k):
        own = number_rows(names, estimate.means[j, shown], errors[0][j, shown], errors[1][j, shown])
        deviations = np.sqrt(np.diag(estimate.covariances[j]))[shown]
        cells = [[*row, f"{deviation:.4g}"] for row, deviation in zip(own, deviations, strict=True)]
        left_out = "" if len(shown) == d else f" (of {d} columns, {len(shown)}; the model file has all)"
        made.append(table(f"Means of component {j + 1}{left_out}", (*HEADS, "sd of rows"), cells))
    return made


def _picture(estimate: Any, public: PublicTable | None) -> list[Element]:
    chart = drawn(estimate, public)
    told = chart.find("desc")
    caption = [element("span", "" if told is None else str(told.text))]
    if len(estimate.columns) > 2 and mixture_of(estimate) is not None:
        caption.append(
            element(
                "span",
                f" Directions are found from the released numbers: {_directions(estimate)}. One unit is one standard "
                "deviation of all rows along them.",
            )
        )
    elif len(estimate.columns) > 2:
        caption.append(element("span", " Of the columns, the first two are drawn."))
    made = element("figure", chart, element("figcaption", *caption))
    return [element("h2", "The picture"), made]


def _directions(estimate: Any) -> str:
    several = estimate.kind == "gaussian-mixture" and len(estimate.weights) > 1
    return "they tell the components apart best" if several else "most of the columns' correlation lies along them"


def _relations(estimate: Any) -> list[Element]:
    mixture = mixture_of(estimate)
    if mixture is None or len(estimate.columns) < 2:
        return []
    made = [element("h2", "How columns go together")]
    if len(mixture.weights) == 1:
        return [*made, _correlations(estimate.columns, mixture.arrays[2][0], "Correlations")]
    whole = _correlations(estimate.columns, moments_of(mixture)[2], "Correlations over all components together")
    parts = [
        _correlations(estimate.columns, covariance, f"Correlations inside component {j + 1}")
        for j, covariance in enumerate(mixture.arrays[2])
    ]
    return [*made, whole, element("div", *parts, class_="pair")]


def _correlations(names: tuple[str, ...], covariance: np.ndarray, caption: str) -> Element:
    values = correlations(covariance)
    if len(names) <= MOST_COLUMNS:
        return heat_map(caption, names, values)
    rows = strongest(names, values, MOST_COLUMNS)
    return table(f"{caption}: the {len(rows)} strongest", ("columns", "correlation"), rows)


def _budget(history: History, estimate: Any) -> list[Element]:
    release_id = estimate.provenance["release_id"]
    caption = (
        f"{history.dataset} has a budget of {history.budget} for all its releases, for ever. Spent so far: "
        f"{history.spent:.4g} {history.currency} of {history.cap:.4g}; held by runs under way: {history.held:.4g}; "
        f"left: {history.remaining:.4g}."
    )
    newest = history.runs[-MOST_RUNS:]
    rows = [
        [run.release_id, run.day, run.allotment, f"{run.spent:.4g}", "open" if run.open else "closed"] for run in newest
    ]
    marked = next((i for i, run in enumerate(newest) if run.release_id == release_id), -1)
    of_all = "" if len(newest) == len(history.runs) else f", the newest {len(newest)} of {len(history.runs)}"
    heads = ("release", "opened", "allotment", f"spent ({history.currency})", "")
    return [
        element("h2", "The dataset's budget"),
        _figure(burn_down(history, release_id), caption),
        table(f"Releases of {history.dataset}{of_all}", heads, rows, marked=marked),
    ]


def _origin(estimate: Any) -> list[Element]:
    told = estimate.provenance
    names = {
        "dataset": "dataset",
        "release_id": "release",
        "n_private": "private records",
        "n_public": "public rows",
        "public_sha256": "SHA-256 of the public rows",
        "chain_head": "ledger's chain at the release",
        "version": "made by pubpriv",
        "created": "made on",
    }
    rows = [
        (names.get(name, name), f"{value:,}" if isinstance(value, int) else str(value)) for name, value in told.items()
    ]
    rows.insert(2, ("method", estimate.method))
    details = [(name, value) for name, value in flat(estimate.diagnostics) if name != "warnings"]
    checked = (
        "The numbers of a simulation stand in no ledger."
        if words.is_simulation(estimate)
        else "Whether the ledger accounts for this release is checked by: pubpriv ledger verify --model FILE."
    )
    bill = estimate.privacy["charges"]
    asked = [[line["label"], line["question"], line["cost"]] for line in bill]
    cost = f"What was asked of the private rows: {words.counted(len(bill), 'question')}, {estimate.privacy['spent']}"
    return [
        element("h2", "Where it comes from"),
        facts("Provenance", rows),
        table(f"{cost} in all", ("step", "question", "cost"), asked, "text"),
        *([facts("Details of the run", details)] if details else []),
        element("footer", element("p", f"{checked} {words.SHARE}")),
    ]


def _figure(chart: Element, caption: str) -> Element:
    return element("figure", chart, element("figcaption", caption) if caption else None)


def _of_columns(d: int, which: str) -> str:
    """What is said where not all columns are drawn."""
    return "" if d <= MOST_COLUMNS else f"Of {d} columns, {which} are drawn, {MOST_COLUMNS} in all."
