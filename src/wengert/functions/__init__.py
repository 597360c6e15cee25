"""Compositions: functions of learning, and NumPy's names for what we have."""

from wengert.functions import (
    activation,
    complex_parts,
    divergence,
    dropout,
    loss,
    normalize,
    numpy_names,
    scipy_names,
    sets,
    special_names,
    statistics,
    waves,
)

__all__ = [
    "activation",
    "complex_parts",
    "divergence",
    "dropout",
    "loss",
    "normalize",
    "numpy_names",
    "scipy_names",
    "sets",
    "special_names",
    "statistics",
    "waves",
]
