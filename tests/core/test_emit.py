"""The scalar instructions: complete, documented, and what the ops written in them mean."""

import inspect
import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from table.ops import emitted

import wengert as wg
from wengert.core.emit import Emit, NumpyEmit

ELEMENTWISE = [op for op in wg.op if emitted(op) and op.opaque is None]
INSTRUCTIONS = {
    name: f for name, f in vars(Emit).items() if inspect.isfunction(f) and name[0] != "_"
}
AWKWARD = [0.0, -0.0, 0.5, 1.0, -1.0, 2.5, -2.5, 1e30, -1e30, 1e-30, math.inf, -math.inf, math.nan]
ULPS = 8  # several instructions may each round


def computed(op, operands, emit=NumpyEmit, **params):
    """The op by its instructions, on operands converted as its dtype rule says."""
    dtypes = op.operand_dtypes(operands)
    ready = [None if x is None else np.asarray(x, d) for x, d in zip(operands, dtypes, strict=True)]
    last = next(x for x in reversed(ready) if x is not None)
    return op.lower.emit(emit(last.dtype), *ready, **params)


def assert_same(op, operands, **params):
    with np.errstate(all="ignore"):
        expected, found = op(*operands, **params), np.asarray(computed(op, operands, **params))
    assert found.dtype == expected.dtype
    found = np.broadcast_to(found, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    limits = np.finfo(expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=ULPS * limits.eps, atol=ULPS * limits.tiny)


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_instructions_mean_the_op(op):
    assert op.samples
    for sample, dtype in itertools.product(op.samples, (np.float64, np.float32)):
        assert_same(op, sample.draw(np.random.default_rng(7), dtype), **sample.params)


def takes_floats(op):
    return all(spec is None or "Real" in repr(spec) for s in op.samples for spec in s.operands)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", [*filter(takes_floats, ELEMENTWISE)], ids=lambda op: op.name)
def test_instructions_at_awkward_points(op, dtype):
    count = len(op.call.operands)
    points = AWKWARD if count < 3 else [*AWKWARD[::3], math.inf, math.nan]
    grid = np.meshgrid(*[np.array(points, dtype)] * count)
    assert_same(op, grid)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.uint8])
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_instructions_on_integers(op, dtype):
    rng = np.random.default_rng(3)
    operands = [rng.integers(0, 2 if dtype is np.bool_ else 6, 20).astype(dtype)]
    operands += [rng.integers(1, 2 if dtype is np.bool_ else 4, 20).astype(dtype)] * (
        len(op.call.operands) - 1
    )
    try:
        with np.errstate(all="ignore"):
            op(*operands)
    except wg.errors.DTypeError:
        with pytest.raises(wg.errors.DTypeError):
            op.operand_dtypes(operands)
    except (IndexError, ValueError):  # bounds, of which the first must be below the second
        operands[0] = np.zeros_like(operands[0])
        assert_same(op, operands)
    else:
        assert_same(op, operands)


class Listening:
    """Passes instructions on to NumPy and remembers their names."""

    heard: ClassVar[set[str]] = set()

    def __init__(self, dtype):
        self.numpy = NumpyEmit(dtype)

    def __getattr__(self, name):
        self.heard.add(name)
        return getattr(self.numpy, name)

    def in_double(self, algorithm, *operands):
        self.heard.add("in_double")
        return algorithm(Listening(np.float64), *operands)


def test_ops_use_the_instructions_of_the_protocol_only():
    for op in ELEMENTWISE:
        with np.errstate(all="ignore"):
            computed(op, op.samples[0].draw(np.random.default_rng(0)), Listening)
    assert Listening.heard - {"fma"} == set(INSTRUCTIONS) - {"fma"}


def test_every_instruction_is_documented_in_one_line():
    for name, instruction in INSTRUCTIONS.items():
        doc = inspect.getdoc(instruction)
        assert doc, name
        assert doc.endswith("."), name
        assert "\n" not in doc, name


def test_multiply_add():
    assert NumpyEmit(np.float64).fma(np.array(2.0), 3.0, 4.0) == 10.0
