"""The mean of private rows, with one public row or more.

Read in this order: `declaration` (what commands and flows use), `settings` (what a user may choose), `_plan` (what a
run asks and pays, and its predicted error), `_steps` (the private step), `driver` (runs the steps and combines the
answers), and `_reference` (published methods to compare with).

Notation: n private rows, m public rows, d columns; psi_r(w) = w min(1, r / |w|) clips a record to radius r.
"""
