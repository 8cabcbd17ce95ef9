"""Mixtures whose public rows are no sample: a component is missing, rows are garbage, doubled, moved or scaled."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, by_cell, part_of
from benchmarks.synthetic import TABLES, Setting, Truth, draw, error, oracle

_CELLS: dict[str, dict[str, Any]] = TABLES["missing"]
_BUDGET = "zcdp:0.5"


@dataclass(frozen=True)
class _Cell:
    """A setting, and what is wrong with its public rows.

    Attributes:
        setting: components, columns, rows.
        weights: of the components.
        absent: how many components, the last ones, have no public row.
        garbage: share of the public rows that lie anywhere within 20 standard deviations.
        doubled: every public row is there twice.
        moved: standard deviations by which public rows are moved in every direction together.
        scaled: factor of their distances from their mean.
        known: whether the run is given k.
        found: least share of runs that find all components or are flagged; with `warning`, or warn of something.
    """

    setting: Setting
    weights: tuple[float, ...]
    absent: int
    garbage: float
    doubled: bool
    moved: float
    scaled: float
    known: bool
    found: float

    @classmethod
    def of(cls, row: dict[str, Any]) -> "_Cell":
        setting = Setting(row["d"], len(row["weights"]), row["separation"], row["m"], row["n"])
        return cls(
            setting,
            tuple(row["weights"]),
            row.get("absent", 0),
            row.get("garbage", 0.0),
            row.get("doubled", False),
            row.get("moved", 0.0),
            row.get("scaled", 1.0),
            row.get("known", True),
            row["found"],
        )

    def drawn(self, generator: np.random.Generator) -> tuple[Truth, np.ndarray, np.ndarray, np.ndarray]:
        """Draw the truth, public rows, private rows and their labels."""
        family, k = draw(self.setting, generator), self.setting.k
        truth = Truth(np.array(self.weights), family.means, family.covariances)
        there = truth.weights * (np.arange(k) < k - self.absent)
        public = Truth(there / there.sum(), truth.means, truth.covariances)
        rows, labels = truth.sample(self.setting.n, generator)
        seen: np.ndarray = np.zeros(k)
        while seen[: k - self.absent].min() < 2:
            shown, components = public.sample(self.setting.m, generator)
            seen = np.bincount(components, minlength=k)
        return truth, self._spoiled(shown, generator), rows, labels

    def _spoiled(self, shown: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        center, (m, d) = shown.mean(axis=0), shown.shape
        shown = center + self.scaled * (shown - center) + self.moved / np.sqrt(d)
        bad = round(self.garbage * m)
        shown[:bad] = center + generator.uniform(-20, 20, (bad, d))
        return np.repeat(shown, 2, axis=0) if self.doubled else shown


def bench(runs: int, first_seed: int = 0, workers: int = WORKERS) -> dict[str, Any]:
    """One row per cell: the share of runs that find all components, and of those that miss one and do not say so.

    Args:
        runs: of each cell, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows, public rows and noise.
        workers: processes.
    """
    table = [_row(*cell) for cell in by_cell(run_of, _CELLS, runs, first_seed, workers).items()]
    ratio = min(row["found_or_warned"] / row["bound"] for row in table)
    ratio_of = "share of runs that find all components, or say that they may not, over what it must be, least"
    return part_of("missing", table, runs, first_seed, ratio, ratio_of, budget=_BUDGET)


def run_of(task: tuple[str, int]) -> dict[str, Any]:
    """Estimate one draw of a cell: whether all components were found, whether the run is flagged, what it warned of.

    Args:
        task: (cell, seed).
    """
    name, seed = task
    cell = _Cell.of(_CELLS[name])
    truth, public, rows, labels = cell.drawn(np.random.default_rng(seed))
    best = error(truth, oracle(rows, labels, cell.setting.k))
    curator = pp.Curator.simulation(rows, pp.parse_budget(_BUDGET), seed)
    estimate = pp.estimate_mixture(public, curator, n_components=cell.setting.k if cell.known else None)
    right = len(estimate.weights) == cell.setting.k
    ours = error(truth, Truth(estimate.weights, estimate.means, estimate.covariances)) if right else None
    return {
        "found": ours is not None and bool(ours.mean < max(0.5, 4 * best.mean)),
        "ratio": ours.mean / best.mean if ours else float("inf"),
        "flagged": not estimate.converged,
        "warned": bool(estimate.diagnostics["warnings"]),
        "added": bool(estimate.diagnostics["coverage"].get("added")),
    }


def _row(name: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    cell = _CELLS[name]
    good = [run["found"] or run["flagged"] or (run["warned"] and cell.get("warning", False)) for run in found]
    share = sum(good) / len(good)
    return {
        "cell": name,
        "runs": len(found),
        "found": sum(run["found"] for run in found) / len(found),
        "flagged": sum(run["flagged"] for run in found) / len(found),
        "flagged_for_nothing": sum(run["found"] and run["flagged"] for run in found) / len(found),
        "warned": sum(run["warned"] for run in found) / len(found),
        "added": sum(run["added"] for run in found) / len(found),
        "mean_ratio": float(np.median([run["ratio"] for run in found])),
        "found_or_warned": share,
        "bound": cell["found"],
        "met": share >= cell["found"],
    }
