"""The demo, repeated over splits: the share of the gap to a non-private mixture that a released one closes."""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import pubpriv as pp
from pubpriv.deployments.comparison import Comparison, compare
from pubpriv.deployments.randhie import ALL_YEARS, BUDGET, COLUMNS, COMPONENTS, PERSON, UNITS, split


def run_split(seed: int, unit: str) -> Comparison:
    """One split with a real curator and system noise, on a ledger of its own that is thrown away."""
    parts = split(seed, unit)
    budget = pp.parse_budget(BUDGET)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "private.parquet"
        parts.private.to_parquet(path)
        person = (PERSON,) if unit == ALL_YEARS else ()
        table = pp.PrivateTable.open(path, list(COLUMNS), person=person)
        with pp.Ledger.open(f"sqlite:///{folder}/ledger.db") as ledger:
            ledger.register("rand-hie", budget=budget, table=table, unit=UNITS[unit], person=person)
            with pp.Curator(table, ledger, "rand-hie", budget, f"split-{seed}") as curator:
                estimate = pp.estimate_mixture(parts.public, curator, n_components=COMPONENTS)
    return compare(estimate, parts.public, parts.private, parts.held_out, seed)


def bench(unit: str, seeds: int) -> dict[str, Any]:
    """All splits; `ratio` is the median share of the gap that the released model closes."""
    found = [run_split(seed, unit) for seed in range(seeds)]
    return {
        "bench": "demo",
        "unit": UNITS[unit],
        "budget": BUDGET,
        "ratio": median(c.gap_closed for c in found),
        "ratio_of": "gap closed between the public-only and the non-private model, held-out log-likelihood, median",
        "worst_below_public_only": min(c.released - c.public_only for c in found),
        "splits": [c.__dict__ | {"gap_closed": c.gap_closed} for c in found],
    }
