"""Values of parameters as text, and back. Nothing is evaluated: every form has a rule of its own.

True None 3 1e-05 -inf "text" (0, 1) slice(0, 3, None) ...     Python's own
batch 2*batch + 1 dim("float32")                               Dims
float32 float32[batch, 4]                                      dtypes and ArrayTypes
float32(0.5) array([1.0, 2.0], float32)                        NumPy scalars and small arrays
array($0, float32, (64, 64))                                   larger ones: bytes, written elsewhere
@body                                                          graphs, written elsewhere
<python model.loss>                                            other objects: for looking only
"""

from __future__ import annotations

import base64
import json
import re
import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.dims import Dim, Size, is_countable, parse_size
from wengert.core.dtypes import SUPPORTED
from wengert.core.graph import Graph
from wengert.core.text.tokens import WORD, Tokens
from wengert.core.types import ArrayType, Type
from wengert.errors import ShapeError

LITERAL_SIZE = 16  # arrays of more elements are written as bytes
DIGITS = 400  # of a number: more than the largest float has, and fewer than Python refuses
LONGEST_SIZE = 1000  # characters
DTYPES = {name: np.dtype(name) for name in sorted(dtype.name for dtype in SUPPORTED)}
CONSTANTS = {"True": True, "False": False, "None": None, "inf": float("inf"), "nan": float("nan")}
# Words of the text itself; a Dim of such a name is written dim("name").
RESERVED = DTYPES.keys() | CONSTANTS.keys() | {"array", "dim", "dtype", "slice", "_"}

BODY = re.compile(r"@([\w.]+)")
DATA = re.compile(r"\$(\d+)")
NUMBER = re.compile(r"-?(?:inf|nan|\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?![\w.])")
_FACTOR = r"(?:[^\W\d]\w*|\d+)(?![\w.])"
_TERM = rf"{_FACTOR}(?:\*{_FACTOR})*"
SIZE = re.compile(rf"-?{_TERM}(?: [+-] {_TERM})*")


# Writing


class Writer:
    """Writes values, and collects what is written elsewhere: bytes of arrays in `data`."""

    def __init__(self, brief: bool = False) -> None:
        self.brief = brief  # for looking only: the bytes of arrays are left out
        self.data: dict[str, int] = {}  # base64 -> its number

    def value(self, value: Any, path: str, bodies: list[tuple[str, Graph]]) -> str:
        """The text of a value; graphs in it join `bodies` under a path such as ``branches.0``."""
        kind = type(value)
        if value is Ellipsis:
            return "..."
        if value is None or kind in (bool, int, float):
            return repr(value)
        if kind is str:
            return json.dumps(value, ensure_ascii=False)
        if kind is tuple:
            items = [self.value(item, f"{path}.{i}", bodies) for i, item in enumerate(value)]
            return f"({', '.join(items)}{',' * (len(items) == 1)})"
        if kind is slice:
            ends = (value.start, value.stop, value.step)
            return f"slice({', '.join(self.value(end, path, bodies) for end in ends)})"
        if kind is ArrayType:
            return type_text(value)
        if isinstance(value, Dim):
            return f'dim("{value}")' if value.names & RESERVED else repr(value)
        if isinstance(value, np.dtype):
            return _dtype_text(value)
        if isinstance(value, Graph):
            bodies.append((path, value))
            return f"@{path}"
        if isinstance(value, np.ndarray | np.generic) and has_numbers(value):
            return self._array(value)
        return _python_text(value)

    def _array(self, value: Any) -> str:
        dtype, elements = _dtype_text(value.dtype), self.elements(np.asarray(value))
        if isinstance(value, np.generic) and dtype in DTYPES:
            return f"{dtype}({elements})"
        told = not value.shape or (value.size and elements.startswith("["))  # by the brackets
        return f"array({elements}, {dtype}{'' if told else f', {value.shape}'})"

    def elements(self, value: np.ndarray[Any, Any]) -> str:
        """Numbers in brackets if they are few and read back bit by bit, else the name of data."""
        if value.size <= LITERAL_SIZE and value.dtype.kind in "biuf":
            numbers = np.array([_number(text) for text in map(str, value.flat)], value.dtype)
            if numbers.tobytes() == value.tobytes():
                return _brackets(value)
        if self.brief:
            return "…"
        little = value.astype(value.dtype.newbyteorder("<"))
        encoded = base64.b64encode(little.tobytes()).decode()
        return f"${self.data.setdefault(encoded, len(self.data))}"


def type_text(t: Type) -> str:
    """``float32[batch, 4]``, or several of them in parentheses.

    >>> type_text((ArrayType((), np.dtype("int64")),))
    '(int64[],)'
    """
    if isinstance(t, ArrayType):
        return repr(t)
    return f"({', '.join(map(repr, t))}{',' * (len(t) == 1)})"


def has_numbers(value: Any) -> bool:
    """Whether the bytes of an array are its meaning; those of objects and records are not."""
    return value.dtype.kind in "biufc"


def _dtype_text(dtype: np.dtype[Any]) -> str:
    if DTYPES.get(dtype.name) == dtype:
        return dtype.name
    return f"dtype({json.dumps(dtype.str)})"


def _brackets(value: Any) -> str:
    if not value.shape:
        return str(value[()])  # the fewest digits that tell a float from its neighbours
    return f"[{', '.join(_brackets(item) for item in map(np.asarray, value))}]"


