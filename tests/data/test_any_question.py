"""Any question at all, well or badly formed, made with its checks or past them, of any rows.

Either it is refused before the charge, whatever the rows are, or it is answered with the shapes that it declares, and
no two neighbours' exact totals are further apart than it says. About 10 s; a longer search is marked slow.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.neighbours import check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pubpriv as pp
from pubpriv.audit._neighbours import difference, distance, integers
from pubpriv.audit._persons import distance_of
from pubpriv.data import codec
from pubpriv.data.codec import to_json
from pubpriv.data.columns import parse_columns
from pubpriv.data.frames import GRID
from pubpriv.data.person_table import PersonTable
from pubpriv.data.persons import keys_in_memory
from pubpriv.data.questions import QUESTIONS, Bisection, PerPerson, PersonSizes
from pubpriv.data.questions.base import PARTITIONS
from pubpriv.data.questions.of_rows import WEIGHED
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable
from pubpriv.errors import BudgetExceeded, InvalidInput

WIDTHS = (1, 2, 3)
ODD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 1e160, 1e-160)
LABELS = map(str, count())
SD = 1 << 44
quick = settings(max_examples=130, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

# -- well-formed questions as the data that a ledger stores -----------------------------------------------------

near = st.floats(-4, 4, allow_subnormal=False) | st.integers(-3, 3).map(float)


@st.composite
def frames(draw, d, ell=None):
    """A frame of d columns, with a matrix of ell rows or, where ell allows it, a diagonal or nothing."""
    shape = draw(st.sampled_from(["matrix"] if ell not in (None, d) else ["matrix", "diagonal", "nothing"]))
    row = st.lists(near, min_size=d, max_size=d)
    rows = ell or draw(st.integers(1, d))
    matrix = draw(st.lists(row, min_size=rows, max_size=rows)) if shape == "matrix" else None
    diagonal = draw(row) if shape == "diagonal" else None
    return {"type": "Frame", "center": draw(row), "matrix": matrix, "diagonal": diagonal}


@st.composite
def maps(draw, d, ell=None):
    """A frame, or now and then the score rows of one."""
    frame = draw(frames(d, ell))
    return {"type": "ScoreFrame", "inner": frame} if draw(st.integers(0, 3)) == 0 else frame


def width(frame):
    return len(frame["center"] if frame["matrix"] is None else frame["matrix"])


@st.composite
def points(draw, frame, least):
    point = st.lists(near, min_size=width(frame), max_size=width(frame))
    return draw(st.lists(point, min_size=least, max_size=4))


@st.composite
def nearest(draw, d):
    frame = draw(frames(d))
    of = draw(points(frame, 1))
    groups = draw(st.lists(st.integers(0, 2), min_size=len(of), max_size=len(of)))
    order = sorted(set(groups))
    return {"type": "NearestPoint", "frame": frame, "points": of, "groups": [order.index(g) for g in groups]}


@st.composite
def cells(draw, d):
    own = draw(st.lists(frames(d), min_size=1, max_size=3))
    return {"type": "Cells", "frames": own, "offsets": draw(st.lists(near, min_size=len(own), max_size=len(own)))}


@st.composite
def shells(draw, d):
    edges = sorted(set(draw(st.lists(st.floats(0.25, 8), min_size=1, max_size=4))))
    return {"type": "Shells", "frame": draw(maps(d)), "edges": edges}


@st.composite
def column_cells(draw, d):
    edges = sorted(set(draw(st.lists(st.floats(-4, 4), min_size=1, max_size=5))))
    return {"type": "ColumnCells", "column": draw(st.integers(0, d - 1)), "edges": edges}


@st.composite
def pairs(draw, d):
    frame = draw(frames(d))
    return {"type": "PairBins", "frame": frame, "centers": draw(points(frame, 2))}


@st.composite
def balls(draw, d):
    radii = st.floats(0, 5)
    own = [{"type": "Cylinder", "frame": draw(frames(d)), "radius": draw(radii)} for _ in range(2)]
    paths = draw(st.sampled_from([[[[0, True]], [[0, False]]], [[[0, False], [1, True]], [[0, True]]], [[]]]))
    return {"type": "Balls", "balls": own, "paths": paths}


@st.composite
def uncovered(draw, d):
    frame = draw(frames(d))
    ball = {"type": "Cylinder", "frame": draw(frames(d)), "radius": draw(st.floats(0, 5))}
    shells = draw(st.sampled_from([[0.5], [0.1, 2.0], [0.5, 1.0, 4.0]]))
    where = {"frame": frame, "points": draw(points(frame, 1)), "distances": shells}
    return {"type": "Uncovered", **where, "ball": draw(st.just(ball) | st.none())}


@st.composite
def component_shells(draw, d):
    inner = draw(cells(d))
    count = len(inner["frames"])
    own = draw(st.just([]) | st.lists(frames(d), min_size=count, max_size=count))
    edges = draw(st.lists(st.floats(0.1, 9), min_size=1, max_size=3, unique=True).map(sorted))
    shared = draw(st.integers(0, len(edges)))
    return {"type": "ComponentShells", "cells": inner, "edges": edges, "frames": own, "shared": shared}


@st.composite
def grid(draw, d):
    groups = draw(nearest(d) | cells(d) | st.just({"type": "Everything"}))
    own = [draw(frames(d)) for _ in range(regions(groups))]
    number = st.integers(-3, 3)
    listed = [
        draw(st.lists(st.lists(number, min_size=width(f), max_size=width(f)), min_size=1, max_size=4, unique_by=tuple))
        for f in own
    ]
    return {"type": "GridCells", "groups": groups, "frames": own, "cells": listed}


@st.composite
def missing_patterns(draw, d):
    every = list(range(d))
    listed = draw(st.lists(st.lists(st.sampled_from(every), unique=True).map(sorted), max_size=3, unique_by=tuple))
    return {"type": "MissingPatterns", "columns": every, "listed": listed, "by_number": True}


@st.composite
def refined(draw, d):
    groups = draw(nearest(d) | st.just({"type": "Everything"}))
    inner = [draw(cells(d) | shells(d) | column_cells(d)) for _ in range(regions(groups))]
    return {"type": "Refined", "groups": groups, "inner": inner}


def regions(partition):
    """How many there are, counted here and not by the product."""
    return {
        "Everything": lambda: 1,
        "NearestPoint": lambda: len(set(partition["groups"])),
        "Cells": lambda: len(partition["frames"]),
        "Shells": lambda: len(partition["edges"]) + 1,
        "ColumnCells": lambda: len(partition["edges"]) + 2,
        "MissingPatterns": lambda: len(partition["listed"]) + len(partition["columns"]) + 1,
        "PairBins": lambda: 6 * len(partition["centers"]) * (len(partition["centers"]) - 1),
        "Balls": lambda: len(partition["paths"]),
        "GridCells": lambda: sum(map(len, partition["cells"])),
        "Uncovered": lambda: len(partition["distances"]),
        "ComponentShells": lambda: (
            len(partition["cells"]["frames"]) * (len(partition["edges"]) + 1 - partition["shared"])
            + partition["shared"]
        ),
        "Refined": lambda: sum(map(regions, partition["inner"])),
    }[partition["type"]]()


@st.composite
def questions(draw, d):
    """(the data of a well-formed question, of rows or of persons)."""
    of = draw(st.sampled_from(["rows", "rows", "persons", "sizes", "radial"]))
    if of == "sizes":
        return {"type": "PersonSizes", "noise_scale": draw(st.integers(SD >> 8, SD))}
    inner = draw(of_rows(d))
    if of == "rows":
        return inner
    if of == "radial":
        framed = "frames" not in inner or len(inner["frames"]) == regions(inner["partition"])
        apart = "partitions" in inner or ("partition" in inner and framed)
        return {"type": "Radial", "inner": inner, "by_region": apart and draw(st.booleans())}
    return {
        "type": "PerPerson",
        "inner": inner,
        "most": draw(st.integers(1, 5)),
        "grain": draw(st.sampled_from([1, 8, 64])),
    }


@st.composite
def of_rows(draw, d):
    """(the data of a question of which each record counts by itself)."""
    kind = draw(st.sampled_from([cls.__name__ for cls in WEIGHED]))
    if kind == "InShares":
        partition = draw(cells(d) | shared_shells(d))
        inner = draw(joint(draw(st.sampled_from(["LiftedGram", "Moments"])), partition, d))
        k = len((partition.get("cells") or partition)["frames"])
        inner |= {name: (inner[name] * k)[:k] for name in ("frames", "radii")}
        return {"type": kind, "inner": inner, "grain": draw(st.sampled_from([1, 8]))}
    if kind == "CompletedGram":
        partition = draw(cells(d) | shells(d) | st.just({"type": "Everything"}))
        parts = [*draw(st.lists(st.floats(0.25, 4), min_size=d - 1, max_size=d - 1)), 1.0]
        told = {"fill": draw(frames(d, d)), "level": draw(st.floats(0, 1)), "parts_of_radius": parts}
        return draw(joint("LiftedGram", partition, d, frames)) | told | {"type": kind}
    if kind == "Completed":
        inner = draw(joint("Moments", draw(cells(d)), d))
        return {"type": kind, "inner": inner, "fill": draw(frames(d, d))}
    sd = st.integers(SD >> 8, SD)
    if kind == "Bisection":
        low, logarithmic = draw(st.floats(0.1, 2)), draw(st.booleans())
        return {
            "type": kind, "frame": draw(frames(d)), "lower": low, "upper": low + draw(st.floats(0.5, 4)),
            "steps": draw(st.integers(1, 5)), "rank": draw(near), "noise_scale": draw(sd),
            "logarithmic": logarithmic, "signed": draw(st.booleans()),
        }  # fmt: skip
    if kind == "BoundedScore":
        sides = {"first": draw(cells(d)), "second": draw(cells(d))}
        return {"type": kind, **sides, "bound": draw(st.floats(0.5, 4)), "noise_scale": draw(sd)}
    if kind == "StableCells":
        told = {"rows": 30, "least": draw(st.integers(0, 3)), "noise_scale": draw(sd), "threshold": 8 * SD}
        return {"type": kind, "frame": draw(frames(d)), **told}
    everything = st.just({"type": "Everything"})
    any_partition = (
        everything
        | nearest(d)
        | cells(d)
        | shells(d)
        | column_cells(d)
        | missing_patterns(d)
        | pairs(d)
        | balls(d)
        | component_shells(d)
        | uncovered(d)
        | grid(d)
        | refined(d)
    )
    if kind == "JointCounts":
        several = draw(st.lists(any_partition, min_size=1, max_size=3))
        return {"type": kind, "partitions": several, "noise_scale": draw(sd)}
    partition = draw(any_partition)
    if kind == "Counts":
        return {"type": kind, "partition": partition, "noise_scale": draw(sd)}
    return draw(joint(kind, partition, d))


@st.composite
def shared_shells(draw, d):
    """Shells about cells, of which all but the innermost are shared."""
    found = draw(component_shells(d))
    return found | {"frames": [], "shared": len(found["edges"])}


@st.composite
def joint(draw, kind, partition, d, of=maps):
    """(the data of a question about sums in the regions of a partition)."""
    sd = st.integers(SD >> 8, SD)
    ell, k = draw(st.integers(1, d)), regions(partition)
    own = draw(st.lists(of(d, ell), min_size=1, max_size=2))
    radii = draw(st.lists(st.floats(0.25, 4), min_size=1, max_size=3))
    told = {"type": kind, "partition": partition, "frames": (own * k)[:k], "radii": (radii * k)[:k]}
    if kind in ("ClippedSums", "FourthMoments"):
        return told | {"noise_scale": draw(sd)}
    framed = draw(st.integers(1, k))  # of the others the count alone
    told |= {name: told[name][:framed] for name in ("frames", "radii")}
    # sds of count, sum and second part whose weights at norm R are about alike, as estimators have them
    count_sd = draw(sd)
    scales = [count_sd, (count_sd >> 16) * GRID, (count_sd >> 28) * GRID * GRID]
    zeros = draw(st.sampled_from([(), (0,), (1,), (0, 1)])) if kind == "LiftedGram" else ()
    return told | {"noise_scales": [0 if i in zeros else s for i, s in enumerate(scales)]}


# -- what may be wrong with them --------------------------------------------------------------------------------

WRONG = (
    *ODD, 0, 1, -1, 2, 7, 1 << 53, 1 << 54, 1 << 70, 10**400, 0.5, True, False, None, "1", "", (), [], (0.0,), ((),),
    Fraction(1, 2), 1j, b"1", {}, np.float64(1.5), np.int64(3), np.ones(2), object(),
)  # fmt: skip


def places(data, path=()):
    """Paths to everything inside `data` that may be replaced, its type tags apart."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        if key != "type":
            yield (*path, key)
            yield from places(value, (*path, key))


