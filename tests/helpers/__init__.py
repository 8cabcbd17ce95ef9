"""What tests share: whole jobs in processes of their own, servers, worlds of rows, and what looks for leaks."""
