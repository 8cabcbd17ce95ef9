"""Mean and covariance of private rows, with a little public data.

`plan` prices the steps, the steps are pure functions in the modules named for what they do, `drivers` and `pipeline`
call them in order, and `declaration` is what commands and flows see.

Notation: n private rows, m public rows, d columns; psi_r(w) = w min(1, r / |w|) clips a record to radius r.
"""
