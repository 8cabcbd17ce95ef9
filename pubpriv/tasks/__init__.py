"""The steps of pubpriv as Prefect tasks: names, caching, artifacts, and values that may cross task boundaries."""
