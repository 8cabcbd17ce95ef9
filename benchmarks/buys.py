"""What public rows buy: how often all components are found, and how well, by private and public rows at (1, 1e-6)-DP.

Laws are those of `benchmarks.kssu`: far from zero, condition numbers up to 10. Public rows are drawn as they come, so
few of them may miss a component, and the fewer are the first of the more: nothing else differs between two numbers of
them. EM without privacy is what the private rows themselves would give.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import pubpriv as pp
from benchmarks import buys_figure
from benchmarks.grid import WORKERS
from benchmarks.kssu import BOUND, FOUND, Cell, law
from benchmarks.papers.populous.driver import estimate_mixture_ppe
from benchmarks.papers.populous.plan import make_plan, typical_closeness
from benchmarks.record import recorded
from benchmarks.synthetic import Truth, error
from pubpriv.errors import InvalidInput, NoAnswer
from pubpriv.released.report.spending import write_plot

_BUDGET, _BLOCKS = "approx:1,1e-6", 400
_MOST_PUBLIC = 300
_MOST = 1e12
"""Private rows up to which the populous estimator's need is looked for."""

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
_PARTS = {"d5k3": Cell(5, 3, 6.0, 0), "d5k1": Cell(5, 1, 1.0, 0)}

_EM, _DEFAULT, _KSSU, _NO_PUBLIC, _POPULOUS = "non-private EM", "default", "kssu", "no-public", "ppe"
_PAPER = ("bks-scarce", "bks-ample")


@dataclass(frozen=True)
class Run:
    """One estimate: a draw of a part's law with n private rows, of which each line and m see the same.

    Attributes:
        part: see `_PARTS`.
        line: who estimates.
        n, m: private and public rows.
        seed: of the draw and of noise.
    """

    part: str
    line: str
    n: int
    m: int
    seed: int


def bench(
    part: str = "d5k3",
    runs: int = 20,
    first_seed: int = 0,
    sizes: tuple[int, ...] = SIZES,
    workers: int = WORKERS,
    keep: Path | None = None,
    picture: Path | None = None,
) -> dict[str, Any]:
    """One row for each line, m and n.

    Args:
        part: `d5k3`: three components, 6 standard deviations apart; `d5k1`: one Gaussian.
        runs: of each cell, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of laws, rows and noise.
        sizes: n, private rows.
        workers: processes.
        keep: file of JSON lines, one for each run; runs that it has are not made again.
        picture: where shares and errors are drawn: an .svg file.

    Raises:
        InvalidInput: there is no such part, or `keep` is no record of this bench.
    """
    if part not in _PARTS:
        raise InvalidInput(f"part must be one of {', '.join(_PARTS)}, not {part!r}")
    cell = _PARTS[part]
    needs = populous_rows(cell.d, cell.k)
    cells = [(line, m, n) for line, m in _lines(cell) for n in sizes]
    made = [each for each in cells if each[0] != _POPULOUS or each[2] >= needs]
    tasks = [Run(part, line, n, m, first_seed + run) for line, m, n in made for run in range(runs)]
    found = list(recorded(estimate, tasks, workers, keep))
    rows = [_row(*each, [run for run in found if (run["line"], run["m"], run["n"]) == each], needs) for each in cells]
    if picture is not None:
        # the paper's own are in the table only: so many lines would hide each other
        shown = [row for row in rows if row["line"] not in _PAPER]
        write_plot(picture, buys_figure.drawn(shown, f"{_described(cell)}, {runs} draws of each cell"))
    few = cell.k * (cell.d + 1)
    without, helped = (
        _enough(rows, line, m) for line, m in ((_KSSU if cell.k > 1 else _NO_PUBLIC, 0), (_DEFAULT, few))
    )
    return {
        "bench": "buys",
        "part": part,
        "budget": _BUDGET,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": without / helped if without and helped else None,
        "ratio_of": f"fewest private rows tried at which nine runs in ten find all, without public rows over {few}",
        "populous_needs": needs,
        "rows": rows,
    }


def _described(cell: Cell) -> str:
    mixture = f"{cell.k} components {cell.apart:g} standard deviations apart" if cell.k > 1 else "one Gaussian"
    return f"{mixture}, {cell.d} columns, {_BUDGET}"


def _lines(cell: Cell) -> Iterator[tuple[str, int]]:
    """(line, m), in the order of the table."""
    sizes = sorted({cell.d + 1, cell.k * (cell.d + 1), 60, _MOST_PUBLIC})
    yield _EM, 0
    yield from ((_DEFAULT, m) for m in sizes)
    if cell.k > 1:
        yield from ((line, m) for line in _PAPER for m in sizes[1:])
        yield _KSSU, 0
    else:
        yield _NO_PUBLIC, 0
    yield _POPULOUS, 0


