"""The modules that code imports when it runs, or looks up by name."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dis import get_instructions
from importlib.util import resolve_name
from types import CodeType, FunctionType

_BY_TEXT = {"modules", "import_module", "__import__"}  # sys.modules["settings"]


def imported_by(f: FunctionType) -> frozenset[str]:
    """The names of the modules that a function could reach by importing them, with the packages
    that they are in.
    """
    package = f.__globals__.get("__package__") or ""
    modules: set[str] = set()
    for level, name in _imports(f.__code__):
        try:
            full = resolve_name("." * level + name, package) if level else name
        except ImportError:  # beyond the outermost package
            continue
        parts = full.split(".")
        modules |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
    return frozenset(modules)


@functools.lru_cache(maxsize=4096)
def _imports(code: CodeType) -> tuple[tuple[int, str], ...]:
    """How many dots an import begins with, and the name behind them."""
    return tuple(_found(code))


def _found(code: CodeType) -> Iterator[tuple[int, str]]:
    steps = list(get_instructions(code))
    for i, each in enumerate(steps):
        if each.opname == "IMPORT_NAME":  # behind the level and the names that are taken
            level = steps[i - 2].argval
            yield level if isinstance(level, int) else 0, each.argval
    texts = [x for x in code.co_consts if isinstance(x, str)]
    if not _BY_TEXT.isdisjoint(code.co_names):
        yield from ((0, text) for text in texts if text.replace(".", "").isidentifier())
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _imports(inner)
