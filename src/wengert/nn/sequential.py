"""Sequential: layers and functions, one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.functions.dropout import require_generator
from wengert.nn.activations import find_activation
from wengert.nn.normalization import BatchNorm
from wengert.nn.showing import shown_layers

ONE_ARRAY = (
    "A Sequential calls its layers with one array: for a mask or a state, call them one after the "
    "other in a function of your own. "
)


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Sequential(Explained):
    """Layers that are applied one after the other.

    A layer is anything that is called with one array and returns one: a layer of `wg.nn`, a
    dataclass of your own, a function such as `np.tanh`, or the name of an activation. `rng` goes to
    those that have an argument of that name. A layer that returns more than one array (BatchNorm,
    GRU) has no place here: call it in a function of your own.

    >>> model = wg.nn.Sequential(wg.nn.Linear(3, 8), "relu", wg.nn.Dropout(0.1), wg.nn.Linear(8, 2))
    >>> model(np.ones((5, 3), np.float32)).shape
    (5, 2)
    """

    layers: tuple[Callable[..., Any], ...]

    def __init__(self, *layers: Callable[..., Any] | str) -> None:
        callables: list[Callable[..., Any]] = []
        for i, layer in enumerate(layers):
            if isinstance(layer, str):
                layer = find_activation(layer, "Sequential", f"layers[{i}]")
            if isinstance(layer, type):
                raise TypeError(
                    f"Sequential: layers[{i}] is the class {layer.__name__}; a layer is an object "
                    f"that is called with an array. Write {layer.__name__}(…)."
                )
            if not callable(layer):
                raise TypeError(
                    f"Sequential: layers[{i}] is {type(layer).__name__}; a layer is called with an "
                    f"array. {_repair_of(layer)}."
                )
            if type(layer).__call__ is BatchNorm.__call__:
                raise TypeError(
                    f"Sequential: layers[{i}] is {type(layer).__name__}, which takes a state and "
                    "returns the new one; a Sequential calls its layers with one array. Write a "
                    "dataclass with the layers as fields and call them in its __call__: y, state = "
                    "self.norm(x, state, training=training)."
                )
            callables.append(layer)
        self.layers = tuple(callables)

    def __call__(self, x: Value, rng: Any = None) -> Value:
        if rng is not None and not any(map(_takes_rng, self.layers)):  # those that do look at it
            require_generator("Sequential", rng, ONE_ARRAY)
        for i, layer in enumerate(self.layers):
            x = layer(x, rng=rng) if rng is not None and _takes_rng(layer) else layer(x)
            if isinstance(x, tuple):
                raise TypeError(
                    f"Sequential: layers[{i}], {type(layer).__name__}, returned {len(x)} values; a "
                    "layer returns one array. Call it in a function of your own."
                )
        return x

    def __getitem__(self, number: int) -> Callable[..., Any]:
        return self.layers[number]

    def __setitem__(self, number: Any, layer: Any) -> NoReturn:
        refuse_another_layer("Sequential", number, layer)

    def __len__(self) -> int:
        return len(self.layers)

    def __repr__(self) -> str:
        return shown_layers("Sequential", self.layers)


def refuse_another_layer(kind: str, number: Any, layer: Any) -> NoReturn:
    """Say what to write where an item of layers that stay as they are is assigned."""
    item = f"[{number if isinstance(number, int) else 'i'}]"
    raise TypeError(
        f"{kind}: layer {item} was set to {type(layer).__name__}; its layers are those that it was "
        f"made with, and stay these. For other weights, write into the arrays, model{item}."
        f"weight[...] = w, of a step step.model{item}.weight[...] = w. For another layer, make "
        f"another {kind}, before the step is made."
    )


def _takes_rng(layer: Callable[..., Any]) -> bool:
    """Whether a layer has an argument `rng`. Layers of one class share the answer."""
    return _has_rng(layer if inspect.isroutine(layer) else type(layer).__call__)


@lru_cache(256)
def _has_rng(function: Any) -> bool:
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # of functions in C that do not say
        return False


def _repair_of(no_layer: Any) -> str:
    if isinstance(no_layer, list | tuple):
        return "Give the layers one by one: Sequential(*layers)"
    return "Pass a layer, a function, or the name of an activation"
