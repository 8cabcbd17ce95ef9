"""Gaussian mixtures of private rows: public data separates, private answers measure.

The steps are pure functions in `scaling`, `supercluster`, `public_model`, `pca`, `seeding`, `unknown`, `partition`,
`components`, `shapes` and `choice`; `steps` bundles them, `plan` prices them, `pipeline` calls them in the order that
`regimes` and `routes` say, with the `settings` that a user chose, and `released` makes a model of what they found.

Notation: n private rows, m public rows, d columns, k components, ell dimensions of a private subspace. Inside
the package coordinates are those of `Scaling`: public mean 0 and public standard deviation 1 in every column.
"""
