"""Recipe: what calls need of a program, and the same as bytes to keep.

Everything else (the kernels, the LLVM text, which node can fail where) is made again from the graph
on demand. Bytes are JSON and the raw bytes of arrays and object files behind it; reading them runs
nothing, and makes objects of the few classes below only.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import numpy as np

from wengert.codegen.kernel import Guest, Layout, Shown, Slot
from wengert.codegen.memory.plan import Placed
from wengert.compiler import Recipe
from wengert.core.dims import Dim, parse_size
from wengert.core.text.literal import has_numbers

_LENGTH = 8  # bytes that say how long the JSON is


_CLASSES = {each.__name__: each for each in (Recipe, Layout, Placed, Guest, Shown, *get_args(Slot))}


class Unkeepable(Exception):
    """Something that cannot be kept as bytes; the text says what."""


class Unreadable(Exception):
    """Bytes that are no recipe."""


def to_bytes(recipe: Recipe) -> bytes:
    """The recipe as bytes; raises `Unkeepable` where it holds anything but plain data."""
    blobs: list[bytes] = []
    text = json.dumps(_plain(recipe, blobs), separators=(",", ":")).encode()
    return b"".join((len(text).to_bytes(_LENGTH, "little"), text, *blobs))


def from_bytes(body: bytes) -> Recipe:
    """The recipe that bytes hold; raises `Unreadable` where they hold none."""
    try:
        end = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
        recipe = _RecipeReader(body, end).value(json.loads(body[_LENGTH:end]))
    except Exception as error:  # whatever it is, it is no recipe, and the program is made anew
        raise Unreadable(f"{type(error).__name__} while reading it") from error
    if not isinstance(recipe, Recipe):
        raise Unreadable("it holds no recipe")
    return recipe


def _plain(value: Any, blobs: list[bytes]) -> Any:
    """A value as JSON; what JSON has no form for is an object with one key, which names its
    kind.
    """
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is list:
        return [_plain(each, blobs) for each in value]
    if kind is tuple:
        return {"tuple": [_plain(each, blobs) for each in value]}
    if kind is frozenset:
        return {"set": [_plain(each, blobs) for each in sorted(value)]}
    if kind is dict:
        return {"dict": [[_plain(k, blobs), _plain(v, blobs)] for k, v in value.items()]}
    if kind is Dim:
        return {"dim": repr(value)}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if kind is bytes:
        blobs.append(value)
        return {"bytes": len(value)}
    if kind is np.ndarray and has_numbers(value):
        blobs.append(value.tobytes())
        return {"array": [value.dtype.str, value.shape, value.nbytes]}
    if _CLASSES.get(kind.__name__) is kind:
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(kind)}
        return {kind.__name__: {name: _plain(each, blobs) for name, each in fields.items()}}
    raise Unkeepable(f"a {kind.__name__} cannot be kept")


class _RecipeReader:
    """Values from JSON and the blobs behind it, which come in the same order."""

    def __init__(self, body: bytes, at: int) -> None:
        self.body, self.at = body, at

    def value(self, encoded: Any) -> Any:
        if isinstance(encoded, list):
            return [self.value(each) for each in encoded]
        if not isinstance(encoded, dict):
            return encoded
        ((kind, inside),) = encoded.items()
        if kind == "bytes":
            return self.blob(inside)
        if kind == "array":
            dtype, shape, size = inside
            # A copy, as NumPy aligns the memory of new arrays.
            return np.frombuffer(self.blob(size), np.dtype(dtype)).reshape(shape).copy()
        if kind == "dict":
            return {self.value(k): self.value(v) for k, v in inside}
        if kind == "dim":
            return parse_size(inside)
        if kind == "dtype":
            return np.dtype(inside)
        if kind in _CLASSES:
            return _CLASSES[kind](**{name: self.value(each) for name, each in inside.items()})
        return {"tuple": tuple, "set": frozenset}[kind](map(self.value, inside))

    def blob(self, size: int) -> bytes:
        begin, self.at = self.at, self.at + size
        if size < 0 or self.at > len(self.body):
            raise ValueError("a blob ends behind the body")
        return self.body[begin : self.at]
