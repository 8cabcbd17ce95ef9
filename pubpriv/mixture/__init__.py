"""Gaussian mixtures of private rows: public data separates, private answers measure.

The steps are pure functions in `scaling`, `supercluster`, `public_model`, `pca`, `seeding`, `partition`,
`components` and `choice`; `steps` bundles them, `plan` prices them, `pipeline` calls them in order.

Notation: n private rows, m public rows, d columns, k components, ell dimensions of a private subspace. Inside
the package coordinates are those of `Scaling`: public mean 0 and public standard deviation 1 in every column.
"""
