"""What a record adds depends on that record alone, wherever it stands and whatever stands beside it, to the last bit.

A question of each kind is tried under arithmetic that depends on the place, as real kernels' did, and must be refused
before anything is spent; without it nothing is. Then persons leave random tables: what all others add stays. 15 s.
"""

import dataclasses
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

import pubpriv as pp
from pubpriv.audit._catalogue import examples
from pubpriv.audit._neighbours import difference, integers
from pubpriv.data import frames
from pubpriv.data.borders import trial_records
from pubpriv.data.frames import Frame
from pubpriv.data.person_table import PersonTable
from pubpriv.data.pieces import longest_block
from pubpriv.data.placement import check_places, check_shape, trial_of
from pubpriv.data.questions import Bisection, BoundedScore, Counts, LiftedGram, PerPerson
from pubpriv.data.questions.of_rows import WEIGHED
from pubpriv.data.regions import Cells, Everything, NearestPoint, View
from pubpriv.data.scan import scan
from pubpriv.data.tables import ArrayTable
from pubpriv.errors import InvalidInput, NoAnswer

COLUMNS = 5
KINDS = {example.name: example.question for example in examples() if isinstance(example.question, WEIGHED)}
WITHOUT_PRODUCTS = {
    *("counts-everything", "counts-category", "counts-column", "columns-joint", "columns-by-category"),
    *("counts-missing", "joint-missing"),
}
right = np.matmul


def grown(value, random):
    """The same kind of question about five columns, with full matrices: sums of two products round in one way only."""
    if isinstance(value, Frame):
        rows = COLUMNS if value.dimension > 1 else 1
        return Frame.of(random.normal(size=COLUMNS), random.normal(size=(rows, COLUMNS)))
    if isinstance(value, tuple):
        return tuple(grown(item, random) for item in value)
    if not dataclasses.is_dataclass(value):
        return value
    fields = {field.name: grown(getattr(value, field.name), random) for field in dataclasses.fields(value)}
    for name in {"points", "centers"} & {*fields}:
        wide = fields["frame"].dimension
        fields[name] = tuple(tuple(random.normal(size=wide).tolist()) for _ in fields[name])
    if "parts_of_radius" in fields:
        fields["parts_of_radius"] = tuple(np.linspace(0.5, 1.0, COLUMNS).tolist())
    if type(value).__name__ == "GridCells":
        sizes = [frame.dimension for frame in fields["frames"]]
        fields["cells"] = tuple(
            tuple(tuple(np.resize(cell, size).tolist()) for cell in cells)
            for cells, size in zip(fields["cells"], sizes, strict=True)
        )
    return dataclasses.replace(value, **fields)


def asked(name, seed=0):
    return PerPerson(grown(KINDS[name], np.random.default_rng(seed)), 1, 64)


def backwards(left, records, places):
    """The same sums in the other order of adding, which differ in last bits."""
    return right(np.ascontiguousarray(left[:, ::-1]), np.ascontiguousarray(records[::-1][:, places]))


def otherwise(chosen):
    """A product whose columns at the chosen places are added up in the other order."""

    def matmul(left, records, out=None):
        made = right(left, records, out=out)
        if made.ndim == 2 and made.shape[1] >= 256:
            places = chosen(made)
            made[:, places] = backwards(left, records, places)
        return made

    return matmul


