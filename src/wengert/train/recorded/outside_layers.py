"""Layers from outside: a loss calls a layer that is no part of the model. Its arrays are constants
of the program, and are never trained.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from wengert.core.words.warn import warn_user
from wengert.errors import UntrainedWarning
from wengert.runtime.outside.outside_layers import outside_layer
from wengert.runtime.outside.watch import Watch


def warn_of_outside_layers(watch: Watch, model: Any, given: Collection[Any]) -> None:
    """Warn where a program has float arrays of a layer that is not in the model. What the model was
    made with, `given`, is told of where no gradient reaches it.
    """
    layer = outside_layer(watch, model, given)
    if layer is None:
        return
    where = "" if layer.line is None else f" ({layer.line})"
    warn_user(
        f"TrainStep: the loss calls {layer.label}, a {layer.kind} from outside of the model; "
        f"{layer.said}. Put it into the model, as in {{{layer.name!r}: …, 'rest': …}}; if it is to "
        f"stay as it is, do the same and give its paths no optimizer: {{{layer.name + '.*'!r}: "
        f"None, '*': …}}.{where}",
        UntrainedWarning,
        layer.line,
    )
