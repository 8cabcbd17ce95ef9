"""Commands for an existing release: show, report, compare, and draw rows from it.

All of this is post-processing of released numbers, so it costs no privacy and needs no ledger.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.console import note, out, table
from pubpriv.cli.estimates import show as show_estimate
from pubpriv.cli.estimates import show_weights
from pubpriv.cli.options import JsonOption, check_suffix, ledger_url, written
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.released.compare import Difference, Drift
    from pubpriv.released.estimate import Estimate
    from pubpriv.released.report import History

_MOST_DIFFERENCES = 25
"""Most numbers that `compare` lists; if there are more, those that differ most."""

_Model = Annotated[Path, typer.Argument(help="Model file, as `fit` wrote it.", show_default=False)]
_Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]


def show(
    model: Annotated[
        Path,
        typer.Argument(help="Model file, or a dataset: then the newest in PUBPRIV_OUTPUT.", show_default=False),
    ],
    as_json: JsonOption = False,
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Write its numbers with intervals: .csv, .xlsx, or .tex.", show_default=False),
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """Show a release: what it is, its numbers with their errors, its guarantee, and its warnings."""
    from pubpriv.released.report.evidence import sentences
    from pubpriv.released.report.lead import lead
    from pubpriv.released.report.words import headline, opening

    file = _newest(model)
    estimate = _loaded(file)
    if out_ is not None:
        _check_target(out_, [file], overwrite)
        _write_numbers(estimate, out_)
    if as_json:
        out(json.dumps(estimate.to_json(), indent=1))
        return
    out(headline(estimate))
    out(lead(estimate))
    out(opening(estimate))
    if estimate.is_simulation:
        note("warning: this is a simulation, and not private")
    if not estimate.converged:
        note("warning: do not use doubtful numbers")
    if estimate.n_components is not None:
        show_weights(estimate)
    show_estimate(estimate)
    for sentence in sentences(estimate):
        out(sentence)


def _write_numbers(estimate: "Estimate", path: Path) -> None:
    """Write the numbers of a release as a table for other programs."""
    from pubpriv.released.estimate import write_atomically

    check_suffix(path, "a table of numbers", ".csv", ".xlsx", ".tex")
    writers: dict[str, Callable[[], str | bytes]] = {
        ".csv": estimate.to_csv,
        ".tex": estimate.to_latex,
        ".xlsx": estimate.workbook,
    }
    content = writers[path.suffix.lower()]()
    written(lambda: write_atomically(path, content), path)
    note(f"numbers written to {path}")


def report(
    model: _Model,
    public: Annotated[
        str | None, typer.Option(help="Draw these public rows beneath the release.", show_default=False)
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(help="Add the budget's history, from this ledger URL; or set PUBPRIV_LEDGER.", show_default=False),
    ] = None,
    out_: Annotated[
        Path | None,
        typer.Option("--out", help="Write the page here. Default: beside the model, .html.", show_default=False),
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """Write a release as one HTML page that needs no network: for a screen, a telephone, or paper."""
    from pubpriv.data.columns import parse_columns
    from pubpriv.data.tables import PublicTable
    from pubpriv.estimators.jobs import check_public_file
    from pubpriv.released.report import write_report

    estimate = _loaded(model)
    file = model.with_suffix(".html") if out_ is None else out_
    _check_target(file, [model, *([] if public is None else [Path(public)])], overwrite)
    check_suffix(file, "a page", ".html", ".htm", "")
    if public is not None:
        check_public_file(public, ledger)
    rows = None if public is None else PublicTable.open(public, parse_columns(estimate.columns))
    history = None if estimate.is_simulation else _history(estimate, ledger)
    written(lambda: write_report(estimate, file, rows, history), file)
    note(f"report written to {file}")


def _history(estimate: "Estimate", ledger: str | None) -> "History | None":
    """Read the budget's history from the given ledger, or from that of the environment if it has the dataset."""
    if ledger is None and not os.environ.get("PUBPRIV_LEDGER"):
        return None
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.released.report import History

    dataset = estimate.provenance["dataset"]
    with Ledger.open(ledger_url(ledger), create=False) as books:
        if ledger is None and dataset not in books.datasets():
            note(f"no budget history: the ledger in PUBPRIV_LEDGER does not know the dataset {dataset}")
            return None
        return History.of(books, dataset, estimate.provenance["release_id"])


