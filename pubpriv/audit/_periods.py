"""Do only rows of the period count, and does each period's cap bound the privacy loss of a row, whatever its date?

Totals are those of the product's own scans of files; the period of a row, and what it adds, are computed here and in
`catalogue`, independently of the product's code. Caps are tried on a ledger on disk.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.audit._catalogue import EAST, WEST, adds, at, examples
from pubpriv.audit._hidden import NOW, drivers, of_period, of_persons_of_period, searches
from pubpriv.audit._neighbours import COLUMNS, NOBODY, Integers, Record, difference, distance, integers
from pubpriv.audit._persons import ASKED, by_hand, example_of, sum_by_hand
from pubpriv.audit.finding import Claims, Finding, judged, promised, refuses
from pubpriv.data.codec import to_json
from pubpriv.data.person_table import PersonTable
from pubpriv.data.questions import InPeriod, PerPerson
from pubpriv.data.scan import scan
from pubpriv.data.tables import PrivateTable
from pubpriv.errors import BudgetExceeded, InvalidInput, LedgerViolation, SpecMismatch
from pubpriv.ledger import Ledger, event_of
from pubpriv.privacy.budgets import ZeroConcentratedDP
from pubpriv.privacy.ledger.period_terms import PeriodTerms
from pubpriv.privacy.ledger.views import NamedTable

_NEXT = "2026-11"
_DAYS = (date(2026, 9, 30), date(2026, 10, 1), date(2026, 10, 31), date(2026, 11, 1), date(2026, 11, 30), None)
"""Days at the edges of both months, before them, and none."""

_Day = date | None
_REACHED = 0.999
"""Part of the attainable squared distance that some pair of neighbours must reach."""


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Try which rows count, what a row gives away over two periods, what is enforced, and whole drivers."""
    yield promised("periods", "rows of one period count alone", _counted(seed), ", against sums worked out by hand")
    for example in examples():
        if example.name in ASKED:
            yield _moved(example.mechanism, example.question, example.attainable, 2 if fast else 10, seed)
    yield promised("periods", "caps of periods", _enforced())
    known = [driver for driver in drivers(seed) if driver.budget.kind != "pure"]  # which no period takes
    by_group = next(driver for driver in known if driver.by is not None)
    for driver in (known[0], by_group) if fast else known:
        yield of_period(driver, seed)
        yield of_persons_of_period(driver, seed)
    for driver in searches(seed):
        yield of_persons_of_period(driver, seed)


def _month_of(day: _Day) -> str | None:
    return None if day is None else f"{day.year}-{day.month:02d}"


def _column(days: list[_Day], kind: str) -> Any:
    """Dates as Arrow writes them, in one of the ways that tell when."""
    import pyarrow as pa

    if kind == "seconds":
        epoch = datetime(1970, 1, 1)
        noon = [None if day is None else datetime(day.year, day.month, day.day, 12) for day in days]
        return pa.array([None if at is None else int((at - epoch).total_seconds()) for at in noon], pa.int64())
    kinds: dict[str, Any] = {
        "days": pa.date32(),
        "milliseconds": pa.date64(),
        "times": pa.timestamp("us"),
        "nanoseconds": pa.timestamp("ns"),
    }
    if kind == "zones":  # the last second of the day, UTC, written down where it is another day
        last = [None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC) for day in days]
        return pa.array(last, pa.timestamp("s", tz="Asia/Tokyo"))
    return pa.array(days, pa.date32()).cast(kinds[kind])


_KINDS = ("days", "milliseconds", "times", "nanoseconds", "zones", "seconds")


def _write(path: Path, rows: list[Record], days: list[_Day], persons: list[int], kind: str = "days") -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    first, second = zip(*rows, strict=True)
    table = {"a": list(first), "b": list(second), "who": persons, "seen": _column(days, kind)}
    pq.write_table(pa.table(table), path, row_group_size=70)


def _totals(question: Any, path: Path, person: str | tuple[str, ...] = ()) -> Integers:
    """Give the totals of a question of a period, by the product's scan of a file."""
    table = PrivateTable.open(path, COLUMNS, person=person, dates="seen", period=question.period)
    return integers(scan(PersonTable(table).asked(question), question))


def _counted(seed: int) -> Claims:
    """Rows and persons of two months, in a file of several row groups, with dates of every kind."""
    random = np.random.default_rng([seed, 5])
    edge = [at(center, (1.0, 0.0), 0.4) for center in (WEST, EAST)] + [NOBODY]
    rows = [edge[i] for i in random.integers(len(edge), size=200)]
    days = [_DAYS[i] for i in random.integers(len(_DAYS), size=200)]
    persons = random.integers(0, 9, size=200).tolist()
    question = example_of("moments-cells")
    with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
        path = Path(folder) / "t.parquet"
        for kind in _KINDS:
            _write(path, rows, days, persons, kind)
            for period in (NOW, _NEXT):
                inside = [_month_of(day) == period for day in days]
                by_row = sum_by_hand(question, rows, [int(each) for each in inside])
                yield f"{kind}: rows of {period}", _totals(InPeriod(question, period), path) == by_row
                own = [who if each else None for who, each in zip(persons, inside, strict=True)]
                by_person = sum_by_hand(question, rows, by_hand(own, 3))
                asked = InPeriod(PerPerson(question, 3, 64), period)
                yield f"{kind}: persons of {period}", _totals(asked, path, "who") == by_person


