"""The door: paid before it looks, one answer for one charge, one text for every failure behind it."""

import pickle
import traceback
from dataclasses import replace
from fractions import Fraction
from threading import current_thread
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

import pubpriv as pp
from pubpriv import curator as door
from pubpriv.data import looks
from pubpriv.data import scan as scanning
from pubpriv.data.frames import Frame
from pubpriv.data.pieces import Chunk
from pubpriv.data.questions import Bisection, ClippedSums, Counts, JointCounts, LiftedGram
from pubpriv.data.questions.base import SUM_FACTOR
from pubpriv.data.regions import Everything, NearestPoint
from pubpriv.errors import (
    BudgetExceeded,
    InvalidInput,
    PrivateStepFailed,
    RunClosed,
    SpecMismatch,
    Unavailable,
    without_trace,
)
from pubpriv.privacy.ledger._book import Book
from pubpriv.privacy.noise import OperatingSystemNoise

CANARY = 73921.46508
HALF, ONE, TWO = (pp.ZeroConcentratedDP(rho) for rho in (0.5, 1.0, 2.0))
TENTH = Fraction(2, 10)
"""mu^2 of a question that costs rho = 0.1."""

COUNTS = Counts.priced(NearestPoint(Frame.of(np.zeros(1)), ((0.0,), (10.0,)), (0, 1)), TENTH)


@pytest.fixture
def table(tmp_path):
    cells = np.r_[np.zeros(60), np.full(40, 10.0), np.nan, CANARY]
    pq.write_table(pa.table({"a": cells}), tmp_path / "private.parquet")
    return pp.PrivateTable.open(tmp_path / "private.parquet", ["a"])


@pytest.fixture
def ledger(tmp_path, table):
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", budget=TWO, table=table, unit="one patient")
        yield ledger


@pytest.fixture(params=["private", "simulation"])
def curator(request):
    """A run of rho = 0.5 on the same 102 rows, of either kind."""
    if request.param == "simulation":
        cells = np.r_[np.zeros(60), np.full(40, 10.0), np.nan, CANARY]
        return pp.Curator.simulation(cells[:, None], HALF, seed=3, columns=["a"])
    return pp.Curator(request.getfixturevalue("table"), request.getfixturevalue("ledger"), "visits", HALF, "r1")


def run(table, ledger, budget=HALF, release_id="r1"):
    return pp.Curator(table, ledger, "visits", budget, release_id)


def spent(ledger):
    return ledger.balance("visits").spent.main / 1e12


# -- both kinds of run ----------------------------------------------------------------------------------------


def test_answers_are_the_totals_and_the_noise_that_was_told(curator):
    """Counts of 60 and 41 within six noise sds, in the question's units."""
    release = curator.release(COUNTS, "counts")
    assert release.label == "counts"
    assert release.question == COUNTS
    sd = COUNTS.noise()["count"][0]
    assert 2 < sd < 5
    assert np.abs(release.values["count"] - [60, 41]).max() < 6 * sd
    assert not np.array_equal(release.values["count"], [60, 41])


def test_private_rows_are_read_in_a_thread_of_their_own_and_simulated_ones_in_this(curator, monkeypatch):
    """Ctrl-C is raised in the main thread, where a traceback would hold the rows; a simulation has none to hide."""
    readers, read = [], scanning._scan_chunk

    def watched(*about, **more):
        readers.append(current_thread())
        return read(*about, **more)

    monkeypatch.setattr(scanning, "_scan_chunk", watched)
    curator.release(COUNTS, "counts")
    assert [reader is current_thread() for reader in readers] == [not curator._noise.private]


