"""How many rows lack no value is counted in one place, whatever asks: exactly, unless clearly fewer, or pooled."""

import numpy as np
import pytest

import pubpriv as pp
from pubpriv.estimators._whole_rows import left_out, whole_rows
from pubpriv.ledger.unit import Size

COUNTS = np.array([40.0, 30.0, 21.0, 5.0])


@pytest.mark.parametrize(
    ("size", "sd", "share", "rows"),
    [
        (Size(100), 2.0, 1.0, 100.0),  # 4 less, with a noise of 4
        (Size(100), 0.4, 1.0, 96.0),
        (Size(50), 2.0, 2.0, 50.0),  # each row is in two regions
        (Size(52), 0.4, 2.0, 48.0),
        (Size(100, 4.0), 2.0, 1.0, 98.0),  # the mean of both, of one noise
        (Size(200, 4.0), 2.0, 1.0, 96.0),
    ],
)
def test_rows_are_all_unless_clearly_fewer_or_the_mean_of_two_counts(size, sd, share, rows):
    """By 4.2 sds of the noise of the sum."""
    assert whole_rows(size, COUNTS, sd, share) == pytest.approx(rows)


def test_a_table_without_a_whole_row_has_one():
    """For it is divided by."""
    assert whole_rows(Size(1000), np.array([-3.0, 2.0]), 1.0) == 1


def test_what_lacks_is_said_where_all_rows_are_known():
    """Where their number was released it is that of whole rows: two counts of them that differ are noise."""
    (text,) = left_out(Size(100), 75.0, 2.0)
    assert text.startswith("about 25% (\u00b12%, standard error) of the private rows have a missing")
    assert left_out(Size(1000), 1.0, 0.5)[0].startswith("about 99.9% (\u00b10.05%, standard error) of the private rows")
    assert left_out(Size(100), 100.0, 2.0) == ()
    assert left_out(Size(100), 93.0, 2.0) == ()  # noise alone may do that
    assert left_out(Size(100, 4.0), 98.0, 1.0) == ()


@pytest.mark.parametrize("n", [500, 5000])
def test_complete_tables_are_not_said_to_lack_values(n):
    """In none of forty runs; at two sds of the count one run in forty said so."""
    said = []
    for seed in range(40):
        random = np.random.default_rng([n, seed])
        curator = pp.Curator.simulation(random.normal(size=(n, 3)), "zcdp:0.5", seed)
        result = pp.estimate_gaussian(random.normal(size=(30, 3)), curator)
        said += [text for text in result.diagnostics["warnings"] if "missing" in text]
    assert said == []
