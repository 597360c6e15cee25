"""The parameters of a tree: float leaves by path, of which a tied one counts once."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes, tree
from wengert.core.words.warn import warn_user
from wengert.errors import MissingGradient, OptimError, UntrainedWarning


def _is_parameter(leaf: Any) -> bool:
    return dtypes.is_float(leaf.dtype)


def named(path: str) -> str:
    """What messages call the parameter at a path. Where the tree is a single array, its path is
    empty.
    """
    return repr(path) if path else "the tree"


def parameters_of(by: str, model: Any) -> dict[str, Any]:
    """The float leaves by path; an array at several paths has the first of them."""
    by_path: dict[str, Any] = {}
    seen: set[int] = set()
    for path, leaf in zip(tree.paths(model), tree.leaves(model), strict=True):
        if not _is_parameter(leaf) or id(leaf) in seen:
            continue
        if path in by_path:
            raise OptimError(
                f"{by}: the path {path!r} was given twice; a parameter is known by its path. "
                "Rename a key that has a dot in it."
            )
        dtypes.require_supported(by, named(path), leaf.dtype)
        seen.add(id(leaf))
        by_path[path] = leaf
    return by_path


def leaves_in(x: Any) -> list[Any]:
    """The leaves of an argument; none of what is no tree of arrays: that is said where it is
    used.
    """
    try:
        return tree.leaves(x)
    except Exception:
        return []


def leaf_name(path: str, tree_name: str) -> str:
    """What messages call a leaf. Where the tree is a single array, its path is empty."""
    return f"leaf {path!r} of the {tree_name}" if path else f"the {tree_name}"


def warn_of_floats(by: str, called: str, model: Any, dtype: Any) -> None:
    """Warn of Python floats that stand where parameters could, given the dtype that these have."""
    floats = tree.floats_beside_arrays(model)
    if not floats:
        return
    (path, x), more = floats[0], len(floats) - 1
    others = f"; so {'is' if more == 1 else 'are'} {more} more" if more else ""
    warn_user(
        f"{by}: {leaf_name(path, called)} is the Python float {x!r}{others}. A Python "
        "number is part of the program and is not trained. Write "
        f"np.{dtype}({x!r}) to train it; if it is a setting, keep it in the loss, or in a "
        "field of a dataclass.",
        UntrainedWarning,
    )


def replaced(model: Any, values: dict[str, Any]) -> Any:
    """The tree with other values for its parameters; what was tied stays tied."""
    leaves, structure = tree.flatten(model)
    by_leaf: dict[int, Any] = {}
    for path, leaf in zip(tree.paths(model), leaves, strict=True):
        if path in values and _is_parameter(leaf):
            by_leaf.setdefault(id(leaf), values[path])
    return tree.unflatten(structure, [by_leaf.get(id(leaf), leaf) for leaf in leaves])


def gradients_for(by: str, parameters: dict[str, Any], grads: Any) -> dict[str, Any]:
    """The gradient of every parameter, by path, checked for its shape."""
    by_path = dict(zip(tree.paths(grads), tree.leaves(grads), strict=True))
    for path, weights in parameters.items():
        if path not in by_path:
            raise MissingGradient(
                f"{by}: the gradients have no array for {named(path)}; every parameter needs one. "
                f"{_instead_of_pair(parameters, grads)}."
            )
        require_shape(by, named(path), weights, by_path[path])
    return {path: by_path[path] for path in parameters}


def _instead_of_pair(parameters: dict[str, Any], grads: Any) -> str:
    """What to pass: a pair may have the gradients beside another result."""
    if isinstance(grads, tuple) and len(grads) == 2:
        shapes = {(path, np.shape(x)) for path, x in parameters.items()}
        first, second = (
            shapes <= set(zip(tree.paths(g), map(np.shape, tree.leaves(g)), strict=True))
            for g in grads
        )
        if first and not second:
            return "Take the pair apart: grads, norm = wg.optim.clip_by_global_norm(grads, 1.0)"
        if second and not first:
            return "Take the pair apart: value, grads = wg.value_and_grad(f)(model)"
    return "Pass what wg.grad returns for this tree"


def require_shape(by: str, name: str, weights: Any, grad: Any) -> None:
    """Refuse a gradient of another shape than its parameter's."""
    if tuple(grad.shape) != tuple(weights.shape):
        raise OptimError(
            f"{by}: the gradient of {name} has shape {tuple(grad.shape)} and its weights have "
            f"shape {tuple(weights.shape)}; the two must be equal. Pass the gradient of these "
            "weights."
        )
