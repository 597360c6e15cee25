"""Fingerprint: one number for everything that decides how training goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.core.dtypes import is_float


def fingerprint(parts: Mapping[str, Any]) -> str:
    """SHA-256 of named arrays and numbers: names, dtypes, shapes and bytes, in order. All NaNs
    count as one.
    """
    digest = hashlib.sha256()
    for name, value in parts.items():
        x = np.asarray(value)
        little = x.dtype.newbyteorder("<")
        digest.update(f"{name}:{little.str}:{x.shape};".encode())
        if is_float(x.dtype):
            nan = np.isnan(x)
            if nan.any():
                x = np.where(nan, np.asarray(np.nan, x.dtype), x)
        plain = np.ascontiguousarray(x.astype(little, copy=False))
        digest.update(plain.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
