"""watched_trace: a function as a graph, with all that it took from outside its arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import is_dataclass
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from wengert.api.by_hand.graph import Graph
from wengert.api.compiling.frozen_values import Outside
from wengert.api.compiling.held import held
from wengert.api.compiling.known_programs import KnownPrograms
from wengert.api.trace import Dims, trace_with_sizes
from wengert.core.tensor import Tensor
from wengert.core.words.articles import a_kind
from wengert.core.words.noticed.updated_pairs import note_updated_pair
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import CaptureWarning, RandomnessWarning, TraceError
from wengert.interpret.bodies.body_state import noting_told_bodies
from wengert.interpret.randomness import moved, positions
from wengert.interpret.trace import noting_constants
from wengert.runtime.caching.cache_key import Unkeyed, graph_parts
from wengert.runtime.outside.capture_walk import CaptureWalk
from wengert.runtime.outside.captured_tables import captured_table
from wengert.runtime.outside.captures import Captures
from wengert.runtime.outside.code_lines import draws_anew, line_of_randomness
from wengert.runtime.outside.live import is_live, is_rewritten, recording_program
from wengert.runtime.outside.noted_reads import Read, noting_reads
from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.watch import ITEM, Captured, Watch, owner_of

Array: TypeAlias = np.ndarray[Any, Any]

_MORE_RECORDINGS = 4  # of a function that may draw: few numbers, such as one bit, may come again

_WITHOUT_JAX = (
    "JAX was given a Tensor of wengert, which is recorded; it computes with its own arrays only. "
    "Write it with the functions of wg, such as wg.stop_gradient for jax.lax.stop_gradient."
)
_SIZE_OF_AXIS = (
    "x.size is a number, how many elements there are. Write x.shape[axis] for torch's x.size(axis)."
)


def watched_trace(
    function: Callable[..., Any],
    args: Sequence[Any],  # with types for arrays
    roots: Sequence[Any],  # the user's functions among what it calls
    dims: Dims | None,
    numbers: Sequence[str],
    yielding: Mapping[str, bool],
    by: str,
    passed: Collection[int],  # identities of static numbers, which are no outputs
) -> tuple[Graph, Watch, Sequence[str]]:
    """The graph of the function called with arguments of these types, what to watch, and what
    could not all be watched.
    """
    walk = _walk(roots, args)
    captures = walk.captures
    outside, before = Outside(captures), positions(captures.generators)

    def record() -> Graph:
        return trace_with_sizes(
            function, *args, dims=dims, by=by, numbers=numbers, yielding=yielding, passed=passed
        )[0]

    with (
        noting_reads() as read,
        noting_constants() as constants,
        recording_program(),
        noting_told_bodies() as told,
    ):
        try:
            graph = record()
        except TraceError as error:  # maybe of a Tensor that an attempt with other sizes has left
            outside.require_no_tensors(by)
            note_updated_pair(by, args, error)
            raise
        except TypeError as error:
            if _is_of_jax(error):
                error.add_note(_WITHOUT_JAX)
            elif _is_called_size(error):
                error.add_note(_SIZE_OF_AXIS)
            note_updated_pair(by, args, error)
            raise
    outside.require_no_tensors(by)
    walk.follow_imports()
    unread = walk.unread(read | _read_by_compiled(captures))
    if unread:
        captures.keep_those_of(_walk(roots, args, unread).captures)
    used = moved(before)
    if used is None and draws_anew(captures) and _differs_again(graph, record):
        used = "a generator that has no seed or is made inside the function"
    _warn_of_randomness(by, used, captures)
    arrays = _captured(captures, constants, by, roots) + _captured_tables(by, captures)
    constants.clear()  # what only the recording has used is gone now
    if used:
        places = captures.settled()
    else:
        outside.is_told = bool(told)
        places = outside.settled(by, graph, record, lambda: _walk(roots, args, unread).captures)
    return graph, Watch(places, [each for each in arrays if each.is_there]), captures.left_out


def _is_of_jax(error: TypeError) -> bool:
    """Whether JAX has raised it, about a Tensor: by its words, since JAX may hide its frames."""
    text = str(error)
    if f"{Tensor.__module__}.{Tensor.__name__}" not in text:
        return False
    frame = _raising(error)
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return "JAX" in text or module.partition(".")[0] == "jax"


def _is_called_size(error: TypeError) -> bool:
    """Whether it is about `x.size(0)`, as torch has it: the size is a number here."""
    frame = _raising(error)
    called = str(error) in ("'int' object is not callable", "'Dim' object is not callable")
    return called and frame is not None and "size" in frame.f_code.co_names


def _raising(error: BaseException) -> FrameType | None:
    """The frame that raised it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return None if place is None else place.tb_frame


