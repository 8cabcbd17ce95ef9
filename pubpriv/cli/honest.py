"""`pubpriv bench honest|best-radius|verdicts|rehearsal|shift`: how honest releases and rehearsals are."""

from pathlib import Path
from typing import Annotated

import typer

from pubpriv.cli.figures import named, tell, tell_rows
from pubpriv.cli.options import ColumnsOption, EachBudgetOption, FirstSeedOption, JsonOption, WorkersOption
from pubpriv.errors import InvalidInput

_HEADINGS = named("estimator", "law", "n", "d", "flagged") | {
    "means_covered": "means",
    "variances_covered": "variances",
    "variances_best_covered": "best",
    "variances_bias": "bias",
    "mean_ratio": "mean",
    "covariance_ratio": "cov.",
    "covariance_ratio_rms": "cov. rms",
    "variances_width": "width",
    "gain": "gain",
    "misses": "misses",
}
_TABLE_HEADINGS = named("table", "n", "d", "runs", "refused", "flagged", "within") | {
    "within_or_flagged": "or flagged",
    "furthest": "furthest",
    "errors_off": "errors off",
    "largest_sd_bias": "sd off by",
    "width": "width",
    "met": "met",
}
_RADIUS_HEADINGS = named("table", "tail", "n", "d", "runs", "error", "best", "ratio", "covered", "flagged", "width")
_LEVEL_HEADINGS = named(
    "estimator", "kind", "level", "refused", "flagged", "loss", "loss_of_unflagged", "harmless", "caught"
)
_VERDICTS = named("estimator", "kind", "runs", "refused", "doubtful_runs", "doubtful", "wide") | {
    "wrong_good": "good wrong",
    "wrong_wide": "wide wrong",
    "wrong_doubtful": "doubtful wrong",
    "odds": "odds",
    "sound": "within 3",
    "width_mean": "width of means",
    "width_variance": "of variances",
    "met": "met",
}
_EACH = named("estimator", "of", "good", "wide", "doubtful", "furthest", "codes")
_CODES = named("estimator", "code", "of", "numbers", "wrong")
_LIMIT_HEADINGS = named("estimator", "kind", "harmless_to", "caught", "neither", "met")


