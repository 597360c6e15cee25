"""Functions of NumPy and SciPy under their names, and with their defaults."""

from wengert.functions.numpy_scipy import numpy_names, scipy_names, special_names

__all__ = ["numpy_names", "scipy_names", "special_names"]
