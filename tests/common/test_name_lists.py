"""Names in one text: what is typed behind --columns and --by-values, and what messages advise to type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubpriv.common.lists import join_names, split_names

TYPED = {
    "a, b ,log1p(c)": ["a", "b", "log1p(c)"],
    "log(x,y),z": ["log(x,y)", "z"],
    "age,clip(cost, 0, 9),cost / visits": ["age", "clip(cost, 0, 9)", "cost / visits"],
    "clip(cost (a,b), 0, 9),z": ["clip(cost (a,b), 0, 9)", "z"],
    'age,"weight, kg"': ["age", "weight, kg"],
    '"[0,10)" , "[10,20)"': ["[0,10)", "[10,20)"],
    '"say ""x"", y",z': ['say "x", y', "z"],
    'screen 5",b': ['screen 5"', "b"],
    "m(a,b": ["m(a", "b"],
    "a,": ["a", ""],
    "": [""],
}


@pytest.mark.parametrize("typed", TYPED)
def test_commas_in_parentheses_and_quotes_separate_no_names(typed):
    """A sign that opens nothing is part of a name."""
    assert split_names(typed) == TYPED[typed]


@given(st.lists(st.text('a,"() b', min_size=1).map(str.strip).filter(bool), min_size=1))
def test_what_is_written_is_read_back(names):
    """Whatever stands in a name."""
    assert split_names(join_names(names)) == names
