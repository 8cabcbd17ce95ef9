"""The picture of spending over time: what it says, where its marks stand, and that names stay text."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from pubpriv.errors import InvalidInput, Unavailable
from pubpriv.privacy.budgets import parse_budget
from pubpriv.privacy.events import GaussianEvent
from pubpriv.privacy.ledger import Ledger
from pubpriv.released.report.drawing import picture_text
from pubpriv.released.report.spending import _time_marks, check_plot, spending, write_plot


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """Records of `visits` (zcdp:2): forty closed runs that spent 0.01 each, and one open that holds 0.5 more."""
    with Ledger.open(f"sqlite:///{tmp_path_factory.mktemp('books')}/ledger.db") as ledger:
        ledger.register("visits", budget=parse_budget("zcdp:2"), unit="one patient")
        for number in range(41):
            run = ledger.run("visits", f"run-{number:02d}")
            run.open(parse_budget("zcdp:0.01" if number < 40 else "zcdp:0.6"))
            standing = run.charge(
                "a", {"type": "Counts"}, GaussianEvent(2 * Fraction("0.01" if number < 40 else "0.1"), ((1 << 30, 1),))
            )
            run.publish("a", standing.attempt, {"count": [1]})
            if number < 40:
                run.close("done")
        return ledger.balance("visits").budget, ledger.records("visits")


def test_the_picture_says_what_the_ledger_says(books):
    """Amounts in its description; the run that spent most is labelled, twelve at most; the same each time."""
    budget, records = books
    text = picture_text(spending("visits", budget, records))
    assert text == picture_text(spending("visits", budget, records))
    assert "Of 2 rho, 0.5 were spent by 41 runs and 0.5 are held by open runs; 1 left." in text
    assert ">run-40</text>" in text
    assert 1 < text.count(">run-") <= 12


def test_names_are_text(books):
    """A dataset that looks like markup is shown as it is written."""
    budget, records = books
    text = picture_text(spending("<script>x</script>\x00", budget, records))
    assert "<script>" not in text
    assert "\x00" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("seconds", [60, 600, 7200, 86400, 8e5, 6e6, 5e7, 4e8, 3e9])
def test_marks_are_round_times_inside_the_axis(seconds):
    """Two to nine of them, rising, each a whole number of its unit, from a minute to a century."""
    first = datetime(2026, 3, 5, 9, 30, 17, tzinfo=UTC)
    last = first + timedelta(seconds=seconds)
    unit, marks = _time_marks(first, last)
    assert 2 <= len(marks) <= 9
    assert first < marks[0]
    assert marks[-1] <= last
    assert marks == sorted(marks)
    smaller = {"s": "", "m": "%S", "h": "%M%S", "D": "%H%M%S", "M": "%d%H%M%S", "Y": "%m%d%H%M%S"}[unit]
    least = datetime(2000, 1, 1).strftime(smaller)  # all that is smaller than the unit stands at its beginning
    assert {mark.strftime(smaller) for mark in marks} == {least}


def test_a_place_is_checked_before_and_a_disk_that_refuses_is_said(tmp_path, books):
    """PNG is gone, and the message names the file to write instead."""
    with pytest.raises(InvalidInput, match=r"an \.svg file.*write burn\.svg"):
        check_plot(tmp_path / "burn.png")
    check_plot(tmp_path / "burn.svg")
    budget, records = books
    (tmp_path / "burn.svg").mkdir()
    with pytest.raises(Unavailable, match="cannot be written"):
        write_plot(tmp_path / "burn.svg", spending("visits", budget, records))
