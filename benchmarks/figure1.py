"""Figure 1 of Bie, Kamath and Singhal 2022 (Appendix D), with what it leaves out: the best t, small n, and ours.

N(k (1, ..., 1), I_50), rho = 0.5, CoinPress with its shares 1/4 and 3/4, one public row; 10% trimmed means and
deviations on each side of the trials' Euclidean errors. CoinPress knows that the mean is within k sqrt(50) of zero;
the paper's 1-public estimator starts it from the ball around the public row, as its authors' script sizes it (by n).
All estimators ask their questions of the same simulated curator.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

import pubpriv as pp
from benchmarks.gaussian import MeanSetting
from pubpriv.estimators.gaussian.clipping import tail_bound
from pubpriv.released.report.drawing import Axis, add, curve, dots, element, line, sheet, words
from pubpriv.released.report.spending import write_plot

_D = 50
_BUDGET = "zcdp:0.5"
_RANGES = (10, 100, 1000)
_SIZES = tuple(int(n) for n in np.linspace(1000, 10000, 12))
_SMALL = (100, 150, 200, 300, 500, 700, 1000)
_ROUNDS = (2, 3, 4, 10)
"""Numbers of rounds among which CoinPress's best is chosen, in hindsight."""

CURVES = {
    "non_private": ("non-private", "#1a1a1a", "1 3"),
    "coinpress_2": ("CoinPress, t = 2", "#D55E00", "7 3"),
    "coinpress_best": ("CoinPress, best t in hindsight", "#E69F00", "5 2"),
    "one_public": ("1 public row + CoinPress (paper)", "#0072B2", "9 3 2 3"),
    "ours": ("1 public row, two-step (ours)", "#007A5A", "none"),
}
"""Label, colour and dashes of each estimator."""

_Panel = list[dict[str, Any]]


def bench(
    runs: int = 100, picture: Path | None = None, sizes: Sequence[int] = _SIZES, small: Sequence[int] = _SMALL
) -> dict[str, Any]:
    """All points of the figure; drawn to `picture` if it is given.

    Args:
        runs: trials of every point.
        picture: an .svg file.
        sizes: n of the three panels.
        small: n of the fourth, at k = 1000.
    """
    panels = {f"k = {k}": [_point(k, n, runs) for n in sizes] for k in _RANGES}
    panels["k = 1000, small n"] = [_point(_RANGES[-1], n, runs) for n in small]
    if picture is not None:
        write_plot(picture, _drawn(panels, runs))
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


def _drawn(panels: dict[str, _Panel], runs: int) -> Element:
    """The panels, error against n, on one sheet; bars are one trimmed deviation to each side."""
    title = f"Mean of N(k 1, I) in {_D} dimensions, rho = 0.5; 10% trimmed mean and deviation of {runs} trials"
    about = f"{len(panels)} panels of errors against the number of private rows; `--json` prints every point."
    made = sheet("figure1", 34 + 2 * 310 + 24, title, about, 2 * 400)
    add(made, words(title, 4.0, 16.0, font_weight="bold"))
    for number, (name, panel) in enumerate(panels.items()):
        place = f"translate({400 * (number % 2)} {34 + 310 * (number // 2)})"
        add(made, add(element("g", transform=place), *_panel(name, panel)))
    x = 10.0
    for label, color, dash in CURVES.values():
        y = 34 + 2 * 310 + 14.0
        add(made, line(x, y - 4, x + 22, y - 4, color, 1.6, dash), words(label, x + 27, y, font_size="10"))
        x += 36 + 4.9 * len(label)
    return made


def _panel(name: str, panel: _Panel) -> list[Element]:
    """One panel of 400 x 310: logarithms of errors upwards, n across, as it is or its logarithm where n is small."""
    of_n = math.log10 if "small" in name else float
    sizes = [of_n(at["n"]) for at in panel]
    ends = [end for at in panel for curve_ in CURVES for end in _bar(*at[curve_])]
    margin = 0.04 * (sizes[-1] - sizes[0] or 1.0)
    across = Axis(sizes[0] - margin, sizes[-1] + margin, 52.0, 390.0)
    upwards = Axis(math.log10(min(ends)) - 0.03, math.log10(max(ends)) + 0.03, 250.0, 26.0)
    made = [words(name, 221.0, 18.0, "middle"), words("Euclidean error of the mean", 4.0, 8.0, font_size="10")]
    for mark in (factor * 10.0**power for power in range(-4, 5) for factor in (1, 2, 5)):
        if upwards.low <= math.log10(mark) <= upwards.high:
            y = upwards(math.log10(mark))
            made += [line(52.0, y, 390.0, y), words(f"{mark:g}", 46.0, y + 4, "end", font_size="10")]
    for size, at in list(zip(sizes, panel, strict=True))[:: max(1, len(sizes) // 6)]:
        made += [line(across(size), 250.0, across(size), 254.0)]
        made += [words(str(at["n"]), across(size), 266.0, "middle", font_size="10")]
    made.append(words("private rows n", 221.0, 284.0, "middle", font_size="10"))
    for estimator, (_, color, dash) in CURVES.items():
        points = [(across(size), upwards(math.log10(at[estimator][0]))) for size, at in zip(sizes, panel, strict=True)]
        made += [curve(points, color, 1.6, dash), dots(points, 4.0, color, "1")]
        for (x, _), at in zip(points, panel, strict=True):
            low, high = (upwards(math.log10(end)) for end in _bar(*at[estimator]))
            made.append(line(x, low, x, high, color, 1.0))
    return made


def _bar(mean: float, deviation: float) -> tuple[float, float]:
    """The ends of an error bar, above zero, where there is a logarithm."""
    return max(mean - deviation, mean / 10), mean + deviation
