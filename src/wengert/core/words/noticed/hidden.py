"""Arrays that hide in an object which is no node of a tree: no transformation would see them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.errors import TraceError

# How deep and how far it is looked. What a tree opens (dicts, lists, tuples, dataclasses) adds no
# depth: a network of layers in layers is found wherever it stands.
_DEPTH = 3  # objects in objects that are no nodes of a tree
_FEW = 64  # elements of one container
_MOST = 500  # values in all
_NODES = (dict, list, tuple, set, frozenset)
_ARRAYS = (np.ndarray, Tensor)
_PLAIN = (*_ARRAYS, int, float, str, type(None), bytes, complex, np.generic)
_CONTAINERS = (Mapping, list, tuple, set, frozenset)
# What a callable holds is a constant of the program on purpose, as what a function closes over is.
_CALLABLES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    type,
    functools.partial,
    np.ufunc,
)


def can_hide(kind: type) -> bool:
    """Whether objects of this type, which are no nodes of a tree, can be or hold arrays unseen.
    Ours hold what they need.
    """
    if issubclass(kind, _CALLABLES) or kind.__module__.partition(".")[0] == "wengert":
        return False
    if hasattr(kind, "__array__"):
        return True
    inside = issubclass(kind, _CONTAINERS)
    return inside or kind.__dictoffset__ != 0 or any(_slots(kind))


def hiding_attribute(x: Any) -> str | None:
    """The attribute, or key, in which an object that is no node of a tree holds floats; an empty
    name for an array of another library.
    """
    return "" if is_foreign(x) else _hiding(x)


def is_foreign(x: Any) -> bool:
    """Whether something is an array of another library, which NumPy can read."""
    return hasattr(type(x), "__array__") and not isinstance(x, np.ndarray | np.generic | Tensor)


def hidden_error(x: Any, name: str, path: str) -> TraceError:
    """The refusal of an object that stands at a path of a tree and holds arrays there."""
    kind = type(x)
    at = f" at {path!r}" if path else ""
    if is_sparse(x):
        return TraceError(
            f"tree: given a {sparse_name(x)}{at}; arrays of a tree are dense. Convert it with "
            "x.toarray()."
        )
    if is_foreign(x):
        library = kind.__module__.partition(".")[0]
        return TraceError(
            f"tree: given an array of {library} ({kind.__name__}){at}; arrays of a tree are "
            "NumPy's, and this would be a constant. Convert it with np.asarray."
        )
    if isinstance(x, _CONTAINERS):
        plain = "dict" if isinstance(x, Mapping) else "list"
        return TraceError(
            f"tree: given an object of class {kind.__name__}{at}, with arrays in it; a tree "
            "consists of dicts, lists, tuples and dataclasses, and arrays in anything else would "
            f"be constants. Make it a {plain}, or a dataclass."
        )
    if kind.__module__.partition(".")[0] in sys.stdlib_module_names:  # a SimpleNamespace
        repair = f"Make it a dict, {{{name!r}: …}}, or a dataclass of yours with {name}: Any"
    else:
        repair = (
            f"Write @dataclass above class {kind.__name__} and declare its fields, as in "
            f"{name}: Any"
        )
    return TraceError(
        f"tree: given an object of class {kind.__name__}{at}, with arrays in its attribute "
        f"{name!r}; it is no dataclass, and its arrays would be constants, neither trained nor "
        f"saved. {repair}; or keep it out of the tree, as something that the function closes over."
    )


def is_sparse(x: Any) -> bool:
    """Whether something is a sparse array or matrix of SciPy's, which is not imported for this."""
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "toarray")


def sparse_name(x: Any) -> str:
    """What messages call it."""
    return f"scipy.sparse.{type(x).__name__} of shape {x.shape}"


def require_declared(kind: type, rest: Mapping[str, Any]) -> None:
    """Refuse an object of a dataclass that holds arrays beside its fields."""
    for name, value in rest.items():
        if _holds(value):
            raise _undeclared_error(kind, name)


def require_declared_in_class(kind: type) -> None:
    """Refuse a dataclass with arrays that belong to the class, and are not said to be constants of
    it.
    """
    for each in kind.__mro__:
        annotations = inspect.get_annotations(each)
        declared = getattr(each, "__dataclass_fields__", {})
        for name, value in vars(each).items():
            of_python = name.startswith("__") and name.endswith("__")
            constant = "ClassVar" in str(annotations.get(name, ""))
            if of_python or constant or name in declared:
                continue
            if _holds_beside_functions(value):
                raise _undeclared_error(
                    kind, name, f" A constant of the class is written {name}: ClassVar[Any]."
                )


def _holds_beside_functions(x: Any) -> bool:
    """Whether an attribute of a class, which are functions and descriptors mostly, holds arrays."""
    return not hasattr(type(x), "__get__") and _holds(x)


def _undeclared_error(kind: type, name: str, otherwise: str = "") -> TraceError:
    decorated = "__dataclass_fields__" in vars(kind)
    above = "" if decorated else f"write @dataclass above class {kind.__name__}, and "
    repair = f"{above}declare it as a field in the class, as in {name}: Any"
    return TraceError(
        f"tree: given an object of class {kind.__name__}, with arrays in its attribute {name!r}, "
        "which is no field of the dataclass; only fields are seen, and its arrays would be "
        f"constants, neither trained nor saved. {repair[0].upper()}{repair[1:]}.{otherwise}"
    )


def _hiding(x: Any) -> str | None:
    """The first attribute, or key, in which an object holds arrays of floats."""
    return _name_of_floats(_attributes(x), _DEPTH - 1)


def _holds(x: Any) -> bool:
    return _name_of_floats([("", x)], _DEPTH) is not None


def _name_of_floats(named: Iterable[tuple[Any, Any]], depth: int) -> str | None:
    """The name of the first value that is an array of floats, or holds one; those that are held by
    the fewest others are found first.
    """
    queue = [(str(name), x, depth) for name, x in named]
    seen: set[int] = set()
    for name, x, depth in queue:  # which grows
        if isinstance(x, _ARRAYS) and x.dtype.kind == "f":
            return name
        if len(queue) >= _MOST or isinstance(x, _PLAIN) or id(x) in seen or is_foreign(x):
            continue
        is_node = isinstance(x, _NODES) or dataclasses.is_dataclass(type(x))
        if is_node or (depth > 0 and can_hide(type(x))):
            seen.add(id(x))
            held = islice(_attributes(x), _MOST - len(queue))
            queue.extend((name, y, depth - (not is_node)) for _, y in held)
    return None


def _attributes(x: Any) -> Iterator[tuple[Any, Any]]:
    """What an object holds, by name: attributes, and elements where it is a container."""
    if isinstance(x, Mapping):
        yield from islice(x.items(), _FEW)
    elif isinstance(x, list | tuple | set | frozenset):
        yield from islice(enumerate(x), _FEW)
    yield from tuple(getattr(x, "__dict__", {}).items())
    for name in _slots(type(x)):
        try:
            yield name, getattr(x, name)
        except AttributeError:  # it was never set
            continue


def _slots(kind: type) -> Iterator[str]:
    for each in kind.__mro__:
        names = each.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                # A name that begins with two underscores was changed by Python.
                private = name.startswith("__") and not name.endswith("__")
                yield f"_{each.__name__.lstrip('_')}{name}" if private else name
