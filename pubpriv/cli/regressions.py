"""`pubpriv bench regression`: regressions of releases beside those of the same rows without privacy, and others."""

from typing import Annotated

import typer

from pubpriv.cli.figures import named, tell, tell_rows
from pubpriv.cli.options import EachBudgetOption, FirstSeedOption, JsonOption, WorkersOption
from pubpriv.errors import InvalidInput

_LAWS = named("law", "n", "d", "refused", "ratio", "bound", "coverage", "ols_coverage", "worst", "width") | {
    "marked": "marked",
    "met": "met",
}
_BESIDE = named("law", "n", "d", "released", "adassp", "adassp_exact", "public_ssp", "opendp", "best_rival", "met")
_TABLES = named("table", "n", "runs", "refused", "doubtful", "coefficients", "within", "furthest", "width") | {
    "clear": "clear",
    "found": "found",
    "wrong_sign": "wrong sign",
}


def regression(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each law and size, or of each table.")] = 40,
    first_seed: FirstSeedOption = 0,
    workers: WorkersOption = 2,
    budget: EachBudgetOption = "zcdp:0.5",
    laws: Annotated[str, typer.Option(help="Laws of the rows, with commas between them.")] = "all",
    sizes: Annotated[str, typer.Option(help="Rows and regressors, n:d, with commas between them.")] = "all",
    beside: Annotated[bool, typer.Option("--beside", help="Other private regressions of the same rows, too.")] = False,
    fitted: Annotated[
        bool, typer.Option("--fitted", help="Regressions that are fitted, in the place of those of a Gaussian.")
    ] = False,
    tables: Annotated[bool, typer.Option("--tables", help="Real tables, in the place of laws.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure coefficients, of a released Gaussian or fitted, beside OLS of the same rows, and what intervals hold."""
    if tables and (beside or laws != "all" or sizes != "all"):
        raise InvalidInput("--tables stands alone: leave out --beside, --laws and --sizes")
    if tables:
        from benchmarks.regression_tables import bench as bench_tables

        found = bench_tables(runs, first_seed, workers, budget, fitted=fitted)
        title, headings = "coefficients beside those without privacy", _TABLES
    elif beside:
        from benchmarks.regression_rivals import bench as bench_beside

        found = bench_beside(runs, first_seed, workers, budget, laws, sizes, fitted)
        title, headings = "errors of coefficients over those of OLS, by way", _BESIDE
    else:
        from benchmarks.regression import bench

        found = bench(runs, first_seed, workers, budget, laws, sizes, fitted)
        title, headings = "errors of coefficients over those of OLS, and what 95% intervals hold", _LAWS
    if not as_json:
        tell_rows(title, headings, found["rows"])
    tell(found, as_json)
