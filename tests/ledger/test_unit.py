"""Whose privacy a run protects: what a curator asks first, and what it takes for n. About 3 s."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.curator import Curator
from pubpriv.data.questions import Counts, PerPerson
from pubpriv.data.questions.radial import RADIAL, under_law
from pubpriv.data.regions import Everything
from pubpriv.errors import BudgetExceeded, InvalidInput, LedgerViolation, PrivateStepFailed, SpecMismatch
from pubpriv.ledger.unit import difference as differing
from pubpriv.ledger.unit.size import Size, Sizes
from pubpriv.privacy.budgets import PureDP, Purse, ZeroConcentratedDP
from pubpriv.privacy.ledger._access import Access

RHO = ZeroConcentratedDP(1)
PUBLIC = "0" * 64


def simulated(persons, seed=0, **more):
    """A begun simulation over rows of `persons`."""
    rows = np.random.default_rng(seed).normal(size=(len(persons), 2))
    curator = Curator.simulation(rows, RHO, seed, persons=persons, **more)
    return curator, curator.begin("mean", {}, PUBLIC)


def test_the_first_questions_tell_persons_and_rows():
    """Within a few sds, and the method has what they leave."""
    persons = np.repeat(np.arange(900), np.r_[np.full(600, 1), np.full(300, 4)])
    for most, rows in ((1, 900), (2, 1200), (4, 1800)):
        curator, purse = simulated(persons, rows_per_person=most)
        assert abs(curator.size.rows - rows) < 5 * curator.size.sd
        assert abs(curator.size.persons[0] - 900) < 5 * curator.size.persons[1]
        assert curator.n_rows == curator.size.rows
        assert purse.units == int(RHO.cap.main * 97 / 100) // most**2
    assert curator.size.effective == pytest.approx(1800**2 / (600 + 300 * 16), rel=0.1)
    assert curator.size.widening > 1


def test_a_question_costs_what_its_persons_take():
    """A driver asks as if for rows, with a purse of one L^2-th, and reads its own question back."""
    curator, purse = simulated(np.repeat(np.arange(50), 5), rows_per_person=5)
    asked = Counts.priced(Everything(), purse.squared_distance(purse.units))
    answer = curator.release(asked, "mean/all")
    assert answer.question == asked
    assert curator.statement().charges[-1].question == "Counts per person"
    assert abs(answer.values["count"][0] - 250) < 6 * asked.noise()["count"][0]
    assert 0.999999 < float(curator.statement().spent.split()[0]) <= 1


def test_a_pure_run_of_persons_spends_epsilon_and_no_more():
    """Its questions have radial noise, first questions too, and a driver reads its own back."""
    persons = np.repeat(np.arange(400), 5)
    rows = np.random.default_rng(0).normal(size=(len(persons), 2))
    curator = Curator.simulation(rows, PureDP(4), 0, persons=persons, rows_per_person=3)
    purse = curator.begin("mean", {}, PUBLIC)
    assert abs(curator.size.rows - 1200) < 12 * curator.size.sd
    asked = under_law(RADIAL, Counts.priced(Everything(), purse.squared_distance(purse.units)))
    answer = curator.release(asked, "mean/all")
    assert answer.question == asked
    assert [line.question for line in curator.statement().charges] == [
        *("Radial(PersonSizes)", "Radial(Counts per person)", "Radial(Counts per person)")
    ]
    assert 3.99999 < float(curator.statement().spent.split()[0]) <= 4


def test_nothing_is_known_before_a_method_begins():
    """And drivers that plan earlier than that are told so."""
    curator = Curator.simulation(np.zeros((4, 1)), RHO, 0, persons=np.arange(4))
    with pytest.raises(InvalidInput, match="not begun"):
        _ = curator.n_rows
    with pytest.raises(InvalidInput, match="not begun"):
        curator.release(Counts.priced(Everything(), Fraction(1)), "x")


def test_rows_are_not_asked_as_persons():
    """A question of the other unit is refused."""
    curator = Curator.simulation(np.zeros((4, 1)), RHO, 0)
    with pytest.raises(InvalidInput, match="unit of the dataset is a person"):
        curator.release(PerPerson(Counts(Everything(), 1 << 30), 1, 64), "x")
    with pytest.raises(InvalidInput, match="whose unit is a person"):
        Curator.simulation(np.zeros((4, 1)), RHO, 0, rows_per_person=2)


@pytest.fixture
def visits(tmp_path):
    """(ledger with dataset `visits` of persons, path of its table)."""
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"who": np.arange(40) % 10, "x": np.zeros(40), "where": np.arange(40)}), path)
    with pp.Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        ledger.register("visits", pp.ZeroConcentratedDP(2), person="who")
        yield ledger, path


def test_the_unit_of_a_dataset_cannot_be_forgotten(visits):
    """A table that was opened as one of rows, or by another id, is not looked at."""
    ledger, path = visits
    for person in ((), ("where",)):
        with pytest.raises(SpecMismatch, match="known by who"):
            pp.Curator(pp.PrivateTable.open(path, ["x"], person=person), ledger, "visits", RHO)
    assert not ledger.history("visits")


def test_a_run_of_the_ledger_asks_only_what_protects_persons(visits, monkeypatch):
    """Past the door, a question of rows is refused where it is charged, and found where it stands."""
    from pubpriv.data.codec import to_json
    from pubpriv.ledger import event_of

    ledger, _ = visits
    run = ledger.run("visits", "r")
    run.open(RHO)
    question = Counts.priced(Everything(), Fraction(1))
    with pytest.raises(InvalidInput, match="does not protect the privacy unit"):
        run.charge("x", to_json(question), event_of(question))
    monkeypatch.setattr(Access, "protects_persons", lambda *_: False)
    run.charge("x", to_json(question), event_of(question))
    with pytest.raises(LedgerViolation, match="does not protect the dataset's privacy unit"):
        ledger.verify("visits")


def test_a_handle_enters_a_run_with_its_own_weights(visits):
    """No number of rows travels with it."""
    ledger, path = visits
    table = pp.PrivateTable.open(path, ["x"], person="who")
    with pp.Curator(table, ledger, "visits", RHO, "r", rows_per_person=3) as curator:
        curator.begin("mean", {}, PUBLIC)
        assert "n_rows=None" in repr(curator.handle)
        other = curator.handle.open()
        assert other.size == curator.size
        assert other.size.most == 3
        other.leave()


def test_the_tasks_of_a_run_do_one_pass_over_its_ids(visits, monkeypatch):
    """While a curator of it is open in their process; then what was read is gone, and another run reads its own."""
    from pubpriv.data import id_pass, person_table

    ledger, path = visits
    table, read = pp.PrivateTable.open(path, ["x"], person="who"), []
    parts = id_pass.IdPass._parts
    monkeypatch.setattr(id_pass.IdPass, "_parts", lambda asked: read.append(asked) or parts(asked))
    with pp.Curator(table, ledger, "visits", RHO, "r") as curator:
        curator.begin("mean", {}, PUBLIC)
        already = len(read)
        for label in ("mean/a", "mean/b"):
            task = curator.handle.open()
            task.release(Counts(Everything(), 1 << 40), label)
            task.leave()
        assert len(read) == already
        assert len(person_table._READ) == 1
        with pp.Curator(table, ledger, "visits", ZeroConcentratedDP("0.5"), "other") as other:
            other.begin("mean", {}, PUBLIC)
        assert len(read) > already
    assert not person_table._READ


def test_ids_that_change_while_a_run_is_under_way_fail_with_the_one_text(visits):
    """The charge stays; nothing is answered from weights of other rows."""
    ledger, path = visits
    table = pp.PrivateTable.open(path, ["x"], person="who")
    curator = pp.Curator(table, ledger, "visits", RHO, "r")
    curator.begin("mean", {}, PUBLIC)
    curator._source = curator._unit.source(remembered=False)
    curator.release(Counts(Everything(), 1 << 40), "mean/before")
    pq.write_table(pa.table({"who": np.zeros(40, dtype=int), "x": np.zeros(40)}), path)
    with pytest.raises(PrivateStepFailed):
        curator.release(Counts(Everything(), 1 << 40), "mean/after")


def test_counts_are_blended_where_n_is_not_exact():
    """By their noise; where n is exact a count within its noise of it changes nothing."""
    assert Size(100).counted(97.0, 2.0, 2.0, 2.0) == 100
    assert Size(100).counted(90.0, 2.0, 2.0, 2.0) == 90
    assert Size(100, 3.0).counted(94.0, 3.0, 2.0, 2.0) == 97
    assert Size(100, 3.0).counted(80.0, 3.0, 2.0, 2.0) == 80


def test_auto_counts_more_rows_where_noise_is_small():
    """Once each for few persons; many rows each where there are many persons with many."""
    few = (500.0, 300.0, 400.0, 300.0, 200.0, 100.0, 50.0)
    assert Sizes(few, 1.0).rows_that_pay(5, 0.01) == 1
    assert Sizes(tuple(1000 * count for count in few), 1.0).rows_that_pay(5, 1.0) >= 8
    assert Sizes((1000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 1.0).rows_that_pay(5, 1.0) == 1
    assert Sizes((1000.0, 90.0, -20.0, 0.0, 50.0, 9.0, 90.0), 60.0).rows_that_pay(5, 1.0) == 1


def test_auto_weighs_what_may_be_left_out_by_its_chances():
    """A small chance of much does not outweigh a large one of nothing; answers that say little leave the odds."""
    sizes = Sizes((6000.0, 1500.0, 1300.0, 800.0, 200.0, 150.0, 50.0), 10.0)
    nothing, much = 0.02, 1.28
    certain = [sizes.rows_that_pay(3, 0.03, ((difference, 1.0),)) for difference in (nothing, much)]
    assert certain[0] == 1
    assert certain[1] >= 16
    assert sizes.rows_that_pay(3, 0.03, ((nothing, 0.95), (much, 0.05))) <= 2
    public = np.random.default_rng(0).normal(size=(20, 3))
    asked = differing.asked(Purse.of(ZeroConcentratedDP("0.03")), public, sizes)
    rows = {label: sizes.counted(question.most) for label, question in asked.items()}
    loud, clear = (
        {label: np.full(3, off * rows[label]) for label, off in zip(asked, (0.0, way), strict=True)}
        for way in (0.0, 0.4)
    )
    chances = [dict(differing.differences(sizes, asked, sums)) for sums in (loud, clear)]
    assert all(sum(each.values()) == pytest.approx(1) for each in chances)
    assert chances[0][nothing] > 0.5 > 0.1 > chances[0][much]
    assert chances[1][nothing] < 0.01


def test_auto_counts_more_rows_where_those_of_persons_with_many_differ():
    """It asks by how much, of public rows' columns; without public rows it takes a difference for granted."""
    sizes = np.tile([1, 2, 4, 8, 16, 30], 1500)
    persons = np.repeat(np.arange(len(sizes)), sizes)
    level = np.random.default_rng(0).normal(size=(len(sizes), 2))[persons]
    budget, most = ZeroConcentratedDP("0.1"), []
    for slope in (0.0, 0.5):
        rows = level + slope * np.log(sizes)[persons][:, None]
        public = pp.PublicTable.open(rows[:40], ["x0", "x1"])
        curator = Curator.simulation(rows, budget, 1, persons=persons, rows_per_person="auto")
        purse = curator.begin("mean", {}, public)
        labels = [line.label for line in curator.statement().charges]
        assert labels == ["person/sizes", "person/mean-once", "person/mean-many", "person/rows"]
        assert purse.units * curator.size.most**2 <= budget.cap.main * 0.945 + 1
        most.append(curator.size.most)
    assert most[0] < most[1]
    given = Curator.simulation(rows, budget, 1, persons=persons, rows_per_person="auto")
    given.begin("mean", {}, PUBLIC)
    assert [line.label for line in given.statement().charges] == ["person/sizes", "person/rows"]


