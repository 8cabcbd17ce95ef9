"""One table has one budget: names that could share a file are told from names that could not."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubpriv.common.tables import _matches, overlap

SHARED = [
    ("/d/v.parquet", "/d/v.parquet"),
    ("/d", "/d/v.parquet"),
    ("/d/*.parquet", "/d/v.parquet"),
    ("/d/*/part.parquet", "/d/2024"),
    ("/d/a*", "/d/*1.parquet"),
    ("/d/[ab]*", "/d/b1"),
    ("/d/**/x.parquet", "/d/a/b"),
    ("s3://bucket/visits/", "s3://bucket/*/x.parquet"),
]
APART = [
    ("/d/v.parquet", "/d/w.parquet"),
    ("/d", "/data/v.parquet"),
    ("/d/v", "/d/vv"),
    ("/d/a*", "/d/b*"),
    ("/d/*_2025.parquet", "/d/*_2026.parquet"),
    ("/d/*/x.parquet", "/d/*/y.parquet"),
]


@pytest.mark.parametrize(("ours", "theirs", "shared"), [(*p, True) for p in SHARED] + [(*p, False) for p in APART])
def test_names_that_could_share_a_file(ours, theirs, shared):
    """Files, folders and globs, either way round."""
    assert overlap(ours, theirs) == overlap(theirs, ours) == shared


SEGMENTS = ("a", "b", "ab", "ba", "aa")
FILES = [list(parts) for depth in range(1, 5) for parts in itertools.product(SEGMENTS, repeat=depth)]
PATTERNS = st.lists(st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "*a", "?", "**"]), min_size=1, max_size=3)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(PATTERNS, PATTERNS)
def test_no_shared_file_is_missed(ours, theirs):
    """Whatever two globs a file belongs to, by the rules by which tables are read, the names overlap."""
    if any(_matches(file, ours, "x.parquet") and _matches(file, theirs, "x.parquet") for file in FILES):
        assert overlap("/".join(ours), "/".join(theirs))