def estimate(task: Run) -> dict[str, Any]:
    """Make one estimate: whether all was found, whether it was flagged, and errors."""
    cell, random = _PARTS[task.part], np.random.default_rng([task.seed, task.n])
    truth = law(cell, random)
    public, _ = truth.sample(_MOST_PUBLIC, random)
    rows, _ = truth.sample(task.n, random)
    told = asdict(task) | {"found": False, "flagged": True}
    try:
        numbers, flagged = _ESTIMATES[task.line](public[: task.m], rows, cell.k, task.seed)
    except (InvalidInput, NoAnswer) as refusal:
        return told | {"refused": type(refusal).__name__}
    if len(numbers.weights) < cell.k:
        return told | {"flagged": flagged}
    off = error(truth, numbers)
    found = bool(off.mean < FOUND)
    return told | {"found": found, "flagged": flagged, "mean": off.mean, "covariance": off.covariance}


_Found = tuple[Truth, bool]
"""Numbers, and whether they are flagged."""


def _expectation_maximisation(public: np.ndarray, rows: np.ndarray, k: int, seed: int) -> _Found:
    """scikit-learn's, of the private rows in units of the columns."""
    from sklearn.mixture import GaussianMixture

    del public
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    model = GaussianMixture(k, n_init=3, random_state=seed).fit((rows - center) / scale)
    covariances = np.outer(scale, scale) * model.covariances_
    return Truth(model.weights_, center + scale * model.means_, covariances), not model.converged_


def _default(public: np.ndarray, rows: np.ndarray, k: int, seed: int) -> _Found:
    return _released("auto", public, rows, k, seed) if k > 1 else _gaussian("learner", public, rows, k, seed)


def _released(method: str, public: np.ndarray, rows: np.ndarray, k: int, seed: int) -> _Found:
    """Estimate by a method that releases a mixture."""
    curator, without = _simulation(rows, seed), method == _KSSU
    bound = BOUND if without else None
    found = pp.estimate_mixture(None if without else public, curator, n_components=k, method=method, bound=bound)
    return Truth(found.weights, found.means, found.covariances), not found.converged


def _gaussian(method: str, public: np.ndarray, rows: np.ndarray, k: int, seed: int) -> _Found:
    """Estimate the one component."""
    del k
    found = pp.estimate_gaussian(None if method == _NO_PUBLIC else public, _simulation(rows, seed), method=method)
    return Truth(np.ones(1), found.mean[None], found.covariance[None]), not found.converged


def _populous(public: np.ndarray, rows: np.ndarray, k: int, seed: int) -> _Found:
    del public
    found = estimate_mixture_ppe(_simulation(rows, seed), k, blocks=_BLOCKS, seed=seed)
    if found.weights is None or found.means is None or found.covariances is None:
        raise NoAnswer("no answer: blocks do not agree")
    return Truth(found.weights, found.means, found.covariances), False


def _simulation(rows: np.ndarray, seed: int) -> pp.Curator:
    return pp.Curator.simulation(rows, pp.parse_budget(_BUDGET), seed)


_ESTIMATES: dict[str, Callable[[np.ndarray, np.ndarray, int, int], _Found]] = {
    _EM: _expectation_maximisation,
    _DEFAULT: _default,
    **{method: partial(_released, method) for method in (*_PAPER, _KSSU)},
    _NO_PUBLIC: partial(_gaussian, _NO_PUBLIC),
    _POPULOUS: _populous,
}


@cache
def populous_rows(d: int, k: int) -> float:
    """Private rows from which the populous estimator's masks leave means within `FOUND`, to 2%; infinite: none do."""
    promise = pp.parse_budget(_BUDGET)
    assert isinstance(promise, pp.ApproximateDP)

    def enough(n: float) -> bool:
        closeness = typical_closeness(d, k, int(n) // _BLOCKS, np.random.default_rng(0))
        plan = make_plan(d, k, float(promise.epsilon), float(promise.delta), _BLOCKS, closeness)
        return plan is not None and plan.predicted[0] < FOUND

    low, high = float(_BLOCKS * k * (d + 3)), _MOST
    if not enough(high):
        return math.inf
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high)


def _row(line: str, m: int, n: int, found: list[dict[str, Any]], needs: float) -> dict[str, Any]:
    """Sum up one cell: errors are medians of the runs that found all."""
    row: dict[str, Any] = {"line": line, "m": m, "n": n, "runs": len(found)}
    if not found:
        return row | {"needs": needs}
    good = [run for run in found if run["found"]]
    return row | {
        "found": len(good),
        "mean": median(run["mean"] for run in good) if good else None,
        "covariance": median(run["covariance"] for run in good) if good else None,
        "refused": sum("refused" in run for run in found),
        "silent": sum(not run["found"] and not run["flagged"] for run in found),
    }


def _enough(rows: list[dict[str, Any]], line: str, m: int) -> int | None:
    """Find the least n from which on nine runs in ten find all; None: at none of those tried."""
    least = None
    for row in reversed([row for row in rows if (row["line"], row["m"]) == (line, m)]):
        if row["found"] < 0.9 * row["runs"]:
            break
        least = row["n"]
    return least
