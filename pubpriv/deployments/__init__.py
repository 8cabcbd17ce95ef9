"""Which datasets are released, when, and with which settings; and how that is put on a Prefect server."""
