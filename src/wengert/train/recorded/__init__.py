"""What a step is made of, and how it is recorded as one function."""
