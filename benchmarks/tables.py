"""Mean and covariance of real tables: relative errors to the table's own moments, with sixty public rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from pubpriv.data.tables import PublicTable
from pubpriv.deployments.randhie import rows_of
from pubpriv.errors import InvalidInput

_TABLES = ("rand", "adult")
_N_PUBLIC = 60
HEALTH = ("mdvis", "lpi", "fmde", "disea", "lncoins")
LOGGED = ("log1p(mdvis)", *HEALTH[1:])
_CENSUS = ("age", "education_num", "hours_per_week")
_ALL_OF_CENSUS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")


@dataclass(frozen=True)
class Row:
    """One row of the bench.

    Attributes:
        unit: `person`, or `person-year` of the RAND table.
        columns: names or expressions.
        budget: of every run, as text.
        target: what the median error must reach; None: that of the public rows alone.
    """

    unit: str
    columns: tuple[str, ...]
    budget: str
    target: float | None


_ROWS = {
    "rand": (
        Row("person-year", HEALTH, "zcdp:0.05", 0.30),
        Row("person-year", HEALTH, "zcdp:0.5", 0.15),
        Row("person-year", HEALTH, "zcdp:2", 0.10),
        Row("person", HEALTH, "zcdp:0.05", 0.45),
        Row("person", HEALTH, "zcdp:0.5", 0.26),
        Row("person", HEALTH, "zcdp:2", 0.20),
        Row("person-year", LOGGED, "zcdp:0.5", 0.025),
        Row("person", LOGGED, "zcdp:0.5", 0.05),
    ),
    "adult": (
        Row("person", _CENSUS, "zcdp:0.5", 0.012),
        Row("person", _ALL_OF_CENSUS, "zcdp:0.5", None),
    ),
}


def bench(table: str, runs: int = 20, target: str = "auto", adult: Path | None = None) -> dict[str, Any]:
    """Median errors over `runs` simulated runs, each with other public rows.

    Args:
        table: `rand`, the RAND Health Insurance Experiment; `adult`, numeric columns of the census extract.
        runs: draws of the public rows and of the noise.
        target: see `estimate_gaussian`.
        adult: CSV or Parquet file of the census extract, which does not come with this project.

    Raises:
        InvalidInput: an unknown table, or its data is missing.
    """
    if table not in _TABLES:
        raise InvalidInput(f"table must be one of {', '.join(_TABLES)}, not {table!r}")
    rows = [measured(row, cells(row, adult), runs, target) for row in _ROWS[table]]
    return {
        "bench": "gaussian",
        "table": table,
        "runs": runs,
        "ratio": max(row["error"] / row["target"] for row in rows),
        "ratio_of": "largest median relative Frobenius error of the covariance, over what it must reach",
        "rows": rows,
    }


def cells(row: Row, adult: Path | None) -> np.ndarray:
    """(n, d) cells of a table's columns, expressions applied."""
    if row.columns[-1] == HEALTH[-1]:
        return PublicTable.open(rows_of(row.unit)[0], row.columns).rows
    return census_rows(adult, row.columns)


def census_rows(adult: Path | None, columns: tuple[str, ...]) -> np.ndarray:
    """Read columns of the census extract, (n, d).

    Raises:
        InvalidInput: no file is given, or it cannot be read.
    """
    if adult is None:
        raise InvalidInput(
            "the census extract does not come with pubpriv: give its file by --adult FILE, a CSV with the columns "
            + ", ".join(_ALL_OF_CENSUS)
        )
    return PublicTable.open(adult, columns).rows


def measured(row: Row, rows: np.ndarray, runs: int, target: str) -> dict[str, Any]:
    """Errors of one row of the bench."""
    budget = pp.parse_budget(row.budget)
    found, public_only, chosen, flagged, warned = [], [], [], 0, 0
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(len(rows))
        public, private = rows[order[:_N_PUBLIC]], rows[order[_N_PUBLIC:]]
        curator = pp.Curator.simulation(private, budget, seed)
        estimate = pp.estimate_gaussian(public, curator, target=target)
        found.append(errors(estimate.mean, estimate.covariance, private))
        public_only.append(errors(public.mean(axis=0), np.cov(public.T), private))
        chosen.append("gaussian" if estimate.diagnostics.get("shape", "gaussian") == "gaussian" else "moments")
        flagged += not estimate.converged
        warned += bool(estimate.diagnostics["warnings"])
    ours, theirs = np.array(found), np.array(public_only)
    return {
        "of": ", ".join(row.columns),
        "setting": f"{row.unit}, {row.budget}",
        "error": float(np.median(ours[:, 0])),
        "target": float(np.median(theirs[:, 0])) if row.target is None else row.target,
        "worst": float(ours[:, 0].max()),
        "mean_error": float(np.median(ours[:, 1])),
        "public_only": float(np.median(theirs[:, 0])),
        "worst_over_public_only": float((ours[:, 0] / theirs[:, 0]).max()),
        "moments": chosen.count("moments"),
        "flagged": int(flagged),
        "warned": int(warned),
    }


def errors(mean: np.ndarray, covariance: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """(relative Frobenius error of a covariance, Mahalanobis error of a mean) to the moments of `rows`."""
    values, vectors = np.linalg.eigh(np.cov(rows.T))
    whitening = vectors / np.sqrt(values)
    distance = whitening.T @ covariance @ whitening - np.eye(len(mean))
    return float(np.linalg.norm(distance)), float(np.linalg.norm((mean - rows.mean(axis=0)) @ whitening))
