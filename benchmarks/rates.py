"""What this machine can do, by our own code: the measure of every profile."""

from __future__ import annotations

from wengert.core.dtypes import float32, float64
from wengert.runtime.profile import bandwidth, gemm_rate


def rates_line() -> str:
    single, double = (gemm_rate(dtype) * 1e-9 for dtype in (float32, float64))
    return (
        f"gemm {single:.1f} GF/s in float32, {double:.1f} in float64; "
        f"memory {bandwidth() * 1e-9:.1f} GB/s; one thread"
    )