def test_a_replay_is_the_same_answer_at_no_cost(curator, monkeypatch):
    """The same label gives identical values without opening the table, even for another question."""
    first = curator.release(COUNTS, "counts")
    before = curator.statement()
    monkeypatch.setattr(looks, "scan_together", _must_not_run)
    monkeypatch.setattr(type(curator._table), "chunks", _must_not_run)
    for question in (COUNTS, Counts.priced(Everything(), TENTH)):
        again = curator.release(question, "counts")
        assert again.question == first.question
        assert again.values["count"].tobytes() == first.values["count"].tobytes()
    assert curator.statement() == before


def _must_not_run(*args, **kwargs):
    raise AssertionError("this run had no reason to look")


def test_an_overrun_is_refused_and_costs_nothing(curator):
    """Five questions of a fifth fit, a sixth does not; the five can still be replayed."""
    for number in range(5):
        curator.release(COUNTS, f"counts-{number}")
    before = curator.statement()
    with pytest.raises(BudgetExceeded) as caught:
        curator.release(COUNTS, "counts-5")
    assert "\n" not in str(caught.value)
    assert caught.value.remaining.main < 10**11
    assert curator.statement() == before
    assert curator.release(COUNTS, "counts-4").label == "counts-4"


def test_two_estimators_share_a_run(curator):
    """Each takes its own budget; the rest is what is left; no more than the allotment is given."""
    fifth = pp.ZeroConcentratedDP(0.1)
    assert curator.begin("mean", {"a": 1}, "f00", fifth).units == 10**11
    assert curator.begin("mean", {"a": 1}, "f00", fifth).units == 10**11
    assert curator.begin("mixture", {}, "f00").units == 4 * 10**11
    with pytest.raises(BudgetExceeded):
        curator.begin("gaussian", {}, "f00", fifth)
    with pytest.raises(BudgetExceeded):
        curator.begin("gaussian", {}, "f00")
    with pytest.raises(InvalidInput, match="zcdp"):
        curator.begin("third", {}, "f00", pp.ApproximateDP(1.0, 1e-6))


@pytest.mark.parametrize(("configuration", "sha"), [({"a": 2}, "f00"), ({"a": 1}, "f01")])
def test_a_method_begins_with_one_configuration(configuration, sha, curator):
    """Other settings, or other public rows, are another release."""
    curator.begin("mean", {"a": 1}, "f00")
    with pytest.raises(SpecMismatch):
        curator.begin("mean", configuration, sha)


def test_a_closed_run_replays_and_charges_no_more(curator):
    """Closing ends charges, not answers."""
    first = curator.release(COUNTS, "counts")
    curator.close()
    with pytest.raises(RunClosed):
        curator.release(COUNTS, "more")
    again = curator.release(COUNTS, "counts")
    assert np.array_equal(again.values["count"], first.values["count"])


def test_room_for_every_draw_is_proven_before_the_charge(curator):
    """A question whose noise, or whose total, would not fit in 64 bits is refused before it is paid."""
    frame = Frame.of(np.zeros(1))
    for question in (
        ClippedSums(Everything(), (frame,), (1.0,), 1 << 54),
        LiftedGram(Everything(), (frame,), (1.0,), (0, 0, 1 << 62)),
    ):
        with pytest.raises(InvalidInput, match="64"):
            curator.release(question, "sums")
    assert not curator.statement().charges


def test_a_bisection_answers_through_the_door(curator):
    """An adaptive question is one charge, and its quantile is where the records are."""
    frame = Frame.of(np.zeros(1))
    question = Bisection(frame, -2.0, 14.0, 4, 80.0, Bisection.noise_for(4, Fraction(9, 10)), signed=True)
    release = curator.release(question, "quantile")
    assert release.values["count"].shape == (4,)
    assert 9 <= release.values["quantile"][0] <= 11
    assert len(curator.statement().charges) == 1


def test_a_run_shows_no_values(curator):
    """Neither in its representation nor in its statement."""
    curator.release(COUNTS, "counts")
    told = repr(curator) + str(curator) + repr(curator.statement()) + repr(curator.statement().to_json())
    assert str(CANARY)[:6] not in told


