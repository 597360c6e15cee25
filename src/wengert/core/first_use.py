"""First use: public names that are imported when they are first read.

`import wengert` loads the ops and what calls of them need. The compiler, the runtime, layers,
optimizers and training take longer to load than NumPy and LLVM together, and come with the first
name that leads to them:

    wg.compile ──▶ `__getattr__` ──▶ import of wengert.api.compiling.compile ──▶ kept in `wg`

This is the only place that imports late. Modules of the package import each other at their top.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from wengert import loading
from wengert.core.process.fork_door import door

# Python can end up waiting for itself where one thread imports a package and another a module of
# it. Taken inside the door, so that no process is forked while a thread holds it.
_one_at_a_time = threading.RLock()


def import_on_first_use(
    namespace: dict[str, Any], names: Mapping[str, Iterable[str]], modules: Iterable[str]
) -> None:
    """Let a package, given its namespace, import names when they are first read: `modules` of it,
    and the `names` of others of its modules. All other names are missing as before.
    """
    package = str(namespace["__name__"])
    places: dict[str, tuple[str, str]] = {name: (name, "") for name in modules}
    places |= {name: (path, name) for path, each in names.items() for name in each}
    missing = namespace["__getattr__"]

    def read(name: str) -> Any:
        if name not in places:
            return missing(name)
        path, inside = places[name]
        value = namespace[name] = _imported(f"{package}.{path}", inside)
        return value

    def listed() -> list[str]:
        return sorted({*namespace, *places})

    namespace |= {"__getattr__": read, "__dir__": listed}


def _imported(path: str, name: str) -> Any:
    """A module, or what has a name in it."""
    try:
        with door, _one_at_a_time, loading.garbage_left():
            module = import_module(path)
            loading.count_as_old()
            return getattr(module, name) if name else module
    except AttributeError as error:  # else Python would take it for a missing name
        raise ImportError(
            f"{path}: was needed for the first time, and its import raised AttributeError "
            f"({error}); what it imports must be of the versions that it was written for. "
            "Run pip check."
        ) from error
