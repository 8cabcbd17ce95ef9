"""`pubpriv demo`: the main job on open data, from two tables to a released model and a ledger."""

from pathlib import Path
from typing import Annotated

import typer

from cli.budget import show_charges
from cli.console import note, out
from cli.fit_common import run, show

OUTPUT = Path("demo-output")
RELEASE_ID = "demo"
SEED = 0


def demo(
    unit: Annotated[str, typer.Option(help="What is protected: person or person-year.")] = "person",
    plain: Annotated[bool, typer.Option("--plain", help="Run without Prefect.")] = False,
) -> None:
    """Release a mixture of the RAND Health Insurance Experiment at (4, 1e-6)-DP, under demo-output/.

    Run it twice: the second time every answer is replayed from the ledger and nothing is spent.
    """
    from benchmarks.demo import BUDGET, K, compare
    from benchmarks.randhie import COLUMNS, UNITS, split
    from pubpriv.data.tables import PrivateTable
    from pubpriv.estimators import MIXTURE
    from pubpriv.jobs import Job
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger import Ledger

    parts = split(SEED, unit)
    folder = OUTPUT.resolve()
    folder.mkdir(exist_ok=True)
    dataset = f"rand-hie-{unit}"
    private, public = folder / f"private-{unit}.parquet", folder / f"public-{unit}.parquet"
    parts.private.to_parquet(private)
    parts.public.to_parquet(public)
    url = f"sqlite:///{folder / 'ledger.db'}"
    with Ledger.open(url) as ledger:
        table = PrivateTable.open(private, list(COLUMNS))
        ledger.register(dataset, budget=parse_budget(BUDGET), table=table, unit=UNITS[unit])
        before = ledger.balance(dataset).state.spent.main
    note(f"{table.n_rows} private rows, {len(parts.public)} public ones; unit: {UNITS[unit]}")
    job = Job.of(MIXTURE, str(private), str(public), COLUMNS, BUDGET, dataset, url, RELEASE_ID, n_components=K)
    estimate = run(job, flown=not plain)
    model = folder / f"model-{unit}.json"
    estimate.save(model)
    show(estimate)
    found = compare(estimate, parts.public, parts.private, parts.held_out, SEED)
    out("mean held-out log-likelihood per row, in nats (shown because this data set is open):")
    out(f"  public sample alone     {found.public_only:8.3f}")
    out(f"  released, private       {found.released:8.3f}")
    out(f"  non-private mixture     {found.non_private:8.3f}   gap closed: {found.gap_closed:.0%}")
    with Ledger.open(url) as ledger:
        spent = ledger.balance(dataset).state.spent.main - before
        runs = ledger.history(dataset)
    show_charges(dataset, runs)
    out(f"model: {model.relative_to(Path.cwd())}")
    note(f"this run spent {spent / 1e12:g} mu^2" + (": all answers were replayed" if spent == 0 else ""))
    note(f"look at its budget: pubpriv budget show {dataset} --ledger sqlite:///{OUTPUT / 'ledger.db'}")
