"""Functions that are written with ops."""
