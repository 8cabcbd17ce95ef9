"""The steps of pubpriv as Prefect sees them: names, caching, artifacts, and what may cross a boundary."""
