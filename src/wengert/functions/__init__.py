"""Compositions: functions of learning, and NumPy's names for what we have."""

from wengert.functions import (
    activation,
    divergence,
    dropout,
    loss,
    normalize,
    numpy_names,
    statistics,
)

__all__ = [
    "activation",
    "divergence",
    "dropout",
    "loss",
    "normalize",
    "numpy_names",
    "statistics",
]
