"""States that a step carries, and statistics in them that do not belong to the weights."""