# -- simulation -----------------------------------------------------------------------------------------------


def simulate(seed=3, budget=HALF, **options):
    rows = np.random.default_rng(0).normal(size=(200, 2))
    return pp.Curator.simulation(rows, budget, seed=seed, **options)


def test_a_simulation_says_that_it_is_not_private():
    """In its representation and in its statement, whatever the budget's kind."""
    for budget in (HALF, pp.ApproximateDP(1.0, 1e-6)):
        curator = simulate(budget=budget)
        statement = curator.statement()
        assert "NOT private" in repr(curator)
        assert statement.private is False
        assert statement.to_json()["guarantee"]["text"] == "none (simulation)"
        assert statement.to_json()["unit"] == "none (simulation)"


def test_simulated_noise_depends_on_seed_and_label_alone():
    """Not on the order of the questions, not on the run."""
    question = Counts.priced(Everything(), TENTH)

    def answer(seed, *labels):
        curator = simulate(seed)
        return {label: float(curator.release(question, label).values["count"][0]) for label in labels}

    assert answer(1, "a", "b") == answer(1, "b", "a")
    assert answer(1, "a") != answer(2, "a")
    assert len(set(answer(1, "a", "b").values())) == 2


def test_simulated_columns_are_named_and_mapped():
    """As a table's are: one name a column, expressions applied, odd rows nobody."""
    rows = np.array([[1.0, 2.0], [-3.0, 1.0], [0.5, np.nan]])
    curator = pp.Curator.simulation(rows, HALF, seed=1, columns=["log1p(a)", "b"])
    assert curator.columns == ("log1p(a)", "b")
    frame = Frame.of(np.zeros(2))
    sharp = ClippedSums(Everything(), (frame,), (8.0,), 1)
    found = sharp.values({"sum": SUM_FACTOR * scanning.scan(curator._table, sharp)["sum"]})["sum"]
    assert np.allclose(found, [np.log1p(1.0), 2.0], atol=1e-3)
    assert simulate().columns == ("x0", "x1")


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (np.zeros(3), None),
        (np.zeros((0, 2)), None),
        ([["a"]], None),
        ([[1, 2], [3]], None),
        (None, None),
        (np.zeros((3, 2)), ["a"]),
        (np.zeros((3, 2)), ["a", "a"]),
        (np.zeros((3, 2)), []),
    ],
)
def test_bad_simulated_rows_are_refused(rows, columns):
    """One clear error for what is not a table of numbers with one name a column."""
    with pytest.raises(InvalidInput):
        pp.Curator.simulation(rows, HALF, seed=1, columns=columns)


@pytest.mark.parametrize("seed", [None, 1.5, "1", True])
def test_a_simulation_is_of_a_seed(seed):
    """Runs without one would all have the same noise, by no word of whoever starts them."""
    with pytest.raises(InvalidInput, match="whole number"):
        pp.Curator.simulation(np.zeros((3, 2)), HALF, seed)


def test_a_real_run_takes_no_seed(table, ledger):
    """A seed exists in simulations only."""
    with pytest.raises(TypeError, match="seed"):
        pp.Curator(table, ledger, dataset="visits", budget=HALF, seed=7)
    assert ledger.balance("visits").held.main == 0


# -- with a ledger ----------------------------------------------------------------------------------------------


def test_the_charge_is_committed_before_the_scan(table, ledger, tmp_path, monkeypatch):
    """When rows are looked at, another connection already sees the charge, without an answer."""
    seen = []

    def looking(*args):
        with pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as other:
            (charge,) = other.run("visits", "r1").bill().charges
            seen.append((charge.label, charge.answered, spent(other)))
        return real(*args)

    real = looks.scan_together
    monkeypatch.setattr(looks, "scan_together", looking)
    run(table, ledger).release(COUNTS, "counts")
    assert seen == [("counts", False, pytest.approx(0.1, rel=1e-5))]
    (charge,) = ledger.run("visits", "r1").bill().charges
    assert charge.answered


