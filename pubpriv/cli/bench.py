"""`pubpriv bench`: measurements that print the figures of the documentation, on data of their own."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pubpriv.cli import buys, fleet, honest, incomplete, persons, pure, regressions
from pubpriv.cli.console import table
from pubpriv.cli.extras import checkout
from pubpriv.cli.figures import named, tell, tell_rows
from pubpriv.cli.options import EachBudgetOption, FirstSeedOption, JsonOption
from pubpriv.errors import InvalidInput

_MOST_DRAWS = 20
"""Most draws of public rows for a real table."""

_PARTS = {
    "grid": "median errors over those of the estimate that knows every row's component, and their bounds",
    "dp": "the same at (1, 1e-6)-DP",
    "unknown-k": "runs that do not know the number of components, rho 0.5",
    "ladder": "held-out nats per row by which the best number of components, if it is given, is better",
    "bks": "the paper's own algorithms, and the default: runs that tell the components apart, rho 1",
    "real": "mean held-out log-likelihood per row, medians over draws",
    "coverage": "share of 95% intervals that hold the truth",
    "missing": "public rows that are no sample: runs that find all components, or are flagged, rho 0.5",
    "scales": "runs that find components of several scales, rho 0.5",
    "ppe": "the private populous estimator, in simulation, without public rows",
    "kssu": "runs without public rows that find all components, rho 0.5",
    "overlap": "three components that share rows: errors over those of EM on the same rows, and intervals that hold",
}
_COLUMNS = {
    "grid": (
        *("setting", "budget", "runs", "success", "success_bound", "mean_ratio", "mean_bound", "covariance_ratio"),
        *("covariance_bound", "weight_ratio", "weight_bound", "redrawn", "met"),
    ),
    "unknown-k": ("setting", "runs", "right", "bound", "found", "met"),
    "ladder": (
        *("table", "budget", "runs", "components", "gap", "largest_gap", "gap_bound", "over_one", "right", "met"),
    ),
    "bks": (
        *("method", "constants", "k", "round", "separation", "m", "runs", "clean", "clean_bound", "mean_ratio"),
        *("covariance_ratio", "theorem_separation", "theorem_m", "theorem_n", "met"),
    ),
    "real": (
        *("table", "budget", "draws", "public_only", "released", "non_private", "gap_closed", "bound", "worst"),
        *("worst_bound", "kept_public", "met"),
    ),
    "coverage": ("setting", "budget", "runs", "weights", "means", "covariances", "met"),
    "missing": (
        *(
            "cell",
            "runs",
            "found",
            "flagged",
            "flagged_for_nothing",
            "warned",
            "added",
            "mean_ratio",
            "found_or_warned",
        ),
        *("bound", "met"),
    ),
    "scales": (
        *("scales", "runs", "found", "bound", "mean_ratio", "covariance_ratio", "worst_covariance_ratio", "flagged"),
        *("silent", "met"),
    ),
    "ppe": ("d", "k", "budget", "n", "runs", "answered", "h_index", "mean", "covariance", "weight", "theorem_n"),
}
_COLUMNS["kssu"] = ("d", "k", "apart", "n", "nested", "runs", "success", "bound", "mean", "covariance", "silent", "met")
_COLUMNS["overlap"] = (
    *("shape", "d", "apart", "runs", "weights_ratio", "means_ratio", "covariances_ratio"),
    *("weights_covered", "means_covered", "covariances_covered", "doubtful", "met"),
)
_COLUMNS["dp"] = _COLUMNS["grid"]
_MODULES = {"unknown-k": "unknown_k", "ppe": "populous"}
"""Modules of `benchmarks` whose names differ from those of their parts."""

_RUNS = {"real": 5, "ladder": 5, "ppe": 4, "bks": 10, "setting": 10} | dict.fromkeys(
    ("coverage", "dp", "grid", "kssu", "missing", "overlap", "scales", "unknown-k"), 20
)

app = typer.Typer(no_args_is_help=True, help="Benchmarks: the figures that the documentation claims.")
app.command("honest")(honest.honest)
app.command("best-radius")(honest.best_radius)
app.command("verdicts")(honest.verdicts)
app.command("regression")(regressions.regression)
app.command("rehearsal")(honest.rehearsal)
app.command("shift")(honest.shift)
app.command("missing")(incomplete.missing)
app.command("pure")(pure.pure)
app.command("persons")(persons.persons)
app.command("groups")(persons.groups)
app.command("buys")(buys.buys)
app.add_typer(fleet.app, name="fleet")


@app.callback()
def _bench() -> None:
    """Put the folder `benchmarks` on the import path of this process and those that it starts.

    Raises:
        InvalidInput: the package was installed without the folder.
    """
    root = checkout()
    if root is None:
        raise InvalidInput("benchmarks are no part of an installed package: run `pubpriv bench` in a checkout's .venv")
    sys.path.insert(0, str(root))
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@app.command("scan")
def _scan(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the table.")] = 1_000_000,
    dims: Annotated[int, typer.Option(min=1, help="Columns of the table.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Measure the cost of exact totals: time of the integer lifted Gram over a plain whitened Y @ Y.T, one thread."""
    from benchmarks.scan import bench

    tell(bench(rows, dims), as_json)


