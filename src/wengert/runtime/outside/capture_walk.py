"""CaptureWalk: a walk over the code of functions, for what they could read from outside.

The walk begins with the user's function and follows the functions, objects, classes and modules
that it names, as far as they are the user's own: what libraries read is theirs. Attributes are
followed where some code of the walk names them, or could put their names together.
"""

from __future__ import annotations

import functools
import operator
import sys
from array import array
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Iterable, Set
from contextvars import ContextVar
from enum import Enum
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, ClassVar

import numpy as np

from wengert.core.op import Op
from wengert.core.table import Table
from wengert.core.tensor import Tensor
from wengert.runtime.outside.attribute_walk import READ_FIELDS, Opened
from wengert.runtime.outside.imported import imported_by
from wengert.runtime.outside.noted_reads import Read
from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.settings_walk import SettingsWalk
from wengert.runtime.outside.unnamed_reads import ComputedName, shown_names
from wengert.runtime.outside.users_code import is_users_file, is_users_module_object
from wengert.runtime.outside.watch import (
    ATTRIBUTE,
    CELL,
    ITEM,
    MISSING,
    attribute_of,
    is_plain,
)

MOST_PLACES = 512
MOST_FUNCTIONS = 256


class CaptureWalk(SettingsWalk):
    """A walk, and what it has found so far."""

    def __init__(self, without: Set[Read] = frozenset()) -> None:
        super().__init__(without)
        self._functions = 0
        self._imports: set[str] = set()  # modules that code imports when it runs
        self._evaluating: list[FunctionType] = []  # those that run texts
        self._run: set[tuple[int, str]] = set()  # of which: by the function's id

    def follow(self, roots: Iterable[Any]) -> None:
        """Go on from these functions, or from what arguments hold."""
        for root in roots:
            name = attribute_of(root, "__name__")
            self._value(root, name if isinstance(name, str) else type(root).__name__)
        while self._open_more() or self._open_asked() or self._open_imports():
            pass

    def follow_imports(self) -> None:
        """Go on with modules that were imported for the first time while the functions ran."""
        if self._open_imports():
            self.follow(())

    def _open_more(self) -> bool:
        """Look up the names that came since; whether there were any."""
        if len(self.captures.places) > MOST_PLACES or self._functions > MOST_FUNCTIONS:
            self.captures.left_out.append("what it reads from outside")
            return False
        before = self._extent()
        new = any(
            [
                self._open_names(),
                self._open_methods(),
                self._open_fields(),
                self._open_namespaces(),
                self._open_texts(),
            ]
        )
        return new or before != self._extent()

    def _open_texts(self) -> bool:
        """Follow the names in texts that may be run, `eval(formula)`: those that stand in the code
        or that it could read; whether there were any that are new.
        """
        if not self._evaluating:
            return False
        read = {place.value for place in self.captures.places if isinstance(place.value, str)}
        before = len(self._run)
        for f in list(self._evaluating):
            constants = {x for x in f.__code__.co_consts if isinstance(x, str)}
            for text in sorted(read | constants):
                if (id(f), text) not in self._run:
                    self._run.add((id(f), text))
                    self._text(f, text)
        return len(self._run) > before

    def _text(self, f: FunctionType, text: str) -> None:
        """Follow what a text would read if a function ran it; its own variables go first."""
        try:
            code = compile(text, f.__code__.co_filename, "exec")
        except (SyntaxError, ValueError):
            return
        reads = reads_of(code)
        self._names |= reads.attributes
        own = {*f.__code__.co_varnames, *f.__code__.co_cellvars, *f.__code__.co_freevars}
        for name in sorted((reads.globals & f.__globals__.keys()) - own):
            self._place(ITEM, f.__globals__, name, f.__globals__[name], name)
            self._value(f.__globals__[name], name)

    def _open_imports(self) -> bool:
        """Follow the modules that code imports and that are there; whether there were any."""
        there = self._imports & sys.modules.keys()
        self._imports -= there
        for name in sorted(there):
            self._value(sys.modules[name], name)
        return bool(there)

    def _value(self, x: Any, label: str) -> None:
        if is_plain(x) or isinstance(x, Tensor | np.ufunc) or id(x) in self._seen:
            return
        self._seen[id(x)] = x
        for kinds, follow in self.followed:
            if isinstance(x, kinds):
                follow(self, x, label)
                return
        self._instance(x, label)

    def _function(self, f: FunctionType, _label: str) -> None:
        users = is_users_file(f.__code__.co_filename)
        self._functions += 1
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                value = MISSING
            if users:
                self._place(CELL, cell, None, value, name)
            self._named(value, name, reads_of(f.__code__).keys.get(name) if users else None)
        self._defaults(f, users)
        self._value(getattr(f, "__wrapped__", None), f.__name__)
        if not users:
            return
        self.captures.codes.append(f.__code__)
        self._opened.append(Opened(f, f.__name__))
        reads = reads_of(f.__code__)
        self._names |= reads.attributes | (reads.globals & READ_FIELDS)
        self._optional |= reads.optional
        self._computed |= {ComputedName(None, x.texts) for x in reads.computed if _may_be(f, x)}
        self._imports |= imported_by(f)
        self._shown |= shown_names(f.__code__)
        if not reads.globals.isdisjoint(("eval", "exec")):
            self._evaluating.append(f)
        by_text = reads.attributes if "globals" in reads.globals else frozenset()
        for name in sorted(reads.globals | (by_text & f.__globals__.keys())):
            value = f.__globals__.get(name, MISSING)  # a later one would go before a builtin
            self._place(ITEM, f.__globals__, name, value, name)
            self._named(value, name, reads.keys.get(name))

    def _defaults(self, f: FunctionType, users: bool) -> None:
        """Follow the values of parameters that need not be given."""
        last = f.__code__.co_argcount
        defaults = f.__defaults__ or ()
        names = f.__code__.co_varnames[last - len(defaults) : last]
        by_name = dict(zip(names, defaults, strict=True)) | (f.__kwdefaults__ or {})
        for name, value in by_name.items():
            self._value(value, name)
        for kind in ("__defaults__", "__kwdefaults__") if users else ():
            held, label = getattr(f, kind), f"default of {f.__name__}"
            if held:
                self._place(ATTRIBUTE, f, kind, held, label)
                self._value(held, label)

    def _bound(self, x: MethodType, label: str) -> None:
        self._value(x.__self__, _label_of(x.__self__))
        self._value(x.__func__, label)

    def _partial(self, x: functools.partial[Any], label: str) -> None:
        for each in (x.func, *x.args, x.keywords):
            self._value(each, label)

    def _op(self, x: Op, label: str) -> None:
        """An op is what it is; what a user's is composed of may read something."""
        self._value(x.body, label)

    def _table(self, x: Table, label: str) -> None:
        """The op table is ours, and what users enter there are ops: each is what it is."""

    def _attribute_getter(self, x: Any, _label: str) -> None:
        for name in x.__reduce__()[1]:
            self._names |= set(name.split("."))

    followed: ClassVar[tuple[tuple[Any, Callable[[Any, Any, str], None]], ...]] = (
        (FunctionType, _function),
        (MethodType, _bound),
        (functools.partial, _partial),
        (Op, _op),
        (Table, _table),
        (type, SettingsWalk._named_class),
        (ModuleType, SettingsWalk._module),
        (list, SettingsWalk._list),
        ((tuple, frozenset), SettingsWalk._tuple),
        (dict, SettingsWalk._dict),
        (set, SettingsWalk._set),
        (np.ndarray, SettingsWalk._array),
        (memoryview, SettingsWalk._memory),
        (Enum, SettingsWalk._enum),
        ((deque, bytearray, array), SettingsWalk._contents),
        ((UserDict, UserList, ChainMap), SettingsWalk._wrapper),
        (ContextVar, SettingsWalk._context),
        (MappingProxyType, SettingsWalk._proxy),
        ((operator.attrgetter, operator.methodcaller), _attribute_getter),
    )


def _may_be(f: FunctionType, computed: ComputedName) -> bool:
    """Whether a computed name may be one of the user's things: getattr(np, name) reads none."""
    holder = None if computed.holder is None else f.__globals__.get(computed.holder)
    return not isinstance(holder, ModuleType) or is_users_module_object(holder)


def _label_of(x: Any) -> str:
    return "self" if not isinstance(x, type) else x.__name__
