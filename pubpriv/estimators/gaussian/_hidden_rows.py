"""Whether public rows agree with how many private ones could hide. Public."""

_SELDOM = 0.05
"""Probability below which a share of rows is not believed."""


def may_hide(count: int, m: int, share: float) -> bool:
    """Decide whether `count` of m public rows agree with at most a `share` of the private ones, which noise hides.

    If not, the private rows would have been seen, so that the public ones are not like them.
    """
    from scipy.special import betainc

    return float(betainc(count + 0.5, m - count + 0.5, min(share, 1.0))) > _SELDOM
