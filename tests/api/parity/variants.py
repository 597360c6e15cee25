"""The 34 variants of GradOp, each with a formula written out by hand and points to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg

Arrays = tuple[Any, ...]

# Away from the kinks of relu and abs (0) and of the clamp below (-0.5 and 0.5).
SIGNED = np.array([[-1.3, -0.2, 0.9], [0.1, 0.7, -0.8]])
OTHER = np.array([[0.4, 1.5, -0.6], [2.1, -1.1, 0.3]])
POSITIVE = np.array([[0.6, 1.7, 0.9], [2.2, 0.5, 1.3]])
MASK = np.array([[True, False, True], [False, False, True]])
DATA = np.array([[2.0, -1.0, 0.5], [1.5, 3.0, -2.0]])
CLASSES = np.array([2, 0])
GATHERED = np.array([2, 0, 2, 1])


@dataclass
class Struct:
    weight: Any
    bias: Any


@dataclass(frozen=True)
class Variant:
    """One way to build a node of this kind from parameters.

    `formula(xp, *arrays)` is the meaning, for NumPy and for JAX; `ours` is the same as a function
    of the library; `tree` puts the parameters into one container; `operands` are the values that
    `g.op` must name, where they are not simply the parameters.
    """

    name: str
    build: Callable[..., Any]
    formula: Callable[..., Any]
    ours: Callable[..., Any]
    values: Arrays
    again: Arrays
    fields: dict[str, Any]
    operands: Callable[..., Arrays]
    tree: Callable[..., Any] | None = None

    def parameters(self, g: wg.Graph, values: Arrays) -> list[Any]:
        if self.tree is not None:
            return [g.parameter(self.tree(*values), name="p")]
        return [g.parameter(value, name=f"p{i}") for i, value in enumerate(values)]

    def names(self) -> list[str]:
        """The names under which `g.run` takes the parameters."""
        if self.tree is not None:
            return [f"p.{path}" for path in wg.tree.paths(self.tree(*self.values))]
        return [f"p{i}" for i in range(len(self.values))]


def variant(
    name: str,
    formula: Callable[..., Any],
    ours: Callable[..., Any],
    values: Any,
    again: Any,
    *,
    build: Callable[..., Any] | None = None,
    fields: dict[str, Any] | None = None,
    operands: Callable[..., Arrays] = lambda *values: values,
    tree: Callable[..., Any] | None = None,
) -> Variant:
    return Variant(
        name,
        build or (lambda g, *nodes: getattr(g, name)(*nodes)),
        formula,
        ours,
        values if isinstance(values, tuple) else (values,),
        again if isinstance(again, tuple) else (again,),
        fields or {},
        operands,
        tree,
    )


def softmax(xp: Any, x: Any, axis: int = -1) -> Any:
    e = xp.exp(x)
    return e / xp.sum(e, axis=axis, keepdims=True)


def cross_entropy(xp: Any, logits: Any, dense: Any) -> Any:
    """Losses per row for a probability per class."""
    return -xp.sum(dense * xp.log(softmax(xp, logits)), axis=-1)


def normalized(xp: Any, x: Any, axis: int, eps: float = 1e-5) -> Any:
    centred = x - xp.mean(x, axis=axis, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=axis, keepdims=True) + eps)


PAIR, PAIR_AGAIN = (SIGNED, POSITIVE), (OTHER, POSITIVE[::-1] + 0.1)
BROADCAST, BROADCAST_AGAIN = (SIGNED, POSITIVE[0]), (OTHER, POSITIVE[1])

VARIANTS = [
    variant(
        "input",
        lambda xp, x: DATA * x,
        lambda x: DATA * x,
        SIGNED,
        OTHER,
        build=lambda g, x: g.mul(g.input(DATA, name="data"), x),
        operands=lambda x: (),
    ),
    variant(
        "parameter",
        lambda xp, x: x,
        lambda x: x,
        SIGNED,
        OTHER,
        build=lambda g, x: x,
        operands=lambda x: (),
    ),
    variant("add", lambda xp, x, y: x + y, wg.add, BROADCAST, BROADCAST_AGAIN),
    variant("sub", lambda xp, x, y: x - y, wg.subtract, BROADCAST, BROADCAST_AGAIN),
    variant("mul", lambda xp, x, y: x * y, wg.multiply, BROADCAST, BROADCAST_AGAIN),
    variant("div", lambda xp, x, y: x / y, wg.divide, BROADCAST, BROADCAST_AGAIN),
    variant("neg", lambda xp, x: -x, wg.negative, SIGNED, OTHER),
    variant(
        "matmul",
        lambda xp, x, y: x @ y,
        wg.matmul,
        (SIGNED, POSITIVE.T),
        (OTHER, POSITIVE.T[::-1].copy()),
    ),
    variant("sum", lambda xp, x: xp.sum(x), wg.sum, SIGNED, OTHER),
    variant("mean", lambda xp, x: xp.sum(x) / 6, wg.mean, SIGNED, OTHER),
    variant(
        "scalar_mul",
        lambda xp, x: 2.5 * x,
        lambda x: 2.5 * x,
        SIGNED,
        OTHER,
        build=lambda g, x: g.scalar_mul(x, 2.5),
    ),
    variant("exp", lambda xp, x: xp.exp(x), wg.exp, SIGNED, OTHER),
    variant("ln", lambda xp, x: xp.log(x), wg.log, POSITIVE, POSITIVE[::-1] * 2),
    variant(
        "struct_field",
        lambda xp, weight, bias: 1.0 * bias,
        lambda weight, bias: 1.0 * bias,
        (SIGNED, POSITIVE[0]),
        (OTHER, POSITIVE[1]),
        build=lambda g, s: g.struct_field(s, "bias"),
        tree=Struct,
        fields={"field_index": 1, "total_fields": 2},
        operands=lambda weight, bias: (Struct(weight, bias),),
    ),
    variant(
        "map_lookup",
        lambda xp, z, a, m: 1.0 * a,
        lambda z, a, m: 1.0 * a,
        (SIGNED, POSITIVE[0], DATA),
        (OTHER, POSITIVE[1], DATA * 2),
        build=lambda g, m: g.map_lookup(m, "a"),
        tree=lambda z, a, m: {"z": z, "a": a, "m": m},  # order of insertion, not of the alphabet
        fields={"key_index": 1, "total_keys": 3},
        operands=lambda z, a, m: ({"z": z, "a": a, "m": m},),
    ),
    variant("sin", lambda xp, x: xp.sin(x), wg.sin, SIGNED, OTHER),
    variant("cos", lambda xp, x: xp.cos(x), wg.cos, SIGNED, OTHER),
    variant("sqrt", lambda xp, x: xp.sqrt(x), wg.sqrt, POSITIVE, POSITIVE[::-1] * 2),
    variant(
        "pow",
        lambda xp, x: x * x * x,
        lambda x: wg.pow(x, 3.0),
        SIGNED,
        OTHER,
        build=lambda g, x: g.pow(x, 3.0),
    ),
    variant("sigmoid", lambda xp, x: 1 / (1 + xp.exp(-x)), wg.sigmoid, SIGNED, OTHER),
    variant("relu", lambda xp, x: xp.where(x > 0, x, 0 * x), wg.relu, SIGNED, OTHER),
    variant("tanh", lambda xp, x: 1 - 2 / (xp.exp(2 * x) + 1), wg.tanh, SIGNED, OTHER),
    variant("abs", lambda xp, x: xp.where(x > 0, x, -x), wg.abs, SIGNED, OTHER),
    variant("log2", lambda xp, x: xp.log(x) / np.log(2.0), wg.log2, POSITIVE, POSITIVE[::-1] * 2),
    variant("softmax", softmax, wg.softmax, SIGNED, OTHER),
    variant(
        "cross_entropy",
        lambda xp, x: xp.mean(cross_entropy(xp, x, np.eye(3)[CLASSES])),
        lambda x: wg.cross_entropy(x, CLASSES),
        SIGNED,
        OTHER,
        build=lambda g, x: g.cross_entropy(x, CLASSES),
        operands=lambda x: (x, CLASSES),
    ),
    variant("layer_norm", lambda xp, x: normalized(xp, x, -1), wg.layer_norm, SIGNED, OTHER),
    variant("batch_norm", lambda xp, x: normalized(xp, x, 0), wg.batch_norm, SIGNED, OTHER),
    variant(
        "clamp",
        lambda xp, x: xp.where(x < -0.5, -0.5, xp.where(x > 0.5, 0.5, x)),
        lambda x: wg.clip(x, -0.5, 0.5),
        SIGNED,
        OTHER,
        build=lambda g, x: g.clamp(x, -0.5, 0.5),
        fields={"min": -0.5, "max": 0.5},
    ),
    variant(
        "where",
        lambda xp, x, y: xp.where(MASK, x, y),
        lambda x, y: wg.where(MASK, x, y),
        PAIR,
        PAIR_AGAIN,
        build=lambda g, x, y: g.where(g.input(MASK, name="mask"), x, y),
        operands=lambda x, y: (MASK, x, y),
    ),
    variant(
        "reshape",
        lambda xp, x: xp.reshape(x, (3, 2)),
        lambda x: wg.reshape(x, (3, 2)),
        SIGNED,
        OTHER,
        build=lambda g, x: g.reshape(x, (3, 2)),
        fields={"original_shape": (2, 3)},
    ),
    variant("transpose", lambda xp, x: xp.swapaxes(x, -1, -2), wg.matrix_transpose, SIGNED, OTHER),
    variant(
        "cat",
        lambda xp, x, y: xp.concatenate([x, y], axis=1),
        lambda x, y: wg.concat([x, y], axis=1),
        (SIGNED, POSITIVE[:, :2].copy()),
        (OTHER, POSITIVE[:, 1:].copy()),
        build=lambda g, x, y: g.cat([x, y], axis=1),
        fields={"axis": 1, "sizes": (3, 2)},
    ),
    variant(
        "gather",
        lambda xp, x: xp.take(x, GATHERED, axis=1),
        lambda x: wg.take(x, GATHERED, axis=1),
        SIGNED,
        OTHER,
        build=lambda g, x: g.gather(x, GATHERED, axis=1),
        fields={"indices": GATHERED, "axis": 1},
    ),
]
