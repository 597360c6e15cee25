"""A tree without its arrays as JSON, and back: what stands beside the arrays in a file.

Every value of the tree becomes one JSON value. Numbers, strings, None and bools stand for
themselves; all else is an object with one key that says what it is:

    {"array": name}                                an array of the file, by its name there
    {"scalar": name}                               a NumPy scalar, likewise
    {"dict": [[key, value], …]}                    in the order of the dictionary
    {"list": [value, …]}  {"tuple": [value, …]}
    {"fields": [[name, value], …], "type": name}   a dataclass, a named tuple and the like
    {"float": "nan"}                               what JSON has no word for
    {"dtype": "float32"}
    {"function": name}                             a function; only its name is kept
"""

from __future__ import annotations

import dataclasses
import json
import math
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.process.ending import ending
from wengert.core.tensor import Tensor
from wengert.core.trees.tree_nodes import plain, rebuilt
from wengert.core.words.articles import a_kind
from wengert.core.words.functions import name_of_function
from wengert.core.words.noticed.masked import has_own_arithmetic, is_masked_array
from wengert.core.words.noticed.watched_arrays import note_reads
from wengert.errors import CheckpointError
from wengert.train.uncopied import Uncopied

KEPT_DTYPES = frozenset(map(np.dtype, ["?", *"bhilqBHILQ", *"efd"]))
_NAMED_DTYPES = {dtype.name: dtype for dtype in KEPT_DTYPES}
_KEYS = (str, int, float, bool, type(None))  # what a dictionary's keys may be, or tuples of these
_SUM = ',"sum":'  # before the checksum, which is the last that stands in a text
_HEADER_OWN = "__metadata__"  # the one name that a safetensors file has for itself


class MissingFunction(Exception):
    """A function stands in the file at this path; only `like` can say which it is."""


@dataclasses.dataclass(frozen=True)
class StoredNode:
    """One node of a tree: a dictionary, a list, a tuple, or something with fields by name."""

    kind: str  # "dict", "list", "tuple" or "fields"
    keys: list[Any]
    values: list[Any]
    rebuild: Callable[[list[Any]], Any]  # the same node with other values inside


@ending.whole
def node_of(value: Any) -> StoredNode | None:
    """What is inside of a value, if it is a node of a tree; None for arrays, numbers and so on."""
    if ending.near:
        ending.pass_or_stay()
    value = plain(value)
    spec = tree.flatten(value)[1].spec.one_level() if value is not None else None
    if spec is None:
        return None
    keys, values = spec.entries(), spec.flatten_up_to(value)
    rebuild = partial(rebuilt, spec)
    if isinstance(value, dict):
        return StoredNode("dict", keys, values, rebuild)
    if isinstance(value, list | deque):
        return StoredNode("list", keys, values, rebuild)
    names = getattr(value, "_fields", None)  # of a named tuple
    if isinstance(value, tuple) and names is None:
        return StoredNode("tuple", keys, values, rebuild)
    return StoredNode("fields", list(names or keys), values, rebuild)


def below(path: str, key: Any) -> str:
    """The path of what stands under a key of the node at a path."""
    return f"{path}.{key}" if path else str(key)


