"""The canary: it attacks every kind of question, nearly as hard as can be, and its bound is one. About 8 s."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pubpriv.audit import _canary
from pubpriv.audit._attacks import attacks
from pubpriv.audit._catalogue import _attainable
from pubpriv.audit._neighbours import difference, distance, integers
from pubpriv.data import questions
from pubpriv.data.questions import Bisection

pytestmark = pytest.mark.long

ATTACKS = {attack.name: attack for attack in attacks()}


def sides(attack):
    """Exact totals of both neighbours."""
    return attack.sides(0)


def likelihood_ratio(question, totals, noisy):
    """log p(noisy | second) - log p(noisy | first), from the integers and the declared sds."""
    found = 0.0
    for name, part in question.parts.items():
        first, second = (stats.norm.logpdf(noisy[name], t[name] * part.factor, part.noise_scale) for t in totals)
        found += float(np.sum(second - first))
    return found


def test_every_kind_of_question_is_attacked():
    """A kind that is added to the closed list needs an attack; the rates bounded are no more than were planned.

    A question of a period, or of a sample, answers as the one within does; `audit._samples` tries samples. Radial noise
    and selections are attacked in `audit._radial`.
    Of `StableCells` only a choice leaves, made of counts as others are.
    """
    others = {
        getattr(questions, name)
        for name in ("InPeriod", "OfSample", "Part", "Question", "Radial", "Selection", "StableCells")
    }
    kinds = {getattr(questions, name) for name in questions.__all__} - others
    assert {type(attack.question) for attack in ATTACKS.values()} == kinds
    assert 2 * (len(ATTACKS) + 1) <= _canary._BOUNDS


@pytest.mark.parametrize("name", ATTACKS)
def test_neighbours_are_as_far_apart_as_can_be(name):
    """The pair reaches 99 % of the squared distance that any pair of this question reaches."""
    question = ATTACKS[name].question
    first, second = map(integers, sides(ATTACKS[name]))
    share = distance(question, difference(first, second)) / question.squared_distance
    assert 0.99 * _attainable(getattr(question, "inner", question)) < share <= 1


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_hold_and_have_power(name):
    """No mechanism is told apart better than it was charged for, and each nearly as well as it was."""
    finding = _canary._attacked(ATTACKS[name], 2000, 0)
    assert finding.claimed == pytest.approx(2, rel=0.03)
    assert finding.holds
    assert 0.5 * finding.claimed < finding.found <= finding.claimed


def test_a_curator_with_its_ledger_holds():
    """Claimed is what the ledger was charged an answer; a fast audit comes near to it."""
    finding = _canary._through_the_door(5, 1_000, 0)
    assert finding.claimed == pytest.approx(2, rel=1e-6)
    assert finding.holds
    assert not finding.weak
    assert 0.7 * finding.claimed < finding.found < finding.claimed


@pytest.mark.parametrize("name", [name for name, a in ATTACKS.items() if not isinstance(a.question, Bisection)])
def test_the_score_is_the_likelihood_ratio(name):
    """Up to a constant: differences between answers are those of the exact log likelihood ratio."""
    question, totals = ATTACKS[name].question, sides(ATTACKS[name])
    score, generator = _canary._likelihood_ratio(question, *totals), np.random.default_rng(0)

    def draw(part, sd, size):
        return np.rint(generator.normal(0, sd, size)).astype(np.int64)

    answers = [question.answer(totals[i % 2], draw) for i in range(4)]
    scores = [score(question.values(noisy)) for noisy in answers]
    ratios = [likelihood_ratio(question, totals, noisy) for noisy in answers]
    assert np.allclose(np.diff(scores), np.diff(ratios), rtol=1e-6)


def test_the_score_of_a_bisection_follows_its_path():
    """Each answer is compared at the threshold that the answers before it led to."""
    attack = ATTACKS["Bisection, each step after the answers before it"]
    question, (first, second) = attack.question, sides(attack)
    score = _canary._likelihood_ratio(question, np_totals(first), np_totals(second))
    below = [np.cumsum(t["histogram"]) for t in (first, second)]
    counts, thresholds = np.array([30.0, 10.0, 21.0, 3.0]), [8, 4, 6, 5]
    sd = question.noise()["count"][0]
    ratio = sum(
        stats.norm.logpdf(count, below[1][t], sd) - stats.norm.logpdf(count, below[0][t], sd)
        for count, t in zip(counts, thresholds, strict=True)
    )
    assert score({"count": counts}) == pytest.approx(ratio * sd**2)


def np_totals(totals):
    """A copy, so that a score cannot change what it was made of."""
    return {name: values.copy() for name, values in totals.items()}


def test_the_bound_is_seldom_above_the_truth():
    """At an error of 10 % a rate, over 300 experiments at mu = 1, and with power."""
    generator = np.random.default_rng(0)
    under, over = generator.normal(size=(300, 2000)), generator.normal(1.0, 1.0, (300, 2000))
    bounds = np.array([_canary._mu_bound(*pair, error=0.1) for pair in zip(under, over, strict=True)])
    assert (bounds > 1).mean() <= 0.2
    assert bounds.mean() > 0.8


def test_the_bound_sees_a_lost_root_of_two():
    """At the error of the whole audit, 3000 answers a side, mu = 2 sqrt(2) where 2 is claimed."""
    generator = np.random.default_rng(0)
    assert _canary._mu_bound(generator.normal(size=3000), generator.normal(2 * 2**0.5, 1, 3000)) > 2


def test_what_is_claimed_is_what_a_ledger_is_charged():
    """Rounded up, never below the declared distance."""
    for attack in ATTACKS.values():
        exact = attack.question.squared_distance
        charged = Fraction(_canary._attacked(attack, 20, 0).claimed ** 2 * (1 + 1e-12))
        assert exact <= charged <= exact * (1 + Fraction(1, 10**9))
