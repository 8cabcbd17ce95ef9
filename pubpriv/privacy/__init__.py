"""What is paid: budgets, events and their prices, noise, and the ledger that records them.

This package knows no questions: an event only states how far neighbours are apart in units of noise.
"""
