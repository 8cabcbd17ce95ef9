"""One Gaussian of private rows: its mean, or mean and covariance, with a little public data.

The steps are pure functions; `steps` bundles them, `plan` prices them, drivers call them in order.

Notation: n private rows, m public rows, d columns; psi_r(w) = w min(1, r / |w|) clips a record to radius r.
"""
