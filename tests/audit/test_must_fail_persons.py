"""Seeded bugs where the unit is a person: each is patched into the product and caught by the audit. About 4 s.

What is patched is the code that a real run uses; the audit's own findings must then not hold, and without the patch
they do.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from pubpriv.audit import _hidden, _persons
from pubpriv.curator import Curator
from pubpriv.data import frames, id_pass, person_table, tables
from pubpriv.data.questions import PersonSizes, Radial
from pubpriv.data.questions.per_person import PerPerson
from pubpriv.data.regions import View
from pubpriv.ledger import questions as ledger


def weights_broken():
    """What small tables of weights show."""
    return _persons._weights(40, 0).detail


def promise(name, claims):
    """What does not hold of one promise; empty if all does."""
    finding = _persons.promised("persons", name, claims)
    return "" if finding.holds else finding.detail


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_nothing_is_found_without_a_bug():
    """All findings of a fast audit."""
    assert [finding.detail for finding in _persons.findings(True, 0) if not finding.holds] == []


def test_rows_of_a_person_that_are_counted_by_row_group(monkeypatch):
    """A person with rows in two row groups would count twice."""
    right = id_pass.weights_of

    def by_group(keys, most, grain):
        return np.concatenate([right(keys[i : i + 70], most, grain) for i in range(0, len(keys), 70)])

    monkeypatch.setattr(id_pass, "weights_of", by_group)
    assert "persons have one key each" in promise("files", _persons._files(0))


def test_weights_of_a_file_that_is_no_longer_there(monkeypatch):
    """The ids are not compared again."""
    blocks = lambda self: self.chunk.keyed_blocks(self.length, lambda _: None)  # noqa: E731
    monkeypatch.setattr(person_table._WeightedChunk, "blocks", blocks)
    assert "other ids after rows were counted" in promise("replaced", _persons._replaced())


def test_one_grain_too_many(monkeypatch):
    """The rows of each person weigh G L + 1."""
    right = _persons.weights_of

    def more(keys, most, grain):
        weights = right(keys, most, grain)
        rows = np.unique(keys, return_index=True)[1]
        weights[rows[keys[rows] != 0]] += 1
        return weights

    monkeypatch.setattr(_persons, "weights_of", more)
    monkeypatch.setattr(id_pass, "weights_of", more)
    assert "do not weigh G min(n, L)" in weights_broken()
    counts = next(e for e in _persons.examples() if e.name == "counts-everything")
    assert "further than declared" in _persons._moved("", PerPerson(counts.question, 1, 64), 1.0, 3, 0).detail


def test_a_price_that_forgets_how_many_rows_count(monkeypatch):
    """L S instead of L^2 S."""
    wrong = property(lambda self: self.most * self.inner.squared_distance)
    monkeypatch.setattr(PerPerson, "squared_distance", wrong)
    counts = next(e for e in _persons.examples() if e.name == "counts-cells")
    for asked in (PerPerson(counts.question, 3, 64), Radial(PerPerson(counts.question, 3, 64))):
        assert "further than declared" in _persons._moved("", asked, 1.0, 3, 0).detail


def test_a_price_by_region_that_forgets_how_many_rows_count(monkeypatch):
    """Regions of which a person moves several, as if one record did."""
    monkeypatch.setattr(PerPerson, "squared_length", property(lambda self: self.inner.squared_length))
    counts = next(e for e in _persons.examples() if e.name == "counts-cells")
    asked = Radial(PerPerson(counts.question, 3, 64), by_region=True)
    assert "further than declared" in _persons._moved("", asked, 1.0, 3, 0).detail


def test_a_count_of_persons_that_forgets_one_of_two_bins(monkeypatch):
    """Priced as if a person could only come or go."""
    right = PersonSizes.squared_distance
    monkeypatch.setattr(PersonSizes, "squared_distance", property(lambda self: right.fget(self) / 2))
    assert not _persons._counted(10, 0).holds


def _map_that_knows_places(self, block, out):
    """As a product with blocks of another length might: the last bits follow the column's place."""
    center, matrix = self.dense()
    np.matmul(matrix, block - center[:, None], out=out)
    out[:, ::2] *= 1 + 2.0**-17  # beyond a last bit, so that the integers of few rows show it
    return out


