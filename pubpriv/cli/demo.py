"""`pubpriv demo`: the main job on open data, from two tables to a released model and a ledger."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubpriv.cli.budget import show_charges
from pubpriv.cli.console import note, out
from pubpriv.cli.estimates import show
from pubpriv.cli.extras import need
from pubpriv.cli.fit import admit, run
from pubpriv.errors import InvalidInput

if TYPE_CHECKING:
    from pubpriv.deployments.comparison import Comparison

_OUTPUT = Path("demo-output")
_RELEASE_ID = "demo"
_SEED = 0
_FLAGGED = (
    "the model is flagged (its converged is false), for the reasons above. Few real tables are mixtures of Gaussians: "
    "the demo has not failed, but pubpriv fit, which writes such a model too, would end with exit code 4"
)


@dataclass(frozen=True)
class _Example:
    """Settings and tables of a demo.

    Attributes:
        dataset: name in the ledger.
        title: name of its tables in file names.
        unit: what one record stands for.
        person: id columns, if all rows of a person are protected together.
        columns: columns of the tables.
        budget: budget of the run.
        components: k.
        private, public, held_out: tables.
        open: why non-private numbers may be shown.
    """

    dataset: str
    title: str
    unit: str
    person: tuple[str, ...]
    columns: tuple[str, ...]
    budget: str
    components: int
    private: Any
    public: Any
    held_out: Any
    open: str


def demo(
    unit: Annotated[
        str | None,
        typer.Option(
            help="What is protected: all-years of a person, person (a year of each), or person-year.",
            show_default="all-years",
        ),
    ] = None,
    separated: Annotated[
        bool, typer.Option("--separated", help="Made-up machines instead, in states that lie far apart.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Run without Prefect.")] = False,
    tables: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Only write the tables there, as CSV files to try things out with."),
    ] = None,
) -> None:
    """Release a mixture of the RAND Health Insurance Experiment at (4, 1e-6)-DP, under demo-output/.

    All years of a person are protected together. The groups of people overlap; those of --separated do not: there the
    run asks for private principal components and partitions the table, and releases it under 0.5-zCDP. Run it twice:
    the second time every answer is replayed from the ledger and nothing is spent.
    """
    from pubpriv.data.tables import PrivateTable
    from pubpriv.deployments.comparison import compare
    from pubpriv.estimators import MIXTURE
    from pubpriv.estimators.jobs import Job
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.released.kinds import MixtureEstimate
    from pubpriv.released.tree import check_tree

    if separated and (unit is not None or tables is not None):
        raise InvalidInput("--unit and --tables are of the people of the RAND experiment: leave them out here")
    if tables is not None:
        _write_tables(tables, unit)
        return
    if not plain:
        need("prefect")
    example = _machines() if separated else _people(unit)
    check_tree(example.dataset, _RELEASE_ID)
    folder = _OUTPUT.resolve()
    folder.mkdir(exist_ok=True)
    private, public = folder / f"private-{example.title}.parquet", folder / f"public-{example.title}.parquet"
    example.private.to_parquet(private)
    example.public.to_parquet(public)
    url = f"sqlite:///{folder / 'ledger.db'}"
    with Ledger.open(url) as ledger:
        table = PrivateTable.open(private, list(example.columns), person=example.person)
        budget = parse_budget(example.budget)
        ledger.register(example.dataset, budget, table=table, unit=example.unit, person=example.person)
        before = ledger.balance(example.dataset).state.spent.main
    rows = "private rows" if table.n_rows is None else f"{table.n_rows} private rows"
    note(f"{rows}, {len(example.public)} public ones; unit: {example.unit}")
    common = str(private), str(public), example.columns, example.budget, example.dataset, url, _RELEASE_ID
    job = Job.of(MIXTURE, *common, n_components=example.components)
    estimate = run(job, admit(job), flown=not plain)
    assert isinstance(estimate, MixtureEstimate)
    model = folder / f"model-{example.title}.json"
    estimate.save(model)
    show(estimate)
    if not estimate.converged:
        note(_FLAGGED)
    found = compare(estimate, example.public, example.private, example.held_out, _SEED)
    _show_comparison(example, found)
    with Ledger.open(url) as ledger:
        balance, runs = ledger.balance(example.dataset), ledger.history(example.dataset)
    show_charges(example.dataset, runs)
    out(f"model: {model.relative_to(Path.cwd())}")
    _show_spent(balance.state.spent.main - before, balance.budget.currency)
    note(f"look at its budget: pubpriv budget show {example.dataset} --ledger sqlite:///{_OUTPUT / 'ledger.db'}")


def _write_tables(folder: Path, unit: str | None) -> None:
    from pubpriv.deployments.randhie import ALL_YEARS, write_tables

    private, public = write_tables(folder, unit or ALL_YEARS)
    note(f"{private}: to play the private table; {public}: 100 people to play the public one")


def _show_spent(spent: int, currency: str) -> None:
    note(f"this run spent {spent / 1e12:g} {currency}" + (": all answers were replayed" if spent == 0 else ""))


def _show_comparison(example: _Example, found: "Comparison") -> None:
    out(f"mean held-out log-likelihood per row, in nats (shown because {example.open}):")
    out(f"  public sample alone     {found.public_only:8.3f}")
    out(f"  released, private       {found.released:8.3f}")
    out(f"  non-private mixture     {found.non_private:8.3f}   gap closed: {found.gap_closed:.0%}")


def _people(unit: str | None) -> _Example:
    from pubpriv.deployments.randhie import ALL_YEARS, BUDGET, COLUMNS, COMPONENTS, PERSON, UNITS, split

    unit = unit or ALL_YEARS
    parts = split(_SEED, unit)
    tables = parts.private, parts.public, parts.held_out
    person = (PERSON,) if unit == ALL_YEARS else ()
    about = f"rand-hie-{unit}", unit, UNITS[unit], person
    return _Example(*about, COLUMNS, BUDGET, COMPONENTS, *tables, "this data set is open")


def _machines() -> _Example:
    from pubpriv.deployments.examples import STATES, machines

    parts = machines()
    columns, tables = tuple(parts.private.columns), (parts.private, parts.public, parts.held_out)
    unit, budget = "one minute of one machine", "zcdp:0.5"
    about = "machines", "machines", unit, ()
    return _Example(*about, columns, budget, len(STATES), *tables, "this data set is made up")
