"""Groups drawn together: by as much as their errors say, never further than is known, and one odd group apart."""

import numpy as np
import pytest

from pubpriv.estimators.groups._shrinkage import between_groups, drawn_together


def world(between, groups=40, entries=3, seed=0):
    """(true, seen, variances): groups of very different errors."""
    generator = np.random.default_rng(seed)
    variances = np.geomspace(0.001, 1.0, groups)[:, None]
    true = 2.0 + between * generator.standard_normal((groups, entries))
    return true, true + np.sqrt(variances) * generator.standard_normal((groups, entries)), variances


@pytest.mark.parametrize("between", [0.0, 0.1, 0.5, 3.0])
def test_drawn_groups_are_nearer_than_their_own_numbers_and_than_the_mean(between):
    """Mean squares over forty groups and ten worlds."""
    errors = []
    for seed in range(10):
        true, seen, variances = world(between, seed=seed)
        drawn = drawn_together(seen, variances, variances)
        errors.append([np.mean((a - true) ** 2) for a in (drawn.values, seen, np.broadcast_to(2.0, true.shape))])
    own, raw, mean = np.sqrt(np.mean(errors, axis=0))
    assert own < 1.1 * min(raw, max(mean, 0.15 * raw))


def test_intervals_hold_what_they_are_of():
    """Ninety in a hundred and more, whether groups differ or not."""
    for between in (0.0, 0.2, 1.0):
        inside = []
        for seed in range(10):
            true, seen, variances = world(between, groups=12, seed=seed)
            drawn = drawn_together(seen, variances, variances)
            sd = np.hypot(drawn.own * np.sqrt(variances), drawn.error)
            inside.append(np.abs(drawn.values - true) < 1.96 * sd)
        assert np.mean(inside) > 0.9


def test_variance_between_groups_is_found():
    """As it is, within what forty groups tell; with one for all entries as well; its bounds lie around it."""
    _, seen, variances = world(0.5, groups=400)
    variances = np.broadcast_to(variances, seen.shape)
    assert between_groups(seen, variances, 0.5) == pytest.approx([0.25] * 3, rel=0.3)
    low, middle, high = (between_groups(seen, variances, chance, jointly=True)[0] for chance in (0.95, 0.5, 0.05))
    assert low < middle < high
    assert between_groups(seen * 0, variances, 0.5).tolist() == [0.0] * 3


def test_one_odd_group_neither_drags_the_others_nor_is_dragged():
    """Forty groups alike, and one ten sds away."""
    _, seen, variances = world(0.05, entries=1)
    odd = np.vstack([seen, [[12.0]]])
    drawn = drawn_together(odd, *[np.vstack([variances, [[0.5]]])] * 2)
    assert drawn.values[-1, 0] > 11
    assert abs(drawn.center[0] - 2.0) < 0.3


def test_a_group_alone_is_as_it_was_released():
    """There is nothing to draw it to."""
    drawn = drawn_together(np.array([[1.0, 2.0]]), *[np.array([[0.5, 0.5]])] * 2)
    assert drawn.values.tolist() == [[1.0, 2.0]]
    assert drawn.error.tolist() == [[0.0, 0.0]]
