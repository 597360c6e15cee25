"""Bad input to the ops of the table: shapes, axes, dtypes and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

ones = np.ones
line, square, block = ones(3), ones((3, 3)), ones((2, 3, 4))
numbers = np.arange(3)


def traced(function: Callable[..., Any], *args: Any) -> Any:
    """Record a function: its values have shapes and dtypes, but no numbers."""
    return wg.trace(function, *args)


class Unwilling:
    """Says how it becomes an array, and cannot."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("not yet")


ELEMENTWISE: dict[str, Callable[[], Any]] = {
    "add: shapes that do not broadcast": lambda: wg.add(ones((2, 3)), ones((2, 4))),
    "add: shapes that do not broadcast, traced": lambda: traced(
        lambda x, y: x + y, ones((2, 3)), ones((2, 4))
    ),
    "add: shapes that do not broadcast, differentiated": lambda: wg.grad(
        lambda x: wg.sum(x + ones(4))
    )(line),
    "add: a run-time size and a number, traced": lambda: wg.trace(
        lambda x: x + ones(3), ones((2, 5)), dims={"x": {1: wg.Dim("n")}}
    ),
    "add: three operands": lambda: wg.add(line, line, line),
    "add: one operand": lambda: wg.add(line),
    "add: an unknown argument": lambda: wg.add(line, line, axis=0),
    "sum: its axis by position and by name": lambda: wg.sum(line, 0, axis=0),
    "softmax: a name from elsewhere": lambda: wg.softmax(square, dim=0),
    "scan: an unknown argument": lambda: wg.scan(lambda c, x: (c, x), 0.0, line, unroll=2),
    "dropout: too little": lambda: wg.dropout(line),
    "dropout: a name from elsewhere, traced": lambda: traced(lambda x: wg.dropout(x, p=0.5), line),
    "sum: no arguments": lambda: wg.sum(),
    "sum: too many arguments": lambda: wg.sum(line, 0, False, 1),
    "sum: rows of two lengths": lambda: wg.sum([[1.0], [1.0, 2.0]]),
    "sum: something that is no array": lambda: wg.sum(Unwilling()),
    "reshape: no shape": lambda: wg.reshape(line),
    "exp: a complex array": lambda: wg.exp(ones(2, complex)),
    "exp: a text": lambda: wg.exp("one"),
    "exp: half precision": lambda: wg.exp(ones(2, np.float16)),
    "add: a complex array, traced": lambda: traced(lambda x: x + ones(2, complex), ones(2)),
    "add: None": lambda: wg.add(line, None),
    "sum: None": lambda: wg.sum(None),
    "where: None, traced": lambda: traced(lambda x: wg.where(x > 0, x, None), line),
    "subtract: bools": lambda: wg.subtract(line > 0, line > 1),
    "negative: a bool, traced": lambda: traced(lambda x: -(x > 0), line),
    "bitwise_and: floats": lambda: wg.bitwise_and(line, numbers),
    "power: an integer to a negative one": lambda: wg.power(numbers, -1),
    "polygamma: an order that is a float": lambda: wg.polygamma(1.5, line),
    "astype: an unknown dtype": lambda: wg.astype(line, "complex64"),
    "astype: no dtype at all": lambda: wg.astype(line, "wide"),
}

AXES: dict[str, Callable[[], Any]] = {
    "sum: an axis that does not exist": lambda: wg.sum(block, axis=3),
    "sum: an axis that does not exist, traced": lambda: traced(lambda x: wg.sum(x, axis=3), block),
    "sum: an axis that does not exist, differentiated": lambda: wg.grad(lambda x: wg.sum(x, 3))(
        block
    ),
    "sum: an axis of a number": lambda: wg.sum(1.0, axis=0),
    "sum: an axis twice": lambda: wg.sum(block, axis=(0, -3)),
    "sum: an axis that is no integer": lambda: wg.sum(block, axis=1.5),
    "sum: keepdims that is an array": lambda: wg.sum(block, keepdims=line),
    "max: an empty axis": lambda: wg.max(ones((0, 3)), axis=0),
    "argmax: an empty axis": lambda: wg.argmax(ones((0, 3)), axis=0),
    "cumsum: no axis": lambda: wg.cumulative_sum(block),
    "diff: a negative count": lambda: wg.diff(line, n=-1),
    "vecdot: an axis one of them lacks": lambda: wg.vecdot(line, block, axis=0),
    "vecdot: sizes that differ": lambda: wg.vecdot(line, ones(4)),
    "squeeze: an axis of another size": lambda: wg.squeeze(block, axis=0),
    "permute_dims: axes left out": lambda: wg.permute_dims(block, (0, 1)),
    "moveaxis: more sources than destinations": lambda: wg.moveaxis(block, (0, 1), 0),
    "roll: more shifts than axes": lambda: wg.roll(block, (1, 2, 3), (0, 1)),
    "searchsorted: a matrix": lambda: wg.searchsorted(square, line),
    "searchsorted: an unknown side": lambda: wg.searchsorted(line, line, side="middle"),
}

