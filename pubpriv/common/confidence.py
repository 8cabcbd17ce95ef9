"""How sure a released number has to be before anything is said of it."""

SURELY = 4.2
"""Standard deviations that noise alone does not reach. A deficit larger than this means that rows lack values."""
