"""The check: eager, compiled, compiled without fusion."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import wengert as wg

from .closeness import Array, bits, distance, scatter, with_sizes
from .program import Program, Sizes

Compile = Callable[..., Callable[..., Any]]


class Mismatch(AssertionError):
    """A program whose results differ; `kind` says how, in a few words."""

    def __init__(self, program: Program, kind: str, told: str) -> None:
        super().__init__(f"{kind}: {told}\n\n{program}")
        self.program = program
        self.kind = kind
        self.told = told


def check(program: Program, compiler: Compile | None = None) -> None:
    """Raise Mismatch unless all ways to run a program agree in all its calls."""
    compiler = compiler or wg.compile
    function, fused, unfused = program.function(), None, None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # sizes that are specialised, and NumPy's notices
        for number, sizes in enumerate(program.sizes):
            arguments = program.arguments(sizes)
            expected = _leaves(function(*program.arguments(sizes)))
            with _reporting(program, f"call {number}"):
                if fused is None or unfused is None:
                    fused = compiler(program.function(), dims=program.dims)
                    unfused = compiler(program.function(), dims=program.dims)
                found = _leaves(fused(*arguments))
                with fusion_off():
                    plain = _leaves(unfused(*arguments))
            _require_types(program, found, expected)
            _require_bits(program, "fused and unfused differ", found, plain)
            _require_close(program, sizes, arguments, found, expected)
            _require_untouched(program, sizes, arguments)
            with _reporting(program, f"call {number} again"):
                again = _leaves(fused(*arguments))
            _require_bits(program, "a second call differs", again, found)


@contextmanager
def fusion_off() -> Iterator[None]:
    """While a program is compiled for the first time: without fusion."""
    before = os.environ.get("WENGERT_FUSE")
    os.environ["WENGERT_FUSE"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["WENGERT_FUSE"]
        else:
            os.environ["WENGERT_FUSE"] = before


@contextmanager
def _reporting(program: Program, where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        told = f"{where}: {type(error).__name__}: {error}"
        raise Mismatch(program, f"raised {type(error).__name__}", told) from error


def _leaves(result: Any) -> list[Array]:
    return [np.asarray(x) for x in wg.tree.leaves(result)]


def _require_types(program: Program, found: Sequence[Array], expected: Sequence[Array]) -> None:
    have, want = [[(x.dtype.name, x.shape) for x in each] for each in (found, expected)]
    if have != want:
        raise Mismatch(program, "other types", f"compiled gives {have}, eager {want}")


def _require_bits(
    program: Program, kind: str, found: Sequence[Array], expected: Sequence[Array]
) -> None:
    for name, x, y in zip(program.returns, found, expected, strict=True):
        if bits(x) != bits(y):
            raise Mismatch(program, kind, f"{name} is\n{_shown(x, y, x != y)}")


def _require_close(
    program: Program,
    sizes: Sizes,
    arguments: list[Any],
    found: Sequence[Array],
    expected: Sequence[Array],
) -> None:
    if all(bits(x) == bits(y) for x, y in zip(found, expected, strict=True)):
        return
    graph = wg.trace(program.function(), *arguments, dims=program.dims)
    allowed = scatter(with_sizes(graph, sizes), arguments, expected)
    for name, x, y, width in zip(program.returns, found, expected, allowed, strict=True):
        wrong = distance(x, y) > width
        if wrong.any():
            told = f"{name} is\n{_shown(x, y, wrong, width)}"
            raise Mismatch(program, "compiled and eager differ", told)


def _require_untouched(program: Program, sizes: Sizes, arguments: list[Any]) -> None:
    for name, x, y in zip(program.names, arguments, program.arguments(sizes), strict=True):
        if bits(x) != bits(y):
            raise Mismatch(program, "an argument was written to", name)


def _shown(x: Array, y: Array, wrong: Any, width: Any = None) -> str:
    """The first elements that differ."""
    lines = []
    for at in np.argwhere(np.atleast_1d(wrong))[:5]:
        place = tuple(int(i) for i in at)[: x.ndim]
        more = "" if width is None else f", allowed {float(width[place]):.3g}"
        lines.append(f"  {x[place]!r} and not {y[place]!r} at {place}{more}")
    return "\n".join([f"  differs in {int(np.sum(wrong))} of {np.size(wrong)} elements", *lines])
