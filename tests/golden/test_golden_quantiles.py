"""Every build releases the same quantiles, shares and intervals as the golden runs."""

from copy import deepcopy

import pytest

from golden.quantile_runs import all_runs, read


def complaints(golden, found):
    """Say what differs; nothing if nothing does."""
    yield from (f"{name}: only here or there" for name in golden.keys() ^ found.keys())
    for name in golden.keys() & found.keys():
        yield from (f"{name}: {each} only here or there" for each in golden[name].keys() ^ found[name].keys())
        for each in golden[name].keys() & found[name].keys():
            if found[name][each] != pytest.approx(golden[name][each], rel=1e-8, abs=1e-12):
                yield f"{name}: {each} was {golden[name][each]}, is {found[name][each]}"


@pytest.fixture(scope="module")
def golden():
    return read()


def test_this_build_releases_the_golden_quantiles(golden):
    assert not list(complaints(golden, all_runs())), "if this is meant: python -m tests.golden, and look at the diff"


def test_a_change_is_told(golden):
    found = deepcopy(golden)
    found["lognormal 1000"]["quantile:x0@0.5"][0] *= 1 + 1e-7
    del found["groups 5000"]["quantile:x2@0.5[a]"]
    assert len(list(complaints(golden, found))) == 2
    assert not list(complaints(golden, golden))


def test_each_kind_of_run_is_there(golden):
    """Heaps are exact, a small group has no median, and public rows that lie elsewhere flag nothing."""
    assert golden["ages 1000"]["quantile:x0@0.5"][0] == 45
    assert "quantile:x0@0.5[a]" in golden["groups 5000"]
    assert golden["shares 5000"]["share:x1@missing"]
    assert (
        golden["unseen-heap 1000"]["quantile:x0@0.5"][1] <= 30_000 <= golden["unseen-heap 1000"]["quantile:x0@0.5"][2]
    )
