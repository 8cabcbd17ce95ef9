"""Prefect flows for estimates and audits, and the runtime that they need."""
