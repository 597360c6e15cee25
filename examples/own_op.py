"""A function that the library does not have, as an op of your own: `make demo EXAMPLE=own_op`.

Lambert's W(x) solves W exp(W) = x. With it, the current of a solar cell with a resistance in series
has a formula. `wg.op.elementwise` makes an op of it from two things: what one element is, and the
derivative. That is all it takes to differentiate it to any order, to compile it and to train with
it: here, to find the four constants of a cell from currents that were measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from command import read_options
from picture import BLUE, GRAY, INK, Array, Curve, Panel, axis_around, draw, linear_axis, save

import wengert as wg
from wengert.core import promotion
from wengert.core.emit import on_arrays

NAMES = ("photocurrent, A", "saturation current, A", "thermal voltage, V", "resistance, Ω")
TRUTH = np.array([3.0, 1e-8, 0.031, 0.02])
GUESS = np.array([2.5, 1e-7, 0.040, 0.01])


def one_element(e: Any, x: Any) -> Any:
    """W of one x ≥ 0, in the instructions of `e`: Newton's method for W + log(W) = log(x)."""
    one = e.const(1)
    w = e.log1p(x)
    for _ in range(6):
        w = e.mul(e.div(w, e.add(one, w)), e.add(one, e.log(e.div(x, w))))
    return e.select(e.eq(x, e.const(0)), x, w)


@wg.op.elementwise(
    numpy=on_arrays(one_element),  # the same instructions, read by NumPy on whole arrays
    dtypes=promotion.inexact,  # integers become floats
    partials=lambda w, _x: wg.exp(-w) / (1 + w),  # w is the result; x is not kept
    emit=one_element,
)
def lambert_w(x: Any, /) -> None:
    """The solution W of W exp(W) = x, for x ≥ 0."""


def current(constants: Any, voltage: Any) -> Any:
    """What a cell delivers at each voltage (one diode, a resistance in series)."""
    light, dark, thermal, resistance = constants
    share = resistance * dark / thermal
    drive = (voltage + resistance * (light + dark)) / thermal
    return light + dark - thermal / resistance * lambert_w(share * np.exp(drive))


def misfit(logs: Any, voltage: Any, measured: Any) -> Any:
    return np.mean((current(np.exp(logs), voltage) - measured) ** 2)


def show_derivatives(x: Array) -> None:
    slope = wg.grad(lambert_w)
    curvature = wg.grad(slope)
    print("      x       W(x)   W exp(W)      W'(x)     W''(x)")
    for each in x:
        w = lambert_w(each)
        row = each, w, w * np.exp(w), slope(each), curvature(each)
        print("".join(f"{value:11.6f}" for value in row))
    wg.check_grads(lambert_w, [x[1:]])  # both directions and second order, against differences
    apart = np.abs(wg.compile(lambert_w)(x) - lambert_w(x)).max()
    print(f"compiled, they differ by at most {apart:.0e}\n")


def main() -> None:
    options = read_options(__doc__, "own_op", points=60, iterations=200)
    rng = np.random.default_rng(options.seed)
    show_derivatives(np.array([0.0, 0.5, 1.0, np.e, 100.0]))
    voltage = np.linspace(0, 0.6, options.points)
    measured = current(TRUTH, voltage) + 0.005 * rng.standard_normal(options.points)
    search = wg.optim.LBFGS(
        max_iter=options.iterations, tolerance_change=1e-12, line_search_fn="strong_wolfe"
    )
    result = search.minimize(misfit, np.log(GUESS), voltage, measured)
    constants = np.exp(result.tree)
    error = result.value**0.5
    print(f"root mean squared error {error:.4f} A after {result.evaluations} evaluations")
    for name, value, true in zip(NAMES, constants, TRUTH, strict=True):
        print(f"{name:22} {value:.3g}, true {true:g}")

    curves = [
        Curve("first guess", GRAY, voltage, current(GUESS, voltage), dashed=True),
        Curve("found", BLUE, voltage, current(constants, voltage)),
        Curve("measured", INK, voltage, measured, dots=True, width=0, radius=2),
    ]
    axes = linear_axis("voltage, V", 0, 0.6), axis_around("current, A", measured, curves[0].y)
    save(draw([Panel("A solar cell", *axes, curves)]), options.picture)


if __name__ == "__main__":
    main()
