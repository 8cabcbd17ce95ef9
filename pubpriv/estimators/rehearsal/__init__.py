"""A rehearsal: the whole of a run in simulation, on rows drawn like the public ones, before anything is spent.

No private row is read, and no ledger is touched: numbers of public rows go in, and the number of private ones, which is
public. So everything here is free.
"""
