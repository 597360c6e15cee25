"""Linalg: factorisations of matrices and what is computed with them."""
