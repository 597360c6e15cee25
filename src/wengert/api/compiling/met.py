"""Met: the programs that were made of one function, and a warning where they become many."""

from __future__ import annotations

import functools
import reprlib
import weakref
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from wengert.api.compiling.differences import (
    FORM,
    PLACES,
    REPAIRS,
    WHOLE_AS_ARGUMENT,
    GivenText,
    InTree,
    Needed,
    ReadValue,
    difference,
    what_differs,
)
from wengert.api.compiling.edits import Edits
from wengert.api.compiling.forms import Form, form_of, has_objects, repairs_of_sizes
from wengert.api.compiling.making_places import is_run_again, making_place
from wengert.api.compiling.swept_numbers import ProgramUse, SweptNumbers
from wengert.api.compiling.written_functions import (
    choices_of,
    code_of,
    transformations_of,
    users_function,
)
from wengert.api.trace import Dims
from wengert.core import tree
from wengert.core.types import ArrayType
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import CaptureWarning, ProgramsWarning
from wengert.runtime.executable import Executable
from wengert.runtime.outside.capture_walk import MOST_PLACES
from wengert.runtime.outside.container_walk import MOST_ITEMS
from wengert.runtime.outside.watch import (
    ATTRIBUTE,
    MISSING,
    SAME_ITEMS,
    Contents,
    Place,
    Watch,
    is_plain,
    item_label,
)
from wengert.runtime.signature import LEAF_MARK, Static, is_number

PATIENCE = 3  # programs of one function that nobody meant to make
MANY_OBJECTS = 8  # programs for static objects of one class that are equal only to themselves
REMEMBERED = 64  # codes of functions
_swept = SweptNumbers(PATIENCE)
# What wg.compile has made at each place of each code, with the functions and texts that it reads,
# for arguments of the same types; what is not there any more was thrown away.
_compiled_of_code: dict[tuple[Any, ...], list[weakref.ref[Met]]] = {}


