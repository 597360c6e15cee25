"""Keys: everything that decides what machine code a program becomes.

The graph is in four parts, so that a message can say in which of them a program differs from one
that was kept: its ops, the types, the parameters, and the numbers of its constants. The user's
lines are in none of them: they come from the program that is being traced.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from wengert.codegen.llvm.machine.native import complete, machine
from wengert.core.dims import Dim
from wengert.core.graph import Graph, Node
from wengert.core.table import op as table
from wengert.core.text.literal import has_numbers
from wengert.core.types import ArrayType, Type
from wengert.loading import BEGAN, PACKAGE
from wengert.passes.expand import expand
from wengert.runtime.caching.cache_store import Key

COARSE = 2.0  # seconds that the clock of a file system may be behind
MOST = 1 << 24  # bytes of constants in a program that is kept

# Switches that do not change code, or whose effect is among the options of every program.
_OTHERWISE = (
    "WENGERT_CACHE",
    "WENGERT_EAGER",
    "WENGERT_FUSE",
    "WENGERT_GRAIN",
    "WENGERT_LANES",
    "WENGERT_NUM_THREADS",
)


class Unkeyed(Exception):
    """A program that no key can tell from others; the text says why."""


def object_key(text: str) -> Key:
    """The key of a module's object file."""
    return {"text": hashlib.sha256(complete(text).encode()).hexdigest(), **machine()}


def program_keys(graph: Graph, options: Mapping[str, Any]) -> tuple[Key, Key]:
    """The key of a program's ops alone, and that of the program. Raises `Unkeyed`."""
    parts = graph_parts(graph)
    key = {**parts, **options, **_surroundings()}
    return {"ops": parts["ops"]}, json.loads(json.dumps(key))  # as it will be read back


def graph_parts(graph: Graph) -> dict[str, str]:
    """What tells a graph from others. Raises `Unkeyed`."""
    used = {node.op for node in _nodes(graph)}
    if any(each.body is not None and not table.is_as_sealed(each) for each in used):
        graph = expand(graph)  # a composite of a user's is known by what it is composed of
        used = {node.op for node in _nodes(graph)}
    for each in used:
        if not table.is_as_sealed(each):
            raise Unkeyed(f"{each.name} is no op of Wengert, or was changed")
    digest = _Digest()
    digest.graph(graph)
    return digest.parts()


def _surroundings() -> dict[str, Any]:
    """What is not in the program: switches, versions, and this machine."""
    switches = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("WENGERT_") and not name.startswith(_OTHERWISE)
    }
    return {"environment": switches, "package": source(), **_versions(), **machine()}


@cache
def _versions() -> dict[str, str]:
    return {
        "python": f"{sys.implementation.cache_tag} {sys.version} {getattr(sys, 'abiflags', '')}",
        "numpy": np.__version__.partition(".")[0],
    }


@cache
def source() -> str:
    """What tells this state of the package from others. Raises `Unkeyed`."""
    return source_digest(PACKAGE, BEGAN)


def source_digest(folder: str, imported: float) -> str:
    """A digest of the source files below a folder: of their names, sizes and times.

    Raises `Unkeyed` where one changed after it was imported: then nobody knows what code runs.
    """
    try:
        files = sorted(_source_files(folder))
    except OSError:
        files = []
    if not files:
        raise Unkeyed("the package has no source files to tell its state by")
    if max(changed for *_, changed in files) > (imported - COARSE) * 1e9:
        raise Unkeyed("the package's source changed after it was imported")
    return hashlib.sha256(repr([each[:3] for each in files]).encode()).hexdigest()


def _source_files(folder: str) -> Iterator[tuple[str, int, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_mtime_ns, status.st_size, status.st_ctime_ns
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _source_files(entry.path)


def _nodes(graph: Graph) -> Iterator[Node]:
    yield from graph.nodes
    for body in graph.subgraphs():
        yield from _nodes(body)


class _Digest:
    """The parts of a graph as text, every value with a form of its own."""

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.types: list[str] = []
        self.parameters: list[str] = []
        self.constants = hashlib.sha256()
        self.bytes = 0

    def parts(self) -> dict[str, str]:
        texts = {"ops": self.ops, "types": self.types, "parameters": self.parameters}
        digests = {
            name: hashlib.sha256("\n".join(lines).encode()).hexdigest()
            for name, lines in texts.items()
        }
        return {**digests, "constants": self.constants.hexdigest()}

    def graph(self, graph: Graph) -> None:
        self.ops.append(f"graph {graph.inputs} {graph.returns}")
        for node in graph.nodes:
            self.ops.append(f"{node.op.name} {node.operands}")
            self.types.append(_type_text(node.type))
            given = [
                f"{name}={self.value(each)}"
                for name, each in node.params.items()
                if each is not node.type  # which an input has as a parameter, too
            ]
            self.parameters.append(f"{node.order} {' '.join(given)}")
        self.ops.append("end")

    def value(self, value: Any) -> str:
        kind = type(value)
        if value is None or value is Ellipsis or kind in (bool, int, str):
            return repr(value)
        if kind is float:
            return f"float {struct.pack('>d', value).hex()}"
        if kind in (tuple, list):
            return f"{kind.__name__}({', '.join(map(self.value, value))})"
        if kind is slice:
            return f"slice{self.value((value.start, value.stop, value.step))}"
        if kind is Dim:
            return f"dim {value.terms}"
        if kind is ArrayType:
            return _type_text(value)
        if isinstance(value, np.dtype):
            return f"dtype {value.str}"
        if isinstance(value, Graph):
            self.graph(value)
            return "graph"
        if isinstance(value, np.ndarray | np.generic) and has_numbers(value):
            return self.array(np.asarray(value), kind.__name__)
        raise Unkeyed(f"a parameter is a {kind.__name__}, which says nothing of its value")

    def array(self, value: np.ndarray[Any, Any], kind: str) -> str:
        self.bytes += value.nbytes
        if self.bytes > MOST:
            raise Unkeyed(f"its constants have more than {MOST} bytes")
        self.constants.update(value.tobytes())
        return f"{kind} {value.dtype.str} {value.shape}"


def _type_text(t: Type) -> str:
    if isinstance(t, tuple):
        return f"({', '.join(map(_type_text, t))})"
    sizes = ", ".join(str(n.terms) if isinstance(n, Dim) else str(n) for n in t.shape)
    return f"{t.dtype.str}[{sizes}]"