@pytest.mark.parametrize("cause", [ValueError(CANARY), OSError(CANARY), MemoryError(), pa.ArrowInvalid(str(CANARY))])
@pytest.mark.parametrize("place", ["scan", "noise"])
def test_a_failure_behind_the_door_has_one_text(place, cause, table, ledger, monkeypatch):
    """Fixed text, nothing chained; the charge stays; the same label then resumes at no further cost."""
    curator = run(table, ledger)

    def fail(*args):
        raise cause

    with monkeypatch.context() as broken:
        if place == "scan":
            broken.setattr(looks, "scan_together", fail)
        else:
            broken.setattr(type(curator._noise), "draw", fail)
        with pytest.raises(PrivateStepFailed) as caught:
            curator.release(COUNTS, "counts")
    assert str(caught.value) == PrivateStepFailed.TEXT
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert caught.value.args == (PrivateStepFailed.TEXT,)
    assert str(CANARY) not in "".join(traceback.format_exception(caught.value))
    paid = spent(ledger)
    assert paid == pytest.approx(0.1, rel=1e-5)

    other = Counts.priced(Everything(), TENTH)
    resumed = run(table, ledger).release(other, "counts")
    assert resumed.question == COUNTS  # as it was paid for, not as it is asked now
    assert spent(ledger) == paid
    again = run(table, ledger).release(COUNTS, "counts")
    assert np.array_equal(again.values["count"], resumed.values["count"])
    kinds = [record.kind for record in ledger.records("visits")]
    assert (kinds.count("charged"), kinds.count("published")) == (1, 1)
    ledger.verify("visits")


