"""Gradients: what backward of an Mlp computes, in memory that is made once."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wengert.api.compiling.compile import compile
from wengert.core.dims import Dim
from wengert.errors import NonFiniteError, ShapeError
from wengert.functions.clipping import as_number, bring_to_length, exact_length, sum_of_squares
from wengert.nn.perceptron.bound_mlp import BoundMlp, rewritten_array
from wengert.nn.perceptron.mlp_programs import MlpProgram, accumulate_program, backward_program
from wengert.nn.perceptron.scratch import Scratch, Workplace, sections
from wengert.runtime.nonfinite_policies import RAISE, WITHOUT_SKIP, require_policy

if TYPE_CHECKING:
    from wengert.nn.perceptron.mlp import Mlp

Array: TypeAlias = np.ndarray[Any, Any]
_squares = compile(sum_of_squares, dims={"x": {0: Dim("count")}})
_NOT_YET = object()  # equal to nothing that users may pass, not even None


class Gradients(Workplace):
    """The gradients of an Mlp's parameters and input, and of the loss by its output.

    After `mlp.forward(x, scratch)` write the gradient of the loss by the output to `d_output`;
    `mlp.backward(x, scratch, grads)` then computes the rest. Gradients of parameters are **sums**
    over the rows. `d_output`, `d_input`, `d_weights(i)`, `d_biases(i)` and `params`, which is all
    gradients of parameters in one vector, are writable views of memory that stays where it is.
    """

    def __init__(self, mlp: Mlp, batch: int | None = None) -> None:
        super().__init__(mlp, batch)
        rows, widths = self.row_count, (self.kind.dims[0], self.kind.dims[-1])
        self._buffer = rewritten_array((rows, sum(widths)), self.kind.dtype)
        self._ends = sections(self._buffer, [(rows, width) for width in widths])
        self.params = rewritten_array((self.kind.parameter_count,), self.kind.dtype)
        self._each = sections(self.params, self.kind.parameter_shapes)
        self.d_input, self.d_output = map(self.view, self._ends)
        self.scratch: Any = _NOT_YET  # that backward reads
        self._bound: dict[bool, BoundMlp] = {}  # by whether it accumulates
        self.bound(False)

    # What backward needs.

    def bound(self, accumulate: bool) -> BoundMlp:
        """Backward that overwrites, or adds to, the gradients of parameters."""
        if accumulate not in self._bound:
            self._bound[accumulate] = self._bind(accumulate)
            if self.scratch is not _NOT_YET:
                self._read(self.scratch)
        return self._bound[accumulate]

    def _bind(self, accumulate: bool) -> BoundMlp:
        kind, program = self.kind, self._program(accumulate)
        given = 1 + 2 * kind.depth  # x and the parameters; then comes what was kept, and d_output
        bound = BoundMlp(
            program,
            self.row_count,
            self.arguments,
            program.inputs[:given],
            {program.outputs[0]: self._buffer, program.outputs[1]: self.params},
            2 * self.row_count * kind.parameter_count,
        )
        bound.keep(dict(zip(program.outputs, [self._ends[0], *self._each], strict=True)))
        bound.keep({program.inputs[given + len(kind.kept)]: self._ends[1]})
        return bound

    def _program(self, accumulate: bool) -> MlpProgram:
        make = accumulate_program if accumulate else backward_program
        return make(self.kind, self.typical_rows)

    def read_from(self, scratch: Any) -> None:
        """Let backward read what forward left in this scratch."""
        if not isinstance(scratch, Scratch):
            raise TypeError(
                f"Mlp.backward: scratch is {type(scratch).__name__}; the one that forward was "
                "given is needed. Pass what mlp.scratch() returned."
            )
        if scratch.kind != self.kind or scratch.batch != self.batch:
            raise ShapeError(
                f"Mlp.backward: the scratch is for {scratch.label} and the gradients are for "
                f"{self.label}; they must be for the same. Make both from one Mlp, with one batch."
            )
        self._read(scratch)
        self.scratch = scratch

    def _read(self, scratch: Scratch) -> None:
        first = 1 + 2 * self.kind.depth
        for accumulate, bound in self._bound.items():
            inputs = self._program(accumulate).inputs[first:]
            bound.keep(dict(zip(inputs, scratch.kept, strict=False)))

    # Parameters.

    def d_weights(self, layer: int) -> Array:
        """The gradient by the weights of a layer, (out, in): a writable view."""
        return self._each[2 * self.kind.layer("Gradients.d_weights", layer)]

    def d_biases(self, layer: int) -> Array:
        """The gradient by the biases of a layer, (out,): a writable view."""
        return self._each[2 * self.kind.layer("Gradients.d_biases", layer) + 1]

    def zero_params(self) -> None:
        """Set the gradients of all parameters to zero."""
        self.params.fill(0)

    def scale_params(self, scale: float) -> None:
        """Multiply the gradients of all parameters by a number."""
        factor = _number("Gradients.scale_params", "scale", scale)
        if abs(factor) > float(np.finfo(self.kind.dtype).max):
            raise ValueError(
                f"Gradients.scale_params: scale={scale!r} was given; it must be finite as "
                f"{self.kind.dtype}. Choose another."
            )
        np.multiply(self.params, self.kind.dtype.type(factor), out=self.params)

    def global_l2_norm_params(self, nonfinite: str = "raise") -> float:
        """The Euclidean norm of the gradients of all parameters together.

        No square overflows or underflows on the way. A norm that is not finite raises
        NonFiniteError; with `nonfinite="ignore"` it is returned.
        """
        return self._length("Gradients.global_l2_norm_params", nonfinite)[0]

    def clip_global_norm_params(self, max_norm: float, nonfinite: str = "raise") -> float:
        """Where the norm of the gradients of all parameters is above `max_norm`, scale them so that
        it is equal. Returns the norm before.

        Gradients that are not finite raise NonFiniteError, and nothing is changed; with
        `nonfinite="ignore"` they stay as they are.
        """
        by = "Gradients.clip_global_norm_params"
        limit = _number(by, "max_norm", max_norm)
        if not 0 < limit < math.inf:
            raise ValueError(
                f"{by}: max_norm={max_norm!r} was given; it must be finite and above 0. "
                "Choose another."
            )
        norm, length = self._length(by, nonfinite)
        if norm > limit and math.isfinite(length[0]):
            bring_to_length(self.params, length, limit)
        return norm

    def _length(self, by: str, nonfinite: str) -> tuple[float, tuple[float, int]]:
        """The norm, as a number and as what it is made of."""
        require_policy(by, nonfinite, WITHOUT_SKIP)
        length = exact_length(self.params, _squares)
        norm = as_number(*length)
        if nonfinite == RAISE and not math.isfinite(norm):
            raise NonFiniteError(
                f"{by}: {self._first_nonfinite()}; a finite norm is needed. Look for where it "
                "began, or pass nonfinite='ignore'."
            )
        return norm, length

    def _first_nonfinite(self) -> str:
        for i, x in enumerate(self._each):
            bad = np.argwhere(~np.isfinite(x))
            if len(bad):
                where = tuple(map(int, bad[0]))
                name = f"{('d_weights', 'd_biases')[i % 2]}({i // 2})"
                return f"{name} is {x[where]} at index {where}"
        return f"the norm is above the largest float, {np.finfo(np.float64).max:.4g}"

    # Copies.

    def copy(self) -> Gradients:
        """Another one with the same values, in memory of its own."""
        other = Gradients(self._like, self.batch)
        other.copy_from(self)
        return other

    def copy_from(self, other: Gradients) -> None:
        """Take over all values of another one; nothing is allocated."""
        if not isinstance(other, Gradients):
            raise TypeError(
                f"Gradients.copy_from: given {type(other).__name__}; it copies from Gradients. "
                "Pass the object that mlp.gradients() returned."
            )
        if other.kind != self.kind or other.batch != self.batch:
            raise ShapeError(
                f"Gradients.copy_from: given gradients for {other.label}; these are for "
                f"{self.label}, and both must be for the same. Make them from one Mlp, with one "
                "batch."
            )
        np.copyto(self._buffer, other._buffer)
        np.copyto(self.params, other.params)

    def __deepcopy__(self, memo: dict[int, Any]) -> Gradients:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _gradients_of, (self._like, self.batch, self._buffer, self.params)

    def __repr__(self) -> str:
        norm = as_number(*exact_length(self.params, _squares))
        return f"Gradients({self.label}, norm={norm:.6g})"


def _gradients_of(like: Mlp, batch: int | None, ends: Array, params: Array) -> Gradients:
    gradients = Gradients(like, batch)
    gradients._buffer[...], gradients.params[...] = ends, params
    return gradients


def _number(by: str, name: str, value: Any) -> float:
    """A finite number, or the worded error."""
    number = float(value) if isinstance(value, Real) else math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"{by}: {name}={value!r} was given; it must be a finite number. Choose another."
        )
    return number
