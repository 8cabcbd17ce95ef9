"""Questions that were not made by an estimator: each is refused before it is charged, whatever the rows are."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.audit._catalogue import PRICE
from pubpriv.data import looks
from pubpriv.data.balls import Balls, Cylinder
from pubpriv.data.categories import ByCategory
from pubpriv.data.codec import from_json
from pubpriv.data.column_cells import ColumnCells
from pubpriv.data.columns import parse_columns
from pubpriv.data.component_shells import ComponentShells
from pubpriv.data.frames import Frame
from pubpriv.data.grid_cells import GridCells
from pubpriv.data.missing_patterns import MissingPatterns
from pubpriv.data.pairs import PairBins
from pubpriv.data.questions import (
    QUESTIONS,
    Bisection,
    BoundedScore,
    ClippedSums,
    Completed,
    CompletedGram,
    Counts,
    FourthMoments,
    InPeriod,
    InShares,
    JointCounts,
    LiftedGram,
    Moments,
    OfSample,
    PerPerson,
    PersonSizes,
    Radial,
    Selection,
    StableCells,
)
from pubpriv.data.questions.base import LIMIT, PARTITIONS, _noisy
from pubpriv.data.refined import Refined
from pubpriv.data.regions import Cells, Everything, NearestPoint, Shells
from pubpriv.data.rehearsal import checked, rehearse
from pubpriv.data.scan import scan
from pubpriv.data.score_frames import ScoreFrame
from pubpriv.data.tables import ArrayTable
from pubpriv.data.uncovered import Uncovered
from pubpriv.errors import InvalidInput, PrivateStepFailed
from pubpriv.ledger import event_of
from pubpriv.ledger.unit import Size

D, SD = 3, 1 << 40
SHARES = Fraction(24, 100), Fraction(45, 100), Fraction(31, 100)
PLANE = Frame((0.0,) * D)
SHORT, LONG = Frame((0.0,)), Frame((0.0,) * 4)
WIDE = Frame((0.0,) * D, ((1.0,) * D,) * (D + 1))
FLAT = Frame((0.0,) * D, ((1.0, 0.0, 0.0),))
POINTS = ((0.0, 0.0, 0.0), (10.0, 0.0, 0.0))
HALVES = NearestPoint(PLANE, POINTS, (0, 1))
CELLS = Cells((PLANE, PLANE), (0.0, 0.0))
ONE = Cells((PLANE,), (0.0,))
BALLS = Balls((Cylinder(PLANE, 1.0),), (((0, True),), ((0, False),)))
TWO = (PLANE, PLANE), (1.0, 1.0)
GOOD = {
    "counts": Counts(HALVES, SD),
    "pairs": Counts(PairBins(PLANE, POINTS), SD),
    "balls": Counts(BALLS, SD),
    "uncovered": Counts(Uncovered(PLANE, POINTS, (2.0,), Cylinder(PLANE, 1.0)), SD),
    "shells of components": Counts(ComponentShells(CELLS, (1.0, 2.0), (PLANE, PLANE)), SD),
    "joint": JointCounts((HALVES, ComponentShells(CELLS, (1.0, 2.0))), SD),
    "patterns": Counts(MissingPatterns((0, 2), ((), (0,)), by_number=True), SD),
    "cells of a column": Counts(ColumnCells(1, (-1.0, 0.0, 2.0)), SD),
    "grid": Counts(GridCells(HALVES, (PLANE, FLAT), (((0, 0, 0),), ((1,), (2,)))), SD),
    "refined": Counts(Refined(HALVES, (CELLS, ONE)), SD),
    "shells": Counts(Shells(PLANE, (1.0, 4.0)), SD),
    "scores": ClippedSums(Shells(ScoreFrame(PLANE), (1.0,)), (ScoreFrame(PLANE),) * 2, (1.0, 4.0), SD),
    "fourth": FourthMoments(HALVES, *TWO, SD),
    "sums": ClippedSums(HALVES, *TWO, SD),
    "moments": Moments.priced(HALVES, *TWO, PRICE, SHARES),
    "gram-cells": LiftedGram.priced(CELLS, *TWO, PRICE, SHARES),
    "gram": LiftedGram.priced(HALVES, *TWO, PRICE, SHARES),
    "shares": InShares(LiftedGram.priced(CELLS, *TWO, PRICE, SHARES), 16),
    "completed gram": CompletedGram.of(LiftedGram.priced(HALVES, *TWO, PRICE, SHARES), PLANE, 0.9, (0.7, 0.9, 1.0)),
    "completed": Completed(Counts(HALVES, SD), PLANE),
    "bisection": Bisection(PLANE, 0.1, 10.0, 4, 20.0, SD, logarithmic=True),
    "score": BoundedScore(CELLS, ONE, 1.0, SD),
    "radial": Radial(Counts(HALVES, SD)),
    "selection": Selection(FLAT, 40, 1.0, 3, 0.05, SD),
}


def forged(value, **fields):
    """A copy of `value` with other fields, made without a word from its class."""
    copy = object.__new__(type(value))
    for name in value.__dataclass_fields__:
        object.__setattr__(copy, name, fields.get(name, getattr(value, name)))
    return copy


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    """A run on a real ledger, over rows with odd cells."""
    folder = tmp_path_factory.mktemp("malformed")
    rows = np.random.default_rng(0).normal(4, 5, (40, D))
    rows[3], rows[7, 1] = np.nan, np.inf
    pq.write_table(pa.table({name: rows[:, i] for i, name in enumerate("abc")}), folder / "t.parquet")
    table = pp.PrivateTable.open(folder / "t.parquet", list("abc"))
    with pp.Ledger.open(f"sqlite:///{folder / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=pp.ZeroConcentratedDP(1000), table=table)
        yield pp.Curator(table, ledger, "visits", pp.ZeroConcentratedDP(1000), "r1")


def refused(curator, make, label):
    """The text with which a question is refused, before anything was charged."""
    before = len(curator.statement().charges)
    with pytest.raises(InvalidInput) as caught:
        curator.release(make(), label)
    assert len(curator.statement().charges) == before
    with pytest.raises(InvalidInput):
        curator.rehearse([make()])
    return str(caught.value)


def test_well_formed_questions_are_answered(curator):
    """Every kind over every partition: what is refused below is refused for its defect."""
    kinds, partitions = set(), set()
    for name, question in GOOD.items():
        released = curator.release(question, f"good/{name}")
        for part, sd in question.noise().items():
            assert np.broadcast_shapes(sd.shape, released.values[part].shape) == released.values[part].shape
        kinds.add(type(question))
        partitions.add(type(getattr(question, "partition", None)))
    curator.release(Counts(Everything(), SD), "good/everything")
    curator.release(Counts(CELLS, SD), "good/cells")
    # zCDP has no price for the one, and tables of rows have no persons and this one no dates:
    # `test_stable_cells.py`, `test_persons.py`, `test_in_period.py`; of samples: `test_samples.py`
    assert kinds == {*QUESTIONS} - {StableCells, PerPerson, PersonSizes, InPeriod, OfSample}
    # groups are asked of tables that have some: tests/data/test_categories.py
    assert partitions | {Everything, Cells, ByCategory} == {*PARTITIONS, type(None)}


OUTSIDE = ComponentShells(CELLS, (1.0, 2.0), (), 1)

BAD = {
    # weights of which a record could have more than the price is for
    "shares, three grains": (lambda: InShares(GOOD["gram-cells"], 3), "power of two"),
    "shares, too many grains": (lambda: InShares(GOOD["gram-cells"], 128), "power of two"),
    "shares of halves": (lambda: InShares(GOOD["gram"], 16), "partition of shares"),
    "shares of shells": (
        lambda: InShares(replace(GOOD["gram-cells"], partition=OUTSIDE, frames=(PLANE,) * 5, radii=(1.0,) * 5), 4),
        "all shells",
    ),
    # completed records of which one could add more than the price is for, or memory would depend on cells
    "completed by fewer directions": (lambda: replace(GOOD["completed gram"], fill=FLAT), "as many directions"),
    "completed by another width": (lambda: replace(GOOD["completed"], fill=SHORT), "maps 1 columns"),
    "completed at a negative level": (lambda: replace(GOOD["completed gram"], level=-0.1), "between 0 and 1"),
    "completed at no level": (lambda: replace(GOOD["completed gram"], level=float("nan")), "finite"),
    "completed, two radii": (lambda: replace(GOOD["completed gram"], parts_of_radius=(0.5, 1.0)), "3 in number"),
    "completed, no radius": (lambda: replace(GOOD["completed gram"], parts_of_radius=(0.0, 0.5, 1.0)), "positive"),
    "completed, shorter": (lambda: replace(GOOD["completed gram"], parts_of_radius=(0.5, 0.5, 0.5)), "whole radius"),
    "a choice of completed": (lambda: Completed(GOOD["selection"], PLANE), "question of completed"),
    "completed shares": (lambda: InShares(GOOD["completed gram"], 4), "question of shares"),
    "shares of counts": (lambda: InShares(GOOD["counts"], 4), "question of shares"),
    "scores in a completed gram": (
        lambda: replace(GOOD["completed gram"], frames=(ScoreFrame(PLANE),) * 2),
        "frames of CompletedGram must be a Frame",
    ),
    "scores of four directions": (lambda: ClippedSums(Everything(), (ScoreFrame(WIDE),), (1.0,), SD), "4 directions"),
    "scores, centre of one": (lambda: Counts(Shells(ScoreFrame(SHORT), (1.0,)), SD), "maps 1"),
    "scores of scores": (lambda: ScoreFrame(ScoreFrame(PLANE)), "must be a Frame"),
    "components of scores": (lambda: Cells((ScoreFrame(PLANE),), (0.0,)), "must be a Frame"),
    # one draw of noise for all columns: the first attack
    "sums, centre of one": (lambda: ClippedSums(Everything(), (SHORT,), (300.0,), SD), "maps 1 columns"),
    "gram, centre of one": (lambda: LiftedGram.second_moment(Everything(), (SHORT,), (300.0,), PRICE), "maps 1"),
    "moments, centre of one": (lambda: Moments.priced(Everything(), (SHORT,), (1.0,), PRICE, SHARES), "maps 1"),
    # the memory for copies of a wide image: a question whose image just fits fails if one record is picked out
    "sums, four directions of three": (lambda: ClippedSums(Everything(), (WIDE,), (1.0,), SD), "4 directions"),
    "gram, four directions": (lambda: LiftedGram.second_moment(Everything(), (WIDE,), (1.0,), PRICE), "4 directions"),
    "cells, four directions": (lambda: Counts(Cells((WIDE,), (0.0,)), SD), "4 directions"),
    "sums, centre of four": (lambda: ClippedSums(Everything(), (LONG,), (300.0,), SD), "maps 4"),
    "bisection, centre of one": (lambda: Bisection(SHORT, 0.1, 1.0, 3, 2.0, SD), "maps 1"),
    "fourth moments, centre of one": (lambda: FourthMoments(Everything(), (SHORT,), (3.0,), SD), "maps 1"),
    "fourth moments, huge radius": (lambda: FourthMoments(HALVES, TWO[0], (1.0, 1e40), SD), "between"),
    "shells, centre of one": (lambda: Counts(Shells(SHORT, (1.0,)), SD), "maps 1"),
    "no shells": (lambda: Counts(Shells(PLANE, ()), SD), "at least one"),
    "patterns that fall": (lambda: Counts(MissingPatterns((2, 0), (), by_number=True), SD), "rise"),
    "patterns of the fourth column": (lambda: Counts(MissingPatterns((0, 3), (), by_number=True), SD), "column 4 of"),
    "patterns of other columns": (lambda: Counts(MissingPatterns((0,), ((1,),), by_number=True), SD), "their own"),
    "patterns twice": (lambda: Counts(MissingPatterns((0,), ((0,), (0,)), by_number=True), SD), "each once"),
    "patterns without a region": (lambda: Counts(MissingPatterns((0,), (), by_number=False), SD), "and a region"),
    "cells of a column that fall": (lambda: Counts(ColumnCells(0, (2.0, 1.0)), SD), "rise"),
    "cells of the fourth column": (lambda: Counts(ColumnCells(3, (1.0,)), SD), "column 4 of"),
    "shells that fall": (lambda: Counts(Shells(PLANE, (2.0, 1.0)), SD), "rise"),
    "shells of one radius": (lambda: Counts(Shells(PLANE, (1.0, 1.0)), SD), "rise"),
    "score, centre of one": (lambda: BoundedScore(Cells((SHORT,), (0.0,)), ONE, 1.0, SD), "maps 1"),
    "nearest, centre of one": (lambda: Counts(NearestPoint(SHORT, ((0.0,), (1.0,)), (0, 1)), SD), "maps 1"),
    "pairs, centre of one": (lambda: Counts(PairBins(SHORT, ((0.0,), (1.0,))), SD), "maps 1"),
    "balls, centre of one": (lambda: Counts(Balls((Cylinder(SHORT, 1.0),), (((0, True),),)), SD), "maps 1"),
    "refined, centre of one": (
        lambda: Counts(Refined(HALVES, (ONE, Cells((SHORT,), (0.0,)))), SD),
        "maps 1",
    ),
    # a record near a surplus point: the second attack
    "surplus points": (lambda: Counts(NearestPoint(PLANE, (*POINTS, (5.0,) * 3), (0, 1)), SD), "3 points, but 2"),
    "too few points": (lambda: Counts(NearestPoint(PLANE, POINTS, (0, 1, 1)), SD), "2 points, but 3"),
    "no points": (lambda: Counts(NearestPoint(PLANE, (), ()), SD), "empty"),
    "short points": (lambda: Counts(NearestPoint(PLANE, ((0.0,), (1.0,)), (0, 1)), SD), "3 in number"),
    "NaN in a point": (lambda: Counts(NearestPoint(PLANE, ((np.nan,) * 3,), (0,)), SD), "finite"),
    "negative group": (lambda: Counts(NearestPoint(PLANE, POINTS, (0, -2)), SD), "at least 0"),
    "group of half": (lambda: Counts(NearestPoint(PLANE, POINTS, (0, 0.5)), SD), "integer"),
    "group without points": (lambda: Counts(NearestPoint(PLANE, POINTS, (0, 2)), SD), "without a gap"),
    "a group too many": (lambda: Counts(Refined(HALVES, (ONE,)), SD), "2 groups"),
    "cells too many": (lambda: Counts(Refined(HALVES, (ONE, ONE, ONE)), SD), "2 groups"),
    "a partition inside": (lambda: Counts(Refined(HALVES, (ONE, HALVES)), SD), "Cells"),
    "one offset": (lambda: Counts(Cells((PLANE, PLANE), (0.0,)), SD), "2 in number"),
    "infinite offset": (lambda: Counts(Cells((PLANE,), (np.inf,)), SD), "finite"),
    "no cells": (lambda: Counts(Cells((), ()), SD), "empty"),
    "one center of pairs": (lambda: Counts(PairBins(PLANE, POINTS[:1]), SD), "two centers"),
    "uncovered, centre of one": (lambda: Counts(Uncovered(SHORT, ((0.0,),), (1.0,)), SD), "maps 1"),
    "uncovered, ball about one": (
        lambda: Counts(Uncovered(PLANE, POINTS, (1.0,), Cylinder(SHORT, 1.0)), SD),
        "maps 1",
    ),
    "uncovered, short points": (lambda: Counts(Uncovered(PLANE, ((0.0,),), (1.0,)), SD), "3 in number"),
    "uncovered, no points": (lambda: Counts(Uncovered(PLANE, (), (1.0,)), SD), "empty"),
    "uncovered, no distance": (lambda: Counts(Uncovered(PLANE, POINTS, (0.0,)), SD), "distance"),
    "uncovered, one number": (lambda: Counts(Uncovered(PLANE, POINTS, 1.0), SD), "distances"),
    "uncovered, falling distances": (lambda: Counts(Uncovered(PLANE, POINTS, (2.0, 1.0)), SD), "must rise"),
    "uncovered, a frame for a ball": (lambda: Counts(Uncovered(PLANE, POINTS, (1.0,), PLANE), SD), "Cylinder"),
    "shells of components, centre of one": (lambda: Counts(ComponentShells(ONE, (1.0,), (SHORT,)), SD), "maps 1"),
    "shells that shrink": (lambda: Counts(ComponentShells(ONE, (2.0, 1.0)), SD), "must rise"),
    "no partitions": (lambda: JointCounts((), SD), "must not be empty"),
    "one partition of other columns": (lambda: JointCounts((HALVES, Shells(SHORT, (1.0,))), SD), "maps 1"),
    "partitions in a list": (lambda: JointCounts([HALVES], SD), "must be a tuple"),
    "joint counts without noise": (lambda: JointCounts((HALVES,), 0), "at least 1"),
    "no shells of components": (lambda: Counts(ComponentShells(ONE, ()), SD), "at least one"),
    "more shared shells than edges": (lambda: Counts(ComponentShells(ONE, (1.0,), (), 2), SD), "at most as many"),
    "half a shared shell": (lambda: Counts(ComponentShells(ONE, (1.0,), (), 0.5), SD), "integer"),
    "a shell of no size": (lambda: Counts(ComponentShells(ONE, (0.0,)), SD), "edges of ComponentShells"),
    "frames of other cells": (lambda: Counts(ComponentShells(ONE, (1.0,), (PLANE, PLANE)), SD), "2 frames, but 1"),
    "overlapping balls": (lambda: Counts(Balls(BALLS.balls, (((0, True),), ())), SD), "same record"),
    "a ball that is not there": (lambda: Counts(Balls(BALLS.balls, (((1, True),),)), SD), "names ball 1"),
    "huge ball": (lambda: Counts(Balls((Cylinder(PLANE, 1e200),), (((0, True),),)), SD), "radius of a ball"),
    "frames too few": (lambda: ClippedSums(HALVES, (PLANE,), (1.0,), SD), "each of the 2 regions"),
    "frames too many": (lambda: LiftedGram.second_moment(ONE, *TWO, PRICE), "each of the 1 regions"),
    "frames for none": (lambda: Moments.priced(HALVES, (), (), PRICE, SHARES), "must not be empty"),
    "frames for one, by region": (
        lambda: Radial(Moments.priced(HALVES, TWO[0][:1], (1.0,), PRICE, SHARES), by_region=True),
        "one for each region",
    ),
    "radii too few": (lambda: Moments.priced(HALVES, TWO[0], (1.0,), PRICE, SHARES), "each of the 2 regions"),
    "NaN radius": (lambda: ClippedSums(HALVES, TWO[0], (1.0, np.nan), SD), "radius"),
    "no radius": (lambda: ClippedSums(HALVES, TWO[0], (1.0, 0.0), SD), "radius"),
    "huge radius": (lambda: ClippedSums(HALVES, TWO[0], (1.0, 1e200), SD), "radius"),
    "frames of two dimensions": (lambda: replace(GOOD["gram"], frames=(PLANE, FLAT)), "one dimension"),
    "thresholds that overflow": (lambda: Bisection(PLANE, -1.7e308, 1.7e308, 4, 1.0, SD, signed=True), "cells"),
    "thresholds closer than floats": (lambda: Bisection(PLANE, 1.0, 1.0 + 1e-12, 20, 1.0, SD), "cells"),
    "unsorted thresholds": (lambda: Bisection(PLANE, 1e300, 1e300 * (1 + 1e-14), 8, 1.0, SD, True), "cells"),
    "steps of a bool": (lambda: Bisection(PLANE, 0.1, 1.0, True, 1.0, SD), "integer"),
    "rank NaN": (lambda: Bisection(PLANE, 0.1, 1.0, 3, np.nan, SD), "rank"),
    "flag of text": (lambda: Bisection(PLANE, 0.1, 1.0, 3, 1.0, SD, "no"), "true or false"),
    "no bound": (lambda: BoundedScore(ONE, ONE, 0.0, SD), "bound"),
    "NaN bound": (lambda: BoundedScore(ONE, ONE, np.nan, SD), "bound"),
    "noise of nothing": (lambda: Counts(HALVES, 0), "noise"),
    "noise below nothing": (lambda: ClippedSums(HALVES, *TWO, -SD), "noise"),
    "noise of a bool": (lambda: Counts(HALVES, True), "noise"),
    "noise of a float": (lambda: Counts(HALVES, float(SD)), "noise"),
    "noise of text": (lambda: Counts(HALVES, "1099511627776"), "noise"),
    "no noise for a moment": (lambda: replace(GOOD["gram"], noise_scales=(SD, SD, 0)), "noise"),
    "no noise for a sum of moments": (lambda: replace(GOOD["moments"], noise_scales=(SD, 0, SD)), "noise"),
    "two noise scales": (lambda: replace(GOOD["gram"], noise_scales=(SD, SD)), "three"),
    "a ragged matrix": (lambda: Counts(NearestPoint(Frame((0.0,) * D, ((1.0,) * 3, (1.0,))), POINTS, (0, 1)), SD), "3"),
    "an empty matrix": (lambda: ClippedSums(ONE, (Frame((0.0,) * D, ()),), (1.0,), SD), "directions"),
    "a short diagonal": (lambda: ClippedSums(ONE, (Frame((0.0,) * D, None, (1.0,)),), (1.0,), SD), "diagonal"),
    "matrix and diagonal": (lambda: Frame((0.0,), ((1.0,),), (1.0,)), "not both"),
    "an infinite matrix": (lambda: Frame((0.0,), ((np.inf,),)), "finite"),
    "a center of text": (lambda: Frame(("0", "0", "0")), "numbers"),
    "a number beyond floats": (lambda: Frame((10**400, 0.0, 0.0)), "finite"),
    "no partition": (lambda: Counts(PLANE, SD), "partition"),
    "a question of questions": (lambda: Counts(GOOD["counts"], SD), "partition"),
    "a frame": (lambda: PLANE, "no question"),
    "nothing": (lambda: None, "no question"),
}
"""Name: (maker, a part of the text); making it, or asking it, is refused."""


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_question_is_refused_before_the_charge(name, curator):
    """Each with a text that names what is wrong."""
    make, text = BAD[name]
    assert text in refused(curator, make, f"bad/{name}")


def test_a_range_between_long_integers_is_that_between_the_same_floats():
    """A ledger's JSON may hold an integer of any length where a number is meant."""
    asked, same = (Bisection(PLANE, 1, upper, 3, 2.0, SD) for upper in (1 << 70, 2.0**70))
    assert (asked.thresholds == same.thresholds).all()


