"""Questions about a sample of the records, chosen by their own cells: which these are, and who may ask."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import pubpriv as pp
from pubpriv.audit import _samples
from pubpriv.audit._attacks import attacks_on_rows
from pubpriv.data import memory, questions
from pubpriv.data.frames import Frame
from pubpriv.data.pieces import Chunk
from pubpriv.data.questions import Counts, LiftedGram, OfSample, PerPerson
from pubpriv.data.questions.of_rows import WEIGHED
from pubpriv.data.regions import Everything
from pubpriv.data.samples import SampledChunk, sampled
from pubpriv.data.scan import scan, scan_together
from pubpriv.data.tables import ArrayTable
from pubpriv.errors import InvalidInput
from pubpriv.ledger.unit.units import RowUnit

N, EVERY = 10_007, 7
ROWS = np.random.default_rng(1).normal(0, 3, (N, 2))
ROWS[::50, 0] = np.nan
WITHIN = sampled(ROWS.T, EVERY)
OWN = ROWS[WITHIN]
ASKED = [OfSample(each.question, EVERY) for each in attacks_on_rows() if type(each.question) in WEIGHED]


def bits(totals):
    return {name: values.tolist() for name, values in totals.items()}


EXPECTED = [bits(scan(ArrayTable.of(OWN), asked.inner, here=True)) for asked in ASKED]


def test_about_one_record_in_so_many_is_in_a_sample():
    """Like draws at random, in every part of the table, whatever the columns and their scales."""
    generator = np.random.default_rng(2)
    for rows in (generator.normal(size=(1, 60_000)), 1e9 + generator.random((3, 60_000)), np.arange(60_000.0)[None]):
        for every in (2, 7, 100):
            within = sampled(rows, every)
            for part in np.array_split(within, 5):
                expected = len(part) / every
                assert abs(part.sum() - expected) < 5 * expected**0.5
    assert sampled(generator.normal(size=(2, 100)), 1).all()


def test_a_record_is_in_it_by_its_own_cells():
    """Not by its place or its company, and zeros are equal; another cell is another draw."""
    order = np.random.default_rng(3).permutation(N)
    assert np.array_equal(sampled(ROWS.T[:, order], EVERY), WITHIN[order])
    assert [bool(sampled(row[:, None], EVERY)[0]) for row in ROWS[:50]] == WITHIN[:50].tolist()
    zeros = np.zeros((1, 300)), np.full((1, 300), -0.0)
    assert len({bool(each.all()) for each in (sampled(zero, 3) for zero in zeros)}) == 1
    moved = np.array([sampled(np.array([[1.0 + i], [2.0]]), 2)[0] for i in range(200)])
    assert 60 < moved.sum() < 140


def test_the_hash_is_the_same_in_every_version():
    """Stored questions name no hash: a run that is resumed has to find its sample again."""
    rows = np.arange(40.0).reshape(2, 20) / 3
    assert np.flatnonzero(sampled(rows, 3)).tolist() == PINNED


PINNED = [2, 11, 16]


def table_in(folder, form):
    """The rows in one file or several, in pieces of any size."""
    cells = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]})
    if form == "parquet":
        pq.write_table(cells, folder / "t.parquet", row_group_size=333)
    elif form == "folder":
        for number, start in enumerate(range(0, N, 4_000)):
            pq.write_table(cells.slice(start, 4_000), folder / f"{number}.parquet", row_group_size=3_000)
    elif form == "csv":
        pa.csv.write_csv(cells, folder / "t.csv")
    else:
        pa.feather.write_feather(cells, str(folder / "t.feather"), chunksize=1_111)
    return pp.PrivateTable.open(folder, ["a", "b"])


@pytest.mark.parametrize("form", ["parquet", "folder", "csv", "feather"])
def test_totals_are_those_of_a_table_of_the_sample_alone(form, tmp_path):
    """In every format, for any number of threads, from all rows, and from chunks that hold the sample."""
    table = table_in(tmp_path, form)
    assert list(map(bits, scan_together(table, ASKED))) == EXPECTED
    with ThreadPoolExecutor(3) as executor:
        assert list(map(bits, scan_together(table, ASKED, executor))) == EXPECTED
    assert list(map(bits, scan_together(ArrayTable.of(ROWS), ASKED, here=True))) == EXPECTED
    kept = memory._Remembered(table, EVERY)
    for _ in range(2):
        assert list(map(bits, scan_together(kept, ASKED))) == EXPECTED
        assert kept.gathered


def test_a_chunk_of_a_sample_travels(tmp_path):
    """Its blocks are full but for the last one."""
    chunk = SampledChunk(table_in(tmp_path, "csv").chunks()[0], 2)
    blocks = [block.copy() for block in chunk.blocks()]
    again = pickle.loads(pickle.dumps(chunk))
    assert np.array_equal(blocks, [block.copy() for block in again.blocks()], equal_nan=True)
    rows = np.concatenate(blocks, axis=1)
    expected = ROWS[sampled(ROWS.T, 2)]
    assert np.array_equal(rows[:, : len(expected)].T, expected, equal_nan=True)
    assert np.isnan(rows[:, len(expected) :]).all()


@pytest.mark.parametrize("limit", ["small", "large"])
def test_a_curator_gathers_a_sample_in_one_pass(limit, tmp_path, monkeypatch):
    """Of a table that is read again for other questions, and of one that is in memory anyway."""
    table, read, real = table_in(tmp_path, "parquet"), [], Chunk.blocks
    monkeypatch.setattr(Chunk, "blocks", lambda chunk: (read.append(chunk.piece.number), real(chunk))[1])
    if limit == "large":
        monkeypatch.setattr(memory, "MOST_BYTES", N * 2 * 8 - 1)
    with pp.Ledger.open(f"sqlite:///{tmp_path}.db") as ledger:  # beside the folder, which is the table
        ledger.register("t", budget=pp.ZeroConcentratedDP(100), table=table)
        with pp.Curator(table, ledger, "t", pp.ZeroConcentratedDP(20)) as curator:
            curator.begin("test", {}, "f00")
            first = curator.release(OfSample(COUNT, EVERY), "one")
            curator.release(OfSample(LOUDER, EVERY), "two")
            assert curator.passes == 1
            curator.release(COUNT, "three")
            assert curator.passes == 2
    assert len(read) == len(table.chunks()) * (2 if limit == "large" else 1)
    assert first.question == OfSample(COUNT, EVERY)
    assert abs(first.values["count"][0] - np.isfinite(OWN).all(axis=1).sum()) < 40


def test_a_pass_for_another_question_keeps_the_sample_that_was_foreseen(tmp_path, monkeypatch):
    """Of a table that is read each time: the same answers as from a pass of its own, and one pass less."""
    table = table_in(tmp_path, "parquet")
    monkeypatch.setattr(memory, "MOST_BYTES", N * 2 * 8 - 1)

    def answers(*foreseen):
        curator = pp.Curator.simulation(ROWS, pp.ZeroConcentratedDP(1000), seed=1)
        curator._source = RowUnit(table).source(remembered=True)
        curator.foresee(*foreseen)
        made = [curator.release(asked, f"{number}") for number, asked in enumerate((COUNT, *ASKED))]
        return [values.tolist() for answer in made for values in answer.values.values()], curator.passes

    (apart, two), (beside, one) = answers(), answers(ASKED[0])
    assert (two, one) == (2, 1)
    assert beside == apart


@pytest.mark.parametrize("first", ["all rows", "the sample"])
def test_an_executor_brings_the_sample_along_with_the_first_pass(first, tmp_path, monkeypatch):
    """Chunks travel, and come back in any order; the sample is then asked here. The answers are those of threads."""
    table, asked = table_in(tmp_path, "folder"), [COUNT, *ASKED] if first == "all rows" else ASKED
    monkeypatch.setattr(memory, "MOST_BYTES", N * 2 * 8 - 1)

    class Travelling(ThreadPoolExecutor):
        def map(self, work, *parts, **_):
            made = [self.submit(*pickle.loads(pickle.dumps((work, *each)))) for each in zip(*parts, strict=True)]
            return (pickle.loads(pickle.dumps(each.result())) for each in reversed(made))

    def answers(executor):
        curator = pp.Curator.simulation(ROWS, pp.ZeroConcentratedDP(1000), seed=1, executor=executor)
        curator._source = RowUnit(table).source(remembered=True)
        curator.foresee(ASKED[0])
        made = [curator.release(question, f"{number}") for number, question in enumerate(asked)]
        return [values.tolist() for answer in made for values in answer.values.values()], curator.passes

    with Travelling(2) as executor:
        there, passes = answers(executor)
    assert (there, passes) == (answers(None)[0], 1)


COUNT = Counts.priced(Everything(), Fraction(1))
LOUDER = replace(COUNT, noise_scale=1 << 31)


def test_a_look_at_a_sample_sums_what_is_asked_of_it(tmp_path):
    """Another sample, and all rows, have passes of their own where the sample is kept."""
    table = table_in(tmp_path, "parquet")
    with pp.Ledger.open(f"sqlite:///{tmp_path}.db") as ledger:  # beside the folder, which is the table
        ledger.register("t", budget=pp.ZeroConcentratedDP(100), table=table)
        with pp.Curator(table, ledger, "t", pp.ZeroConcentratedDP(20)) as curator:
            curator.begin("test", {}, "f00")
            curator.foresee(OfSample(LOUDER, EVERY), OfSample(LOUDER, 5), LOUDER)
            curator.release(OfSample(COUNT, EVERY), "one")
            known = [curator._looks.has(each) for each in (OfSample(LOUDER, EVERY), OfSample(LOUDER, 5), LOUDER)]
    assert known == [True, False, False]


def test_who_has_no_proof_is_refused():
    """Persons and pure runs, although the same argument would cover them; and questions that are no sums."""
    who = pp.Curator.simulation(ROWS, pp.ZeroConcentratedDP(20), seed=1, persons=np.arange(N) + 1)
    who.begin("test", {}, "f00")
    pure = pp.Curator.simulation(ROWS, "pure:9", seed=1)
    for curator in (who, pure):
        assert not curator.asks_of_samples
        before = len(curator.statement().charges)
        with pytest.raises(InvalidInput):
            curator.release(OfSample(COUNT, EVERY), "one")
        assert len(curator.statement().charges) == before
    assert pp.Curator.simulation(ROWS, "approx:1,1e-6", seed=1).asks_of_samples
    inside = OfSample(COUNT, EVERY)
    for make in (
        lambda: OfSample(inside, EVERY),
        lambda: OfSample(PerPerson(COUNT, 1, 1), EVERY),
        lambda: OfSample(questions.StableCells(Frame((0.0, 0.0)), 1, 0, 1 << 30, 1), EVERY),
        lambda: OfSample(COUNT, 0),
        lambda: OfSample(COUNT, 2.0),
        lambda: PerPerson(inside, 1, 1),
        lambda: questions.InPeriod(inside, "2026-11"),
        lambda: questions.Radial(inside),
    ):
        with pytest.raises(InvalidInput):
            make()


def test_a_question_of_a_sample_costs_what_it_costs_of_all_rows():
    for asked in ASKED:
        assert asked.squared_distance == asked.inner.squared_distance
        assert dict(asked.parts) == dict(asked.inner.parts)


def test_the_audit_of_samples_holds_and_reaches_its_bounds():
    found = [*_samples.findings(True, 0)]
    assert len(found) == len(ASKED)
    assert [finding.detail for finding in found if not finding.holds] == []
    assert sum(finding.found > 0.99 * finding.claimed for finding in found) > len(found) / 2


def by_place(records, every):
    return np.arange(records.shape[1]) % every == 0


@pytest.mark.parametrize("wrong", ["by place", "all", "cheap"])
def test_the_audit_notices(wrong, monkeypatch):
    """A sample by place, one that others are in, and a price that counts on sampling."""
    if wrong == "cheap":
        monkeypatch.setattr(OfSample, "squared_distance", property(lambda asked: asked.inner.squared_distance / 9))
    else:
        other = by_place if wrong == "by place" else lambda records, _: np.full(records.shape[1], True)
        monkeypatch.setattr("pubpriv.data.questions.of_sample.sampled", other)
    assert not all(finding.holds for finding in _samples.findings(True, 0))


def test_a_gram_of_a_sample_is_that_of_its_rows():
    """With the noise of the question, in its own units."""
    curator = pp.Curator.simulation(ROWS, pp.ZeroConcentratedDP(1000), seed=1)
    shares = Fraction(1, 5), Fraction(2, 5), Fraction(2, 5)
    gram = LiftedGram.priced(Everything(), (Frame((0.0, 0.0)),), (20.0,), Fraction(100), shares)
    answer = curator.release(OfSample(gram, EVERY), "gram")
    assert (answer.question.frames, answer.question.radii) == (gram.frames, gram.radii)
    whole = OWN[np.isfinite(OWN).all(axis=1)]
    assert np.allclose(answer.values["moment"][0], whole.T @ whole, atol=6 * answer.question.noise()["moment"].max())
