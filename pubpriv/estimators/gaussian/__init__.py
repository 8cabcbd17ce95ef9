"""Mean and covariance of private rows, with a little public data.

Read in this order: `declaration` is what commands and flows see, `settings` what a user may choose, `plan` what a run
asks and pays, `forecast` how far off its answers would be. Steps are pure functions: `preconditioner`,
`degenerate_columns`, `learner` and `quantiles`. `driver` calls them in order (`table_driver`, with steps of its own,
for the targets `moments` and `auto`, `reference` for the paper's algorithm 2), and `results` makes a model of what
they found. `clipping` has the formulas.

Notation: n private rows, m public rows, d columns; psi_r(w) = w min(1, r / |w|) clips a record to radius r.
"""
