"""What programs of one function differ in, in words, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

from wengert.api.compiling.forms import form_difference
from wengert.api.trace import Dims
from wengert.core.dims import Dim, Size
from wengert.core.types import ArrayType

# What forms of arguments, which arrays are one, and repairs that classes have, are called.
FORM, PLACES, REPAIRS = "", " ", "  "
Change: TypeAlias = tuple[Size, Size]  # a size before, and now
# What to write where Python would need a number, which makes each value a program.
_TO_THE_LARGEST = "scan over np.arange(largest) with wg.where(t < number, cost, 0.0)"
_AS_ARGUMENT = "Pass it as an argument"
WHOLE_AS_ARGUMENT = (
    f"{_AS_ARGUMENT}; where it is a length, a shape or a range, each value compiles one there, "
    f"too: {_TO_THE_LARGEST}"
)
_NAMED_AT_MOST = 4  # arguments whose sizes a repair names


class Needed(NamedTuple):
    """A number that is an argument, whose value Python needed while the function was recorded."""

    text: str
    is_whole: bool
    repair: str  # of those who needed it; "" where they know none


class GivenText(NamedTuple):
    """A text that is an argument, and the name of the argument, both as in Python."""

    text: str
    argument: str


class InTree(NamedTuple):
    """What an argument holds beside arrays, each with whether it is a number."""

    values: tuple[tuple[str, bool], ...]
    in_arrays: str  # how to write it with numbers as arrays; "" where layers have settings


Values: TypeAlias = GivenText | InTree  # that are part of the program, in words


@dataclass(frozen=True)
class ReadValue:
    """What a place outside the arguments has, in words, and which one it is. What was recorded may
    have changed what is in it, which makes it no other one.
    """

    text: str = field(compare=False)
    which: Any  # the words of what cannot change, and else its identity
    is_float: bool = field(compare=False)
    repair: str = field(default="", compare=False)  # "" where it is to be passed as an argument
    code: Any = field(default=None, compare=False)  # what was written, of a function


def without_number(whole: bool) -> str:
    """What to write so that Python does not need a number; a whole one may be a length."""
    words = "Choose with wg.where, wg.cond or wg.asarray(table)[number], loop with wg.while_loop"
    lengths = f", or, for lengths and shapes, go to the largest: {_TO_THE_LARGEST}"
    return words + lengths * whole


def what_differs(
    before: dict[str, Any],
    now: dict[str, Any],
    dims: Dims,
    for_sizes: str | None,
    static_in: str,
) -> str:
    """What one program was made for and the one before it was not, and the repair: arguments first,
    then their forms, then what is read from outside.
    """
    known = [name for name in now if name in before and before[name] != now[name]]
    known = [name for name in known if name not in (FORM, PLACES, REPAIRS)]
    outside = [name for name in known if isinstance(now[name], ReadValue)]
    for name in known:
        if name not in outside:
            others = [(each, before[each], now[each]) for each in known]
            closed = _closed_changes(others, dims)
            own = _repair_of_class(name, before, now)
            if own:
                return own
            if _has_one_size_for_two(before[name], now[name]):
                return _sizes_of_their_own(name, before, now, for_sizes)
            if _has_the_size_of_another(name, before, now):
                return _lengths_of_their_own(name, before, now, for_sizes)
            told = difference(name, before[name], now[name], dims, closed, static_in)
            return told or _open_sizes(others, closed, for_sizes)
    other = form_difference(before[FORM], now[FORM])
    if other is not None:
        return f"{other}, and each form compiles one. Give it one form in all calls"
    if before[PLACES] != now[PLACES]:
        return (
            "its arguments are other trees, or have one array at other places, and each form "
            "compiles one. Use trees of one form"
        )
    for name in sorted(outside, key=lambda name: is_silent(before[name], now[name])):
        return difference(name, before[name], now[name], dims)
    return "it could read other things from outside than before. Pass what it reads as an argument"


def _repair_of_class(name: str, before: dict[str, Any], now: dict[str, Any]) -> str:
    """What to do about other sizes of an array, where the class of the object that it is in says
    so.
    """
    repairs = now[REPAIRS].get(name, {})
    for axis in _axes_of_other_sizes(before[name], now[name]):
        if axis in repairs:
            return f"{_other_shape(name, before[name], now[name])}. {repairs[axis]}"
    return ""


def is_silent(before: Any, now: Any) -> bool:
    """Whether words would not tell the difference: an object that is another one."""
    return isinstance(now, ReadValue) and now.text == before.text


def difference(
    name: str,
    before: Any,
    now: Any,
    dims: Dims,
    closed: Collection[Change] = (),
    static_in: str = "",
) -> str:
    """What is different, and the repair; nothing where that is to leave a size open."""
    if isinstance(now, ReadValue):
        return _difference_outside(name, before, now)
    if isinstance(now, Needed) or isinstance(before, Needed):
        return _difference_needed(name, before, now)
    if not isinstance(now, ArrayType):
        return _difference_of_values(name, before, now, static_in)
    if now.dtype != before.dtype:
        return _difference_of_dtypes(name, before, now)
    return _difference_of_shapes(name, before, now, dims, closed)


def _difference_of_values(name: str, before: Values, now: Values, static_in: str) -> str:
    repair = "Pass a number as an argument of its own, or an array"
    has, had = (
        [(each.text, False)] if isinstance(each, GivenText) else [*each.values]
        for each in (now, before)
    )
    if len(has) == len(had):
        changes = [(a, b) for a, b in zip(has, had, strict=True) if a != b]
        has, had = [a for a, _ in changes], [b for _, b in changes]
    if isinstance(now, GivenText) and isinstance(before, GivenText):
        repair = "If there are few, filter wg.errors.ProgramsWarning"
        if static_in:
            repair = f"If there are few, name it: {static_in}(f, static={now.argument})"
    elif isinstance(now, InTree) and now.in_arrays and all(is_number for _, is_number in has):
        repair = f"Pass {now.in_arrays}, whose numbers are arrays"
    return (
        f"{name} has {_listed(has)} and had {_listed(had)}, and each value compiles one. {repair}"
    )


def _listed(values: Sequence[tuple[str, bool]]) -> str:
    return ", ".join(text for text, _ in values)


def _difference_outside(name: str, before: Any, now: ReadValue) -> str:
    told = f"is {now.text} and was {before.text}"
    if is_silent(before, now):
        told = f"is another {now.text} than before"
    repair = now.repair or _AS_ARGUMENT
    return f"{name}, which it reads from outside, {told}, and each value compiles one. {repair}"


def _difference_needed(name: str, before: Any, now: Any) -> str:
    """Of a value that Python needed, before or now."""
    then = f" and was {before.text}" if isinstance(before, Needed) else ""
    value = now.text if isinstance(now, Needed) else "another"
    known = [x for x in (now, before) if isinstance(x, Needed)]
    repair = next((x.repair for x in known if x.repair), "")
    repair = repair.removesuffix(".") or without_number(all(x.is_whole for x in known))
    return (
        f"{name} is {value}{then}, and each value compiles one: Python needed it while the "
        f"function was recorded. {repair}"
    )


def _difference_of_dtypes(name: str, before: ArrayType, now: ArrayType) -> str:
    if now.shape != before.shape:
        # A dtype alone may have made none: a step converts what it is given.
        repair = "shape" if now.ndim == before.ndim else "number of axes"
        return (
            f"{name!r} has shape {now.shape} and dtype {now.dtype} and had {before.shape} and "
            f"{before.dtype}, and each shape compiles one. Give it one {repair}, and one dtype"
        )
    number = "float" if "f" in (now.dtype.kind, before.dtype.kind) else "int"
    repair = (
        "Convert it with astype" if now.ndim else f"Pass {number}({name}), a number of Python's"
    )
    return (
        f"{name!r} has dtype {now.dtype} and had {before.dtype}, and each dtype compiles one. "
        f"{repair}"
    )


def _difference_of_shapes(
    name: str, before: ArrayType, now: ArrayType, dims: Dims, closed: Collection[Change]
) -> str:
    told = _other_shape(name, before, now)
    axes = _other_axes(before, now)
    if not axes:
        return f"{told}. Give it one number of axes"
    needed = (before.shape[axes[0]], now.shape[axes[0]]) not in closed
    if needed and _is_asked(name, axes[0], now, dims):
        return (
            f"{told}: Python needed that size, or it has to fit another one. Keep it open: "
            "wg.take(table, wg.arange(n), axis=0) for table[:n], wg.zeros(n) for np.zeros(n), "
            "wg.jacfwd for wg.jacobian, and no len, int or range of it"
        )
    return ""


def _other_shape(name: str, before: ArrayType, now: ArrayType) -> str:
    return f"{name!r} has shape {now.shape} and had {before.shape}, and each shape compiles one"


def _closed_changes(others: Sequence[tuple[str, Any, Any]], dims: Dims) -> set[Change]:
    """What sizes were and are that nobody was to leave open, of arguments given by their names, and
    by what they were and are. Open sizes that have to fit these cannot stay open, either.
    """
    return {
        (before.shape[axis], now.shape[axis])
        for name, before, now in others
        for axis in _axes_of_other_sizes(before, now)
        if not _is_asked(name, axis, now, dims)
    }


def _open_sizes(
    others: Sequence[tuple[str, Any, Any]], closed: Collection[Change], for_sizes: str | None
) -> str:
    """What to leave open, in all arguments whose shapes are others: each given by its name, and by
    what it was and is. Sizes that changed alike have one Dim.
    """
    told, wanted = [], []
    letters: dict[Change, str] = {}
    free = chain("nmk", (f"n{i}" for i in count(1)))
    for name, before, now in others:
        changes = {i: (before.shape[i], now.shape[i]) for i in _axes_of_other_sizes(before, now)}
        changes = {i: change for i, change in changes.items() if change in closed}
        for change in changes.values():
            letters[change] = letters.get(change) or next(free)
        if changes:
            told.append(f"{name!r} has shape {now.shape} and had {before.shape}")
            named = (f"{i}: wg.Dim({letters[change]!r})" for i, change in changes.items())
            wanted.append(f"{name!r}: {{{', '.join(named)}}}")
    sizes = "the size" if len(letters) == 1 else "the sizes"
    repair = for_sizes or f"Leave {sizes} open: dims={{{', '.join(wanted)}}}"
    return f"{', '.join(told)}, and each shape compiles one. {repair}"


def _has_one_size_for_two(before: Any, now: Any) -> bool:
    """Whether all sizes that are others were open, and are: under another name, as that of another
    argument whose size is the same in this call.
    """
    axes = _axes_of_other_sizes(before, now)
    sizes = [each.shape[i] for each in (before, now) for i in axes]
    return bool(axes) and all(isinstance(size, Dim) for size in sizes)


def _sizes_of_their_own(
    name: str, before: dict[str, Any], now: dict[str, Any], for_sizes: str | None
) -> str:
    """Of arguments whose sizes are equal in some calls only: how to name each. Sizes that changed
    alike have one Dim where they are of several arguments, as inputs and their targets.
    """
    changed = _other_axes(before[name], now[name])
    shared = {each[name].shape[i] for each in (before, now) for i in changed}
    letters: dict[tuple[Change, int], str] = {}
    alike: Counter[tuple[str, Change]] = Counter()  # by argument
    free = chain("nmk", (f"n{i}" for i in count(1)))
    wanted = []
    for other, has in now.items():
        had = before.get(other)
        if not (isinstance(has, ArrayType) and isinstance(had, ArrayType) and has.ndim == had.ndim):
            continue
        changes = {i: (had.shape[i], has.shape[i]) for i in range(has.ndim)}
        changes = {i: change for i, change in changes.items() if not shared.isdisjoint(change)}
        named = []
        for i, change in changes.items():
            argument = other.partition(".")[0]
            key = change, alike[argument, change]
            alike[argument, change] += 1
            letters[key] = letters.get(key) or next(free)
            named.append(f"{i}: wg.Dim({letters[key]!r})")
        if named:
            wanted.append(f"{other!r}: {{{', '.join(named)}}}")
    if len(wanted) > _NAMED_AT_MOST:
        wanted[_NAMED_AT_MOST:] = ["…"]
    repair = for_sizes or f"Name each of them: dims={{{', '.join(wanted)}}}"
    told = _other_shape(name, before[name], now[name])
    return f"{told}: sizes that are equal in a call are taken as one. {repair}"


def _has_the_size_of_another(name: str, before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether the length of an array in a list or a dict is open in one program, and in the other,
    by chance, that of another argument, which could not stay open.
    """
    change = _lengths_in_lists(before, now).get(name, ())
    closed = [(i, size) for i, size in enumerate(change) if isinstance(size, int)]
    if len(closed) != 1:
        return False
    ((i, size),) = closed
    arrays = {k: x for k, x in (before, now)[i].items() if isinstance(x, ArrayType) and x.shape}
    argument = name.partition(".")[0]
    return any(x.shape[0] == size and k.partition(".")[0] != argument for k, x in arrays.items())


