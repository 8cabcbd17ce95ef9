"""The search for neighbours: it holds for every question, reaches what is attainable, and sees what is wrong. ~5 s."""

import math
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from helpers.neighbours import check

from pubpriv.audit import _sensitivity
from pubpriv.audit._catalogue import Example, _attainable, examples, questions, unsound
from pubpriv.audit._neighbours import difference, distance, totals_of
from pubpriv.audit._sensitivity import _searched
from pubpriv.data import questions as closed_list
from pubpriv.data.frames import GRID
from pubpriv.data.questions import (
    Bisection,
    ClippedSums,
    InPeriod,
    LiftedGram,
    Moments,
    OfSample,
    PerPerson,
    PersonSizes,
    Radial,
    Selection,
    StableCells,
)
from pubpriv.data.questions.base import PARTITIONS, squared_weight
from pubpriv.data.questions.of_rows import WEIGHED

EXAMPLES = {example.name: example for example in examples()}


def as_kind(kind, name):
    """A question of the catalogue as another class with the same fields."""
    question = EXAMPLES[name].question
    return kind(**{field.name: getattr(question, field.name) for field in fields(question)})


def found(question, reach=1.0):
    """The finding of a short search."""
    return _searched(Example("tried", "tried", question, reach), climb=5, tables=3, seed=0)


def test_the_catalogue_has_every_kind_of_question():
    """A kind of question, or of partition, that is added to a closed list is forgotten by no audit."""
    tried = {type(example.question) for example in EXAMPLES.values()}
    others = {PerPerson, PersonSizes, InPeriod, OfSample}
    assert {*closed_list.QUESTIONS} - tried == others, "`audit._persons`, `_periods` and `_samples` try these"
    assert tried - {*WEIGHED} == {Radial, Selection, StableCells}
    assert len({example.mechanism for example in EXAMPLES.values()}) == len(EXAMPLES)
    partitions = {type(getattr(example.question, "partition", None)) for example in EXAMPLES.values()}
    assert partitions == {*PARTITIONS, type(None)}


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_question_holds_and_its_bound_is_reached(name):
    """No pair is further apart than declared, and the best comes within one percent of what is attainable."""
    finding = _searched(EXAMPLES[name], climb=10, tables=3, seed=1)
    assert finding.holds, finding.detail
    assert 0.99 * EXAMPLES[name].attainable <= (finding.found / finding.claimed) ** 2 <= 1


@pytest.mark.parametrize("name", unsound())
def test_questions_without_a_proof_are_refused(name):
    """Shares or noise beyond the condition of a proof."""
    with pytest.raises(ValueError, match=r"2 wN wQ|share"):
        unsound()[name]()
    assert _sensitivity._refused(name, unsound()[name], 0).holds


JOINT = (LiftedGram, Moments)


@pytest.mark.parametrize(
    "name", [n for n, e in EXAMPLES.items() if isinstance(e.question, JOINT) and (e.attainable < 1 or "without" in n)]
)
def test_what_is_attainable_agrees_with_a_grid(name):
    """The closed forms against the largest distance of vectors of any norms and angles, or of nobody's record."""
    question = EXAMPLES[name].question
    parts, second = question.parts, "square" if isinstance(question, Moments) else "diagonal"
    n, s, m = (
        float(squared_weight(parts[p]) * GRID ** (2 * power)) if p in parts else 0.0
        for power, p in enumerate(("count", "sum", second))
    )
    r, t = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    kernel_of = {True: lambda u: n + s * u + m * (r * t) ** 2, False: lambda u: n + s * u + m * u**2}
    kernel = kernel_of[isinstance(question, Moments)]
    cosines = np.linspace(-1, 1, 401) if question.frames[0].dimension > 1 else [-1.0, 1.0]
    own = 2 * n + s * (r**2 + t**2) + m * (r**4 + t**4)
    best = max((own - 2 * kernel(cosine * r * t)).max() for cosine in cosines)
    best = max(best, n + s + m, 2 * (n + s + m) if question.partition.n_regions > 1 else 0.0)
    assert _attainable(question) == pytest.approx(best / float(question.squared_distance), rel=1e-4)


def test_neighbours_of_a_bisection_are_as_far_apart_as_its_worst_path():
    """Every step's count can move by one, whatever the answers are, and never by more."""
    question = EXAMPLES["bisection-linear"].question
    moved = difference(totals_of(question, [(0.5, math.expm1(0.5))]), totals_of(question, [(1e300, 0.0)]))
    assert distance(question, moved) == question.squared_distance
    with pytest.raises(AssertionError, match="more than one"):
        check(question, {"histogram": [0] * 65}, {"histogram": [2] + [0] * 64})


# -- what the search must see ----------------------------------------------------------------------------------


def test_more_noise_than_needed_is_seen():
    """A bound that no pair comes near is told, not passed over."""

    @dataclass(frozen=True)
    class Loose(ClippedSums):
        @property
        def squared_distance(self):
            return super().squared_distance * 2

    finding = found(as_kind(Loose, "sums-cells"))
    assert not finding.holds
    assert "more noise than needed" in finding.detail


def test_a_record_that_leans_on_the_others_is_seen():
    """A statistic that centres by the block's own mean."""

    class Centred(ClippedSums):
        def totals(self, view):
            finite = np.isfinite(view.block)
            total = np.where(finite, view.block, 0.0).sum(axis=1, keepdims=True)
            view.block -= total / finite.shape[1]
            return super().totals(view)

    finding = found(as_kind(Centred, "sums-cells"), reach=0.0)
    assert not finding.holds
    assert "depends on the others" in finding.detail


def test_a_record_that_counts_twice_is_seen():
    """A bisection whose histogram holds it twice, and a sum beyond its bound."""

    class Twice(Bisection):
        def totals(self, view):
            return {"histogram": 2 * super().totals(view)["histogram"]}

    class Double(LiftedGram):
        def totals(self, view):
            return {name: 2 * values for name, values in super().totals(view).items()}

    assert "counts more than once" in found(as_kind(Twice, "bisection-linear")).detail
    assert "adds more than" in found(as_kind(Double, "gram-cells")).detail


def test_a_statistic_that_fails_on_a_value_is_seen():
    """An exception is a message about a row."""

    class Picky(ClippedSums):
        def totals(self, view):
            assert not np.isposinf(view.block).any()
            return super().totals(view)

    finding = found(as_kind(Picky, "sums-cells"))
    assert not finding.holds
    assert "fails (AssertionError)" in finding.detail


def test_the_climb_goes_up():
    """From a poor pair, steps uphill come close to the best; the result depends on the seed alone."""
    question = EXAMPLES["second-moment-everything"].question
    start = _sensitivity._Pair((-4.1, 0.0), (-4.0, 0.1), distance(question, {"diagonal": [0, 0], "upper": [0]}))
    climbed = [_sensitivity._climbed(question, start, 300, np.random.default_rng(2)) for _ in range(2)]
    assert climbed[0] == climbed[1]
    assert 0.9 < climbed[0].squared / question.squared_distance <= 1


def test_one_integer_less_noise_breaks_the_price_and_not_the_bound():
    """The bound is a function of the noise: both move together."""
    question = questions()["counts-cells"]
    assert found(replace(question, noise_scale=question.noise_scale // 2)).holds
