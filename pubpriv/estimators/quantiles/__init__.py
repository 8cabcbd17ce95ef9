"""Quantiles of every column, and the whole distribution between them: one question a round answers all columns."""