def _walk(
    roots: Sequence[Any], args: Sequence[Any], unread: Set[Read] = frozenset()
) -> CaptureWalk:
    walk = CaptureWalk(unread)
    walk.follow((*roots, *held(args)))
    return walk


def _read_by_compiled(captures: Captures) -> set[Read]:
    """What the programs of compiled functions depend on that the function may have called: such a
    program gives a result without another recording, and nothing is read anew.
    """
    known = [getattr(each, "programs", None) for each in captures.wrapping]
    programs = [each for kept in known if isinstance(kept, KnownPrograms) for each in kept]
    places = [place for each in programs for place in each.watch.places]
    return {(id(place.container), place.key) for place in places if place.kind == ITEM}


def _warn_of_randomness(by: str, generator: str | None, captures: Captures) -> None:
    if generator is None:
        return
    line = line_of_randomness(captures)
    warn_user(
        f"{by}: {generator} was used while the function was recorded; what it drew is a constant "
        "of the program, the same in every call. Draw from rng, a parameter of the loss, or from "
        f"wg.random with a key that is an argument.{'' if line is None else f' ({line})'}",
        RandomnessWarning,
        line,
    )


def _differs_again(graph: Graph, record: Callable[[], Graph]) -> bool:
    """Whether another recording gives another program: one made a generator without a seed."""
    return any(_differ(graph, record()) for _ in range(_MORE_RECORDINGS))


def _captured_tables(by: str, captures: Captures) -> list[Captured]:
    """The tables that the program may depend on. Warns of one that cannot be compared, and of
    tensors: their numbers go through the hands of another library, which gives others after each
    change.
    """
    tables: list[Captured] = []
    unwatched: list[str] = []
    named: set[str] = set()
    if captures.tables:
        named = {name for code in captures.codes for name in reads_of(code).attributes}
    for label, x in {id(x): (label, x) for label, x in reversed(captures.tables)}.values():
        table = captured_table(x, label, by, named)
        if table is None:
            unwatched.append(f"{label!r}, {a_kind(x)}")
        else:
            tables.append(table)
    for labels, what, repair in (
        (unwatched, "table", "its arrays as arguments: table[column].to_numpy()"),
        (captures.torch, "tensor", "it as an argument, an array of NumPy: t.detach().numpy()"),
    ):
        if not labels:
            continue
        line = Line(captures.codes[0].co_filename, captures.codes[0].co_firstlineno)
        warn_user(
            f"{by}: the function reads {labels[0]}, from outside; what it takes from there is "
            f"a constant of the program, and a later change of the {what} may go unnoticed. Pass "
            f"{repair}. ({line})",
            CaptureWarning,
            line,
        )
    return tables


def _differ(graph: Graph, again: Graph) -> bool:
    try:
        return graph_parts(graph) != graph_parts(again)
    except Unkeyed:
        return False


def _captured(
    captures: Captures,
    constants: Sequence[tuple[Array, Line | None]],
    by: str,
    roots: Sequence[Any],
) -> list[Captured]:
    """The arrays that the program depends on, or may depend on, and that could be changed."""
    captured: dict[int, Captured] = {}
    for x, line in constants:
        if is_rewritten(x):
            _refuse_live(by, captures.name_of(x), _without_constant(x, roots), line)
        if id(x) not in captured and _can_change(x):
            captured[id(x)] = Captured(x, captures.name_of(x), line, by, certain=True)
    owners = {id(owner_of(x)) for x, _ in constants}
    for name, x in captures.arrays.values():
        if id(owner_of(x)) not in owners and _can_change(x):
            captured[id(x)] = Captured(x, name, None, by, certain=False)
    return list(captured.values())


def _can_change(x: Array) -> bool:
    return bool(x.size) and not x.dtype.hasobject and owner_of(x).flags.writeable


def _without_constant(x: Array, roots: Sequence[Any]) -> str:
    """What to do in the place of reading an array that somebody writes to."""
    if is_live(x):
        return "Pass it as an argument"
    if any(is_dataclass(root) and not isinstance(root, type) for root in roots):
        return "Pass the network as an argument: wg.compile(lambda m, x: m(x))(net, x)"
    return (
        "Pass the network as an argument; one that stays as it is may be read as "
        "net = wg.tree.copy(net), which nobody writes to"
    )


def _refuse_live(by: str, name: str, repair: str, line: Line | None) -> None:
    which = f"array {name!r}" if name else "an array"
    where = "" if line is None else f" ({line})"
    raise TraceError(
        f"{by}: the function reads {which} from outside that training or a network writes to; it "
        f"would be a constant of the program. {repair}.{where}"
    )
