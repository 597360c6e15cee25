"""Selective and diagonal scans against NumPy, and against the loop that says what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compiler.running import bits

import wengert as wg
from codegen.special_harness import VARIANTS, run_special
from wengert.codegen.llvm.kernels.diagonal_kernels import DIAGONAL_SCANS
from wengert.codegen.llvm.kernels.state_space_kernels import STATE_SPACES
from wengert.core.table import op
from wengert.ops.sequences.diagonal_scans import scan_by_steps
from wengert.ops.sequences.state_spaces import _scan_by_steps

KNOWN = [how for how in VARIANTS if not how.get("dynamic")]  # sizes are part of the program
# batch, channels, time, states, groups
SIZES = [(1, 1, 1, 1, 1), (2, 6, 70, 16, 3), (1, 34, 64, 17, 2), (2, 32, 33, 40, 1)]


def drawn(sizes: tuple[int, ...], dtype: Any, back: bool) -> list[Any]:
    batch, channels, time, states, groups = sizes
    rng = np.random.default_rng(0)

    def real(*shape: int) -> Any:
        return rng.normal(size=shape).astype(dtype)

    u, state = (batch, channels, time), (batch, channels, states)
    matrices = [real(batch, groups, states, time) for _ in range(2)]
    given = [real(*u), np.abs(real(*u)), -np.abs(real(channels, states)), *matrices, real(*state)]
    return [*given, real(*u), real(*state)] if back else given


def views(operands: list[Any]) -> list[Any]:
    """The same, with time before states, and every second number."""
    found = [np.repeat(x, 2, axis=-1)[..., ::2] for x in operands]
    for i in (3, 4):
        found[i] = np.ascontiguousarray(operands[i].swapaxes(2, 3)).swapaxes(2, 3)
    return found


@pytest.mark.parametrize("name", STATE_SPACES)
@pytest.mark.parametrize("sizes", SIZES)
def test_numpy_agrees(name, sizes):
    operands = drawn(sizes, np.float64, name == "state_space_pullback")
    expected = op[name].numpy(*operands)
    for given in (operands, views(operands)):
        found = [run_special(STATE_SPACES[name], op[name], given, {}, **how) for how in KNOWN]
        for x, y in zip(found[0], expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
        assert all(bits(other) == bits(found[0]) for other in found)


@pytest.mark.parametrize("name", DIAGONAL_SCANS)
@pytest.mark.parametrize(("channels", "time", "pairs"), [(1, 1, 1), (3, 70, 16), (2, 64, 17)])
def test_numpy_agrees_about_diagonals(name, channels, time, pairs):
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 3, (channels, pairs))
    rows, state = (2, channels, time), (2, channels, pairs)
    shapes = [(channels, pairs)] * 2 + [state] * 2
    shapes += [rows, state, state] if name == "diagonal_pullback" else []
    operands = [rng.normal(size=rows), 0.9 * np.cos(turn), 0.9 * np.sin(turn)]
    operands += [rng.normal(size=shape) for shape in shapes]
    expected = op[name].numpy(*operands)
    found = [run_special(DIAGONAL_SCANS[name], op[name], operands, {}, **how) for how in KNOWN]
    for x, y in zip(found[0], expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
    assert all(bits(other) == bits(found[0]) for other in found)
    if name == "diagonal_scan":
        assert bits(found[0]) == bits(wg.compile(scan_by_steps)(*operands))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loop_has_the_same_bits(dtype):
    operands = drawn((2, 6, 40, 19, 3), dtype, False)
    found = wg.compile(lambda *xs: op.state_space_scan(*xs))(*operands)
    assert bits(found) == bits(wg.compile(_scan_by_steps)(*operands))


def test_workers_divide_blocks_of_channels(monkeypatch):
    operands = drawn((1, 48, 40, 5, 1), np.float32, True)
    alone = wg.compile(lambda *xs: op.state_space_pullback(*xs))(*operands)
    monkeypatch.setenv("WENGERT_NUM_THREADS", "3")
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    divided = wg.compile(lambda *xs: op.state_space_pullback(*xs))
    assert bits(divided(*operands)) == bits(alone)
    assert [kernel.split for kernel in divided.executable(*operands).program.kernels] == [0]
