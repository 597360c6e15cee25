"""Programs whose bits are kept: random ones, every op's samples, whole training runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from compiler import bit_programs
from compiler.calls_of_ops import Gradients, Values
from fuzz.program import Program
from fuzz.search import visit
from table.calls import Call, calls
from table.ops import OPS
from train.models import OPTIMIZERS, data, net, squared_error

import wengert as wg

RANDOM = 130  # programs of the fuzzer
STEPS = 12  # of each training run


@dataclass(frozen=True)
class Case:
    """A function and its calls, in a form that a file can hold or that is made again by name."""

    name: str
    function: Callable[..., Any]
    calls: Sequence[Sequence[Any]]  # the arguments of each
    dims: Any = None


@dataclass(frozen=True)
class Facts:
    """What a build of a case came to."""

    digests: dict[str, str] = field(default_factory=dict)  # by the way it was built
    kernels: int = 0
    arena: int = 0
    seconds: float = 0.0


def random_programs(count: int = RANDOM) -> list[Program]:
    """Drawn by hypothesis; another release of it, or another op table, draws others."""
    found: list[Program] = []
    for number in range(count):
        visit(number, found.append)
    return found


def cases(programs: Sequence[Program]) -> Iterator[Case]:
    for number, program in enumerate(programs):
        arguments = [program.arguments(sizes) for sizes in program.sizes]
        yield Case(f"random {number}", program.function(), arguments, program.dims)
    for dtype in (np.float32, np.float64):
        for name, (function, args) in bit_programs.cases(dtype).items():
            yield Case(f"{name} {np.dtype(dtype).name}", function, [args])
    for op in OPS:
        given = [call for dtype in (np.float64, np.float32) for call in calls(op, dtype)]
        for kind, chosen in ((Values, given), (Gradients, _with_gradients(given))):
            if chosen:
                function = kind(chosen)
                with np.errstate(all="ignore"):
                    arguments = function.arguments()
                yield Case(f"{op.name} {kind.__name__}", function, [arguments])


def _with_gradients(given: Sequence[Call]) -> list[Call]:
    with np.errstate(all="ignore"):
        return [call for call in given if call.floats and call.function()(*call.primals)]


def training_runs() -> Iterator[tuple[str, Callable[[int], str]]]:
    """Names, and functions from a number of threads to the fingerprint at the end."""
    for name, optimizer in OPTIMIZERS.items():

        def train(threads: int, optimizer: Callable[[], Any] = optimizer) -> str:
            x, y = data(rows=48, dtype=np.float32)
            model = net((3, 17, 2), np.float32)
            step = wg.TrainStep(squared_error, model, optimizer(), clip_norm=1.0, threads=threads)
            step.run(x, y, batch_size=8, epochs=STEPS // 6, shuffle_seed=1)
            return step.fingerprint()

        yield name, train
