"""Figure 1 of Bie, Kamath and Singhal 2022 (Appendix D), with what it leaves out: the best t, small n, and ours.

N(k (1, ..., 1), I_50), rho = 0.5, CoinPress with its shares 1/4 and 3/4, one public row; 10% trimmed means and
deviations on each side of the trials' Euclidean errors. CoinPress knows that the mean is within k sqrt(50) of zero;
the paper's 1-public estimator starts it from the ball around the public row, as its authors' script sizes it (by n).
All estimators ask their questions of the same simulated curator.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks.gaussian import MeanSetting
from pubpriv.estimators.gaussian.clipping import tail_bound

_D = 50
_BUDGET = "zcdp:0.5"
_RANGES = (10, 100, 1000)
_SIZES = tuple(int(n) for n in np.linspace(1000, 10000, 12))
_SMALL = (100, 150, 200, 300, 500, 700, 1000)
_ROUNDS = (2, 3, 4, 10)
"""Numbers of rounds among which CoinPress's best is chosen, in hindsight."""

CURVES = {
    "non_private": ("non-private", "black", ":"),
    "coinpress_2": ("CoinPress, t = 2", "#D55E00", "--"),
    "coinpress_best": ("CoinPress, best t in hindsight", "#E69F00", "--"),
    "one_public": ("1 public row + CoinPress (paper)", "#0072B2", "-."),
    "ours": ("1 public row, two-step (ours)", "#009E73", "-"),
}

_Panel = list[dict[str, Any]]


def bench(
    runs: int = 100, picture: Path | None = None, sizes: Sequence[int] = _SIZES, small: Sequence[int] = _SMALL
) -> dict[str, Any]:
    """All points of the figure; drawn to `picture` if it is given.

    Args:
        runs: trials of every point.
        picture: a .png, .svg or .pdf file.
        sizes: n of the three panels.
        small: n of the fourth, at k = 1000.
    """
    panels = {f"k = {k}": [_point(k, n, runs) for n in sizes] for k in _RANGES}
    panels["k = 1000, small n"] = [_point(_RANGES[-1], n, runs) for n in small]
    if picture is not None:
        _draw(picture, panels, runs)
    ratios = [at["ours"][0] / at["coinpress_best"][0] for panel in panels.values() for at in panel]
    return {
        "bench": "figure1",
        "budget": _BUDGET,
        "runs": runs,
        "ratio": max(ratios),
        "ratio_of": "our error over that of CoinPress with the best t in hindsight, largest of all points",
        "panels": panels,
    }


def _point(k: int, n: int, runs: int) -> dict[str, Any]:
    """Trimmed (mean, deviation) of every estimator's errors at one k and n, and the best t."""
    setting = MeanSetting(n, _D, 0.0, k=float(k))
    ball = np.zeros(_D), k * np.sqrt(_D)
    errors: dict[str, list[float]] = {}
    for seed in range(runs):
        public, private = setting.draw(seed)
        estimators: dict[str, dict[str, Any]] = {
            "ours": {},
            "one_public": {"method": "coinpress", "ball": (public[0], tail_bound(n, 0.01))},
        } | {f"coinpress_{t}": {"method": "coinpress", "ball": ball, "rounds": t} for t in _ROUNDS}
        errors.setdefault("non_private", []).append(setting.error(private.mean(axis=0)))
        for number, (name, options) in enumerate(estimators.items()):
            curator = pp.Curator.simulation(private, pp.parse_budget(_BUDGET), 1000 * seed + number)
            estimate = pp.estimate_mean(public, curator, **options)
            errors.setdefault(name, []).append(setting.error(estimate.mean))
    found = {name: _trimmed(values) for name, values in errors.items()}
    best = min(_ROUNDS, key=lambda rounds: found[f"coinpress_{rounds}"][0])
    return {"k": k, "n": n, **found, "coinpress_best": found[f"coinpress_{best}"], "best_t": best}


def _trimmed(errors: Sequence[float]) -> tuple[float, float]:
    """10% trimmed mean and standard deviation, each side."""
    from scipy.stats import mstats, trim_mean

    return float(trim_mean(errors, 0.1)), float(mstats.trimmed_std(np.array(errors), limits=(0.1, 0.1), ddof=1))


def _draw(path: Path, panels: dict[str, _Panel], runs: int) -> None:
    """The panels, error against n, on one page."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, ScalarFormatter

    figure = Figure(figsize=(11, 8.2), layout="constrained")
    grid = figure.subplots(2, 2)
    for axes, (title, panel) in zip(grid.flat, panels.items(), strict=True):
        sizes = [at["n"] for at in panel]
        for name, (label, colour, style) in CURVES.items():
            mean, deviation = np.array([at[name] for at in panel]).T
            axes.errorbar(
                sizes, mean, deviation, label=label, color=colour, linestyle=style, marker=".", capsize=2, lw=1.4
            )
        axes.set(title=title, xlabel="private rows n", ylabel="Euclidean error of the mean", yscale="log")
        axes.grid(visible=True, which="both", alpha=0.2)
        if "small" in title:
            axes.set_xscale("log")
            axes.set_xticks(sizes, [str(n) for n in sizes])
            axes.minorticks_off()
        else:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(ScalarFormatter())
            axes.yaxis.set_minor_formatter(lambda *_: "")
    grid[0, 0].legend(fontsize=9)
    figure.suptitle(f"Mean of N(k 1, I) in {_D} dimensions, rho = 0.5; 10% trimmed mean and deviation of {runs} trials")
    figure.savefig(path, dpi=130)
