"""Do all rows of a person count as L records at most, in whatever order they come and however their ids are written?

Totals are those of the product's own scans over tables and files; weights, and what a record adds, are computed here
and in `catalogue`, independently of its code. Whether whole drivers reveal the number of rows is tried too (`hidden`).
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pubpriv.audit._catalogue import EAST, WEST, adds, at, examples
from pubpriv.audit._hidden import MANY, drivers, of_handles, of_persons, searches
from pubpriv.audit._neighbours import COLUMNS, NOBODY, Integers, Record, difference, distance, integers, with_groups
from pubpriv.audit.finding import Claims, Finding, judged, promised, refuses
from pubpriv.data.codec import row_tuples
from pubpriv.data.columns import parse_columns
from pubpriv.data.frames import Frame
from pubpriv.data.person_table import PersonTable
from pubpriv.data.persons import keys_in_memory, weights_of
from pubpriv.data.pieces import longest_block
from pubpriv.data.questions import Counts, PerPerson, PersonSizes, Question, Radial, StableCells
from pubpriv.data.questions.radial import without_law
from pubpriv.data.regions import NearestPoint
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable, PrivateTable
from pubpriv.errors import InvalidInput, SpecMismatch
from pubpriv.ledger import Ledger, event_of
from pubpriv.privacy.budgets import ZeroConcentratedDP

_GRAIN = 64
_MOST = (1, 3)
"""Rows of a person that count in full."""

ASKED = (
    *("counts-cells", "counts-everything", "sums-everything", "fourth-everything", "moments-cells", "gram-cells"),
    *("gram-everything", "bisection-linear", "score"),
)
"""Examples of each kind that are asked per person."""

_IN_PURE_RUNS = ("counts-cells", "gram-everything", "moments-cells", "bisection-linear")
"""Examples that are asked under radial noise too: jointly, and by region where there are some."""

_REACHED = 0.9
"""Part of the attainable squared distance that some pair of persons must reach."""

_ROOM = 20
"""Limit of rows in questions of one row of each person; some tables have more persons, some fewer."""

_POINTS, _LEAVING = (200, 258, 419, 513, 600), 4
"""Numbers of points of a partition, and rows of the person who leaves: so many places a row moves."""

_Rows = list[Record]


def findings(fast: bool, seed: int) -> Iterator[Finding]:
    """Try weights, sensitivity, files, what registers them, and whole drivers."""
    yield _weights(80 if fast else 700, seed)
    for example in examples():
        if example.name in ASKED:
            for asked in _per_person(example.name, example.question):
                reached = 1.0 if getattr(asked, "by_region", False) else example.attainable
                yield _moved(example.mechanism, asked, reached, 6 if fast else 60, seed)
    for name in ("stable-cells", "selection"):
        yield of_one_row(example_of(name), 20 if fast else 200, seed)
    yield _counted(20 if fast else 200, seed)
    yield promised("persons", "a record's integers wherever it stands", _placed(seed))
    yield promised("persons", "weights of real files", _files(seed), ", against weights worked out by hand")
    yield promised("persons", "files that change between two looks", _replaced())
    yield promised("persons", "the unit of a dataset", _registered())
    yield of_handles()
    for driver in (*drivers(seed), *searches(seed)):
        yield of_persons(driver, seed)


def _per_person(name: str, question: Any) -> Iterator[Any]:
    """Ask an example of persons, under each law and with each L."""
    for most in _MOST:
        yield PerPerson(question, most, _GRAIN)
    if name in _IN_PURE_RUNS:
        yield Radial(PerPerson(question, _MOST[-1], _GRAIN))
        if name.endswith("cells"):
            yield Radial(PerPerson(question, _MOST[-1], _GRAIN), by_region=True)


def by_hand(persons: list[Any], most: int, grain: int = _GRAIN) -> list[int]:
    """Weight of each row: of B grains, row j takes those from j B / n to (j + 1) B / n, in whole grains."""
    sizes = {person: persons.count(person) for person in dict.fromkeys(persons)}
    seen = dict.fromkeys(sizes, 0)
    weights = []
    for person in persons:
        n, j = sizes[person], seen[person]
        seen[person] += 1
        whole = grain * min(n, most)
        weights.append(0 if person is None else (j + 1) * whole // n - j * whole // n)
    return weights


def _weights(largest: int, seed: int) -> Finding:
    """Weigh every person with up to `largest` rows: weights add up, none is too large, and others do not move them."""
    random = np.random.default_rng(seed)
    broken = []
    persons = random.permutation(np.repeat(np.arange(1, largest + 1), np.arange(1, largest + 1)))
    keys = keys_in_memory(persons, len(persons))
    keys[:: largest + 1] = 0  # nobody's
    sizes = {int(p): int(np.sum((persons == p) & (keys != 0))) for p in range(1, largest + 1)}
    for most in (1, 2, 3, 7, 64):
        weights = weights_of(keys, most, _GRAIN).astype(int)
        if weights[keys == 0].any():
            broken.append("a row of nobody counts")
        if weights.max() > _GRAIN:
            broken.append("a row counts more than once")
        for person, size in sizes.items():
            if weights[(persons == person) & (keys != 0)].sum() != _GRAIN * min(size, most):
                broken.append(f"the rows of a person do not weigh G min(n, L), for L = {most}")
        gone = (keys == 0) | (persons != int(random.integers(1, largest)))
        if not np.array_equal(weights_of(keys[gone], most, _GRAIN), weights[gone]):
            broken.append("weights depend on the rows of other persons")
    return judged("persons", "weights add up", broken, f"{largest} persons of 1 to {largest} rows, five values of L")


def _table_of(rows: _Rows, persons: list[int]) -> PersonTable:
    keys = keys_in_memory(np.array(persons, dtype=np.int64), len(rows))
    return PersonTable(replace(with_groups(np.reshape(rows, (-1, 2))), persons=keys))


def _totals(question: Question, table: PersonTable) -> Integers:
    return integers(scan(table.asked(question), question, here=True))


def _moved(mechanism: str, asked: Any, attainable: float, tables: int, seed: int) -> Finding:
    """Replace all rows of one person by others, by more, by fewer and by none, among others' rows."""
    most = without_law(asked).most
    random = np.random.default_rng([seed, most])
    turns = [(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 24, endpoint=False)]
    edge = [at(center, turn) for center in (WEST, EAST) for turn in turns] + [(900.0, 0.0), (0.5, 0.6), NOBODY]
    # as many rows as count, all alike: the ends of the hull
    pure = [_totals(asked, _one(row, most)) for row in edge]
    pairs = [(distance_of(asked, a, b), i, j) for i, a in enumerate(pure) for j, b in enumerate(pure[:i])]
    furthest, broken = max(pair[0] for pair in pairs), []
    odd = [*edge, (np.inf, 0.0), (1e308, -1e308), (5e-324, -2.0)]
    for _ in range(tables):
        others = [odd[i] for i in random.integers(len(odd), size=12)]
        whose = random.integers(1, 5, size=12).tolist()
        sides = []
        for size in random.choice([0, 1, 2, 5, 7, MANY], size=2):
            own = [odd[i] for i in random.integers(len(odd), size=size)]
            places = np.sort(random.integers(0, 13, size=size))
            rows, persons = list(others), list(whose)
            for place, row in zip(places[::-1].tolist(), own, strict=True):
                rows.insert(place, row)
                persons.insert(place, 0)
            sides.append(_totals(asked, _table_of(rows, persons)))
        furthest = max(furthest, distance_of(asked, *sides))
    declared = asked.squared_distance
    if furthest > declared:
        broken.append("a person moves the totals further than declared")
    if furthest < _REACHED * attainable * declared:
        broken.append(f"only {float(furthest / declared):.0%} of the declared distance was reached: too much noise")
    how = f"reached {float(furthest / declared):.2%} of the squared distance, {attainable:.2%} attainable"
    law = "" if asked is without_law(asked) else ", by region" if asked.by_region else ", radial"
    name = f"{mechanism} of persons, L = {most}{law}"
    return judged("persons", name, broken, how, float(declared) ** 0.5, float(furthest) ** 0.5)