SHAPES: dict[str, Callable[[], Any]] = {
    "broadcast_to: a shape it does not fit": lambda: wg.broadcast_to(line, (3, 2)),
    "concat: nothing": lambda: wg.concat([]),
    "concat: sizes that differ": lambda: wg.concat([ones((2, 3)), ones((2, 4))]),
    "concat: sizes that differ, traced": lambda: traced(
        lambda x: wg.concat([x, ones((2, 4))]), ones((2, 3))
    ),
    "stack: nothing": lambda: wg.stack([]),
    "stack: shapes that differ": lambda: wg.stack([ones(2), ones(3)]),
    "stack: shapes that differ, traced": lambda: traced(lambda x: wg.stack([x, ones(3)]), ones(2)),
    "split: parts that do not fit": lambda: wg.split(ones(5), 2),
    "pad: a pair too many": lambda: wg.pad(line, ((1, 1), (1, 1))),
    "pad: a number the dtype lacks": lambda: wg.pad(numbers, 1, 0.5),
    "pad: a Tensor as the number": lambda: wg.grad(lambda x: wg.sum(wg.pad(line, 1, x)))(1.0),
    "tril: a diagonal that is a text, traced": lambda: traced(lambda x: wg.tril(x, "a"), square),
    "tril: a vector": lambda: wg.tril(line),
    "diagonal: a vector": lambda: wg.diagonal(line),
    "diag: a block": lambda: wg.diag(block),
    "meshgrid: an unknown indexing": lambda: wg.meshgrid(line, line, indexing="yx"),
    "matrix_transpose: a vector": lambda: wg.matrix_transpose(line),
    "reshape: a count that differs": lambda: wg.reshape(block, (5, 5)),
    "reshape: a count that differs, traced": lambda: traced(lambda x: x.reshape(5, 5), block),
    "reshape: a size that does not divide": lambda: wg.reshape(block, (-1, 5)),
    "reshape: two open sizes": lambda: wg.reshape(block, (-1, -1)),
    "reshape: a size that is a float": lambda: wg.reshape(block, (2.0, 12)),
    "reshape: a negative size": lambda: wg.reshape(block, (-2, 12)),
    "pad: a Tensor as the number, traced": lambda: traced(lambda x: wg.pad(line, 1, x), ones(())),
    "full: a text as the number": lambda: wg.full((2,), "x"),
    "full: a Tensor of two numbers": lambda: wg.grad(lambda x: wg.sum(wg.full((2,), x)))(
        ones((2,))
    ),
    "full: a Tensor of two, traced": lambda: traced(lambda x: wg.full((2,), x), ones((2,))),
    "arange: a step of 0": lambda: wg.arange(0, 3, 0),
    "arange: a Tensor as the end": lambda: wg.grad(lambda x: wg.sum(x * wg.arange(x)))(3.0),
    "arange: no end": lambda: wg.arange(np.inf),
}

