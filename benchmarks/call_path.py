"""What a call takes beside its work: programs on few elements, with one to ten array arguments.

The work is what the program itself takes, measured by clocks inside it; the rest of a call is
checking the arguments, making the result and returning. JAX's calls are those of a jitted function
of the same arrays; PyTorch and NumPy take one op, called from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run, best_times, compare, print_table
from benchmarks.peers import ALL, chosen, torch_tensors
from wengert.runtime.profile_table import duration

ELEMENTS = 8
COUNTS = (1, 2, 10)
LIMIT = 1e-6  # seconds above the work of a call with ten arrays


def add_up(*arrays: Any) -> Any:
    return reduce(lambda x, y: x + y, arrays)


def in_trees(tree: Any) -> Any:
    return add_up(tree["a"], *tree["b"], tree["c"]["d"])


def arrays_for(count: int) -> list[np.ndarray]:
    return [np.full(ELEMENTS, i + 1, np.float32) for i in range(count)]


def trees_for(count: int) -> tuple[dict[str, Any]]:
    first, *rest, last = arrays_for(count)
    return ({"a": first, "b": rest, "c": {"d": last}},)


def plain(count: int, peers: Sequence[str] = ALL) -> dict[str, Run]:
    """A sum of so many arrays."""
    found = _of_ours_and_jax(add_up, arrays_for(count), peers)
    if count == 2:
        x, y = arrays_for(2)
        if torch := chosen(peers, "torch"):
            a, b = torch_tensors(torch, [x, y])
            found["torch add"] = lambda: torch.add(a, b)
        found["NumPy add"] = lambda: np.add(x, y)
    return found


def nested(count: int, peers: Sequence[str] = ALL) -> dict[str, Run]:
    """The same, with the arrays in a tree."""
    return _of_ours_and_jax(in_trees, trees_for(count), peers)


def _of_ours_and_jax(
    function: Callable[..., Any], args: Sequence[Any], peers: Sequence[str]
) -> dict[str, Run]:
    step = wg.compile(function)
    found: dict[str, Run] = {OURS: lambda: step(*args)}
    if jax := chosen(peers, "jax"):
        jitted, theirs = jax.jit(function), jax.device_put(tuple(args))
        found["JAX jit"] = lambda: jitted(*theirs)  # without waiting: the call alone
    return found


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for count in COUNTS:
        figures = [Figure(3, "JAX jit")] if count == max(COUNTS) else []
        yield f"{count} arrays" if count > 1 else "1 array", plain(count), figures
    yield "10 arrays in a tree", nested(10), []


def above_the_work(function: Callable[..., Any], args: Sequence[Any]) -> tuple[float, float]:
    """Seconds of a call, and of the program inside it."""
    step = wg.compile(function)
    work = step.executable(*args).profile(*args).seconds
    return best_times({OURS: lambda: step(*args)})[OURS], work


def main() -> None:
    compare("Calls with few elements", rows())
    cases = {"10 arrays": (add_up, arrays_for(10)), "10 in a tree": (in_trees, trees_for(10))}
    table = []
    for name, (function, args) in cases.items():
        call, work = above_the_work(function, args)
        reached = "yes" if call - work <= LIMIT else "NO"
        verdict = f"≤ {duration(LIMIT)} above the work: {reached}"
        table.append([name, duration(call), duration(work), duration(call - work), verdict])
    print()
    print_table(["", "call", "work", "above", ""], table)
