"""Compositions: functions of learning, and NumPy's names for what we have."""

from wengert.functions import (
    activation,
    complex_parts,
    divergence,
    dropout,
    initial_values,
    loss,
    normalize,
    numpy_scipy,
    sets,
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
    "numpy_scipy",
    "selective_scan",
    "sets",
    "statistics",
    "waves",
]
