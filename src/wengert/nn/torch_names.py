"""Weights under the names of torch's `state_dict`, for models written with the layers of `wg.nn`.

A layer says in `torch_names` what torch calls its parameters, where that differs, or parameters of
layers in it, by their path; all other names are those of the model's fields. The layers of a
Sequential are known by number, in torch too.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import is_float
from wengert.core.words.arguments import worded
from wengert.core.words.foreign_names.nearest import likeness
from wengert.core.words.noticed.loaded_models import note_loaded
from wengert.errors import ShapeError
from wengert.nn.normalization import BatchNorm
from wengert.nn.sequential import Sequential

Model = TypeVar("Model")
_RUNNING = ("running_mean", "running_var", "num_batches_tracked")
_SHOWN = 6  # names in a message
_COMPARED = 200  # names that are looked at for the likeliest pair


@worded
def from_torch_names(model: Model, tensors: Mapping[str, Any]) -> Model:
    """The model with the arrays of a torch `state_dict`, such as `wg.load` reads from a safetensors
    file.

    Every parameter of the model must be there in its shape, and nothing besides, but for what a
    BatchNorm of torch counts: `running_statistics` reads that. Arrays are copied, in the dtypes of
    the model. What is tied there stays tied: one of its names is enough, and under several of them
    the values must be the same.

    >>> model = wg.nn.Sequential(wg.nn.Linear(2, 3), "relu", wg.nn.LayerNorm(3))
    >>> tensors = {
    ...     "0.weight": np.ones((3, 2)), "0.bias": np.zeros(3),
    ...     "2.weight": np.full(3, 2.0), "2.bias": np.zeros(3),
    ... }
    >>> wg.nn.from_torch_names(model, tensors)[2].scale
    array([2., 2., 2.], dtype=float32)
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(
            f"from_torch_names: tensors is {type(tensors).__name__}; it must be a dictionary of "
            "arrays by name. Write wg.load(path) for a safetensors file."
        )
    leaves, structure = tree.flatten(model)
    known = [_torch_name(model, path) for path in tree.paths(model)]
    names, counted = (
        [name for name, _ in known],
        {prefix for _, prefix in known if prefix is not None},
    )
    ignored = {f"{prefix}{name}" for prefix in counted for name in _RUNNING}
    tied: dict[int, list[str]] = {}  # the names of each array
    for name, x in zip(names, leaves, strict=True):
        tied.setdefault(id(x), []).append(name)
    missing = [same[0] for same in tied.values() if not any(name in tensors for name in same)]
    extra = [name for name in tensors if name not in names and name not in ignored]
    if missing or extra:
        raise _unlike(missing, extra)
    arrays = {id(x): x for x in leaves}
    made = {key: _filled(same, tensors, arrays[key]) for key, same in tied.items()}
    filled: Model = tree.unflatten(structure, [made[id(x)] for x in leaves])
    note_loaded(
        "from_torch_names: given a model, which stays as it is; a new one with the weights was "
        "returned, and nothing reads it.",
        "wg.nn.from_torch_names({}, tensors)",
        model,
        leaves,
        [*made.values()],
    )
    return filled


def _torch_name(model: Any, path: str) -> tuple[str, str | None]:
    """What torch calls the parameter at a path, and for one of a BatchNorm how its names begin."""
    parts: list[str] = []
    node, prefix = model, None
    path_parts = path.split(".")
    for number, part in enumerate(path_parts):
        renamed = getattr(type(node), "torch_names", {})
        if isinstance(node, BatchNorm):
            prefix = "".join(f"{each}." for each in parts)
        rest = ".".join(path_parts[number:])
        if rest in renamed:
            parts.append(renamed[rest])
            break
        if not (isinstance(node, Sequential) and part == "layers"):
            parts.append(renamed.get(part, part))
        node = _part(node, part)
    return ".".join(parts), prefix


def _part(node: Any, name: str) -> Any:
    if isinstance(node, Mapping):
        return next(value for key, value in node.items() if str(key) == name)
    if isinstance(node, list | tuple) and name.isdigit():
        return node[int(name)]
    return getattr(node, name)


def _filled(names: list[str], tensors: Mapping[str, Any], like: Any) -> Any:
    """The array that has these names, several where it is tied."""
    there = [name for name in names if name in tensors]
    first, *others = (_fitted(name, tensors[name], like) for name in there)
    for name, x in zip(there[1:], others, strict=True):
        if not np.array_equal(first, x, equal_nan=is_float(first.dtype)):
            raise ValueError(
                f"from_torch_names: {there[0]} and {name} differ; in the model they are tied, one "
                "array at both places. Leave one of them out of the dictionary, or make a model "
                "with an array for each."
            )
    return first


def _fitted(name: str, given: Any, like: Any) -> Any:
    if hasattr(given, "detach"):  # a tensor of torch itself, maybe a parameter that is trained
        given = given.detach().cpu()
        given = given.float() if str(given.dtype) == "torch.bfloat16" else given
    x = np.asarray(given)
    if x.shape != tuple(like.shape):
        raise ShapeError(
            f"from_torch_names: {name} has shape {x.shape}; the model has {tuple(like.shape)} "
            "there. Make the model with the sizes of the weights."
        )
    return np.array(x, like.dtype)


def _unlike(missing: list[str], extra: list[str]) -> ValueError:
    """The error for names that do not fit, with the likeliest pair."""
    told = []
    if missing:
        told.append(f"there is no {_listed(missing)}")
    if extra:
        told.append(f"the model has no place for {_listed(extra)}")
    likeliest = _likeliest(missing, extra)
    pair = " Is {1} meant for {0}?".format(*likeliest) if likeliest else ""
    return ValueError(
        f"from_torch_names: {' and '.join(told)}; names must be those of the model's fields, and "
        f"each must be there once.{pair} Rename them in the dictionary, or change the model."
    )


def _likeliest(missing: list[str], extra: list[str]) -> tuple[str, str] | None:
    """Of the missing names that are shown and those that are too many, the two that end with the
    most parts in common; of several such, the two that are most alike.
    """
    pairs = [(ours, theirs) for ours in missing[:_SHOWN] for theirs in extra[:_COMPARED]]
    if not pairs:
        return None
    return max(pairs, key=lambda pair: (_shared_end(*pair), likeness(*pair)))


def _shared_end(a: str, b: str) -> int:
    """How many parts two names have in common at their ends."""
    parts = zip(reversed(a.split(".")), reversed(b.split(".")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


@worded
def running_statistics(tensors: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """The state of a BatchNorm from a torch `state_dict`: mean and variance under this name.

    >>> tensors = {"bn.running_mean": np.zeros(2), "bn.running_var": np.ones(2)}
    >>> wg.nn.running_statistics(tensors, "bn")
    {'mean': array([0., 0.]), 'var': array([1., 1.])}
    """
    prefix = f"{name}." if name else ""
    keys = {"mean": f"{prefix}running_mean", "var": f"{prefix}running_var"}
    if any(key not in tensors for key in keys.values()):
        there = [key.removesuffix(".running_mean") for key in tensors if "running_mean" in key]
        raise ValueError(
            f"running_statistics: there is no {' and '.join(keys.values())}; running statistics "
            f"are there for {_listed(there) if there else 'no layer'}. Choose one of these names."
        )
    return {ours: np.array(tensors[key]) for ours, key in keys.items()}
