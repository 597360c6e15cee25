"""Layers of images as they print, and what begins them without a seed."""

from __future__ import annotations

import numpy as np

import wengert as wg

_CONV = "stride=(1,), padding='causal', dilation=(2,), groups=1"
_TRANSPOSED = "output_padding=({0}), dilation=({1}), groups=1"

SHOWN_IMAGES = {
    "Conv1d": (
        wg.nn.Conv1d(3, 2, 5, padding="causal", dilation=2),
        f"Conv1d(weight=float32[2, 3, 5], bias=float32[2], {_CONV})",
    ),
    "Conv2d": (
        wg.nn.Conv2d(4, 2, (3, 1), groups=2, bias=False, padding=[(1, 0), 2]),
        "Conv2d(weight=float32[2, 2, 3, 1], bias=None, stride=(1, 1), padding=((1, 0), 2), "
        "dilation=(1, 1), groups=2)",
    ),
    "Conv3d": (
        wg.nn.Conv3d(1, 2, 2, stride=2, dtype=np.float64),
        "Conv3d(weight=float64[2, 1, 2, 2, 2], bias=float64[2], stride=(2, 2, 2), "
        "padding='valid', dilation=(1, 1, 1), groups=1)",
    ),
    "ConvTranspose1d": (
        wg.nn.ConvTranspose1d(3, 2, 4, stride=2, padding=1),
        "ConvTranspose1d(weight=float32[3, 2, 4], bias=float32[2], stride=(2,), padding=1, "
        + _TRANSPOSED.format("0,", "1,")
        + ")",
    ),
    "ConvTranspose2d": (
        wg.nn.ConvTranspose2d(3, 2, 4),
        "ConvTranspose2d(weight=float32[3, 2, 4, 4], bias=float32[2], stride=(1, 1), "
        "padding='valid', " + _TRANSPOSED.format("0, 0", "1, 1") + ")",
    ),
    "ConvTranspose3d": (
        wg.nn.ConvTranspose3d(3, 2, 1),
        "ConvTranspose3d(weight=float32[3, 2, 1, 1, 1], bias=float32[2], stride=(1, 1, 1), "
        "padding='valid', " + _TRANSPOSED.format("0, 0, 0", "1, 1, 1") + ")",
    ),
    "MaxPool": (wg.nn.MaxPool(2), "MaxPool(window=2, stride=None, padding=0, dilation=1)"),
    "MeanPool": (
        wg.nn.MeanPool((2, 3), stride=1),
        "MeanPool(window=(2, 3), stride=1, padding=0, include_padding=True)",
    ),
    "AdaptiveMeanPool": (wg.nn.AdaptiveMeanPool(1), "AdaptiveMeanPool(size=1)"),
    "Flatten": (wg.nn.Flatten(), "Flatten()"),
    "GroupNorm": (
        wg.nn.GroupNorm(2, 4),
        "GroupNorm(scale=float32[4], shift=float32[4], groups=2, eps=1e-05)",
    ),
    "InstanceNorm": (
        wg.nn.InstanceNorm(4),
        "InstanceNorm(scale=float32[4], shift=float32[4], eps=1e-05)",
    ),
    "RMSNorm": (wg.nn.RMSNorm(4), "RMSNorm(scale=float32[4], eps=1e-06)"),
    "Residual": (
        wg.nn.Residual(wg.nn.Linear(2, 2), "relu", shortcut=np.tanh),
        "Residual(\n"
        "  0: Linear(weight=float32[2, 2], bias=float32[2])  # 6 parameters\n"
        "  1: relu\n"
        "  shortcut: tanh\n"
        ")  # 6 parameters",
    ),
}

IMAGE_MAKERS = {
    "Conv1d": lambda **seed: wg.nn.Conv1d(2, 3, 3, **seed).weight,
    "Conv2d": lambda **seed: wg.nn.Conv2d(2, 3, 3, **seed).weight,
    "Conv3d": lambda **seed: wg.nn.Conv3d(2, 3, 3, **seed).weight,
    "ConvTranspose1d": lambda **seed: wg.nn.ConvTranspose1d(2, 3, 3, **seed).weight,
    "ConvTranspose2d": lambda **seed: wg.nn.ConvTranspose2d(2, 3, 3, **seed).weight,
    "ConvTranspose3d": lambda **seed: wg.nn.ConvTranspose3d(2, 3, 3, **seed).weight,
}
