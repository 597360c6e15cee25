"""Functions of sequences: values and gradients against JAX, and parts of a sequence against the
whole to the last bit.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sequence_references as reference
from compiler.running import bits

import wengert as wg
from functions.sequence_gradients import random, require_gradients
from wengert.errors import DTypeError, ShapeError

BATCH, CHANNELS, STATES = 2, 4, 3


# Linear recurrences.


@pytest.mark.parametrize(
    ("shape", "axis", "begun", "reverse"),
    [
        ((1,), 0, True, False),
        ((3, 17), 1, True, True),
        ((1000, 3), 0, True, False),
        ((2, 5, 3), 1, False, True),
    ],
)
def test_linear_recurrence(shape, axis, begun, reverse):
    args = {"a": random(*shape) * 0.5, "b": random(*shape, seed=2)}
    if begun:
        args["h0"] = random(*shape[:axis], *shape[axis + 1 :])
    options = {"reverse": reverse, "axis": axis}
    require_gradients(
        lambda a: wg.linear_recurrence(**a, **options),
        lambda a: reference.linear_recurrence(**a, **options),
        args,
    )


def test_a_recurrence_broadcasts_and_goes_on():
    a, b, h0 = random(5), random(9, 2, 5), random(5)
    f = wg.compile(lambda a, b, h0: wg.linear_recurrence(a, b, h0))
    whole = f(a, b, h0)
    np.testing.assert_allclose(whole, reference.linear_recurrence(a, b, np.stack([h0, h0])))
    state = np.stack([h0, h0])
    for part in (b[:1], b[1:6], b[6:]):
        rows = f(a, part, state)
        assert bits(rows) == bits(whole[: len(part)])
        whole, state = whole[len(part) :], rows[-1]
    assert wg.linear_recurrence(2, np.ones(2, np.float32), h0=1).dtype == np.float32


LENGTHS = (1, 2, 3, 17, 1000, 4096)


def test_recurrences_of_any_length():
    """One program, against loops that say what values and gradients are."""

    def loss(a: Any, b: Any) -> Any:
        return wg.sum(wg.linear_recurrence(a, b) * wg.cos(b))

    dims = {"a": {0: wg.Dim("time")}, "b": {0: wg.Dim("time")}}
    compiled = wg.compile(wg.grad(loss, argnums=(0, 1)), dims=dims)
    for time in LENGTHS:
        a, b = 0.5 * random(time, 3), random(time, 3, seed=2)
        h = [b[0]]
        for t in range(1, time):
            h.append(a[t] * h[-1] + b[t])
        later, ga, gb = np.zeros(3), np.zeros_like(a), np.empty_like(b)
        for t in reversed(range(time)):
            later = np.cos(b[t]) + (a[t + 1] * later if t + 1 < time else 0)
            ga[t] = later * h[t - 1] if t else 0
            gb[t] = later - h[t] * np.sin(b[t])
        for found, wanted in zip(compiled(a, b), (ga, gb), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


SHAPES = {(65, 50): 1, (2, 30, 300): 1, (3, 9, 7, 40): 1, (20, 5, 6): 1}


def running(x: Any, h0: Any, axis: int) -> Any:
    sums, products = wg.cumsum(x, axis=axis), wg.cumprod(wg.cos(x), axis=axis)
    rows = wg.linear_recurrence(wg.sin(x), x, axis=axis)
    return sums, products, rows, wg.linear_recurrence(wg.sin(x), x, h0, axis=axis, reverse=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_workers_divide_what_runs_side_by_side(shape, monkeypatch):
    axis = SHAPES[shape]
    x = random(*shape).astype(np.float32)
    h0 = x.take(0, axis).copy()
    alone = bits(wg.compile(lambda x, h0: running(x, h0, axis), threads=1)(x, h0))
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    shared = wg.compile(lambda x, h0: running(x, h0, axis), threads=3)
    assert bits(shared(x, h0)) == alone
    kernels = shared.executable(x, h0).program.kernels
    assert [kernel.split for kernel in kernels if kernel.kind == "special"] == [0] * 4


# The selective scan.


def scan_arguments(time: int, b: str, c: str, everything: bool = True) -> dict[str, Any]:
    shapes = {
        "constant": (CHANNELS, STATES),
        "timed": (BATCH, STATES, time),
        "grouped": (BATCH, 2, STATES, time),
        "single": (BATCH, CHANNELS, STATES, time),
    }
    u = (BATCH, CHANNELS, time)
    args = {
        "u": random(*u),
        "delta": np.abs(random(*u, seed=2)),
        "A": -np.abs(random(CHANNELS, STATES)),
        "B": random(*shapes[b], seed=3),
        "C": random(*shapes[c], seed=4),
    }
    if everything:
        args |= {"D": random(CHANNELS), "z": random(*u, seed=5)}
        args |= {"delta_bias": random(CHANNELS, seed=6)}
        args |= {"h0": random(BATCH, CHANNELS, STATES)}
    return args


@pytest.mark.parametrize(
    ("time", "b", "c", "everything"),
    [
        (1, "timed", "timed", True),
        (2, "constant", "grouped", False),
        (3, "single", "grouped", True),
        (17, "constant", "constant", True),
        (1000, "grouped", "timed", True),
    ],
)
def test_selective_scan(time, b, c, everything):
    options = {"delta_softplus": everything}
    require_gradients(
        lambda a: wg.selective_scan(**a, **options, return_last_state=True),
        lambda a: reference.selective_scan(**a, **options),
        scan_arguments(time, b, c, everything),
    )


def test_a_long_selective_scan():
    """Compiled, in chunks, against the loop over all times in NumPy."""
    args = scan_arguments(LENGTHS[-1], "grouped", "timed")

    def gradients(a: Any) -> Any:
        return wg.value_and_grad(lambda a: wg.sum(wg.selective_scan(**a, delta_softplus=True)))(a)

    found, wanted = wg.compile(gradients)(args), gradients(args)
    for x, y in zip(wg.tree.leaves(found), wg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * np.abs(y).max())


def test_parts_of_a_selective_scan_have_the_bits_of_the_whole():
    args = scan_arguments(100, "timed", "constant")
    state = args.pop("h0")
    timed = {"u", "delta", "B", "z"}

    def scan(args: Any, h0: Any) -> Any:
        return wg.selective_scan(**args, h0=h0, delta_softplus=True, return_last_state=True)

    whole, last = wg.compile(scan)(args, state)
    compiled = wg.compile(scan)
    for begin, end in ((0, 99), (99, 100)):
        part = {k: x[..., begin:end] if k in timed else x for k, x in args.items()}
        y, state = compiled(part, state)
        assert bits(y) == bits(np.ascontiguousarray(whole[..., begin:end]))
    assert bits(state) == bits(last)
    alone = {k: x[1:] if k in timed else x for k, x in args.items()}
    y, _ = compiled(alone, scan_arguments(100, "timed", "constant")["h0"][1:])
    assert bits(y[0]) == bits(whole[1])


@pytest.mark.parametrize(("b", "factor", "width"), [("timed", 1e4, 1.0), ("constant", 1.0, 1e4)])
def test_decays_of_any_size(b, factor, width):
    """In the kernel and in the loop, by a large A and by a large delta."""
    args = scan_arguments(5, b, "timed")
    args["A"] = np.array([[-factor, -1.0, 0.0]] * CHANNELS)
    args["delta"] = width * np.ones_like(args["u"])
    f = wg.compile(wg.value_and_grad(lambda a: wg.sum(wg.selective_scan(**a))))
    for dtype in (np.float32, np.float64):
        given = {k: x.astype(dtype) for k, x in args.items()}
        for x in wg.tree.leaves(f(given)):
            assert np.isfinite(x).all()


def test_float32_is_near_float64():
    args = scan_arguments(200, "timed", "timed")
    f = wg.compile(lambda a: wg.selective_scan(**a, delta_softplus=True))
    single = f({k: x.astype(np.float32) for k, x in args.items()})
    exact = f(args)
    assert single.dtype == np.float32
    assert np.abs(single - exact).max() < 1e-5 * np.abs(exact).max()


# Scans of other functions.


def test_associative_scan():
    def f(x: Any, y: Any) -> Any:
        return x[0] * y[0], y[0] * x[1] + y[1]

    args = (random(3, 70), random(3, 70, seed=2))
    require_gradients(
        lambda a: wg.associative_scan(f, a, axis=1),
        lambda a: (jnp.cumprod(a[0], axis=1), reference.linear_recurrence(*a, axis=1)),
        args,
    )
    for time in (1, 2, 5):
        given = tuple(x[:, :time] for x in args)
        found = wg.associative_scan(f, given, reverse=True, axis=1)
        expected = jax.lax.associative_scan(f, given, reverse=True, axis=1)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def test_products_of_matrices_and_nothing():
    x = random(6, 2, 2)
    found = wg.associative_scan(np.matmul, x)
    np.testing.assert_allclose(found[-1], np.linalg.multi_dot(x))
    assert wg.associative_scan(np.add, np.zeros((0, 3))).shape == (0, 3)


# Fourier transforms.


@pytest.mark.parametrize("n", [1, 2, 3, 17, 67, 100, 521, 1000, 1042])
def test_fourier_transforms(n):
    x = random(2, n)
    expected = np.fft.rfft(x)
    real, imag = wg.compile(lambda x: wg.fft.rfft(x))(x)
    size = np.abs(expected).max()
    assert (
        max(np.abs(real - expected.real).max(), np.abs(imag - expected.imag).max()) < 1e-14 * size
    )
    np.testing.assert_allclose(wg.fft.irfft(real, imag, n=n), x, rtol=0, atol=1e-13)
    a, b = random(2, 2, n // 2 + 1)
    np.testing.assert_allclose(wg.fft.irfft(a, b, n=n), np.fft.irfft(a + 1j * b, n=n), atol=1e-13)


def test_derivatives_of_fourier_transforms():
    x = random(3, 7, 2)
    wg.check_grads(lambda x: wg.fft.rfft(x, n=5, axis=1), [x])
    wg.check_grads(lambda x: wg.fft.irfft(*wg.fft.rfft(x, n=130, axis=1), axis=1), [x])


def test_long_convolutions():
    x, k = random(3, 50), random(50, seed=3)
    (a, b), (c, d) = wg.fft.rfft(x, n=100), wg.fft.rfft(k, n=100)
    found = wg.fft.irfft(a * c - b * d, a * d + b * c)[:, :50]
    np.testing.assert_allclose(found, [np.convolve(row, k)[:50] for row in x], atol=1e-12)


# All of them.


def everything(x: Any) -> Any:
    """Value and gradient of a function with all of them in it."""

    def loss(x: Any) -> Any:
        y, h = wg.selective_scan(
            x, x * x, -wg.exp(x[0, :, :2]), x[:, :2], x[:, 1:3], z=x, return_last_state=True
        )
        rows = wg.linear_recurrence(wg.tanh(x), x, h0=x[0, :, :70] * 0.1, axis=0)
        sums = wg.associative_scan(wg.add, x, axis=-1)
        spectrum = wg.fft.rfft(x)
        heads = wg.reshape(x, (4, 140, 1))  # more than a block of queries; two of them share keys
        looked = wg.attention(heads, heads[::2], heads[::2], causal=True)
        windows = wg.max_pool(wg.conv(x, x[:, :2, :3], padding="causal", groups=2), 2)
        wider = wg.conv_transpose(x, x[0, :, None, :3] * wg.ones((1, 2, 1), x.dtype), stride=2)
        found = (y, h, rows, sums, *spectrum, looked, windows, wider)
        return sum(wg.mean(each**2) for each in found)

    return wg.value_and_grad(loss)(x)


def test_same_bits(monkeypatch):
    """Fused or not, in vectors of any width, for any number of threads."""
    x = (0.5 * random(2, 4, 70)).astype(np.float32)
    expected = bits(wg.compile(everything)(x))
    for settings in (
        {"WENGERT_FUSE": "0", "WENGERT_LANES": "4"},
        {"WENGERT_LANES": "8", "WENGERT_NUM_THREADS": "3", "WENGERT_GRAIN": "1"},
        {"WENGERT_LANES": "16", "WENGERT_NUM_THREADS": "2", "WENGERT_GRAIN": "1"},
    ):
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            assert bits(wg.compile(everything)(x)) == expected, settings


def test_a_sequence_alone_has_the_bits_it_has_in_a_batch():
    def run(x: Any) -> Any:
        a = -wg.exp(x[0, :, :2] * 0)
        heads = wg.swapaxes(x, 1, 2)[:, None]
        return (
            wg.selective_scan(x, x * x, a, x[:, :2], x[:, 1:3]),
            wg.linear_recurrence(wg.tanh(x), x, axis=2),
            wg.associative_scan(wg.add, x, axis=-1),
            wg.attention(heads, heads, heads, causal=True),
            *wg.fft.rfft(x),
        )

    x = (0.5 * random(5, 4, 140)).astype(np.float32)
    together, compiled = wg.compile(run)(x), wg.compile(run)
    for i in (0, 3):
        for one, all_of_them in zip(compiled(x[i : i + 1]), together, strict=True):
            assert bits(one[0]) == bits(all_of_them[i])


def test_open_sizes():
    dims = {"x": {0: wg.Dim("batch"), 2: wg.Dim("time")}}

    def scanned(x: Any) -> Any:
        a = -wg.ones((4, 3))
        y = wg.selective_scan(x, x * x, a, a, x[:, :3])
        rows = wg.swapaxes(x, 1, 2)
        return y, wg.attention(rows, rows, rows, causal=True), wg.linear_recurrence(0.5, x, axis=2)

    compiled = wg.compile(scanned, dims=dims)
    for batch, time in ((2, 5), (3, 200), (1, 1)):
        x = random(batch, 4, time)
        for a, b in zip(compiled(x), scanned(x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_what_is_refused():
    x, u = np.ones((1, 2, 3)), np.ones((1, 2, 3))
    a = np.ones((2, 4))
    cases = {
        r"linear_recurrence: h0 has shape \(1, 2, 3\)": lambda: wg.linear_recurrence(x, x, x),
        r"selective_scan: A has shape \(4, 2\)": lambda: wg.selective_scan(u, u, a.T, a, a),
        r"selective_scan: B has shape \(1, 3, 4\)": lambda: wg.selective_scan(
            u, u, a, np.ones((1, 3, 4)), a
        ),
        r"selective_scan: h0 has shape": lambda: wg.selective_scan(u, u, a, a, a, h0=a),
        r"selective_scan: u has shape \(2, 3\)": lambda: wg.selective_scan(u[0], u[0], a, a, a),
        r"attention: q, k and v have shapes": lambda: wg.attention(x, x, x[:, :1]),
        r"attention: 3 queries and 2 keys": lambda: wg.attention(
            x[..., None], x[:, :, :2, None], x[:, :, :2, None], causal=True
        ),
        r"attention: mask has shape": lambda: wg.attention(x, x, x, np.ones((5, 2, 3), bool)),
        r"associative_scan: xs have \[1, 2\]": lambda: wg.associative_scan(np.add, (x, a)),
        r"irfft: real has shape": lambda: wg.fft.irfft(x, a),
        r"rfft: n=0": lambda: wg.fft.rfft(x, n=0),
    }
    for words, call in cases.items():
        with pytest.raises(ShapeError, match=words):
            call()
    for words, call in {
        "linear_recurrence: b has dtype": lambda: wg.linear_recurrence(1.0, np.arange(3)),
        "selective_scan: C has dtype": lambda: wg.selective_scan(u, u, a, a, a.astype(int)),
        "attention: mask has dtype int64": lambda: wg.attention(x, x, x, np.ones((2, 2), int)),
    }.items():
        with pytest.raises(DTypeError, match=words):
            call()


# The pair that rfft returns is no array.

AS_ONE_ARRAY = {
    "np.abs": np.abs,
    "wg.abs": lambda z: wg.abs(z),
    "wg.sum": lambda z: wg.sum(z),
    "np.sum": np.sum,
    "np.asarray": np.asarray,
    "power": lambda z: z**2,
    "repeated": lambda z: z * 2,
    "from the left": lambda z: 2 * z,
    "by an array": lambda z: np.ones(5) * z,
    "joined": lambda z: z + z,
    "a slice": lambda z: z[1:],
}


@pytest.mark.parametrize("way", AS_ONE_ARRAY)
def test_a_pair_of_parts_is_not_one_array(way):
    use, x = AS_ONE_ARRAY[way], np.arange(8.0)
    for call in (use, lambda z: wg.grad(lambda x: wg.sum(use(wg.fft.rfft(x))))(x)):
        with pytest.raises(wg.errors.DTypeError, match=r"given the pair \(real, imag\)"):
            call(wg.fft.rfft(x))


def test_a_pair_of_parts_is_a_tuple():
    x = np.arange(8.0)
    z = wg.fft.rfft(x)
    real, imag = z
    assert z.real is real is z[0]
    assert z.imag is imag is z[-1]
    np.testing.assert_allclose(z.real + 1j * z.imag, np.fft.rfft(x), atol=1e-12)
    assert wg.stack(z).shape == np.stack(z).shape == (2, 5)
    assert type(wg.tree.map(np.abs, z)) is tuple
    np.testing.assert_allclose(wg.compile(wg.fft.rfft)(x)[1], imag, atol=1e-12)
    value, pull = wg.vjp(wg.fft.rfft, x)
    np.testing.assert_array_equal(pull((real, imag))[0], pull(value)[0])
