"""Functions of sequences: values and gradients against JAX, and parts of a sequence against the
whole to the last bit.
"""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sequence_references as reference
from compiler.running import bits

import wengert as wg
from wengert.errors import DTypeError, MaskWarning, ShapeError

BATCH, CHANNELS, STATES = 2, 4, 3


def random(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def require_gradients(ours: Any, theirs: Any, args: Any) -> None:
    """Values and gradients by all arguments, in JAX, eager and compiled."""
    found = ours(args)
    weights = [random(*np.shape(y), seed=9) for y in jax.tree.leaves(found)]

    def weighed(f: Any, total: Any) -> Any:
        def loss(args: Any) -> Any:
            return sum(total(y * w) for y, w in zip(jax.tree.leaves(f(args)), weights, strict=True))

        return loss

    expected = jax.jit(theirs)(args)
    for y, z in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-10)
    wanted = jax.jit(jax.grad(weighed(theirs, jnp.sum)))(args)
    gradient = wg.grad(weighed(ours, wg.sum))
    for way in (gradient, wg.compile(gradient)):
        for a, b in zip(jax.tree.leaves(way(args)), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(b).max()))


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


def test_decays_of_any_size():
    args = scan_arguments(5, "timed", "timed")
    args["A"] = np.array([[-1e4, -1.0, 0.0]] * CHANNELS)
    args["delta"] = np.ones_like(args["u"])
    for dtype in (np.float32, np.float64):
        given = {k: x.astype(dtype) for k, x in args.items()}
        f = wg.compile(wg.value_and_grad(lambda a: wg.sum(wg.selective_scan(**a))))
        for x in wg.tree.leaves(f(given)):
            assert np.isfinite(x).all()


def test_float32_is_near_float64():
    args = scan_arguments(200, "timed", "timed")
    f = wg.compile(lambda a: wg.selective_scan(**a, delta_softplus=True))
    single = f({k: x.astype(np.float32) for k, x in args.items()})
    exact = f(args)
    assert single.dtype == np.float32
    assert np.abs(single - exact).max() < 1e-5 * np.abs(exact).max()


# Attention.

MASKS = {
    "none": lambda *_: None,
    "bools": lambda t, k: random(BATCH, 1, t, k) < 0.7,
    "heads": lambda t, k: random(4, 1, k) < 0.7,
    "floats": lambda t, k: random(t, k),
}


@pytest.mark.parametrize(
    ("time", "keys", "shared", "mask", "causal"),
    [
        (1, 1, 4, "none", True),
        (3, 2, 2, "floats", False),
        (17, 20, 1, "bools", True),
        (270, 270, 2, "none", True),
        (130, 5, 4, "heads", False),
        (130, 131, 2, "floats", True),
    ],
)
def test_attention(time, keys, shared, mask, causal):
    given = MASKS[mask](time, keys)
    if given is not None and given.dtype == bool:
        given[..., 0] = True
    options = {"mask": given, "causal": causal, "scale": 0.3 if shared == 1 else None}
    args = (random(2, 4, time, 3), random(2, shared, keys, 3), random(2, shared, keys, 2))
    require_gradients(
        lambda a: wg.attention(*a, **options), lambda a: reference.attention(*a, **options), args
    )


def test_queries_that_may_look_nowhere_give_zeros():
    q, k = random(1, 2, 3, 4), random(1, 2, 5, 4)
    mask = np.array([[False], [True], [True]])
    assert not wg.attention(q, k, k, mask)[:, :, 0].any()
    for g in wg.grad(lambda q, k: wg.sum(wg.attention(q, k, k, mask) ** 2), argnums=(0, 1))(q, k):
        assert np.isfinite(g).all()
        assert g.any()


def test_no_scores_of_all_rows_are_kept():
    """What the way back of long sequences needs grows with time, not with its square."""
    sizes = []
    for time in (512, 1024):
        x = np.ones((1, 1, time, 2), np.float32)
        loss = wg.compile(wg.grad(lambda x: wg.sum(wg.attention(x, x, x, causal=True))))
        loss(x)
        sizes.append(loss.executable(x).memory.arena.nbytes)
    assert sizes[1] < 2.5 * sizes[0]


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
        looked = wg.attention(*(x[..., None] for _ in range(3)), causal=True)
        found = (y, h, rows, sums, *spectrum, looked)
        return sum(wg.mean(each**2) for each in found)

    return wg.value_and_grad(loss)(x)


def test_same_bits(monkeypatch):
    """Fused or not, in vectors of any width, for any number of threads."""
    x = (0.5 * random(2, 4, 70)).astype(np.float32)
    expected = bits(wg.compile(everything)(x))
    for settings in (
        {"WENGERT_FUSE": "0", "WENGERT_LANES": "4"},
        {"WENGERT_LANES": "8", "WENGERT_NUM_THREADS": "3", "WENGERT_GRAIN": "1"},
    ):
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            assert bits(wg.compile(everything)(x)) == expected, settings


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


def causal(dtype):
    return np.tril(np.ones((3, 3))).astype(dtype)


Q = np.random.default_rng(0).normal(size=(2, 3, 4))  # (heads, time, size)
AS_FLOATS = {
    "an array": lambda: wg.attention(Q, Q, Q, mask=causal(float)),
    "a constant": lambda: wg.compile(lambda q: wg.attention(q, q, q, mask=causal(float)))(Q),
    "converted": lambda: wg.compile(
        lambda q, mask: wg.attention(q, q, q, mask=mask.astype(np.float64)[None])
    )(Q, causal(bool)),
}


@pytest.mark.parametrize("way", AS_FLOATS)
def test_a_mask_of_floats_that_are_truths_is_named(way):
    with pytest.warns(MaskWarning, match=r"mask\.astype\(bool\)"):
        AS_FLOATS[way]()


def test_masks_that_hide_or_add_are_let_pass():
    hidden = np.where(causal(bool), 0.0, -np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wg.attention(Q, Q, Q, mask=causal(bool))
        assert np.allclose(wg.attention(Q, Q, Q, mask=hidden), found)
        wg.attention(Q, Q, Q, mask=np.zeros((3, 3)))
