"""A linear regression: coefficients of one column on others, with errors that hold where scatter is uneven."""
