"""The check: eager, compiled, compiled without fusion, and for several threads."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import wengert as wg

from .closeness import Array, bits, distance, scatter, with_sizes
from .program import Program, Sizes

Compile = Callable[..., Callable[..., Any]]
_HEAD = re.compile(r"^here.*?(?= = )", re.M)  # of what wg.debug prints: where, and of which type


class Mismatch(AssertionError):
    """A program whose results differ; `kind` says how, in a few words."""

    def __init__(self, program: Program, kind: str, told: str) -> None:
        super().__init__(f"{kind}: {told}\n\n{program}")
        self.program = program
        self.kind = kind
        self.told = told


@dataclass(frozen=True, eq=False)
class Way:
    """Another build of a program, which must give the same bits as the plain one."""

    kind: str  # of the mismatch
    threads: int
    settings: dict[str, str]  # of the environment while it is compiled
    donates: bool = False  # whether it may write over the arguments that the program donates


WAYS = (
    Way("fused and unfused differ", 1, {"WENGERT_FUSE": "0"}),
    # Programs are small: without the setting each kernel would be one worker's.
    Way("one and three threads differ", 3, {"WENGERT_GRAIN": "1"}, donates=True),
)


@dataclass(frozen=True)
class Outcome:
    """What a call gives, and what it prints on the way."""

    results: list[Array]
    printed: str


def run(function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    with redirect_stdout(io.StringIO()) as printed:
        results = [np.asarray(x) for x in wg.tree.leaves(function(*arguments))]
    return Outcome(results, printed.getvalue())


def check(program: Program, compiler: Compile | None = None, ways: Sequence[Way] = WAYS) -> None:
    """Raise Mismatch unless these ways to run a program agree in all its calls."""
    compiler = partial(compiler or wg.compile, dims=program.dims)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # sizes that are specialised, and NumPy's notices
        with _reporting(program, "compile"):
            plain = compiler(program.function(), threads=1)
            others = [
                compiler(program.function(), threads=way.threads, donate=_donated(program, way))
                for way in ways
            ]
        for number, sizes in enumerate(program.sizes):
            arguments = program.arguments(sizes)
            expected = run(program.function(), program.arguments(sizes))
            with _reporting(program, f"call {number}"):
                found = run(plain, arguments)
            _require_types(program, found, expected)
            _require_ways(program, number, dict(zip(ways, others, strict=True)), found)
            _require_close(program, sizes, arguments, found, expected)
            _require_untouched(program, sizes, arguments)
            with _reporting(program, f"call {number} again"):
                again = run(plain, arguments)
            _require_equal(program, "a second call differs", again, found)


def _donated(program: Program, way: Way) -> tuple[str, ...]:
    return program.donated if way.donates else ()


def _require_ways(
    program: Program, number: int, others: dict[Way, Callable[..., Any]], found: Outcome
) -> None:
    """Every other build gives these bits, and gives them again: workers may race."""
    for way, other in others.items():
        with mock.patch.dict(os.environ, way.settings):
            for _ in range(2):
                arguments = program.arguments(program.sizes[number], _donated(program, way))
                with _reporting(program, f"call {number}"):
                    outcome = run(other, arguments)
                _require_equal(program, way.kind, outcome, found)


@contextmanager
def _reporting(program: Program, where: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        told = f"{where}: {type(error).__name__}: {error}"
        raise Mismatch(program, f"raised {type(error).__name__}", told) from error


def _require_types(program: Program, found: Outcome, expected: Outcome) -> None:
    outcomes = (found, expected)
    have, want = [[(x.dtype.name, x.shape) for x in each.results] for each in outcomes]
    if have != want:
        raise Mismatch(program, "other types", f"compiled gives {have}, eager {want}")
    have, want = [_HEAD.findall(each.printed) for each in outcomes]
    if have != want and "wg.cond(" not in program.function_text:  # rounding may choose a branch
        raise Mismatch(program, "other lines", f"compiled prints {have}, eager {want}")


def _require_equal(program: Program, kind: str, found: Outcome, expected: Outcome) -> None:
    for name, x, y in zip(program.returns, found.results, expected.results, strict=True):
        if bits(x) != bits(y):
            raise Mismatch(program, kind, f"{name} is\n{_shown(x, y, x != y)}")
    if found.printed != expected.printed:
        raise Mismatch(program, kind, f"printed is\n{found.printed}and not\n{expected.printed}")


def _require_close(
    program: Program, sizes: Sizes, arguments: list[Any], found: Outcome, expected: Outcome
) -> None:
    pairs = list(zip(program.returns, found.results, expected.results, strict=True))
    if all(bits(x) == bits(y) for _, x, y in pairs):
        return
    graph = wg.trace(program.function(), *arguments, dims=program.dims)
    with redirect_stdout(io.StringIO()):
        allowed = scatter(with_sizes(graph, sizes), arguments, expected.results)
    for (name, x, y), width in zip(pairs, allowed, strict=True):
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
