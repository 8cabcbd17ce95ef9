"""What `pubpriv demo` and `pubpriv bench` run: data, settings, comparisons with non-private peers.

Nothing here takes a user's table or a user's ledger, so nothing here can spend anybody's budget.
"""
