"""Where float32 becomes float64 in a program that is recorded: a warning at the user's line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from wengert.core.bind import program_level
from wengert.core.dims import is_known
from wengert.core.dtypes import DType, float32, float64, is_float, is_weak, promote
from wengert.core.table import op as table
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Type, Value
from wengert.core.values.number import key_of_argument
from wengert.core.words.source import Line, user_line
from wengert.core.words.warn import warn_user
from wengert.errors import WideningWarning

if TYPE_CHECKING:
    from wengert.interpret.trace import Trace

    _Node: TypeAlias = tuple[Trace, int]  # a level that records, and the number of a node there

_WITH_DTYPE = "make it with a dtype: wg.zeros(shape, x.dtype)"
_DRAWN = (
    "The float32 was drawn: ask for the dtype of what it meets, wg.random.normal(key, shape, "
    "np.float64), or convert that with astype(np.float32)"
)
_FOLLOWS = "NumPy makes float64 of the two, and what follows is computed in it"


def note_widening(name: str, operands: Sequence[Value], line: Line | None) -> None:
    """Warn where float32 meets what makes float64 of it, in code of the user's; a body of ours, a
    backward step and an update choose their dtypes themselves.

    What nobody computes arrays of is let pass: a loss of float32 that is divided by a count.
    """
    if not _is_of_user(line):
        return
    floats = {x.dtype for x in operands if type(x) is Tensor and is_float(x.dtype)}
    if floats == {float32}:
        _note_constant(name, operands, line)
    if floats == {float32, float64} and not _are_scalars(operands):
        wide = [x for x in operands if type(x) is Tensor and x.dtype == float64 and not is_weak(x)]
        origins = [_origin(x) for x in wide]
        if origins and not any(each is None or each.is_told for each in origins):
            assert origins[0] is not None
            _warn_of_origin(name, operands, origins[0], line)


def note_integers(
    name: str, values: Sequence[Value], sources: Sequence[int | None], line: Line | None
) -> None:
    """Warn where traced integers make float64 of a float32 that is differentiated, in code of the
    user's: integers among features, or targets.
    """
    if not _is_of_user(line) or _are_scalars(values):
        return
    pairs = list(zip(values, sources, strict=True))
    if {x.dtype for x, source in pairs if source is not None} != {float32}:
        return
    traced = [x for x, source in pairs if source is None and type(x) is Tensor and not is_weak(x)]
    integers = [x.dtype for x in traced if x.dtype.kind in "iu"]
    # Python's numbers have no dtype, and widen nothing.
    if integers and not any(hasattr(x, "dtype") and x.dtype == float64 for x, _ in pairs):
        warn_user(
            f"{name}: float32 meets an array of {integers[0]}; {_FOLLOWS}. Convert the integers "
            "with astype(np.float32).",
            WideningWarning,
            line,
        )


def note_promotion(name: str, operands: Sequence[Value]) -> None:
    """The same for a function that converts its operands to float64 itself, before any op."""
    if any(place_of(x) is not None for x in operands):
        line = user_line()
        own = [type(x) is Tensor and not x.level.symbolic for x in operands]
        values = [x._value if mine else x for x, mine in zip(operands, own, strict=True)]
        note_widening(name, values, line)
        note_integers(name, values, [0 if mine else None for mine in own], line)


def note_number_in_list(name: str, arrays: Sequence[Value]) -> bool:
    """Warn where a number of Python's is joined with float32, which makes float64 of it as in
    NumPy; say whether it was told.
    """
    numbers = [x for x in arrays if type(x) in (int, float)]
    joined = [x for x in arrays if type(x) is Tensor and place_of(x) is not None]
    line = user_line()
    if not numbers or not _is_of_user(line) or {x.dtype for x in joined} != {float32}:
        return False
    warn_user(
        f"{name}: float32 meets the Python number {numbers[0]} in a list, where numbers are of a "
        f"dtype, too, as in NumPy; float64 is made of the two, and what follows is computed in it. "
        f"Write wg.array([x, {numbers[0]}]), where numbers take the dtype of the arrays, or "
        "wg.zeros_like(x), wg.full_like(x, number).",
        WideningWarning,
        line,
    )
    return True


def _is_of_user(line: Line | None) -> bool:
    return line is not None and line.phase == "forward" and not line.of and not line.inside


def _are_scalars(operands: Sequence[Value]) -> bool:
    return all(x is None or not getattr(x, "shape", ()) for x in operands)


def _note_constant(name: str, operands: Sequence[Value], line: Line | None) -> None:
    for x in operands:
        if isinstance(x, np.ndarray | np.generic) and promote(np.float32(0), x) == float64:
            kind = f"np.{x.dtype}" if x.ndim == 0 else f"an array of {x.dtype}"
            repair = f"Use x.astype(np.float32), or {_WITH_DTYPE}"
            if x.ndim == 0 and isinstance(x, np.ndarray) and x.dtype == float64:
                # Numbers of NumPy's are no arrays, but what our functions make of a number is one.
                kind = "an array of float64 without axes, as wg.exp makes of a Python number"
                repair = (
                    "Use math.exp for wg.exp, or x.astype(np.float32). A number that shall be "
                    "trained is an array in the model, np.array(2.66, np.float32)"
                )
            elif x.ndim == 0:
                repair = "Use a Python number, as of math.sqrt or float(x), or x.astype(np.float32)"
            elif any(map(_is_drawn, operands)):
                repair = _DRAWN
            _arrays_told()[id(x)] = x
            warn_user(
                f"{name}: float32 meets {kind}; {_FOLLOWS}. {repair}.",
                WideningWarning,
                line,
            )
            return


class _Origin(NamedTuple):
    """A node that made the float64, or an array that was given as one."""

    level: Trace
    number: int
    is_told: bool  # a warning has named it already


def _warn_of_origin(
    name: str, operands: Sequence[Value], origin: _Origin, line: Line | None
) -> None:
    level, number, _ = origin
    node = level.graph.nodes[number]
    level.told.add(number)
    array = level.array_of(number)
    if array is not None:
        _arrays_told()[id(array)] = array
    place = "" if node.line is None or node.line == line else f" at {node.line}"
    behind = _arguments_behind(level, number)
    made = f"float64 that {node.op.name} made{place}{_of_arguments(behind)}"
    repair = "Convert it with astype(np.float32)"
    if not node.operands:
        made = f"an array of float64{f', made{place}' if place else ''}"
        repair = f"{repair}, or {_WITH_DTYPE}"
    elif all(_is_weak(level, each) for each in node.operands):
        repair = "Python's own numbers give way: write n ** 0.5 for np.sqrt(n)"
    elif len(behind) == 1 and _is_arithmetic_of_bools(level, number):
        repair = f"Convert {next(iter(behind))!r} first, with astype(np.float32)"
    if any(map(_is_drawn, operands)):
        repair = _DRAWN
    warn_user(f"{name}: float32 meets {made}; {_FOLLOWS}. {repair}.", WideningWarning, line)


def _origin(x: Value) -> _Origin | None:
    """What made a Tensor float64; None where an argument is, or where a float32 was converted on
    purpose.
    """
    place = place_of(x)
    if place is None:
        return None
    level, number = place
    if number not in level.origins:
        level.origins[number] = _walked(place)
    origin = level.origins[number]
    if origin is None:
        return None
    level, number = origin
    told = number in level.told or id(level.array_of(number)) in _arrays_told()
    return _Origin(level, number, told)


def _walked(begin: _Node) -> _Node | None:
    """The first node on some way back that is float64 and has no operand that is; None if one way
    ends at an argument, or on purpose.
    """
    origin = None
    pending: list[_Node | None] = [begin]
    seen = set()
    while pending:
        place = pending.pop()
        if place is None:
            return None
        if place in seen:
            continue
        seen.add(place)
        level, number = place
        node = level.graph.nodes[number]
        if number in level.origins:  # known from an earlier meeting
            origin = level.origins[number]
            if origin is None:
                return None
        elif node.op is table.input:
            outer = level.stands_for.get(number)
            if outer is None or level is program_level():
                return None  # an argument
            if type(outer) is Tensor:
                pending.append(place_of(outer))
            else:
                origin = place
        elif _was_asked_for(level, number):
            return None
        else:
            wide = list(_wide_operands(level, number))
            pending += [(level, each) for each in wide]
            origin = origin if wide else place
    return origin


def _arguments_behind(level: Trace, number: int) -> dict[str, DType]:
    """The arguments of bools and integers by which a node is float64, and what these are; none
    where floats or draws are among what these bools or integers are made of.
    """
    found: dict[str, DType] = {}
    pending, seen = _integers_of(level, number), set()
    while pending and level is program_level():
        each = pending.pop(0)
        if each in seen:
            continue
        seen.add(each)
        node = level.graph.nodes[each]
        if isinstance(node.type, tuple) or is_float(node.type.dtype):
            return {}
        if node.op is table.random_bits:
            return {}
        if node.op is table.input:
            found[str(node.params["name"])] = node.type.dtype
        pending += [i for i in node.operands if i is not None and not _is_weak(level, i)]
    return found


def _integers_of(level: Trace, number: int) -> list[int]:
    """The operands of a node that are bools or integers, as they were before they were converted
    for its sake.
    """
    nodes = level.graph.nodes
    strong = [i for i in nodes[number].operands if i is not None and not _is_weak(level, i)]
    sources = [nodes[i].operands[0] if i in level.implicit else i for i in strong]
    return [i for i in sources if i is not None and level.graph.type(i).dtype.kind in "biu"]


def _of_arguments(behind: Mapping[str, DType]) -> str:
    names = " and ".join(map(repr, behind))
    if len(behind) > 1:
        return f" of {names}, arguments of bools or integers"
    kinds = ["bools" if dtype.kind == "b" else "integers" for dtype in behind.values()]
    return f" of {names}, an argument of {kinds[0]}" if kinds else ""


def _is_arithmetic_of_bools(level: Trace, number: int) -> bool:
    """Whether a node converts an argument of bools itself, `0.9 * d`, or what arithmetic made of it
    with numbers, `0.9 * (1 - d)`: such an argument may as well be converted before. `~d` and
    `wg.where(d, a, b)` need bools.
    """
    nodes = level.graph.nodes
    integers = _integers_of(level, number)
    if len(integers) != 1 or _is_bool_argument(level, integers[0]):
        return len(integers) == 1
    strong = [each for each in nodes[integers[0]].operands if not _is_weak(level, each)]
    return bool(strong) and all(
        each in level.implicit and _is_bool_argument(level, nodes[each].operands[0])
        for each in strong
    )


def _is_bool_argument(level: Trace, number: int | None) -> bool:
    if number is None or level.graph.nodes[number].op is not table.input:
        return False
    return level.graph.type(number).dtype.kind == "b"


def _is_drawn(x: Value) -> bool:
    """Whether a float32 is made of random numbers, and of nothing else that is traced or an
    array.
    """
    place = place_of(x)
    if place is None or x.dtype != float32:
        return False
    level, number = place
    drawn, pending, seen = False, [number], set()
    while pending:
        number = pending.pop()
        node = level.graph.nodes[number]
        if number in seen:
            continue
        seen.add(number)
        if node.op is table.random_bits:
            drawn = True
        elif node.op is table.input or (not node.operands and not _is_scalar(node.type)):
            return False
        else:
            pending += [each for each in node.operands if each is not None]
    return drawn


def _is_scalar(t: Type) -> bool:
    return isinstance(t, ArrayType) and not t.shape


def _arrays_told() -> dict[int, Value]:
    """The arrays that warnings about the program that is recorded now have named."""
    level = program_level()
    return level.arrays_told if level is not None else {}


def place_of(x: Value) -> _Node | None:
    """Level and number of the node that a Tensor is on the level that records it, if one does."""
    while type(x) is Tensor and not x.level.symbolic:
        x = x._value
    return (x.level, x.handle) if type(x) is Tensor else None  # type: ignore[return-value]


def _was_asked_for(level: Trace, number: int) -> bool:
    """Whether a node converts a float32 because the user said so."""
    node = level.graph.nodes[number]
    if node.op is not table.astype or number in level.implicit:
        return False
    assert node.operands[0] is not None
    return bool(level.graph.type(node.operands[0]).dtype == float32)


def _wide_operands(level: Trace, number: int) -> Iterator[int]:
    """The operands by which a node is float64; those that were converted for its sake are not."""
    for each in level.graph.nodes[number].operands:
        if each is None or each in level.implicit or _is_weak(level, each):
            continue
        t = level.graph.nodes[each].type
        if isinstance(t, tuple) or t.dtype == float64:
            yield each


def _is_weak(level: Trace, number: int | None) -> bool:
    """Whether a node is an open size or a Python number, known now or at call time."""
    if number is None:
        return False
    if number in level.weak:
        return True
    if number in level.implicit:
        return _is_weak(level, level.graph.nodes[number].operands[0])
    node = level.graph.nodes[number]
    named = node.op is table.input and is_known(key_of_argument(str(node.params["name"])))
    return named or node.op is table.size