def _one(row: Record, most: int) -> PersonTable:
    return _table_of([row] * most, [0] * most)


def distance_of(asked: Any, first: Integers, second: Integers) -> Fraction:
    """Exact squared distance of totals in units of the noise, by the parts of the question per person."""
    delta, weighed = difference(first, second), without_law(asked)
    if "histogram" in delta:  # worked out in units of the inner question, of which one grain is 1 / G
        return Fraction(distance(weighed.inner, delta), weighed.grain**2)
    return distance(asked, delta)


def of_one_row(question: Any, tables: int, seed: int) -> Finding:
    """Replace all rows of one person where one row of each counts, and of these as many as the answer has room for."""
    random, broken, furthest = np.random.default_rng([seed, 8]), [], Fraction(0)
    inner = replace(question, rows=_ROOM)
    asked: Any = PerPerson(inner, 1, 1)
    if event_of(asked) != event_of(inner):
        broken.append("it is not charged as the question within")
    turns = [(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 8, endpoint=False)]
    edge = [at(center, turn, length) for center in (WEST, EAST) for turn in turns for length in (0.5, 1.0, 3.0)]
    for _ in range(tables):
        others = random.integers(1, _ROOM + 3, size=2 * _ROOM).tolist()
        rows = [edge[i] for i in random.integers(len(edge), size=len(others))]
        sides = []
        for size in random.choice([0, 1, 3, MANY], size=2).tolist():
            at_end = bool(random.integers(2))
            own, cell = [0] * size, [[NOBODY, *edge][i] for i in random.integers(len(edge) + 1, size=size)]
            whose, records = (others + own, rows + cell) if at_end else (own + others, cell + rows)
            sides.append(_totals(asked, _table_of(records, whose)))
            room = _ROOM if isinstance(inner, StableCells) else len(records)
            if sides[-1] != _by_last_rows(inner, records, whose, room):
                broken.append("the rows that count are not the last one of each of the first persons")
        furthest = max(furthest, distance(inner, difference(*sides)))
    declared = asked.squared_distance
    if furthest > declared:
        broken.append("a person moves the totals further than declared")
    name, how = f"{type(inner).__name__} of one row of each person", f"{tables} pairs of tables"
    return judged("persons", name, broken, how, float(declared) ** 0.5, float(furthest) ** 0.5)


