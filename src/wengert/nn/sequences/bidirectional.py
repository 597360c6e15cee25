"""Bidirectional: a recurrent layer along time, and another one back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.warn import warn_user
from wengert.errors import TiedWarning
from wengert.nn.sequences.sequence_arguments import TORCH_NAMES
from wengert.nn.showing import shown_parts


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Bidirectional(Explained):
    """Two recurrent layers over axis 0 of xs: `forward` along time and `backward` from the end.

    A layer is called as `hs, last = layer(xs, state)`, as GRU, LSTM and RNN are. The outputs of the
    same time stand side by side along the last axis, and the states are a pair. It needs the whole
    sequence: there is no step.

    >>> both = wg.nn.Bidirectional(wg.nn.GRU(3, 5), wg.nn.GRU(3, 5))
    >>> hs, (forward, backward) = both(np.ones((7, 2, 3), np.float32))
    >>> hs.shape, backward.shape
    ((7, 2, 10), (2, 5))
    """

    forward: Any
    backward: Any

    torch_names: ClassVar[dict[str, str]] = {
        f"{side}.{ours}": f"{theirs}{ending}"
        for side, ending in (("forward", ""), ("backward", "_reverse"))
        for ours, theirs in TORCH_NAMES.items()
    }

    def __init__(self, forward: Any, backward: Any) -> None:
        for name, layer in (("forward", forward), ("backward", backward)):
            if not callable(layer) or isinstance(layer, type):
                kind = f"the class {layer.__name__}" if isinstance(layer, type) else ""
                raise TypeError(
                    f"Bidirectional: {name} is {kind or type(layer).__name__}; it must be a "
                    "recurrent layer, such as wg.nn.GRU(3, 5). Make one for each direction."
                )
        if forward is backward:
            warn_user(
                f"Bidirectional: given one {type(forward).__name__} for both directions; it is one "
                "set of weights with one gradient. Make one for each, as in Bidirectional("
                "nn.GRU(3, 5), nn.GRU(3, 5)).",
                TiedWarning,
            )
        self.forward, self.backward = forward, backward

    def __call__(self, xs: Value, state: Any = None) -> tuple[Value, tuple[Any, Any]]:
        ahead, back = (None, None) if state is None else state
        hs, last = self.forward(xs, ahead)
        turned, first = self.backward(op.flip(op.asarray(xs), axis=0), back)
        return op.concat([hs, op.flip(turned, axis=0)], axis=-1), (last, first)

    def __repr__(self) -> str:
        return shown_parts(self)
