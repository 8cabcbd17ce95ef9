"""Released distributions of columns: what a file keeps of them, and how quantiles and shares are read off."""
