"""What is asked: tables, public maps of a record, the closed list of questions, exact totals.

Nothing in here knows a budget, and nothing in here adds noise: a question says how far one replaced
record can move its totals, as a theorem about integers, and `scan` computes those totals exactly.
"""
