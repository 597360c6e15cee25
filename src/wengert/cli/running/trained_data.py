"""A fingerprint that tells the data of a run from other data."""

from __future__ import annotations

import hashlib

import numpy as np

from wengert.cli.datasets.learning_task import LearningData


def data_fingerprint(data: LearningData) -> str:
    """SHA-256 of everything that is learned from and judged by."""
    digest = hashlib.sha256()
    for array in (data.x, data.y, data.held_x, data.held_y):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
