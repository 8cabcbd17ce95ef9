"""How many rows the papers' theorems ask for, as they are printed: calculators, for a plan to be held against.

Formulas of n, d, k, weights and the budget alone; nothing here looks at rows. A constant that a paper prints is
here; where it hides one in a big O, it is taken as 1, and a polylogarithm as one logarithm: orders of magnitude.
"""
