"""Estimates for groups of rows, which a column outside the estimate defines (`pubpriv.data.categories`).

A run first estimates all rows together, as it would without groups. One question then asks for count, sum and second
moment of all groups at once, in coordinates in which all rows together are standard. Groups are disjoint, so it costs
as much as for one group. Each group is then shrunk towards all groups as its own noise requires (`_shrinkage`), which
is free. `plan` has the question and its share, `steps` asks it, `driver` runs everything.
"""
