"""What one more run costs, how many fit, who is at work, who spent: and that it does not take long."""

import hashlib
import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import count

import pytest
import sqlalchemy as sa
from helpers.conversions import delta_of_gaussian
from helpers.events import gaussian
from helpers.served import PUBPRIV
from helpers.turns import quickest

from benchmarks.ledger import fill
from pubpriv.errors import BudgetExceeded, InvalidInput
from pubpriv.privacy.budgets import Amount, ApproximateDP, PureDP, ZeroConcentratedDP, parse_budget
from pubpriv.privacy.ledger import Ledger, _outlook
from pubpriv.privacy.ledger.texts import canonical
from pubpriv.privacy.ledger.views import RunView
from pubpriv.privacy.units import UNIT

QUESTION = {"type": "Counts"}
MOST_HASHES = 40
"""Times that the verification of a record may take as long as reading its text, writing it anew and hashing that."""


def registered(url, budget):
    """A ledger with dataset `visits`."""
    ledger = Ledger.open(url)
    ledger.register("visits", budget=parse_budget(budget), unit="one patient")
    return ledger


def test_an_unused_dataset_has_no_last_run(ledger_url):
    """Nothing to extrapolate from: no number is made up. An unknown dataset is bad input."""
    with registered(ledger_url, "zcdp:1") as ledger:
        told = ledger.outlook("visits")
        assert (told.last, told.fitting, told.runs, told.spenders) == (None, None, 0, ())
        assert told.balance == ledger.balance("visits")
        with pytest.raises(InvalidInput, match="not registered"):
            ledger.outlook("other")


