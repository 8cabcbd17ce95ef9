"""Seeded bugs where a dataset has periods: each is patched into the product and caught by the audit. About 8 s."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from pubpriv.audit import _hidden, _periods
from pubpriv.audit._catalogue import examples
from pubpriv.audit.finding import promised
from pubpriv.data import _dated, _dates
from pubpriv.data.questions import InPeriod
from pubpriv.ledger import questions as ledger
from pubpriv.ledger.unit.period_units import RowsOfPeriod
from pubpriv.ledger.unit.size import Size
from pubpriv.privacy.budgets import Amount
from pubpriv.privacy.ledger import _declared, _registration
from pubpriv.privacy.ledger._period_states import PeriodsState


def broken(claims):
    """What does not hold of one promise; empty if all does."""
    finding = promised("periods", "it", claims)
    return "" if finding.holds else finding.detail


def moved(name):
    """The finding on one question."""
    example = next(example for example in examples() if example.name == name)
    return _periods._moved(example.mechanism, example.question, example.attainable, 2, 0)


@pytest.mark.slow  # `pubpriv audit --fast`, which CI runs, looks at the same
def test_nothing_is_found_without_a_bug():
    """Which rows count, every question, what is enforced, and a driver."""
    assert [finding.detail for finding in _periods.findings(True, 0) if not finding.holds] == []


def test_a_row_outside_the_period_that_counts(monkeypatch):
    """The mask is forgotten, or the first day of the next month is taken too."""
    monkeypatch.setattr(_dated, "in_span", lambda array, _: np.ones(len(array), dtype=bool))
    assert "rows of 2026-10" in broken(_periods._counted(0))
    assert not moved("counts-cells").holds
    one_more = lambda array, span: _dates.in_span(array, replace(span, end=span.end + timedelta(days=1)))  # noqa: E731
    monkeypatch.setattr(_dated, "in_span", one_more)
    assert "rows of 2026-10" in broken(_periods._counted(0))


def test_a_second_table_of_a_dataset_whose_cap_is_waived(monkeypatch):
    """It is declared, or the cap is waived although there are two."""
    for module, check in ((_declared, "_check_only_one"), (_registration, "check_waived_for_one")):
        with monkeypatch.context() as bug:
            bug.setattr(module, check, lambda *_: None)
            assert "table" in broken(_periods._enforced())


@pytest.mark.parametrize("name", ["counts-everything", "bisection-linear"])
def test_a_count_that_is_paid_once_where_a_row_moves(monkeypatch, name):
    """It leaves one month and enters another, and changes a count of each."""
    monkeypatch.setattr(InPeriod, "squared_distance", property(lambda self: self.inner.squared_distance))
    assert "further than the cap of one" in moved(name).detail


def test_a_question_that_costs_more_than_its_driver_paid(monkeypatch):
    """Without more noise a run would be refused halfway."""
    monkeypatch.setattr(InPeriod, "of_rows", classmethod(lambda cls, question, period: cls(question, period)))
    assert "costs more" in moved("counts-everything").detail


def test_a_charge_without_its_period(monkeypatch):
    """The ledger takes any question for one of the run's period."""
    monkeypatch.setattr(ledger, "period_of", lambda _: "2026-10")
    assert "a charge names its period" in broken(_periods._enforced())


def test_caps_that_are_not_enforced(monkeypatch):
    """Of a period, by runs of it and by those without one."""
    monkeypatch.setattr(PeriodsState, "remaining", property(lambda _: Amount(10**18, 10**30)))
    assert "a period has its own cap; a run without a period fits every one" in broken(_periods._enforced())


def test_the_number_of_rows_in_what_drivers_know(monkeypatch):
    """The unit takes it from the table."""

    def peek(self):
        rows = sum(int(np.count_nonzero(np.concatenate(list(chunk.keys())))) for chunk in self._table.chunks())
        return Size(max(rows, 2), 1.0, float(max(rows, 2)))

    monkeypatch.setattr(RowsOfPeriod, "size", property(peek))
    finding = _hidden.of_period(_hidden.drivers(0)[0], 0)
    assert "depends on the number of rows" in finding.detail