def changed(data, path, value):
    """A copy of `data` with another value at `path`."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(data[path[0]], path[1:], value)
    return copy


def found(data, path):
    for key in path:
        data = data[key]
    return data


@st.composite
def malformed(draw, d):
    """A question with one or two things wrong, or at least other, and now and then nothing."""
    data = draw(questions(d))
    for _ in range(draw(st.integers(0, 2))):
        every = list(places(data))
        path = draw(st.sampled_from(every))
        old = found(data, path)
        how = draw(st.sampled_from(["wrong", "shorter", "longer", "twice", "elsewhere", "other columns"]))
        if how == "elsewhere":
            new = found(data, draw(st.sampled_from(every)))
        elif how == "other columns":
            new = draw(frames(draw(st.sampled_from(WIDTHS))))
        elif isinstance(old, list) and old and how != "wrong":
            new = {"shorter": old[:-1], "longer": [*old, draw(st.sampled_from(WRONG))], "twice": old + old}[how]
        else:
            new = draw(st.sampled_from(WRONG))
        data = changed(data, path, new)
    return data


def made(data, forged):
    """The object that `data` says; a forged one is made past its constructor, and so past its checks."""
    if isinstance(data, dict) and data.get("type") in codec._TYPES:
        cls = codec._TYPES[data["type"]]
        fields = {name: made(value, forged) for name, value in data.items() if name != "type"}
        if not forged:
            return cls(**fields)
        thing = object.__new__(cls)
        for name, value in fields.items():
            object.__setattr__(thing, name, value)
        return thing
    return tuple(made(item, forged) for item in data) if isinstance(data, list) else data


# -- the two worlds ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """By number of columns, runs on one real ledger over two tables of that many columns: plain rows, and odd ones."""
    folder, generator = tmp_path_factory.mktemp("any"), np.random.default_rng(0)
    budget = pp.ZeroConcentratedDP(10**6)
    with pp.Ledger.open(f"sqlite:///{folder / 'ledger.db'}") as ledger:
        runs = {}
        for d in WIDTHS:
            plain = generator.normal(0, 2, (30, d))
            odd = np.where(generator.random((30, d)) < 0.4, generator.choice(ODD, (30, d)), plain)
            for name, rows in (("plain", plain), ("odd", odd)):
                dataset, names = f"{name}-{d}", [f"x{i}" for i in range(d)]
                path = folder / f"{dataset}.parquet"
                pq.write_table(pa.table({x: rows[:, i] for i, x in enumerate(names)}), path)
                table = pp.PrivateTable.open(path, names)
                ledger.register(dataset, budget=budget, table=table, another_table=True)
                runs.setdefault((d, False), []).append(
                    (ledger, dataset, pp.Curator(table, ledger, dataset, budget, "r"))
                )
                path, of_persons = folder / f"{dataset}-persons.parquet", f"{dataset}-persons"
                whose = pa.array(generator.integers(0, 12, 30 if name == "odd" else 9))
                pq.write_table(pa.table({x: rows[: len(whose), i] for i, x in enumerate(names)} | {"who": whose}), path)
                table = pp.PrivateTable.open(path, names, person="who")
                ledger.register(of_persons, budget=budget, table=table, person="who", another_table=True)
                runs.setdefault((d, True), []).append(
                    (ledger, of_persons, pp.Curator(table, ledger, of_persons, budget, "r"))
                )
        yield runs


def outcome(run, question, label):
    """The values that were released, or the text of a refusal that cost nothing."""
    ledger, dataset, curator = run
    before = ledger.balance(dataset).spent
    try:
        released = curator.release(question, label)
    except (InvalidInput, BudgetExceeded) as refusal:
        assert ledger.balance(dataset).spent == before
        return str(refusal) if isinstance(refusal, InvalidInput) else "no room"
    assert ledger.balance(dataset).spent.main > before.main
    assert released.question == (question.inner if isinstance(question, PerPerson) else question)
    return released.values


def cell():
    return st.sampled_from(ODD) | near


@st.composite
def neighbours(draw, d):
    """Two tables that differ in one record."""
    rows = draw(st.lists(st.lists(cell(), min_size=d, max_size=d), min_size=2, max_size=5))
    other = [draw(st.lists(cell(), min_size=d, max_size=d)), *rows[1:]]
    return np.array(rows), np.array(other)


def holds(data, worlds):
    """Refused for the same reason whatever the rows are, or answered as declared."""
    d = data.draw(st.sampled_from(WIDTHS))
    stored, forged = data.draw(malformed(d)), data.draw(st.booleans())
    try:
        question = made(stored, forged)
    except InvalidInput:
        return "refused when it was made"
    label = next(LABELS)
    of_persons = type(question) in (PerPerson, PersonSizes)
    answers = [outcome(run, question, label) for run in worlds[d, of_persons]]
    if any(isinstance(answer, str) for answer in answers):
        assert answers[0] == answers[1], "whether a question is refused depends on the rows"
        return "refused"
    assert type(question) in QUESTIONS
    question = codec.from_json(to_json(question))
    noise = question.noise()
    for answer in answers:
        assert set(noise) <= set(answer)
        for name, sd in noise.items():
            assert np.broadcast_shapes(sd.shape, answer[name].shape) == answer[name].shape
            assert answer[name].size >= sum(part.size for key, part in question.parts.items() if key == name)
    inner = getattr(question, "inner", question)
    if not (isinstance(inner, Bisection) and inner.steps > 8):
        columns = parse_columns([f"x{i}" for i in range(d)])
        tables = [ArrayTable(rows, columns) for rows in data.draw(neighbours(d))]
        if of_persons:  # one person has the first row, and then one more
            whose = [keys_in_memory(np.r_[0, np.arange(len(table.rows) - 1)], len(table.rows)) for table in tables]
            tables = [PersonTable(replace(table, persons=keys)) for table, keys in zip(tables, whose, strict=True)]
            first, second = (integers(scan(table.asked(question), question)) for table in tables)
            if isinstance(question, PerPerson):
                assert distance_of(question, first, second) <= question.squared_distance
            else:
                assert distance(question, difference(first, second)) <= question.squared_distance
        else:
            check(question, *(integers(scan(table, question, here=True)) for table in tables))
    return "answered"


def test_any_question_is_refused_or_answered_as_declared(worlds):
    """Nothing else ever happens, and both happen often."""
    ends = []

    @quick
    @given(st.data())
    def search(data):
        ends.append(holds(data, worlds))

    search()
    assert min(ends.count("answered"), ends.count("refused"), ends.count("refused when it was made")) > 10


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(quick, max_examples=4000, derandomize=False)
@given(st.data())
def test_any_question_of_many_more(worlds, data):
    """The same, for some minutes."""
    holds(data, worlds)


@quick
@given(st.data())
def test_the_generator_makes_well_formed_questions(data):
    """Before anything is changed, every one of them can be built: what is refused above was spoilt."""
    d = data.draw(st.sampled_from(WIDTHS))
    question = made(data.draw(questions(d)), forged=False)
    question.check(d)
    assert type(getattr(question, "partition", None)) in (*PARTITIONS, type(None))
