"""Names that both wings read alike: of tables, of calendar periods, and several in one text."""
