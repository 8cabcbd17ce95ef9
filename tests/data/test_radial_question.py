"""A question under radial noise: its price, its noise, and what it leaves as it was."""

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers.neighbours import QUESTIONS

from pubpriv.audit._neighbours import distance
from pubpriv.data.codec import from_json, to_json
from pubpriv.data.frames import GRID, Frame
from pubpriv.data.questions import Bisection, Counts, Moments, Radial, Selection, StableCells
from pubpriv.data.questions.radial import GAUSSIAN, RADIAL, bounding_sd, draws_of, reach_of, under_law
from pubpriv.data.regions import NearestPoint
from pubpriv.errors import InvalidInput
from pubpriv.ledger import event_of
from pubpriv.privacy.events import RadialEvent
from pubpriv.privacy.noise import SimulatedNoise

LINE = Frame((0.0,))


def cells(k):
    """A partition of the line into k regions."""
    return NearestPoint(LINE, tuple((float(i),) for i in range(k)), tuple(range(k)))


def moments(k, price=Fraction(4)):
    """Of k regions of the line."""
    shares = Fraction(1, 5), Fraction(9, 20), Fraction(7, 20)
    return Moments.priced(cells(k), (LINE,) * k, (1.0,) * k, price, shares)


@pytest.mark.parametrize(
    "name", [name for name, each in QUESTIONS.items() if not isinstance(each, Selection | StableCells)]
)
def test_every_question_has_a_radial_twin_at_no_higher_price(name):
    """epsilon^2 is at most mu^2, and nearly all of it; what is asked stays what it was."""
    question = QUESTIONS[name]
    twin = under_law(RADIAL, question)
    assert isinstance(twin, Radial)
    assert question.squared_distance * Fraction(999_999, 10**6) < twin.squared_distance <= question.squared_distance
    assert under_law(GAUSSIAN, question) is question
    assert under_law(RADIAL, twin) is twin
    assert from_json(to_json(twin)) == twin == pickle.loads(pickle.dumps(twin))
    event = event_of(twin)
    assert isinstance(event, RadialEvent)
    assert event.squared_distance == twin.squared_distance


@pytest.mark.parametrize("k", [2, 3, 9])
def test_regions_have_vectors_of_their_own_from_three_on(k):
    """Where that is less noise: by sqrt((N + 2) / (N + 1)) one vector wins at two regions."""
    twin = under_law(RADIAL, moments(k))
    assert twin.by_region == (k > 2)
    assert [size for *_, size in twin.draws] == ([3] * k if k > 2 else [6])
    # over the sd of a Gaussian at the same price
    known = [Radial(moments(k), by_region).louder for by_region in (False, True)]
    assert twin.louder == pytest.approx(min(known), rel=1e-6)


@pytest.mark.parametrize("by_region", [False, True])
def test_neighbours_in_small_grids_are_no_further_apart_than_was_paid(by_region):
    """Every pair of records of a toy table, exactly: one that stays in its region, and one that leaves it."""
    question = Radial(replace(moments(2), noise_scales=(1 << 28, 1 << 34, 1 << 42)), by_region)
    images = [(region, q) for region in (0, 1) for q in (-GRID, -GRID // 2, 0, GRID // 3, GRID)] + [None]

    def totals(image):
        if image is None:
            return {"count": [0, 0], "sum": [0, 0], "square": [0, 0]}
        region, q = image
        return {
            name: [value * (r == region) for r in (0, 1)]
            for name, value in (("count", 1), ("sum", q), ("square", q * q))
        }

    furthest = Fraction(0)
    for old, new in itertools.permutations(images, 2):
        before, after = totals(old), totals(new)
        delta = {name: [b - a for a, b in zip(before[name], after[name], strict=True)] for name in before}
        furthest = max(furthest, distance(question, delta))
    assert furthest <= question.squared_distance
    assert furthest > question.squared_distance * Fraction(99, 100)
    gaussian = question.inner.squared_distance
    assert question.squared_distance == (2 if by_region else 1) * gaussian  # a factor of sqrt(2) that would be lost


@pytest.mark.parametrize(
    "name", ["counts-refined", "moments-refined", "gram-refined", "gram-everything", "bisection-log", "score"]
)
def test_noise_has_the_sds_that_are_told(name):
    """Of released values, from 1,500 simulated answers to a question about nobody."""
    question, source = under_law(RADIAL, QUESTIONS[name]), SimulatedNoise(5)
    totals = {part: np.zeros(size, dtype=np.int64) for part, size in question.total_sizes.items()}
    answers = [
        question.values(question.answer(totals, lambda part, scale, size, i=i: source.draw(f"a{i}", part, scale, size)))
        for i in range(1500)
    ]
    for part, sd in question.noise().items():
        values = np.array([answer[part] for answer in answers])
        units = values / sd
        if part == "moment":  # off the diagonal the sd is smaller by sqrt(2)
            units = np.diagonal(units, axis1=2, axis2=3)
        assert np.sqrt(np.mean(units**2)) == pytest.approx(1.0, abs=0.08)


def test_a_tail_is_allowed_for():
    """5.4 sds of Laplace noise are as seldom exceeded as 3.5 of a Gaussian's."""
    plain = Counts(cells(9), 1 << 30)
    twin = under_law(RADIAL, plain)
    assert twin.block_size == 1
    assert bounding_sd(plain, "count") == plain.noise()["count"][0]
    assert bounding_sd(twin, "count") == pytest.approx(1.55 * twin.noise()["count"][0])
    drawn = np.random.default_rng(0).laplace(0, 2**-0.5, 10**6)
    assert np.mean(drawn > 3.5 * 1.55) < 3e-4


def test_room_is_kept_for_long_vectors():
    """A vector of N coordinates is about N scales long."""
    assert reach_of(QUESTIONS["score"]) == 64
    assert reach_of(Radial(QUESTIONS["gram-refined"])) > 18 + 60


@pytest.mark.parametrize(
    "make",
    [
        lambda: Radial(Radial(QUESTIONS["counts-cells"])),
        lambda: Radial(None),
        lambda: Radial(LINE),
        lambda: Radial(QUESTIONS["counts-cells"], 1),
        lambda: Radial(QUESTIONS["bisection-log"], by_region=True),
        lambda: Radial(QUESTIONS["score"], by_region=True),
        lambda: Radial(
            Moments(
                cells(2), (Frame((0.0, 0.0)), Frame((0.0, 0.0), ((1.0, 0.0),))), (1.0, 1.0), (1 << 30, 1 << 40, 1 << 50)
            ),
            by_region=True,
        ),
    ],
)
def test_what_has_no_proof_is_refused(make):
    """Noise around noise, regions of unlike sizes, questions that have none."""
    with pytest.raises(InvalidInput):
        make()


def test_frames_of_two_dimensions_take_one_vector():
    """By region they have no common size."""
    frames = (Frame((0.0, 0.0)), Frame((0.0, 0.0), ((1.0, 0.0),)), Frame((0.0, 0.0)))
    partition = NearestPoint(frames[0], ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0)), (0, 1, 2))
    twin = under_law(RADIAL, Moments(partition, frames, (1.0,) * 3, (1 << 30, 1 << 40, 1 << 50)))
    assert not twin.by_region


def test_plain_questions_draw_as_they_did():
    """One Gaussian draw a part."""
    question = Counts(cells(3), 1000)
    assert draws_of(question) == [("count", 1000, 3)]
    assert draws_of(Radial(Bisection(LINE, 0.0, 1.0, 3, 2.0, 50, signed=True))) == [("block-0", (50, 50, 50), 3)]
