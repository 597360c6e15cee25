"""A multilayer perceptron written out in NumPy, row by row: the slow, clear reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_erf = np.vectorize(math.erf, otypes=[float])


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def _bell(z):
    return np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _normal(z):
    return (1 + _erf(z / math.sqrt(2))) / 2


# name -> (function, derivative), both of what it is applied to
FUNCTIONS = {
    "tanh": (np.tanh, lambda z: 1 / np.cosh(z) ** 2),
    "relu": (lambda z: np.where(z > 0, z, 0.0), lambda z: np.where(z > 0, 1.0, 0.0)),
    "leaky_relu": (lambda z: np.where(z > 0, z, 0.01 * z), lambda z: np.where(z > 0, 1.0, 0.01)),
    "sigmoid": (_sigmoid, lambda z: _sigmoid(z) * (1 - _sigmoid(z))),
    "silu": (lambda z: z * _sigmoid(z), lambda z: _sigmoid(z) * (1 + z * (1 - _sigmoid(z)))),
    "gelu": (lambda z: z * _normal(z), lambda z: _normal(z) + z * _bell(z)),
    "identity": (lambda z: z, lambda z: np.ones_like(z)),
}


def forward_backward(mlp: Any, x: Any, d_output: Any) -> tuple[Any, Any, list[Any]]:
    """(outputs, d_inputs, [d_weights, d_biases of each layer in turn]) of rows, in float64."""
    depth = len(mlp.layers)
    names = [mlp.activation] * (depth - 1) + [mlp.output_activation]
    weights = [mlp.weights(i).astype(float) for i in range(depth)]
    biases = [mlp.biases(i).astype(float) for i in range(depth)]
    sums = [np.zeros_like(a) for pair in zip(weights, biases, strict=True) for a in pair]
    outputs, d_inputs = [], []
    for row, g in zip(np.asarray(x, float), np.asarray(d_output, float), strict=True):
        into, before = [row], []
        for w, b, name in zip(weights, biases, names, strict=True):
            before.append(w @ into[-1] + b)
            into.append(FUNCTIONS[name][0](before[-1]))
        outputs.append(into[-1])
        for i in reversed(range(depth)):
            g = g * FUNCTIONS[names[i]][1](before[i])
            sums[2 * i] += np.outer(g, into[i])
            sums[2 * i + 1] += g
            g = weights[i].T @ g
        d_inputs.append(g)
    return np.array(outputs), np.array(d_inputs), sums
