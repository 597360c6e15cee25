"""Models that are given to a run among its data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import ShapeError


def refuse_model(
    by: str, names: Sequence[str], arguments: Sequence[Any], whole: Sequence[bool]
) -> None:
    """Refuse an argument whose arrays are most likely the parameters of a model, and say how a
    target network is given. `whole` says of each array whether it is passed on as it is, and has no
    rows.
    """
    is_whole = iter(whole)
    counts = [[len(leaf) for leaf in tree.leaves(x) if not next(is_whole)] for x in arguments]
    for k, (name, x) in enumerate(zip(names, arguments, strict=True)):
        others = Counter(rows for each in (*counts[:k], *counts[k + 1 :]) for rows in each)
        if not others or tree.is_leaf(x):
            continue
        if _is_model(x, counts[k], others.most_common(1)[0][0]):
            lengths = ", ".join(map(str, sorted({*counts[k]})))
            raise ShapeError(
                f"{by}: argument {name!r}, a tree of type {type(x).__name__}, has "
                f"{len(counts[k])} arrays of {lengths} rows, like the parameters of a model; "
                "the arguments are data, with one row per sample, of which each batch has some. "
                "Give a target network in another way: as the parameter averaged of the loss, with "
                "wg.optim.EMA; in the state= that the step carries; or as an argument of "
                "single calls, step(…), for each batch. If these are data, cut them to one length."
            )


def advice_of_network(names: Sequence[str], arguments: Sequence[Any]) -> str:
    """What to do with an argument that is a network, all of whose arrays have as many rows; nothing
    where there is none: data come in arrays, and in containers of Python.
    """
    for name, x in zip(names, arguments, strict=True):
        if not tree.is_leaf(x) and is_dataclass(x) and callable(x):
            return (
                f"If {name!r} is a network, which each batch needs whole, pass the live model of "
                "another step, other.model, or call the step for each batch. If it holds data, cut "
                "them to one length."
            )
    return ""


def advice_of_whole(names: Sequence[str], arguments: Sequence[Any], whole: Sequence[bool]) -> str:
    """What to do with an array that has other rows than all others, which agree, and is hardly
    data: they must not be cut to its length. Nothing where there is none.
    """
    is_whole = iter(whole)
    counts = [{len(leaf) for leaf in tree.leaves(x) if not next(is_whole)} for x in arguments]
    found: list[tuple[str, Any]] = []
    for k, (name, x) in enumerate(zip(names, arguments, strict=True)):
        others = set().union(*counts[:k], *counts[k + 1 :])
        if len(others) != 1 or not counts[k] or not tree.is_leaf(x):
            continue
        if _goes_along_columns(x, [*arguments[:k], *arguments[k + 1 :]]):
            found.insert(0, (name, x))  # which says more than a number of rows does
        elif 2 * len(x) < min(others) or (_is_square(x) and len(x) < min(others)):
            found.append((name, x))
    for name, x in found:
        if x.dtype == np.uint32 and x.shape == (2,):
            return (
                f"If {name!r} is a key, give the loss a parameter rng instead: each step has one."
            )
        return (
            f"If {name!r} is no data, and each batch needs it whole, give it in another way: in "
            "the state= that the step carries, as a variable that the loss reads from outside, or "
            "as an argument of single calls, step(…). If it holds data, cut them to one length."
        )
    return ""


def _goes_along_columns(x: Any, others: Sequence[Any]) -> bool:
    """Whether an array has as many rows as one beside it has columns, as times do."""
    return any(len(x) in np.shape(leaf)[1:] for leaf in tree.leaves(list(others)))


def _is_square(x: Any) -> bool:
    return len(x.shape) == 2 and len({*x.shape}) == 1


def _is_model(x: Any, counts: Sequence[int], rows: int) -> bool:
    """Whether the arrays of a tree have different numbers of rows, and not those of the data beside
    it. Containers of Python may well be data, one array of which was cut wrongly: of these, most
    arrays must be others.
    """
    fitting = sum(count == rows for count in counts)
    is_container = isinstance(x, dict | list | tuple)
    return len({*counts}) > 1 and (not is_container or 2 * fitting < len(counts))
