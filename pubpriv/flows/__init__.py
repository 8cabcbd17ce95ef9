"""The order of the steps, one page of prose each, and the runtime they need."""
