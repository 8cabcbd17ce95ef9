"""Record and replay: the drivers hold, and a driver that knows more than its answers is found out. About 6 s."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pubpriv.audit import recording
from pubpriv.audit._tape import Driver, record
from pubpriv.data.frames import Frame
from pubpriv.data.questions import ClippedSums, Counts
from pubpriv.data.regions import Everything
from pubpriv.data.scan import scan
from pubpriv.estimators import MEAN, Estimator
from pubpriv.estimators.estimator import Trial
from pubpriv.privacy.budgets import ApproximateDP, PureDP, ZeroConcentratedDP
from pubpriv.privacy.events import PureEvent
from pubpriv.privacy.units import UNIT

pytestmark = pytest.mark.long

ROWS = np.random.default_rng(0).normal(size=(50, 2))
PRICE = Fraction(1, 10)


def of(run):
    """A driver of its own over fifty records."""
    return Driver("a driver", "driver", run, ROWS, ZeroConcentratedDP(1))


def asks_twice(curator):
    """A count, then clipped sums about what it said: adaptive, and honest."""
    count = curator.release(Counts.priced(Everything(), PRICE), "count").values["count"]
    frame = Frame.of(np.full(2, count[0] / 50))
    return curator.release(ClippedSums.priced(Everything(), (frame,), (1.0,), PRICE), "sums").values["sum"].tolist()


def verdicts(run, neighbours=3):
    """Whether each of the three findings holds, and their details."""
    found = list(recording._tried(of(run), 0, replays=1, neighbours=neighbours))
    return [finding.holds for finding in found], [finding.detail for finding in found]


@pytest.fixture(scope="module")
def audited():
    """The fast audit of the product's drivers: its findings, and the first tape of each driver by its name."""
    tapes = {}

    def kept(driver, rows, seed, tape=None):
        made = record(driver, rows, seed, tape)
        return made if tape else tapes.setdefault(driver.name, made)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recording, "record", kept)
        return list(recording.findings(fast=True, seed=0)), tapes


@pytest.fixture
def found(audited):
    """What it found."""
    return audited[0]


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_the_drivers_hold(found):
    """Three findings for each driver, one from a ledger for each estimator, and no violation."""
    known = recording.drivers(0)
    assert len(found) == 3 * len(known) + len(recording.one_of_each(known))
    assert [finding for finding in found if not finding.holds] == []


def test_a_new_estimator_is_audited_without_an_edit(monkeypatch):
    """A run with its default settings, or each that it declares; and what its driver sees past the door is found."""

    def peeks(settings, public, curator, runner):
        np.asarray(curator._table.rows)
        return MEAN.driver(settings, public, curator, runner)

    forgetful = replace(MEAN, name="forgetful", trials=Estimator.trials)
    thorough = replace(MEAN, name="thorough", trials=(Trial("wide", columns=5), Trial("narrow", columns=1)))
    monkeypatch.setattr(
        recording, "ESTIMATORS", (replace(forgetful, name="peeking", driver=peeks), thorough, forgetful)
    )
    named = {driver.name: driver for driver in recording.drivers(0)}
    assert list(named) == [
        "estimate_forgetful",
        "estimate_thorough, wide",
        "estimate_thorough, narrow",
        "estimate_peeking",
    ]
    broken = {
        name: [f.detail for f in recording._tried(driver, 0, replays=0, neighbours=2) if not f.holds]
        for name, driver in named.items()
    }
    assert "rows were opened 3 times for 4 charged questions, by 2 passes" in broken.pop("estimate_peeking")[0]
    assert not any(broken.values())


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_neighbours_come_near_what_was_charged(found):
    """A measure that never sees a neighbour move would hold too."""
    measured = [finding for finding in found if finding.claimed is not None]
    assert len(measured) == len(recording.drivers(0))
    for finding in measured:
        assert 0.3 * finding.claimed < finding.found <= finding.claimed


def test_a_fast_audit_repeats_each_estimator_once():
    """And each kind of budget, as there are as many of those."""
    known = recording.drivers(0)
    chosen = recording.one_of_each(known)
    assert sorted(driver.estimator for driver in chosen) == sorted({driver.estimator for driver in known})
    assert {driver.budget.kind for driver in chosen} == {driver.budget.kind for driver in known}


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_both_regimes_are_driven(audited):
    """The default driver takes the route that its name says, and its private model is the one returned."""
    mixtures = [driver for driver in recording.drivers(0) if driver.estimator == "mixture"]
    for driver in mixtures[:2]:
        diagnostics = json.loads(audited[1][driver.name].result)["diagnostics"]
        assert driver.name.endswith(diagnostics["regime"])
        assert diagnostics["private_model_chosen"]


