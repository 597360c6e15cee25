"""What functions read from outside their arguments, and whether it is still the same."""
