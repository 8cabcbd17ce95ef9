"""Gaussian mixtures of private rows: public data separates, private answers measure.

Read in this order: `declaration` (what commands and flows use), `_settings` (what a user may choose), `_plan` (what a
run asks and pays), `_forecast` (its predicted error). Steps are pure functions: `scaling`, `_supercluster`,
`public_model`, `_pca`, `_seeding`, `_unknown`, `_partition`, `_components`, `_shapes` and `_choice`. `driver` calls
them in the order that the regime determines, and `_results` makes the released model. `bks` has the paper's algorithms.

Notation: n private rows, m public rows, d columns, k components, ell dimensions of a private subspace. Coordinates
in this package are those of `Scaling`: public mean 0 and public standard deviation 1 in every column.
"""
