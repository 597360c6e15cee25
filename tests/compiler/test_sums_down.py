"""Kernels along rows that sum down them, too: which programs become one, and the same bits as from
kernels of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits
from compiler.test_fold_orders import by_lanes, by_rows
from wengert.codegen import sums_down
from wengert.codegen.kernel import Kernel, all_programs

WAYS: tuple[dict[str, str], ...] = (
    {},
    {"WENGERT_FUSE": "0"},
    {"WENGERT_LANES": "4"},
    {"WENGERT_LANES": "8"},
    {"WENGERT_NUM_THREADS": "3", "WENGERT_GRAIN": "1"},
)


def real(dtype: Any, *shape: int) -> Any:
    return np.random.default_rng(sum(shape)).uniform(-2, 2, shape).astype(dtype)


def arguments(rows: int, columns: int, dtype: Any = np.float32) -> tuple[Any, ...]:
    """Rows, a number for each column twice, and cotangents of the rows."""
    return (
        real(dtype, rows, columns),
        real(dtype, columns),
        real(dtype, columns) + 1,
        real(dtype, rows, columns) - 1,
    )


def kernels(function: Any, *args: Any, **options: Any) -> list[Kernel]:
    program = wg.compile(function, **options).executable(*args).program
    return [kernel for each in all_programs(program) for kernel in each.kernels]


def summed(found: list[Kernel]) -> int:
    """How many sums go down rows."""
    return sum(len(kernel.down) for kernel in found)


def require_same_bits(function: Any, *calls: Any, **options: Any) -> list[Any]:
    """Each build gives the same bits; returns what the plain one gives."""
    found: list[list[Any]] = []
    for settings in WAYS:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            compiled = wg.compile(function, **options)
            found.append([compiled(*args) for args in calls])
            again = [compiled(*args) for args in calls]
        assert list(map(bits, again)) == list(map(bits, found[-1])), "a later call differs"
        assert list(map(bits, found[-1])) == list(map(bits, found[0])), settings
    return found[0]


@pytest.fixture
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if few rows paid, too."""
    monkeypatch.setattr(sums_down, "ROWS", 0)
    monkeypatch.setattr(sums_down, "NARROWEST", 17)


# Programs: what is computed, how many kernels there are, and how many sums go down rows.


