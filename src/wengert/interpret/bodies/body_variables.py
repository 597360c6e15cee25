"""The variables from outside that the body of a loop could read: those it names, and those of what
it calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dis import Instruction, get_instructions
from functools import lru_cache, partial
from itertools import chain, islice
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.values.iterators import position
from wengert.core.words.source import Line, is_foreign, is_users
from wengert.interpret.randomness import is_generator

MOST_ITEMS = 64  # of a container that are compared
MOST_KEPT = 4096  # of a container that is put back to what it was
MOST_FUNCTIONS = 16  # that are looked into, for one body
MOST_PARTS = 16  # objects in attributes of one that are looked into
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
NUMBERS = (int, float, complex, str, type(None), np.generic)
_KEPT = (dict, list, deque, np.ndarray)
_ASSIGNED = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_NAME")
NOTHING: Any = type("Nothing", (), {"__repr__": lambda _: "nothing"})()


class Standing(NamedTuple):
    """Where an iterator stands."""

    at: Any


class Variable(NamedTuple):
    """A variable, where it is named first, and what it held."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    of: CodeType
    before: dict[str, Any]
    is_default: bool = False  # of an argument, which code reads as a local variable


def variables(function: Any) -> list[Variable]:
    """What a body reads from outside, itself and through the user's functions and methods that it
    calls; that which it names itself comes first.
    """
    known: dict[Any, Variable] = {}
    pending, seen = list(_callees(function)), set[Any]()
    bound = list(_bound(function))
    while pending and len(seen) < MOST_FUNCTIONS:
        each, owner = pending.pop(0)
        code = each.__code__
        if (code, id(owner)) in seen:
            continue
        seen.add((code, id(owner)))
        names = _names(code)
        inside: list[tuple[str, Any]] = []
        if owner is not None and code.co_argcount:
            known.setdefault(id(owner), _held_object(code.co_varnames[0], owner, code))
            inside += _parts(code.co_varnames[0], owner, names)
            pending += _methods(owner, names)
        for name, x in (*bound, *_defaults(each)):
            known.setdefault(id(x), _held_object(name, x, code)._replace(is_default=True))
            inside += _parts(name, x, names)
        for key, name, read, write in _named(each, names.loaded):
            x = read()
            if key not in known:
                known[key] = Variable(name, read, write, code, content(x))
                inside += _parts(name, x, names)
                pending += _callees(x) if callable(x) else ()
                pending += _methods(x, names)
        for name, x in inside:
            known.setdefault(id(x), _held_object(name, x, code))
            pending += _callees(x)
            pending += _methods(x, names)
        bound = []  # of the body itself, which comes first
    return list(known.values())


class _Names(NamedTuple):
    loaded: tuple[str, ...]  # variables that are not local
    attributes: frozenset[str]


@lru_cache(512)
def _names(code: CodeType) -> _Names:
    loaded = {x.argval for x in get_instructions(code) if x.opname in LOADS}
    return _Names(tuple(sorted(loaded)), frozenset(code.co_names))


def _named(
    function: FunctionType, loaded: tuple[str, ...]
) -> Iterator[tuple[Any, str, Callable[[], Any], Callable[[Any], object]]]:
    known = function.__globals__
    if is_users(function.__code__):
        for name in loaded:
            if name in known:
                set_it = partial(known.__setitem__, name)
                yield (id(known), name), name, partial(known.get, name, NOTHING), set_it
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield id(cell), name, partial(_held, cell), partial(setattr, cell, "cell_contents")


def _held_object(name: str, owner: Any, code: CodeType) -> Variable:
    return Variable(name, lambda: owner, lambda _: None, code, content(owner))


def _bound(function: Any) -> Iterator[tuple[str, Any]]:
    """The arguments that a partial function has, but for numbers: one object for all calls."""
    for code, first in ((each.__code__, owner is not None) for each, owner in _callees(function)):
        if isinstance(function, partial):
            places = zip(code.co_varnames[first : code.co_argcount], function.args, strict=False)
            for name, x in (*places, *function.keywords.items()):
                if not isinstance(x, NUMBERS):
                    yield name, x


