"""What both wings need and neither owns: names of tables and of calendar periods, and threads that stay."""
