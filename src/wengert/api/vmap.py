"""vmap: a function of one example, called for many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import unwrap
from typing import Any, TypeVar

import numpy as np

from wengert.api.mapped_axes import (
    Axis,
    argument_axes,
    inside,
    one_size,
    require_axes,
    require_no_numbers,
    result_axes,
)
from wengert.api.owned_results import owned
from wengert.api.trace import argument_names
from wengert.core import tree
from wengert.core.bind import is_in_batch, located, opened, recording_level
from wengert.core.dims import Size
from wengert.core.op_parts.batching import in_front, positions
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.values.constant import IndexableConstant, indexable
from wengert.core.words.arguments import worded
from wengert.core.words.noticed.float_notices import noticed_at_users_lines
from wengert.core.words.noticed.lost_writes import below_arguments, require_unwritten
from wengert.core.words.noticed.masked import require_plain_array
from wengert.core.words.warn import warn_user
from wengert.errors import RandomnessWarning, TraceError, WengertError
from wengert.interpret.batched import Batched
from wengert.interpret.bodies.loops import Loop
from wengert.interpret.randomness import moved, used_by
from wengert.interpret.randomness import positions as standing

__all__ = ["vmap"]

Returned = TypeVar("Returned")


@worded
def vmap(
    function: Callable[..., Any] | None = None, in_axes: Any = 0, out_axes: Any = 0
) -> Callable[..., Any]:
    """The function for many examples at once: it is written for one, and gets arrays with an axis
    for the examples.

    `in_axes` says which axis that is: an integer for all arguments, or a tuple with an entry for
    each, an integer, a tree of them, or None for what all examples have in common. Arguments by
    name are mapped along axis 0. `out_axes` says the same of the results. Nothing runs in a Python
    loop: every op is called once, for all examples.

    >>> wg.vmap(lambda x, y: x @ y)(np.ones((3, 2)), np.arange(6.0).reshape(3, 2))
    array([1., 5., 9.])
    >>> per_example = wg.vmap(wg.grad(lambda w, x: wg.sum((x @ w) ** 2)), in_axes=(None, 0))
    >>> per_example(np.ones(2), np.eye(2))
    array([[2., 0.],
           [0., 2.]])
    """
    if function is None:
        return lambda f: vmap(f, in_axes, out_axes)
    if not callable(function):
        raise TypeError(
            f"vmap: given {type(function).__name__}; it takes a function of one example. Write "
            "wg.vmap(f)(xs)."
        )
    for which, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        require_axes(which, axes)
    f = function

    @wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _mapped(f, args, kwargs, in_axes, out_axes)

    return mapped


@noticed_at_users_lines
def _mapped(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], in_axes: Any, out_axes: Any
) -> Any:
    args = tuple(args)
    leaves, structure = tree.flatten((args, kwargs))
    axes, size = _in_traced_code(leaves, lambda: _mapped_axes(f, args, kwargs, in_axes))
    level, is_nested = Batched(size), is_in_batch()
    with opened(level):
        examples = _examples(level, (*args, *kwargs.values()), axes)
        made = tree.unflatten(structure, examples)
        returned = _noting_randomness(f, lambda: _called(f, made, level), is_nested)
        require_unwritten("vmap", _label, structure, examples, made, returned)
        form = tree.flatten(returned)[1]
        passed = tree.static_numbers(structure)
        out = _in_traced_code(leaves, lambda: _results(level, returned, passed, out_axes))
    return tree.unflatten(form, owned(map(_plain, out), leaves))


def _in_traced_code(leaves: Sequence[Value], run: Callable[[], Returned]) -> Returned:
    """Run what may refuse arguments or results; with the user's line where they are traced."""
    try:
        return run()
    except (WengertError, TypeError) as error:
        clearer = located(error, leaves)
        if clearer is error:
            raise
        raise clearer from None


