"""Pandera schemas of tables: public rows, declared private columns, released models.

They do not repeat the checks of `pubpriv.data.tables` when it opens a table.
"""
