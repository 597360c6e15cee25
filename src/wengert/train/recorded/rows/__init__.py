"""What becomes of the rows of a batch in a recorded loss, where that is hardly meant."""
