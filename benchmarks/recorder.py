"""Every estimator under dp-recorder, a tool of others (Re:cord-play): what it says of this project's questions.

It records a run on a table D: the totals that each question's noise is added to, what was asked, and the answers. Then
it replays the run on a neighbour D' with the recorded answers. Wherever anything that is known outside the door differs
it stops, and afterwards it compares how far each question's totals moved with the distance that was declared for it.
Each estimator's trials are run, at a ledger on disk and with the system's noise; neighbours are the recorder's own.

It needs an environment of its own: `docs/how-to/be-audited.md` has the commands and what they print.
"""

import argparse
import contextlib
import io
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

from pubpriv.audit.recording import drivers
from pubpriv.curator import Curator
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.questions import Bisection, Selection, StableCells
from pubpriv.data.questions.radial import draws_of, without_law
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable
from pubpriv.ledger import Ledger
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.noise import OperatingSystemNoise, drawn_beside

_NEIGHBOURS = ("insert_nan", "insert_inf", "insert_large_outliers", "insert_shifted_outliers", "copy_random")
"""Ways in which the recorder replaces a row."""

_Totals = dict[str, np.ndarray]


# -- totals as the recorder measures them: in units of the noise


def _vector(question: Any, totals: _Totals) -> Any:
    """Write totals so that the recorder's distance of two of them is that of the question's proof."""
    inner, parts = without_law(question), question.parts
    weights = {name: part.factor / part.noise_scale for name, part in parts.items()}
    if isinstance(inner, StableCells):
        cells = zip(*(totals[name].tolist() for name in ("direction", "cell", "count")), strict=True)
        return {f"{direction} {cell}": count * weights["fullest"] for direction, cell, count in cells}
    if isinstance(inner, Bisection):  # any threshold may be asked: the most that one count moves, times the steps
        return np.cumsum(totals["histogram"]) * weights["count"] * math.sqrt(inner.steps)
    if isinstance(inner, Selection):
        return totals["inside"] * weights["chosen"] * 2
    if getattr(question, "by_region", False):
        return np.hstack([(totals[name] * weights[name]).reshape(question.blocks, -1) for name in parts])
    return np.concatenate([totals[name] * weights[name] for name in parts])


