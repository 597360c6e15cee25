"""Convolutions: products of matrices, one of which is gathered from windows, block by block."""
