"""What an estimate says of groups of rows, by a column beside its own (`pubpriv.data.categories`).

A run first estimates all rows together, as it would without groups. Then one question asks count, sum and second moment
of all groups at once, in coordinates in which all rows together are standard: groups are disjoint, so it costs what it
would cost for one. Each group is then drawn to all of them as far as its own noise says (`shrinkage`), for nothing.

`plan` is the question with its share, `steps` asks it, `driver` puts a run together.
"""
