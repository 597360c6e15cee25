"""Linear algebra: ops on the last two axes."""
