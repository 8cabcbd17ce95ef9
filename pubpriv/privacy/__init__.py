"""What is paid: budgets, events and their prices, noise, and the ledger that records them.

Nothing in here knows what was asked: an event says how far neighbours lie apart in units of noise.
"""
