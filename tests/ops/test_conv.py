"""conv and conv_transpose: values and gradients against JAX, options, refusals, the same bits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import wengert as wg
from wengert.core.dims import product
from wengert.core.table import op as table
from wengert.errors import ShapeError
from wengert.ops.windows.convolution import spread_convolution

jax.config.update("jax_enable_x64", True)


def random(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def jax_conv(x, w, stride=1, padding="VALID", dilation=1, groups=1):
    axes = w.ndim - 2
    strides, dilations = ((n,) * axes if isinstance(n, int) else n for n in (stride, dilation))
    return lax.conv_general_dilated(
        x, w, strides, padding, rhs_dilation=dilations, feature_group_count=groups
    )


# shapes of x and w, our options, padding in JAX's words
CASES = {
    "two axes": ((2, 3, 6, 5), (4, 3, 3, 3), {}, "VALID"),
    "same": ((2, 3, 6, 5), (4, 3, 3, 2), {"padding": "same"}, "SAME"),
    "same with a stride": ((1, 2, 7, 8), (3, 2, 3, 3), {"stride": 2, "padding": "same"}, "SAME"),
    "causal": ((2, 3, 9), (2, 3, 3), {"padding": "causal", "dilation": 2}, ((4, 0),)),
    "three axes": ((1, 2, 3, 4, 5), (2, 2, 2, 1, 3), {"padding": 1}, ((1, 1),) * 3),
    "groups": ((2, 6, 5, 5), (4, 3, 3, 3), {"groups": 2, "padding": 1}, ((1, 1),) * 2),
    "depthwise": ((2, 3, 9), (6, 1, 4), {"groups": 3, "padding": ((3, 0),)}, ((3, 0),)),
    "stride beyond the window": ((1, 2, 11, 9), (2, 2, 2, 1), {"stride": (4, 3)}, "VALID"),
    "one by one": ((2, 3, 4, 5), (7, 3, 1, 1), {}, "VALID"),
    "one by one in groups": ((2, 4, 5), (6, 2, 1), {"groups": 2}, "VALID"),
    "one by one with a stride": ((2, 3, 4, 5), (2, 3, 1, 1), {"stride": 2}, "VALID"),
    "length 1": ((1, 2, 1), (3, 2, 1), {"padding": 0, "dilation": 3}, "VALID"),
    "window as large as space": ((3, 2, 4, 4), (5, 2, 4, 4), {}, "VALID"),
    "long": ((1, 2, 1000), (3, 2, 17), {"padding": 8}, ((8, 8),)),
    "many channels": ((1, 37, 5, 4), (19, 37, 3, 3), {"padding": 1}, ((1, 1),) * 2),
}


def drawn(name):
    shape, window, *_ = CASES[name]
    return random(*shape), random(*window, seed=1)


def weighted(y):
    """A sum in which every element counts differently."""
    return y * np.cos(np.arange(y.size)).reshape(y.shape)


@pytest.fixture(scope="module")
def expected():
    """Values and gradients of all cases, by JAX."""

    def one(x, w, options, padding):
        others = {key: value for key, value in options.items() if key != "padding"}

        def total(x, w):
            y = jax_conv(x, w, padding=padding, **others)
            return jnp.sum(weighted(y)), y

        slopes, y = jax.grad(total, argnums=(0, 1), has_aux=True)(x, w)
        return y, *slopes

    @jax.jit
    def all_of_them(given):
        return {name: one(*given[name], *CASES[name][2:]) for name in CASES}

    return all_of_them({name: drawn(name) for name in CASES})


@pytest.fixture(scope="module")
def compiled():
    """The same as one compiled program."""

    def one(x, w, options):
        def total(x, w):
            y = wg.conv(x, w, **options)
            return wg.sum(weighted(y)), y

        slopes, y = wg.grad(total, argnums=(0, 1), has_aux=True)(x, w)
        return y, *slopes

    @wg.compile
    def all_of_them(given):
        return {name: one(*given[name], CASES[name][2]) for name in CASES}

    return all_of_them({name: drawn(name) for name in CASES})


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_jax(name, expected, compiled):
    x, w = drawn(name)
    options = CASES[name][2]
    np.testing.assert_allclose(wg.conv(x, w, **options), expected[name][0], rtol=1e-10, atol=1e-10)
    slopes = wg.grad(lambda x, w: wg.sum(weighted(wg.conv(x, w, **options))), argnums=(0, 1))(x, w)
    for found, wanted in zip(slopes, expected[name][1:], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    for found, wanted in zip(compiled[name], expected[name], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("shape", "window", "options"),
    [
        ((2, 3, 4, 5), (3, 2, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
        ((1, 4, 6), (4, 3, 5), {"stride": 3, "padding": 2, "dilation": 2, "groups": 2}),
        ((1, 1, 2, 3, 2), (1, 2, 2, 2, 2), {"stride": (1, 2, 1)}),
    ],
)
def test_the_transpose_is_that_of_conv(shape, window, options):
    x, w = random(*shape), random(*window, seed=1)
    y = wg.conv_transpose(x, w, **options)
    back = {key: value for key, value in options.items() if key != "output_padding"}
    z = random(*y.shape, seed=2)
    # <y, z> = <x, conv(z)> for the conv that has this w: (out, in, *window) of z's channels.
    forward = wg.conv(z, w, **back)
    assert forward.shape == x.shape
    np.testing.assert_allclose(np.sum(y * z), np.sum(x * forward), rtol=1e-10)
    np.testing.assert_allclose(
        wg.compile(lambda x, w: wg.conv_transpose(x, w, **options))(x, w), y, rtol=1e-10, atol=1e-10
    )


def test_places_within_a_stride_one_by_one_are_the_whole():
    rng, compared = np.random.default_rng(0), 0
    for _ in range(60):
        axes = int(rng.integers(1, 3))
        space, window, dilation, spread = (
            tuple(int(n) for n in rng.integers(1, most, axes)) for most in (6, 6, 4, 5)
        )
        pads = tuple((int(a), int(b)) for a, b in rng.integers(-2, 6, (axes, 2)))
        x, w = random(2, 1, 2, *space), random(1, 3, 2, *window, seed=1)
        options = {"padding": pads, "dilation": dilation, "spread": spread, "stride": (1,) * axes}
        try:
            wanted = table.convolution(x, w, **options)
        except ShapeError:  # the window does not fit
            continue
        found = spread_convolution(x, w, **options)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=str(options))
        compared += product(spread) > 1
    assert compared > 25


def test_the_transpose_with_same_is_stride_times_as_long():
    x = random(1, 2, 3, 4)
    for size in (1, 2, 3, 4):
        y = wg.conv_transpose(x, random(2, 3, size, size), stride=2, padding="same")
        assert y.shape == (1, 3, 6, 8)


def test_second_derivatives():
    x, w = random(1, 2, 5, 4), random(2, 2, 3, 2, seed=1)
    wg.check_grads(lambda x, w: wg.tanh(wg.conv(x, w, stride=2, padding=1)), [x, w])


def test_float32_is_close_to_float64():
    x, w = random(4, 16, 9, 9), random(8, 16, 3, 3, seed=1)
    single = wg.compile(wg.conv)(x.astype(np.float32), w.astype(np.float32))
    double = wg.conv(x, w)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-5 * np.abs(double).max())


def test_an_image_has_the_same_bits_alone_and_in_a_batch():
    x, w = random(5, 3, 8, 8, dtype=np.float32), random(6, 3, 3, 3, seed=1, dtype=np.float32)
    run = wg.compile(lambda x, w: wg.conv(x, w, padding="same"))
    together = run(x, w)
    for i in range(5):
        np.testing.assert_array_equal(run(x[i : i + 1], w)[0], together[i])


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    x, w = random(7, 3, 8, 8, dtype=np.float32), random(6, 3, 3, 3, seed=1, dtype=np.float32)

    def f(x, w):
        return wg.sum(wg.max_pool(wg.relu(wg.conv(x, w, padding="same")), 2) ** 2)

    results = [wg.compile(wg.value_and_grad(f, argnums=(0, 1)), threads=n)(x, w) for n in (1, 2, 3)]
    for other in results[1:]:
        assert wg.tree.leaves(other)[0].tobytes() == wg.tree.leaves(results[0])[0].tobytes()
        for a, b in zip(wg.tree.leaves(other), wg.tree.leaves(results[0]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_sizes_may_be_open():
    w = random(4, 3, 3, 3, seed=1)
    open_sizes = {"x": {0: wg.Dim("n"), 2: wg.Dim("h")}}
    run = wg.compile(lambda x: wg.conv(x, w, padding="same"), dims=open_sizes)
    for shape in ((2, 3, 6, 5), (1, 3, 9, 5), (3, 3, 1, 5)):
        x = random(*shape)
        np.testing.assert_allclose(run(x), wg.conv(x, w, padding="same"), rtol=1e-10, atol=1e-10)


def test_integers_become_floats():
    x = np.arange(6, dtype=np.uint8).reshape(1, 1, 6)
    y = wg.conv(x, np.ones((1, 1, 2), np.float32))
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y.ravel(), [1, 3, 5, 7, 9])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wg.conv(np.ones((3, 8, 8)), np.ones((4, 3, 3, 3))), r"x\[np.newaxis\]"),
        (lambda: wg.conv(np.ones((1, 8, 8, 3)), np.ones((4, 3, 3, 3))), r"moveaxis\(x, -1, 1\)"),
        (lambda: wg.conv(np.ones((1, 3, 8)), np.ones((4, 2, 3))), "x has 3 channels"),
        (
            lambda: wg.conv(np.ones((1, 4, 8)), np.ones((3, 2, 3)), groups=2),
            "must divide by groups",
        ),
        (lambda: wg.conv(np.ones((1, 1, 2)), np.ones((1, 1, 3))), "must fit in at least once"),
        (lambda: wg.conv(np.ones((1, 1, 2)), np.ones((1, 1, 1)), stride=0), "stride=0"),
        (lambda: wg.conv(np.ones((1, 1, 2)), np.ones((1, 1, 1)), padding="full"), '"causal"'),
        (lambda: wg.conv(np.ones((1, 1, 2)), np.ones((1, 1, 1)), padding=(1, 2)), "pair"),
        (lambda: wg.conv(np.ones((1, 1, 2)), np.ones((1, 1, 1)), padding=-1), "at least 0"),
        (lambda: wg.conv(np.ones((1, 2)), np.ones((1, 1))), "one to three axes"),
        (lambda: wg.conv_transpose(np.ones((1, 2, 3)), np.ones((3, 2, 3))), "x has 2 channels"),
        (
            lambda: wg.conv_transpose(np.ones((1, 1, 1)), np.ones((1, 1, 2)), padding=1),
            "leaves no elements",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ShapeError, match=message):
        call()