def _moved(mechanism: str, question: Any, attainable: float, tables: int, seed: int) -> Finding:
    """Replace one row, its date included, and ask both months: all that changes has to be within one cap."""
    random = np.random.default_rng([seed, 6])
    turns = [(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 8, endpoint=False)]
    edge = [at(center, turn) for center in (WEST, EAST) for turn in turns] + [(900.0, 0.0), (0.5, 0.6), NOBODY]
    asked = [InPeriod(question, period) for period in (NOW, _NEXT)]
    alone = {row: adds(question, row) for row in edge}
    nothing: Integers = {name: [0] * len(values) for name, values in alone[NOBODY].items()}
    # stays in its month as another row, or goes to the other month as any
    stays = max(distance(question, difference(a, b)) for a in alone.values() for b in alone.values())
    leaves = max(distance(question, difference(nothing, a)) for a in alone.values())
    furthest, broken = Fraction(max(stays, 2 * leaves)), []
    with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
        path = Path(folder) / "t.parquet"
        for _ in range(tables):
            rows = [edge[i] for i in random.integers(len(edge), size=90)]
            days = [_DAYS[i] for i in random.integers(len(_DAYS), size=90)]
            place = int(random.integers(90))
            sides = []
            for _ in range(2):
                rows[place], days[place] = edge[int(random.integers(len(edge)))], _DAYS[int(random.integers(6))]
                _write(path, rows, days, [0] * 90)
                sides.append([_totals(each, path) for each in asked])
            deltas = [difference(*pair) for pair in zip(*sides, strict=True)]
            furthest = max(furthest, sum((distance(question, delta) for delta in deltas), Fraction(0)))
    declared = asked[0].squared_distance
    if furthest > declared:
        broken.append("a row whose date changes moves the totals of two periods further than the cap of one")
    possible = max(Fraction(attainable) * question.squared_distance, 2 * leaves) / declared
    if furthest < Fraction(_REACHED) * possible * declared:
        broken.append(f"only {float(furthest / declared):.1%} of the declared distance was reached: too much noise")
    if InPeriod.of_rows(question, NOW).squared_distance > question.squared_distance:
        broken.append("asked in a period a question costs more than its driver paid for")
    how = f"reached {float(furthest / declared):.2%} of the squared distance, over both months"
    return judged("periods", mechanism, broken, how, float(declared) ** 0.5, float(furthest) ** 0.5)


def _enforced() -> Claims:
    """Try a ledger: no charge without its period, none beyond the cap of it, and none that names another one."""
    tenth = PeriodTerms("month", "seen", ZeroConcentratedDP("0.1"))
    bare = example_of("counts-cells")
    price = ZeroConcentratedDP("0.05")
    with (
        tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder,
        Ledger.open(f"sqlite:///{folder}/l.db") as books,
    ):
        books.register("visits", ZeroConcentratedDP(50), periods=tenth)
        asked = [InPeriod.of_rows(type(bare).priced(bare.partition, Fraction(1, 20)), name) for name in (NOW, _NEXT)]
        run = books.run("visits", "a")
        run.open(price, NOW)

        def charge(question: Any, label: str) -> None:
            run.charge(label, to_json(question), event_of(question))

        yield "a charge names its period", refuses(lambda: charge(asked[0].inner, "x/1"), InvalidInput)
        yield "a charge is of the period of its run", refuses(lambda: charge(asked[1], "x/1"), InvalidInput)
        charge(asked[0], "x/1")
        charge(asked[0], "x/2")
        yield "a run spends what it holds of its period", refuses(lambda: charge(asked[0], "x/3"), BudgetExceeded)
        yield "the charges say so", {each.period for each in books.records("visits")} == {None, NOW}
        over = refuses(lambda: books.run("visits", "b").open(ZeroConcentratedDP("0.06"), NOW), BudgetExceeded)
        yield "a period has its own cap", over
        books.run("visits", "c").open(price, NOW)
        yield (
            "a run without a period fits every one",
            refuses(lambda: books.run("visits", "d").open(ZeroConcentratedDP("0.01")), BudgetExceeded),
        )
        books.run("visits", "e").open(ZeroConcentratedDP("0.1"), _NEXT)
        weaker = PeriodTerms("month", "seen", ZeroConcentratedDP("0.2"))
        yield (
            "terms never become weaker",
            refuses(lambda: books.register("visits", ZeroConcentratedDP(50), periods=weaker), SpecMismatch),
        )
        yield "and it verifies", not refuses(lambda: books.verify("visits"), LedgerViolation)
        one, two = (NamedTable(f"frame://{name}", ("x",)) for name in ("one", "two"))
        waived = replace(tenth, lifetime=False)
        books.register("waived", ZeroConcentratedDP(1), one, periods=waived, reason="a row is in one month")
        yield (
            "a dataset without a cap for all periods has one table",
            refuses(lambda: books.register("waived", ZeroConcentratedDP(1), two), SpecMismatch),
        )
        books.register("both", ZeroConcentratedDP(1), NamedTable("frame://first", ("x",)), periods=tenth)
        books.register("both", ZeroConcentratedDP(1), NamedTable("frame://second", ("x",)))
        yield (
            "and the cap of several tables is not waived",
            refuses(lambda: books.register("both", ZeroConcentratedDP(1), periods=waived, reason="none"), InvalidInput),
        )
