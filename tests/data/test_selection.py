"""Hypothesis selection: its scores against the definition, how far they move, and what noise may and may not do."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from pubpriv.audit._worlds import in_memory
from pubpriv.data.frames import Frame
from pubpriv.data.questions import Selection
from pubpriv.data.questions.base import COUNT_FACTOR
from pubpriv.data.questions.selection import _distinct
from pubpriv.data.scan import scan
from pubpriv.ledger import event_of
from pubpriv.privacy.events import PureEvent

SCALE = 1 << 30


def asked(d=1, rows=50, steps=4, **fields):
    return Selection(
        Frame((0.0,) * d), **{"rows": rows, "step": 0.7, "steps": steps, "slack": 0.05} | fields, noise_scale=SCALE
    )


def scores(question, rows):
    return question.exact(scan(in_memory(rows), question))["chosen"]


def by_definition(question, rows):
    """Contest by contest, with Euclidean distances."""
    line = range(-question.steps, question.steps + 1)
    points = itertools.product(line, repeat=question.frame.dimension)
    centers = question.step * np.array([k for k in points if sum(c * c for c in k) <= question.steps**2])
    away = np.linalg.norm(rows[None] - centers[:, None], axis=2)
    found = []
    for j, center in enumerate(centers):
        half = np.linalg.norm(centers - center, axis=1) / 2
        rivals = np.flatnonzero(norm.cdf(half) - norm.cdf(-half) > 3 * question.slack)
        needed = [math.ceil(question.rows * (norm.cdf(-half[i]) + 1.5 * question.slack)) for i in rivals]
        found.append(min(max(0, (away[j] < away[i]).sum() - least) for i, least in zip(rivals, needed, strict=True)))
    return found


@pytest.mark.parametrize("d", [1, 2])
def test_scores_are_those_of_the_definition(d):
    """Over rows of a law that is off the lattice; a record that is not finite is in no half-plane."""
    rows = np.random.default_rng(d).normal(0.4, 1, (50, d))
    rows[7, 0] = math.nan
    question = asked(d)
    assert scores(question, rows).tolist() == by_definition(question, rows)
    assert scores(question, rows).max() > 0


@pytest.mark.parametrize("d", [1, 2])
def test_a_replaced_record_moves_no_score_by_more_than_one(d):
    """And some by one up, others by one down."""
    random, question, moved = np.random.default_rng(3), asked(d, 20), set()
    for _ in range(40):
        rows = random.normal(0, 1.5, (20, d))
        other = rows.copy()
        other[0] = random.choice([math.nan, math.inf, -1e308, -2.0, 2.0], d)
        moved |= {*(scores(question, other) - scores(question, rows)).tolist()}
    assert moved == {-1, 0, 1}


def test_the_largest_is_chosen_and_the_first_of_equals():
    """Noise counts by its length; what 64 bits cannot tell beats every score, and is equal among itself."""
    question, rows = asked(), np.zeros((50, 1))
    totals = scan(in_memory(rows), question)
    best = int(np.argmax(question.exact(totals)["chosen"]))

    def chosen(noise):
        draw = lambda name, scales, size: np.array([noise.get(int(name.split("-")[1]), 0)], dtype=np.int64)  # noqa: E731
        return int(question.answer(totals, draw)["chosen"][0])

    assert chosen({}) == best
    assert question.values({"chosen": np.array([best])})["chosen"].tolist() == [question.step * (best - 4)]
    assert chosen({1: -100 * COUNT_FACTOR}) == 1
    assert chosen({7: -(1 << 63), 8: (1 << 63) - 1}) == 7
    assert chosen({5: (1 << 62) - 1, 6: 1 << 62}) == 6


def test_it_is_charged_as_a_pure_mechanism_of_two_steps_of_a_score():
    """2 F / s, and a question that is made for an epsilon has nearly all of it."""
    assert event_of(asked()) == PureEvent(Fraction(2 * COUNT_FACTOR, SCALE))
    made = Selection.priced(Frame((0.0,)), 50, 0.7, 4, 0.05, Fraction(9, 4))
    assert Fraction(149, 100) < made.epsilon <= Fraction(3, 2)


@pytest.mark.parametrize("columns", [1, 3])
def test_half_planes_that_are_equal_are_one(columns):
    """Distinct rows are numpy's, in its order; so far apart that no one number tells rows apart, they are refused."""
    rows = np.random.default_rng(columns).integers(-3, 4, size=(400, columns))
    rows[0] = -(1 << 12)
    for found, expected in zip(_distinct(rows), np.unique(rows, axis=0, return_inverse=True), strict=True):
        assert found.tolist() == expected.tolist()
    with pytest.raises(ValueError, match="dims"):
        _distinct(np.array([[-(1 << 31)] * 3, [1 << 31] * 3]))
