"""Loaders and other iterables of batches that are given in the place of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from wengert.core import tree

_LIBRARIES = ("torch.utils.data", "tensorflow.python.data", "keras.", "datasets.", "grain.")


def refuse_loader(by: str, names: Sequence[str], arguments: Sequence[Any]) -> None:
    """Refuse an argument that gives batches one after the other, and say how these are used. All
    else that can be iterated over is refused where it stands alone: beside arrays it may be a
    setting of the loss.
    """
    alone = not tree.leaves(tuple(arguments))
    for name, x in zip(names, arguments, strict=True):
        if is_loader(x) or (alone and _gives_items(x)):
            raise TypeError(
                f"{by}: argument {name!r} is {type(x).__name__}, which gives rows or batches one "
                f"after the other; data are arrays of all rows. {advice_of_loader(by)}."
            )


def advice_of_loader(by: str) -> str:
    """What to write for a loader."""
    owner, _, method = by.removeprefix("Train").lower().partition(".")
    if method == "evaluate":
        return f"Pass arrays, or write g = {owner}.bind(f), and for x, y in loader: g(x, y)"
    called = owner if owner in ("step", "ensemble") else "step"
    return f"Pass arrays with batch_size=32, or write for x, y in loader: {called}(x, y)"


def is_loader(x: Any) -> bool:
    """Whether something is an iterator, or a loader or data set of a library that has them."""
    kinds = [f"{kind.__module__}." for kind in type(x).__mro__]
    return isinstance(x, Iterator) or any(kind.startswith(_LIBRARIES) for kind in kinds)


def _gives_items(x: Any) -> bool:
    containers = (str, bytes, Mapping, Set, list, tuple, range)
    return hasattr(type(x), "__iter__") and not isinstance(x, containers)
