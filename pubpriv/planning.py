"""Price and predicted error of a run before a row is read."""
