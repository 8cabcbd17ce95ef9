"""What tables promise, as pandera schemas: public rows, declared private columns, released models.

They repeat nothing of what `pubpriv.data.tables` checks when it opens a table.
"""
