"""What a step in place needs: checks of what it is given, and the state of one parameter."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.api.by_hand.building import Container
from wengert.api.by_hand.graph import Graph
from wengert.core import tree
from wengert.core.dtypes import FLOATS
from wengert.core.table import op
from wengert.errors import NonFiniteError, OptimError
from wengert.optim.parameters import require_shape


@dataclass(frozen=True)
class ParameterState:
    """What is kept of one parameter: how often it was updated, and arrays of its shape."""

    count: int
    arrays: dict[str, Any]

    def require_fitting(self, by: str, parameter_id: Hashable, weights: Any) -> None:
        """Refuse weights of another shape or dtype than those before."""
        for array in self.arrays.values():
            if array.shape != weights.shape or array.dtype != weights.dtype:
                raise OptimError(
                    f"{by}: {parameter_id!r} has weights {weights.dtype}{list(weights.shape)} and "
                    f"state for {array.dtype}{list(array.shape)}; an id stands for one parameter. "
                    "Use another id, or clear_state()."
                )


def owned(arrays: dict[str, Any], *others: Any) -> dict[str, Any]:
    """The arrays; those that share memory with arrays which are not the optimizer's are copied."""
    return {
        name: np.array(x)
        if isinstance(x, np.ndarray) and any(_overlap(x, other) for other in others)
        else x
        for name, x in arrays.items()
    }


def _overlap(x: Any, other: Any) -> bool:
    return isinstance(other, np.ndarray) and np.may_share_memory(x, other)


def require_id(by: str, parameter_id: Any) -> None:
    """Refuse ids that state cannot be kept under."""
    try:
        hash(parameter_id)
    except TypeError:
        raise OptimError(
            f"{by}: given the id {parameter_id!r}, which has no hash; state is kept under it. "
            "Use a string, a number or a tuple."
        ) from None


def require_weights(by: str, name: str, weights: Any, otherwise: str) -> None:
    """Refuse what cannot be updated in place; `otherwise` is what returns new arrays."""
    fault, repair = None, "Pass a writable float32 or float64 array"
    if isinstance(weights, np.float32 | np.float64):
        fault = f"are a NumPy scalar, {type(weights).__name__}"
        repair = f"Write np.array({weights}, np.{weights.dtype}), an array without axes"
    elif not isinstance(weights, np.ndarray):
        fault = f"are of type {type(weights).__name__}"
    elif weights.dtype not in FLOATS:
        fault = f"have dtype {weights.dtype}"
    elif not weights.flags.writeable:
        fault = "are read-only"
    if fault is not None:
        raise OptimError(
            f"{by}: the weights of {name} {fault}; they are changed in place. "
            f"{repair}, or use {otherwise}."
        )


def usable_gradient(by: str, parameter_id: Hashable, weights: Any, grad: Any) -> Any:
    """The gradient as an array of the weights' dtype and shape."""
    array = np.asarray(grad)
    if array.dtype.kind not in "fiu":
        raise OptimError(
            f"{by}: the gradient of {parameter_id!r} has dtype {array.dtype}; real numbers are "
            "needed. Pass a float array."
        )
    require_shape(by, repr(parameter_id), weights, array)
    with np.errstate(over="ignore"):  # found as not finite afterwards
        return array.astype(weights.dtype, copy=False)


def nonfinite_part(
    by: str, parameter_id: Hashable, grad: Any, weights: Any, arrays: dict[str, Any]
) -> NonFiniteError | None:
    """The error to raise if the gradient, the new weights or a new state is not finite;
    else None.
    """
    parts = {"the gradient": grad, "the new value": weights}
    parts |= {f"the new {name}": array for name, array in arrays.items()}
    for what, array in parts.items():
        finite = np.isfinite(array)
        if not finite.all():
            index = np.unravel_index(int(np.argmin(finite)), np.shape(array))
            place = f" at index {tuple(map(int, index))}" if index else ""
            return NonFiniteError(
                f"{by}: {what} of {parameter_id!r} is {np.asarray(array)[index]}{place}; it must "
                "be finite. Nothing was changed; pass nonfinite='skip' to pass over such steps."
            )
    return None


def graph_parameters(by: str, graph: Any, node: Any) -> list[int]:
    """The numbers of the parameters that a handle stands for: one, or those of a tree."""
    if not isinstance(graph, Graph):
        raise OptimError(
            f"{by}: given {type(graph).__name__}; step_graph_node works on a wg.Graph. "
            "Use step for plain arrays."
        )
    handles = tree.leaves(node.tree) if isinstance(node, Container) else [node]
    numbers = [graph.number(handle) for handle in handles]
    parameters = [number for number in numbers if graph.nodes[number].op is op.parameter]
    if not parameters or (len(parameters) < len(numbers) and not isinstance(node, Container)):
        kind = graph.nodes[numbers[0]].op.name if numbers else "an empty tree"
        raise OptimError(
            f"{by}: given node {numbers[0] if numbers else 'of none'} ({kind}); only parameters "
            "are trained. Make it with g.parameter."
        )
    return parameters
