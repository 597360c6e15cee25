"""Mlp: a multilayer perceptron whose forward and backward allocate nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import DTypeError, ShapeError, TraceError
from wengert.functions.drawn_weights import note_drawn
from wengert.nn.activations import ACTIVATIONS, find_activation
from wengert.nn.init import Initialiser, initialise
from wengert.nn.layer_arguments import as_sequence, require_float, require_size
from wengert.nn.linear import Linear
from wengert.nn.perceptron.bound_mlp import BoundMlp, rewritten_array
from wengert.nn.perceptron.gradients import Gradients
from wengert.nn.perceptron.mlp_programs import Kind
from wengert.nn.perceptron.scratch import Scratch, Workplace, sections
from wengert.nn.seeding import Seed, generator_of
from wengert.runtime.outside.live import recording_threads, refuse_calling

PLAIN = "Pass the Mlp as an argument, and call mlp(x)."
Array: TypeAlias = np.ndarray[Any, Any]


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Mlp(Explained):
    """A multilayer perceptron: matrix products with a bias and an activation behind each.

    `dims` are the sizes from input to output. `weights(i)` (out, in) and `biases(i)` (out,) are
    writable views; all parameters lie in one piece of memory. It is used in two ways. As a function
    and a tree it is a model like any other, for `wg.grad`, `wg.compile` and `wg.TrainStep`. And
    `forward` and `backward` compute in memory that was made once:

    >>> mlp = wg.nn.Mlp((4, 64, 64, 2))
    >>> scratch, grads = mlp.scratch(batch=32), mlp.gradients(batch=32)
    >>> x = np.ones((32, 4), np.float32)
    >>> y = mlp.forward(x, scratch)
    >>> grads.d_output[...] = y  # of the loss sum(y²) / 2
    >>> d_input = mlp.backward(x, scratch, grads)
    >>> grads.d_weights(0).shape, d_input.shape
    ((64, 4), (32, 4))
    """

    layers: tuple[Linear, ...]
    activation: str
    output_activation: str

    def __init__(
        self,
        dims: Sequence[int],
        activation: str = "tanh",
        output_activation: str = "identity",
        init: str | Initialiser = "xavier_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        sizes = _sizes(dims)
        self.activation = find_activation(activation, "Mlp", "activation").name
        self.output_activation = find_activation(output_activation, "Mlp", "output_activation").name
        kind = Kind(sizes, self.activation, self.output_activation, require_float("Mlp", dtype))
        arrays = sections(
            rewritten_array((kind.parameter_count,), kind.dtype), kind.parameter_shapes
        )
        rng = generator_of("Mlp", seed)
        for weights in arrays[::2]:
            weights[...] = initialise("Mlp", init, weights.shape, rng, kind.dtype)
            note_drawn("Mlp", weights)
        self.layers = tuple(
            Linear.of(*pair) for pair in zip(arrays[::2], arrays[1::2], strict=True)
        )

    @property
    def kind(self) -> Kind:
        """Sizes, activations and dtype, of the arrays as they are now."""
        weights = [layer.weight for layer in self.layers]
        dims = (weights[0].shape[1], *(w.shape[0] for w in weights))
        return Kind(dims, self.activation, self.output_activation, weights[0].dtype)

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes from input to output."""
        return self.kind.dims

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.kind.dtype

    def weights(self, layer: int) -> Array:
        """The weights of a layer, (out, in): a writable view."""
        weights: Array = self.layers[self.kind.layer("Mlp.weights", layer)].weight
        return weights

    def biases(self, layer: int) -> Array:
        """The biases of a layer, (out,): a writable view."""
        biases: Array = self.layers[self.kind.layer("Mlp.biases", layer)].bias
        return biases

    def __call__(self, x: Value) -> Value:
        """The output for inputs along the last axis, by functions that can be recorded."""
        *hidden, last = self.layers
        for layer in hidden:
            x = ACTIVATIONS[self.activation](layer(x))
        return ACTIVATIONS[self.output_activation](last(x))

    def scratch(self, batch: int | None = None) -> Scratch:
        """Memory for `forward`: of one row (in,) without a batch, of (batch, in) with one."""
        return Scratch(self, batch)

    def gradients(self, batch: int | None = None) -> Gradients:
        """Memory for `backward`: of one row without a batch, of so many rows with one."""
        return Gradients(self, batch)

    def forward(self, x: Value, scratch: Scratch) -> Array:
        """The output for x: a read-only view of the scratch, which the next forward overwrites."""
        if recording_threads:
            refuse_calling("Mlp.forward", PLAIN)
        if type(scratch) is not Scratch:
            _require("forward", "scratch", scratch, Scratch)
        if scratch.bound.call(x, self, scratch.buffer) is NotImplemented:
            _run("forward", scratch, scratch.bound, x, self)
        return scratch.output

    def backward(
        self, x: Value, scratch: Scratch, grads: Gradients, accumulate: bool = False
    ) -> Array:
        """Compute all gradients from `grads.d_output`, and return `grads.d_input`.

        `x` and `scratch` are those of the last `forward`. Gradients of parameters, summed over the
        rows, are overwritten or, with `accumulate`, added to.
        """
        if recording_threads:
            refuse_calling("Mlp.backward", PLAIN)
        if type(grads) is not Gradients:
            _require("backward", "grads", grads, Gradients)
        if grads.scratch is not scratch:
            grads.read_from(scratch)
        bound = grads.bound(accumulate)
        if bound.call(x, self, *bound.buffers) is NotImplemented:
            _run("backward", grads, bound, x, self)
        return grads.d_input

    def __repr__(self) -> str:
        kind = self.kind
        return f"Mlp({kind}, {kind.parameter_count:,} parameters)"


