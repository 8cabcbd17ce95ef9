"""Whether verdicts on numbers are worth reading: how often numbers are doubtful or wide, and how often these are wrong.

The tables are chosen by a rule, so that nobody can choose them by how well they do: every table that statsmodels and
scikit-learn bring whose columns of numbers have at least 300 whole rows, its columns in their order in blocks of five,
without those that have one value. A draw takes 60 rows as public ones and at most 5,000 others as private, and the
truth is the private rows' own, as that is what is released: for a mixture, what EM over these rows makes of the
release (`benchmarks.local_fit`). Beside them stand all laws of `benchmarks.laws`, of few and of many rows, with the
truth of the law.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

import pubpriv as pp
from benchmarks.grid import WORKERS, in_processes
from benchmarks.laws import LAWS, listed
from benchmarks.library_tables import BLOCK, blocks_of_tables
from benchmarks.local_fit import LocalFit
from pubpriv.errors import InvalidInput, PubPrivError
from pubpriv.released.estimate import Estimate
from pubpriv.released.kinds import MixtureEstimate
from pubpriv.released.numbers import Z95, Number, State

_PUBLIC, _MOST = 60, 5_000
"""Public rows, and most private rows of a table."""

_SIZES = (300, 2_000)
"""Private rows of a law."""

_SOUND = 3.0
"""Errors within which every number of an unflagged run should be."""

BOUNDS = {
    "mean": {"doubtful_runs": 0.10, "wide": 0.15, "odds": 5.0, "sound": 0.985},
    "gaussian": {"doubtful_runs": 0.12, "wide": 0.15, "odds": 5.0, "sound": 0.97},
    "mixture": {"doubtful_runs": 0.20, "wide": 0.15, "odds": 5.0, "sound": 0.0},
}
"""What must be reached over the tables: at most so many runs with a doubtful number, and wide numbers; doubtful numbers
wrong at least so many times as often as good ones; so many runs without doubtful numbers, at least, within SOUND errors
throughout. A mixture's numbers may move far along a valley of the likelihood, so nothing is asked of the last one."""

_ESTIMATORS: dict[str, Callable[[np.ndarray, pp.Curator], Estimate]] = {
    "mean": pp.estimate_mean,
    "gaussian": pp.estimate_gaussian,
    "mixture": pp.estimate_mixture,
}


@dataclass(frozen=True)
class Task:
    """One run: an estimator on a table or a law, by its name, with n private rows (0: as many as the table has)."""

    estimator: str
    of: str
    n: int
    budget: str
    seed: int


def bench(
    runs: int = 4,
    first_seed: int = 0,
    workers: int = WORKERS,
    budget: str = "zcdp:0.5",
    of: str = "tables,laws",
    estimator: str = "mean,gaussian",
) -> dict[str, Any]:
    """One row per estimator and kind of rows, with what each of its numbers was worth.

    Args:
        runs: of each table or law, seeds `first_seed`, `first_seed` + 1, ...
        first_seed: of rows, public rows and noise.
        workers: processes.
        budget: of every run, as text.
        of: `tables`, `laws`, or both with a comma between them.
        estimator: `mean`, `gaussian`, `mixture`, with commas between them; a mixture is judged on tables only.

    Raises:
        InvalidInput: other kinds of rows or estimators, a bad budget, or the libraries with the tables are missing.
    """
    pp.parse_budget(budget)
    kinds = _kinds(of)
    asked = listed(estimator, _ESTIMATORS, "estimators are mean, gaussian or mixture")
    if "mixture" in asked and "laws" in kinds:
        raise InvalidInput("laws here are no mixtures: ask for the verdicts on mixtures with --of tables")
    tasks = [
        Task(each, name, n, budget, first_seed + run)
        for each in asked
        for names, sizes in kinds.values()
        for name in names
        for n in sizes
        for run in range(runs)
    ]
    found = list(in_processes(_measured, tasks, workers))
    table = []
    for each in asked:
        for kind, (names, _) in kinds.items():
            runs_of = [run for run in found if run["estimator"] == each and run["of"] in names]
            table.append({"estimator": each, "kind": kind, **_summary(runs_of, each, kind)})
    return {
        "bench": "verdicts",
        "budget": budget,
        "runs": runs,
        "first_seed": first_seed,
        "ratio": float(np.mean([row["met"] for row in table])),
        "ratio_of": "rows that reach their bounds, over all rows",
        "met": all(row["met"] for row in table),
        "rows": table,
        "each": _by_source(found),
        "codes": _by_code(found),
    }


def _kinds(of: str) -> dict[str, tuple[list[str], tuple[int, ...]]]:
    """Names and sizes of the kinds of rows that are asked for."""
    asked = listed(of, ("tables", "laws"), "rows are of tables or laws")
    return {name: (list(blocks_of_tables()), (0,)) if name == "tables" else (list(LAWS), _SIZES) for name in asked}


def _measured(task: Task) -> dict[str, Any]:
    """Release one run, and judge each of its means and variances by the truth."""
    generator = np.random.default_rng([task.seed, crc32(task.of.encode()), task.n])
    public, private, mean, variances = _drawn(task, generator)
    curator = pp.Curator.simulation(private, pp.parse_budget(task.budget), crc32(f"{task.of} {task.seed}".encode()))
    told = {"estimator": task.estimator, "of": task.of, "n": len(private), "seed": task.seed}
    try:
        estimate = _ESTIMATORS[task.estimator](public, curator)
    except PubPrivError as problem:
        return told | {"refused": str(problem)}
    if isinstance(estimate, MixtureEstimate):
        truth = LocalFit(estimate, private).value
    else:
        place = {name: j for j, name in enumerate(estimate.columns)}

        def truth(number: Number) -> float:
            assert number.column is not None
            return float((variances if number.is_variance else mean)[place[number.column]])

    return told | {"refused": None, "numbers": list(_judged(estimate, truth))}


