"""`pubpriv demo`: open data, from two tables to released numbers and a ledger."""

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
    from pubpriv.released.kinds import MixtureEstimate

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
        private, public: tables.
        compared: what a mixture is compared with, outside of any privacy; None: this is no mixture.
    """

    dataset: str
    title: str
    unit: str
    person: tuple[str, ...]
    columns: tuple[str, ...]
    budget: str
    private: Any
    public: Any
    compared: "_Compared | None" = None


@dataclass(frozen=True)
class _Compared:
    """What a mixture is compared with.

    Attributes:
        components: k.
        held_out: rows that are neither private nor public.
        open: why non-private numbers may be shown.
    """

    components: int
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
    mixture: Annotated[
        bool, typer.Option("--mixture", help="A mixture of these people's groups instead, which ends flagged.")
    ] = False,
    separated: Annotated[
        bool, typer.Option("--separated", help="A mixture of made-up machines, in states that lie far apart.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Run without Prefect.")] = False,
    tables: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Only write the tables there, as CSV files to try things out with."),
    ] = None,
) -> None:
    """Release medians and other quantiles of the RAND Health Insurance Experiment at 0.25-zCDP, under demo-output/.

    They say how often people see a doctor in a year, and how ill they are; all years of a person are protected
    together. Run it twice: the second time every answer is replayed from the ledger and nothing is spent.

    --mixture releases groups of these people, at (4, 1e-6)-DP. They overlap, and no mixture of Gaussians fits them, so
    its verdict is a warning. The groups of --separated do not: there the run asks for private principal components and
    partitions the table, and releases it under 0.5-zCDP.
    """
    from pubpriv.data.tables import PrivateTable
    from pubpriv.estimators import DESCRIBE, MIXTURE
    from pubpriv.estimators.jobs import Job
    from pubpriv.privacy.budgets import parse_budget
    from pubpriv.privacy.ledger import Ledger
    from pubpriv.released.kinds import MixtureEstimate
    from pubpriv.released.tree import check_tree

    if separated and mixture:
        raise InvalidInput("--separated is a mixture of its own: leave out --mixture")
    if separated and (unit is not None or tables is not None):
        raise InvalidInput("--unit and --tables are of the people of the RAND experiment: leave them out here")
    if tables is not None:
        _write_tables(tables, unit)
        return
    if not plain:
        need("prefect")
    example = _machines() if separated else _groups_of_people(unit) if mixture else _people(unit)
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
    rows = "how many is private" if table.n_rows is None else f"{table.n_rows} rows"
    note(f"the private table: {private.relative_to(Path.cwd())}, {rows}; unit: {example.unit}")
    note(f"the public table: {public.relative_to(Path.cwd())}, {len(example.public)} rows")
    common = str(private), str(public), example.columns, example.budget, example.dataset, url, _RELEASE_ID
    compared = example.compared
    job = Job.of(DESCRIBE, *common) if compared is None else Job.of(MIXTURE, *common, n_components=compared.components)
    estimate = run(job, admit(job), flown=not plain)
    model = folder / f"model-{example.title}.json"
    estimate.save(model)
    show(estimate)
    if isinstance(estimate, MixtureEstimate):
        _show_comparison(example, estimate)
    with Ledger.open(url) as ledger:
        balance, runs = ledger.balance(example.dataset), ledger.history(example.dataset)
    show_charges(example.dataset, runs)
    out(f"model: {model.relative_to(Path.cwd())}")
    _show_spent(balance.state.spent.main - before, balance.budget.currency)
    note(f"look at its budget: pubpriv budget show {example.dataset} --ledger sqlite:///{_OUTPUT / 'ledger.db'}")
    shown = f"{model.relative_to(Path.cwd())} --public {public.relative_to(Path.cwd())}"
    note(f"make a page of it: pubpriv report {shown}")


def _write_tables(folder: Path, unit: str | None) -> None:
    from pubpriv.deployments.randhie import ALL_YEARS, write_tables

    private, public = write_tables(folder, unit or ALL_YEARS)
    note(f"{private}: to play the private table; {public}: 100 people to play the public one")


def _show_spent(spent: int, currency: str) -> None:
    note(f"this run spent {spent / 1e12:g} {currency}" + (": all answers were replayed" if spent == 0 else ""))


def _show_comparison(example: _Example, estimate: "MixtureEstimate") -> None:
    from pubpriv.deployments.comparison import compare

    assert example.compared is not None
    if not estimate.converged:
        note(_FLAGGED)
    found = compare(estimate, example.public, example.private, example.compared.held_out, _SEED)
    out(f"mean held-out log-likelihood per row, in nats (shown because {example.compared.open}):")
    out(f"  public sample alone     {found.public_only:8.3f}")
    out(f"  released, private       {found.released:8.3f}")
    out(f"  non-private mixture     {found.non_private:8.3f}   gap closed: {found.gap_closed:.0%}")


def _people(unit: str | None) -> _Example:
    from pubpriv.deployments.randhie import ALL_YEARS, PERSON, UNITS, renamed, split

    unit = unit or ALL_YEARS
    parts = split(_SEED, unit)
    person = (renamed(PERSON),) if unit == ALL_YEARS else ()
    tables = (part.rename(columns=renamed).round(2) for part in (parts.private, parts.public))
    title = f"patients-{unit}"
    return _Example(title, title, UNITS[unit], person, ("visits", "diseases"), "zcdp:0.25", *tables)


def _groups_of_people(unit: str | None) -> _Example:
    from pubpriv.deployments.randhie import ALL_YEARS, BUDGET, COLUMNS, COMPONENTS, PERSON, UNITS, split

    unit = unit or ALL_YEARS
    parts = split(_SEED, unit)
    person = (PERSON,) if unit == ALL_YEARS else ()
    about = f"rand-hie-{unit}", unit, UNITS[unit], person, COLUMNS, BUDGET
    compared = _Compared(COMPONENTS, parts.held_out, "this data set is open")
    return _Example(*about, parts.private, parts.public, compared)


def _machines() -> _Example:
    from pubpriv.deployments.examples import STATES, machines

    parts = machines()
    about = "machines", "machines", "one minute of one machine", (), tuple(parts.private.columns), "zcdp:0.5"
    compared = _Compared(len(STATES), parts.held_out, "this data set is made up")
    return _Example(*about, parts.private, parts.public, compared)
