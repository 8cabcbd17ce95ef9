"""Sample sizes that the papers' theorems require, as printed: calculators to compare a plan with.

Formulas of n, d, k, weights and the budget only; nothing here looks at rows. Constants that a paper prints are used;
one hidden in a big O is taken as 1, and a polylogarithm as one logarithm. So the results are orders of magnitude.
"""
