"""The mean of private rows, with one public row or more.

`plan` prices the steps, `steps` has them as pure functions, `pipeline` calls them in order, `reference` holds the
methods to compare with, and `declaration` is what commands and flows see.

Notation: n private rows, m public rows, d columns; psi_r(w) = w min(1, r / |w|) clips a record to radius r.
"""
