"""Loops and branches: the functions inside them as graphs, and what these may read and carry."""