def _defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The defaults of arguments that are no numbers: one object for all calls."""
    code = function.__code__
    given = function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    last = positional[len(positional) - len(given) :]
    for name, x in (*zip(last, given, strict=True), *(function.__kwdefaults__ or {}).items()):
        if not isinstance(x, NUMBERS):
            yield name, x


def _parts(name: str, x: Any, names: _Names) -> Iterator[tuple[str, Any]]:
    """What stands in attributes that code names, of an object of the user's, and in theirs."""
    pending = [(name, x)]
    for _ in range(MOST_PARTS):
        if not pending:
            return
        label, each = pending.pop(0)
        held = _held_by_name(each) or {}
        for key in sorted(names.attributes & held.keys()):
            part = held[key]
            if isinstance(part, _KEPT) or _is_users_object(part):
                yield f"{label}.{key}", part
                pending.append((f"{label}.{key}", part))


def _held_by_name(x: Any) -> Mapping[str, Any] | None:
    """The attributes of an object, a function or a class of the user's; None of others."""
    is_function = isinstance(x, FunctionType) and is_users(x.__code__)
    return vars(x) if is_function or _is_users_class(x) or _is_users_object(x) else None


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return NOTHING


def _callees(x: Any) -> Iterator[tuple[FunctionType, Any]]:
    """The Python functions behind something that can be called, with the object of a method."""
    while isinstance(x, partial):
        x = x.func
    if isinstance(x, FunctionType):
        yield x, None
    elif isinstance(x, MethodType) and isinstance(x.__func__, FunctionType):
        yield x.__func__, x.__self__
    elif _is_users_object(x):
        called = getattr(type(x), "__call__", None)  # noqa: B004 (the function is wanted)
        if isinstance(called, FunctionType):
            yield called, x


def _methods(x: Any, names: _Names) -> Iterator[tuple[FunctionType, Any]]:
    """The methods of an object that code could call."""
    if not _is_users_object(x):
        return
    for kind in type(x).__mro__:
        for name in names.attributes & vars(kind).keys():
            method = vars(kind)[name]
            method = method.fget if isinstance(method, property) else method
            if isinstance(method, FunctionType):
                yield method, x


def _is_users_object(x: Any) -> bool:
    """Whether this is an instance of a class that is neither ours nor Python's nor NumPy's."""
    if isinstance(x, type | ModuleType | FunctionType | MethodType | partial):
        return False
    if type(getattr(x, "__dict__", None)) is not dict:
        return False
    return _is_users_kind(type(x))


def _is_users_class(x: Any) -> bool:
    return isinstance(x, type) and _is_users_kind(x)


def _is_users_kind(kind: type) -> bool:
    return kind.__module__.partition(".")[0] not in ("wengert", "numpy", "scipy", "builtins")


def content(x: Any) -> dict[str, Any]:
    """A value, or what is in it, by what messages add to its name."""
    if isinstance(x, np.ndarray):
        few = x.size <= MOST_ITEMS and not x.dtype.hasobject
        return {"": x.tobytes()} if few else {}
    if isinstance(x, dict):
        return {f"[{key!r}]": _marked(each) for key, each in islice(x.items(), MOST_ITEMS)}
    if isinstance(x, list | deque):
        items = {f"[{i}]": _marked(each) for i, each in enumerate(islice(x, MOST_ITEMS))}
        return {f" (its length is {len(x)} now)": len(x), **items}
    if isinstance(x, (*NUMBERS, Tensor)):
        return {"": x}
    if isinstance(x, ModuleType) and is_foreign(getattr(x, "__file__", None) or "<"):
        return {f".{key}": each for key, each in vars(x).items() if isinstance(each, NUMBERS)}
    held = _held_by_name(x)
    if held is not None:
        return {f".{key}": _marked(each) for key, each in held.items()}
    return {"": _marked(x)} if isinstance(x, Iterator) else {}


