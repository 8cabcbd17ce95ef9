"""Names in queries of databases."""


def quoted(name: str) -> str:
    """Return a name of a table or column as it stands in a query, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