def test_an_interrupt_is_not_swallowed(table, ledger, monkeypatch):
    """Ctrl-C during a scan stops the program; what was paid is resumed."""

    def interrupted(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(looks, "scan_together", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(table, ledger).release(COUNTS, "counts")
    paid = spent(ledger)
    run(table, ledger).release(COUNTS, "counts")
    assert spent(ledger) == paid > 0


def test_a_replay_needs_no_table(table, ledger, tmp_path):
    """With the file gone, what was answered is still there, and what was not is refused before a charge."""
    curator = run(table, ledger)
    first = curator.release(COUNTS, "counts")
    paid = spent(ledger)
    (tmp_path / "private.parquet").unlink()
    assert np.array_equal(curator.release(COUNTS, "counts").values["count"], first.values["count"])
    with pytest.raises(InvalidInput, match="no private table"):
        curator.release(COUNTS, "more")
    assert spent(ledger) == paid


def test_a_changed_row_count_is_refused_before_a_charge(table, ledger, tmp_path):
    """n is public and was used to plan; another n is another table."""
    pq.write_table(pa.table({"a": np.zeros(7)}), tmp_path / "private.parquet")
    with pytest.raises(InvalidInput, match="number of rows"):
        run(table, ledger).release(COUNTS, "counts")
    assert spent(ledger) == 0
    assert not ledger.run("visits", "r1").bill().charges


def test_the_hold_is_taken_before_anything_is_read(table, ledger):
    """Opening holds the allotment; a second run that does not fit is refused; closing returns the rest."""
    curator = run(table, ledger, ONE, "first")
    curator.release(COUNTS, "counts")
    with pytest.raises(BudgetExceeded) as caught:
        run(table, ledger, pp.ZeroConcentratedDP(1.5), "second")
    assert "first" in str(caught.value)
    curator.close()
    assert ledger.balance("visits").held.main == 0
    run(table, ledger, pp.ZeroConcentratedDP(1.5), "second")


def test_a_release_id_is_one_budget(table, ledger):
    """Opened again with the same budget it is the same run; with another it is refused."""
    run(table, ledger).release(COUNTS, "counts")
    assert len(run(table, ledger).statement().charges) == 1
    with pytest.raises(SpecMismatch, match="another release id"):
        run(table, ledger, ONE)


def test_a_release_id_is_one_number_of_components(table, ledger):
    """Used with another k, or with other public rows, it is refused before anything more is spent."""
    public = np.r_[np.linspace(-1, 1, 20), np.linspace(9, 11, 20)][:, None]
    first = pp.estimate_mixture(public, run(table, ledger), n_components=2)
    paid = spent(ledger)
    again = pp.estimate_mixture(public, run(table, ledger), n_components=2)
    assert np.array_equal(again.means, first.means)
    for rows, k in ((public, 3), (public[1:], 2)):
        with pytest.raises(SpecMismatch):
            pp.estimate_mixture(rows, run(table, ledger), n_components=k)
    assert spent(ledger) == paid


@pytest.mark.parametrize("dataset", ["other", "", "no such"])
def test_an_unregistered_dataset_is_refused(dataset, table, ledger):
    """Nothing is registered on first use."""
    with pytest.raises(InvalidInput):
        pp.Curator(table, ledger, dataset, HALF)
    assert ledger.datasets() == ["visits"]


def test_a_table_of_another_dataset_or_other_columns_is_refused(table, ledger, tmp_path):
    """A table has one dataset, and its declared columns."""
    ledger.register("others", budget=ONE)
    with pytest.raises(SpecMismatch):
        pp.Curator(table, ledger, "others", HALF)
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "second.parquet")
    with pytest.raises(SpecMismatch):
        run(pp.PrivateTable.open(tmp_path / "second.parquet", ["a"]), ledger)


def test_a_task_finds_the_run_by_its_handle(table, ledger):
    """The handle pickles, holds no rows, and opens the same run: one charge, one answer."""
    curator = run(table, ledger)
    first = curator.release(COUNTS, "counts")
    handle = pickle.loads(pickle.dumps(curator.handle))
    assert np.float64(CANARY).tobytes() not in pickle.dumps(handle)
    inside = handle.open()
    again = inside.release(COUNTS, "counts")
    inside.leave()
    assert np.array_equal(again.values["count"], first.values["count"])
    assert len(ledger.run("visits", "r1").bill().charges) == 1
    assert not ledger.run("visits", "r1").bill().state.closed


def test_two_real_runs_draw_different_noise(table, ledger):
    """No seed, no label and no release id enters real noise."""
    answers = {float(run(table, ledger, HALF, name).release(COUNTS, "counts").values["count"][0]) for name in "abc"}
    assert len(answers) == 3


def test_leaving_the_with_block(table, ledger):
    """A run that ends is closed; one refused before it asked is closed too; one that broke stays open."""

    def leave(release_id, error=None, ask=False):
        try:
            with run(table, ledger, pp.ZeroConcentratedDP(0.2), release_id) as curator:
                if ask:
                    curator.release(COUNTS, "counts")
                if error:
                    raise error
        except (RuntimeError, InvalidInput, SpecMismatch):
            pass
        return ledger.run("visits", release_id).bill().state.closed

    assert leave("done", ask=True)
    assert leave("refused", InvalidInput("bad"))
    assert not leave("refused-later", InvalidInput("bad"), ask=True)
    assert not leave("mismatch", SpecMismatch("bad"))
    assert not leave("broke", RuntimeError("bad"))


@pytest.mark.parametrize("value", [{"type": "Unheard"}, {"type": "Counts", "noise_scale": 1}, {"a": 1}])
def test_what_another_version_wrote_is_refused_in_words(value, table, ledger):
    """A stored step or question that cannot be read: bad input that says what to do, and nothing is charged."""
    curator = run(table, ledger)
    ledger.run("visits", "r1").keep({"mixture/seed-1": value})
    with pytest.raises(InvalidInput, match="another release id"):
        curator.settled("mixture/seed-1", _must_not_run)
    assert spent(ledger) == 0


def test_a_step_is_made_once(table, ledger):
    """What a step made before a question is what every later entry into the run gets, without making it again."""
    curator = run(table, ledger)
    assert curator.settled("mixture/seed-1", lambda: (1.5, ("a", None))) == (1.5, ("a", None))
    assert curator.settled("mixture/seed-1", _must_not_run) == (1.5, ("a", None))
    curator.release(COUNTS, "mixture/a")
    assert run(table, ledger).settled("mixture/seed-1", _must_not_run) == (1.5, ("a", None))
    assert simulate().settled("mixture/seed-1", lambda: (2.5,)) == (2.5,)


def test_what_steps_made_is_written_with_the_charge_that_follows_from_it(table, ledger):
    """Nothing before, all of it with the charge, and at the end what no charge followed."""
    curator = run(table, ledger)
    for number in (1, 2):
        curator.settled(f"mixture/seed-{number}", lambda: (1.5,))
    assert [record.kind for record in ledger.records("visits")][-1] == "opened"
    curator.release(COUNTS, "mixture/a")
    curator.settled("mixture/weights-1", lambda: (2.5,))
    curator.close()
    kinds = [record.kind for record in ledger.records("visits")]
    assert kinds[-6:] == ["noted", "noted", "charged", "published", "noted", "closed"]
    ledger.verify("visits")


def test_of_two_that_make_a_step_otherwise_the_second_charges_nothing(table, ledger):
    """It would go on from what no question was made of; run again, it goes on from what stands."""
    first, second = run(table, ledger), run(table, ledger)
    first.settled("mixture/seed-1", lambda: (1.5,))
    second.settled("mixture/seed-1", lambda: (1.5000000000000002,))
    first.release(COUNTS, "mixture/a")
    paid = spent(ledger)
    with pytest.raises(Unavailable, match="goes on from what stands"):
        second.release(COUNTS, "mixture/b")
    assert spent(ledger) == paid
    assert run(table, ledger).settled("mixture/seed-1", _must_not_run) == (1.5,)


def test_noise_is_drawn_ahead_in_a_new_run_and_used_once(table, ledger, monkeypatch):
    """What is expected is drawn before the charge; it is no part of a run that is resumed, or asked elsewhere."""
    drawn = []
    draw = OperatingSystemNoise.draw

    def watched(self, label, *about):
        drawn.append(label)
        return draw(self, label, *about)

    monkeypatch.setattr(OperatingSystemNoise, "draw", watched)
    curator = run(table, ledger)
    curator.begin("mixture", {}, "ab")
    curator.expect([COUNTS])
    answers = [curator.release(COUNTS, label).values["count"].tolist() for label in ("a", "b")]
    assert drawn in (["", "b"], ["", "a", "b"])  # the second where it was not begun yet, and cancelled
    assert answers[0] != answers[1]
    drawn.clear()
    for other in (run(table, ledger), run(table, ledger, release_id="r2")):
        assert other.handle
        other.expect([COUNTS])
    run(table, ledger).expect([COUNTS])
    assert drawn == []


def variables(error):
    """What a reporter of crashes writes down of an error: local variables of all functions that it came through."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1:]  # the test's own comes first
    return [value for frame in frames for value in frame.f_locals.values()]


@pytest.mark.parametrize("cause", [OSError, KeyboardInterrupt])
def test_no_variable_of_what_fails_after_the_scan_holds_a_total(table, ledger, monkeypatch, cause):
    """Exact counts were in one, where noise could not be drawn."""

    def answer(question, totals, draw):
        raise cause

    monkeypatch.setattr(Counts, "answer", answer, raising=False)
    monkeypatch.setattr(door.Curator, "_try", lambda *_: None)
    with pytest.raises((PrivateStepFailed, KeyboardInterrupt)) as failed:
        run(table, ledger).release(COUNTS, "a")
    assert not [each for each in variables(failed.value) if isinstance(each, dict | np.ndarray)]


def full_disk(ledger, right):
    """No page can be added to the ledger from here on."""
    with ledger._access.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    return right


def failing_commit(ledger, right):
    """What was read back does not stay."""

    def read_back(book):
        right(book)
        raise sa.exc.OperationalError("COMMIT", {}, Exception("database or disk is full"))

    return read_back


@pytest.mark.parametrize("trouble", [full_disk, failing_commit])
def test_an_answer_that_cannot_be_stored_is_seen_nowhere(table, ledger, monkeypatch, caplog, trouble):
    """The next attempt draws another one: in a trace, or in SQLAlchemy's log, there were two answers to one charge."""
    caplog.set_level("DEBUG", "sqlalchemy.engine")
    drawn, right, curator = [], door.Curator._look, run(table, ledger)

    def look(self, question, label):
        drawn.append(right(self, question, label))
        monkeypatch.setattr(Book, "read_back", trouble(ledger, Book.read_back))
        return drawn[-1]

    monkeypatch.setattr(door.Curator, "_look", look)
    many = JointCounts.priced((Everything(),) * 900, TENTH)
    with pytest.raises(Unavailable, match="no space is left") as failed:
        curator.release(many, "a")
    shown = "".join(traceback.format_exception(failed.value)) + caplog.text + repr(variables(failed.value))
    assert str(drawn[0]["count"][0]) not in shown
    assert failed.value.__context__ is None, "the driver's error has what was to be stored among its parameters"


def test_what_saw_totals_leaves_no_variable_on_what_it_raises():
    """Nor what it was raised from, which has variables of its own."""

    def unlucky():
        total = 437  # noqa: F841 - it would be kept
        try:
            int("no number")
        except ValueError as error:
            raise RuntimeError("not stored") from error

    with pytest.raises(RuntimeError, match="not stored") as raised:
        without_trace(unlucky)
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)
    assert "unlucky" not in [frame.f_code.co_name for frame, _ in traceback.walk_tb(raised.value.__traceback__)]


