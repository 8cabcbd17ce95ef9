"""What is released and what is done with it: estimates and their files, the page, comparisons, synthetic rows.

Everything here starts from released numbers, public rows and prices, so nothing of it costs privacy.
"""
