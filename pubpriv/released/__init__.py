"""Released estimates and their uses: files, the report page, comparisons, synthetic rows.

Everything here is computed from released numbers, public rows and prices, so nothing costs privacy.
"""
