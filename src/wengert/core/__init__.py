"""What a type, an op and a program are."""
