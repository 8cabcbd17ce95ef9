"""Names in one text: what is typed behind --columns and --by-values, and what messages advise to type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pubpriv.common.column_names import inside, join_columns, split_columns, text_of
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


COLUMNS = {
    "a, b ,log1p(c)": ["a", "b", "log1p(c)"],
    "age,clip(cost, 0, 9),cost / visits": ["age", "clip(cost, 0, 9)", "cost / visits"],
    'age,"weight, kg"': ["age", '"weight, kg"'],
    "`a,b`,log(`c,(d`), ` b`": ["`a,b`", "log(`c,(d`)", "` b`"],
    '`a,b` / "c,d",e': ['`a,b` / "c,d"', "e"],
    "``,a": ["``", "a"],
    'screen 5",b': ['screen 5"', "b"],
    "it`s,b": ["it`s", "b"],
    "m(a,b": ["m(a", "b"],
}


@pytest.mark.parametrize("typed", COLUMNS)
def test_texts_of_columns_keep_their_quotes(typed):
    """Since a name in quotes and an expression are two texts."""
    assert split_columns(typed) == COLUMNS[typed]


@given(st.lists(st.text('a,"`() b/', max_size=9), min_size=1))
def test_columns_of_any_names_are_read_back(names):
    """Each name by its shortest text, in a list."""
    texts = [text_of(name) for name in names]
    assert [inside(text) for text in texts] == names
    assert [inside(text) for text in split_columns(join_columns(texts))] == names
