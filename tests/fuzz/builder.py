"""Builder: draws a program step by step and runs each step at once, so that it knows every value.

What is drawn next may depend on shapes, dtypes and ranges of what is there. A step that NumPy or an
op refuses is taken back: `Refused`.
"""

from __future__ import annotations

import io
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from .program import Block, Input, Step, namespace

T = TypeVar("T")
SIZES = (3, 2, 1, 5, 4, 7, 0, 8, 9, 16, 17, 33, 65, 67, 100, 300, 1100)  # simplest first
LARGEST = 3000  # elements of an array
TAME = 100.0  # larger numbers are squashed before they are used again
FLOATS = ("float32", "float64")
INTEGERS = ("int64", "int32", "int8", "uint8", "int16", "uint16", "uint32", "uint64")
REFUSALS = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError)


class Refused(Exception):
    """This step cannot be made; another one will be drawn."""


class Builder:
    """Steps of one function, the scope they run in (once per call of the program), and choices."""

    def __init__(self, draw: Callable[..., Any], sizes: Sequence[dict[str, int]]) -> None:
        self.draw = draw
        self.sizes = sizes
        self.scopes: list[dict[str, Any]] = [namespace() | each for each in sizes]
        self.steps: list[Step] = []
        self.variables: list[str] = []
        self.inputs: list[Input] = []  # of the whole program, shared with inner functions
        self.counter = itertools.count()
        self.parent: Builder | None = None
        self.repeated = False  # inside a loop: later rounds see other values than the first

    def inner(self, params: dict[str, list[Any]], repeated: bool = False) -> Builder:
        """A builder for a function inside this one; `params` gives a value per call."""
        found = Builder(self.draw, self.sizes)
        found.scopes = [
            scope | {name: values[i] for name, values in params.items()}
            for i, scope in enumerate(self.scopes)
        ]
        found.variables = list(params)
        found.inputs, found.counter, found.parent = self.inputs, self.counter, self
        found.repeated = repeated or self.repeated
        return found

    # Choices.

    def choose(self, options: Sequence[T]) -> T:
        return options[0] if len(options) == 1 else self.draw(st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return low if low == high else int(self.draw(st.integers(low, high)))

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    # What is known of variables.

    def value(self, name: str) -> Any:
        """A variable in the first call."""
        return self.scopes[0][name]

    def values(self, name: str) -> list[Any]:
        return [scope[name] for scope in self.scopes]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.value(name).shape)

    def rank(self, name: str) -> int:
        return len(self.shape(name))

    def dtype(self, name: str) -> str:
        return str(self.value(name).dtype.name)

    def kind(self, name: str) -> str:
        return str(self.value(name).dtype.kind)

    def open_axes(self, name: str) -> list[int]:
        """The axes whose size differs from call to call."""
        shapes = [each.shape for each in self.values(name)]
        return [i for i, sizes in enumerate(zip(*shapes, strict=True)) if len(set(sizes)) > 1]

    def closed(self, name: str) -> bool:
        return not self.open_axes(name)

    def size_text(self, name: str, axis: int) -> str:
        """The size of an axis as the program says it."""
        opened = axis in self.open_axes(name)
        return f"{name}.shape[{axis}]" if opened else str(self.shape(name)[axis])

    def shape_text(self, name: str) -> str:
        return tuple_text([self.size_text(name, i) for i in range(self.rank(name))])

    def within(self, name: str, low: float, high: float) -> bool:
        """Whether all elements lie between the two, in every call."""
        return all(x.size == 0 or (x.min() >= low and x.max() <= high) for x in self.values(name))

    # Steps.

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Steps made inside count only if all of them succeed."""
        steps, known, inputs = len(self.steps), len(self.variables), len(self.inputs)
        try:
            with (
                warnings.catch_warnings(),
                np.errstate(all="ignore"),
                redirect_stdout(io.StringIO()),
            ):
                warnings.simplefilter("ignore")
                yield
        except (*REFUSALS, np.linalg.LinAlgError, Refused):
            del self.steps[steps:], self.variables[known:]
            self._forget_inputs(inputs)
            raise Refused from None

    def _forget_inputs(self, count: int) -> None:
        names = {x.name for x in self.inputs[count:]}
        del self.inputs[count:]
        builder: Builder | None = self
        while builder is not None:
            builder.variables[:] = [name for name in builder.variables if name not in names]
            builder = builder.parent

    def new_name(self, letter: str = "v") -> str:
        return f"{letter}{next(self.counter)}"

    def emit(self, expression: str, blocks: Sequence[Block] = ()) -> str:
        """A step that gives one array."""
        name = self.new_name()
        self.run(Step(f"{name} = {expression}", (name,), tuple(blocks)))
        return name

    def emit_many(self, expression: str, pattern: str, blocks: Sequence[Block] = ()) -> list[str]:
        """A step that gives several: `pattern` is `{}, ({}, {})` or the like."""
        names = [self.new_name() for _ in range(pattern.count("{}"))]
        self.run(Step(f"{pattern.format(*names)} = {expression}", tuple(names), tuple(blocks)))
        return names

    def run(self, step: Step) -> None:
        code = compile("\n".join(step.lines()), "<step>", "exec")
        for number, scope in enumerate(self.scopes):
            exec(code, scope)
            for name in step.gives:
                scope[name] = np.asarray(scope[name])
                require_usable(scope[name], tame=number == 0)
        self.steps.append(step)
        self.variables.extend(step.gives)
        for name in step.gives:
            self._squash(name)

    def _squash(self, name: str) -> None:
        """Large numbers make a comparison of whole programs blunt: bring them back."""
        if self.kind(name) == "f" and any((np.abs(x) > TAME).any() for x in self.values(name)):
            self.variables.remove(name)
            scale = self.choose(["wg.tanh({} * 0.01)", "wg.clip({}, -3.0, 3.0)", "wg.sin({})"])
            self.emit(scale.format(name))

    # Arguments.

    def add_input(self, text: str, axes: Sequence[tuple[int, str]] = ()) -> str:
        """An argument of the whole program."""
        name = self.new_name("x")
        self.inputs.append(Input(name, text, tuple(axes)))
        values = [eval(text, namespace() | each) for each in self.sizes]
        builder: Builder | None = self
        while builder is not None:
            builder.variables.append(name)
            for scope, value in zip(builder.scopes, values, strict=True):
                scope[name] = value
            builder = builder.parent
        return name

    def draw_shape(self, low: int = 0, high: int = 3) -> tuple[int, ...]:
        found: list[int] = []
        for _ in range(self.integer(low, high)):
            found.append(self.choose(SIZES))
        while math.prod(found) > LARGEST:
            found[int(np.argmax(found))] = 3
        return tuple(found)

    def block(self, inner: Builder, params: Sequence[str], result: str) -> Block:
        """What an inner builder made, as a function."""
        return Block(self.new_name("f"), tuple(params), tuple(inner.steps), result)

    def unused(self) -> list[str]:
        """Variables of this function that no later step reads."""
        used = set().union(*(step.uses() for step in self.steps)) if self.steps else set()
        own = [name for step in self.steps for name in step.gives]
        return [name for name in own if name not in used]


def require_usable(value: np.ndarray[Any, Any], tame: bool) -> None:
    if (
        value.size > LARGEST
        or value.ndim > 5
        or value.dtype.name not in (*FLOATS, *INTEGERS, "bool")
    ):
        raise Refused
    if tame and value.dtype.kind == "f" and not np.isfinite(value).all():
        raise Refused


def tuple_text(parts: Sequence[Any]) -> str:
    return f"({', '.join(map(str, parts))}{',' * (len(parts) == 1)})"