class Met:
    """What the programs of a function were made for."""

    def __init__(
        self,
        function: Any,
        asked: Dims | None = None,
        alone: bool = False,
        for_sizes: str | None = None,  # what to do about other sizes, where there is no dims=
    ) -> None:
        self._function, self._written = function, users_function(function)
        self._place = () if self._written is None else making_place()
        self._for_sizes = for_sizes
        self._alone = alone  # it lives as long as one function of wg.compile
        self.use = ProgramUse()  # of what has the programs
        if alone:
            self.use.belong_to(self)
        self._asked = asked or {}  # sizes to be left open, whatever became of that
        self._made: list[dict[str, Any]] = []  # what each was made for, by what messages call it
        self._edits = Edits()
        self._fresh: dict[tuple[str, type], int] = {}  # programs for static objects of a class
        self._in_vain: dict[str, int] = {}  # recordings that gave nothing new, by their cause

    def note(
        self,
        executable: Executable,
        names: Sequence[str],
        dims: Dims | None,
        static_in: str,  # where static arguments can be named
        needed: Mapping[int, str],  # arguments that Python needs, and what to do about that
    ) -> None:
        """Note a new program. At the third one, say what it differs in, and what to do: once."""
        if len(self._made) >= PATIENCE or self._written is None:
            return
        described = _described(executable, names, needed)
        if described in self._made:  # static= asked for another one
            self._note_static(executable, names)
            return
        edited = [i for i, each in enumerate(self._made) if self._edits.is_one(each, described)]
        self._edits.note(described)
        if edited:  # a person has written a function anew, which makes no program more
            self._made[edited[-1]] = described
            return
        if self._alone and executable.calls is not None:
            self.use.add(executable.calls)
        self._made.append(described)
        if len(self._made) == PATIENCE:
            before, now = self._made[-2:]
            options = dims or self._asked, self._for_sizes, static_in
            self._warn(what_differs(before, now, *options))
        elif len(self._made) == 1:
            self._note_first(described)

    def _note_static(self, executable: Executable, names: Sequence[str]) -> None:
        """Static arguments may have many values, but an object that is equal to itself alone makes
        a program in every call that is given a new one: say so, once.
        """
        signature = executable.signature
        marks = [ArrayType((), LEAF_MARK)] * signature.structure.count
        given = tree.unflatten(signature.structure, marks)
        for i in signature.static:
            kind: Any = type(given[i].value)
            meant = names[i] == "self" or kind.__module__ == "builtins"
            if meant or kind.__eq__ is not object.__eq__:
                continue
            count = self._fresh[names[i], kind] = self._fresh.get((names[i], kind), 1) + 1
            if count == MANY_OBJECTS:
                warn_user(
                    f"compile: {self._name()} has {count} programs; its static argument "
                    f"{names[i]!r} is another {kind.__name__} object in each, and these are equal "
                    "only to themselves. Pass the same object in all calls, or write "
                    f"@dataclass(frozen=True) above class {kind.__name__}. ({self._line()})",
                    ProgramsWarning,
                    self._line(),
                )

    def _note_first(self, described: dict[str, Any]) -> None:
        """A loop over settings makes the same function anew each time, around another number, and
        throws it away: note that it has a program, and speak up at the third one, once.
        """
        assert self._written is not None
        code = self._written.__code__
        name, before, is_told = _swept.note(self._place, code, described, self.use)
        if name and is_told:
            self._warn(difference(name, before, described[name], {}))
        elif self._alone and not name:
            types = {k: t for k, t in described.items() if isinstance(t, ArrayType)}
            codes = (
                *transformations_of(self._function),
                *choices_of(self._function, self._written),
            )
            self._note_thrown_away((self._place, *codes, *types.items()))

    def _note_thrown_away(self, code: tuple[Any, ...]) -> None:
        """A loop compiles a function in every turn, and throws the compiled one away with its
        program: say so at the third one, once. Those that somebody keeps are as they should be, and
        so are those of a cell of a notebook that a person runs again.
        """
        others = _compiled_of_code.pop(code, [])
        _compiled_of_code[code] = [*others, weakref.ref(self)][-REMEMBERED:]
        forget_oldest(_compiled_of_code)
        gone = sum(other() is None for other in others)
        if gone == PATIENCE - 1 and is_run_again(self._place):
            warn_user(
                f"compile: {self._name()} was compiled a third time, and what wg.compile gave the "
                "times before was thrown away; each one records and compiles again. Write "
                "f = wg.compile(…) once, before the loop, and pass what changes as an argument. "
                f"({self._line()})",
                ProgramsWarning,
                self._line(),
            )

    def _warn(self, said: str) -> None:
        warn_user(
            f"compile: {self._name()} has a third program; {said}. ({self._line()})",
            ProgramsWarning,
            self._line(),
        )

    def note_again(self, watch: Watch) -> None:
        """Note that the function was recorded again, because something that the program watches is
        another one now, and gave the program that it had. At the third time, say so: once.
        """
        label = watch.broken()
        if label is None or self._written is None or self._is_edited(watch.broken_place()):
            return
        self._in_vain[label] = self._in_vain.get(label, 0) + 1
        if self._in_vain[label] == PATIENCE:
            warn_user(
                f"compile: {self._name()} was recorded again {PATIENCE} times, and its program is "
                f"the same: {label!r}, which it could read from outside, is not. Each "
                "recording takes as long as a first call. Keep apart what changes in every call "
                f"and what it reads, or pass it as an argument. ({self._line()})",
                CaptureWarning,
                self._line(),
            )

    def _is_edited(self, place: Place | None) -> bool:
        """Whether a person has written the function anew that is there."""
        if place is None or place.kind == SAME_ITEMS:
            return False
        name, before, now = f"{place.label!r}", _read(place.value), _read(place.read())
        is_edited = self._edits.is_new(name, before, now)
        self._edits.note({name: now})
        return is_edited

    def note_left_out(self, labels: Sequence[str]) -> None:
        """Note what a function reads from outside that is compared in part."""
        if labels and self._written is not None:
            warn_user(
                f"compile: {self._name()} could read from outside: {', '.join(labels[:3])}; only "
                f"{MOST_ITEMS} items of a container are compared, and {MOST_PLACES} places in all, "
                "so that other changes go unnoticed. Pass what it reads as an argument. "
                f"({self._line()})",
                CaptureWarning,
                self._line(),
            )

    def _name(self) -> str:
        inside = self._function
        while isinstance(inside, functools.partial):
            inside = inside.func
        return str(getattr(inside, "__name__", type(inside).__name__))

    def _line(self) -> Line:
        assert self._written is not None
        code = self._written.__code__
        return Line(code.co_filename, code.co_firstlineno)


