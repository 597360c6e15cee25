"""The pages of the reference: a directive of mkdocstrings for every public name."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import wengert
import wengert.sklearn
from wengert.core.op import Op

PACKAGE = Path(wengert.__file__).parent


@dataclass(frozen=True)
class Room:
    """A page for names of wg itself: of those that modules with such beginnings define."""

    title: str
    begins: tuple[str, ...]


ROOMS = {
    "derivatives": Room(
        "Derivatives and vmap",
        (
            *("api.derivatives", "api.jacobians", "api.check_grads", "api.custom", "api.vmap"),
            "ops.program",  # stop_gradient
        ),
    ),
    "compiling": Room(
        "Compiling, graphs, looking",
        ("api.", "interpret.", "ops.debug", "core.dims", "core.tensor"),
    ),
    "training": Room("TrainStep, files, sweeps", ("train.", "sweeping.")),
    "control": Room("Loops, branches, updates", ("ops.control_flow", "ops.indexing.update")),
    "learning": Room(
        "Functions of learning",
        (
            *("functions.activation", "functions.loss", "functions.normalize", "functions.dropout"),
            *("functions.divergence", "functions.sequences", "ops.sequences", "ops.windows"),
        ),
    ),
    "arrays": Room("Arrays", ("",)),  # all the others
}
NOT_FOR_USERS = {"functions", "ops"}  # what is in wg itself, by where it is defined
TITLES = {
    "train": "wg.train: fit, logs, stopping",
    "train.metrics": "wg.train.metrics",
    "nn": "wg.nn: layers",
    "nn.init": "wg.nn.init: initialisers",
    "optim": "wg.optim: optimizers",
    "linalg": "wg.linalg: matrices",
    "fft": "wg.fft: Fourier transforms",
    "random": "wg.random: random numbers",
    "distributions": "wg.distributions",
    "tree": "wg.tree: trees",
    "errors": "wg.errors: errors and warnings",
    "sklearn": "wengert.sklearn: estimators",
}
INTRODUCTION = """\
# Reference

Every public name, with what its docstring says; the examples there run with the tests.
`wg` is `wengert`, and `np` is NumPy. [Names](../names.md) says what the names of NumPy, JAX and
PyTorch are here.

"""


def pages() -> dict[str, str]:
    """The text of each page, by its path on the site."""
    titled = {f"reference/{room}.md": page for room, page in _rooms().items()}
    for module, title in _modules().items():
        names = [f"{module}.{name}" for name in _names(attrgetter(module)(wengert))]
        titled[f"reference/{module.replace('.', '-')}.md"] = (title, names)
    made = {path: _page(title, names) for path, (title, names) in titled.items()}
    made["reference/index.md"] = INTRODUCTION + "\n".join(
        f"- [{title}]({path.rpartition('/')[2]}): {_listed(names)}"
        for path, (title, names) in titled.items()
    )
    return made


def _modules() -> dict[str, str]:
    """The public modules and their titles; those that nobody has given a title are at the end."""
    modules = [
        name for name in wengert.__all__ if isinstance(getattr(wengert, name), types.ModuleType)
    ]
    return TITLES | {
        name: f"wg.{name}" for name in modules if name not in TITLES and name not in NOT_FOR_USERS
    }


def _page(title: str, names: list[str]) -> str:
    directives = "\n\n".join(f"::: wengert.{name}" for name in names)
    return f"# {title}\n\n{directives}\n"


def _listed(names: list[str]) -> str:
    return ", ".join(f"[`{name.rpartition('.')[2]}`][wengert.{name}]" for name in names)


def _rooms() -> dict[str, tuple[str, list[str]]]:
    """Title and names of each page for names of wg itself."""
    rooms: dict[str, tuple[str, list[str]]] = {key: (each.title, []) for key, each in ROOMS.items()}
    for name in _names(wengert):
        module = _module(name)
        room = next(key for key, each in ROOMS.items() if module.startswith(each.begins))
        rooms[room][1].append(name)
    return rooms


def _module(name: str) -> str:
    """The module that defines a name of wg; an op does not know, its source does."""
    value = getattr(wengert, name)
    if isinstance(value, Op):
        return _sources().get(name, "")
    return str(value.__module__).removeprefix("wengert.")


@cache
def _sources() -> dict[str, str]:
    """The modules of functions, by name."""
    sources = {}
    for path in [*PACKAGE.glob("ops/**/*.py"), *PACKAGE.glob("functions/**/*.py")]:
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                sources[node.name] = module
    return sources


def _names(module: types.ModuleType) -> list[str]:
    """The functions and classes that a module makes public, in the order of the alphabet."""
    return sorted(_public(module), key=str.lower)


def _public(module: types.ModuleType) -> Iterator[str]:
    for name in getattr(module, "__all__", None) or dir(module):
        value: Any = getattr(module, name)
        if name.startswith("_") or isinstance(value, types.ModuleType) or not callable(value):
            continue
        home = str(getattr(value, "__module__", ""))
        if home == module.__name__ or (hasattr(module, "__all__") and home.startswith("wengert")):
            yield name