def layer_norm(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    return wg.vjp(wg.layer_norm, x, scale, shift)[1](g)


def shift_first(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    """A sum over rows begins the kernel, which then turns."""
    return layer_norm(x, scale, shift, g)[::-1]


def rms_norm(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    return wg.vjp(wg.rms_norm, x, scale)[1](g)


def biased_softmax(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    """The sum is one of what is an output, too."""
    return wg.vjp(lambda x, b: wg.log_softmax(x + b), x, shift)[1](g)


def product_stored(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    centred = x - wg.mean(x, axis=1, keepdims=True)
    return wg.sum(centred * g, axis=0), centred * g, wg.sum(g, axis=0, keepdims=True)


def both_ways(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    return wg.sum(x, axis=0), wg.sum(x, axis=1)


def of_rows_themselves(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    """A number of each row, at every place of it, is summed."""
    total = wg.sum(x, axis=1, keepdims=True)
    return wg.sum(np.broadcast_to(total, x.shape) * scale, axis=0), total


def integers(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    whole = wg.op.astype(x * 100, np.int32)
    return wg.sum(whole, axis=1), wg.sum(whole, axis=0), wg.sum(x > 0, axis=0)


def two_dtypes(x: Any, scale: Any, shift: Any, g: Any) -> Any:
    wide = wg.op.astype(wg.softmax(x), np.float64)
    return wg.sum(wide, axis=0), wg.sum(x, axis=0), wg.sum(wide, axis=1)


PROGRAMS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "layer_norm": (layer_norm, 1, 2),
    "shift first": (shift_first, 1, 2),
    "rms_norm": (rms_norm, 1, 1),
    "softmax": (biased_softmax, 1, 1),
    "product stored": (product_stored, 1, 2),
    "both ways": (both_ways, 1, 1),
    "of rows themselves": (of_rows_themselves, 1, 1),
    "integers": (integers, 1, 2),
    "two dtypes": (two_dtypes, 1, 2),
}
EACH = pytest.mark.parametrize("name", PROGRAMS)


@EACH
def test_one_kernel_for_rows_and_columns(name):
    function, count, down = PROGRAMS[name]
    found = kernels(function, *arguments(512, 48))
    assert (len(found), summed(found)) == (count, down)


@EACH
@pytest.mark.parametrize("columns", [48, 50, 1040])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_known_sizes(name, columns, dtype):
    function, _, down = PROGRAMS[name]
    args = arguments(300, columns, dtype)
    assert summed(kernels(function, *args)) == down
    require_same_bits(function, args)


@EACH
def test_rows_of_any_number(name):
    """No rows, one, those around the end of a block and of a group, by one program."""
    function, _, down = PROGRAMS[name]
    calls = [arguments(rows, 34) for rows in (130, 0, 1, 63, 64, 65, 4097)]
    dims = {"x": {0: wg.Dim("n")}, "g": {0: wg.Dim("n")}}
    assert summed(kernels(function, *calls[0], dims=dims)) == down
    require_same_bits(function, *calls, dims=dims)


@EACH
@pytest.mark.parametrize("rows", [0, 1, 18, 64, 65, 128, 4160])
def test_few_rows(name, rows, of_any_size):
    """As many rows as columns, a single block, and whole blocks."""
    function, *_ = PROGRAMS[name]
    args = arguments(rows, 18)
    require_same_bits(function, args)


@pytest.mark.parametrize("rows", [256, 300, 4097, 8192 + 64])
@pytest.mark.parametrize("columns", [32, 50, 1100])
def test_the_order_is_that_of_sums_over_rows(rows, columns):
    x, _, _, g = arguments(rows, columns)

    def function(x: Any, g: Any) -> Any:
        total = wg.sum(x, axis=1, keepdims=True)
        return total[:, 0], wg.sum(x, axis=0), wg.sum(x * total * g, axis=0)

    (found,) = require_same_bits(function, (x, g))
    total = by_lanes(x)
    expected = total, by_rows(x), by_rows(x * total[:, None] * g)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_of_several_axes():
    """Rows are counted through all leading axes; what is read of them may lie apart."""

    def function(x, scale, place, g):
        y, pull = wg.vjp(lambda x, s: wg.rms_norm(x, s), x + place, scale)
        return *pull(g), wg.sum(g, axis=(0, 1)), y

    args = real(np.float32, 7, 45, 40), real(np.float32, 40), real(np.float32, 45, 40)
    args = (*args, real(np.float32, 7, 45, 40) - 1)
    found = kernels(function, *args)
    assert (len(found), summed(found)) == (1, 2)
    require_same_bits(function, args)
    dims = {"x": {0: wg.Dim("b")}, "g": {0: wg.Dim("b")}}
    calls = [(args[0][:n], *args[1:3], args[3][:n]) for n in (7, 0, 1, 4)]
    assert summed(kernels(function, *calls[0], dims=dims)) == 2
    require_same_bits(function, *calls, dims=dims)


def test_rows_along_several_axes():
    def function(x, g):
        centred = x - wg.mean(x, axis=(1, 2), keepdims=True)
        return wg.sum(centred * g, axis=0), centred

    args = real(np.float32, 300, 6, 9), real(np.float32, 300, 6, 9) + 1
    assert [kernel.folded for kernel in kernels(function, *args) if kernel.down] == [(1, 2)]
    require_same_bits(function, args)


@pytest.mark.parametrize("rows", [300, 50])
def test_workers_divide_rows(rows, monkeypatch):
    """An open number of them, too, that is small at first."""
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    dims = {"x": {0: wg.Dim("n")}, "g": {0: wg.Dim("n")}}
    for options in ({}, {"dims": dims})[rows < sums_down.ROWS :]:
        (kernel,) = kernels(layer_norm, *arguments(rows, 40), threads=3, **options)
        assert (kernel.split, len(kernel.down)) == (0, 2)


def test_nothing_as_large_as_the_rows_is_kept():
    x, scale, shift, g = arguments(4096, 64)
    executable = wg.compile(layer_norm, threads=1).executable(x, scale, shift, g)
    assert executable.recipe.placed.arena < x.nbytes / 16


# What is not taken in.


def test_what_reads_a_sum_comes_later():
    """The same number of rows as of columns: nothing but their axes tells them apart."""

    def function(x):
        total = wg.sum(x, axis=1)
        columns = wg.sum(x * total[:, None], axis=0)
        return total, columns, x - columns, x.T - columns, wg.sum(x - columns, axis=1), 2 * columns

    x = real(np.float32, 256, 256)
    found = kernels(function, x)
    assert summed(found) == 1
    assert len(found) > 1
    require_same_bits(function, (x,))


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(sums_down.ROWS - 1, 64), (512, sums_down.NARROWEST - 1), (512, sums_down.WIDEST + 1)],
)
def test_sizes_that_do_not_pay(rows, columns):
    assert summed(kernels(both_ways, *arguments(rows, columns))) == 0


def test_what_is_no_plain_sum_or_lies_otherwise():
    def function(x, y):
        largest = wg.max(x, axis=1)
        return largest, wg.max(x, axis=0), wg.prod(x, axis=0), wg.sum(y.T, axis=0)

    args = real(np.float32, 300, 40), real(np.float32, 40, 300)
    assert summed(kernels(function, *args)) == 0
    require_same_bits(function, args)


def test_a_sum_along_rows_of_another_shape():
    def function(x, y):
        return wg.sum(x, axis=0), wg.sum(y, axis=2), wg.sum(x, axis=1)

    args = real(np.float32, 300, 40), real(np.float32, 3, 100, 40)
    require_same_bits(function, args)


def test_more_sums_than_one_kernel_takes():
    def function(x):
        y = wg.softmax(x)
        return [wg.sum(y * c, axis=0) for c in range(2, 2 + sums_down.MOST + 2)]

    args = (real(np.float32, 300, 40),)
    found = kernels(function, *args)
    assert [len(kernel.down) for kernel in found if kernel.kind == "rows"] == [sums_down.MOST]
    require_same_bits(function, args)


# Where kernels stand.


def test_inside_a_loop():
    """Memory for the sums of blocks lies beside that of the loop."""

    def function(xs, scale, shift, g):
        def step(carry, x):
            dx, ds, db = layer_norm(x, scale, shift, g)
            return carry + ds, (dx, db)

        return wg.scan(step, scale, xs)

    args = real(np.float32, 3, 300, 40), *arguments(300, 40)[1:]
    assert summed(kernels(function, *args)) == 2
    require_same_bits(function, args)


def test_alike_kernels():
    def function(a, b, scale, shift, g):
        first = layer_norm(np.tanh(a @ a.T @ b), scale, shift, g)
        second = layer_norm(np.tanh(b @ b.T @ a), scale, shift, g)
        return first, second

    args = real(np.float32, 300, 40), real(np.float32, 300, 40) + 1, *arguments(300, 40)[1:]
    assert summed(kernels(function, *args)) >= 2
    require_same_bits(function, args)


def test_training():
    """Steps that write over their parameters, with a batch of any size."""

    def loss(p, x):
        y = wg.layer_norm(x @ p["w"], p["scale"], p["shift"])
        return wg.mean(wg.log_softmax(y + p["bias"]) ** 2)

    def trained(rows: int) -> str:
        p = {name: real(np.float32, 40) for name in ("scale", "shift", "bias")}
        step = wg.TrainStep(loss, p | {"w": real(np.float32, 5, 40)}, wg.optim.Adam(0.01))
        for count in (rows, rows // 2, rows):
            step(real(np.float32, count, 5))
        return str(step.fingerprint())

    found = set()
    for settings in WAYS:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            found.add(trained(300))
    assert len(found) == 1