def _lengths_of_their_own(
    name: str, before: dict[str, Any], now: dict[str, Any], for_sizes: str | None
) -> str:
    """Of arrays of different lengths in a list or a dict: how to name the length of each. Those of
    one item that changed alike have one Dim, also in several arguments.
    """
    letters: dict[tuple[str, Change], str] = {}
    free = chain("nmk", (f"n{i}" for i in count(1)))
    wanted = []
    for path, change in _lengths_in_lists(before, now).items():
        item = path.split(".")[1]
        key = item if item.isdigit() else "", change
        letters[key] = letters.get(key) or next(free)
        wanted.append(f"{path!r}: {{0: wg.Dim({letters[key]!r})}}")
    if len(wanted) > _NAMED_AT_MOST:
        wanted[_NAMED_AT_MOST:] = ["…"]
    repair = for_sizes or f"Name each of them: dims={{{', '.join(wanted)}}}"
    told = _other_shape(name, before[name], now[name])
    return (
        f"{told}: sizes that are equal in a call are taken as one, here that of another argument. "
        f"{repair}"
    )


def _lengths_in_lists(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Change]:
    """What the lengths of arrays in lists and dicts were and are, where they are open in one of the
    programs, and those of one argument are not all the same.
    """
    lengths: dict[str, dict[str, Change]] = {}  # by argument
    for path, has in now.items():
        argument, dot, _ = path.partition(".")
        had = before.get(path)
        if not (dot and isinstance(has, ArrayType) and isinstance(had, ArrayType)):
            continue
        if had.shape and has.shape:
            change = had.shape[0], has.shape[0]
            if any(isinstance(size, Dim) for size in change):
                lengths.setdefault(argument, {})[path] = change
    ragged = [each for each in lengths.values() if len(set(each.values())) > 1]
    return {path: change for each in ragged for path, change in each.items()}


def _axes_of_other_sizes(before: Any, now: Any) -> list[int]:
    """The axes whose sizes are not the same, of arrays of one dtype."""
    both = isinstance(now, ArrayType) and isinstance(before, ArrayType)
    return _other_axes(before, now) if both and now.dtype == before.dtype else []


def _other_axes(before: ArrayType, now: ArrayType) -> list[int]:
    """The axes whose sizes are not the same, where there are as many."""
    same = now.ndim == before.ndim
    pairs = zip(now.shape, before.shape, strict=True) if same else ()
    return [i for i, (a, b) in enumerate(pairs) if a != b]


def _is_asked(name: str, axis: int, now: ArrayType, dims: Dims) -> bool:
    """Whether this size was to be left open."""
    return axis in dims.get(name, {}) or axis - now.ndim in dims.get(name, {})
