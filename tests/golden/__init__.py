"""Golden runs: whole releases of today, from outside, beside which every build must stand."""
