"""Where a number that is not finite came from."""
