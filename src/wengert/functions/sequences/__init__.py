"""Functions of sequences, written with loops over time."""
