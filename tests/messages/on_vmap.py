"""Bad input to vmap, and what an example is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

rows, square = np.ones((4, 3)), np.eye(3)


def _same(x: Any) -> Any:
    return x


def _writes(model: Any) -> Any:
    model["b"] = model["a"] * 2
    return model["a"]


AXES: dict[str, Callable[[], Any]] = {
    "vmap: no function": lambda: wg.vmap(rows),  # type: ignore[arg-type]
    "vmap: a name of JAX": lambda: wg.vmap(_same, axis_name="i"),  # type: ignore[call-arg]
    "vmap: in_axes that are no axes": lambda: wg.vmap(_same, in_axes="batch"),
    "vmap: out_axes that are no axes": lambda: wg.vmap(_same, out_axes=0.5),
    "vmap: in_axes as a dict": lambda: wg.vmap(_same, in_axes={"a": 0})({"a": rows}),
    "vmap: in_axes for more arguments": lambda: wg.vmap(_same, in_axes=(0, 0))(rows),
    "vmap: in_axes of another tree": lambda: wg.vmap(_same, in_axes=({"b": 0},))({"a": rows}),
    "vmap: an axis that is not there": lambda: wg.vmap(_same, in_axes=2)(rows),
    "vmap: an axis that is not there, traced": lambda: wg.trace(wg.vmap(_same, in_axes=2), rows),
    "vmap: an axis of a number": lambda: wg.vmap(lambda x, y: x * y)(rows, 2.0),
    "vmap: an axis of an array of 0 axes": lambda: wg.vmap(_same)(np.array(1.0)),
    "vmap: different sizes": lambda: wg.vmap(lambda x, y: x)(rows, square),
    "vmap: different sizes by name": lambda: wg.vmap(lambda x, y: x)(rows, y={"a": square}),
    "vmap: different sizes, traced": lambda: wg.trace(wg.vmap(lambda x, y: x), rows, square),
    "vmap: nothing to map": lambda: wg.vmap(_same, in_axes=None)(rows),
    "vmap: a list of numbers": lambda: wg.vmap(_same)([1.0, 2.0]),
    "vmap: a masked array": lambda: wg.vmap(_same)(np.ma.masked_array(rows, rows > 0)),
    "vmap: out_axes beyond the result": lambda: wg.vmap(_same, out_axes=2)(rows),
    "vmap: out_axes of another tree": lambda: wg.vmap(_same, out_axes=(0, 0))(rows),
    "vmap: no axis for what differs": lambda: wg.vmap(_same, out_axes=None)(rows),
    "vmap: a number returned": lambda: wg.vmap(lambda x: 1.0)(rows),
    "vmap: a write": lambda: wg.vmap(_writes)({"a": rows}),
}

EXAMPLES: dict[str, Callable[[], Any]] = {
    "bool: of an example": lambda: wg.vmap(lambda x: x if x[0] > 0 else -x)(rows),
    "float: of an example": lambda: wg.vmap(lambda x: float(x[0]))(rows),
    "format: of an example": lambda: wg.vmap(lambda x: f"{x[0]:.3f}")(rows),
    "index: of an example": lambda: wg.vmap(lambda x: [1, 2][x[0].astype(int)])(rows),
    "np.array: of examples": lambda: wg.vmap(lambda x: np.array([x[0], x[1]]))(rows),
    "np.array: of a number of each example": lambda: wg.vmap(lambda x: np.asarray(x))(rows),
    "np.stack: of a list with an example": lambda: wg.vmap(lambda x: np.vstack([[x, x]]))(rows),
    "getitem: an index of one example": lambda: wg.vmap(lambda x, i: x[i])(
        rows, np.array([0, 1, 7, 2])
    ),
    "inv: a singular matrix of one example": lambda: wg.vmap(wg.linalg.inv)(
        np.stack([square, 0 * square])
    ),
    "matmul: shapes of an example": lambda: wg.vmap(lambda x: x @ np.ones((4, 2)))(rows),
    "getitem: a mask of an example": lambda: wg.vmap(lambda x: x[x > 0])(rows),
    "nonzero: of an example": lambda: wg.vmap(lambda x: wg.nonzero(x))(rows),
    "unique_values: of an example": lambda: wg.vmap(lambda x: wg.unique_values(x))(rows),
    "while_loop: a bound that one example exceeds": lambda: wg.vmap(
        lambda x: wg.while_loop(lambda c: c > 1, lambda c: c / 2, x, max_steps=3)
    )(np.array([8.0, 9.0])),
}

CASES = AXES | EXAMPLES