PAIRS = [
    ("zcdp:1", "zcdp:0.3"), ("zcdp:1", "zcdp:0.25"), ("zcdp:1", "approx:1,1e-6"), ("approx:4,1e-6", "approx:1,1e-6"),
    ("approx:4,1e-6", "zcdp:0.1"), ("approx:1,1e-6", "approx:1,1e-6"), ("pure:1", "pure:0.3"),
    ("zcdp:1", "pure:0.7"), ("approx:4,1e-6", "pure:0.3"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("cap", "allotment"), PAIRS)
def test_so_many_runs_fit_as_are_said_to(tmp_path, cap, allotment):
    """After the first run, exactly so many more can be opened beside it; then the hint says what fits instead."""
    given = parse_budget(allotment)
    with registered(f"sqlite:///{tmp_path}/ledger.db", cap) as ledger:
        ledger.run("visits", "first").open(given)
        fitting = ledger.outlook("visits").fitting
        assert fitting is not None
        for number in range(fitting):
            assert ledger.outlook("visits").fitting == fitting - number
            ledger.run("visits", f"more-{number}").open(given)
        told = ledger.outlook("visits")
        assert told.fitting == 0
        assert "What fits: " in told.hint or "Nothing more fits" in told.hint
        with pytest.raises(BudgetExceeded):
            ledger.run("visits", "too-many").open(given)


def test_the_last_run_is_the_one_opened_last(ledger_url):
    """Its hold and what it charged, although an older run was charged after it was opened."""
    with registered(ledger_url, "zcdp:1") as ledger:
        for name, rho in (("old", "0.2"), ("new", "0.1")):
            ledger.run("visits", name).open(ZeroConcentratedDP(rho))
        ledger.run("visits", "new").charge("a", QUESTION, gaussian("0.04"))
        ledger.run("visits", "old").charge("a", QUESTION, gaussian("0.15"))
        ledger.run("visits", "new").close("done")
        told = ledger.outlook("visits")
    assert told.last is not None
    assert (told.last.release_id, told.last.closed) == ("new", True)
    assert (told.last.hold, told.last.charged) == (Amount(UNIT // 10), Amount(UNIT // 25))
    assert [(run.release_id, run.spent.main) for run in told.spenders] == [
        ("old", 15 * UNIT // 100),
        ("new", UNIT // 25),
    ]
    assert told.people == ((told.last.user, Amount(19 * UNIT // 100)),)
    assert told.fitting == 7  # 1 - 0.2 held by the old one - 0.04


def test_open_runs_say_what_they_are_at(ledger_url):
    """A charge without an answer is work: at its label, by whom, and whether its lease still runs."""
    with registered(ledger_url, "zcdp:1") as ledger:
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
        done = ledger.run("visits", "r").charge("mean/done", QUESTION, gaussian("0.1"))
        ledger.run("visits", "r").publish("mean/done", done.attempt, {"count": [1]})
        ledger.run("visits", "r").charge("mean/now", QUESTION, gaussian("0.1"))
        (run,) = ledger.outlook("visits").open_runs
        opened = ledger.records("visits")[1]
        assert (run.release_id, run.held) == ("r", Amount(3 * UNIT // 10))
        assert (run.since, run.user, run.host) == (opened.at, opened.user, opened.host)
        (work,) = run.work
        assert (work.label, work.user, work.host, work.running) == ("mean/now", opened.user, opened.host, True)
        lease = datetime.fromisoformat(work.lease_until) - datetime.fromisoformat(work.since)
        assert abs(lease - timedelta(minutes=10)) < timedelta(seconds=60)
        again = ledger.run("visits", "r").charge("mean/now", QUESTION, gaussian("0.1"))  # another attempt
        assert len(ledger.outlook("visits").open_runs[0].work) == 1
        ledger.run("visits", "r").publish("mean/now", again.attempt, {"count": [1]})
        assert ledger.outlook("visits").open_runs[0].work == ()
        ledger.run("visits", "r").close("done")
        assert ledger.outlook("visits").open_runs == ()


def test_a_lease_that_ran_out_is_not_work(ledger_url, monkeypatch):
    """An hour later nobody is said to be at work, and the charge still has no answer."""

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(UTC) + timedelta(hours=1)

    with registered(ledger_url, "zcdp:1") as ledger:
        ledger.run("visits", "r").open(ZeroConcentratedDP("0.5"))
        ledger.run("visits", "r").charge("mean/a", QUESTION, gaussian("0.1"))
        monkeypatch.setattr(_outlook, "datetime", Later)
        (work,) = ledger.outlook("visits").open_runs[0].work
    assert (work.label, work.running) == ("mean/a", False)


def test_the_cap_as_epsilon_is_its_guarantee():
    """Told as an epsilon, a whole cap is what was promised, to nine digits and never less than it costs."""
    for budget in (PureDP(2), ApproximateDP(4, "1e-6"), ApproximateDP("0.5", "1e-9", "1e-10")):
        assert budget.as_epsilon(budget.cap) == pytest.approx(float(budget.epsilon), rel=1e-8)
        assert budget.as_epsilon(Amount(0)) == 0
    zcdp = ZeroConcentratedDP("0.5")
    assert zcdp.as_epsilon(zcdp.cap) == pytest.approx(5.222, abs=1e-3)
    budget, half = ApproximateDP(4, "1e-6"), Amount(UNIT // 5)
    spent = Fraction(budget.as_epsilon(half))
    assert delta_of_gaussian(Fraction(1, 5), spent) <= 0.99e-6


def test_runs_from_one_pass_are_the_runs(tmp_path):
    """What a long history is told from is what the ledger tells run by run."""
    with Ledger.open(fill(tmp_path / "ledger.db", 4, 3, leave_open=2)) as ledger:
        ledger.verify("visits")
        assert RunView.all_of(ledger.records("visits")) == ledger.history("visits")


def _show(url):
    """`budget show` as a process of its own."""
    line = [*PUBPRIV, "budget", "show", "visits", "--ledger", url]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=os.environ | {"COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    assert "spent most" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "charges"), [(1, 100_000), (1000, 100), (20_000, 5)])
def test_a_hundred_thousand_charges_are_shown_nearly_as_quickly_as_ten(tmp_path, runs, charges):
    """Of `budget show` most is start-up, however the charges lie: it takes at most half as long again."""
    few, many = fill(tmp_path / "few.db", 2, 5), fill(tmp_path / "many.db", runs, charges)
    short, long = quickest(5, partial(_show, few), partial(_show, many))
    assert long < 1.5 * short, (short, long)


@pytest.mark.slow
def test_verifying_takes_a_time_in_proportion_to_the_charges(tmp_path):
    """Ten times as many charges take at most fifteen times as long, and each no longer than so many hashes of it."""
    few, many = (fill(tmp_path / f"{runs}.db", runs, 100) for runs in (100, 1000))
    with Ledger.open(many) as ledger:
        texts = [canonical(record.body).encode() for record in ledger.records("visits")]

    def verified(url):
        with Ledger.open(url) as ledger:
            ledger.verify("visits")

    def hashed():
        for text in texts:
            hashlib.sha256(canonical(json.loads(text)).encode()).hexdigest()

    short, long, yardstick = quickest(2, partial(verified, few), partial(verified, many), hashed)
    assert long < 15 * short, (short, long)
    assert long < MOST_HASHES * yardstick, (long, yardstick)


def _steps(url):
    """Instructions that SQLite runs to tell the outlook: the same on a busy machine, as seconds are not."""
    steps = count()

    def listen(connection, *_):
        connection.set_progress_handler(lambda: next(steps) < 0, 1)

    sa.event.listen(sa.pool.Pool, "checkout", listen)
    try:
        with Ledger.open(url) as ledger:
            ledger.outlook("visits")
    finally:
        sa.event.remove(sa.pool.Pool, "checkout", listen)
    return next(steps)


@pytest.mark.long
def test_many_charges_take_no_more_steps_than_few(tmp_path):
    """The outlook's statements read an index each, and so many records of a run: no more of 4,000 than of 400."""
    few, many = (_steps(fill(tmp_path / f"{charges}.db", 4, charges)) for charges in (100, 1000))
    assert few > 1000  # some were counted
    assert many < 1.1 * few, (few, many)
