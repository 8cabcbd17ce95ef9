"""The plain words never promise more than the budgets do."""

import re
from fractions import Fraction
from math import erf, exp, sqrt

import pytest

from pubpriv.privacy.budgets import Amount, ApproximateDP, PureDP, ZeroConcentratedDP
from pubpriv.privacy.units import UNIT
from pubpriv.privacy.wording import _NEIGHBOURS, _best_guess, declared, guarantee_lines, left_for_people, plain_words

GAUSSIAN = [{"noise_scale": [1 << 30]}]


def gaussian_guess(mu):
    """How often the best test between N(0, 1) and N(mu, 1) is right."""
    return 0.5 * (1 + erf(mu / 2 / sqrt(2)))


@pytest.mark.parametrize("rho", ["0.001", "0.05", "0.5", "2", "8"])
def test_of_a_zcdp_budget_the_gaussian_mechanism_is_covered(rho):
    """mu = sqrt(2 rho) is rho-zCDP: no bound of ours is below what it gives away, and the all-Gaussian one is tight."""
    told = ZeroConcentratedDP(rho).guarantee()
    real = gaussian_guess(sqrt(2 * float(rho)))
    assert real <= _best_guess(told) <= 1
    tight = _best_guess(told | {"epsilon_all_gaussian": 1.0}, GAUSSIAN)
    assert real <= tight <= real + 1e-5
    assert _best_guess(told | {"epsilon_all_gaussian": 1.0}, [*GAUSSIAN, {"noise_scale": []}]) == _best_guess(told)


@pytest.mark.parametrize("budget", [("0.1", "1e-6"), ("1", "1e-7"), ("4", "1e-6"), ("20", "1e-3")], ids="-".join)
def test_of_an_approximate_budget_all_that_it_lets_be_spent_is_covered(budget):
    """A Gaussian mechanism that spends the whole cap is not told better than it is, nor much worse."""
    cap = ApproximateDP(*budget)
    real = gaussian_guess(sqrt(cap.cap.main / UNIT))
    told = _best_guess(cap.guarantee())
    assert real <= told <= real + 2 * float(Fraction(budget[1])) + 0.01


@pytest.mark.parametrize("epsilon", ["0.01", "1", "5"])
def test_of_a_pure_budget_randomised_response_is_met(epsilon):
    """It tells right with e^epsilon / (1 + e^epsilon), and nothing that is epsilon-DP does better."""
    real = exp(float(epsilon)) / (1 + exp(float(epsilon)))
    assert real <= _best_guess(PureDP(epsilon).guarantee()) + 1e-15
    assert _best_guess(PureDP(epsilon).guarantee()) == pytest.approx(real, rel=1e-12)


def test_what_rounding_leaves_of_a_cap_is_nothing():
    """A run takes its cap but for some units; what could pay for anything is told as it is."""
    cap = Amount(UNIT // 2)
    assert left_for_people(Amount(87), cap) == Amount(0)
    assert left_for_people(Amount(UNIT // 10**6), cap) == Amount(UNIT // 10**6)


def test_nothing_is_promised_of_a_simulation():
    """No guarantee, no words."""
    told = {"kind": "zcdp", "text": "none (simulation)"}
    assert _best_guess(told) is None
    assert plain_words("one patient", told, []) == []


def test_percentages_are_rounded_up():
    """50.001% is not told as 50.0%, and of a budget that protects nobody 100% is said."""
    small = " ".join(plain_words("one patient", ZeroConcentratedDP("0.000000001").guarantee(), GAUSSIAN))
    assert "at most 50.1%" in small
    large = " ".join(plain_words("one patient", PureDP(30).guarantee(), []))
    assert "at most 100%" in large
    assert "one patient" in small


def test_the_figure_is_that_of_what_is_shown():
    """Where other runs are shown the cap's figure comes first, and the run's own is for its numbers, given the rest."""
    run, cap = ZeroConcentratedDP("0.5").guarantee(), ZeroConcentratedDP("2").guarantee()
    together = " ".join(plain_words("x", run, GAUSSIAN, cap))
    figures = [float(figure) / 100 for figure in re.findall(r"at most ([\d.]+)%", together)]
    assert figures == pytest.approx([_best_guess(cap), _best_guess(run, GAUSSIAN)], abs=1e-3)
    assert figures[0] >= _best_guess(cap)
    assert "everything on this page" in together
    alone = " ".join(plain_words("x", run, GAUSSIAN))
    assert re.findall(r"at most ([\d.]+)%", alone) == re.findall(r"give at most ([\d.]+)%", together)
    assert "everything that other releases have published" in alone
    assert "this page" not in alone


def test_guarantees_go_from_the_general_to_the_particular():
    """Dataset, all runs, one run; without a ledger the middle is left out."""
    assert guarantee_lines("visits", "one patient", "2-zCDP", "r1", "0.5-zCDP") == [
        f"dataset visits, unit: {declared('one patient')}; {_NEIGHBOURS}",
        "guaranteed for all runs together: 2-zCDP",
        "guaranteed for run r1: 0.5-zCDP",
    ]
    assert len(guarantee_lines("visits", "one patient", None, "r1", "0.5-zCDP")) == 2
    assert declared("one patient") == "one patient, as declared by the owner, not checked"


def test_persons_are_protected_whole_and_their_number_is_not_told():
    """Nothing is said of records, and the number of rows is no longer public."""
    line = guarantee_lines("visits", "one patient", None, "r1", "0.5-zCDP", ("who", "where"))[0]
    assert "all rows of one who and where, however many" in line
    told = plain_words("one patient", ZeroConcentratedDP("0.5").guarantee(), GAUSSIAN, None, ("who",))
    assert "everything of one person" in told[0]
    assert not any("record" in text for text in told[1:])
    assert told[-1].endswith("about how many persons there are.")