def test_a_map_that_depends_on_the_place(monkeypatch):
    """Rows of others move, and add something else."""
    monkeypatch.setattr(frames.Frame, "map", _map_that_knows_places)
    monkeypatch.setattr("pubpriv.data.scan.check_places", lambda *_: None)  # which would refuse it: see test_places.py
    assert "rows of others add what they added" in promise("places", _persons._placed(0))


def test_a_nearest_point_whose_product_rounds_otherwise_in_the_last_places_of_a_block(monkeypatch):
    """As a product of records and points did on some kernels, though that of points and records did not."""
    right = View.products

    def products(self, left, records):
        made = right(self, left, records)
        made[:, -4:] = left[:, ::-1] @ records[::-1, -4:]
        return made

    monkeypatch.setattr(View, "products", products)
    monkeypatch.setattr("pubpriv.data.scan.check_places", lambda *_: None)
    assert "records beside a bisector" in promise("places", _persons._placed(0))


def test_the_number_of_rows_in_what_drivers_know(monkeypatch):
    """The exact n, as where the unit is a row."""
    monkeypatch.setattr(Curator, "n_rows", property(lambda self: max(2, self._table.n_rows)))
    finding = _hidden.of_persons(_hidden.drivers(0)[0], 0)
    assert not finding.holds
    assert "depend" in finding.detail


def test_ids_among_the_columns(monkeypatch):
    """Whose row it is would be averaged."""
    monkeypatch.setattr(tables, "id_columns", lambda person, columns: (person,) if isinstance(person, str) else person)
    assert "ids are no columns" in promise("terms", _persons._registered())


def test_lines_that_are_taken_for_records_of_persons(monkeypatch):
    """Nobody asks the ledger whether a cell may contain a line break: one person's note would be others' rows."""
    monkeypatch.setattr(tables, "is_delimited", lambda where: False)
    assert "only if their owner says so" in promise("terms", _persons._registered())


def test_a_handle_that_tells_how_many_pieces_a_table_has(monkeypatch):
    """In its text, and so in that of a run's handle."""
    monkeypatch.setattr(tables.PrivateTable, "__repr__", lambda self: f"{len(self.chunks())} pieces")
    found = _hidden.of_handles().detail
    assert "persons: the table; persons: the run" in found


def test_groups_and_messages_that_know_the_number_of_rows(monkeypatch):
    """Groups are drawn to as many rows as there are, and somebody says how many."""
    by_group = next(each for each in _hidden.drivers(0) if "mean, by group" in each.name)
    assert _hidden.of_persons(by_group, 0).holds
    right = Curator.size
    monkeypatch.setattr(Curator, "size", property(lambda self: replace(right.fget(self), rows=self._table.n_rows + 2)))
    assert "what is returned depends" in _hidden.of_persons(by_group, 0).detail
    monkeypatch.setattr(Curator, "size", right)
    rehearse = Curator.rehearse

    def saying(self, *plans):
        warnings.warn(f"{self._table.n_rows} rows", stacklevel=2)
        rehearse(self, *plans)

    monkeypatch.setattr(Curator, "rehearse", saying)
    assert "what is said depends" in _hidden.of_persons(by_group, 0).detail


def one_row(name):
    """The finding on one row of each person."""
    return _persons.of_one_row(_persons.example_of(name), 10, 0)


def test_more_than_one_row_of_a_person(monkeypatch):
    """A choice, or a cell, sees every row; or one of each, of more persons than there is room for."""
    assert one_row("selection").holds
    assert one_row("stable-cells").holds
    monkeypatch.setattr(PerPerson, "totals", lambda self, view: self.inner.totals(view))
    assert "further than declared" in one_row("selection").detail
    assert "further than declared" in one_row("stable-cells").detail
    monkeypatch.undo()
    monkeypatch.setattr(person_table, "first_of", lambda weights, _: weights)
    assert "the first persons" in one_row("stable-cells").detail


def test_cells_that_nobody_pays_the_failures_of(monkeypatch):
    """Priced as Gaussian noise alone."""
    monkeypatch.setattr(ledger, "of_one_row", lambda _: None)
    assert "not charged as the question within" in one_row("stable-cells").detail