def _sizes(dims: Any) -> tuple[int, ...]:
    sizes = as_sequence(dims) or ()
    if len(sizes) < 2:
        raise ValueError(
            f"Mlp: dims={dims!r} was given; it must be a sequence of two sizes or more, from input "
            "to output. Write (4, 64, 2)."
        )
    return tuple(require_size("Mlp", f"dims[{i}]", size) for i, size in enumerate(sizes))


def _require(by: str, name: str, given: Any, wanted: type[Workplace]) -> None:
    if not isinstance(given, wanted):
        raise TypeError(
            f"Mlp.{by}: {name} is {type(given).__name__}; it must be of class {wanted.__name__}. "
            f"Pass what mlp.{wanted.__name__.lower()}() returns."
        )


def _run(by: str, place: Workplace, bound: BoundMlp, x: Any, mlp: Mlp) -> None:
    """The slow path: arguments that machine code did not accept are brought into its form, or
    refused.
    """
    if any(isinstance(leaf, Tensor) for leaf in tree.leaves((x, mlp))):
        error = TraceError(
            f"Mlp.{by}: given a Tensor; it runs on arrays, in memory of its own. "
            "Call mlp(x), which can be differentiated, traced and compiled."
        )
        raise located(error, tree.leaves((x, mlp)))
    parameters = _parameters(by, place, mlp)
    bound.run([_input(by, place, x), *parameters])


def _parameters(by: str, place: Workplace, mlp: Mlp) -> list[Array]:
    """All parameters in C order, aligned, native."""
    kind, made = place.kind, type(place).__name__
    if mlp.kind != kind:
        raise ShapeError(
            f"Mlp.{by}: the {made} is for {kind}; this Mlp is {mlp.kind}. Make one with "
            f"mlp.{made.lower()}()."
        )
    parameters: list[Array] = tree.leaves(mlp)
    for shape, x in zip(kind.parameter_shapes, parameters, strict=True):
        if x.shape != shape or x.dtype != kind.dtype:
            raise ShapeError(
                f"Mlp.{by}: a parameter has shape {x.shape} and dtype {x.dtype}; {shape} and "
                f"{kind.dtype} are needed. Give all layers one dtype, and sizes that follow each "
                "other."
            )
    return [np.require(x, kind.dtype, ["C", "A"]) for x in parameters]


def _input(by: str, place: Workplace, x: Any) -> Array:
    """The input as a new array of the right dtype."""
    given, wanted = np.asarray(x), place.kind.dtype
    if given.shape != place.input_shape:
        raise ShapeError(
            f"Mlp.{by}: x has shape {given.shape}; the {type(place).__name__} is for inputs of "
            f"shape {place.input_shape}. Pass such an x, or make one for another batch."
        )
    if not np.can_cast(given.dtype, wanted, "same_kind"):
        raise DTypeError(
            f"Mlp.{by}: x has dtype {given.dtype}; it must be a real number, to be used as "
            f"{wanted}. Convert it with astype."
        )
    return given.astype(wanted, order="C")