def _mapped_axes(
    f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], in_axes: Any
) -> tuple[list[Axis], Size]:
    """The axis of each array of the arguments, and how many examples there are."""
    names = argument_names(f, len(args))
    axes = [*argument_axes(in_axes, args, names), *[0] * len(tree.leaves(kwargs))]
    for x in tree.leaves((args, kwargs)):
        require_plain_array("vmap", x)
    given = [*zip(names, args, strict=True), *kwargs.items()]
    paths = [f"{name}.{path}" if path else name for name, x in given for path in tree.paths(x)]
    return axes, one_size(tree.leaves((args, kwargs)), axes, paths)


def _examples(level: Batched, arguments: Sequence[Any], axes: Sequence[Axis]) -> list[Value]:
    """One example of each array. An array at two places of an argument stays one, if its axis is
    the same at both.
    """
    examples: list[Value] = []
    rest = iter(axes)
    for argument in arguments:
        known: dict[tuple[int, Axis], Value] = {}
        for x in tree.leaves(argument):
            axis = next(rest)
            if (id(x), axis) not in known:
                known[id(x), axis] = _example(level, x, axis)
            examples.append(known[id(x), axis])
    return examples


def _example(level: Batched, x: Value, axis: Axis) -> Value:
    if axis is None:
        return indexable(x)
    return level.tensor(in_front(x, axis % len(x.shape)))


def _results(level: Batched, returned: Any, passed: frozenset[int], out_axes: Any) -> list[Value]:
    """What a function returned, with the examples where `out_axes` says."""
    values, form = tree.flatten(returned)
    require_no_numbers(form, passed)
    places, paths = result_axes(out_axes, returned), tree.paths(returned)
    return [
        _placed(level, x, axis, path) for x, axis, path in zip(values, places, paths, strict=True)
    ]


def _plain(x: Value) -> Value:
    return x.view(np.ndarray) if isinstance(x, IndexableConstant) else x


def _label(path: tuple[str, ...]) -> str:
    if path[0] == "1":  # among those by name
        return ".".join(path[1:])
    return below_arguments(path[1:])


def _called(f: Callable[..., Any], arguments: tuple[Any, Any], level: Batched) -> Any:
    """What a function returns for the examples of a level, as the body of a loop over them: what a
    generator from outside draws differs from example to example.
    """
    loop = Loop()
    body = loop.body(lambda _, given: f(*given[0], **given[1]), indexed=True)
    result = body(None, (arguments, level.tensor(positions(level.size, 1))))
    loop.leave_behind()
    return result


def _noting_randomness(
    f: Callable[..., Any], run: Callable[[], Returned], is_nested: bool
) -> Returned:
    """Call a function with values. What NumPy draws in it, once for all examples, is the same for
    each, which is said; of what is recorded, those say it who record, and of one vmap in another,
    the outer one.
    """
    if recording_level() is not None or is_nested:
        return run()
    before = standing(used_by(unwrap(f)))
    result = run()
    used = moved(before)
    if used is not None:
        warn_user(
            f"vmap: {used} was used in the function, which is called once for all examples; what "
            "it drew is the same for each. Draw from wg.random with a key for each example, "
            "wg.random.split(key, n) as an argument, or draw before and pass that.",
            RandomnessWarning,
        )
    return result


def _placed(level: Batched, x: Value, axis: int | None, path: str) -> Value:
    """A result with the examples along this axis; None for one that all have in common."""
    what = f"result {path}" if path else "the result"
    if axis is None:
        if level.owns(x):
            raise TraceError(
                f"vmap: out_axes has None for {what}, which differs between examples; only what is "
                "the same for all has no axis for them. Give it an axis, such as 0."
            )
        return x
    rank = len(x.shape) + 1
    place = inside(axis, rank, "out_axes", f"{what} with the examples")
    front = level.front(x)
    if place == 0:
        return front
    order = (*range(1, place + 1), 0, *range(place + 1, rank))
    return op.permute_dims(front, order)
