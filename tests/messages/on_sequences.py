"""Bad input to functions and layers of sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import wengert as wg

nn, op = wg.nn, wg.op
x = np.ones((2, 4, 3))
a = np.ones((4, 5))
rows = np.ones((2, 6, 8), np.float32)
state = [x, x, a, np.ones((2, 1, 5, 3)), np.ones((2, 1, 5, 3)), np.ones((2, 4, 5))]
causal = nn.MultiheadAttention(8, 2, causal=True)

CASES: dict[str, Callable[[], Any]] = {
    "recurrence_from: a state of another shape": lambda: op.recurrence_from(x, x, a, axis=0),
    "linear_recurrence: integers": lambda: wg.linear_recurrence(0.5, np.arange(3)),
    "linear_recurrence: a state with time": lambda: wg.linear_recurrence(x, x, x),
    "linear_recurrence: shapes that do not broadcast": lambda: wg.linear_recurrence(x, a),
    "state_space_scan: integers": lambda: op.state_space_scan(*state[:5], np.ones((2, 4, 5), int)),
    "state_space_scan: another shape": lambda: op.state_space_scan(*state[:5], a),
    "diagonal_scan: another shape": lambda: op.diagonal_scan(x, a, a, a, a, a, a),
    "selective_scan: integers": lambda: wg.selective_scan(x, x, a, a, a.astype(int)),
    "selective_scan: u without a batch": lambda: wg.selective_scan(x[0], x[0], a, a, a),
    "selective_scan: A transposed": lambda: wg.selective_scan(x, x, a.T, a, a),
    "selective_scan: B with time before states": lambda: wg.selective_scan(
        x, x, a, np.ones((2, 3, 5)), a
    ),
    "selective_scan: traced": lambda: wg.compile(wg.selective_scan)(x, x, a, x, a),
    "selective_scan: groups that do not fit": lambda: wg.selective_scan(
        np.ones((2, 6, 3)),
        np.ones((2, 6, 3)),
        np.ones((6, 5)),
        np.ones((2, 2, 5, 3)),
        np.ones((2, 3, 5, 3)),
    ),
    "selective_scan: a state of another shape": lambda: wg.selective_scan(x, x, a, a, a, h0=a),
    "attention: integers": lambda: wg.attention(x.astype(int), x, x),
    "attention: shapes that do not fit": lambda: wg.attention(x, x, x[:, :1]),
    "attention: heads that do not share": lambda: wg.attention(
        np.ones((3, 4, 2)), np.ones((2, 4, 2)), np.ones((2, 4, 2))
    ),
    "attention: a mask of integers": lambda: wg.attention(x, x, x, np.ones((4, 4), int)),
    "attention: a mask of other heads": lambda: wg.attention(x, x, x, np.ones((5, 4, 4), bool)),
    "attention: a mask of each row": lambda: wg.attention(
        *[np.ones((5, 2, 4, 3))] * 3, np.ones((5, 1, 4), bool)
    ),
    "attention: more queries than keys": lambda: wg.attention(x, x[:, :2], x[:, :2], causal=True),
    "attention: a scale of no size": lambda: wg.attention(x, x, x, scale=np.inf),
    "associative_scan: nothing to go along": lambda: wg.associative_scan(np.add, 3.0),
    "associative_scan: two lengths": lambda: wg.associative_scan(np.add, (x, a)),
    "associative_scan: another tree": lambda: wg.associative_scan(lambda p, q: (p, q), x),
    "rfft: no length": lambda: wg.fft.rfft(x, n=0),
    "rfft: its pair as one array": lambda: wg.sum(wg.fft.rfft(x)),
    "rfft: a slice of its pair": lambda: wg.fft.rfft(x)[:, 0],
    "rfft: its pair in a formula": lambda: 2 * wg.fft.rfft(x),
    "irfft: parts of two shapes": lambda: wg.fft.irfft(x, a),
    "RNN: an unknown activation": lambda: nn.RNN(3, 4, activation="gelu"),
    "RNN: a sequence without a time": lambda: nn.RNN(3, 4)(np.ones(3)),
    "RNN: a state of another batch": lambda: nn.RNN(3, 4)(np.ones((5, 2, 3)), np.ones((5, 4))),
    "rotary: a start of each row": lambda: nn.rotary(np.ones((2, 5, 8)), start=np.array([0, 3])),
    "PositionalEmbedding: a position before the first": lambda: nn.PositionalEmbedding(4, 2)(
        np.ones((3, 2)), start=-1
    ),
    "TransformerBlock: a generator as the mask": lambda: nn.TransformerBlock(8, 2)(
        np.ones((3, 8)), wg.random.Generator(wg.random.key(0))
    ),
    "MultiheadAttention: a cache as the input": lambda: nn.MultiheadAttention(
        8, 2, causal=True
    ).step(nn.MultiheadAttention(8, 2, causal=True).cache(4), np.ones(8)),
    "Linear: rows of another width": lambda: nn.Linear(3, 2)(np.ones((2, 3, 4))),
    "GRU: a step of all times": lambda: nn.GRU(3, 4).step(np.ones((5, 2, 3)), np.ones((2, 4))),
    "LSTM: a state that is no pair": lambda: nn.LSTM(3, 4).step(np.ones(3), np.ones(4)),
    "LSTM: a memory of another batch": lambda: nn.LSTM(3, 4)(
        np.ones((5, 2, 3)), (np.ones((2, 4)), np.ones(4))
    ),
    "Bidirectional: a class": lambda: nn.Bidirectional(nn.GRU, nn.GRU),
    "Bidirectional: no layer": lambda: nn.Bidirectional(nn.GRU(3, 4), 4),
    "MultiheadAttention: heads that do not divide": lambda: nn.MultiheadAttention(8, 3),
    "MultiheadAttention: shared heads that do not": lambda: nn.MultiheadAttention(
        8, 4, shared_heads=3
    ),
    "MultiheadAttention: odd heads that turn": lambda: nn.MultiheadAttention(6, 2, rotary=True),
    "MultiheadAttention: rows of another sequence as the mask": lambda: nn.MultiheadAttention(8, 2)(
        rows, np.ones((len(rows), 9, 8), np.float32)
    ),
    "MultiheadAttention: another width": lambda: causal(rows[..., :4]),
    "MultiheadAttention: a step of too many axes": lambda: causal.step(
        rows[0, 0, :4], causal.cache(3)
    ),
    "MultiheadAttention: a step that looks ahead": lambda: nn.MultiheadAttention(8, 2).step(
        rows[0, 0], causal.cache(3)
    ),
    "MultiheadAttention: a full cache": lambda: causal.extend(rows[0], causal.cache(3)),
    "MultiheadAttention: called with q, k and v": lambda: causal(rows, rows, rows),
    "MultiheadAttention: no cache": lambda: causal.step(rows[:, 0], None),
    "MultiheadAttention: a full cache in a program": lambda: wg.compile(causal.step)(
        rows[0, 0], replace(causal.cache(3), length=np.array(3))
    ),
    "MultiheadAttention: a cache of another batch": lambda: causal.step(
        rows[:, 0], causal.cache(3)
    ),
    "Mamba: no state": lambda: nn.Mamba(8).step(rows[:, 0], None),
    "S4D: a state of another batch": lambda: nn.S4D(8).step(rows[:, 0], nn.S4D(8).initial_state(3)),
    "LSTM: several layers": lambda: nn.LSTM(3, 4, num_layers=2),
    "rotary: an odd size": lambda: nn.rotary(np.ones((2, 3))),
    "SinusoidalPositions: an odd size": lambda: nn.SinusoidalPositions(3),
    "PositionalEmbedding: too long a sequence": lambda: nn.PositionalEmbedding(5, 8)(rows),
    "PositionalEmbedding: a step at a position that is a float": lambda: nn.PositionalEmbedding(
        5, 8
    ).step(rows[:, 0], 1.0),
    "PositionalEmbedding: a step at too many positions": lambda: nn.PositionalEmbedding(5, 8).step(
        rows[:, 0], np.arange(3)
    ),
    "Linear: rows in a list": lambda: nn.Linear(4, 2)([*np.ones((5, 4))]),
    "Linear: the state of an LSTM": lambda: nn.Linear(4, 2)(nn.LSTM(3, 4)(np.ones((5, 2, 3)))[1]),
    "S4D: an odd number of states": lambda: nn.S4D(3, states=5),
    "Mamba: one time of a sequence": lambda: nn.Mamba(8)(rows[0, 0]),
    "from_torch_names: an LSTM of two layers": lambda: nn.from_torch_names(
        nn.LSTM(3, 2), {f"weight_ih_l{n}": np.ones((8, 3)) for n in range(2)}
    ),
}