@app.command("looks")
def _looks(
    rows: Annotated[int, typer.Option(min=1000, help="Rows of the file that is timed.")] = 1_000_000,
    dims: Annotated[int, typer.Option(min=2, help="Columns of it.")] = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Fresh processes of each, in turns.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Count passes over the rows of each kind of fit, and time one beside DuckDB and OpenDP on the same file."""
    from benchmarks.looks import bench

    tell(bench(rows, dims, repeats), as_json)


@app.command("memory")
def _memory(
    rows: Annotated[int, typer.Option(min=10, help="Rows of the larger table.")] = 10_000_000,
    dims: Annotated[int, typer.Option(min=1, help="Columns of both tables.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Measure memory of a scan: peak for many rows, relative to that for a tenth of them. Needs disk for both."""
    from benchmarks.memory import bench

    tell(bench(rows, dims), as_json)


@app.command("ledger")
def _ledger(
    charges: Annotated[int, typer.Option(min=1, help="Charges in the ledger, each with its answer.")] = 100_000,
    runs: Annotated[int, typer.Option(min=1, help="Runs among which they are shared.")] = 1_000,
    as_json: JsonOption = False,
) -> None:
    """Measure the cost of a long ledger: seconds of `ledger verify` and of `budget show`, with start-up."""
    from benchmarks.ledger import bench

    tell(bench(charges, runs), as_json)


@app.command("startup")
def _startup(
    repeats: Annotated[int, typer.Option(min=1, help="Fresh processes of each command, in turns with imports.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Measure how long commands take to start, relative to their necessary imports, with bounds."""
    from benchmarks.startup import bench

    found = bench(repeats)
    if not as_json:
        names = ("seconds", "seconds_beside", "ratio", "processor_ratio", "bound", "seconds_bound", "met")
        title = f"fresh processes, medians of {found['repeats']}"
        tell_rows(title, named("of", "beside", *names), found["rows"])
    tell(found, as_json)


@app.command("demo")
def _demo(
    unit: Annotated[str, typer.Option(help="all-years of a person, person or person-year.")] = "all-years",
    splits: Annotated[int, typer.Option(min=1, help="Splits, seeds 0, 1, ...")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Measure the share of the gap between public-only and non-private models that the private one closes."""
    from benchmarks.demo import bench

    found = bench(unit, splits)
    if not as_json:
        rows = [
            [
                str(i),
                f"{s['public_only']:.3f}",
                f"{s['released']:.3f}",
                f"{s['non_private']:.3f}",
                f"{s['gap_closed']:.0%}",
            ]
            for i, s in enumerate(found["splits"])
        ]
        table(
            f"mean held-out log-likelihood per row, unit {found['unit']}, {found['budget']}",
            ["split", "public only", "released", "non-private", "gap closed"],
            rows,
        )
    tell(found, as_json)


@app.command("mixture")
def _mixture(
    setting: Annotated[str | None, typer.Option(help="S1, S2, S4, S5, S6 or S8; without --part: S2.")] = None,
    part: Annotated[str | None, typer.Option(help=f"A whole table: {', '.join(_PARTS)}.")] = None,
    budget: Annotated[str, typer.Option(help="Budget of each run of a setting.")] = "zcdp:0.5",
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each row; default by part.")] = None,
    first_seed: FirstSeedOption = 0,
    clock: Annotated[bool, typer.Option(help="Also time a real private fit against scikit-learn's EM.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes of simulated runs.")] = 2,
    adult: Annotated[Path | None, typer.Option(help="File of the census extract, for --part real.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare mixtures with the true-label oracle and scikit-learn's EM: one setting, or --part for a whole table."""
    if part is None:
        from benchmarks.mixture import bench

        tell(bench(setting or "S2", budget, runs or _RUNS["setting"], clock, first_seed, workers), as_json)
        return
    if part not in _PARTS:
        raise InvalidInput(f"part must be one of {', '.join(_PARTS)}, not {part!r}")
    found = _mixture_part(part, setting, runs or _RUNS[part], first_seed, workers, adult)
    if not as_json:
        tell_rows(f"{part}: {_PARTS[part]}", named(*_COLUMNS[part]), found["rows"])
    tell(found, as_json)


@app.command("gaussian")
def _gaussian(
    part: Annotated[str, typer.Option(help="mean, covariance or all.")] = "all",
    budget: EachBudgetOption = "zcdp:0.5",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each row, seeds 0, 1, ...")] = 100,
    method: Annotated[
        str, typer.Option(help="Method of the mean: two-step, clip-and-noise or coinpress.")
    ] = "two-step",
    real: Annotated[bool, typer.Option(help="Repeat one row of the mean with a real curator and its noise.")] = True,
    real_table: Annotated[
        str | None, typer.Option("--table", help="rand or adult: a real table in the place of Gaussian rows.")
    ] = None,
    adult: Annotated[Path | None, typer.Option(help="File of the census extract, for --table adult.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure errors of one Gaussian relative to the non-private estimate on the same rows, with required values."""
    if real_table is not None:
        _real_table(real_table, min(runs, _MOST_DRAWS), adult, as_json)
        return
    from benchmarks.gaussian import bench

    found = bench(part, budget, runs, method, real)
    if not as_json:
        names = ("runs", "ratio", "target", "predicted", "covered", "flagged", "bad", "seconds_per_run")
        title = f"error over the non-private one, {found['budget']}, 10% trimmed means"
        tell_rows(title, named("of", "setting", *names), found["rows"])
    tell(found, as_json)


@app.command("no-public")
def _no_public(
    budget: EachBudgetOption = "approx:4,1e-6",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each row.")] = 10,
    first_seed: Annotated[int, typer.Option(min=0, help="Seed of the first run of each row.")] = 20000,
    as_json: JsonOption = False,
) -> None:
    """Measure errors of a Gaussian without public rows, relative to the non-private estimate on the same rows."""
    from benchmarks.no_public import bench

    found = bench(budget, runs, first_seed)
    if not as_json:
        title = f"median errors over the non-private ones, {budget}"
        tell_rows(title, named(*found["rows"][0]), found["rows"])
    tell(found, as_json)


@app.command("bounds")
def _bounds(
    of: Annotated[
        Literal["bounds", "roots"], typer.Option(help="Of declared bounds, or of columns like sqrt(cost).")
    ] = "bounds",
    runs: Annotated[int, typer.Option(min=1, help="Draws of each row.")] = 40,
    first_seed: FirstSeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure errors of means with declared bounds over those of a plain clipped mean, or means in original units."""
    from benchmarks import declared_bounds, root_means

    found = (declared_bounds if of == "bounds" else root_means).bench(runs, first_seed)
    if not as_json:
        tell_rows(f"means of {of}: errors over plain ones", named(*found["rows"][0]), found["rows"])
    tell(found, as_json)


@app.command("quantiles")
def _quantiles(
    laws: Annotated[str, typer.Option(help="Laws, with commas between them.")] = "all",
    runs: Annotated[int, typer.Option(min=1, help="Draws of each row.")] = 200,
    first_seed: FirstSeedOption = 0,
    of: Annotated[
        Literal["columns", "groups", "shares", "peers"],
        typer.Option(help="Of fifty groups, of shares of thirty levels, or beside OpenDP and diffprivlib."),
    ] = "columns",
    diffprivlib: Annotated[
        Path | None,
        typer.Option(metavar="PYTHON", help="A Python that has diffprivlib, for peers.", show_default="left out"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure rank errors of five quantiles of a column, over those of the sample, and what intervals hold."""
    from benchmarks import quantile_groups, quantile_peers, quantiles

    if of == "columns":
        found = quantiles.bench(runs, first_seed, laws=laws)
    elif of == "peers":
        found = quantile_peers.bench(runs, first_seed, laws=laws, diffprivlib=diffprivlib)
    else:
        found = quantile_groups.bench(of, runs, first_seed)
    if not as_json:
        title = f"quantiles of {of}: errors in sampling errors, and shares of intervals that hold"
        tell_rows(title, named(*found["rows"][0]), found["rows"])
    tell(found, as_json)


@app.command("figure1")
def _figure1(
    runs: Annotated[int, typer.Option(min=4, help="Trials of each point.")] = 100,
    plot: Annotated[Path, typer.Option(help="Where the picture goes: an .svg file.")] = Path("figure1.svg"),
    as_json: JsonOption = False,
) -> None:
    """Repeat figure 1 of the paper (Appendix D): CoinPress, the paper's estimator and ours, and small n."""
    from benchmarks.figure1 import CURVES, bench
    from pubpriv.released.report.spending import check_plot

    check_plot(plot)
    found = bench(runs, plot)
    if not as_json:
        for title, panel in found["panels"].items():
            rows = [[str(at["n"]), *(f"{at[name][0]:.4f}" for name in CURVES), str(at["best_t"])] for at in panel]
            table(title, ["n", *(label for label, _, _ in CURVES.values()), "best t"], rows)
    tell({name: value for name, value in found.items() if as_json or name != "panels"} | {"plot": str(plot)}, as_json)


def _real_table(name: str, runs: int, adult: Path | None, as_json: bool) -> None:
    from benchmarks.tables import bench

    found = bench(name, runs, adult=adult)
    if not as_json:
        names = ("error", "target", "worst", "mean_error", "public_only", "moments", "flagged")
        title = f"errors to the table's own mean and covariance, median of {found['runs']} draws of 60 public rows"
        tell_rows(title, {"of": "columns"} | named("setting", *names), found["rows"])
    tell(found, as_json)


def _mixture_part(
    part: str, setting: str | None, runs: int, first_seed: int, workers: int, adult: Path | None
) -> dict[str, Any]:
    if setting is not None and part not in ("grid", "dp"):
        raise InvalidInput(f"--part {part} has settings of its own: leave --setting out")
    if part in ("grid", "dp"):
        from benchmarks import grid

        return grid.bench(grid.names_of(part == "dp", setting), part == "dp", runs, first_seed, workers)
    if part == "real":
        from benchmarks import real

        return real.bench(adult, runs, first_seed, workers)
    if part != "bks":
        module = import_module(f"benchmarks.{_MODULES.get(part, part)}")
        found: dict[str, Any] = module.bench(runs, first_seed, workers)
        return found
    from benchmarks import bks

    rows = bks.table(runs, first_seed, workers)
    return {
        "bench": "mixture",
        "part": part,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": min(row["clean"] / row["clean_bound"] for row in rows if row["clean_bound"]),
        "ratio_of": "share of runs whose groups are the components, over what it must be, least",
        "met": all(row["met"] for row in rows),
        "rows": rows,
    }