INDICES: dict[str, Callable[[], Any]] = {
    "getitem: a position outside": lambda: wg.grad(lambda x: x[3])(line),
    "getitem: a position outside, traced": lambda: traced(lambda x: x[3], line),
    "getitem: a position of an empty axis, traced": lambda: traced(lambda x: x[0], ones(0)),
    "getitem: too many indices, traced": lambda: traced(lambda x: x[0, 0], line),
    "getitem: two Ellipses, traced": lambda: traced(lambda x: x[..., 0, ...], block),
    "getitem: a float, traced": lambda: traced(lambda x: x[1.5], line),
    "getitem: an array of floats, traced": lambda: traced(lambda x: x[ones(2)], line),
    "getitem: a Tensor of floats, traced": lambda: traced(lambda x: x[x], line),
    "getitem: a mask of another shape, traced": lambda: traced(lambda x: x[ones(2, bool)], line),
    "getitem: a mask, traced": lambda: traced(lambda x: x[x > 0], line),
    "at.set: updates of another shape": lambda: wg.at(line)[1:].set(np.ones(5)),
    "at.set: floats into integers": lambda: wg.at(np.arange(3))[0].set(1.5),
    "at.set: updates of another shape, traced": lambda: traced(
        lambda x: x.at[1:].set(np.ones(5)), line
    ),
    "at.add: bools": lambda: wg.at(line > 0)[0].add(True),
    "at.add: an index out of range": lambda: wg.at(line)[[0, 7]].add(1.0),
    "at.max: a traced mask of another shape": lambda: traced(
        lambda x, y: x.at[y > 0].max(0.0), line, np.ones(2)
    ),
    "at.divide: no such update": lambda: wg.at(line)[0].divide(2.0),
    "at: an assignment": lambda: wg.at(line).__setitem__(0, 1.0),
    "last_at: an index out of range": lambda: wg.op.last_at(np.array([3]), 2),
    "last_at: indices of two axes": lambda: wg.op.last_at(np.zeros((2, 2), int), 2),
    "largest_at: indices that are no integers": lambda: traced(wg.op.largest_at, line, line, line),
    "smallest_at: updates of another shape": lambda: traced(
        wg.op.smallest_at, line, np.array([1]), line
    ),
    "qr_tall: a wide matrix": lambda: traced(wg.op.qr_tall, np.ones((2, 3))),
    "getitem: a Tensor as a bound, traced": lambda: traced(lambda x, i: x[i:], line, np.int64(0)),
    "getitem: a step of 0, traced": lambda: traced(lambda x: x[::0], line),
    "getitem: a step of 0, differentiated": lambda: wg.grad(lambda x: wg.sum(x[::0]))(line),
    "slice_axes: a run-time size too small": lambda: wg.trace(
        lambda x: x[2], ones(5), dims={"x": {0: wg.Dim("n")}}
    ).run(x=ones(1)),
    "take: a position outside": lambda: wg.take(line, np.array([0, 5])),
    "take: a position outside, traced": lambda: traced(lambda x: wg.take(x, np.array([5])), line),
    "getitem: arrays that do not broadcast, traced": lambda: traced(
        lambda x: x[np.arange(2), np.arange(3)], square
    ),
    "getitem: positions outside, traced": lambda: traced(lambda x: x[np.array([0, 5])], line),
    "getitem: positions outside, when it runs": lambda: traced(
        lambda x, i: x[i], line, np.arange(2)
    ).run(i=np.array([0, 5]), x=line),
    "take: an empty array": lambda: wg.take(ones(0), np.array([0])),
    "take: positions that are floats": lambda: wg.take(line, line),
    "take: a mask": lambda: wg.take(line, line > 0, axis=0),
    "take_along_axis: another number of axes": lambda: wg.take_along_axis(square, numbers),
    "scatter: updates of another shape": lambda: wg.op.scatter(
        [ones(2), numbers], shape=(5,), axis=0
    ),
    "scatter_add: updates of another shape": lambda: wg.scatter_add(
        line, np.array([0, 1]), ones((2, 2))
    ),
    "scatter_add: a position outside": lambda: wg.scatter_add(line, np.array([7]), ones(1)),
    "nonzero: a number": lambda: wg.nonzero(np.array(2.0)),
    "nonzero: traced": lambda: traced(lambda x: wg.nonzero(x), line),
    "one_hot: floats": lambda: wg.one_hot(line, 3),
}