def test_kept_answers_take_the_place_of_the_noise():
    """With another seed and another table the tape is the same; without the kept answers it is not."""
    first = record(of(asks_twice), ROWS, 0)
    again = record(of(asks_twice), np.zeros_like(ROWS), 1, first)
    fresh = record(of(asks_twice), ROWS, 1)
    assert (first.looks, first.draws, again.looks, again.draws) == (2, 2, 0, 0)
    assert again.entries == first.entries
    assert again.result == first.result
    assert first.spent == again.spent == pytest.approx(10**11)
    assert fresh.result != first.result


def test_an_honest_driver_holds():
    """Adaptive questions are no fault."""
    assert verdicts(asks_twice)[0] == [True, True, True]


@pytest.mark.parametrize("budget", [PureDP(4), ZeroConcentratedDP(4), ApproximateDP(4, 1e-6)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3, 2)])
def test_a_distance_is_measured_in_what_the_run_was_charged_for_it(budget, epsilon):
    """A pure event that is as far apart as it was priced for comes to its price, in every kind of run."""
    event = PureEvent(epsilon)
    paid = budget.price(event).main / UNIT * (2 if budget.kind == "zcdp" else 1)
    assert recording._price(budget.kind, event, float(epsilon**2)) == pytest.approx(paid, rel=1e-9)


def test_looks_at_rows_are_counted():
    """Size and columns are public; a scan looks once a chunk, and so does any other use of the table."""

    def looks(use):
        return record(of(lambda curator: use(curator._table)), ROWS, 0).looks

    assert looks(lambda table: [table.n_rows, table.column_names, len(table.chunks())]) == 0
    assert looks(lambda table: bool(scan(table, Counts.priced(Everything(), PRICE)))) == 1
    assert looks(lambda table: list(table.rows.shape)) == 1


def fails_on_odd_rows(curator):
    """Tells tables apart by failing."""
    answer = asks_twice(curator)
    if np.isnan(curator._table.rows).any():
        raise ValueError
    return answer


def returns_a_peek(curator):
    """A number of the table beside the released ones."""
    return [*asks_twice(curator), int((curator._table.rows > 0).sum())]


def asks_by_a_peek(curator):
    """A label that depends on the table."""
    label = "odd" if np.isnan(curator._table.rows).any() else "even"
    return curator.release(Counts.priced(Everything(), PRICE), label).values["count"].tolist()


def centres_by_a_peek(curator):
    """A question that depends on the table."""
    frame = Frame.of(np.nan_to_num(curator._table.rows).mean(axis=0))
    return curator.release(ClippedSums.priced(Everything(), (frame,), (1.0,), PRICE), "sums").values["sum"].tolist()


def asks_nothing(curator):
    """A constant."""
    return 1


@pytest.mark.parametrize(
    ("run", "first", "second"),
    [
        (fails_on_odd_rows, "fails where it got the same answers (ValueError)", "rows were opened"),
        (returns_a_peek, "", "what is returned depends on the table"),
        (asks_by_a_peek, "labels, or their order", "rows were opened"),
        (centres_by_a_peek, "a question depends on the table: sums", "rows were opened"),
        (asks_nothing, "asked nothing", ""),
    ],
)
def test_a_driver_that_knows_more_is_found_out(run, first, second):
    """Each fault is told, and in the finding where it belongs."""
    holds, details = verdicts(run)
    assert holds[:2] == [not first, not second]
    assert first in details[0]
    assert second in details[1]


def returns_a_number_of_its_own(curator):
    """Randomness that did not come from the ledger."""
    return [*asks_twice(curator), int(np.random.default_rng().integers(1 << 60))]


def test_a_ledger_repeats_a_run_bit_for_bit():
    """With the file overwritten; a result that has another source than the answers does not come again."""
    assert recording._repeated(of(asks_twice)).holds
    broken = recording._repeated(of(returns_a_number_of_its_own))
    assert not broken.holds
    assert broken.detail == "the model differs although every answer was in the ledger"


def test_a_charge_below_the_distance_is_found_out():
    """Where a question is charged a tenth of its distance, neighbours are further apart than that."""
    tape = record(of(asks_twice), ROWS, 0)
    small = [entry.event for entry in tape.entries]
    for event in small:
        object.__setattr__(event, "squared_distance", event.squared_distance / 10)
    finding = recording._measured(of(asks_twice), tape, list(recording._neighbours_of(ROWS, 10, 0)))
    assert not finding.holds
    assert "sums" in finding.detail
