"""The mean of private rows, with one public row or more.

Read in this order: `declaration` is what commands and flows see, `settings` what a user may choose, `plan` what a run
asks and pays, and how far off its answer would be. `steps` has the private step as a pure function, `driver` calls it
and combines the answers, and `reference` holds the methods to compare with.

Notation: n private rows, m public rows, d columns; psi_r(w) = w min(1, r / |w|) clips a record to radius r.
"""