def forget_oldest(codes: dict[Any, Any]) -> None:
    """Keep what was noted last."""
    for oldest in list(codes)[:-REMEMBERED]:
        codes.pop(oldest, None)


def _described(
    executable: Executable, names: Sequence[str], needed: Mapping[int, str]
) -> dict[str, Any]:
    """Array arguments by their types, others by their values, and what is outside of them."""
    signature = executable.signature
    described: dict[str, Any] = dict(zip(signature.names, executable.input_types, strict=True))
    marks = [ArrayType((), LEAF_MARK)] * signature.structure.count
    forms: dict[str, Form] = {}
    repairs: dict[str, dict[int, str]] = {}
    given = tree.unflatten(signature.structure, marks)
    for i, (name, x) in enumerate(zip(names, given, strict=True)):
        forms[name] = form_of(x, _number_at(executable, name) if i in signature.numbers else "")
        repairs.update(repairs_of_sizes(name, x))
        static = tree.flatten(x)[1].static
        values = [v for v in static if v is not LEAF_MARK and not isinstance(v, Static)]
        if is_number(x):
            described[f"argument {name!r}"] = Needed(_text(x), type(x) is int, needed.get(i, ""))
        elif isinstance(x, str):
            described[f"argument {name!r}"] = GivenText(_text(x), repr(name))
        elif values:
            shown = tuple((_text(each), is_number(each)) for each in values)
            in_arrays = "" if has_objects(x) else f"wg.tree.arrays({name})"
            described[f"argument {name!r}"] = InTree(shown, in_arrays)
    # What an object has itself goes before what its class has, of the same name.
    own = sorted(executable.watch.places, key=lambda p: p.kind == ATTRIBUTE or p.value is MISSING)
    for place in own:
        for label, value in _labelled(place):
            repair = place.repair or _repair_of_whole(label, value)
            described.setdefault(f"{label!r}", _read(value, repair))
    places = signature.structure.spec, signature.places
    return {**described, FORM: forms, PLACES: places, REPAIRS: repairs}


def _labelled(place: Place) -> list[tuple[str, Any]]:
    """What is at a place, with what messages call it; of a dict: each of its items. What is in a
    container has another name than the container.
    """
    if isinstance(place.container, Contents):
        if isinstance(place.container.x, ContextVar):
            return [(f"value of {place.label}", place.value[0])]
        size, *items = place.value
        return [(f"len({place.label})", size), (f"items of {place.label}", tuple(items))]
    if place.kind != SAME_ITEMS:
        return [(place.label, place.value)]
    size = f"len({place.label})", len(place.value)
    return [size, *((item_label(place.label, key), x) for key, x in place.value.items())]


def _repair_of_whole(label: str, value: Any) -> str:
    """What to do about a whole number, which may be a length; not about how many there are."""
    return WHOLE_AS_ARGUMENT if type(value) is int and not label.startswith("len(") else ""


def _number_at(executable: Executable, name: str) -> str:
    types = dict(zip(executable.signature.names, executable.input_types, strict=True))
    return "int" if name in types and types[name].dtype.kind == "i" else "float"


def _read(x: Any, repair: str = "") -> ReadValue:
    """What is at a place outside of the arguments."""
    return ReadValue(_text(x), _which(x), type(x) is float, repair, code_of(x))


def _which(x: Any) -> Any:
    return _text(x) if is_plain(x) else id(x)


def _text(x: Any) -> str:
    """A value in words; none of the user's code is called for them."""
    held = x.values() if type(x) is dict else x if type(x) in (list, set) else None
    if is_plain(x) or (held is not None and all(map(is_plain, held))):
        return reprlib.repr(x)
    return f"{type(x).__name__} object"