def _drawn(task: Task, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(public rows, private rows, true means, true variances)."""
    if task.of in LAWS:
        law = LAWS[task.of]
        private, public = (law.draw(n, BLOCK, generator) for n in (task.n, _PUBLIC))
        return public, private, law.mean(BLOCK), np.diag(law.covariance(BLOCK))
    rows = blocks_of_tables()[task.of][1]
    order = generator.permutation(len(rows))
    public, private = rows[order[:_PUBLIC]], rows[order[_PUBLIC : _PUBLIC + _MOST]]
    return public, private, private.mean(axis=0), private.var(axis=0)


def _judged(estimate: Estimate, truth: Callable[[Number], float]) -> Iterator[dict[str, Any]]:
    """Yield state, z and width of each weight, mean and variance; what makes it doubtful, and if a remedy is named."""
    for number in estimate.numbers():
        kind = "variance" if number.is_variance else number.quantity
        if kind not in ("weight", "mean", "variance"):
            continue
        against = [each for each in estimate.findings or () if each.severity == "doubtful" and each.concerns(number)]
        yield {
            "quantity": kind,
            "state": str(number.state),
            "z": (number.value - truth(number)) / max(number.error, np.finfo(float).tiny),
            "width": number.error / number.sampling if number.sampling else None,
            "codes": sorted({each.code for each in against}),
            "helped": all(each.remedy for each in against),
        }


def _summary(found: list[dict[str, Any]], estimator: str, kind: str) -> dict[str, Any]:
    """Shares of runs and numbers, and whether they reach the bounds, which are for tables."""
    done = [run["numbers"] for run in found if run["refused"] is None]
    numbers = [number for run in done for number in run]
    by_state = {state: [each for each in numbers if each["state"] == state] for state in State}
    wrong = {state: _wrong(own) for state, own in by_state.items()}
    doubtful = [any(each["state"] == State.DOUBTFUL for each in run) for run in done]
    sound = [all(abs(each["z"]) <= _SOUND for each in run) for run, bad in zip(done, doubtful, strict=True) if not bad]
    good, bad = wrong[State.GOOD], wrong[State.DOUBTFUL]
    row = {
        "runs": len(found),
        "refused": len(found) - len(done),
        "doubtful_runs": float(np.mean(doubtful)),
        "doubtful": len(by_state[State.DOUBTFUL]) / len(numbers),
        "wide": len(by_state[State.WIDE]) / len(numbers),
        "wrong_good": good,
        "wrong_wide": wrong[State.WIDE],
        "wrong_doubtful": bad,
        "odds": None if bad is None or not good else bad / good,
        "sound": float(np.mean(sound)) if sound else None,
        "helped": all(each["helped"] for each in numbers),
        **{f"width_{name}": _width(numbers, name) for name in ("mean", "variance")},
    }
    return row | {"met": _met(row, BOUNDS[estimator]) if kind == "tables" else True}


def _wrong(numbers: list[dict[str, Any]]) -> float | None:
    """Share outside its 95% interval; None if there are no numbers."""
    return float(np.mean([abs(each["z"]) > Z95 for each in numbers])) if numbers else None


def _width(numbers: list[dict[str, Any]], quantity: str) -> float | None:
    """Median error over the sampling error; None if there are no such numbers."""
    widths = [each["width"] for each in numbers if each["quantity"] == quantity and each["width"] is not None]
    return float(np.median(widths)) if widths else None


def _met(row: dict[str, Any], bounds: dict[str, float]) -> bool:
    few = row["doubtful_runs"] <= bounds["doubtful_runs"] and row["wide"] <= bounds["wide"]
    telling = row["odds"] is None or row["odds"] >= bounds["odds"]
    return bool(few and telling and row["helped"] and (row["sound"] is None or row["sound"] >= bounds["sound"]))


def _by_code(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each finding is worth: how many numbers it makes doubtful, and the share of these that is wrong."""
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for run in found:
        for number in () if run["refused"] is not None else run["numbers"]:
            for code in number["codes"]:
                cells[run["estimator"], code, number["quantity"]].append(number)
    return [
        {"estimator": estimator, "code": code, "of": quantity, "numbers": len(own), "wrong": _wrong(own)}
        for (estimator, code, quantity), own in sorted(cells.items())
    ]


def _by_source(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shares of each table and law, for whoever looks for the causes."""
    cells: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for run in found:
        cells[run["estimator"], run["of"]].append(run)
    rows = []
    for (estimator, of), own in cells.items():
        numbers = [number for run in own if run["refused"] is None for number in run["numbers"]]
        codes = sorted({code for number in numbers for code in number["codes"]})
        shares = {str(s): float(np.mean([n["state"] == s for n in numbers])) if numbers else 0.0 for s in State}
        furthest = max((abs(number["z"]) for number in numbers if number["state"] != State.DOUBTFUL), default=0.0)
        rows.append({"estimator": estimator, "of": of, **shares, "furthest": furthest, "codes": codes})
    return rows