FORGED = {
    "sums, centre of one": lambda: forged(GOOD["sums"], frames=(SHORT, SHORT)),
    "sums, no noise": lambda: forged(GOOD["sums"], noise_scale=0),
    "surplus points": lambda: forged(GOOD["counts"], partition=forged(HALVES, points=(*POINTS, (5.0,) * 3))),
    "overlapping balls": lambda: forged(GOOD["balls"], partition=forged(BALLS, paths=((), ()))),
    "broken shares": lambda: forged(GOOD["moments"], noise_scales=(SD << 10, 1 << 20, SD << 10)),
    "unsorted thresholds": lambda: forged(GOOD["bisection"], lower=10.0, upper=0.1),
    "an array": lambda: forged(GOOD["sums"], radii=np.ones(2)),
    "a field that is missing": lambda: object.__new__(Counts),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_question_that_skipped_its_own_checks_is_refused(name, curator):
    """Made without its constructor: the door checks it all the same."""
    refused(curator, FORGED[name], f"forged/{name}")


def test_what_an_object_carries_beside_its_fields_does_not_matter(curator):
    """Planted parts, which a class computes once and keeps, are neither priced nor answered."""
    question = replace(GOOD["gram"])
    question.__dict__["parts"] = {name: replace(part, noise_scale=1 << 53) for name, part in question.parts.items()}
    curator.release(question, "planted")
    charge = next(charge for charge in curator.statement().charges if charge.label == "planted")
    honest = curator.release(GOOD["gram"], "honest")
    other = next(charge for charge in curator.statement().charges if charge.label == "honest")
    assert charge.cost == other.cost
    assert honest.question == GOOD["gram"]


@dataclass(frozen=True)
class Cheap(ClippedSums):
    """A subclass that says that it costs next to nothing."""

    @property
    def squared_distance(self):
        return Fraction(1, 10**9)


@dataclass(frozen=True)
class TwoPlaces(NearestPoint):
    """A partition of another making."""

    def assign(self, view):
        return super().assign(view)


class Duck:
    """It has all that a question has."""

    squared_distance = Fraction(1, 10**9)
    parts = GOOD["counts"].parts

    def totals(self, view):
        return {"count": np.array([1, 1])}


def test_only_the_closed_list_is_asked(curator):
    """No subclass of a question, a partition or a frame, and nothing that merely looks like a question."""

    class Bent(Frame):
        pass

    for number, make in enumerate(
        (
            lambda: Cheap(HALVES, *TWO, SD),
            lambda: Counts(TwoPlaces(PLANE, POINTS, (0, 1)), SD),
            lambda: forged(GOOD["counts"], partition=TwoPlaces(PLANE, POINTS, (0, 1))),
            lambda: Counts(NearestPoint(Bent((0.0,) * D), POINTS, (0, 1)), SD),
            Duck,
        )
    ):
        refused(curator, make, f"list/{number}")


# -- behind the charge ----------------------------------------------------------------------------------------


def simulation(rows=None):
    rows = np.zeros((20, D)) if rows is None else rows
    return pp.Curator.simulation(rows, pp.ZeroConcentratedDP(1000), seed=1)


@pytest.mark.parametrize("wrong", ["short", "float", "column", "missing", "more", "large"])
def test_totals_that_were_not_announced_are_not_answered(wrong, monkeypatch):
    """Whatever a scan gives: its shape, its type and its size are what the question said, or nothing leaves."""

    def other():
        totals = {"sum": np.zeros(2 * D, dtype=np.int64)}
        totals["sum"][0] = (20 << 16) + (wrong == "large")
        return {
            "short": {"sum": totals["sum"][:1]},
            "float": {"sum": totals["sum"].astype(float)},
            "column": {"sum": totals["sum"][:, None]},
            "missing": {},
            "more": totals | {"count": totals["sum"]},
            "large": totals,
        }[wrong]

    monkeypatch.setattr(looks, "scan_together", lambda *_: [other()])
    curator = simulation()
    with pytest.raises(PrivateStepFailed):
        curator.release(GOOD["sums"], "sums")
    if wrong == "large":
        monkeypatch.setattr(looks, "scan_together", lambda *_: [{"sum": np.full(2 * D, 20 << 16)}])
        assert len(curator.release(GOOD["sums"], "sums").values["sum"]) == 2 * D


def test_a_piece_of_another_shape_is_not_added():
    """One total for three columns would be added to each of them."""

    class Short(ClippedSums):
        def totals(self, view):
            return {"sum": super().totals(view)["sum"][:1]}

    table = ArrayTable(np.ones((3, D)), parse_columns(list("abc")))
    with pytest.raises(ValueError, match="other shapes"):
        scan(table, Short(ONE, (PLANE,), (1.0,), SD))


@pytest.mark.parametrize("end", [1, -1])
@pytest.mark.parametrize("name", ["sums", "bisection"])
def test_noise_at_the_end_of_64_bits_neither_wraps_nor_fails(name, end, monkeypatch):
    """The largest draw that int64 holds is added to a total without a word, and what leaves is clamped."""
    far = (1 << 63) - 1 if end > 0 else -(1 << 63)
    curator = simulation(np.full((20, D), 0.5 * end))
    monkeypatch.setattr(type(curator._noise), "draw", lambda _, __, ___, ____, size: np.full(size, far, dtype=np.int64))
    values = curator.release(GOOD[name], name).values
    part = GOOD[name].parts["sum" if name == "sums" else "count"]
    if name == "bisection":
        assert values["count"].tolist() == [end * LIMIT / part.factor] * 4
        assert values["quantile"][0] == GOOD[name].thresholds[1 if end > 0 else -1]
    else:
        assert np.sign(values["sum"]).tolist() == [end] * 6


def test_saturation_before_the_addition_never_shows():
    """clamp(t + z) is the same for z and for z saturated to int64, for every total that the door lets in."""
    ends = [-(1 << 63), (1 << 63) - 1]
    for t in (0, 1, -1, LIMIT - 1, 1 - LIMIT, LIMIT // 3):
        for z in [end + step for end in ends for step in (-(1 << 70), -5, -1, 0, 1, 5, 1 << 70)] + [LIMIT, -LIMIT, 7]:
            saturated = max(ends[0], min(ends[1], z))
            left = _noisy(np.array([t]), 1, np.array([saturated], dtype=np.int64))
            assert left.tolist() == [max(-LIMIT, min(LIMIT, t + z))]


def test_room_is_proven_for_what_is_clamped():
    """A total that could reach the clamp is refused before the charge."""
    question = LiftedGram(Everything(), (Frame((0.0,)),), (1.0,), (0, 0, 1 << 40))
    curator = simulation(np.zeros((2, 1)))
    curator.release(question, "few rows")
    curator._unit.size = Size(1 << 30)
    with pytest.raises(InvalidInput, match="64-bit"):
        curator.rehearse([question])


class Nothing:
    """A table without chunks."""

    def chunks(self):
        return []


@pytest.mark.parametrize("name", GOOD)
def test_a_table_without_rows_has_totals_of_zero(name):
    """No chunks, or chunks without rows: zeros of the announced shapes, which can be answered."""
    question = GOOD[name]
    empty = ArrayTable(np.zeros((0, D)), parse_columns(list("abc")))

    class Hollow(Nothing):
        def chunks(self):
            return [empty, empty]

    for table in (Nothing(), empty, Hollow()):
        totals = scan(table, question)
        assert {key: len(values) for key, values in totals.items()} == dict(question.total_sizes)
        assert not any(values.any() for values in totals.values())
        question.values(question.answer(totals, lambda _, __, size: np.zeros(size, dtype=np.int64)))


def test_an_empty_row_group_adds_nothing(tmp_path):
    """A Parquet file of one full row group and one without rows."""
    table = pa.table({name: np.ones(5) for name in "abc"})
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
        for piece in (table, table.slice(0, 0)):
            writer.write_table(piece)
    private = pp.PrivateTable.open(tmp_path / "t.parquet", list("abc"))
    assert scan(private, Counts(Everything(), SD))["count"].tolist() == [5]


def test_a_rehearsal_finds_what_fails_on_a_record(monkeypatch):
    """A partition that cannot sort a huge record, and values that overflow, are found on public records."""
    right = NearestPoint.assign

    def assign(self, view):
        if (np.abs(view.block) > 1e300).any():
            raise IndexError("no group")
        return right(self, view)

    with monkeypatch.context() as broken:
        broken.setattr(NearestPoint, "assign", assign)
        with pytest.raises(InvalidInput, match="trial on public records gave IndexError"):
            rehearse(GOOD["counts"], D)
    rehearse(checked(GOOD["counts"], D), D)


def test_a_stored_question_is_checked_before_it_is_answered(curator, monkeypatch):
    """A malformed question in the ledger, charged for by another hand at its own price, is not answered."""
    right = type(curator._run).charge

    def charge(self, label, question, event):
        planted = question | {"frames": [frame | {"center": [0.0]} for frame in question["frames"]]}
        return right(self, label, planted, event_of(from_json(planted)))

    with monkeypatch.context() as planted:
        planted.setattr(type(curator._run), "charge", charge)
        with pytest.raises(InvalidInput):
            curator.release(GOOD["sums"], "stored")
    with pytest.raises(InvalidInput):
        curator.release(GOOD["sums"], "stored")
    standing = curator._run.find("stored")
    assert standing.answer is None
