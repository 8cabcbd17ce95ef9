"""Gaussian mixtures of private rows: public data separates, private answers measure.

Read in this order: `declaration` is what commands and flows see, `settings` what a user may choose, `plan` what a run
asks and pays, `forecast` how far off its answers would be. Steps are pure functions: `scaling`, `supercluster`,
`public_model`, `pca`, `seeding`, `unknown`, `partition`, `components`, `shapes` and `choice`. `driver` calls them in
the order that the regime says, and `results` makes a model of what they found. `bks` has the paper's algorithms.

Notation: n private rows, m public rows, d columns, k components, ell dimensions of a private subspace. Inside
the package coordinates are those of `Scaling`: public mean 0 and public standard deviation 1 in every column.
"""
