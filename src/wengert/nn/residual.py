"""Residual: what goes in, added to what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from wengert.core.bind import located
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import ShapeError
from wengert.nn.sequential import Sequential, refuse_another_layer
from wengert.nn.showing import shown_layers


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Residual(Explained):
    """x plus what a layer makes of it; of several layers, what the last one makes.

    A layer is what a Sequential takes, and `rng` goes to those that have such an argument. With
    `shortcut`, another layer, x goes through that before it is added: for sizes that change. The
    layers are `block[0]`, `block[1]` and so on, of the Sequential `block.body`.

    >>> block = wg.nn.Residual(wg.nn.Linear(4, 4, init="zeros"), "relu")
    >>> block(np.ones(4, np.float32))
    array([1., 1., 1., 1.], dtype=float32)
    >>> len(block), block[0] is block.body[0]
    (2, True)
    """

    body: Sequential
    shortcut: Any  # a layer, or None: x as it is

    def __init__(self, *layers: Callable[..., Any] | str, shortcut: Any = None) -> None:
        self.body = Sequential(*layers)
        self.shortcut = None if shortcut is None else Sequential(shortcut)

    def __call__(self, x: Value, rng: Any = None) -> Value:
        x = op.asarray(x)
        y = self.body(x, rng)
        kept = x if self.shortcut is None else self.shortcut(x, rng)
        if tuple(y.shape) != tuple(kept.shape):
            error = ShapeError(
                f"Residual: the layers make shape {tuple(y.shape)} of {tuple(kept.shape)}; what is "
                "added must have the same. Pad them, or give a layer as shortcut=."
            )
            raise located(error, [x])
        return kept + y

    def __getitem__(self, number: int) -> Callable[..., Any]:
        return self.body[number]

    def __setitem__(self, number: Any, layer: Any) -> NoReturn:
        refuse_another_layer("Residual", number, layer)

    def __len__(self) -> int:
        return len(self.body)

    def __repr__(self) -> str:
        return shown_layers("Residual", self.body.layers, self._named())

    def _named(self) -> dict[str, Any]:
        return {} if self.shortcut is None else {"shortcut": self.shortcut[0]}
