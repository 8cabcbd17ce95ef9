"""The privacy statement of a run: guarantees first, and the loss distribution as a figure that is never too low."""

from dataclasses import asdict
from fractions import Fraction

import pytest

from pubpriv.errors import InvalidInput
from pubpriv.privacy._conversions import epsilon_gaussian
from pubpriv.privacy.budgets import REPORT_DELTA, ApproximateDP, PureDP, ZeroConcentratedDP
from pubpriv.privacy.events import GaussianEvent, PureEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.privacy.report import _PLD_LABEL, _pld_report, run_statement

QUESTION = {"type": "Counts"}
WIDE = ((1 << 30, 10),)


def test_gaussians_come_to_their_exact_epsilon():
    """Never below Balle and Wang's, and within the discretisation of it."""
    for parts in ([Fraction(1, 4)], [Fraction(1, 100)] * 7 + [Fraction(1, 3)], [Fraction(9)]):
        truth = epsilon_gaussian(sum(parts), REPORT_DELTA)
        told = _pld_report([GaussianEvent(part, WIDE) for part in parts])
        assert told.steps == len(parts)
        assert truth * (1 - 1e-9) <= told.epsilon <= truth + 2e-4


def test_steps_composed_one_by_one_come_to_the_same():
    """dp-accounting's own composition of the steps, each with its multiplier, agrees with ours of their sum."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    parts = [Fraction(1, 50), Fraction(1, 7), Fraction(2, 9)]
    accountant = PLDAccountant()
    for part in parts:
        accountant.compose(GaussianDpEvent(1 / float(part) ** 0.5))
    theirs = accountant.get_epsilon(1e-6)
    ours = _pld_report([GaussianEvent(part, WIDE) for part in parts]).epsilon
    assert ours == pytest.approx(theirs, abs=1e-3)


def test_pure_steps_are_the_worst_of_their_kind():
    """One is its epsilon; many come to less than their sum, and to no less than as many Laplace draws would."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    assert _pld_report([PureEvent(Fraction(1, 2))]).epsilon == pytest.approx(0.5, abs=2e-4)
    many = _pld_report([PureEvent(Fraction(1, 20))] * 40).epsilon
    laplace = pld.from_laplace_mechanism(20.0).self_compose(40).get_epsilon_for_delta(1e-6)
    assert laplace <= many < 2
    both = _pld_report([PureEvent(Fraction(1, 20))] * 40 + [GaussianEvent(Fraction(1, 4), WIDE)]).epsilon
    assert many < both < many + epsilon_gaussian(Fraction(1, 4), REPORT_DELTA)


def test_discreteness_takes_its_part_of_delta():
    """Coarser noise is told at a smaller delta, hence a larger epsilon; where nothing is left, there is no figure."""
    fine, coarse, coarser = (_pld_report([GaussianEvent(Fraction(1, 4), ((1 << sd, 1),))]) for sd in (30, 10, 4))
    assert fine.failure < 1e-15 < coarse.failure < 1e-6
    assert fine.epsilon < coarse.epsilon
    assert coarser.epsilon is None
    assert "too coarse" in coarser.describe()


def test_what_has_no_figure_says_why():
    """No steps cost nothing; hopeless ones are not worked out; a delta must be one."""
    assert _pld_report([]).epsilon == 0
    for steps in ([GaussianEvent(Fraction(10**9), WIDE)], [PureEvent(Fraction(10**9))]):
        told = _pld_report(steps)
        assert told.epsilon is None
        assert "protects nobody" in told.describe()
    for delta in (0, -1, 1, 2, "nan", "x", float("inf"), True):
        with pytest.raises(InvalidInput):
            _pld_report([], delta)


@pytest.mark.parametrize("allotment", [ZeroConcentratedDP("0.1"), ApproximateDP(1, "1e-7"), PureDP("0.4")])
def test_the_figure_is_at_most_the_runs_guarantee_and_says_it_is_none(tmp_path, allotment):
    """A run that spent its allotment: guarantees of cap and run come first; PLD is below, labelled in every text."""
    pure = allotment.kind == "pure"
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1), unit="one patient")
        ledger.run("visits", "r").open(allotment)
        share = Fraction(allotment.cap.main // 8 * 2, 10**12) * (2 if allotment.kind == "zcdp" else 1)
        for label in "abcd":
            ledger.run("visits", "r").charge(label, QUESTION, PureEvent(share) if pure else GaussianEvent(share, WIDE))
        ledger.run("visits", "r").close("done")
        told = run_statement(ledger.balance("visits"), ledger.run("visits", "r").bill())
    keys = list(told)
    assert keys.index("cap") < keys.index("allotment") < keys.index("pld")
    assert told["cap"]["rho"] == 1
    assert told["unit"] == "one patient"
    assert [charge["label"] for charge in told["charges"]] == list("abcd")
    assert told["pld"]["delta"] == (1e-7 if allotment.kind == "approx" else 1e-6)
    assert told["pld"]["epsilon"] <= told["allotment"]["epsilon"] + 1e-3  # up to a cell a step
    assert told["pld"]["label"] == _PLD_LABEL
    assert _PLD_LABEL in told["pld"]["text"]
    assert "not a guarantee" in _PLD_LABEL


def test_an_all_gaussian_guarantee_is_told_of_gaussians_only(tmp_path):
    """A zcdp run with a pure step is told by the conversion that holds for any zCDP."""
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        for name, event in (("gaussian", GaussianEvent(Fraction(1, 10), WIDE)), ("pure", PureEvent(Fraction(1, 10)))):
            ledger.run("visits", name).open(ZeroConcentratedDP("0.1"))
            ledger.run("visits", name).charge("a", QUESTION, event)
        told = {
            name: run_statement(ledger.balance("visits"), ledger.run("visits", name).bill())["allotment"]
            for name in ("gaussian", "pure")
        }
    assert told["gaussian"]["epsilon_all_gaussian"] == epsilon_gaussian(Fraction(1, 5), REPORT_DELTA * 99 / 100)
    assert "epsilon_all_gaussian" not in told["pure"]
    assert told["pure"]["epsilon"] == ZeroConcentratedDP("0.1").guarantee()["epsilon"]


def test_a_report_of_a_run_is_that_of_its_events(tmp_path):
    """A run's figure is made of its stored events, not of its prices."""
    events = [GaussianEvent(Fraction(1, 30), WIDE), GaussianEvent(Fraction(1, 70), WIDE)]
    with Ledger.open(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.register("visits", budget=ZeroConcentratedDP(1))
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
        for number, event in enumerate(events):
            ledger.run("visits", "r").charge(str(number), QUESTION, event)
        assert asdict(_pld_report(ledger.run("visits", "r").bill())) == asdict(_pld_report(events))