def test_a_method_with_more_than_the_first_questions_leave_is_refused_before_them():
    """Nothing was asked, so nothing was spent."""
    curator = Curator.simulation(np.zeros((4, 1)), RHO, 0, persons=np.arange(4))
    with pytest.raises(BudgetExceeded, match="3% of its allotment"):
        curator.begin("mean", {}, PUBLIC, RHO)
    assert not curator.statement().charges
    curator.begin("mean", {}, PUBLIC, ZeroConcentratedDP("0.97"))


def test_a_question_of_rows_that_stands_in_the_ledger_is_not_asked(visits):
    """However it came there: by hand, for this version charges none."""
    ledger, path = visits
    table = pp.PrivateTable.open(path, ["x"], person="who")
    curator = pp.Curator(table, ledger, "visits", RHO, "r")
    curator.begin("mean", {}, PUBLIC)
    with pytest.raises(InvalidInput, match="not written by a release"):
        curator._unit.check_stored(Counts.priced(Everything(), Fraction(1)))
    with pytest.raises(TypeError):
        curator._source(Counts.priced(Everything(), Fraction(1)))


def test_auto_tells_both_means_that_may_be_meant():
    """Of rows as they are, and of persons each counted once: both hold, and are notes where they differ."""
    generator = np.random.default_rng(3)
    sizes = np.tile([1, 2, 4, 8, 16, 30], 700)
    persons, level = np.repeat(np.arange(len(sizes)), sizes), generator.normal(size=len(sizes))
    rows = (level + 0.5 * np.log(sizes))[persons] + generator.normal(size=len(persons))
    other = generator.normal(5.0, 2.0, size=len(persons))
    rows = np.column_stack([rows, other])
    own = sizes[persons]
    true = {"rows": rows.mean(axis=0), "persons": (rows / own[:, None]).sum(axis=0) / len(sizes)}
    curator = Curator.simulation(rows, "zcdp:0.1", 2, persons=persons, rows_per_person="auto")
    estimate = pp.estimate_mean(pp.PublicTable.open(rows[::900], ["x0", "x1"]), curator)
    told = estimate.provenance["auto"]
    assert estimate.provenance["rows_per_person"] > 1
    for number in estimate.numbers():
        at = 0 if number.column == "x0" else 1
        for target, found in told[number.column].items():
            error = np.hypot(found["sd"], number.error)
            assert abs(number.value + found["difference"] - true[target][at]) < 3 * error, (target, number.column)
    assert told["x0"]["persons"]["difference"] < -0.2
    notes = {(finding.code, finding.columns) for finding in estimate.findings if finding.severity == "note"}
    assert {("auto-rows", ()), ("two-targets", ("x0",))} <= notes
    assert ("two-targets", ("x1",)) not in notes
    assert any("persons each counted once it is about -" in line for line in estimate.diagnostics["warnings"])
    given = Curator.simulation(rows, "zcdp:0.1", 2, persons=persons, rows_per_person=4)
    assert "auto" not in pp.estimate_mean(pp.PublicTable.open(rows[::900], ["x0", "x1"]), given).provenance