AT = {
    "the last four places": lambda made: np.arange(made.shape[1])[-4:],
    "every 64th place": lambda made: np.arange(13, made.shape[1], 64),
    "odd places": lambda made: np.arange(made.shape[1])[1::2],
    "beside a missing cell": lambda made: np.flatnonzero(np.isnan(np.roll(made[-1], 1))),
    "the second half": lambda made: np.arange(made.shape[1] // 2, made.shape[1]),
}


@pytest.mark.parametrize("name", KINDS)
def test_no_kind_of_question_depends_on_places_here(name):
    """The trial passes on the machine that runs the tests, for the question and for its shape."""
    check_places(asked(name, 1), COLUMNS)
    check_shape(asked(name, 2), COLUMNS)


@pytest.mark.parametrize("where", AT)
def test_products_that_depend_on_the_place_are_refused(monkeypatch, where):
    """Whichever question's they are."""
    monkeypatch.setattr(np, "matmul", otherwise(AT[where]))
    seed = 10 + list(AT).index(where)
    assert {name for name in KINDS if not is_refused(asked(name, seed))} <= WITHOUT_PRODUCTS


def is_refused(question):
    try:
        check_places(question, COLUMNS)
    except InvalidInput:
        return True
    return False


def beside_images(monkeypatch, places):
    """A product between images and regions, which no list of a frame's products names: only regions may show it."""
    products = View.products

    def made(self, left, records):
        scores = products(self, left, records)
        scores[:, places] = backwards(left, records, places)
        return scores

    monkeypatch.setattr(View, "products", made)


@pytest.mark.parametrize("points", [2, 258, 513])
def test_a_product_of_points_alone_is_refused(monkeypatch, points):
    """As in October 2026: images were the same in all places, and scores of points were not."""
    random = np.random.default_rng(points)
    near = tuple(map(tuple, random.normal(size=(points, COLUMNS)).tolist()))
    regions = NearestPoint(Frame.of(np.zeros(COLUMNS)), near, tuple(i % 2 for i in range(points)))
    question = PerPerson(Counts(regions, 1 << 28), 1, 64)
    check_places(question, COLUMNS)
    beside_images(monkeypatch, slice(-4, None))
    with pytest.raises(InvalidInput, match=r"depends on the place of a record \(seen in the region of partition 0\)"):
        check_places(dataclasses.replace(question, most=2), COLUMNS)


FEW_OF_MANY = (193, 195, 258, 350, 419, 420, 513, 1001)


def of_many_points(count):
    """Regions of the nearest of many points far away, the last of which has a region of its own."""
    random = np.random.default_rng(count)
    points = 50 + 0.1 * random.normal(size=(count, COLUMNS))
    regions = NearestPoint(Frame.of(np.zeros(COLUMNS)), tuple(map(tuple, points.tolist())), (*(0,) * (count - 1), 1))
    return PerPerson(Counts(regions, 1 << 28), 1, 64)


@pytest.mark.parametrize("count", FEW_OF_MANY)
def test_a_product_that_moves_no_public_record_is_refused_as_well(monkeypatch, count):
    """A last bit of one score in one place: which private record it moves, no trial can know."""

    def matmul(left, records, out=None):
        made = right(left, records, out=out)
        if made.shape[1] >= 256:
            made[-1, -1] = np.nextafter(made[-1, -1], np.inf)
        return made

    question = of_many_points(count)
    check_places(question, COLUMNS)
    monkeypatch.setattr(np, "matmul", matmul)
    with pytest.raises(InvalidInput, match=r"\(seen in product \d+ of records and points\)"):
        check_places(dataclasses.replace(question, most=2), COLUMNS)


@pytest.mark.skipif(
    "SkylakeX" not in {library.get("architecture") for library in threadpool_info()},
    reason="SKIPPED: a product that depends on places by itself: OpenBLAS has none here without AVX-512",
)
def test_the_product_of_october_2026_is_refused_by_kernels_that_round_by_place(monkeypatch):
    """Records times points, as it was, with nothing patched below it."""

    def assign(self, view):
        points, half_norms, groups = self._arrays
        z, norms = view.mapped(self.frame)
        scores = view.products(z.T, points.T) - half_norms.T
        return np.where(np.isfinite(norms), groups[np.argmax(scores, axis=1)], -1)

    monkeypatch.setattr(NearestPoint, "assign", assign)
    asked = {count: dataclasses.replace(of_many_points(count), most=3) for count in FEW_OF_MANY}
    assert [count for count, question in asked.items() if not is_refused(question)] == []


def gram(random):
    """Second moments of two components."""
    whiten = tuple(Frame.of(random.normal(size=COLUMNS), random.normal(size=(COLUMNS, COLUMNS))) for _ in range(2))
    cells = Cells(whiten, (0.0, 0.0))
    return PerPerson(LiftedGram.priced(cells, whiten, (3.0, 3.0), Fraction(1), (Fraction(1, 3),) * 3), 1, 64)


def test_what_happens_between_images_and_totals_is_tried_too(monkeypatch):
    """Rounding to the grid, of which the trial knows nothing: only the question's own totals show it."""
    random, rounding = np.random.default_rng(3), np.rint
    check_places(gram(random), COLUMNS)

    def rint(cells, out=None):
        cells[:, ::2] *= 1 + 2.0**-52
        return rounding(cells, out=out)

    monkeypatch.setattr(frames.np, "rint", rint)
    with pytest.raises(InvalidInput, match=r"seen in the (sum|diagonal|upper)"):
        check_places(gram(random), COLUMNS)


def at_odd_places(compute):
    """The same function, with other last bits at odd places of a block."""

    def computed(*args, **more):
        made = np.asarray(compute(*args, **more))
        if made.ndim and made.shape[-1] > 1000:
            made[..., 1::2] *= 1 + 2.0**-52
        return made

    return computed


@pytest.mark.parametrize(("owner", "name"), [(Cells, "log_density"), (np, "sqrt")], ids=["score", "bisection"])
def test_scores_and_cells_of_a_bisection_are_tried(monkeypatch, owner, name):
    """Densities, and lengths: no frame and no partition shows them."""
    random = np.random.default_rng(4)
    whiten = [Frame.of(random.normal(size=COLUMNS), random.normal(size=(COLUMNS, COLUMNS))) for _ in range(4)]
    first, second = Cells(tuple(whiten[:2]), (0.0, 1.0)), Cells(tuple(whiten[2:]), (0.5, 0.0))
    score, bisection = BoundedScore(first, second, 20.0, 1 << 30), Bisection(whiten[0], 0.5, 4.0, 12, 10.0, 1 << 30)
    question = PerPerson(score if owner is Cells else bisection, 1, 64)
    check_places(question, COLUMNS)
    monkeypatch.setattr(owner, name, at_odd_places(getattr(owner, name)))
    with pytest.raises(InvalidInput, match="depends on the place"):
        check_places(dataclasses.replace(question, most=3), COLUMNS)


def test_a_run_is_refused_before_its_first_charge(monkeypatch, tmp_path):
    """By the shapes of its plan: nothing is spent but for the counts of persons, from which a plan is made.

    Of seven columns, which no other test of persons has: shapes that were tried in this process are not tried again.
    """
    random = np.random.default_rng(5)
    rows = pd.DataFrame(random.normal(size=(8000, 7)), columns=list("abcdefg")).assign(who=np.arange(8000) // 2)
    private = pp.PrivateTable.open(rows, list("abcdefg"), person="who", name="visits")
    with pp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", "zcdp:1", person="who", unit="one person")
        monkeypatch.setattr(np, "matmul", otherwise(AT["the last four places"]))
        curator = pp.Curator(private, ledger, "visits", "zcdp:0.5", release_id="r1")
        with pytest.raises((InvalidInput, NoAnswer), match="nothing was asked"):
            pp.estimate_gaussian(pd.DataFrame(random.normal(size=(30, 7)), columns=list("abcdefg")), curator)
        assert all(charge.label.startswith("person/") for charge in curator.statement().charges)


@pytest.mark.parametrize("name", [name for name in KINDS if "category" not in name])
def test_a_person_who_leaves_moves_nobody(name):
    """Of random tables of plain, hostile and doubtful records: the totals change by what that person added."""
    question, random = asked(name, 30), np.random.default_rng(31)
    pool = trial_records(question, COLUMNS, random).T
    rows = pool[random.integers(len(pool), size=2 * longest_block(COLUMNS) + 77)]
    persons = random.integers(1, 3000, size=len(rows))
    leaving = persons == persons[random.integers(len(rows))]
    whole, rest, alone = (
        integers(scan(PersonTable(ArrayTable.of(rows[kept], None, persons[kept])).asked(question), question, here=True))
        for kept in (slice(None), ~leaving, leaving)
    )
    assert difference(rest, whole) == alone


def test_a_trial_is_of_the_question_and_so_is_its_digest():
    """Kernels that one question cannot tell apart may differ in another: its trial says so before it is charged."""
    first, second = (trial_of(asked("counts-cells", seed), COLUMNS).digest for seed in (40, 41))
    assert first != second
    assert trial_of(PerPerson(Counts(Everything(), 1 << 28), 1, 64), COLUMNS).differs == ""