def _totals(question: Any, vector: Any) -> _Totals:
    """Return what `_vector` wrote, as integers."""
    inner, parts = without_law(question), question.parts
    scales = {name: part.noise_scale / part.factor for name, part in parts.items()}

    def whole(values: Any) -> np.ndarray:
        return np.asarray(np.rint(values), dtype=np.int64)

    if isinstance(inner, StableCells):
        cells = [[*map(int, name.split()), count] for name, count in vector.items()]
        table = np.array(cells, dtype=float).reshape(-1, 3).T
        return {
            "direction": whole(table[0]),
            "cell": np.array([int(name.split()[1]) for name in vector], dtype=np.int64),
            "count": whole(table[2] * scales["fullest"]),
        }
    if isinstance(inner, Bisection):
        below = whole(vector * scales["count"] / math.sqrt(inner.steps))
        return {"histogram": np.diff(below, prepend=0)}
    if isinstance(inner, Selection):
        return {"inside": whole(vector * scales["chosen"] / 2)}
    if getattr(question, "by_region", False):
        ends = np.cumsum([part.size // question.blocks for part in parts.values()])[:-1]
        pieces = [piece.ravel() for piece in np.split(vector, ends, axis=1)]
    else:
        pieces = np.split(vector, np.cumsum([part.size for part in parts.values()])[:-1])
    return {name: whole(piece * scales[name]) for name, piece in zip(parts, pieces, strict=True)}


def _between_cells(first: dict[str, float], second: dict[str, float]) -> float:
    """Distance of counts of cells; a cell that one has not is empty there."""
    return math.hypot(*(first.get(cell, 0.0) - second.get(cell, 0.0) for cell in {**first, **second}))


def _region_by_region(first: np.ndarray, second: np.ndarray) -> float:
    """Sum of the distances in each region."""
    return float(np.linalg.norm(first - second, axis=1).sum())


def _kind_of(question: Any) -> str:
    inner = without_law(question)
    if isinstance(inner, StableCells):
        return "cells"
    if isinstance(inner, Bisection | Selection):
        return "one of many"
    return "by region" if getattr(question, "by_region", False) else "joint"


# -- the recorder


class _Recorder:
    """dp-recorder, with this project's one mechanism declared to it: exact totals in, noisy integers out.

    Args:
        declared: share of each question's distance that is declared; below 1 the recorder has to find it out.
    """

    def __init__(self, declared: float) -> None:
        tool, metrics = import_module("dp_recorder.auditing.audit_primitives"), import_module("dp_recorder.auditing")
        self.auditor, self.check = tool.Auditor, tool.ensure_equality
        self._declared = declared
        distances: dict[str, Callable[[Any, Any], float]] = {
            "joint": metrics.dist_l2,
            "one of many": metrics.dist_linf,
            "cells": _between_cells,
            "by region": _region_by_region,
        }
        self._noisy = {
            kind: tool.audit_spec(kind, "totals", "sensitivity", distance)(_answered)
            for kind, distance in distances.items()
        }

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Let every look of a curator go through the declared mechanism."""

        def look(curator: Any, question: Any, label: str) -> dict[str, list[int]]:
            totals = scan(curator._source(question), question, here=True)
            self.check(rows=curator._table.n_rows)
            found: dict[str, list[int]] = self._noisy[_kind_of(question)](
                totals=_vector(question, totals),
                sensitivity=self._declared * math.sqrt(question.squared_distance),
                question=canonical(to_json(question)),
                label=label,
            )
            return found

        with mock.patch.object(Curator, "_look", look):
            yield


def _answered(totals: Any, sensitivity: float, question: str, label: str) -> dict[str, list[int]]:  # noqa: ARG001
    """Add the system's noise to totals, as the door does."""
    asked: Any = from_json(json.loads(question))
    with drawn_beside(OperatingSystemNoise(), label, draws_of(asked)) as draw:
        noisy = asked.answer(_totals(asked, totals), draw)
    return {name: values.tolist() for name, values in noisy.items()}


# -- what is run


@dataclass
class _Said:
    """What the recorder says of one driver.

    Attributes:
        questions: number of questions of a run.
        furthest: largest share of its declared distance by which any question's totals moved.
        faults: what it found wrong.
    """

    questions: int = 0
    furthest: float = 0.0
    faults: list[str] = field(default_factory=list)


def _recorded(recorder: _Recorder, driver: Any, seed: int) -> tuple[_Said, Any]:
    """Record one driver, and replay it on each neighbour; the recorder keeps those that moved a question furthest."""
    neighbours, said = import_module("dp_recorder.auditing.dataset_util"), _Said()
    auditor, widest = recorder.auditor(), dict[int, tuple[float, Any]]()
    with auditor, recorder.watching():
        _run(recorder, driver, driver.rows)
    said.questions = sum(entry.kind != "EQ" for entry in auditor.log)
    for number, strategy in enumerate(_NEIGHBOURS):
        (rows,) = neighbours.generate_neighbors(
            driver.rows, 1, mode="bounded:replace", strategy=strategy, rng=seed + number
        )
        try:
            auditor.set_replay()
            with auditor, recorder.watching():
                _run(recorder, driver, rows)
            if auditor._cursor != len(auditor.log):
                said.faults.append(f"{strategy}: the replay ends early")
            auditor.validate_records()
        except Exception as error:
            said.faults.append(f"{strategy}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
        for entry in auditor.log:
            if entry.kind != "EQ" and entry.inputs_dp is not None:
                moved = float(entry.metric_fn(entry.inputs_d["totals"], entry.inputs_dp["totals"]))
                said.furthest = max(said.furthest, moved / entry.sensitivity_val)
                widest[entry.call_id] = max(widest.get(entry.call_id, (0.0, {})), (moved, entry.inputs_dp), key=_first)
    for call_id, (_, totals) in widest.items():
        auditor.log[call_id].inputs_dp = totals
    return said, auditor


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]


def _run(recorder: _Recorder, driver: Any, rows: np.ndarray) -> None:
    """Run a driver at a ledger and on a file of its own; what it spends and returns has to be the same."""
    with TemporaryDirectory(prefix="pubpriv-recorder-") as folder, Ledger.open(f"sqlite:///{folder}/l.db") as books:
        table = _written(Path(folder) / "t.parquet", driver, rows)
        books.register("recorded", driver.budget, table)
        with Curator(table, books, "recorded", driver.budget, "a") as curator:
            result = driver.run(curator)
        del result["provenance"]["chain_head"]  # hash of records, which have random names and the time in them
        recorder.check(result=canonical(result))
        recorder.check(spent=books.balance("recorded").spent.to_json())


def _written(path: Path, driver: Any, rows: np.ndarray) -> PrivateTable:
    """Write the rows of a driver, with their groups if it asks by group: a row knows its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"x{number}": pa.array(column) for number, column in enumerate(rows.T)}
    if driver.by is not None:
        low, high = driver.by.values
        halves = [None if math.isnan(first) else high if first >= 0 else low for first in rows[:, 0].tolist()]
        columns[driver.by.source] = pa.array(halves, pa.string())
    pq.write_table(pa.table(columns), path)
    return PrivateTable.open(path, [f"x{number}" for number in range(rows.shape[1])], by=driver.by)


def _sampled(auditor: Any, driver: Any, samples: int) -> str:
    """Let the recorder attack the dearest question of a run by samples, and say what it finds."""
    entry = max((entry for entry in auditor.log if entry.kind == "joint"), key=lambda each: each.sensitivity_val)
    attacked = replace(entry, func=_flat)
    auditor.log = [attacked]
    with contextlib.redirect_stderr(io.StringIO()):
        auditor.run_distributional_audit(n_samples=samples)
    if driver.budget.kind == "pure":
        name, found = "epsilon", attacked.empirical_epsilon_lb
    else:
        normal, (false_alarm, missed) = NormalDist(), attacked.tradeoff_curve[1]
        shown = 0 < false_alarm < 1 and 0 < missed < 1
        name, found = "mu", normal.inv_cdf(1 - false_alarm) - normal.inv_cdf(missed) if shown else 0.0
    return f"{entry.params['label']} has {name} {entry.sensitivity_val:.3f}, sampled at least {max(0.0, found):.3f}"


def _flat(**asked: Any) -> np.ndarray:
    """Noisy integers of a question as one vector of floats, in units of the noise."""
    question: Any = from_json(json.loads(asked["question"]))
    noisy = _answered(**asked)
    return np.concatenate([np.array(noisy[name]) / part.noise_scale for name, part in question.parts.items()])


def main(arguments: list[str] | None = None) -> int:
    """Print what the recorder says of every driver; returns 1 if it finds anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--declare", type=float, default=1.0, help="share of each distance that is declared")
    parser.add_argument("--samples", type=int, default=0, help="attack the dearest question of a run by so many")
    parser.add_argument("--only", default="", help="drivers whose names contain this")
    asked = parser.parse_args(arguments)
    recorder, broken = _Recorder(asked.declare), 0
    for driver in drivers(asked.seed):
        if asked.only not in driver.name:
            continue
        said, auditor = _recorded(recorder, driver, asked.seed)
        broken += bool(said.faults)
        line = f"{driver.name}: {said.questions} questions, moved by {said.furthest:.1%} of what is declared at most"
        if asked.samples:
            line += f"; {_sampled(auditor, driver, asked.samples)}"
        print(f"{line}: {'; '.join(said.faults) or 'nothing found'}", flush=True)
    return int(broken > 0)


if __name__ == "__main__":
    raise SystemExit(main())
