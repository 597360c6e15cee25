"""Why a step refused a batch: the op that made a number which is not finite, and the parameter or
result that it reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import NonFiniteError, ShapeError, WengertError
from wengert.runtime.origins.provenance import Cause, error_of, locate
from wengert.runtime.origins.provenance_values import NameOfMany
from wengert.runtime.outside.live import is_live
from wengert.runtime.signature import bound_sizes
from wengert.train.batch import ROWS
from wengert.train.live_programs import LivePrograms
from wengert.train.recorded.step_arrays import AUX, LOSS, FixedArrays, LiveArrays, OwnArguments
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.runs.column_names import KnownColumns
from wengert.train.segments import Segment

REPORT = "the report"
_OF_MODEL = ("the parameter", "the frozen parameter")


@dataclass(frozen=True)
class NamedArray:
    """An array of a program: what messages call it, and the segment it is of, if it is one."""

    name: str
    segment: Segment | None = None
    rank: int = 0  # the smallest is explained first: what the user sees, the loss before all else

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
    plan: StepPlan,
    programs: LivePrograms,
    own: OwnArguments,
    batch: Sequence[Any],
    columns: KnownColumns | None = None,  # of frames
) -> WengertError:
    """The error for a call that would have made something that is not finite."""
    if _has_no_rows(batch):
        return ShapeError("TrainStep: the batch is empty; at least one row is needed. Pass some.")
    try:
        executable = programs.executable(own, batch)
    except WengertError:  # a loss that branches on values runs op by op only
        return _unexplained()
    arrays = tree.distinct_leaves(executable.signature.with_static((*own, *batch)))[0]
    sizes = bound_sizes(executable.input_types, [np.shape(x) for x in arrays]) or {}
    inputs = _inputs(plan, executable.signature.names)
    results = _outputs(plan, executable.signature.returned)
    names = [_input_name(plan, array) for array in inputs]
    order = sorted(range(len(results)), key=lambda i: results[i].rank)
    only_norm = False
    for position in order:
        cause = locate(executable.graph, arrays, names, sizes, position)
        if cause is not None and _is_norm(results[position], cause):
            only_norm = True  # a gradient that is not finite would say more
        elif cause is not None:
            if columns is not None and cause.argument is not None and cause.value == "nan":
                cause = replace(cause, column=columns.at(cause.argument, cause.index))
            return _error(cause, results[position], inputs)
    return _norm_beyond_floats() if only_norm else _unexplained()


def first_nonfinite(
    arrays: Iterable[tuple[str, Any]],
) -> tuple[str, str, tuple[int, ...]] | None:
    """The first number of data that is not finite, given their arrays by the names of arguments: in
    words, its argument, and its index.
    """
    for name, leaf in arrays:
        x = np.asarray(leaf)
        if x.dtype.kind in "fc" and not np.isfinite(x).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
            return f"argument {name!r} is {x[index]} at index {index}", name, index
    return None


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


def _is_norm(result: NamedArray, cause: Cause) -> bool:
    return result.name == REPORT and cause.result_index != (LOSS,)


def _error(cause: Cause, result: NamedArray, inputs: Sequence[NamedArray]) -> NonFiniteError:
    parameter, index = None, cause.result_index
    if result.name == REPORT:
        name, index = "the loss", ()
    else:
        parameter = _path_of(result, index)
        name, index = result.at(index)
    given = next((array for array in inputs if array.name == cause.argument), None)
    if given is not None:
        argument, within = given.at(cause.index)
        cause = replace(cause, argument=argument, index=within)
    cause = replace(cause, result_index=index)
    error = error_of(cause, name, None, "TrainStep")
    if given is None or given.segment is None:
        error.row = _row(cause)
    if error.parameter is None:
        error.parameter = parameter
    return error


def _row(cause: Cause) -> int | None:
    """The row of the batch that an element belongs to, where its array has one for each."""
    return cause.index[0] if cause.index and str(cause.leading) == ROWS else None


def _input_name(plan: StepPlan, array: NamedArray) -> str:
    """What messages call an array; one of parameters holds several, which have paths. A model that
    is a single array has none: it has the name that the loss gives it.
    """
    if array.segment is None or array.name not in _OF_MODEL:
        return array.name

    def path_at(first: int, last: int) -> str:
        path = _path_of(array, (first,))
        if path != _path_of(array, (last,)):
            return array.name
        return path or plan.parameters.model_name or array.name

    return NameOfMany(array.name, path_at)


def _path_of(array: NamedArray, index: tuple[int, ...]) -> str | None:
    if array.segment is None or not index:
        return None
    parameters = array.segment.parameters
    covering = (p.path for p in parameters if p.offset <= index[0] < p.offset + p.size)
    return next(covering, None)


def _inputs(plan: StepPlan, names: Sequence[str]) -> list[NamedArray]:
    """The arrays a program takes, in their order; batch arguments by the names they have."""
    storage = plan.storage
    live = LiveArrays(
        weights=_of_segments(plan, _OF_MODEL[0]),
        states=[
            {name: NamedArray(f"{name} of", segment) for name in segment.states}
            for segment in storage.trained
        ],
        carried=[NamedArray(f"state {i}") for i in range(_carried_count(plan))],
        counts=NamedArray("the counts"),
        extents=[NamedArray("the extents of states") for _ in plan.bounded[:1]],
        gradients=_of_segments(plan, "the gradient of"),
    )
    fixed = FixedArrays(
        frozen=[NamedArray(_OF_MODEL[1], segment) for segment in storage.frozen],
        data=[NamedArray(storage.paths[place][0]) for place in storage.data],
        key=NamedArray("the key"),
        unseen=NamedArray("whether states were seen"),
    )
    known = [*live.in_order(), *fixed.in_order(), NamedArray("the scalars")]
    return [*known, *map(NamedArray, names[len(known) :])]


def _outputs(plan: StepPlan, returned: tree.Structure) -> list[NamedArray]:
    """The arrays a program returns, in their order."""
    live = LiveArrays(
        weights=_of_segments(plan, "the new value of", rank=3),
        states=[
            {name: NamedArray(f"the new {name} of", segment, rank=4) for name in segment.states}
            for segment in plan.storage.trained
        ],
        carried=[NamedArray("the state", rank=5) for _ in range(_carried_count(plan))],
        counts=NamedArray("the counts", rank=6),
        extents=[NamedArray("the extents of states", rank=7) for _ in plan.bounded[:1]],
        gradients=_of_segments(plan, "the gradient of", rank=1),
    )
    marks = tree.unflatten(returned, [np.empty(0)] * returned.count)
    aux = [NamedArray(f"aux {path}".strip(), rank=2) for path in tree.paths(marks[AUX])]
    return [*live.in_order(), NamedArray(REPORT, rank=0), *aux]


def _of_segments(plan: StepPlan, name: str, rank: int = 0) -> list[NamedArray]:
    return [NamedArray(name, segment, rank) for segment in plan.storage.trained]


def _carried_count(plan: StepPlan) -> int:
    return plan.carried.count if plan.carried else 0
