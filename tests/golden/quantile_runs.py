"""Golden runs of quantiles: every released number, so that any change of edges, counts, pooling or reading is seen.

`python -m tests.golden` writes `quantiles.json` anew, beside the others.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import pubpriv as pp
from benchmarks.quantiles import AT, LAWS

FILE = Path(__file__).parent / "quantiles.json"

SEED = 4300

_DIGITS = 9
"""Significant digits: the last bits of a linear solver differ between processors."""

Numbers = dict[str, list[float]]


def all_runs() -> dict[str, Numbers]:
    """Make all runs, by name: numbers by their names, each with the ends of its interval."""
    return {name: _told(found) for name, found in _runs()}


def _runs() -> Iterator[tuple[str, pp.QuantilesEstimate]]:
    for name, law in LAWS.items():
        random = np.random.default_rng(SEED)
        rows, public = law.sample(1000, random)[:, None], (law.public or law.sample)(100, random)[:, None]
        yield f"{name} 1000", pp.estimate_quantiles(public, pp.Curator.simulation(rows, "zcdp:0.1", SEED), AT.tolist())
    random = np.random.default_rng(SEED)
    rows, public = (
        np.c_[random.lognormal(10, 1, n), random.integers(1, 6, n), random.normal(size=n)] for n in (5000, 80)
    )
    rows[::7, 0] = np.nan

    def run(budget: str = "zcdp:0.2", **options: object) -> pp.Curator:
        return pp.Curator.simulation(rows, budget, SEED, **options)

    described = pp.estimate_quantiles(public, run(), None)
    yield "described 5000", described
    yield "from an old release 5000", pp.estimate_quantiles(described, run())
    yield "public rows off 5000", pp.estimate_quantiles(public + 10 * public.std(axis=0), run())
    yield "shares 5000", pp.estimate_quantiles(public, run(), shares=["x1"], above={"x0": 5e4})
    yield "pure 5000", pp.estimate_quantiles(public, run("pure:2"))
    yield "persons 5000", pp.estimate_quantiles(public, run(persons=np.arange(5000) // 2, rows_per_person=1))
    by = pp.ByCategory("ward", ("a", "b", "c"))
    codes = np.array(["a", "b", "c"])[np.searchsorted([0.6, 0.98], random.random(5000))].tolist()
    yield "groups 5000", pp.estimate_quantiles(public, run(groups=(by, codes)))


def _told(found: pp.QuantilesEstimate) -> Numbers:
    numbers = {each.name: [each.value, *each.interval] for each in found.numbers()}
    told = {name: [_short(value) for value in values] for name, values in numbers.items()}
    return told | {
        f"doubtful: {finding.code}": [] for finding in found.findings or () if finding.severity == "doubtful"
    }


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def read() -> dict[str, Numbers]:
    """Read the runs that stand in the file."""
    found: dict[str, Numbers] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def write() -> None:
    """Make all runs and write them to the file, a line for each."""
    lines = [f"{json.dumps(name)}: {json.dumps(run)}" for name, run in all_runs().items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
