"""Scratch: what forward of an Mlp leaves for backward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.core.types import ArrayType, type_of
from wengert.nn.layer_arguments import require_size
from wengert.nn.perceptron.bound_mlp import BoundMlp, rewritten_array
from wengert.nn.perceptron.mlp_programs import Kind, forward_program, typical_rows

if TYPE_CHECKING:
    from wengert.nn.perceptron.mlp import Mlp

Array: TypeAlias = np.ndarray[Any, Any]


def sections(buffer: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Arrays of these shapes that fill a buffer one after the other."""
    flat, arrays, begin = buffer.reshape(-1), [], 0
    for shape in shapes:
        count = math.prod(shape)
        arrays.append(flat[begin : begin + count].reshape(shape))
        begin += count
    return arrays


class Workplace:
    """What Scratch and Gradients have in common: a kind of Mlp, and a number of rows."""

    def __init__(self, mlp: Mlp, batch: int | None) -> None:
        self.kind: Kind = mlp.kind
        name = type(self).__name__
        self.batch = None if batch is None else require_size(name, "batch", batch)
        self.row_count = 1 if self.batch is None else self.batch
        self._like: Mlp = tree.map(type_of, mlp)

    @property
    def typical_rows(self) -> int:
        """The number of rows that its programs are planned for."""
        return typical_rows(self.kind, self.row_count)

    @property
    def input_shape(self) -> tuple[int, ...]:
        width = self.kind.dims[0]
        return (width,) if self.batch is None else (self.batch, width)

    @property
    def arguments(self) -> tuple[ArrayType, Mlp]:
        """What programs are called with, as types."""
        return ArrayType(self.input_shape, self.kind.dtype), self._like

    def view(self, rows: Array) -> Array:
        """Rows as users see them: without a batch, the only row is a vector."""
        return rows[0] if self.batch is None else rows

    @property
    def label(self) -> str:
        """What it is for, in messages."""
        return f"{self.kind}, batch={self.batch}"


class Scratch(Workplace):
    """What `Mlp.forward` leaves for `Mlp.backward`: the values of every layer, and the output.

    Without a batch it is for one row, with inputs (in,) and outputs (out,); with one, for
    (batch, in) and (batch, out). It fits every Mlp of the same sizes, activations and dtype. Before
    the first forward it holds NaN, so that a backward without a forward shows.
    """

    def __init__(self, mlp: Mlp, batch: int | None = None) -> None:
        super().__init__(mlp, batch)
        rows, widths = self.row_count, self.kind.kept
        program = forward_program(self.kind, self.typical_rows)
        self.buffer = rewritten_array((rows, sum(widths)), self.kind.dtype, math.nan)
        self.kept = sections(self.buffer, [(rows, width) for width in widths])
        self.bound = BoundMlp(
            program,
            rows,
            self.arguments,
            program.inputs,
            {program.outputs[0]: self.buffer},
            rows * self.kind.parameter_count,
        )
        self.bound.keep(dict(zip(program.outputs, self.kept, strict=True)))
        self.output = self.view(self.kept[-1])  # of the last forward
        self.output.flags.writeable = False  # backward may read it

    def copy(self) -> Scratch:
        """Another one with the same values."""
        other = Scratch(self._like, self.batch)
        other.buffer[...] = self.buffer
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Scratch:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _scratch_of, (self._like, self.batch, self.buffer)

    def __repr__(self) -> str:
        return f"Scratch({self.label})"


def _scratch_of(like: Mlp, batch: int | None, values: Array) -> Scratch:
    scratch = Scratch(like, batch)
    scratch.buffer[...] = values
    return scratch
