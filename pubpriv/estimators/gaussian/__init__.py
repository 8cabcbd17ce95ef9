"""Mean and covariance of private rows, with a little public data.

Read in this order: `declaration` (what commands and flows use), `settings` (what a user may choose), `_plan` (what a
run asks and pays), `_forecast` (its predicted error). Steps are pure functions, in `_preconditioner`,
`_degenerate_columns` and `_learner`. `driver` calls them in order (`_table_driver`, with steps of its own, for the
targets `moments` and `auto`; `_reference` for the paper's algorithm 2), and `_results` makes the released model.
`clipping` has the formulas.

Notation: n private rows, m public rows, d columns; psi_r(w) = w min(1, r / |w|) clips a record to radius r.
"""
