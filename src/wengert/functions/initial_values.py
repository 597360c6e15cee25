"""Initial value problems: a differential equation followed from where it begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.table import op
from wengert.core.words.warn import no_warnings, warn_user
from wengert.errors import LoopError, ShapeError, TraceError, UnusedWarning
from wengert.functions.statistics import as_float
from wengert.interpret.bodies.body_state import Repairs
from wengert.interpret.bodies.carry import looked_after

# Dormand and Prince, A family of embedded Runge-Kutta formulae, 1980: where the slopes are taken,
# what they are taken at, and the difference of the results of orders 5 and 4. The last slope is the
# first of the next step.
_TIMES = (0.2, 0.3, 0.8, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_DEFAULT_TOLERANCE = np.sqrt(np.finfo(np.float64).eps)  # 1.5e-8, about that of SciPy's odeint
_LEAST_EPSILONS = 8  # below this the rounding of a step is larger than its error
_REPAIRS = Repairs(
    "Draw before, at times of your own, and write wg.interp(t, times, draws) in func",
    "Use t, or make arrays of the times and the values: wg.interp(t, times, values)",
    "Make arrays of the times and the items: wg.interp(t, times, items)",
    function="func",
    tensors="Make it part of y",
)
_ERRORS = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def _combined(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    terms = [weight * k for weight, k in zip(weights, slopes, strict=True) if weight]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _size(x: Any, scale: Any) -> Any:
    """The root of the mean square of x, in units of the error that is allowed."""
    ratio = op.stop_gradient(x) / scale
    return op.sqrt(op.mean(ratio * ratio))


def _allowed(tolerances: tuple[Any, ...], *values: Any) -> Any:
    rtol, atol = tolerances
    size = op.abs(op.stop_gradient(values[0]))
    for each in values[1:]:
        size = op.maximum(size, op.abs(op.stop_gradient(each)))
    return atol + rtol * size


def _first_step(y: Any, slope: Any, tolerances: tuple[Any, ...]) -> Any:
    """A hundredth of the time in which y would change by its own size."""
    allowed = _allowed(tolerances, y)
    value, change = _size(y, allowed), _size(slope, allowed)
    flat = op.logical_or(value < 1e-5, change < 1e-5)
    return op.where(flat, 1e-6, 0.01 * value / op.where(flat, 1, change))


def _step(
    slope_at: Callable[[Any, Any], Any], span: Any, tolerances: tuple[Any, ...]
) -> Callable[[Any], Any]:
    """One step within an interval, whose parts are counted from 0 to 1; it may be repeated with a
    shorter one. How long steps are is no part of the derivative: the result does not depend on it,
    up to the error that is allowed.
    """
    length = op.stop_gradient(op.abs(span))

    def step(carry: Any) -> Any:
        done, y, slope, long = carry
        rest = 1 - done
        wanted = op.where(length > 0, long / op.where(length > 0, length, 1), rest)
        last = wanted >= rest
        part = op.stop_gradient(op.where(last, rest, wanted))
        slopes = [slope]
        new = y
        for time, weights in zip(_TIMES, _STAGES, strict=True):
            new = y + part * span * _combined(weights, slopes)
            slopes.append(slope_at(new, done + part * time))
        error = part * span * _combined(_ERRORS, slopes)
        ratio = _size(error, _allowed(tolerances, y, new))
        good = ratio <= 1
        growth = op.clip(0.9 * op.maximum(ratio, 1e-10) ** -0.2, 0.2, 10.0)
        growth = op.where(op.isnan(ratio), 0.2, growth)
        after = part * length * growth
        after = op.where(op.logical_and(good, last), op.maximum(long, after), after)
        return (
            op.where(good, op.where(last, 1.0, done + part), done),
            op.where(good, new, y),
            op.where(good, slopes[-1], slope),
            op.stop_gradient(after),
        )

    return step


def _require_call(func: Any, args: Any) -> None:
    if not callable(func):
        raise TypeError(
            f"odeint: given {type(func).__name__} for func; it is the function with dy/dt = "
            "func(y, t, *args). Pass it first."
        )
    if not isinstance(args, tuple):
        raise TypeError(
            f"odeint: given {type(args).__name__} for args; it is a tuple of what func takes after "
            "y and t. Write args=(a,)."
        )


def _of_order(y0: Any) -> str:
    """Words for times that cannot be, where (0.0, 3.0) stands in the place of y0."""
    is_span = type(y0) is tuple and len(y0) == 2 and all(type(x) in (int, float) for x in y0)
    order = " If (start, end) was given before y0, as to solve_ivp: it is odeint(func, y0, times)."
    return order if is_span else ""


def _warn_of_one_time(t: Any) -> None:
    """Warn of the end alone, `[3.0]`. At 0 one begins, and a slice, `times[:1]`, may be the first
    of several prefixes.
    """
    if isinstance(t, np.ndarray):
        is_one = t.shape == (1,) and t.base is None
    else:
        is_one = isinstance(t, list | tuple) and len(t) == 1
    if is_one and isinstance(t[0], int | float | np.number) and t[0] != 0:
        warn_user(
            f"odeint: given one time, {t[0]}, which is the one of y0; nothing is integrated, and "
            f"y0 is returned. Pass the time of y0 first: [0.0, {t[0]}].",
            UnusedWarning,
        )


def _slope(func: Any, y: Any, time: Any, args: tuple[Any, ...]) -> Any:
    """What func returns. Its errors say how it was called, where it may have the time first."""
    try:
        return func(y, time, *args)
    except StopIteration as error:
        raise TraceError(
            "odeint: func took an item from an iterator that has no more; it is called several "
            f"times for each step, at times that odeint chooses. {_REPAIRS.items}."
        ) from error
    except Exception as error:
        names = getattr(getattr(func, "__code__", None), "co_varnames", ())
        first = next((name for name in names if name != "self"), "")
        # A branch on the time is one in either order.
        named = first in ("t", "time") and not isinstance(error, TraceError)
        if named or _takes_time_first(func, y, time, args):
            error.add_note(
                f"odeint: func was given y of shape {tuple(y.shape)}, and behind it the time, a "
                "number; y is the first argument of func(y, t), as in SciPy's odeint. If it has "
                "the time first, as for solve_ivp, pass lambda y, t, *args: func(t, y, *args)."
            )
        raise


def _takes_time_first(func: Any, y: Any, time: Any, args: tuple[Any, ...]) -> bool:
    """Whether func gives a slope for (t, y), after it has refused (y, t)."""
    try:
        with no_warnings():
            slope = _one_array("func returns", func(time, y, *args))
    except Exception:
        return False
    return tuple(slope.shape) == tuple(y.shape)


def _one_array(what: str, x: Any) -> Any:
    """A state or a slope, which are no trees."""
    is_list = isinstance(x, list | tuple)
    shapes = [np.shape(each) for each in x] if is_list else []
    forms = tree.paths(x) if not is_list or any(isinstance(each, dict) for each in x) else []
    if any(forms) or len(set(shapes)) > 1:
        error = ShapeError(
            f"odeint: {what} a {type(x).__name__} of arrays; y is one array, and its slope another "
            "of its shape. Join the parts, np.concatenate([a, b]), and take y apart in func: "
            "y[:2], y[2:]."
        )
        raise located(error, tree.leaves(x))
    return op.asarray(x)


def _tolerance(name: str, given: Any, dtype: Any) -> Any:
    if given is None:
        # SciPy's, unless the dtype is too coarse: steps cannot be better than what it can hold.
        return dtype.type(max(_DEFAULT_TOLERANCE, _LEAST_EPSILONS * np.finfo(dtype).eps))
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not given > 0:
        raise ValueError(
            f"odeint: {name}={given!r} was given; it is a number above 0, how far values may be "
            "off. Pass 1e-6, or leave it out."
        )
    return dtype.type(given)


@function()
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...] = (),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = 500,
) -> Any:
    """The values y at each time of t, of dy/dt = func(y, t, *args) with y = y0 at the first; called
    as SciPy's. Times rise, or fall.

    Steps of the method of Dormand and Prince, of order 5, are as long as errors of `rtol` · |y| +
    `atol` allow, by default 1.5e-8 each, of float32 9.5e-7, for it holds no more. Between two times
    there may be `max_steps`; an equation that needs more, as a stiff one does, raises LoopError.
    Derivatives by y0, t, args and what else `func` reads are those of the steps that are taken.

    >>> wg.odeint(lambda y, t: -y, np.array([1.0]), np.array([0.0, 1.0, 2.0]))[:, 0].round(6)
    array([1.      , 0.367879, 0.135335])
    """
    _require_call(func, args)
    order = _of_order(y0)
    _warn_of_one_time(t)
    y0, t = _one_array("y0 is", y0), op.asarray(t)
    y0 = as_float(op.reshape(y0, (1,)) if len(y0.shape) == 0 else y0)
    t = op.astype(t, y0.dtype)
    if len(t.shape) != 1 or t.shape[0] == 0:
        error = ShapeError(
            f"odeint: given times of shape {tuple(t.shape)}; they are a vector of one at least, of "
            f"which the first belongs to y0. Pass np.linspace(0, 1, 11).{order}"
        )
        raise located(error, [y0, t])
    if isinstance(t, np.ndarray) and len(set(np.sign(np.diff(t))) - {0}) > 1:
        error = ShapeError(
            "odeint: given times that rise and fall; they must go one way. Sort them with "
            f"np.sort.{order}"
        )
        raise located(error, [y0, t])
    tolerances = tuple(_tolerance(*each, y0.dtype) for each in (("rtol", rtol), ("atol", atol)))
    return looked_after(
        "odeint", (func,), lambda: _solved(func, y0, t, args, tolerances, max_steps), _REPAIRS
    )


def _solved(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...],
    tolerances: tuple[Any, ...],
    max_steps: int,
) -> Any:
    def slope_of(y: Any, time: Any) -> Any:
        slope = _one_array("func returns", _slope(func, y, time, args))
        if tuple(slope.shape) != tuple(y.shape):
            error = ShapeError(
                f"odeint: func returns shape {tuple(slope.shape)} for y of shape "
                f"{tuple(y.shape)}; it is the slope of each element of y. Return that; y is the "
                "first argument of func(y, t), as in SciPy's odeint."
            )
            raise located(error, [slope, y])
        return op.astype(slope, y0.dtype)

    def interval(carry: Any, times: Any) -> Any:
        y, long = carry
        start, span = times[0], times[1] - times[0]

        def slope_at(y: Any, part: Any) -> Any:
            return slope_of(y, start + part * span)

        step = _step(slope_at, span, tolerances)
        first = (y0.dtype.type(0), y, slope_of(y, start), long)
        _, y, _, long = op.while_loop(lambda carry: carry[0] < 1, step, first, max_steps)
        return (y, long), y

    first = op.stop_gradient(_first_step(y0, slope_of(y0, t[0]), tolerances))
    pairs = op.stack([t[:-1], t[1:]], axis=1)
    try:
        _, values = op.scan(interval, (y0, op.astype(first, y0.dtype)), pairs)
    except LoopError as refused:
        failure = LoopError(
            f"odeint: took max_steps={max_steps} steps between two times and was not through; a "
            "slope may be NaN or infinite, or the equation stiff. Look at func(y, t), pass more "
            "max_steps, or larger rtol and atol."
        )
        raise located(failure, [y0, t]) from refused
    return op.concat([op.expand_dims(y0, 0), values])