def _by_last_rows(question: Any, records: _Rows, persons: list[int], room: int) -> Integers:
    """Add up what the last row of each person adds, of the first so many in the order of the table."""
    last = sorted({person: place for place, person in enumerate(persons)}.values())[:room]
    return sum_by_hand(question, [records[place] for place in last], [1] * len(last))


def _counted(tables: int, seed: int) -> Finding:
    """Persons by number of rows, with one person replaced."""
    random, question = np.random.default_rng([seed, 2]), PersonSizes.priced(Fraction(1))
    furthest = Fraction(0)
    for _ in range(tables):
        persons = random.integers(1, 6, size=30).tolist()
        sides = [
            _totals(question, _table_of([WEST] * (30 + size), persons + [0] * size))
            for size in random.choice([0, 1, 2, 3, 4, 9, 17, 33, 200], size=2).tolist()
        ]
        furthest = max(furthest, distance(question, difference(*sides)))
    declared = question.squared_distance
    broken = ["a person moves the counts further than declared"] if furthest > declared else []
    how = f"{tables} pairs of tables"
    return judged("persons", "PersonSizes", broken, how, float(declared) ** 0.5, float(furthest) ** 0.5)


def _placed(seed: int) -> Claims:
    """A person goes who came first, so that all rows move: the totals change by what that person added, and no more."""
    random = np.random.default_rng([seed, 4])
    rows = [at(center, (1.0, 0.0), length) for center in (WEST, EAST) for length in random.uniform(0, 1, 40)]
    records = [rows[i] for i in random.integers(len(rows), size=5000)]
    persons = [0] * 51 + random.integers(1, 2000, size=len(records) - 51).tolist()
    for name in ("sums-everything", "gram-cells", "counts-cells"):
        asked = PerPerson(example_of(name), 3, _GRAIN)
        whole, rest = _totals(asked, _table_of(records, persons)), _totals(asked, _table_of(records[51:], persons[51:]))
        own = _totals(asked, _table_of(records[:51], persons[:51]))
        yield f"{name}: rows of others add what they added", difference(rest, whole) == own
    for count in _POINTS:
        beside, table, whose = _beside_bisectors(count, random)
        whole, rest, own = (
            _totals(beside, PersonTable(ArrayTable.of(table[part], None, whose[part])))
            for part in (slice(None), slice(_LEAVING, None), slice(_LEAVING))
        )
        yield f"{count} points: records beside a bisector stay in their regions", difference(rest, whole) == own


