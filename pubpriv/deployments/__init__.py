"""Datasets with their schedules and settings of releases, and their registration on a Prefect server."""