# -- several questions in one pass ------------------------------------------------------------------------------

MEDIAN = Bisection(Frame.of(np.zeros(1)), 0.1, 100.0, 6, 51.0, 1 << 30, logarithmic=True)


def passes_of(monkeypatch):
    """A list that grows by the number of questions of each pass over the rows."""
    made, real = [], looks.scan_together

    def counted(table, questions, *rest):
        made.append(len(questions))
        return real(table, questions, *rest)

    monkeypatch.setattr(looks, "scan_together", counted)
    return made


def test_questions_that_were_foreseen_share_a_pass_and_change_nothing_else(table, ledger, monkeypatch):
    """The ledger has the records of a run that foresaw nothing: the same charges and answers, in that order."""
    made = passes_of(monkeypatch)

    def records(name, *foreseen):
        with run(table, ledger, release_id=name) as curator:
            curator.foresee(*foreseen)
            for label, question in (("count", COUNTS), ("median", replace(MEDIAN, rank=40.0))):
                curator.release(question, label)
            assert curator.passes == len(made) or not foreseen
        kept = ("label", "question", "event", "price_run")
        own = [record for record in ledger.records("visits") if record.release_id == name]
        facts = [(record.kind, {key: record.facts().get(key) for key in kept}) for record in own]
        return facts, spent(ledger)

    shared, paid = records("r1", MEDIAN)
    assert made == [2]
    apart, twice = records("r2")
    assert made == [2, 1, 1]
    assert shared == apart
    assert twice == pytest.approx(2 * paid)


