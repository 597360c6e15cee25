"""Methods of an object in the place of a function of the model, as in `step.bind(agent.act)`: the
step passes its model as their first argument, and they compute with the arrays of their object,
which are not trained.

Many methods take the model on purpose, as `def loss(self, params, x)` does. One that was meant
without the model can be called without it, with the arguments alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from types import MethodType
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.tensor import Tensor
from wengert.errors import TraceError
from wengert.interpret.trace import recorded_constants
from wengert.runtime.outside.capture_walk import CaptureWalk


def method_of(function: Any) -> MethodType | None:
    """The method of an object that a function is, or that a `functools.partial` has in it."""
    while isinstance(function, functools.partial) and not function.args:
        function = function.func
    is_one = inspect.ismethod(function) and not isinstance(function.__self__, type)
    return function if is_one else None


def is_method_like(function: Any, model: Any) -> bool:
    """Whether a function is a method of an object of the model's class."""
    method = method_of(function)
    return method is not None and type(method.__self__) is type(model)


def computes_without_model(
    function: Any, args: Sequence[Any], given: Mapping[str, Any], failed: bool
) -> bool:
    """Whether a method was meant to be called with the arguments behind the model alone: it can be,
    and called with the model it has failed, or has read arrays of its object in its place.
    """
    method = method_of(function)
    if method is None or not (failed or _has_read_own_arrays(method, args[0])):
        return False
    try:
        inspect.signature(function).bind(*args[1:], **given)
        returned = tree.leaves(function(*args[1:], **given))
    except Exception:  # it needs the model
        return False
    return any(isinstance(x, Tensor | np.ndarray) for x in returned)


def _has_read_own_arrays(method: MethodType, model: Any) -> bool:
    """Whether a method that was recorded has read arrays of its object, of the shapes that the
    model's have.
    """
    shapes = {np.shape(x) for x in tree.leaves(model)}
    constants = [x for x, _ in recorded_constants() if x.shape in shapes]
    if not constants:
        return False
    walk = CaptureWalk()
    walk.follow([method])
    return any(walk.captures.name_of(x) for x in constants)


def refusal_of_method(function: Any, model: Any) -> TypeError:
    """The refusal of a method of an object, whose self is not the model of the step."""
    method = method_of(function)
    assert method is not None
    kind, name = type(method.__self__).__name__, method.__name__
    if type(method.__self__) is type(model):
        repair = f"Pass the function of the class: {kind}.{name}"
    else:
        held = _attribute_like(method.__self__, model) or "what the object has"
        repair = f"Write a function of the model, lambda m, …: …, with m in the place of {held}"
    return TypeError(
        f"TrainStep: given the method {name} of an object of class {kind}, which is its self; a "
        f"step passes its own model as the first argument, here {_first_of(function)}. {repair}."
    )


def _first_of(function: Any) -> str:
    names = [*inspect.signature(function).parameters]
    return repr(names[0]) if names else "none is left"


def _attribute_like(owner: Any, model: Any) -> str:
    """The attribute of an object that is a tree like the model; "" if there is none."""
    form = _form(model)
    names = [name for name, x in getattr(owner, "__dict__", {}).items() if _form(x) == form]
    return f"self.{names[0]}" if names else ""


def _form(x: Any) -> Any:
    """What a tree of the same kind, with arrays of the same shapes, has as well."""
    try:
        leaves, structure = tree.flatten(x)
    except TraceError:  # no tree
        return None
    return structure.spec, tuple(map(np.shape, leaves))
