"""What follows from a released mean and covariance, free of charge: regressions, correlations, principal components.

`fields` has the errors of whatever is computed from a mean and a covariance, `least_squares`, `correlations` and
`principal` compute it, and `model` is what a reader sees.
"""