def test_what_was_foreseen_is_answered_as_without(monkeypatch):
    """A simulation's answers, whose noise follows from seed and label, have the same bits."""

    def answers(*foreseen):
        curator = pp.Curator.simulation(np.arange(200.0)[:, None], HALF, seed=3)
        curator.foresee(*foreseen)
        made = [curator.release(COUNTS, "count"), curator.release(MEDIAN, "median")]
        return [values.tobytes() for answer in made for values in answer.values.values()], curator.passes

    (apart, two), (shared, one) = answers(), answers(MEDIAN)
    assert (two, one) == (2, 1)
    assert shared == apart


def test_nothing_is_paid_for_what_is_only_foreseen(table, ledger):
    """Its totals stay behind the door, and go when the run is closed."""
    with run(table, ledger) as curator:
        curator.foresee(MEDIAN, replace(COUNTS, noise_scale=1 << 40))
        curator.release(COUNTS, "counts")
        assert [charge.label for charge in ledger.run("visits", "r1").bill().charges] == ["counts"]
        held = curator._looks
        assert held.has(MEDIAN)
    assert not held.has(MEDIAN)


def test_a_question_that_cannot_be_asked_does_not_fail_the_one_before_it(table, ledger):
    """It says so itself, before it is charged."""
    too_loud = replace(MEDIAN, noise_scale=1 << 60)
    curator = run(table, ledger)
    curator.foresee(too_loud)
    curator.release(COUNTS, "counts")
    paid = spent(ledger)
    with pytest.raises(InvalidInput, match="budget share"):
        curator.release(too_loud, "median")
    assert spent(ledger) == paid


