"""Names that both wings read alike: of tables, and of calendar periods."""
