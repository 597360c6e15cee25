"""Loops: kernels that go over the members of a program, with folds, products and bodies."""
