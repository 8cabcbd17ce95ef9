import numpy as np
import pytest

from pubpriv.data.tables import PublicTable
from pubpriv.errors import InvalidInput
from pubpriv.schemas.public import validate_public


def test_a_sound_table_passes():
    validate_public(PublicTable(("age", "cost"), np.ones((3, 2))), ["age", "cost"])


def test_other_columns_do_not_matter():
    validate_public(PublicTable(("age", "cost"), np.ones((3, 2))), ["cost"])


@pytest.mark.parametrize(
    ("columns", "rows", "wanted", "says"),
    [
        (("age",), [[1.0], [np.inf]], ["age"], "column 'age': must be finite in row 1 (found inf)"),
        (("age",), [[1.0]], ["cost"], "cost"),
        (("age", "age"), [[1.0, 2.0]], ["age"], "age"),
        (("age",), np.empty((0, 1)), ["age"], "at least one row"),
    ],
)
def test_a_broken_promise_is_told_in_one_line(columns, rows, wanted, says):
    with pytest.raises(InvalidInput) as refusal:
        validate_public(PublicTable(columns, np.array(rows)), wanted)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)
