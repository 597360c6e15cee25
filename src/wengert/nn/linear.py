"""Linear: a matrix product and a bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import ShapeError
from wengert.nn.init import Initialiser, initialise
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.seeding import Seed
from wengert.nn.showing import shown_layer


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Linear(Explained):
    """x @ weight.T + bias, along the last axis of x.

    `weight` is (out, in), `bias` (out,) and zero at first, or None without one.

    >>> layer = wg.nn.Linear(3, 2, seed=0)
    >>> layer(np.ones((5, 3), np.float32)).shape
    (5, 2)
    """

    weight: Any  # (out, in)
    bias: Any  # (out,)

    def __init__(
        self,
        in_size: int,
        out_size: int,
        *,
        bias: bool = True,
        init: str | Initialiser = "xavier_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        shape = (
            require_size("Linear", "out_size", out_size),
            require_size("Linear", "in_size", in_size),
        )
        float_dtype = require_float("Linear", dtype)
        self.weight = initialise("Linear", init, shape, seed, float_dtype)
        self.bias = np.zeros(shape[0], float_dtype) if bias else None

    @classmethod
    def of(cls, weight: Value, bias: Value = None) -> Linear:
        """The layer with these arrays: (out, in) and (out,)."""
        layer = cls.__new__(cls)
        layer.weight, layer.bias = weight, bias
        return layer

    def __call__(self, x: Value) -> Value:
        if isinstance(x, tuple | list):
            _require_one_array(x)
        _require_width(x, self.weight)
        y = op.matmul(x, op.matrix_transpose(self.weight))
        return y if self.bias is None else y + self.bias

    def __repr__(self) -> str:
        return shown_layer(self)


def _require_width(x: Value, weight: Value) -> None:
    """Refuse rows of another width than that of the weights, where both are known."""
    shape, width = getattr(x, "shape", ()), weight.shape[-1]
    if shape and isinstance(shape[-1], int) and isinstance(width, int) and shape[-1] != width:
        axis = next((i for i in range(1, len(shape)) if shape[i] == width), None)
        repair = "Make the layer with that size" if axis is None else f"Move axis {axis} to the end"
        error = ShapeError(
            f"Linear: x has shape {tuple(shape)}; its last axis must be the {width} inputs of the "
            f"layer. {repair}."
        )
        raise located(error, [x])


def _require_one_array(x: Sequence[Any]) -> None:
    """Refuse several arrays, which would be stacked; rows of numbers are one."""
    if any(isinstance(each, Tensor | np.ndarray) and each.shape for each in x):
        of_lstm = "The state of an LSTM is a pair (h, memory): pass h, which is state[0]. "
        error = TypeError(
            f"Linear: given a {type(x).__name__} of {len(x)} arrays; it takes one. "
            f"{of_lstm if len(x) == 2 else ''}Arrays that are rows make one: np.stack(rows) before "
            "a step or a bound function is called, wg.stack(rows) in it."
        )
        raise located(error, list(x))
