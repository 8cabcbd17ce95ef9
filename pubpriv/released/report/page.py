"""The report page: one HTML file that needs nothing else, about one release."""

import os
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from pubpriv.data.tables import PublicTable
from pubpriv.privacy.wording import guarantee_lines, plain_words
from pubpriv.released.estimate import Estimate, write_atomically
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.numbers import by_component, of_quantity
from pubpriv.released.report import words
from pubpriv.released.report.burndown import burn_down
from pubpriv.released.report.charts import intervals, positions, weight_bars
from pubpriv.released.report.elements import element, page_text
from pubpriv.released.report.ellipses import drawn
from pubpriv.released.report.history import History
from pubpriv.released.report.inputs import check_history, check_public
from pubpriv.released.report.plane import moments_of, telling
from pubpriv.released.report.style import CSS
from pubpriv.released.report.tables import (
    HEADS,
    correlations,
    facts,
    flat,
    heat_map,
    number_rows,
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
    estimate: Estimate, path: str | os.PathLike[str], public: PublicTable | None = None, history: History | None = None
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


def page(estimate: Estimate, public: PublicTable | None = None, history: History | None = None) -> str:
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


def _opening(estimate: Estimate, title: str) -> list[Element]:
    made = [element("h1", title)]
    if words.is_simulation(estimate):
        made.append(element("p", "Simulation: not private. Its rows were read without protection.", class_="alarm"))
    made.append(element("p", words.opening(estimate)))
    known = words.first_of_all(estimate)
    if known:
        listed = element("ul", *[element("li", text) for text in known])
        made.append(element("section", element("h2", "Read this first"), listed, class_="first"))
    return made


def _privacy(estimate: Estimate, history: History | None) -> list[Element]:
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


def _numbers(estimate: Estimate) -> list[Element]:
    made = [element("h2", "The released numbers"), element("p", words.ERRORS)]
    note = words.mapped_columns(estimate)
    made += [element("p", note)] if note else []
    if isinstance(estimate, MixtureEstimate):
        return made + _components(estimate)
    numbers = estimate.numbers()
    means, deviations = of_quantity(numbers, "mean"), of_quantity(numbers, "sd")
    made.append(_figure(intervals(means[:MOST_COLUMNS]), _of_columns(len(means), "the first")))
    made.append(table("Means, in the columns' own units", HEADS, number_rows(means)))
    if deviations:
        made.append(table("Standard deviations of the columns", HEADS, number_rows(deviations)))
    return made


def _components(estimate: MixtureEstimate) -> list[Element]:
    numbers, d = estimate.numbers(), len(estimate.columns)
    shown = list(estimate.columns)
    if d > MOST_COLUMNS:
        shown = [shown[i] for i in telling(estimate.mixture)[:MOST_COLUMNS]]
    weights = of_quantity(numbers, "weight")
    bars = _figure(weight_bars(weights), "A component's weight is its share of the records.")
    place = positions(numbers, shown)
    where = _figure(place, _of_columns(d, "those that tell components apart best"))
    made = [element("div", bars, where, class_="pair"), table("Weights", HEADS, number_rows(weights))]
    for component, part in by_component(numbers).items():
        means, deviations = ({n.column: n for n in of_quantity(part, quantity)} for quantity in ("mean", "sd"))
        rows = number_rows([means[name] for name in shown])
        cells = [[*row, f"{deviations[name].value:.4g}"] for row, name in zip(rows, shown, strict=True)]
        left_out = "" if len(shown) == d else f" (of {d} columns, {len(shown)}; the model file has all)"
        made.append(table(f"Means of component {component}{left_out}", (*HEADS, "sd of rows"), cells))
    return made


def _picture(estimate: Estimate, public: PublicTable | None) -> list[Element]:
    chart = drawn(estimate, public)
    told = chart.find("desc")
    caption = [element("span", "" if told is None else str(told.text))]
    if len(estimate.columns) > 2 and estimate.law is not None:
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


def _directions(estimate: Estimate) -> str:
    several = (estimate.n_components or 1) > 1
    return "they tell the components apart best" if several else "most of the columns' correlation lies along them"


def _relations(estimate: Estimate) -> list[Element]:
    mixture = estimate.law
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


def _budget(history: History, estimate: Estimate) -> list[Element]:
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


def _origin(estimate: Estimate) -> list[Element]:
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
