"""How layers of sequences are shown: what each is, and its text."""

from __future__ import annotations

from typing import Any

import wengert as wg

_RNN = (
    "RNN(input_weight=float32[2, 3], hidden_weight=float32[2, 2], input_bias=float32[2], "
    "hidden_bias=float32[2], activation='tanh')"
)
_ATTENTION = """\
MultiheadAttention(
  project_in: Linear(weight=float32[12, 4], bias=float32[12])  # 60 parameters
  project_out: Linear(weight=float32[4, 4], bias=float32[4])  # 20 parameters
  heads: 2
  shared_heads: 2
  causal: True
  rotary: False
)  # 80 parameters"""
_NORM = "LayerNorm(scale=float32[4], shift=float32[4], eps=1e-05)  # 8 parameters"

SEQUENCES: dict[str, tuple[Any, str]] = {
    "RNN": (wg.nn.RNN(3, 2), _RNN),
    "LSTM": (
        wg.nn.LSTM(3, 2),
        "LSTM(input_weight=float32[8, 3], hidden_weight=float32[8, 2], input_bias=float32[8], "
        "hidden_bias=float32[8])",
    ),
    "Bidirectional": (
        wg.nn.Bidirectional(wg.nn.RNN(3, 2), wg.nn.RNN(3, 2)),
        f"Bidirectional(\n  forward: {_RNN}  # 14 parameters\n"
        f"  backward: {_RNN}  # 14 parameters\n)  # 28 parameters",
    ),
    "MultiheadAttention": (wg.nn.MultiheadAttention(4, 2, causal=True), _ATTENTION),
    "KeyValueCache": (
        wg.nn.MultiheadAttention(4, 2).cache(5, batch=3),
        "KeyValueCache(keys=float32[5, 3, 2, 2], values=float32[5, 3, 2, 2], length=int64[])",
    ),
    "TransformerBlock": (
        wg.nn.TransformerBlock(4, 2, causal=True),
        f"TransformerBlock(\n  attention_norm: {_NORM}\n  attention: "
        + _ATTENTION.replace("\n", "\n  ")
        + f"\n  norm: {_NORM}\n"
        "  up: Linear(weight=float32[16, 4], bias=float32[16])  # 80 parameters\n"
        "  down: Linear(weight=float32[4, 16], bias=float32[4])  # 68 parameters\n"
        "  activation: gelu\n"
        "  dropout: 0.0\n)  # 244 parameters",
    ),
    "PositionalEmbedding": (
        wg.nn.PositionalEmbedding(5, 2),
        "PositionalEmbedding(weight=float32[5, 2])",
    ),
    "SinusoidalPositions": (
        wg.nn.SinusoidalPositions(4),
        "SinusoidalPositions(size=4, base=10000.0)",
    ),
    "S4D": (
        wg.nn.S4D(2, states=6),
        "S4D(log_width=float32[2], log_decay=float32[2, 3], rate=float32[2, 3], "
        "c_real=float32[2, 3], c_imag=float32[2, 3], skip=float32[2])",
    ),
    "Mamba": (
        wg.nn.Mamba(2, states=3),
        "Mamba(\n"
        "  project_in: Linear(weight=float32[8, 2], bias=None)  # 16 parameters\n"
        "  conv_weight: float32[4, 4]\n"
        "  conv_bias: float32[4]\n"
        "  project_u: Linear(weight=float32[7, 4], bias=None)  # 28 parameters\n"
        "  project_delta: Linear(weight=float32[4, 1], bias=float32[4])  # 8 parameters\n"
        "  log_a: float32[4, 3]\n"
        "  skip: float32[4]\n"
        "  project_out: Linear(weight=float32[2, 4], bias=None)  # 8 parameters\n"
        ")  # 96 parameters",
    ),
    "MambaState": (
        wg.nn.Mamba(2, states=3).initial_state(5),
        "MambaState(window=float32[5, 3, 4], h=float32[5, 4, 3])",
    ),
}