def _number(text: str) -> bool | int | float:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def _python_text(value: Any) -> str:
    """The name of an object that text cannot hold; an address would change from run to run."""
    name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    if name is None:
        name, module = type(value).__qualname__, type(value).__module__
    return f"<python {name}>" if module in (None, "builtins") else f"<python {module}.{name}>"


# Reading


@dataclass(frozen=True, slots=True)
class Body:
    """Stands for a graph that is written elsewhere."""

    name: str
    at: int


class ValueTokens(Tokens):
    """Tokens that form values."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.data: dict[str, bytes] = {}

    def value(self) -> Any:
        at = self.here()
        if self.text.startswith('"', at):
            return self.string()
        if self.take("("):
            return tuple(self.items(self.value, ")"))
        if self.take("..."):
            return ...
        if self.take("<python"):
            self.fail("a Python object cannot be read from text, build this graph in Python", at)
        body = self.match(BODY)
        if body:
            return Body(body[1], at)
        size = SIZE.match(self.text, at)
        names = WORD.findall(size[0]) if size else []
        if names and not RESERVED.intersection(names):
            return self.size()
        number = self.match(NUMBER)
        return self.number(number) if number else self._reserved()

    def _reserved(self) -> Any:
        """What begins with a word of the text itself."""
        at = self.here()
        name = self.need_match(WORD, "a value")[0]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in DTYPES:
            return self._after_dtype(DTYPES[name], at)
        if name not in RESERVED:
            self.fail("expected a value", at)
        self.need("(")
        if name == "array":
            return self._array()
        if name == "slice":
            ends = self.items(self.value, ")")
            return slice(*ends) if len(ends) == 3 else self.fail("a slice has three ends", at)
        text_at = self.here()
        text = self.string()
        self.need(")")
        if name == "dim":
            return self._parsed(text, text_at)
        try:
            return np.dtype(text)
        except (TypeError, ValueError, SyntaxError):  # the last of a text that looks like a tuple
            self.fail(f"{text!r} is no dtype", at)

    def number(self, match: re.Match[str]) -> bool | int | float:
        if len(match[0]) > DIGITS:
            self.fail(f"a number has at most {DIGITS} digits", match.start())
        return _number(match[0])

    def _after_dtype(self, dtype: np.dtype[Any], at: int) -> Any:
        following = self.text[self.at : self.at + 1]
        if following == "[":
            self.at = at
            return self.array_type()
        if following == "(":
            self.at += 1
            element = self.elements(dtype, ())
            self.need(")")
            return element[()]
        return dtype

    def type(self) -> Type:
        if self.take("("):
            return tuple(self.items(self.array_type, ")"))
        return self.array_type()

    def array_type(self) -> ArrayType:
        at = self.here()
        name = self.need_match(WORD, "a type such as float32[3, batch]")[0]
        if name not in DTYPES:
            self.fail(f"expected a type: one of {', '.join(DTYPES)} and sizes in brackets", at)
        self.need("[", " and the sizes of the axes")
        return ArrayType(tuple(self.items(self.size, "]")), DTYPES[name])

    def size(self) -> Size:
        match = self.need_match(SIZE, "a size such as 4 or 2*batch + 1")
        return self._parsed(match[0], match.start())

    def _parsed(self, text: str, at: int) -> Size:
        try:
            size = parse_size(text) if len(text) <= LONGEST_SIZE else None
        except ShapeError:
            size = None
        if size is None:
            self.fail(f"{reprlib.repr(text)} is no size", at)
        if not is_countable(size):
            self.fail("the numbers of a size are below 2**63", at)
        return size

    def _array(self) -> Any:
        at = self.here()
        raw = self._raw_elements()
        self.need(",", " and a dtype")
        dtype_at = self.here()
        dtype = self.value()
        if not isinstance(dtype, np.dtype):
            self.fail("expected a dtype, as in array([1.0], float32)", dtype_at)
        shape = self.value() if self.take(",") else None
        self.need(")")
        return self._as_array(raw, dtype, shape, at)

    def elements(self, dtype: np.dtype[Any], shape: Any) -> np.ndarray[Any, Any]:
        """Numbers in brackets, or the name of data, as an array of this dtype and shape."""
        at = self.here()
        return self._as_array(self._raw_elements(), dtype, shape, at)

    def _as_array(
        self, raw: Any, dtype: np.dtype[Any], shape: Any, at: int
    ) -> np.ndarray[Any, Any]:
        try:
            if isinstance(raw, bytes):
                array = np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype)
                array = array.reshape(() if shape is None else shape)
            else:
                array = np.array(raw, dtype)
                array = array if shape is None or array.shape == shape else array.reshape(shape)
        except (ValueError, TypeError, OverflowError) as error:
            of_shape = "" if shape is None else f" of shape {shape}"
            self.fail(f"these elements make no {dtype} array{of_shape}: {error}", at)
        array.flags.writeable = False  # as every array in a graph
        return array

    def _raw_elements(self) -> Any:
        if self.take("["):
            return self.items(self._raw_elements, "]")
        name = self.match(DATA)
        if name:
            if name[1] not in self.data:
                self.fail("the text ends without a data section that has it", name.start())
            return self.data[name[1]]
        for word in ("True", "False"):
            if self.keyword(word):
                return CONSTANTS[word]
        return self.number(self.need_match(NUMBER, "a number, or numbers in brackets"))
