"""Code that both `data` and `privacy` need: names of tables and of calendar periods, and reusable threads."""