def _beside_bisectors(count: int, random: np.random.Generator) -> tuple[PerPerson, np.ndarray, np.ndarray]:
    """Regions of the nearest of `count` points, a table, and whose row each row is.

    Between the first and the last point lie records for which a last bit decides. They stand in the last places of
    blocks, as products may be computed otherwise there, and elsewhere. The first person has the first rows.
    """
    columns = 5
    points = 50 + 0.1 * random.normal(size=(count, columns))  # far away, but for two
    points[0], points[-1] = random.normal(size=(2, columns))
    toward = points[-1] - points[0]
    across = random.normal(size=(3 * longest_block(columns), columns))
    across -= np.outer(across @ toward, toward) / (toward @ toward)
    groups = (*(0,) * (count - 1), 1)
    frame = Frame.of(np.zeros(columns))
    question = PerPerson(Counts(NearestPoint(frame, row_tuples(points), groups), 1 << 28), 1, _GRAIN)
    persons = np.arange(len(across))
    persons[:_LEAVING] = -1
    return question, (points[0] + points[-1]) / 2 + across, persons


def _files(seed: int) -> Claims:
    """Persons whose rows are spread over files and row groups, under ids that are written in several ways."""
    import pyarrow as pa

    random = np.random.default_rng(seed)
    rows = [at(center, (1.0, 0.0), 0.4) for center in (WEST, EAST)]
    records = [rows[i] for i in random.integers(2, size=400)]
    whose = random.integers(-3, 40, size=400).tolist()
    nobody = [None if i % 37 == 0 else person for i, person in enumerate(whose)]
    question = example_of("moments-cells")
    spellings: dict[str, tuple[Any, Any]] = {
        "integers of 32 and 64 bits": (pa.int32(), pa.int64()),
        "short and unsigned integers": (pa.int8(), pa.int16()),
        "texts, plain and in a dictionary": (pa.string(), pa.dictionary(pa.int32(), pa.string())),
        "large texts and bytes": (pa.large_string(), pa.binary()),
    }
    for name, kinds in spellings.items():
        with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
            _write(Path(folder), records, nobody, kinds)
            for most in _MOST:
                asked = PerPerson(question, most, _GRAIN)
                table = PersonTable(PrivateTable.open(folder, COLUMNS, person="who"), most_bytes=0)
                wanted = sum_by_hand(question, records, by_hand(nobody, most))
                yield f"{name}: persons have one key each (L = {most})", _totals(asked, table) == wanted
            with_parts = PersonTable(PrivateTable.open(folder, COLUMNS, person=("who", "where")))
            pairs = [None if person is None else (person, i % 2) for i, person in enumerate(nobody)]
            asked, wanted = PerPerson(question, 1, _GRAIN), sum_by_hand(question, records, by_hand(pairs, 1))
            yield f"{name}: two columns name a person together", _totals(asked, with_parts) == wanted