PRODUCTS: dict[str, Callable[[], Any]] = {
    "matmul: sizes that differ": lambda: wg.matmul(ones((3, 4)), ones((5, 2))),
    "matmul: sizes that differ, traced": lambda: traced(
        lambda x, w: x @ w, ones((3, 4)), ones((5, 2))
    ),
    "matmul: a matrix and a vector that differ": lambda: wg.matmul(ones((3, 4)), ones(3)),
    "matmul: a number": lambda: wg.matmul(square, 2.0),
    "tensordot: more axes than there are": lambda: wg.tensordot(line, line, axes=2),
    "tensordot: three lists": lambda: wg.tensordot(square, square, axes=(0, 1, 1)),
    "tensordot: sizes that differ": lambda: wg.tensordot(ones((2, 3)), ones((2, 3)), axes=1),
    "einsum: no text": lambda: wg.einsum(line, "i"),
    "einsum: an operand too few": lambda: wg.einsum("i,j->ij", line),
    "einsum: a letter too few": lambda: wg.einsum("i->i", square),
    "einsum: a letter of the result that is nowhere": lambda: wg.einsum("i->j", line),
    "einsum: a diagonal of two sizes": lambda: wg.einsum("ii", np.ones((1, 3))),
    "einsum: an ellipsis left out": lambda: wg.einsum("...i->i", square),
    "einsum: a digit": lambda: wg.einsum("i1->i", square),
    "einsum: sizes that differ": lambda: wg.einsum("ij,jk->ik", ones((2, 3)), ones((4, 5))),
    "einsum: sizes that differ, traced": lambda: traced(
        lambda x: wg.einsum("ij,jk->ik", x, ones((4, 5))), ones((2, 3))
    ),
    "recurrence: shapes that differ": lambda: wg.op.recurrence(ones((2, 3)), line, axis=0),
    "linalg.inv: a singular matrix": lambda: wg.linalg.inv(ones((2, 2))),
    "linalg.inv: a matrix that is not square": lambda: wg.linalg.inv(ones((2, 3))),
    "linalg.inv: a vector": lambda: wg.linalg.inv(line),
    "linalg.inv: integers": lambda: wg.linalg.inv(np.eye(2, dtype=int)),
    "linalg.inv: a singular matrix, when it runs": lambda: traced(
        lambda x: wg.linalg.inv(x), np.eye(2)
    ).run(x=ones((2, 2))),
    "linalg.solve: a singular matrix": lambda: wg.linalg.solve(ones((2, 2)), ones(2)),
    "linalg.solve: sizes that differ": lambda: wg.linalg.solve(np.eye(2), line),
    "linalg.triangular_solve: a zero on the diagonal": lambda: wg.linalg.triangular_solve(
        np.diag([1.0, 0.0]), ones(2), lower=True
    ),
    "linalg.cholesky: not positive definite": lambda: wg.linalg.cholesky(-np.eye(2)),
    "linalg.matrix_power: half a power": lambda: wg.linalg.matrix_power(square, 0.5),
    "linalg.cross: vectors of two": lambda: wg.linalg.cross(ones(2), ones(2)),
    "linalg.vector_norm: an unknown order": lambda: wg.linalg.vector_norm(line, ord="fro"),
    "linalg.matrix_norm: an unknown order": lambda: wg.linalg.matrix_norm(square, ord=3),
    "linalg.qr: an unknown mode": lambda: wg.linalg.qr(ones((3, 2)), mode="full"),
    "orthogonal_complement: a wide matrix": lambda: wg.op.orthogonal_complement(ones((2, 3))),
    "linalg.eigh: an unknown triangle": lambda: wg.linalg.eigh(square, UPLO="X"),
    "linalg.pinv: a negative tolerance": lambda: wg.linalg.pinv(square, rtol=-1.0),
    "linalg.pinv: tolerances that are none": lambda: wg.linalg.pinv(
        ones((2, 3, 3)), rtol=np.array([0.1, -0.1])
    ),
    "linalg.pinv: tolerances of another shape": lambda: wg.linalg.pinv(square, rtol=ones(2)),
    "linalg.pinv: two tolerances": lambda: wg.linalg.pinv(square, 0.1, rtol=0.1),
    "np.rollaxis: a place that there is not, traced": lambda: traced(
        lambda x: np.rollaxis(x, 0, 4), block
    ),
    "linalg.matrix_rank: two tolerances": lambda: wg.linalg.matrix_rank(square, 0.1, rtol=0.1),
    "linalg.lstsq: sizes that differ": lambda: wg.linalg.lstsq(ones((4, 2)), line),
    "linalg.norm: an order for a block": lambda: wg.linalg.norm(block, ord=1),
    "linalg.norm: three axes": lambda: wg.linalg.norm(block, ord=1, axis=(0, 1, 2)),
}