def honest(
    estimator: Annotated[
        str, typer.Option(help="mean, mean-known, mean-unknown, gaussian, gaussian-target, mixture; commas between.")
    ] = "mean,gaussian,mixture",
    laws: Annotated[
        str | None, typer.Option(help="Laws of rows, with commas between them; default: all.", show_default=False)
    ] = None,
    n: Annotated[str, typer.Option(help="Private rows, with commas between them.")] = "500,5000,100000",
    d: Annotated[str, typer.Option(help="Columns, with commas between them.")] = "1,5,20",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each cell.")] = 20,
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    budget: EachBudgetOption = "zcdp:0.5",
    public: Annotated[
        int | None,
        typer.Option(
            min=1, help="Public rows; default: 30, more for many columns, 60 for mixtures.", show_default=False
        ),
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--out", help="File of runs, to go on with after a stop. Of one state of the code.")
    ] = None,
    tables: Annotated[bool, typer.Option("--tables", help="Five open tables in the place of the laws.")] = False,
    csv: Annotated[Path | None, typer.Option(help="With --tables: this file in their place.")] = None,
    columns: ColumnsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how often 95% intervals hold the truth, bias, errors and flags, on rows that are not Gaussian."""
    if (csv is not None and not tables) or (columns is not None and csv is None):
        raise InvalidInput("--csv FILE goes with --tables, and --columns with --csv")
    if tables:
        _tables(runs, first_seed, workers, budget, csv, columns, as_json)
        return
    from benchmarks.honest import bench

    sizes, dimensions = counts("--n", n), counts("--d", d)
    found = bench(estimator, laws, sizes, dimensions, runs, first_seed, workers, budget, public, record)
    if not as_json:
        title = (
            "shares flagged and covered (best: of variances, without privacy), bias of variances, "
            "errors over non-private ones, width over what is needed, nats a row gained on the public model"
        )
        tell_rows(title, _HEADINGS, found["rows"])
    tell(found, as_json)


def best_radius(
    runs: Annotated[int, typer.Option(min=1, help="Draws of each table.")] = 10,
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    budget: EachBudgetOption = "zcdp:0.5",
    csv: Annotated[Path | None, typer.Option(help="This file in the place of the open tables.")] = None,
    columns: ColumnsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure errors of covariances of open tables beside those of the best clip radius in hindsight."""
    if columns is not None and csv is None:
        raise InvalidInput("--columns goes with --csv")
    from benchmarks.best_radius import bench

    found = bench(runs, first_seed, workers, budget, csv, columns)
    if not as_json:
        title = "errors to the table's own covariance, and what 95% intervals of variances cover"
        tell_rows(title, _RADIUS_HEADINGS, found["rows"])
    tell(found, as_json)


def verdicts(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each table and law.")] = 4,
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    budget: EachBudgetOption = "zcdp:0.5",
    of: Annotated[str, typer.Option(help="tables, laws, or both.")] = "tables,laws",
    estimator: Annotated[str, typer.Option(help="mean, gaussian, mixture (of tables only).")] = "mean,gaussian",
    as_json: JsonOption = False,
) -> None:
    """Measure how often numbers are doubtful or wide, and how often these are wrong, beside good ones."""
    from benchmarks.verdicts import bench

    found = bench(runs, first_seed, workers, budget, of, estimator)
    if not as_json:
        tell_rows("shares of runs and numbers by verdict, and of numbers outside 95%", _VERDICTS, found["rows"])
        tell_rows("each table and law", _EACH, found["each"])
        tell_rows("each reason to doubt a number", _CODES, found["codes"])
    parts = found if as_json else {name: value for name, value in found.items() if name not in ("each", "codes")}
    tell(parts, as_json)


def rehearsal(
    runs: Annotated[int, typer.Option(min=1, help="Doubtful runs of each estimator, and sound ones.")] = 30,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of each table, among which these are looked for.")] = 6,
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    budget: EachBudgetOption = "zcdp:0.5",
    as_json: JsonOption = False,
) -> None:
    """Measure how often rehearsals foretell doubtful numbers and the widths of intervals, on open tables."""
    from benchmarks.rehearsal import bench

    found = bench(runs, seeds, first_seed, budget, workers)
    if not as_json:
        title = f"shares of runs, and of 95% intervals within a factor of {found['factor']:g} of what was said"
        tell_rows(title, named(*found["rows"][0]), found["rows"])
    tell(found if as_json else {name: value for name, value in found.items() if name != "each"}, as_json)


def shift(
    estimator: Annotated[str, typer.Option(help="mean, gaussian, mixture; commas between.")] = "mean,gaussian,mixture",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each level.")] = 20,
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    budget: EachBudgetOption = "zcdp:0.5",
    n: Annotated[int | None, typer.Option(min=1, help="Private rows; default: 5000, for mixtures 10000.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how far public rows may be wrong before errors grow by a tenth, and whether a run flags that."""
    from benchmarks.shift import bench

    found = bench(estimator, runs, first_seed, workers, budget, n)
    if not as_json:
        tell_rows("errors over those with public rows from the true law", _LEVEL_HEADINGS, found["levels"])
        limits = [row | {name: _listed(row[name]) for name in ("caught", "neither")} for row in found["rows"]]
        tell_rows("how wrong public rows may be", _LIMIT_HEADINGS, limits)
    tell(found, as_json)


def _tables(
    runs: int, first_seed: int, workers: int, budget: str, csv: Path | None, columns: str | None, as_json: bool
) -> None:
    from benchmarks.open_tables import bench

    found = bench(runs, first_seed, workers, budget, csv, columns)
    if not as_json:
        tell_rows("means and sds within three standard errors, or flagged", _TABLE_HEADINGS, found["rows"])
    tell(found, as_json)


def _listed(levels: list[float]) -> str:
    return ", ".join(f"{level:g}" for level in levels)


def counts(option: str, text: str) -> tuple[int, ...]:
    """Read positive whole numbers with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) for part in parts):
        raise InvalidInput(f"{option} takes positive whole numbers with commas between them, not {text!r}")
    return tuple(int(part) for part in parts)