def compare(
    first: Annotated[Path, typer.Argument(help="Model file of the earlier release.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Model file of the later release.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help="List every number, not only those that differ most.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what changed from one release to another, and which changes noise alone explains.

    A number changed if its difference is beyond what privacy noise and sampling make of one unchanged law, at a
    level of 5% for all numbers together (Bonferroni).
    """
    from pubpriv.released.compare import compare as drift_of

    one, other = _loaded(first), _loaded(second)
    drift = drift_of(one, other)
    if as_json:
        out(json.dumps({"first": _named(one), "second": _named(other), **_finite(drift.to_json())}, indent=1))
        return
    out(f"from {one.of_whom} to {other.of_whom}: {drift.kind} of {', '.join(drift.columns)}")
    _show_drift(drift, every)
    for text in drift.notes:
        note(f"note: {text}")


def _show_drift(drift: "Drift", every: bool) -> None:
    if drift.pairs:
        matched = ", ".join(f"{pair.first} with {pair.second} ({pair.distance:.2g} sd apart)" for pair in drift.pairs)
        out(f"components matched: {matched}")
    for which, alone in (("first", drift.only_first), ("second", drift.only_second)):
        if alone:
            out(f"components of the {which} alone: {', '.join(map(str, alone))}")
    ranked = sorted(drift.differences, key=lambda each: -abs(each.errors))
    shown = drift.differences if every else ranked[:_MOST_DIFFERENCES]
    rows = [
        [
            _name(each),
            f"{each.first:.5g}",
            f"{each.second:.5g}",
            f"{each.difference:+.3g}",
            f"{each.noises:+.1f}",
            f"{each.errors:+.1f}",
            each.verdict + (", but doubtful" if each.doubtful else ""),
        ]
        for each in shown
    ]
    left_out = (
        "" if len(rows) == len(drift.differences) else f", the {len(rows)} of {len(drift.differences)} that differ most"
    )
    heads = ["", "first", "second", "difference", "in sd of noise", "in sd of all", ""]
    table(f"numbers compared{left_out}", heads, rows)
    out(
        f"of {len(drift.differences)} numbers {drift.changed} changed; noise alone explains "
        f"{drift.explained_by_noise}, noise and sampling {drift.explained_by_noise_and_sampling} more. Threshold: "
        f"{drift.threshold:.2f} sd, so that chance alone finds a change in at most 5% of comparisons (Bonferroni)"
    )


def _name(difference: "Difference") -> str:
    of = " and ".join(name for name in (difference.column, difference.other_column) if name is not None)
    of += "" if difference.rank is None else f", {100 * difference.rank:g}%"
    of += "" if difference.level is None else f" = {difference.level}"
    where = "" if difference.group is None else f"group {difference.group}: "
    where += "" if difference.component is None else f"component {difference.component}: "
    return f"{where}{difference.quantity}{f' of {of}' if of else ''}"


def _named(estimate: "Estimate") -> dict[str, Any]:
    facts = {name: estimate.provenance[name] for name in ("dataset", "release_id", "created")}
    return facts | {"target": estimate.target}


def _finite(data: Any) -> Any:
    """Return the same data with null for infinities, which JSON does not have."""
    if isinstance(data, dict):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and abs(data) == float("inf") else data


def sample(
    model: _Model,
    rows: Annotated[int, typer.Option(min=1, help="Number of rows to draw.", show_default=False)],
    out_: Annotated[Path, typer.Option("--out", help="File to write, .csv or .parquet.", show_default=False)],
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed; the same seed draws the same rows again.", show_default=False)
    ] = None,
    original_units: Annotated[
        bool, typer.Option("--original-units", help="Undo log1p(x), log(x), sqrt(x): write columns called x.")
    ] = False,
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LOW:HIGH", help="Bend a column to lie there, for example fare=0: with no end."),
    ] = None,
    step: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=STEP", help="Round a column to multiples of this: visits=1 for whole numbers."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Bend other columns to what these public rows have: no sign that none has, whole numbers.",
            show_default=False,
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Draw rows that have this value; the others follow from it."),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Draw rows of this group alone, in a release by group.", show_default=False)
    ] = None,
    overwrite: _Overwrite = False,
) -> None:
    """Draw synthetic rows from a released Gaussian, mixture or description. Any number of rows costs no privacy.

    Columns keep the names of the release: `log1p(cost)` contains logarithms, unless --original-units maps them back.
    Columns of a description are drawn one by one. A Gaussian has no bounds: the effect of --bounds, --step and --like
    is printed.
    """
    from pubpriv.cli.bounds import limits_from, values_from
    from pubpriv.released.sample import kept_and_lost, names_of, write_sample

    estimate = _loaded(model)
    if group is not None:
        estimate = estimate.of_group(group)
    _check_target(out_, [model, *([] if like is None else [Path(like)])], overwrite)
    limits = limits_from(names_of(estimate, original_units), bounds or [], step or [], like)
    bent = write_sample(estimate, rows, out_, seed, original_units, limits, values_from(given or []))
    for column in bent:
        note(f"note: {column.describe()}")
    if estimate.is_simulation:
        note("warning: the model is a simulation, and not private; neither are rows drawn from it")
    if not estimate.converged:
        note(f"warning: rows drawn are like the data only as far as the model is: {estimate.verdict}")
    note(f"{rows:,} synthetic rows written to {out_}: drawn from {estimate.of_whom}, which is post-processing and free")
    note(f"note: {kept_and_lost(estimate)}")


def _newest(model: Path) -> Path:
    """Return the newest model if a dataset or series is named; a file is returned as it is."""
    from pubpriv.released.tree import ReleaseFiles, output_root

    root = output_root()
    if root is None or model.exists() or model.name != str(model):
        return model
    return ReleaseFiles.latest_of(root, model.name) or model


def _loaded(model: Path) -> "Estimate":
    """Load the release in a model file, and check that it is complete."""
    from pubpriv.released.kinds import load

    estimate = load(model)
    estimate.check_whole()
    return estimate


def _check_target(path: Path, inputs: list[Path], overwrite: bool) -> None:
    """Refuse a path to which no file may be written."""
    if path.is_dir():
        raise InvalidInput(f"--out {path} is a folder: name a file")
    if path.resolve() in {file.expanduser().resolve() for file in inputs}:
        raise InvalidInput(f"--out {path} is an input of this command: choose another file")
    if path.exists() and not overwrite:
        raise InvalidInput(f"{path} exists: choose another --out, or say --overwrite")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"the folder of --out {path} does not exist: make it first")