RANDOM: dict[str, Callable[[], Any]] = {
    "random.normal: a shape in the place of the key": lambda: wg.random.normal((3,)),
    "random.normal: a generator of NumPy": lambda: wg.random.normal(np.random.default_rng(0), (3,)),
    "random.Generator: a generator of NumPy": lambda: wg.random.Generator(np.random.RandomState(0)),
    "random.key: a float": lambda: wg.random.key(0.5),
    "random.key: a negative seed": lambda: wg.random.key(-1),
    "random.random_bits: no key": lambda: wg.random.random_bits(line, (2,)),
    "random.random_bits: a signed dtype": lambda: wg.random.random_bits(
        wg.random.key(0), (2,), np.int32
    ),
    "random.random_bits: a negative stream": lambda: wg.random.random_bits(
        wg.random.key(0), (2,), stream=-1
    ),
    "random.fold_in: two numbers": lambda: wg.random.fold_in(wg.random.key(0), np.arange(2)),
    "random.normal: an integer dtype": lambda: wg.random.normal(wg.random.key(0), (2,), int),
    "random.uniform: low above high": lambda: wg.random.uniform(
        wg.random.key(0), (2,), low=1.0, high=0.0
    ),
    "random.normal: a mean and a deviation": lambda: wg.random.normal(wg.random.key(0), 0, 1),
    "random.normal: NumPy's mean, deviation and shape": lambda: wg.random.Generator(
        wg.random.key(0)
    ).normal(0, 0.1, (3,)),  # type: ignore[call-arg]
    "random.uniform: bounds": lambda: wg.random.uniform(wg.random.key(0), 0.0, 1.0),
    "random.bernoulli: a probability above 1": lambda: wg.random.bernoulli(wg.random.key(0), 1.5),
    "random.randint: NumPy's order": lambda: wg.random.randint(wg.random.key(0), 0, 5, (3,)),
    "random.randint: NumPy's order, of numbers": lambda: wg.random.randint(
        wg.random.key(0), 1, 3, 6
    ),
    "random.randint: arrays of which one is empty": lambda: wg.random.randint(
        wg.random.key(0), (2,), 0, np.array([3, 0])
    ),
    "random.randint: bounds in an array and a narrow dtype": lambda: wg.random.randint(
        wg.random.key(0), (2,), 0, np.array([3, 2]), np.int8
    ),
    "random.randint: bounds that are floats": lambda: wg.random.randint(
        wg.random.key(0), (2,), 0, np.array([3.0, 2.0])
    ),
    "random.randint: more bounds than draws": lambda: wg.random.randint(
        wg.random.key(0), (), 0, np.array([3, 2])
    ),
    "bce_with_logits: labels of -1 and 1": lambda: wg.bce_with_logits(
        np.array([2.0, -2.0]), np.array([1, -1])
    ),
    "random.randint: low above high": lambda: wg.random.randint(wg.random.key(0), (2,), 5, 1),
}

NAMESPACE: dict[str, Callable[[], Any]] = {
    "zeros: another device": lambda: wg.zeros(3, device="cuda"),
    "reshape: no copy where one is needed": lambda: wg.reshape(ones((2, 3)).T, (6,), copy=False),
    "asarray: no copy of a list": lambda: wg.asarray([1.0], copy=False),
    "finfo: integers": lambda: wg.finfo(wg.int8),
    "iinfo: floats": lambda: wg.iinfo(line),
    "isdtype: an unknown kind": lambda: wg.isdtype(wg.int8, "float"),
    "from_dlpack: a list": lambda: wg.from_dlpack([1.0]),
    "from_dlpack: a Tensor": lambda: traced(lambda x: wg.from_dlpack(x), line),
    "Tensor: given to another library": lambda: traced(lambda x: np.from_dlpack(x), line),
    "Tensor: another version of the standard": lambda: traced(
        lambda x: x.__array_namespace__(api_version="1999"), line
    ),
    "unique_values: how many there are is not known": lambda: traced(wg.unique_values, line),
}

CASES = ELEMENTWISE | AXES | SHAPES | INDICES | PRODUCTS | RANDOM | NAMESPACE
