"""A function with its gradient, looked at while it is recorded for a search: for what the search
does not change although the function computes with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from types import CellType
from typing import Any

from wengert.api.derivatives import looked_at_value_and_grad
from wengert.api.trace import argument_names
from wengert.core import tree
from wengert.core.bind import located
from wengert.core.dtypes import is_float
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.articles import with_article
from wengert.core.words.warn import warn_user
from wengert.errors import DropoutWarning, TraceError, UnreachedWarning, UntrainedWarning
from wengert.functions.dropout import noting_idle_dropout
from wengert.interpret.mistakes.used_values import used_as_floats, used_by
from wengert.optim.parameters import leaf_name, named
from wengert.optim.quasi_newton.read_starts import warn_of_read_start
from wengert.optim.quasi_newton.searched_layers import is_layer, outside_layer
from wengert.runtime.outside.watch import Watch

_BY = "LBFGS.minimize"
_SHOWN = 3  # so many paths are named


def require_numbers(function: Callable[..., Any], args: Sequence[Any], trees: Any) -> None:
    """Refuse a search inside a derivative or a program, on whose Tensors it would depend: by its
    arguments, or by what the function has from outside.
    """
    cells = getattr(function, "__closure__", None) or ()
    outside = [cell.cell_contents for cell in cells if _is_filled(cell)]
    tensors = [x for x in (*outside, *args, *tree.leaves(trees)) if type(x) is Tensor]
    if tensors:
        raise located(refused_tensor(), tensors[:1])


def require_single_arguments(
    function: Callable[..., Any], weights: Any, args: Sequence[Any]
) -> None:
    """Refuse a tuple of all arguments, as SciPy takes it, where the function takes them one by
    one.
    """
    if len(args) != 1 or not isinstance(args[0], tuple | list):
        return
    if not _takes(function, weights, *args) and _takes(function, weights, *args[0]):
        kind, count = type(args[0]).__name__, len(args[0])
        names = ", ".join(argument_names(function, 1 + count)[1:])
        raise TypeError(
            f"{_BY}: given a {kind} of {count} behind the tree, and the function takes {names} "
            "there; each is an argument of its own. Pass what the function takes behind the tree: "
            "minimize(function, tree, x, y)."
        )


def _takes(function: Callable[..., Any], *args: Any) -> bool:
    try:
        inspect.signature(function).bind(*args)
    except TypeError:
        return False
    except ValueError:  # it has no signature that could be read
        return True
    return True


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # of a variable that has no value yet
        return False


def refused_tensor() -> TraceError:
    """The refusal of a search that a transformation is around."""
    return TraceError(
        f"{_BY}: given a Tensor of a function that is differentiated, recorded or mapped; a search "
        "runs on numbers, and its steps have no derivative. Give its result the derivative of an "
        "implicit function with wg.custom_vjp, as docs/how-to/implicit-derivatives.md does, "
        "outside of compiled functions; or, where it is only differentiated, detach what it "
        "depends on with wg.stop_gradient(x)."
    )


def searched(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that gives value and gradient, and warns where it is recorded."""
    f = function

    @wraps(f)
    def both(*args: Any) -> Any:
        with noting_idle_dropout() as idle:
            value, gradient, leaves, raw = looked_at_value_and_grad(_BY, f, args)
        _warn_of_unused(args[0], value, leaves, raw)
        warn_of_read_start(_BY, args, value, leaves, raw)
        for line in dict.fromkeys(call.line for call in idle):
            warn_user(
                f"dropout: given no rng in the function of {_BY}; without one it drops nothing. "
                "Leave the dropout out, or draw the same in every evaluation: pass it "
                "wg.random.Generator(wg.random.key(0)).",
                DropoutWarning,
                line,
            )
        return value, gradient

    return both


def _warn_of_unused(
    weights: Any, value: Value, leaves: Sequence[Value], gradients: Sequence[Value | None]
) -> None:
    """Warn of integers that are used as floats, and of floats that no gradient comes back from."""
    paths: dict[int, str] = {}
    for path, x in zip(tree.paths(weights), tree.leaves(weights), strict=True):
        paths.setdefault(id(x), path)
    float_dtype = next((x.dtype for x in leaves if is_float(x.dtype)), None)
    for x in leaves:
        used, line = used_as_floats(x)
        if used:
            warn_user(
                f"{_BY}: {leaf_name(paths[id(x)], 'tree')} is an array of {x.dtype}, and the "
                "function computes with it as with floats; integers are data, and are not changed. "
                f"Make it an array of np.{float_dtype} to fit it; if it is data, pass it as an "
                "argument behind the tree, or convert it in the function, with astype.",
                UntrainedWarning,
                line,
            )
    floats = [(x, g) for x, g in zip(leaves, gradients, strict=True) if is_float(x.dtype)]
    without = [x for x, g in floats if g is None]
    if len(without) == len(floats):
        return  # the first gradient is all 0, which is told
    used_too = [x for x, used in zip(without, used_by([value], without), strict=True) if used]
    if used_too:
        names = ", ".join(named(paths[id(x)]) for x in used_too[:_SHOWN])
        more = f" and {len(used_too) - _SHOWN} more" if len(used_too) > _SHOWN else ""
        warn_user(
            f"{_BY}: the function computes with {names}{more}, and no gradient comes back from "
            "there: the search does not change it. Look for a comparison, as in np.where(t > t0, "
            "…), where a smooth step such as wg.sigmoid((t - t0) / width) is meant; for a "
            "rounding, an argmax, a conversion to integers or a wg.stop_gradient around too much. "
            "If it shall stay what it is, pass it as an argument behind the tree.",
            UnreachedWarning,
        )


def warn_of_layers_beside(watch: Watch, weights: Any) -> None:
    """Warn where layers are searched for and the function calls another one, from outside. Whoever
    searches for plain arrays may well ask a finished network about them.
    """
    if not _has_layers(weights):
        return
    layer = outside_layer(watch, weights)
    if layer is not None:
        where = "" if layer.line is None else f" ({layer.line})"
        warn_user(
            f"{_BY}: the function calls {layer.label}, {with_article(layer.kind)} from outside of "
            f"the tree; {layer.said}. Put it into the tree, as in {{{layer.name!r}: …, 'rest': …}};"
            f" if it is to stay as it is, pass it as an argument behind the tree.{where}",
            UntrainedWarning,
            layer.line,
        )


def _has_layers(x: Any) -> bool:
    """Whether a tree is a layer, or has one in its dicts, lists and tuples."""
    if isinstance(x, dict):
        x = list(x.values())
    return any(map(_has_layers, x)) if isinstance(x, list | tuple) else is_layer(x)
