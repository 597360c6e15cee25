"""check_grads: compare a function's derivatives with central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.types import Value
from wengert.core.words.arguments import worded
from wengert.errors import NotDifferentiable
from wengert.interpret.derive import jvp_flat, vjp_flat

Flat = Callable[..., Sequence[Value]]
_OF_DERIVATIVE = (
    "check_grads: that was in the derivative of order {}, which differentiates the backward rules "
    "as well. Write wg.check_grads(f, args, order={}, modes={}) to check what comes before."
)


@worded
def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    rtol: float = 1e-6,
    eps: float = 1e-3,
    seed: int = 0,
) -> None:
    """Raise AssertionError unless the derivatives of `function` at `args` agree with differences.

    Everything is computed in float64, along random directions, up to the given order. `modes` are
    "fwd" (against the difference quotient) and "rev" (⟨g, Jv⟩ = ⟨Jᵀg, v⟩ with a random cotangent
    g). A `custom_vjp` function whose backward rule searches has the first order in reverse alone:
    `check_grads(f, [x], order=1, modes=["rev"])`.

    >>> import wengert as wg
    >>> check_grads(lambda x: wg.sum(wg.sin(x)), [np.array([0.1, 0.2])])
    """
    unknown = set(modes) - {"fwd", "rev"}
    if unknown or order < 1:
        raise ValueError(
            f"check_grads: given order {order} and modes {tuple(modes)}; the order must be at "
            "least 1 and modes are 'fwd' and 'rev'. Correct them."
        )
    if not isinstance(args, list | tuple):
        raise TypeError(
            f"check_grads: {type(args).__name__} was given as args; they are the list of all "
            "arguments of the function. Write check_grads(function, [x])."
        )
    # As for `grad`: a number that is an argument is differentiated by, one in a tree is a setting.
    arrays = tuple(tree.arrays(x) if isinstance(x, bool | int | float) else x for x in args)
    structure = tree.flatten(arrays)[1]
    leaves, places = tree.distinct_leaves(arrays)
    moving = [i for i, x in enumerate(leaves) if x.dtype.kind == "f"]
    if not moving:
        raise ValueError(
            "check_grads: given no float arguments; there is nothing to differentiate by. Pass "
            "some as floats, those in trees as arrays."
        )

    def flat(*values: Value) -> Sequence[Value]:
        full = list(leaves)
        for i, x in zip(moving, values, strict=True):
            full[i] = x
        given = tree.unflatten(structure, [full[i] for i in places])
        out = tree.leaves(tree.arrays(function(*given)))
        return [y for y in out if y.dtype.kind == "f"]

    rng = np.random.default_rng(seed)
    _check(
        flat, [np.asarray(leaves[i], np.float64) for i in moving], order, modes, rtol, eps, rng, 1
    )


def _check(
    function: Flat,
    xs: list[Any],
    order: int,
    modes: Sequence[str],
    rtol: float,
    eps: float,
    rng: np.random.Generator,
    level: int,
) -> None:
    vs = [rng.standard_normal(x.shape) for x in xs]
    values, pullback = vjp_flat(function, xs)
    gs = [rng.standard_normal(y.shape) for y in values]
    expected = _dot(gs, _difference(function, xs, vs, eps))
    if "fwd" in modes:
        _, tangents = jvp_flat(function, xs, vs)
        _compare("forward", level, _dot(gs, tangents), expected, rtol)
    if "rev" in modes:
        _compare("reverse", level, _dot(pullback(gs), vs), expected, rtol)
    if order > 1:

        def derivative(*inner: Value) -> Sequence[Value]:
            gradients = vjp_flat(function, inner)[1](gs)
            return [g for g in gradients if g is not None]

        if derivative(*xs):
            try:
                _check(derivative, xs, order - 1, modes, rtol, eps, rng, level + 1)
            except NotDifferentiable as error:
                if not getattr(error, "__notes__", ()):
                    error.add_note(_OF_DERIVATIVE.format(level + 1, level, list(modes)))
                raise


def _difference(function: Flat, xs: list[Any], vs: list[Any], eps: float) -> list[Any]:
    """The directional derivative from function values, two central differences extrapolated to
    O(eps⁴).
    """

    def central(h: float) -> list[Any]:
        ahead = function(*(x + h * v for x, v in zip(xs, vs, strict=True)))
        behind = function(*(x - h * v for x, v in zip(xs, vs, strict=True)))
        return [(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)]

    wide, narrow = central(eps), central(eps / 2)
    return [(4 * n - w) / 3 for n, w in zip(narrow, wide, strict=True)]


def _dot(left: Sequence[Value | None], right: Sequence[Value | None]) -> float:
    pairs = zip(left, right, strict=True)
    return float(sum(np.sum(a * b) for a, b in pairs if a is not None and b is not None))


def _compare(mode: str, level: int, value: float, expected: float, rtol: float) -> None:
    error = abs(value - expected)
    if not error <= rtol * max(abs(expected), 1.0):  # NaN is a disagreement
        kind = "relative" if abs(expected) > 1.0 else "absolute"
        error /= max(abs(expected), 1.0)
        raise AssertionError(
            f"check_grads: the {mode} derivative of order {level} is {value:.12g} along a random "
            f"direction; differences give {expected:.12g} ({kind} error {error:.2g}, allowed "
            f"{rtol:.2g}). Look at custom derivatives and at points where the function is not "
            "smooth."
        )
