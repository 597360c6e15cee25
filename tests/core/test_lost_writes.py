"""What a function writes to the tree that it receives is lost with that tree: it is refused, unless
it is returned.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import wengert as wg

x = np.array([1.0, 2.0, 3.0])


@dataclass
class Norm:
    w: np.ndarray
    running_mean: np.ndarray
    t: int = 0
    h: Any = None

    def __call__(self, x):
        mu = np.mean(x)
        self.running_mean = 0.9 * self.running_mean + 0.1 * mu
        return np.sum((x - mu) * self.w)


def norm():
    return Norm(np.ones(3), np.zeros(()))


def dict_write(m, x):
    m["rm"] = m["rm"] + np.mean(x)
    return np.sum(m["w"] * x)


def inner_write(m, x):
    m["list"][0]["h"] = m["list"][0]["w"] * 2
    return np.sum(m["list"][0]["w"] * x)


def append(m, x):
    m["list"].append(m["list"][0]["w"] * 2)
    return np.sum(m["list"][0]["w"] * x)


def activation(m, x):
    m.h = np.tanh(m.w * x)
    return np.sum(m.h)


def undeclared(m, x):
    m.other = np.tanh(m.w * x)
    return np.sum(m.other)


CASES = {
    "method": (lambda m, x: m(x), norm, "m.running_mean"),
    "dict": (dict_write, lambda: {"w": np.ones(3), "rm": np.zeros(())}, "m.rm"),
    "inside": (inner_write, lambda: {"list": [{"w": np.ones(3)}]}, "m.list.0.h"),
    "append": (append, lambda: {"list": [{"w": np.ones(3)}]}, "m.list.1"),
    "activation": (activation, norm, "m.h"),
    "undeclared": (undeclared, norm, "m.other"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "how", ["grad", "vjp", "jvp", "jacobian", "compile", "trace", "step", "eager"]
)
def test_writes_of_arrays_are_refused(case, how):
    f, make, path = CASES[case]
    model = make()
    calls = {
        "grad": lambda: wg.grad(f)(model, x),
        "vjp": lambda: wg.vjp(f, model, x),
        "jvp": lambda: wg.jvp(f, (model, x), (model, x)),
        "jacobian": lambda: wg.jacobian(f)(model, x),
        "compile": lambda: wg.compile(f)(model, x),
        "trace": lambda: wg.trace(f, model, x),
        "step": lambda: wg.TrainStep(f, model, wg.optim.SGD(0.0))(x),
        "eager": lambda: wg.TrainStep(f, model, wg.optim.SGD(0.0), compiled=False)(x),
    }
    path = path.replace("m.", "model.", 1) if how in ("step", "eager") else path
    with pytest.raises(wg.errors.TraceError) as caught:
        calls[how]()
    assert f"wrote an array to {path};" in str(caught.value)
    assert "state=" in str(caught.value)


def test_bound_functions():
    step = wg.TrainStep(lambda m, x: np.sum(m.w * x), norm(), wg.optim.SGD(0.0))
    for call in (
        lambda: step.bind(activation)(x),
        lambda: step.evaluate(activation, x, batch_size=3),
    ):
        with pytest.raises(wg.errors.TraceError, match=r"wrote an array to model\.h"):
            call()


def test_what_is_returned_is_not_lost():
    def update(m, x):
        m["w"] = m["w"] - x
        m["t"] += 1
        return m

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = wg.compile(update)({"w": np.ones(3), "t": 1}, x)
        np.testing.assert_array_equal(found["w"], 1 - x)

        def loss(m, x):
            m["h"] = m["w"] * 2
            return np.sum(m["w"] * x), m["h"]

        gradient, h = wg.grad(loss, has_aux=True)({"w": np.ones(3)}, x)
        np.testing.assert_array_equal(gradient["w"], x)
        np.testing.assert_array_equal(h, np.full(3, 2.0))

        def carried(w, state, x):
            state["h"] = state["h"] + np.sum(x)
            return np.sum(w * x), state

        step = wg.TrainStep(carried, np.ones(3), wg.optim.SGD(0.0), state={"h": np.zeros(())})
        step(x), step(x)
        assert step.state["h"] == 12.0


def test_what_is_taken_out_is_no_write():
    def loss(m, x):
        w = m.pop("w")
        return np.sum(w * x)

    assert wg.grad(loss)({"w": np.ones(3)}, x).keys() == {"w"}


def test_lists_may_be_rearranged():
    def reverse(items):
        items.reverse()
        return np.sum(items[0]["w"]) + 2 * np.sum(items[1]["w"])

    def pop(items):
        first = items.pop(0)
        return np.sum(first["w"]) + 2 * np.sum(items[0]["w"])

    model = [{"w": np.ones(2), "n": 1}, {"w": np.ones(3), "n": 2}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f, factors in ((reverse, (2.0, 1.0)), (pop, (1.0, 2.0))):
            found = wg.grad(f)(model)
            assert tuple(each["w"][0] for each in found) == factors

    def write(items):
        items.reverse()
        items[0]["w"] = items[0]["w"] * 2
        return np.sum(items[0]["w"])

    def alias(items):
        items[0]["w"] = items[1]["w"]
        return np.sum(items[0]["w"])

    for f in (write, alias):
        with pytest.raises(wg.errors.TraceError, match=r"wrote an array to items\.0\.w"):
            wg.grad(f)(model)


def test_counters_in_a_model_warn():
    def loss(m, x):
        m.t += 1
        return np.sum(m.w * x) / m.t

    for call in (
        lambda: wg.TrainStep(loss, norm(), wg.optim.SGD(0.0))(x),
        lambda: wg.compile(loss)(norm(), x),
        lambda: wg.grad(loss)(norm(), x),
    ):
        with pytest.warns(wg.errors.FrozenValueWarning, match=r"\.t from 0 to 1"):
            call()


@dataclass
class Masked:
    w: np.ndarray

    @cached_property
    def mask(self):
        return np.arange(3) > 0

    def __call__(self, x):
        return np.sum(self.w * x * self.mask)


def test_what_python_caches_is_no_write():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            wg.grad(lambda m, x: m(x))(Masked(np.ones(3)), x).w, [0.0, 2.0, 3.0]
        )
        step = wg.TrainStep(lambda m, x: m(x), Masked(np.ones(3)), wg.optim.SGD(0.0))
        assert step(x) == 5.0


def test_a_constant_that_is_filled_in_warns():
    def loss(m, x):
        if m.h is None:
            m.h = np.arange(3) > 0
        return np.sum(m.w * x * m.h)

    with pytest.warns(wg.errors.FrozenValueWarning, match="made again in every call"):
        assert wg.compile(loss)(norm(), x) == 5.0


def test_functions_inside_of_a_recorded_one():
    @wg.custom_vjp
    def custom(m, x):
        m["rm"] = m["rm"] + x
        return np.sum(m["w"] * x)

    custom.defvjp(lambda m, x: (custom(m, x), (m, x)), lambda saved, g: saved)

    def layer(m, x):
        m["rm"] = m["rm"] + x
        return np.sum(m["w"] * x)

    def body(carry, m):
        m["h"] = m["w"] * 2.0
        return carry + np.sum(m["w"]), None

    model = {"w": np.ones(3), "rm": np.zeros(3)}
    for f in (
        lambda m, x: wg.checkpoint(layer)(m, x),
        lambda m, x: wg.cond(x[0] > 0, layer, layer, m, x),
        lambda m, x: wg.scan(body, 0.0, m)[0],
        custom,
    ):
        with pytest.raises(wg.errors.TraceError, match="wrote an array to argument"):
            wg.compile(f)(model, x)


def test_a_carry_may_be_written_to():
    def body(carry, x):
        carry["h"] = carry["h"] + x
        return carry, None

    assert wg.scan(body, {"h": 0.0}, x)[0]["h"] == 6.0
    assert wg.compile(lambda x: wg.scan(body, {"h": 0.0}, x)[0]["h"])(x) == 6.0
