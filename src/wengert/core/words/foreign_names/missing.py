"""Names that other libraries have and a module, a layer or a training step of ours has not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dis import opmap
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex

import numpy as np

from wengert.core.table import FUNCTIONS, UFUNCS
from wengert.core.words.foreign_names.elsewhere import REPAIRS as OF_TENSORS
from wengert.core.words.foreign_names.nearest import misspelt
from wengert.core.words.foreign_names.repairs import REPAIRS
from wengert.core.words.foreign_names.repairs_of_objects import OF_LAYERS
from wengert.core.words.noticed.pickled import note_pickled
from wengert.core.words.noticed.watched_arrays import watched_arrays
from wengert.errors import MissingAttribute

_PACKAGE = "wengert"
_SPACES = (
    "",
    "nn",
    "optim",
    "random",
    "linalg",
    "fft",
    "tree",
    "distributions",
    "train",
)  # where a name may be instead


class Explained:
    """An object whose missing attributes are explained: by a table, or by the nearest name."""

    __slots__ = ()
    _repairs: ClassVar[Mapping[str, str]] = OF_LAYERS
    _nature: ClassVar[str] = "a layer is a dataclass of arrays, and a function"

    if not TYPE_CHECKING:  # type checkers would take every name for one that exists

        def __getattr__(self, name: str) -> NoReturn:
            kind = type(self)
            if name.startswith("_") or hasattr(kind, name) or name in _annotated(kind):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            repair = self._repairs.get(name)
            if repair is None:
                known = [each for each in dir(self) if not each.startswith("_")]
                meant = misspelt(name, known)
                repair = f"Write {meant}" if meant else f"It has {', '.join(known)}"
            raise MissingAttribute(
                f"{kind.__name__}.{name}: there is no such attribute; {self._nature}. {repair}."
            )

        def __setattr__(self, name: str, value: object) -> None:
            """Refuse to set what other libraries have: nothing would come of it."""
            if name in self._repairs and not hasattr(type(self), name):
                kind = type(self)
                if name not in _annotated(kind) and name not in getattr(kind, "__slots__", ()):
                    self.__getattr__(name)
            super().__setattr__(name, value)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if watched_arrays:
            note_pickled(self)
        return super().__reduce_ex__(protocol)


def _annotated(kind: type) -> set[str]:
    """The fields of a class: one that has not been set yet is missing in Python's own words."""
    return set(getattr(kind, "__dataclass_fields__", ()))


def explain_missing_names(namespace: dict[str, Any], space: str | None = None) -> None:
    """Let a module, given its namespace, explain the names that it has not. Type checkers do not
    see this, and go on to report such names. `space` is what it is called in `wg`, if that is not
    where it lies.
    """
    if space is None:
        space = str(namespace["__name__"]).removeprefix(_PACKAGE).removeprefix(".")
    namespace["__getattr__"] = _explaining(space, namespace["__all__"])
    for name, ours in _classes_of_modules(namespace):
        namespace[name].__class__ = _Called
        namespace[name].meant = ours


def _explaining(space: str, known: Sequence[str]) -> Callable[[str], NoReturn]:
    def explain(name: str) -> NoReturn:
        shown = _shown(space)
        if name.startswith("_"):  # what Python and its tools look for
            raise AttributeError(f"module {shown!r} has no attribute {name!r}")
        words = (
            f"{shown}.{name}: there is no such name; dir({shown}) lists those there are. "
            f"{_repair(space, name, known)}."
        )
        if _is_imported():  # Python would leave the words out
            raise ImportError(words, name=name)
        raise MissingAttribute(words)

    return explain


def _is_imported() -> bool:
    """Whether the user's program asks for a name in a line `from … import name`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_PACKAGE):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def _repair(space: str, name: str, known: Sequence[str]) -> str:
    tables = [REPAIRS.get(space, {}), *([OF_TENSORS, *REPAIRS.values()] if not space else [])]
    for table in tables:
        if name in table:
            return table[name]
    theirs, numpys = _in_numpy(space, name)
    if isinstance(theirs, Hashable) and (theirs in FUNCTIONS or theirs in UFUNCS):
        return f"Write {numpys}: it takes Tensors, too"
    unknown = "Write it with the functions of wg"
    if theirs is not None and space:  # what is called so elsewhere in wg is something else
        return unknown
    instead = _elsewhere_in_wg(space, name, known)
    if instead is None and not _is_of_others(name):
        guess = misspelt(name, known)
        instead = guess and f"{_shown(space)}.{guess}"
    return f"Write {instead}" if instead else unknown


def _in_numpy(space: str, name: str) -> tuple[Any, str]:
    """What NumPy has by this name in its module of the same name, and how that is written."""
    module = {"": np, "linalg": np.linalg, "random": np.random, "fft": np.fft}.get(space)
    return getattr(module, name, None), f"np.{space}.{name}".replace("..", ".")


def _is_of_others(name: str) -> bool:
    """Whether another library has a function of just this name, which is no misspelling then."""
    others = (np, np.linalg, np.random, *map(sys.modules.get, ("scipy.special", "jax", "jax.nn")))
    return any(hasattr(each, name) for each in others if each is not None)


def _elsewhere_in_wg(space: str, name: str, known: Sequence[str]) -> str | None:
    """The same name, or else one that differs in case, there or in another module."""
    spaces = {space: known} | {each: _names_of(each) for each in _SPACES}
    places = [(each, other) for each, names in spaces.items() for other in names]
    same = [place for place in places if place[1] == name]
    alike = [place for place in places if place[1].lower() == name.lower()]
    for each, other in same or alike:
        return f"{_shown(each)}.{other}"
    return None


def _names_of(space: str) -> Sequence[str]:
    package = sys.modules[_PACKAGE]
    return getattr(getattr(package, space) if space else package, "__all__", ())


def _shown(space: str) -> str:
    return f"wg.{space}".rstrip(".")


def _classes_of_modules(namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The modules in a package that are named like a class in it but for the case."""
    classes = {name.lower(): name for name in namespace["__all__"]}
    for name, each in tuple(namespace.items()):
        own = isinstance(each, ModuleType) and each.__name__.startswith(f"{_PACKAGE}.")
        if own and name in classes and classes[name] != name:
            yield name, f"{_shown(namespace['__name__'].partition('.')[2])}.{classes[name]}"


class _Called(ModuleType):
    """A module that was called in the place of the class that is named like it."""

    meant: str

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError(
            f"{_shown(self.__name__.partition('.')[2])}: this is a module, and was called; the "
            f"class is {self.meant}. Write {self.meant}(…)."
        )
