"""watched_trace: a function as a graph, with all that it took from outside its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.api.graph import Graph
from wengert.api.trace import Dims, trace_with_sizes
from wengert.core import tree
from wengert.core.source import Line
from wengert.core.warn import warn_user
from wengert.errors import FrozenValueWarning, RandomnessWarning, TraceError
from wengert.interpret.randomness import moved, positions
from wengert.interpret.trace import noting_constants
from wengert.runtime.cache_key import Unkeyed, graph_parts
from wengert.runtime.captures import Captures
from wengert.runtime.live import is_rewritten, recording_program
from wengert.runtime.signature import Static
from wengert.runtime.watch import Captured, Place, Watch, owner_of

Array: TypeAlias = np.ndarray[Any, Any]


def watched_trace(
    function: Callable[..., Any],
    args: Sequence[Any],  # with types for arrays
    roots: Sequence[Any],  # the user's functions among what it calls
    dims: Dims | None,
    numbers: Sequence[str],
    yielding: Mapping[str, bool],
    by: str,
) -> tuple[Graph, Watch, Sequence[str]]:
    """The graph of the function called with arguments of these types, what to watch, and what
    could not all be watched.
    """
    captures = Captures()
    captures.follow((*roots, *_held(args)))
    before = positions(captures.generators)

    def record() -> Graph:
        return trace_with_sizes(
            function, *args, dims=dims, by=by, numbers=numbers, yielding=yielding
        )[0]

    with noting_constants() as constants, recording_program():
        graph = record()
    used = moved(before)
    if used is None and captures.makes_generators() and _differ(graph, record()):
        used = "a generator of NumPy that is made inside the function"
    _warn_of_randomness(by, used, captures)
    arrays = _captured(captures, constants, by)
    constants.clear()  # what only the recording has used is gone now
    counted = [] if used else captures.counted()
    places = captures.settled()
    if counted:
        _warn_of_counters(by, graph, counted, captures, record)
    return graph, Watch(places, [each for each in arrays if each.is_there]), captures.left_out


def _warn_of_counters(
    by: str,
    graph: Graph,
    counted: Sequence[Place],
    captures: Captures,
    record: Callable[[], Graph],
) -> None:
    """Recording has changed values. Where the program would be another one with what they are now,
    it needs them in every call, and has them as they were: say so. Who merely counts how often a
    function is recorded means no harm, and has the right count.
    """
    values = [place.read() for place in counted]
    try:
        depends = graph_parts(record()) != graph_parts(graph)
    except Exception:  # it cannot be recorded twice, or not be compared
        depends = False
    finally:
        for place, value in zip(counted, values, strict=True):
            place.write(value)
    if depends:
        place, value = counted[0], values[0]
        warn_user(
            f"{by}: recording the function changed {place.label} from {place.value!r} to "
            f"{value!r}, and what it computes depends on that; it is recorded once, and every call "
            "has the value of then. Pass it as an argument (a Python number costs no compile), or "
            "carry it as state.",
            FrozenValueWarning,
            captures.line_of_change(place),
        )


def _held(x: Any) -> Iterator[Any]:
    """What in the arguments is no array and no tree: objects whose attributes a function may read,
    the classes of dataclasses, and what these hold beside their fields.
    """
    if isinstance(x, Static):
        yield x.value
    elif isinstance(x, dict):
        for each in x.values():
            yield from _held(each)
    elif isinstance(x, list | tuple):
        for each in x:
            yield from _held(each)
    elif is_dataclass(x) and not isinstance(x, type):
        yield type(x)
        names = {field.name for field in fields(x)}
        for name, each in getattr(x, "__dict__", {}).items():
            yield from _held(each) if name in names else (each,)
    elif not tree.is_leaf(x):
        yield x


def _warn_of_randomness(by: str, generator: str | None, captures: Captures) -> None:
    if generator is None:
        return
    line = captures.line_of_randomness()
    warn_user(
        f"{by}: {generator} was used while the function was recorded; what it drew is a constant "
        "of the program, the same in every call. Draw from rng, a parameter of the loss, or from "
        f"wg.random with a key that is an argument.{'' if line is None else f' ({line})'}",
        RandomnessWarning,
        line,
    )


def _differ(graph: Graph, again: Graph) -> bool:
    """Whether a second recording gave another program: one made a generator without a seed."""
    try:
        return graph_parts(graph) != graph_parts(again)
    except Unkeyed:
        return False


def _captured(
    captures: Captures, constants: Sequence[tuple[Array, Line | None]], by: str
) -> list[Captured]:
    """The arrays that the program depends on, or may depend on, and that could be changed."""
    found: dict[int, Captured] = {}
    for x, line in constants:
        if is_rewritten(x):
            _refuse_live(by, captures.name_of(x), line)
        if id(x) not in found and _can_change(x):
            found[id(x)] = Captured(x, captures.name_of(x), line, by, certain=True)
    owners = {id(owner_of(x)) for x, _ in constants}
    for name, x in captures.arrays.values():
        if id(owner_of(x)) not in owners and _can_change(x):
            found[id(x)] = Captured(x, name, None, by, certain=False)
    return list(found.values())


def _can_change(x: Array) -> bool:
    return bool(x.size) and not x.dtype.hasobject and owner_of(x).flags.writeable


def _refuse_live(by: str, name: str, line: Line | None) -> None:
    which = f"array {name!r}" if name else "an array"
    where = "" if line is None else f" ({line})"
    raise TraceError(
        f"{by}: the function reads {which} from outside that training or a network writes to; it "
        f"would be a constant of the program. Pass it as an argument.{where}"
    )