class Encoder:
    """Turns a tree into JSON values and collects its arrays by name; equal objects share one."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._names: dict[int, str] = {}  # of arrays already seen, by identity

    def encode(self, value: Any, path: str = "") -> Any:
        """The value as JSON; refuses what cannot be kept."""
        node = node_of(value)
        if node is not None:
            return self._node(node, type(value).__qualname__, path)
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, path)
        if value is None or type(value) in (bool, int, str):
            _require_text(value, path)
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.dtype) and value in KEPT_DTYPES:
            return {"dtype": value.name}
        _require_no_step(value, path)
        if callable(value) and not isinstance(value, Tensor):
            return {"function": name_of_function(value)}
        raise CheckpointError(
            f"save: {path or 'the tree'} is {_described(value)}; trees of arrays, Python numbers, "
            "strings, None and bools can be saved. Convert it, or leave it out."
        )

    def _node(self, node: StoredNode, type_name: str, path: str) -> Any:
        keys = [_encoded_key(key, path) for key in node.keys]
        inside = zip(node.keys, node.values, strict=True)
        values = [self.encode(value, below(path, key)) for key, value in inside]
        if node.kind in ("list", "tuple"):
            return {node.kind: values}
        pairs = list(zip(keys, values, strict=True))
        return {"dict": pairs} if node.kind == "dict" else {"fields": pairs, "type": type_name}

    def _array(self, value: Any, path: str) -> Any:
        if has_own_arithmetic(value) or is_masked_array(value):
            raise CheckpointError(
                f"save: {path or 'the tree'} is {type(value).__name__}; only plain arrays keep "
                "their meaning in a file. Convert it with np.asarray or x.filled(value)."
            )
        dtype = value.dtype.newbyteorder("=")
        if dtype not in KEPT_DTYPES:
            raise CheckpointError(
                f"save: {path or 'the tree'} has dtype {value.dtype}; bool, integers and floats of "
                "16, 32 and 64 bits can be saved. Convert it with astype."
            )
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        name = self._names.get(id(value)) if kind == "array" else None
        if name is None:
            wanted = f"{path}~" if path == _HEADER_OWN else path or "value"
            name = unused(wanted, self.arrays)
            self.arrays[name] = np.array(value, dtype=dtype, order="C", copy=None)
            note_reads([value])
            if kind == "array":
                self._names[id(value)] = name
        return {kind: name}


def _require_no_step(value: Any, path: str) -> None:
    """Refuse a step and what belongs to it: the file would hold only its name, as of a function."""
    if isinstance(value, Uncopied):
        raise CheckpointError(
            f"save: {path or 'the tree'} is {a_kind(value)}; of what can be called only "
            "the name would be kept. Use step.save(path), or put step.state_dict() into the tree."
        )


def _encoded_key(key: Any, path: str) -> Any:
    if isinstance(key, tuple):
        return {"tuple": [_encoded_key(each, path) for each in key]}
    if type(key) not in _KEYS or (isinstance(key, float) and not math.isfinite(key)):
        raise CheckpointError(
            f"save: {path or 'the tree'} has the key {key!r}; keys must be strings, numbers, None "
            "or tuples of these. Choose such a key."
        )
    _require_text(key, path)
    return key


def _require_text(value: Any, path: str) -> None:
    """Refuse what has no form in a file: surrogates without their partners, and integers of so many
    digits that Python will not read them back.
    """
    try:
        str(value).encode()
    except ValueError:
        what = "a broken character" if isinstance(value, str) else "an integer of too many digits"
        raise CheckpointError(
            f"save: {path or 'the tree'} has {what}; a file holds text of whole Unicode "
            "characters, and numbers that Python can read. Convert it, or leave it out."
        ) from None


def _described(value: Any) -> str:
    if isinstance(value, Tensor):
        return "a Tensor of a transformation that is still running"
    text = repr(value)
    return f"of type {type(value).__name__}" + (f" ({text})" if len(text) < 40 else "")


def unused(name: str, taken: Any) -> str:
    """The name, or the name with a number behind it if it is taken: keys may contain dots."""
    free, number = name, 1
    while free in taken:
        free, number = f"{name}~{number}", number + 1
    return free


def decode(encoded: Any, array: Callable[[str], Any], path: str = "") -> Any:
    """The tree that was encoded, with plain dictionaries in place of dataclasses and named tuples;
    `array` gives the arrays by name.
    """
    inside = encoded_children(encoded)
    if inside is None:
        return decode_terminal(encoded, array, path)
    values = [decode(each, array, below(path, key)) for key, each in inside]
    if "list" in encoded:
        return values
    if "tuple" in encoded:
        return tuple(values)
    return dict(zip((key for key, _ in inside), values, strict=True))


def decode_terminal(encoded: Any, array: Callable[[str], Any], path: str) -> Any:
    """What an encoded value without anything inside of it stands for."""
    if not isinstance(encoded, dict):
        return encoded
    if "array" in encoded:
        return array(encoded["array"])
    if "scalar" in encoded:
        return array(encoded["scalar"])[()]
    if "float" in encoded:
        return float(encoded["float"])
    if "dtype" in encoded:
        return _NAMED_DTYPES[encoded["dtype"]]
    if "function" in encoded:
        raise MissingFunction(path)
    raise ValueError(f"{sorted(encoded)} is no kind of value")


def encoded_children(encoded: Any) -> list[tuple[Any, Any]] | None:
    """(key, value) pairs of an encoded node; None if there is nothing inside."""
    if isinstance(encoded, list):
        raise ValueError("a list stands where a value should")
    if not isinstance(encoded, dict):
        return None
    for kind in ("dict", "fields"):
        if kind in encoded:
            return [(_decoded_key(key), value) for key, value in encoded[kind]]
    for kind in ("list", "tuple"):
        if kind in encoded:
            return list(enumerate(encoded[kind]))
    return None


def _decoded_key(key: Any) -> Any:
    if isinstance(key, dict):
        return tuple(_decoded_key(each) for each in key["tuple"])
    return key


def terminals(encoded: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every encoded value without anything inside of it, with its path."""
    inside = encoded_children(encoded)
    if inside is None:
        yield path, encoded
    else:
        for key, value in inside:
            yield from terminals(value, below(path, key))


def to_text(encoded: Any, sums: dict[str, int], types: dict[str, str]) -> str:
    """What goes into the file's header: a checksum of every array's bytes, its type, the tree, and
    a checksum of all this text.
    """
    content = {"version": 1, "crc32": sums, "types": types, "tree": encoded}
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"{text[:-1]}{_SUM}{zlib.crc32(text.encode())}}}"


def from_text(text: str) -> Any:
    """The same, read; ValueError where it is not the text that was written. The first files of
    version 1 have no checksum of it.
    """
    content = json.loads(text)
    if "sum" in content:
        written = text.rpartition(_SUM)[0] + "}"
        if zlib.crc32(written.encode()) != content["sum"]:
            raise ValueError("its checksum is another")
    return content


def is_description(text: str) -> bool:
    """Whether a text of a header is one of these."""
    return text.startswith('{"version":') and '"crc32":' in text
