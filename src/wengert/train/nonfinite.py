"""Why a step refused a batch: the op that made a number which is not finite, and the parameter or
result that it reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import NonFiniteError, ShapeError, WengertError
from wengert.runtime.live import is_live
from wengert.runtime.provenance import Cause, error_of, locate
from wengert.runtime.signature import bound_sizes
from wengert.train.step_function import AUX, LOSS, Plan
from wengert.train.step_programs import Programs
from wengert.train.storage import Segment

REPORT = "the report"


@dataclass(frozen=True)
class Place:
    """An array of a program: what messages call it, and the segment it is of, if it is one."""

    name: str
    segment: Segment | None = None

    def at(self, index: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        """What messages call an element: the parameter it is of, and its index there."""
        if self.segment is None or not index:
            return self.name, index
        for p in self.segment.parameters:
            if p.offset <= index[0] < p.offset + p.size:
                within = np.unravel_index(index[0] - p.offset, p.shape)
                return f"{self.name} {p.path!r}", tuple(int(i) for i in within)
        return self.name, index


def explain_nonfinite(
    plan: Plan, programs: Programs, own: Sequence[Any], batch: Sequence[Any]
) -> WengertError:
    """The error for a call that would have made something that is not finite."""
    if _has_no_rows(batch):
        return ShapeError("TrainStep: the batch is empty; at least one row is needed. Pass some.")
    try:
        executable = programs.find(own, batch).executable(*own, *batch)
    except WengertError:  # a loss that branches on values runs op by op only
        return _unexplained()
    arrays = tree.distinct_leaves(executable.signature.with_static((*own, *batch)))[0]
    sizes = bound_sizes(executable.input_types, [np.shape(x) for x in arrays]) or {}
    inputs = _inputs(plan, executable.signature.names)
    results = list(_outputs(plan, executable.signature.returned))
    names = [place.name for place in inputs]
    # First what the user sees: the loss, then gradients, then the rest.
    order = sorted(range(len(results)), key=lambda i: results[i][0])
    only_norm = False
    for position in order:
        cause = locate(executable.graph, arrays, names, sizes, position)
        if cause is not None and _is_norm(results[position][1], cause):
            only_norm = True  # of a gradient that is not finite, it says less
        elif cause is not None:
            return _error(cause, results[position][1], inputs)
    return _norm_beyond_floats() if only_norm else _unexplained()


def _has_no_rows(batch: Sequence[Any]) -> bool:
    """Whether all arrays of a batch that have rows have none."""
    counts = [x.shape[0] for x in tree.leaves(tuple(batch)) if np.ndim(x) and not is_live(x)]
    return bool(counts) and not any(counts)


def _norm_beyond_floats() -> NonFiniteError:
    return NonFiniteError(
        "TrainStep: the norm of all gradients together is above the largest float, "
        f"{np.finfo(np.float64).max:.4g}, while each gradient is finite; the norm must be finite, "
        "too. Scale the loss down, or pass nonfinite='ignore'."
    )


def _unexplained() -> NonFiniteError:
    return NonFiniteError(
        "TrainStep: the loss, aux, a gradient or an update is not finite; nonfinite='raise' "
        "refuses that. Check the batch, or pass nonfinite='skip'."
    )


def _is_norm(result: Place, cause: Cause) -> bool:
    return result.name == REPORT and cause.result_index != (LOSS,)


def _error(cause: Cause, result: Place, inputs: Sequence[Place]) -> NonFiniteError:
    parameter, index = None, cause.result_index
    if result.name == REPORT:
        name, index = "the loss", ()
    else:
        parameter = _path_of(result, index)
        name, index = result.at(index)
    given = next((place for place in inputs if place.name == cause.argument), None)
    if given is not None:
        argument, within = given.at(cause.index)
        cause = replace(cause, argument=argument, index=within)
    cause = replace(cause, result_index=index)
    error = error_of(cause, name, None, "TrainStep")
    if error.parameter is None:
        error.parameter = parameter
    return error


def _path_of(place: Place, index: tuple[int, ...]) -> str | None:
    if place.segment is None or not index:
        return None
    parameters = place.segment.parameters
    return next(p.path for p in parameters if p.offset <= index[0] < p.offset + p.size)


def _inputs(plan: Plan, names: Sequence[str]) -> list[Place]:
    """The arrays a program takes, in their order; batch arguments by the names they have."""
    trained, storage = plan.storage.trained, plan.storage
    weights = [Place("the parameter", segment) for segment in trained]
    states = [Place(f"{name} of", segment) for segment, name in plan.states]
    count = plan.carried.count if plan.carried else 0
    carried = [Place(f"state {i}") for i in range(count)]
    gradients = [Place("the gradient of", segment) for segment in trained]
    frozen = [Place("the frozen parameter", segment) for segment in storage.frozen]
    data = [Place(storage.paths[place][0]) for place in storage.data]
    extents = [Place("the extents of states")] if plan.bounded else []
    known = [*weights, *states, *carried, Place("the counts"), *extents, *gradients, *frozen]
    known += [*data, Place("the key"), Place("whether states were seen"), Place("the scalars")]
    return [*known, *(Place(name) for name in names[len(known) :])]


def _outputs(plan: Plan, returned: tree.Structure) -> Iterator[tuple[int, Place]]:
    """The arrays a program returns, each with its rank in messages."""
    count = plan.carried.count if plan.carried else 0
    trained = plan.storage.trained
    yield from ((3, Place("the new value of", segment)) for segment in trained)
    yield from ((4, Place(f"the new {name} of", segment)) for segment, name in plan.states)
    yield from ((5, Place("the state")) for _ in range(count))
    yield 6, Place("the counts")
    yield from ((7, Place("the extents of states")) for _ in plan.bounded[:1])
    yield from ((1, Place("the gradient of", segment)) for segment in trained)
    yield 0, Place(REPORT)
    marks = tree.unflatten(returned, [np.empty(0)] * returned.count)
    yield from ((2, Place(f"aux {path}".strip())) for path in tree.paths(marks[AUX]))
