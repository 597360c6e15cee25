"""Bad use of a value that is traced or differentiated: Python and NumPy would cut it out."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.special
from sklearn.metrics import median_absolute_error
from sklearn.preprocessing import StandardScaler

import wengert as wg
from messages.units import lengths
from wengert.core.dims import Dim

line, square = np.ones(3), np.ones((3, 3))
scaler = StandardScaler().fit(square)


def traced(function: Callable[..., Any], *args: Any) -> Any:
    return wg.trace(function, *(args or (line,)))


def differentiated(function: Callable[..., Any], *args: Any) -> Any:
    return wg.grad(function)(*(args or (line,)))


def _write(x: Any) -> Any:
    x[0] = 5.0
    return x


def _write_into_array(x: Any) -> Any:
    out = np.zeros(3)
    out[0] = x[0]
    return x


def _write_number(x: Any) -> Any:
    out = array("d", [0.0])
    out[0] = x[0]
    return x


def _write_row(x: Any) -> Any:
    out = np.zeros((2, 3))
    out[0] = x
    return x


def _add_to_array(x: Any) -> Any:
    total = np.zeros(3)
    total += x
    return total


def _one_and_two(x: Any) -> Any:
    one, two = x
    return one + two


def _branch(x: Any) -> Any:
    if x > 0:
        return x
    return -x


def _outlived() -> Any:
    kept = []
    wg.grad(lambda x: kept.append(x) or x * 1.0)(1.0)
    return kept[0] + 1.0


def _in_aux(convert: Callable[[Any], Any]) -> Any:
    function = wg.value_and_grad(lambda x: (wg.sum(x), {"sum": convert(wg.sum(x))}), has_aux=True)
    return wg.compile(function)(line)


PYTHON: dict[str, Callable[[], Any]] = {
    "assignment: in place, traced": lambda: traced(_write),
    "assignment: in place, differentiated": lambda: differentiated(_write),
    "assignment: into an array of NumPy, differentiated": lambda: differentiated(_write_into_array),
    "assignment: into an array of Python": lambda: differentiated(_write_number),
    "assignment: of a row of an array of NumPy": lambda: differentiated(_write_row),
    "np.add: in place, differentiated": lambda: differentiated(_add_to_array),
    "np.add: in place, traced": lambda: traced(_add_to_array),
    "bool: a branch, traced": lambda: traced(_branch, np.ones(())),
    "bool: a branch on an array, traced": lambda: traced(_branch),
    "float: differentiated": lambda: differentiated(lambda x: float(x) * 2.0, 1.0),
    "float: traced": lambda: traced(lambda x: float(x) * 2.0, np.ones(())),
    "int: a count, traced": lambda: traced(lambda y: wg.one_hot(y, int(y.max()) + 1), np.arange(3)),
    "index: a count, traced": lambda: traced(lambda y: wg.one_hot(y, y.max() + 1), np.arange(3)),
    "int: traced": lambda: traced(lambda x: int(x), np.ones(())),
    "item: in the aux of a compiled gradient": lambda: _in_aux(lambda v: v.item()),
    "np.array: in the aux of a compiled gradient": lambda: _in_aux(lambda v: np.array(v)),
    "sklearn: a metric, compiled": lambda: wg.compile(lambda x: median_absolute_error(x, x))(line),
    "sklearn: a metric, differentiated": lambda: differentiated(
        lambda x: median_absolute_error(x, x)
    ),
    "sklearn: a scaler, traced": lambda: traced(lambda x: scaler.transform(x), square),
    "jnp.sin: a function of JAX, traced": lambda: traced(lambda x: jnp.sin(x)),
    "jnp.where: a function of JAX, traced": lambda: traced(lambda x: jnp.where(x > 0, x, 0)),
    "jax.grad: a function of JAX, differentiated": lambda: differentiated(
        lambda x: jax.grad(jnp.sum)(x)
    ),
    "item: differentiated": lambda: differentiated(lambda x: x.item() * 2.0, 1.0),
    "tolist: differentiated": lambda: differentiated(lambda x: sum(x.tolist())),
    "format: traced": lambda: traced(lambda x: f"{x:.3f}"),
    "index: traced": lambda: traced(lambda i: [1, 2, 3][i], np.int64(1)),
    "iter: other names than elements, traced": lambda: traced(_one_and_two),
    "iter: values and indices of a maximum, traced": lambda: traced(
        lambda x: _one_and_two(wg.max(x, 1)), np.ones((3, 2))
    ),
    "index: an end of a list, traced": lambda: traced(lambda i: [1, 2, 3][:i], np.int64(1)),
    "index: a range, traced": lambda: traced(lambda n: range(n), np.int64(3)),
    "len: a number, traced": lambda: traced(lambda x: len(x), np.ones(())),
    "pickle: differentiated": lambda: differentiated(lambda x: pickle.dumps(x)),
    "sort: in place, traced": lambda: traced(lambda x: x.sort()),
    "reshape: column by column, traced": lambda: traced(lambda x: x.reshape(3, order="F")),
    "ravel: column by column, differentiated": lambda: differentiated(
        lambda x: wg.sum(x.ravel(order="F"))
    ),
    "flatten: torch's first axis, traced": lambda: traced(
        lambda x: x.flatten(1),  # type: ignore[arg-type]
        np.ones((2, 3, 4)),
    ),
    "Tensor: it outlived its transformation": _outlived,
    "multiply: a masked array, traced": lambda: traced(lambda x: x * np.ma.array(line)),
    "np.ma: a masked array first, traced": lambda: traced(lambda x: np.ma.array(line) * x),
    "multiply: a matrix, differentiated": lambda: differentiated(
        lambda x: x * square.view(np.matrix)
    ),
    "multiply: an array with a unit, traced": lambda: traced(lambda x: x * lengths),
}

NUMPY: dict[str, Callable[[], Any]] = {
    "np.array: a list of Tensors, differentiated": lambda: differentiated(
        lambda x: np.array([x[0], x[1]]).sum()
    ),
    "np.array: a list of Tensors, traced": lambda: traced(lambda x: np.array([x[0], x[1]])),
    "np.mean: a list of Tensors": lambda: differentiated(lambda x: np.mean([x[0], x[1]])),
    "np.trapezoid: a list of Tensors": lambda: differentiated(lambda x: np.trapezoid([x[0], x[1]])),
    "np.r_: a list of Tensors": lambda: differentiated(lambda x: np.r_[[x[0], x[1]], 1.0].sum()),
    "np.c_: lists of Tensors, traced": lambda: traced(lambda x: np.c_[[x[0]], [x[1]]]),
    "array: Tensors of two shapes": lambda: differentiated(lambda x: wg.array([x, x[0]]).sum()),
    "repeat: repeats that do not fit": lambda: wg.repeat(line, [1, 2]),
    "repeat: a total that is not theirs": lambda: wg.repeat(line, 2, total_repeat_length=7),
    "repeat: traced repeats of floats": lambda: traced(
        lambda x, n: wg.repeat(x, n, total_repeat_length=4), line, np.ones(3)
    ),
    "repeat: repeats that are traced": lambda: traced(
        lambda x, n: wg.repeat(x, n), line, np.array([1, 2, 1])
    ),
    "einsum: operands without labels": lambda: differentiated(lambda x: np.einsum(x, x)),
    "einsum: too many labels": lambda: wg.einsum(np.ones((1,) * 53), list(range(53))),
    "np.asarray: a Tensor, differentiated": lambda: differentiated(lambda x: np.asarray(x).sum()),
    "np.array: a Tensor of integers, traced": lambda: traced(lambda i: line[i], np.arange(2)),
    "np.fft.fft: an unknown function": lambda: differentiated(lambda x: np.fft.fft(x).sum()),
    "np.linalg.eig: a function of complex results": lambda: differentiated(
        lambda x: np.linalg.eig(wg.outer(x, x))[0].sum()
    ),
    "np.nanargmax: a function with another way to write it": lambda: differentiated(np.nanargmax),
    "np.unique: how many there are is not known": lambda: traced(np.unique),
    "np.frexp: an unknown ufunc": lambda: differentiated(lambda x: np.frexp(x)[0].sum()),
    "np.subtract.reduce: an unknown method, traced": lambda: traced(
        lambda x: np.subtract.reduce(x)
    ),
    "np.add: where=, traced": lambda: traced(lambda x: np.add(x, x, where=line > 0)),
    "np.add: out=, traced": lambda: traced(lambda x: np.add(x, x, out=np.zeros(3))),
    "np.add.reduce: initial=, traced": lambda: traced(lambda x: np.add.reduce(x, initial=1.0)),
    "np.cumsum: out=, traced": lambda: traced(lambda x: np.cumsum(x, out=np.zeros(3))),
    "np.sum: out=, traced": lambda: traced(lambda x: np.sum(x, out=np.zeros(()))),
    "np.sum: where=, traced": lambda: traced(lambda x: np.sum(x, where=line > 0)),
    "np.where: a condition alone, traced": lambda: traced(lambda x: np.where(x > 0)),
    "np.pad: an unknown mode, traced": lambda: traced(lambda x: np.pad(x, 1, mode="median")),
    "np.correlate: no elements, traced": lambda: traced(lambda x: np.correlate(x, np.ones(0))),
    "np.average: weights of another shape, traced": lambda: traced(
        lambda x: np.average(x, weights=[1.0, 2.0]), square
    ),
    "np.cov: three axes, traced": lambda: traced(np.cov, np.ones((2, 3, 4))),
    "np.var: an integer dtype, traced": lambda: traced(lambda x: np.var(x, dtype=np.int32)),
    "np.convolve: a matrix, traced": lambda: traced(lambda x: np.convolve(x, square)),
    "Tensor: a method of another library, traced": lambda: traced(lambda x: x.view(-1)),
    "scipy.special: a ufunc, traced": lambda: traced(lambda x: scipy.special.exp1(x)),
    "scipy.special: a function, traced": lambda: traced(lambda x: scipy.special.softmax(x)),
    "scipy.optimize: a root, traced": lambda: traced(
        lambda x: scipy.optimize.brentq(lambda t: t**3 - x[0], 0.0, 5.0)
    ),
    "matmul: a sparse operand, traced": lambda: traced(
        lambda x: x @ scipy.sparse.csr_matrix(square), square
    ),
    "scipy.sparse: a product with a Tensor, traced": lambda: traced(
        lambda x: scipy.sparse.csr_matrix(square) @ x, square
    ),
    "np.sum: an argument it has not, traced": lambda: traced(lambda x: x.sum(dim=0)),
    "np.concatenate: sizes that differ, traced": lambda: traced(
        lambda x: np.concatenate([x, square])
    ),
}

SIZES: dict[str, Callable[[], Any]] = {
    "Dim: a name with a space": lambda: Dim("batch size"),
    "Dim: asked for its number": lambda: range(Dim("n")),
    "Dim: a computation outside of a trace": lambda: wg.add(Dim("n"), 0.5),
    "trace: dims of an unknown argument": lambda: wg.trace(
        lambda x: x, line, dims={"y": {0: Dim("n")}}
    ),
    "trace: dims that are no Dims": lambda: wg.trace(lambda x: x, line, dims={"x": {0: "n"}}),
    "trace: dims of an axis that does not exist": lambda: wg.trace(
        lambda x: x, line, dims={"x": {1: Dim("n")}}
    ),
    "trace: one Dim, two sizes": lambda: wg.trace(
        lambda x, y: x, line, np.ones(4), dims={"x": {0: Dim("n")}, "y": {0: Dim("n")}}
    ),
    "trace: a Tensor from outside": lambda: wg.grad(
        lambda x: wg.trace(lambda y: x * y, line).run(y=line)[0][0]
    )(1.0),
    "trace: a complex argument": lambda: traced(lambda x: x, np.ones(2, complex)),
    "replay: a size that differs": lambda: wg.trace(lambda x: x * 2.0, line).run(x=np.ones(4)),
    "replay: a run-time size that differs": lambda: wg.trace(
        lambda x, y: x + y, line, line, dims={"x": {0: Dim("n")}, "y": {0: Dim("n")}}
    ).run(x=np.ones(4), y=np.ones(5)),
}

CASES = PYTHON | NUMPY | SIZES