def test_a_run_that_ends_between_two_questions_of_a_pass_loses_nothing(table, ledger, monkeypatch):
    """Another process replays what is published, and reads the rows for what was charged or not yet asked."""
    first = run(table, ledger)
    first.foresee(MEDIAN)
    counts = first.release(COUNTS, "counts")
    with monkeypatch.context() as broken:
        broken.setattr(type(first._run), "publish", _must_not_run)
        with pytest.raises(AssertionError):
            first.release(MEDIAN, "median")  # charged, and its answer is lost
    paid = spent(ledger)
    monkeypatch.setattr(looks, "_SHARED", WeakValueDictionary())  # as if the process were gone
    again = run(table, ledger)
    again.foresee(MEDIAN)
    assert again.release(COUNTS, "counts").values["count"].tobytes() == counts.values["count"].tobytes()
    again.release(MEDIAN, "median")
    assert again.passes == 1
    assert spent(ledger) == paid
    kinds = [record.kind for record in ledger.records("visits")]
    assert (kinds.count("charged"), kinds.count("attempted"), kinds.count("published")) == (2, 1, 2)
    ledger.verify("visits")


def test_what_was_summed_is_answered_although_the_file_is_gone(table, ledger, tmp_path):
    """And what was not is refused before a charge, as ever."""
    curator = run(table, ledger)
    curator.foresee(MEDIAN)
    curator.release(COUNTS, "counts")
    (tmp_path / "private.parquet").unlink()
    curator.release(MEDIAN, "median")
    paid = spent(ledger)
    with pytest.raises(InvalidInput, match="no private table"):
        curator.release(replace(COUNTS, noise_scale=1 << 31), "more")
    assert spent(ledger) == paid


def test_tasks_of_a_run_share_what_was_read_and_foreseen(table, ledger, monkeypatch):
    """Each enters by a handle, asks one question and leaves; rows are decoded once, and summed in one pass."""
    made, read, real = passes_of(monkeypatch), [], Chunk.blocks
    monkeypatch.setattr(Chunk, "blocks", lambda chunk: (read.append(chunk), real(chunk))[1])
    curator = run(table, ledger)
    curator.foresee(MEDIAN)

    def task(question, label):
        inside = curator.handle.open()
        inside.release(question, label)
        inside.leave()

    task(COUNTS, "counts")
    task(MEDIAN, "median")
    task(replace(COUNTS, noise_scale=1 << 31), "more")
    assert made == [2, 1]
    assert curator.passes == 2
    assert len(read) == 1
    curator.close()
