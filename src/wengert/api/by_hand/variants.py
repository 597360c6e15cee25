"""The 34 variants of GradOp: the names under which graphs are built by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from wengert.api.by_hand.building import Building, Container
from wengert.core.op import Op
from wengert.core.op_parts.broadcast import canonical_axis
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.errors import TraceError


class GradOp(StrEnum):
    """The kinds of nodes a graph is built from by hand, by their names."""

    input = "input"
    parameter = "parameter"
    add = "add"
    sub = "sub"
    mul = "mul"
    div = "div"
    neg = "neg"
    matmul = "matmul"
    sum = "sum"
    mean = "mean"
    scalar_mul = "scalar_mul"
    exp = "exp"
    ln = "ln"
    struct_field = "struct_field"
    map_lookup = "map_lookup"
    sin = "sin"
    cos = "cos"
    sqrt = "sqrt"
    pow = "pow"
    sigmoid = "sigmoid"
    relu = "relu"
    tanh = "tanh"
    abs = "abs"
    log2 = "log2"
    softmax = "softmax"
    cross_entropy = "cross_entropy"
    layer_norm = "layer_norm"
    batch_norm = "batch_norm"
    clamp = "clamp"
    where = "where"
    reshape = "reshape"
    transpose = "transpose"
    cat = "cat"
    gather = "gather"


# Variants that are one op under another name, for nodes made with operators instead of the methods
# below.
_VARIANT_OF_OP = {
    "subtract": GradOp.sub,
    "multiply": GradOp.mul,
    "divide": GradOp.div,
    "negative": GradOp.neg,
    "log": GradOp.ln,
    "power": GradOp.pow,
    "clip": GradOp.clamp,
    "matrix_transpose": GradOp.transpose,
    "concat": GradOp.cat,
    "take": GradOp.gather,
}


def _of_op(kind: GradOp, name: str, count: int) -> Callable[..., Any]:
    """A method that calls an op with `count` operands and nothing else."""

    def method(self: Variants, *operands: Any) -> Any:
        if len(operands) != count:
            raise TypeError(
                f"{kind}: {len(operands)} operands were given; it takes {count}. Pass as many."
            )
        return self._call(kind, op[name], operands)

    method.__name__ = str(kind)
    method.__doc__ = f"The variant `{kind}`: wg.{name} of {count} node{'s' if count > 1 else ''}."
    return method


class Variants(Building):
    """One method per variant. Operands are nodes of this graph or plain arrays, which become
    constants.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, tuple[str, tuple[Any, ...], dict[str, Any]]] = {}

    add = _of_op(GradOp.add, "add", 2)
    sub = _of_op(GradOp.sub, "subtract", 2)
    mul = _of_op(GradOp.mul, "multiply", 2)
    div = _of_op(GradOp.div, "divide", 2)
    neg = _of_op(GradOp.neg, "negative", 1)
    matmul = _of_op(GradOp.matmul, "matmul", 2)
    exp = _of_op(GradOp.exp, "exp", 1)
    ln = _of_op(GradOp.ln, "log", 1)
    sin = _of_op(GradOp.sin, "sin", 1)
    cos = _of_op(GradOp.cos, "cos", 1)
    sqrt = _of_op(GradOp.sqrt, "sqrt", 1)
    sigmoid = _of_op(GradOp.sigmoid, "sigmoid", 1)
    relu = _of_op(GradOp.relu, "relu", 1)
    tanh = _of_op(GradOp.tanh, "tanh", 1)
    abs = _of_op(GradOp.abs, "abs", 1)
    log2 = _of_op(GradOp.log2, "log2", 1)
    transpose = _of_op(GradOp.transpose, "matrix_transpose", 1)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Sum over axes, all by default; a full sum is 0-d."""
        return self._call(GradOp.sum, op.sum, [x], axis=axis, keepdims=keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Mean over axes, all by default; a full mean is 0-d."""
        return self._call(GradOp.mean, op.mean, [x], axis=axis, keepdims=keepdims)

    def scalar_mul(self, x: Any, constant: float) -> Any:
        """A node times a constant number."""
        return self._call(
            GradOp.scalar_mul,
            lambda y: op.multiply(y, float(constant)),
            [x],
            {"constant": constant},
        )

    def pow(self, x: Any, constant: float) -> Any:
        """A node to the power of a constant number."""
        return self._call(
            GradOp.pow, lambda y: op.power(y, float(constant)), [x], {"constant": constant}
        )

    def softmax(self, x: Any, axis: int = -1) -> Any:
        """Softmax along one axis, the last by default."""
        return self._call(GradOp.softmax, op.softmax, [x], axis=axis)

    def cross_entropy(self, logits: Any, targets: Any, reduction: str = "mean") -> Any:
        """Cross-entropy along the last axis; targets are class indices or probabilities."""
        return self._call(
            GradOp.cross_entropy, op.cross_entropy, [logits, targets], reduction=reduction
        )

    def layer_norm(self, x: Any, scale: Any = None, shift: Any = None, eps: float = 1e-5) -> Any:
        """Normalise along the last axis."""
        return self._call(GradOp.layer_norm, op.layer_norm, [x, scale, shift], eps=eps)

    def batch_norm(self, x: Any, scale: Any = None, shift: Any = None, eps: float = 1e-5) -> Any:
        """Normalise each feature over the first axis, with the statistics of the batch."""
        return self._call(GradOp.batch_norm, op.batch_norm, [x, scale, shift], eps=eps)

    def clamp(self, x: Any, min: float, max: float) -> Any:
        """A node limited to [min, max]; the gradient passes at the bounds."""
        return self._call(
            GradOp.clamp, lambda y: op.clip(y, min, max), [x], {"min": min, "max": max}
        )

    def where(self, cond: Any, on_true: Any, on_false: Any) -> Any:
        """Choose by a bool condition or a mask of zeros and ones."""
        return self._call(
            GradOp.where,
            lambda c, a, b: op.where(op.astype(c, bool), a, b),
            [cond, on_true, on_false],
        )

    def reshape(self, x: Any, shape: Any) -> Any:
        """The same elements in another shape."""
        fields = {"original_shape": tuple(np.shape(x) if not isinstance(x, Tensor) else x.shape)}
        return self._call(GradOp.reshape, op.reshape, [x], fields, shape=shape)

    def cat(self, inputs: Sequence[Any], axis: int = 0) -> Any:
        """Nodes joined along an axis."""
        with self.level.all_or_nothing():
            handles = [self._operand(GradOp.cat, x) for x in inputs]
            out = op.concat(handles, axis=axis)
        axis = canonical_axis("cat", axis, len(out.shape))
        fields = {"axis": axis, "sizes": tuple(x.shape[axis] for x in handles)}
        return self._remember(out, GradOp.cat, handles, fields)

    def gather(self, x: Any, indices: Any, axis: int = 0) -> Any:
        """Elements at positions along an axis; repeated positions add up in the gradient."""
        with self.level.all_or_nothing():
            source = self._operand(GradOp.gather, x)
            known = not isinstance(indices, Tensor | Container)  # then they are checked at once
            where = np.asarray(indices) if known else self._operand(GradOp.gather, indices)
            out = op.take(source, where, axis=axis)
        fields = {
            "indices": np.array(where) if known else indices,
            "axis": canonical_axis("gather", axis, len(source.shape)),
        }
        return self._remember(out, GradOp.gather, [source], fields)

    def struct_field(self, struct: Container, field: str | int) -> Any:
        """One field of a struct, by name or by index in order of definition."""
        return self._child(GradOp.struct_field, struct, field, "field_index", "total_fields")

    def map_lookup(self, map: Container, key: Any) -> Any:
        """One entry of a map, by key or by index in order of insertion."""
        return self._child(GradOp.map_lookup, map, key, "key_index", "total_keys")

    def _child(
        self, kind: GradOp, parent: Any, key: Any, index_field: str, total_field: str
    ) -> Any:
        if not isinstance(parent, Container):
            raise TraceError(
                f"{kind}: given {type(parent).__name__}; a tree of nodes is needed. "
                "Make one with g.parameter(tree) or g.input(tree)."
            )
        names, children = _children(parent.tree)
        if key not in names and not (isinstance(key, int) and 0 <= key < len(names)):
            raise KeyError(
                f"{kind}: no entry {key!r}; the tree has {', '.join(map(str, names))}. Pick one "
                "of these."
            )
        index = names.index(key) if key in names else key
        fields = {index_field: index, total_field: len(names)}
        child = children[index]
        if isinstance(child, Tensor):
            return self._remember(op.positive(child), kind, [parent], fields)
        return Container(child, (kind, (parent,), fields))

    def op(self, node: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """How a node was made: (kind, operands, fields)."""
        if isinstance(node, Container):
            return node.made
        number = self.number(node)
        if number in self._made:
            return self._made[number]
        made = self.nodes[number]
        kind = _VARIANT_OF_OP.get(made.op.name, made.op.name)
        fields = {} if made.op in (op.input, op.parameter) else dict(made.params)
        return str(kind), tuple(self.handle(i) for i in made.operands if i is not None), fields

    def _call(
        self,
        kind: GradOp,
        function: Callable[..., Any],
        operands: Sequence[Any],
        fields: dict[str, Any] | None = None,
        **params: Any,
    ) -> Any:
        """Record a call and remember the variant it was made as."""
        with self.level.all_or_nothing():
            lifted = [None if x is None else self._operand(kind, x) for x in operands]
            out = function(*lifted, **params)
        if (
            isinstance(function, Op) and fields is None
        ):  # numbers among the operands are constants by now
            lifted = [
                None if i is None else self.handle(i) for i in self.nodes[out.handle].operands
            ]
        return self._remember(out, kind, [x for x in lifted if x is not None], fields or {})

    def _remember(
        self, out: Any, kind: GradOp, operands: Sequence[Any], fields: dict[str, Any]
    ) -> Any:
        self._handles[out.handle] = out
        self._made[out.handle] = (kind, tuple(operands), fields)
        return out

    def _operand(self, kind: GradOp, x: Any) -> Any:
        if isinstance(x, Container):
            raise TraceError(
                f"{kind}: given a tree; an operand is one array. "
                "Pick from it with struct_field or map_lookup."
            )
        if isinstance(x, Tensor):
            return self.handle(self.number(x))
        if isinstance(x, bool | int | float) and kind not in (GradOp.reshape, GradOp.cat):
            return x
        return self.level.lift(np.asarray(x))


def _children(tree: Any) -> tuple[list[Any], list[Any]]:
    """The names and values one level down: keys of a dict, fields of a dataclass, positions of a
    list.
    """
    if isinstance(tree, dict):
        return list(tree), list(tree.values())
    if dataclasses.is_dataclass(tree):
        names: list[Any] = [field.name for field in dataclasses.fields(tree)]
        return names, [getattr(tree, name) for name in names]
    if hasattr(tree, "_fields"):
        return list(tree._fields), list(tree)
    return list(range(len(tree))), list(tree)