def generators(known: Iterable[Variable]) -> list[Any]:
    """The generators of random numbers among variables and in what these hold."""
    found: dict[int, Any] = {}
    for variable in known:
        x = variable.read()
        inside: Iterable[Any] = (_held_by_name(x) or {}).values()
        if isinstance(x, dict):
            inside = x.values()
        elif isinstance(x, list | tuple | deque):
            inside = x
        elif _is_users_object(x):
            kinds = [vars(kind).values() for kind in type(x).__mro__ if _is_users_kind(kind)]
            inside = chain(inside, *kinds)
        for each in map(_drawn_from, (x, *islice(inside, MOST_ITEMS))):
            if is_generator(each):
                found[id(each)] = each
    return list(found.values())


def _drawn_from(x: Any) -> Any:
    """The object of a method, as of `draw = rng.normal`; else what was given."""
    return x.__self__ if isinstance(x, BuiltinMethodType | MethodType) else x


def _marked(x: Any) -> Any:
    """A value, or what stands for it: an iterator stays the same object when it moves."""
    if type(x) is Tensor or _is_users_object(x) or not isinstance(x, Iterator):
        return x
    return Standing(position(x))


def as_it_is(variable: Variable) -> Callable[[], None]:
    """What puts a variable, and what it holds, back to what it is now."""
    x = variable.read()
    held = _held_by_name(x)
    holder: Any = x if held is None else dict(held) if _is_users_class(x) else held
    few = isinstance(holder, _KEPT) and _count(holder) <= MOST_KEPT
    kept: Any = holder.copy() if few else None

    def put_back() -> None:
        if variable.read() is not x:
            variable.write(x)
        if kept is None:
            return
        if _is_users_class(x):  # whose attributes are written to one by one
            for key in [key for key, each in kept.items() if vars(x).get(key) is not each]:
                setattr(x, key, kept[key])
        elif isinstance(holder, dict | deque):
            holder.clear()
            (holder.extend if isinstance(holder, deque) else holder.update)(kept)
        elif isinstance(holder, list):
            holder[:] = kept
        elif holder.flags.writeable:
            np.copyto(holder, kept)

    return put_back


def _count(x: Any) -> int:
    return int(x.size) if isinstance(x, np.ndarray) else len(x)


def line_of_assignment(known: list[Variable], key: str) -> Line | None:
    """A line of the user's that assigns to the attribute or name that messages call so, rather one
    that reads it as well, as `self.t += 1` does, than the one that made it.
    """
    name = key.rpartition(".")[2]
    assigned: list[Line] = []
    for code in dict.fromkeys(_codes(known)):
        named = [each for each in get_instructions(code) if each.argval == name and each.positions]
        lines = [each.positions.lineno for each in named if each.positions]
        for each, number in zip(named, lines, strict=True):
            if each.opname in _ASSIGNED and number is not None:
                line = Line(code.co_filename, number)
                if lines.count(number) > 1:
                    return line
                assigned.append(line)
    return assigned[0] if assigned else None


def line_of_reading(variable: Variable) -> Line | None:
    """The first line that names a variable, of the code that does so first."""
    for each in get_instructions(variable.of):
        number = each.positions.lineno if each.positions else None
        if loads(each, variable) and number is not None:
            return Line(variable.of.co_filename, number)
    return None


def loads(instruction: Instruction, variable: Variable) -> bool:
    """Whether an instruction reads a variable."""
    if variable.is_default and instruction.opname.startswith("LOAD_FAST"):
        read = instruction.argval  # one name, or those of several instructions in one
        return variable.name in read if isinstance(read, tuple) else variable.name == read
    return instruction.opname in LOADS and instruction.argval == variable.name


def _codes(known: list[Variable]) -> Iterator[CodeType]:
    for each in known:
        yield each.of
        x = each.read()
        if isinstance(x, FunctionType):
            yield x.__code__
        elif _is_users_object(x):
            kinds = (vars(kind).values() for kind in type(x).__mro__)
            yield from (m.__code__ for ms in kinds for m in ms if isinstance(m, FunctionType))
