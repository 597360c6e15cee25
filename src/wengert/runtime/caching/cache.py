"""The cache: machine code that outlives the process.

Two levels. An object file is found by the text it was made from: when the package changes, most
texts stay. A whole program is found by its graph, as it was traced, and its options: then no pass
runs, and nothing is fused, emitted or compiled.

`WENGERT_CACHE=0` turns it off, `WENGERT_CACHE_DIR` moves it, `WENGERT_CACHE_BYTES` bounds it. What
it does is told to the logger "wengert.cache".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any

from wengert.codegen.llvm.machine.background import Beside
from wengert.codegen.llvm.machine.native import make_object
from wengert.compiler import Recipe
from wengert.core.graph import Graph
from wengert.runtime.caching.cache_key import Unkeyed, object_key, program_keys
from wengert.runtime.caching.cache_recipe import Unkeepable, Unreadable, from_bytes, to_bytes
from wengert.runtime.caching.cache_store import Key, Missed, Store, log, name_of
from wengert.runtime.caching.cache_writer import later

BYTES = 1 << 28  # of all entries, where the environment says nothing
OBJECT, PROGRAM = "o", "p"  # how the names of entries begin
MANY = 32  # entries that are compared, at most, to say why there was none

# What messages call the parts of a key.
_WORDS = {
    "types": "shapes or dtypes",
    "parameters": "parameters of ops",
    "constants": "values of constants",
    "environment": "WENGERT_* switches",
    "package": "the package's source",
    "written": "donated arguments",
}


def open_store() -> Store:
    """The store that the environment names. Raises `Missed` where the cache is not used."""
    if os.environ.get("WENGERT_CACHE") == "0":
        raise Missed("off: WENGERT_CACHE=0")
    if os.name != "posix":
        raise Missed("off: files have no owner on this system")
    folder = _folder()
    store = _store(folder, _limit(os.environ.get("WENGERT_CACHE_BYTES", "")))
    fault = store.fault()
    if fault:
        _warn(f"the cache in {folder} is not used: {fault}")
        raise Missed(f"off: {folder}: {fault}")
    return store


def _folder() -> str:
    asked = os.environ.get("WENGERT_CACHE_DIR")
    if asked:
        return os.path.abspath(asked)
    above = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(above):
        home = os.path.expanduser("~")
        if not os.path.isabs(home) or not os.path.isdir(home):
            raise Missed("off: this user has no home; set WENGERT_CACHE_DIR")
        above = os.path.join(home, ".cache")
    return os.path.join(above, "wengert")


def _limit(asked: str) -> int:
    if asked.strip().isdecimal():
        return int(asked)
    if asked:
        _warn(f"WENGERT_CACHE_BYTES={asked} is no number of bytes; {BYTES} is used")
    return BYTES


@cache
def _store(folder: str, limit: int) -> Store:
    return Store(folder, limit)


@cache
def _warn(text: str) -> None:
    """Warn, once per process."""
    log.warning("%s", text)


# Object files.


_begun: dict[str, Beside[bytes]] = {}


def begin_object(text: str) -> None:
    """Begin to make an object in another thread, as it will be asked for."""
    if text not in _begun:
        _begun[text] = Beside(lambda: _find_or_make(text))


def cached_object(text: str) -> bytes:
    """A module as an object file: the one that is kept, or a new one."""
    begun = _begun.pop(text, None)
    return _find_or_make(text) if begun is None else begun.result()


def _find_or_make(text: str) -> bytes:
    try:
        store = open_store()
    except Missed:
        return make_object(text)
    key = object_key(text)
    name = name_of(OBJECT, key)
    try:
        kept = store.read(name, key)
    except Missed as why:
        log.debug("object %s: miss: %s", name, why)
    else:
        log.debug("object %s: hit", name)
        return kept
    made = make_object(text)
    later(lambda: store.write(name, key, made))
    return made


# Programs.


def recall(
    graph: Graph, options: Mapping[str, Any], make: Callable[[], Recipe]
) -> tuple[Recipe, str]:
    """The recipe of a program, kept or new; and a text that says which, and why."""
    try:
        store = open_store()
        ops, key = program_keys(graph, options)
    except Missed as why:
        return make(), str(why)
    except Unkeyed as why:
        told = f"not kept: {why}"
        log.info("%s", told)
        return make(), told
    name = name_of(PROGRAM, ops, key)
    try:
        kept = from_bytes(store.read(name, key))
    except (Missed, Unreadable) as why:
        told = f"miss: {_why(store, ops, key, str(why))}"
    else:
        log.debug("program %s: hit", name)
        return kept, "hit"
    log.info("program %s: %s", name, told)
    made = make()
    later(lambda: _keep(store, name, key, made))
    return made, told


def _keep(store: Store, name: str, key: Key, recipe: Recipe) -> None:
    try:
        store.write(name, key, to_bytes(recipe))
    except Unkeepable as why:
        log.info("program %s: not kept: %s", name, why)


def _why(store: Store, ops: Key, key: Key, reason: str) -> str:
    """Why there was no entry: how the program differs from the most similar one that is kept."""
    if reason != "no entry":
        return reason
    others = list(islice(store.keys(name_of(PROGRAM, ops)), MANY))
    if not others:
        return "no entry for a program of these ops"
    nearest = min((_differing(key, other) for other in others), key=len)
    return f"no entry for this program; the nearest one differs in {', '.join(nearest)}"


def _differing(key: Key, other: Key) -> list[str]:
    parts = dict.fromkeys((*key, *other))
    return [_WORDS.get(part, part) for part in parts if key.get(part) != other.get(part)]