def example_of(name: str) -> Any:
    """The question of this name in the catalogue."""
    return next(example.question for example in examples() if example.name == name)


def sum_by_hand(question: Question, records: _Rows, weights: list[int]) -> Integers:
    """Add up what records add, each as often as it weighs."""
    total: Integers = {}
    known = {row: adds(question, row) for row in {*records}}
    for row, weight in zip(records, weights, strict=True):
        for name, values in known[row].items():
            sums = total.setdefault(name, [0] * len(values))
            total[name] = [old + weight * value for old, value in zip(sums, values, strict=True)]
    return total


def _write(folder: Path, records: _Rows, persons: list[Any], kinds: tuple[Any, Any]) -> None:
    """Two files of several row groups each, the ids of each in a type of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    half = len(records) // 2
    for number, (kind, part) in enumerate(zip(kinds, (slice(0, half), slice(half, None)), strict=True)):
        own = [None if who is None or pa.types.is_integer(kind) else f"person {who}" for who in persons[part]]
        if pa.types.is_integer(kind):
            ids = pa.array(persons[part], kind)
        elif pa.types.is_binary(kind):
            ids = pa.array([None if who is None else who.encode() for who in own], kind)
        else:
            ids = pa.array(own, pa.string()).cast(kind) if not pa.types.is_dictionary(kind) else pa.array(own, kind)
        a, b = zip(*records[part], strict=True)
        where = [i % 2 for i in range(len(records))[part]]
        table = pa.table({"a": list(a), "b": list(b), "who": ids, "where": where})
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=70)


def _replaced() -> Claims:
    """Whatever ids a file has by the time that its rows are read: not one total of them."""
    import pyarrow as pa

    question = example_of("counts-everything")
    asked, many, few = PerPerson(question, 1, _GRAIN), [7] * 60, list(range(60))
    for how, first in (("persons were counted", PersonSizes.priced(Fraction(1))), ("rows were counted", asked)):
        with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
            _write(Path(folder), [WEST] * 60, few, (pa.int64(), pa.int64()))
            table = PersonTable(PrivateTable.open(folder, COLUMNS, person="who"), most_bytes=0)
            _totals(first, table)
            _write(Path(folder), [WEST] * 60, many, (pa.int64(), pa.int64()))
            yield f"other ids after {how}: no total", refuses(lambda t=table: _totals(asked, t), Exception)  # type: ignore[misc]


def _registered() -> Claims:
    """What a dataset protects stays once a run was opened, and id columns are no columns of an estimate."""
    one = ZeroConcentratedDP(1)
    with tempfile.TemporaryDirectory(prefix="pubpriv-audit-") as folder:
        ledger = Ledger.open(f"sqlite:///{folder}/ledger.db")
        with ledger:
            ledger.register("rows", one)
            ledger.register("persons", one, person="who", persons=40)
            for dataset in ("rows", "persons"):
                ledger.run(dataset, "first").open(ZeroConcentratedDP(Fraction(1, 2)))
            yield (
                "rows do not become persons",
                refuses(lambda: ledger.register("rows", one, person="who"), SpecMismatch),
            )
            other = refuses(lambda: ledger.register("persons", one, person="where"), SpecMismatch)
            yield "a person stays who it was", other
            ledger.register("persons", ZeroConcentratedDP(2), raise_=True, reason="more")
            terms = ledger.person("persons")
            yield "a raised cap keeps the unit", terms is not None and (terms.columns, terms.persons) == (("who",), 40)
            Path(folder, "t.csv").write_text("a,b,who\n1,2,3\n")
            lines = PrivateTable.open(f"{folder}/t.csv", COLUMNS, person="who")
            unsaid = refuses(lambda: ledger.bind("persons", lines), InvalidInput)
            yield "lines are records of persons only if their owner says so", unsaid
            columns = parse_columns([*COLUMNS, "who"])
            made = refuses(lambda: PrivateTable(f"{folder}/t.parquet", columns, None, ("who",)), InvalidInput)
            yield "ids are no columns", made
