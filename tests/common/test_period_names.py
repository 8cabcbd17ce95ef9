"""Calendar periods by name."""

from datetime import date, timedelta
from itertools import pairwise

import pytest

from pubpriv.common.periods import UNITS, Span
from pubpriv.errors import InvalidInput


@pytest.mark.parametrize("unit", UNITS)
def test_each_day_is_in_one_period_of_a_unit(unit):
    """Periods follow each other without a gap, and a name leads back to its period, over leap years and long ones."""
    days = [date(2019, 12, 20) + timedelta(days=i) for i in range(2600)]
    spans = list(dict.fromkeys(Span.holding(unit, day) for day in days))
    assert all(earlier.end == later.start and later.before() == earlier for earlier, later in pairwise(spans))
    assert all(Span.of(span.name) == span for span in spans)
    assert [span.name for span in spans] == sorted({span.name for span in spans})
    assert all(span.start <= day < span.end for day in days for span in [Span.holding(unit, day)])


@pytest.mark.parametrize(
    "name", ["2026-13", "2026-W54", "2025-W53", "2026-Q5", "2026-1", "2026-02-30", "", "9999", 2026]
)
def test_what_names_no_period_is_refused(name):
    """Whatever looks like a name and is none."""
    with pytest.raises(InvalidInput, match="period"):
        Span.of(name)
