"""Compositions: functions of learning, and NumPy's names for what we have."""

from wengert.functions import (
    activation,
    complex_parts,
    divergence,
    dropout,
    initial_values,
    loss,
    normalize,
    numpy_names,
    scipy_names,
    sets,
    special_names,
    statistics,
    waves,
)
from wengert.functions.sequences import associative_scan, attention, fourier, selective_scan

__all__ = [
    "activation",
    "associative_scan",
    "attention",
    "complex_parts",
    "divergence",
    "dropout",
    "fourier",
    "initial_values",
    "loss",
    "normalize",
    "numpy_names",
    "scipy_names",
    "selective_scan",
    "sets",
    "special_names",
    "statistics",
    "waves",
]
