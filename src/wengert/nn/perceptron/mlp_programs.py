"""The programs of an Mlp: forward, backward, and backward that adds to what is there, as machine
code, once for all of one kind. The number of rows is open in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from wengert.api.compiling.compile import compile
from wengert.core.dims import Dim
from wengert.core.table import op
from wengert.core.types import Value
from wengert.nn.activations import ACTIVATIONS, Activation
from wengert.nn.linear import Linear
from wengert.runtime.executable import Executable

Array: TypeAlias = np.ndarray[Any, Any]
ROWS = Dim("rows")
KINDS = 64  # programs of each sort that are kept
DIVIDED = 1 << 17  # multiplications that may be worth more than one worker


@dataclass(frozen=True)
class Kind:
    """What the programs of an Mlp depend on."""

    dims: tuple[int, ...]
    activation: str
    output_activation: str
    dtype: np.dtype[Any]

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.dims) - 1

    def layer(self, by: str, number: Any) -> int:
        """The number of a layer; negative ones count from the end."""
        if isinstance(number, int | np.integer) and -self.depth <= number < self.depth:
            return int(number) % self.depth
        raise IndexError(
            f"{by}: layer {number!r} was asked for; there are layers 0 to {self.depth - 1}. "
            "Choose one of these."
        )

    def after(self, layer: int) -> Activation:
        """What follows the matrix product of a layer."""
        last = layer == self.depth - 1
        return ACTIVATIONS[self.output_activation if last else self.activation]

    @property
    def kept(self) -> list[int]:
        """The width of every array that forward leaves for backward: of each layer its output,
        after what the activation was applied to, where the way back needs that.
        """
        widths: list[int] = []
        for layer, width in enumerate(self.dims[1:]):
            widths += [width] * (2 if self.after(layer).reads_operand else 1)
        return widths

    @property
    def parameter_shapes(self) -> list[tuple[int, ...]]:
        """Of weight and bias of each layer, in turn."""
        pairs = zip(self.dims[1:], self.dims, strict=False)
        return [shape for n, m in pairs for shape in ((n, m), (n,))]

    @property
    def parameter_count(self) -> int:
        return sum(n * m + n for n, m in zip(self.dims[1:], self.dims, strict=False))

    def __str__(self) -> str:
        sizes = "-".join(map(str, self.dims))
        return f"{sizes}, {self.activation}, {self.output_activation}, {self.dtype}"


class MlpProgram:
    """One function of arrays as machine code, and the places of its arrays in a frame."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        dims: Mapping[str, Mapping[int, Dim]],
        donate: Sequence[str] = (),
    ) -> None:
        self.executable: Executable = compile(function, dims=dims, donate=donate).executable(*args)
        self.inputs, self.outputs = self.executable.input_slots, self.executable.output_slots


def forward_layers(kind: Kind, x: Value, layers: Sequence[Linear]) -> list[Value]:
    """What forward leaves for backward; the last is the output."""
    kept: list[Value] = []
    for i, layer in enumerate(layers):
        z, after = layer(x), kind.after(i)
        x = after(z)
        kept += [z, x] if after.reads_operand else [x]
    return kept


def backward_layers(
    kind: Kind, x: Value, layers: Sequence[Linear], kept: Sequence[Value], g: Value
) -> tuple[Value, list[Value]]:
    """The cotangent of the input, and those of weight and bias of each layer in turn."""
    outputs: list[Value] = [x]  # of the layer before each
    operands: list[Value] = []
    rest = iter(kept)
    for i in range(kind.depth):
        operands.append(next(rest) if kind.after(i).reads_operand else None)
        outputs.append(next(rest))
    gradients: list[Value] = []
    for i in reversed(range(kind.depth)):
        g = kind.after(i).pull_back(g, operands[i], outputs[i + 1])  # (rows, out)
        gradients = [op.matmul(op.matrix_transpose(g), outputs[i]), op.sum(g, 0), *gradients]
        g = op.matmul(g, layers[i].weight)
    return g, gradients


def _rows(kind: Kind, rows: int, widths: Sequence[int]) -> list[Array]:
    return [np.zeros((rows, width), kind.dtype) for width in widths]


def _parameters(kind: Kind) -> list[Array]:
    return [np.zeros(shape, kind.dtype) for shape in kind.parameter_shapes]


def _layers(kind: Kind) -> list[Linear]:
    arrays = _parameters(kind)
    return [Linear.of(*pair) for pair in zip(arrays[::2], arrays[1::2], strict=True)]


def _open(count: int, *names: str) -> dict[str, dict[int, Dim]]:
    """The first axes of the arguments, and of so many arrays in `kept`, are the rows."""
    return {name: {0: ROWS} for name in (*names, *(f"kept.{i}" for i in range(count)))}


def typical_rows(kind: Kind, rows: int) -> int:
    """The number of rows that a program is planned for, given how many it will run with. All little
    work shares one plan; work that may be divided between workers has one for each power of two.
    """
    return 2 if rows * kind.parameter_count < DIVIDED else 1 << (rows - 1).bit_length()


@lru_cache(KINDS)
def forward_program(kind: Kind, rows: int) -> MlpProgram:
    """(x, layers) -> what is kept"""

    def forward(x: Value, layers: list[Linear]) -> list[Value]:
        return forward_layers(kind, x, layers)

    (x,) = _rows(kind, rows, kind.dims[:1])
    return MlpProgram(forward, (x, _layers(kind)), _open(0, "x"))


@lru_cache(KINDS)
def backward_program(kind: Kind, rows: int) -> MlpProgram:
    """(x, layers, kept, g) -> (d_input, d_parameters)"""

    def backward(x: Value, layers: list[Linear], kept: list[Value], g: Value) -> Any:
        return backward_layers(kind, x, layers, kept, g)

    x, g, *kept = _rows(kind, rows, (kind.dims[0], kind.dims[-1], *kind.kept))
    return MlpProgram(backward, (x, _layers(kind), kept, g), _open(len(kept), "x", "g"))


@lru_cache(KINDS)
def accumulate_program(kind: Kind, rows: int) -> MlpProgram:
    """(x, layers, kept, g, before) -> (d_input, before + d_parameters), the latter in place"""

    def accumulate(
        x: Value, layers: list[Linear], kept: list[Value], g: Value, before: list[Value]
    ) -> Any:
        g, gradients = backward_layers(kind, x, layers, kept, g)
        return g, [old + new for old, new in zip(before, gradients, strict=True)]

    x, g, *kept = _rows(kind, rows, (kind.dims[0], kind.dims[-1], *kind.kept))
    args = (x, _layers(kind), kept, g, _parameters(kind))
    return MlpProgram(accumulate, args, _open(len(kept), "x", "g"), ("before",))
