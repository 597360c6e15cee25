"""Bad input to the transformations of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from messages.numbers_of_users import Moments

line, numbers = np.ones(3), np.arange(3)


def _changed():
    x = np.ones((600, 600))

    def loss(w):
        total = wg.sum(w * x)
        x[...] = 0.0
        return total

    wg.grad(loss)(2.0)


def _square(x: Any) -> Any:
    return wg.sum(x * x)


def _custom(backward: Callable[..., Any] | None) -> wg.custom_vjp:
    """x², with this rule for the way back."""

    def square(x: Any) -> Any:
        return x * x

    custom = wg.custom_vjp(square)
    if backward is not None:
        custom.defvjp(lambda x: (x * x, x), backward)
    return custom


def _sum_of_custom(backward: Callable[..., Any] | None) -> Callable[..., Any]:
    custom = _custom(backward)
    return lambda x: wg.sum(custom(x))


def _uses_outer(x: Any) -> Any:
    """A custom function that reads a Tensor it was not given."""

    @wg.custom_vjp
    def plus(y: Any) -> Any:
        return x + y

    plus.defvjp(lambda y: (x + y, None), lambda _, g: (g,))
    return plus(2.0 * x)


def _no_pair(x: Any) -> Any:
    @wg.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: x**3, lambda x, g: (3 * x**2 * g,))
    return wg.sum(cube(x))


FUNCTIONS: dict[str, Callable[[], Any]] = {
    "grad: an argument of integers": lambda: wg.grad(_square)(numbers),
    "grad: a tuple of Python numbers": lambda: wg.grad(lambda y: y[0] * y[1])((3.0, 2.0)),
    "grad: an argument without arrays": lambda: wg.grad(_square)("text"),
    "grad: a masked array beside": lambda: wg.grad(lambda x, y: np.sum(x * y))(
        line, np.ma.masked_array(line, numbers > 0)
    ),
    "grad: an argument named twice": lambda: wg.grad(_square, argnums=(0, 0))(line),
    "grad: a large array that was changed": _changed,
    "grad: a masked array": lambda: wg.grad(_square)(np.ma.masked_array(line, numbers > 0)),
    "grad: argnums of an argument that is not there": lambda: wg.grad(_square, argnums=1)(line),
    "grad: a vector returned": lambda: wg.grad(lambda x: x * x)(line),
    "grad: a tuple returned": lambda: wg.grad(lambda x: (x, x))(1.0),
    "grad: nothing returned": lambda: wg.grad(lambda x: None)(1.0),
    "grad: by a list of numbers": lambda: wg.grad(lambda x: wg.sum(wg.array(x)))([1.0, 2.0]),
    "grad: by a dict of numbers": lambda: wg.grad(lambda m: m["mean"])({"mean": 0.0}),
    "grad: by a dataclass of numbers": lambda: wg.grad(lambda m: m.mean * m.std)(Moments()),
    "grad: an integer returned": lambda: wg.grad(lambda x: wg.sum(x > 0))(line),
    "grad: no aux returned": lambda: wg.grad(_square, has_aux=True)(line),
    "trace: a matrix": lambda: wg.trace(np.eye(2)),
    "grad: a vector returned, traced": lambda: wg.trace(wg.grad(lambda x: x * x), line),
    "grad: an argument of integers, traced": lambda: wg.trace(wg.grad(_square), numbers),
    "grad: no aux returned, traced": lambda: wg.trace(wg.grad(_square, has_aux=True), line),
    "vjp: a cotangent of another shape, traced": lambda: wg.trace(
        lambda x: wg.vjp(_square, x)[1](x), line
    ),
    "vjp: a cotangent of another structure, traced": lambda: wg.trace(
        lambda x: wg.vjp(_square, x)[1]((x, x)), line
    ),
    "value_and_grad: a vector returned": lambda: wg.value_and_grad(lambda x: x * x)(line),
    "vjp: a cotangent of another shape": lambda: wg.vjp(lambda x: x * x, line)[1](np.ones(4)),
    "vjp: a cotangent of another structure": lambda: wg.vjp(lambda x: x * x, line)[1]((line, line)),
    "jvp: a tangent of another shape": lambda: wg.jvp(_square, (line,), (np.ones(4),)),
    "jvp: two tangents of one array": lambda: wg.jvp(
        lambda pair: _square(pair[0] + pair[1]), ([line, line],), ([line, 2 * line],)
    ),
    "jvp: primals that are no tuple": lambda: wg.jvp(_square, line, line),
    "jvp: a tangent too few": lambda: wg.jvp(lambda x, y: x * y, (line, line), (line,)),
    "jvp: a tangent of integers": lambda: wg.jvp(_square, (numbers,), (np.ones(3, int),)),
    "jacobian: an argument of integers": lambda: wg.jacobian(_square)(numbers),
    "hessian: a vector returned": lambda: wg.hessian(lambda x: x * x)(line),
    "hvp: a tangent of another shape": lambda: wg.hvp(_square, (line,), (np.ones(4),)),
    "check_grads: order 0": lambda: wg.check_grads(_square, [line], order=0),
    "check_grads: an unknown mode": lambda: wg.check_grads(_square, [line], modes=("up",)),
    "check_grads: an array as args": lambda: wg.check_grads(_square, line),  # type: ignore[arg-type]
    "check_grads: no floats": lambda: wg.check_grads(_square, [numbers]),
    "check_grads: a wrong derivative": lambda: wg.check_grads(
        _sum_of_custom(lambda x, g: (3 * x * g,)), [line], order=1, modes=("rev",)
    ),
    "custom_vjp: no rule": lambda: wg.grad(_sum_of_custom(None))(line),
    "custom_vjp: a cotangent of another form": lambda: wg.grad(
        _sum_of_custom(lambda x, g: ({"x": 2 * x * g},))
    )(line),
    "custom_vjp: a Tensor from outside, differentiated": lambda: wg.grad(_uses_outer)(line),
    "custom_vjp: a forward rule that returns no pair": lambda: wg.grad(_no_pair)(line),
    "grad: argnums that are no numbers": lambda: wg.grad(_square, argnums="x")(line),
    "custom_vjp: a Tensor from outside, traced": lambda: wg.trace(_uses_outer, line),
    "custom_vjp: an argument by name": lambda: _custom(lambda _, g: (g,))(x=line),
    "custom_vjp: forward": lambda: wg.jvp(
        _sum_of_custom(lambda x, g: (2 * x * g,)), (line,), (line,)
    ),
    "custom_vjp: one value instead of a tuple": lambda: wg.grad(
        _sum_of_custom(lambda x, g: 2 * x * g)
    )(line),
    "custom_vjp: a cotangent of another shape": lambda: wg.grad(
        _sum_of_custom(lambda x, g: (wg.sum(x * g),))
    )(line),
}

CASES = FUNCTIONS
