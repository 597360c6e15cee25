"""Loaders and other iterables of batches that are given in the place of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from wengert.core import tree

# With the items of one index each as rows: a data set. Those of others give batches, or dicts.
_TORCH = "torch.utils.data"
_LIBRARIES = (_TORCH, "tensorflow.python.data", "keras.", "datasets.", "grain.")


def refuse_loader(by: str, names: Sequence[str], arguments: Sequence[Any]) -> None:
    """Refuse an argument that gives batches one after the other, or rows by their numbers, and say
    how these are used. All else that can be iterated over or indexed is refused where it stands
    alone: beside arrays it may be a setting of the loss.
    """
    alone = not tree.leaves(tuple(arguments))
    for name, x in zip(names, arguments, strict=True):
        if is_loader(x) or (alone and (_gives_items(x) or is_data_set(x))):
            gives = "rows by number" if is_data_set(x) else "rows or batches one after the other"
            raise TypeError(
                f"{by}: argument {name!r} is {type(x).__name__}, which gives {gives}; data are "
                f"arrays of all rows. {advice_of_loader(by, x)}."
            )


def advice_of_loader(by: str, x: Any) -> str:
    """What to write for a loader or a data set."""
    if is_data_set(x):
        return (
            "Stack its items once, x, y = map(np.stack, zip(*(data[i] for i in range(len(data))))),"
            " and pass x and y"
        )
    owner, _, method = by.removeprefix("Train").lower().partition(".")
    if method == "evaluate":
        return f"Pass arrays, or write g = {owner}.bind(f), and for x, y in loader: g(x, y)"
    called = owner if owner in ("step", "ensemble") else "step"
    return f"Pass arrays with batch_size=32, or write for x, y in loader: {called}(x, y)"


def is_loader(x: Any) -> bool:
    """Whether something is an iterator, or a loader or data set of a library that has them."""
    return isinstance(x, Iterator) or _is_of(x, _LIBRARIES)


def is_data_set(x: Any) -> bool:
    """Whether something gives rows by their numbers, as a data set of torch does or one that is
    written like that; not all that can be indexed, as a list or a frame.
    """
    kind = type(x)
    if not hasattr(kind, "__getitem__") or not hasattr(kind, "__len__") or hasattr(x, "shape"):
        return False
    return _is_of(x, (_TORCH,)) or not (hasattr(kind, "__iter__") or _is_of(x, _LIBRARIES))


def _is_of(x: Any, libraries: tuple[str, ...]) -> bool:
    return any(f"{kind.__module__}.".startswith(libraries) for kind in type(x).__mro__)


def _gives_items(x: Any) -> bool:
    containers = (str, bytes, Mapping, Set, list, tuple, range)
    return hasattr(type(x), "__iter__") and not isinstance(x, containers)
