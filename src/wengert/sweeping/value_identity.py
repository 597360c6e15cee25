"""What identifies a value: text that is the same for equal values, in any process.

Objects are identified by what they hold, whatever their repr shows. The user's own functions and
classes are identified by their code, by the code of the user's functions that they call, and by
what all of these read from outside. Libraries are identified by names.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import zlib
from argparse import Namespace
from enum import Enum
from hashlib import sha256
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from wengert.runtime.outside.class_members import function_of, is_method
from wengert.runtime.outside.users_code import is_users, is_users_module
from wengert.sweeping.code_identity import described, read_outside
from wengert.train.uncopied import Uncopied

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")
_OURS = __name__.partition(".")[0]
_OPEN = "…"  # in the place of an object that is inside itself


def identity_of_value(value: Any) -> str:
    """The text that identifies a value."""
    return Parts().text(value)


def digest(text: str) -> str:
    """A text in a few letters."""
    return sha256(text.encode()).hexdigest()[:16]


class Parts:
    """The parts of a function by their names in the program: code and values, each as a text."""

    def __init__(self, module: str | None = None, opened: set[int] | None = None) -> None:
        self.texts: dict[str, str] = {}
        self._module = module  # whose functions and classes are followed, whoever wrote it
        self._met: set[int] = set()
        self._opened = set() if opened is None else opened  # objects whose text is being made

    def take(self, name: str, value: Any) -> None:
        """Collect a part, and all that belongs to it."""
        if isinstance(value, functools.partial):
            self.take(name, value.func)
            self._note(f"{name}, its arguments", [list(value.args), value.keywords])
        elif isinstance(value, MethodType):
            self.take(name, value.__func__)
            self._object(name, value.__self__)
        elif isinstance(value, FunctionType) and self._is_own(value):
            self._function(name, value)
        elif isinstance(value, type) and self._is_own(value):
            self._class(name, value)
        else:
            self._object(name, value)

    def _is_own(self, value: Any) -> bool:
        if self._module is not None and value.__module__ == self._module:
            return True
        return is_users_module(value.__module__) if isinstance(value, type) else is_users(value)

    def _note(self, name: str, value: Any) -> None:
        try:
            self.texts.setdefault(name, self.text(value))
        except RecursionError:  # objects inside objects, of some library
            self.texts.setdefault(name, type(value).__qualname__)

    def _object(self, name: str, value: Any) -> None:
        """An object: its fields, where they have names, and its class."""
        if isinstance(value, Uncopied | ModuleType):  # `OutsideSteps` warns of steps
            return
        own = not isinstance(value, type) and self._is_own(type(value))
        if own:
            self._class(type(value).__name__, type(value))
        fields = _fields(value)
        if fields is None and own:
            fields = getattr(value, "__dict__", None)
        if fields is None:
            self._note(name, value)
            return
        for field, inside in fields.items():
            self._note(f"{name}.{field}", inside)

    def _class(self, name: str, value: type) -> None:
        if id(value) in self._met:
            return
        self._met.add(id(value))
        for base in value.__bases__:
            if self._is_own(base):
                self._class(base.__name__, base)
        for field, inside in vars(value).items():
            method = function_of(inside) if is_method(inside) else None
            if isinstance(method, FunctionType):
                self.take(f"{name}.{field}", method)
            elif not (field.startswith("__") or isinstance(inside, MemberDescriptorType)):
                self._note(f"{name}.{field}", inside)

    def _function(self, name: str, function: FunctionType) -> None:
        if id(function) in self._met:
            return
        self._met.add(id(function))
        known = self.text([*(function.__defaults__ or ()), function.__kwdefaults__])
        self.texts.setdefault(name, f"{described(function.__code__, function.__doc__)} {known}")
        for read, value in read_outside(function):
            self.take(read, value)

    # Values.

    def text(self, value: Any) -> str:
        """The text that identifies a value."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return repr(int(value))  # 1 and 1.0 are equal in Python, too
        if type(value) in _PLAIN:
            return repr(value)
        if id(value) in self._opened:
            return _OPEN
        self._opened.add(id(value))
        try:
            return self._inside(value)
        finally:
            self._opened.discard(id(value))

    def _inside(self, value: Any) -> str:
        if type(value) is dict:
            return f"{{{', '.join(f'{self.text(k)}: {self.text(v)}' for k, v in value.items())}}}"
        if type(value) in (list, tuple):
            return f"[{', '.join(map(self.text, value))}]"
        if type(value) in (set, frozenset):
            return f"set({', '.join(sorted(map(self.text, value)))})"
        if isinstance(value, np.ma.MaskedArray):
            return f"masked({self.text([value.data, value.mask])})"
        if isinstance(value, np.ndarray):
            return self._of_array(np.asarray(value))
        if isinstance(value, functools.partial):
            return f"partial({self.text([value.func, value.args, value.keywords])})"
        if isinstance(value, MethodType):
            return f"method({self.text([value.__func__, value.__self__])})"
        name = getattr(value, "__qualname__", None)
        if name is not None and not isinstance(value, Enum):
            module = getattr(value, "__module__", None)
            return f"{module}.{name}{self._code_of(value)}"
        return self._of_object(value)

    def _of_array(self, array: np.ndarray[Any, Any]) -> str:
        if array.dtype.hasobject:  # its memory holds addresses
            return f"array({array.shape}, {self.text(array.tolist())})"
        checksum = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return f"array({array.dtype}, {array.shape}, {checksum})"

    def _code_of(self, value: Any) -> str:
        """A digest of the user's own functions and classes; nothing for those of libraries."""
        if not (isinstance(value, FunctionType | type) and self._is_own(value)):
            return ""
        inside = Parts(value.__module__, self._opened)
        inside.take(value.__name__, value)
        return f" {digest(repr(sorted(inside.texts.items())))}"

    def _of_object(self, value: Any) -> str:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(value, Enum):
            return f"{name}.{value.name}"
        table = _columns(value)
        fields = _fields(value) if table is None else table
        shown = repr(value) if fields is None and kind.__module__.startswith(_OURS) else ""
        if shown and not _ADDRESS.search(shown):
            return shown
        if fields is None:
            fields = _reduced(value)
        if fields is None:
            return _ADDRESS.sub("", repr(value))
        return f"{name}{self._code_of(kind)}({self.text(fields)})"


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or a namespace by name; None of anything else."""
    if isinstance(value, SimpleNamespace | Namespace):
        return dict(vars(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _columns(value: Any) -> dict[str, Any] | None:
    """What a table of pandas, polars or xarray holds, or any other array; None of anything else."""
    try:
        return _columns_of(value) if hasattr(value, "__array__") else None
    except Exception:  # it cannot be made into an array after all
        return None


def _columns_of(value: Any) -> dict[str, Any]:
    index = {"index": np.asarray(value.index)} if hasattr(value, "iloc") else {}
    if hasattr(value, "columns"):
        columns = [(str(name), np.asarray(value[name])) for name in value.columns]
        return {**index, "columns": columns}
    return {**index, "name": str(getattr(value, "name", "")), "values": np.asarray(value)}


def _reduced(value: Any) -> Any:
    """What `pickle` would make of an object; None where it refuses."""
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:  # a file, a lock
        return None
    if isinstance(reduced, str):
        return reduced
    make, arguments, *rest = reduced
    state, items, pairs = (*rest, None, None, None)[:3]
    return [make, arguments, state, *([*each] for each in (items, pairs) if each is not None)]
