"""Algorithms of papers that have no private form: they run in simulation only, so no release needs them."""
