"""float64 that a float32 model meets, whatever made it: named once, where the two meet."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import WengertWarning, WideningWarning

DRAWN = np.random.default_rng(0)
MODEL = {
    "w": DRAWN.normal(size=(4, 5)).astype(np.float32),
    "u": np.eye(5, dtype=np.float32),
}
X = DRAWN.normal(size=(6, 4)).astype(np.float32)
T = np.arange(6)
DONE = T > 3
TABLE = DRAWN.normal(size=(10, 5))  # float64


def warned(loss: Callable[..., Any], *batch: Any, model: Any = MODEL, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        wg.TrainStep(loss, model, wg.optim.SGD(0.0), **options)(*batch)
    assert all(each.filename == __file__ for each in found)
    wrong = [each for each in found if not issubclass(each.category, WengertWarning)]
    assert not wrong
    assert all(each.category is WideningWarning for each in found)
    return [str(each.message) for each in found]


def hidden(m: Any, x: Any) -> Any:
    return x @ m["w"]


def column(x: Any) -> Any:
    return x[:, None]


def recurrent(begin: Callable[..., Any]) -> Callable[..., Any]:
    """A loss that goes on with what a scan has made, in two further layers."""

    def loss(m, x):
        rows = wg.stack([x, x])
        h, _ = wg.scan(lambda h, r: (wg.tanh(r @ m["w"] + h @ m["u"]), None), begin(x), rows)
        h = h @ m["u"]
        return wg.mean(h @ m["u"])

    return loss


WIDE = {
    "wg.zeros as a carry": (recurrent(lambda x: wg.zeros((x.shape[0], 5))), (X,), "wg.zeros(shape"),
    "np.zeros as a carry": (recurrent(lambda x: np.zeros((6, 5))), (X,), "wg.zeros(shape"),
    "eye": (lambda m, x: wg.mean(hidden(m, x) @ wg.eye(5)), (X,), "array of float64"),
    "zeros": (
        lambda m, x: wg.mean(hidden(m, x) + wg.zeros((x.shape[0], 1))),
        (X,),
        "wg.zeros(shape",
    ),
    "where": (
        lambda m, x, t: wg.mean(hidden(m, x) + column(np.where(t > 3, 0.0, -1e9))),
        (X, T),
        "where made",
    ),
    "astype(float)": (
        lambda m, x, t: wg.mean(hidden(m, x) * column((t > 3).astype(float))),
        (X, T),
        "astype made",
    ),
    "1.0 - mask": (
        lambda m, x, t: wg.mean(hidden(m, x) * column(1.0 - (t > 3))),
        (X, T),
        "subtract made",
    ),
    "1 - mask": (lambda m, x, d: wg.mean(hidden(m, x) * column(1 - d)), (X, DONE), "int64"),
    "number * mask": (
        lambda m, x, d: wg.mean((hidden(m, x) - column(0.9 * ~d)) ** 2),
        (X, DONE),
        "multiply made",
    ),
    "targets": (
        lambda m, x, d: wg.mse(hidden(m, x)[:, 0], x[:, 0] + 0.9 * (1 - d) * x[:, 1]),
        (X, DONE),
        "multiply made",
    ),
    "targets that only the last function sees": (
        lambda m, x, t: wg.mse(hidden(m, x)[:, 0], t / 10),
        (X, T),
        "divide made",
    ),
    "wg.take": (
        lambda m, x, t: wg.mean(hidden(m, x) + wg.take(TABLE, t, axis=0)),
        (X, T),
        "array of float64",
    ),
    "wg.asarray": (
        lambda m, x, t: wg.mean(hidden(m, x) + wg.asarray(TABLE)[t]),
        (X, T),
        "array of float64",
    ),
    "scaled integers": (
        lambda m, x, t: wg.mean(hidden(m, x) * column((t - 40) / 10)),
        (X, T),
        "divide made",
    ),
    "t * 0.1": (lambda m, x, t: wg.mean(hidden(m, x) * column(t * 0.1)), (X, T), "multiply made"),
    "log1p": (lambda m, x, t: wg.mean(hidden(m, x) * column(np.log1p(t))), (X, T), "log1p made"),
    "sqrt": (lambda m, x, t: wg.mean(hidden(m, x) * column(np.sqrt(t))), (X, T), "sqrt made"),
    "a mean of masks": (
        lambda m, x, t: wg.mean(hidden(m, x) * np.mean(t > 3)),
        (X, T),
        "mean made",
    ),
    "np.sqrt of a size": (
        lambda m, x: wg.mean(hidden(m, x) / np.sqrt(x.shape[0])),
        (X,),
        "n ** 0.5",
    ),
    "np.sqrt of a number": (lambda m, x, k: wg.mean(hidden(m, x) / np.sqrt(k)), (X, 3), "n ** 0.5"),
    "a scalar that comes back": (
        lambda m, x, t: wg.mean(hidden(m, x) * (wg.sum(hidden(m, x)) / wg.sum(t))),
        (X, T),
        "divide made",
    ),
    "images in a convolution": (
        lambda m, x, t: wg.mean(wg.conv((t / 255)[None, None], m["w"][:, None])),
        (X, T),
        "conv: float32 meets float64 that divide made",
    ),
    "einsum": (
        lambda m, x, t: wg.mean(np.einsum("i,ij->ij", t / 255, hidden(m, x))),
        (X, T),
        "einsum: float32 meets float64 that divide made",
    ),
    "integers in einsum": (
        lambda m, x, t: wg.mean(wg.einsum("i,ij->ij", t, hidden(m, x))),
        (X, T),
        "einsum: float32 meets an array of int64",
    ),
    "a constant in a convolution": (
        lambda m, x: wg.mean(wg.conv(TABLE[None, :, :], m["w"][:, :1, None].repeat(10, 1))),
        (X,),
        "array of float64",
    ),
    "in a region": (
        lambda m, x, t: wg.mean(wg.checkpoint(lambda a, b: a * b)(hidden(m, x), column(t * 0.1))),
        (X, T),
        "multiply made",
    ),
}
NARROW = {
    "zeros of the dtype": (recurrent(lambda x: wg.zeros((x.shape[0], 5), x.dtype)), (X,)),
    "zeros_like": (recurrent(lambda x: wg.zeros_like(x @ MODEL["w"])), (X,)),
    "1 / size": (lambda m, x: wg.mean(hidden(m, x) * (1 / x.shape[0])), (X,)),
    "size ** 0.5": (lambda m, x: wg.mean(hidden(m, x) / x.shape[0] ** 0.5), (X,)),
    "a number": (lambda m, x, k: wg.mean(hidden(m, x) / k**0.5 * (k * 0.1)), (X, 3)),
    "a loss by a count": (
        lambda m, x, t: wg.sum(hidden(m, x) * column(t != 2)) / wg.sum(t != 2),
        (X, T),
    ),
    "converted": (
        lambda m, x, t: wg.mean(hidden(m, x) * column((t / 10).astype(np.float32))),
        (X, T),
    ),
    "asked for": (
        lambda m, x: wg.mean(hidden(m, x).astype(np.float64) * x.astype(np.float64)[:, :1]),
        (X,),
    ),
    "numbers that are drawn": (lambda m, x, rng: wg.mean(hidden(m, x) * rng.normal((6, 5))), (X,)),
    "integers as targets": (lambda m, x, t: wg.mse(hidden(m, x)[:, 0], t), (X, T)),
    "a fraction as aux": (lambda m, x, t: wg.mean(hidden(m, x)) + 0 * wg.mean(t > 3), (X, T)),
}


@pytest.mark.parametrize("name", WIDE)
def test_float64_is_named_once_where_float32_meets_it(name):
    loss, batch, told = WIDE[name]
    (text,) = warned(loss, *batch)
    assert "float32 meets" in text
    assert told in text


@pytest.mark.parametrize("name", WIDE)
def test_it_is_no_false_alarm(name):
    loss, batch, _ = WIDE[name]

    def wide_nodes(graph):
        for node in graph.nodes:
            if node.line is not None and node.line.phase == "forward":
                yield node.op.name, node.type

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = wg.trace(lambda m, x: loss(m, x, *batch[1:]), MODEL, X)
    assert any("float64[" in str(found) for _, found in wide_nodes(graph))


@pytest.mark.parametrize("name", NARROW)
def test_what_stays_float32_is_no_reason_to_warn(name):
    loss, batch = NARROW[name]
    assert warned(loss, *batch) == []


def test_the_line_that_made_it_is_named():
    def loss(m, x):
        bias = wg.zeros((x.shape[0], 1))
        return wg.mean(hidden(m, x) + bias)

    (text,) = warned(loss, X)
    assert f"made at test_widening.py:{loss.__code__.co_firstlineno + 1};" in text


IT, D = r"Convert it with astype\(np.float32\)\.$", "Convert 'd' first, with astype"


@pytest.mark.parametrize(
    ("made", "of", "origin"),
    [
        (lambda d, x: 0.9 * (1 - d), DONE, f"multiply made of 'd', an argument of bools; .*{D}"),
        (lambda d, x: 0.9 * d, DONE, f"multiply made of 'd', an argument of bools; .*{D}"),
        (lambda d, x: (1 - d) * x[:, 0], DONE, f"made of 'd', an argument of bools; .*{D}"),
        # What needs bools, and what would lose digits of large integers, is converted after.
        (lambda d, x: 0.9 * ~d, DONE, f"made of 'd', an argument of bools; .*{IT}"),
        (lambda d, x: 0.9 * wg.where(d, 0, 1), DONE, f"of 'd', an argument of bools; .*{IT}"),
        (lambda d, x: 0.9 * (1 - d), T, f"made of 'd', an argument of integers; .*{IT}"),
        (lambda d, x: np.sqrt(d + 1), T, f"sqrt made of 'd', an argument of integers; .*{IT}"),
        # Made of floats.
        (lambda d, x: 0.9 * (x[:, 0] > 0), DONE, f"float64 that multiply made; .*{IT}"),
        (lambda d, x: 0.9 * (d & (x[:, 0] > 0)), DONE, f"float64 that multiply made; .*{IT}"),
    ],
)
def test_the_bools_or_integers_that_it_was_made_of_are_named(made, of, origin):
    def loss(m, x, d):
        return wg.mean((hidden(m, x) - column(made(d, x))) ** 2)

    (text,) = warned(loss, X, of)
    assert re.search(origin, re.sub(r" at test_widening.py:\d+", "", text))


def test_two_arguments_that_it_was_made_of_are_named():
    def loss(m, x, d, cut):
        return wg.mean((hidden(m, x) - column(0.9 * ((1 - d) * (1 - cut)))) ** 2)

    (text,) = warned(loss, X, DONE, ~DONE)
    assert "multiply made of 'd' and 'cut', arguments of bools or integers; " in text


def test_bools_that_are_converted_first_widen_nothing():
    def loss(m, x, d):
        return wg.mean((hidden(m, x) - column(0.9 * (1 - d.astype(np.float32)))) ** 2)

    assert warned(loss, X, DONE) == []


def test_a_wide_leaf_of_a_narrow_model_is_named_when_the_step_is_made():
    model = {**MODEL, "log_std": np.zeros(2)}

    def loss(m, x):
        return wg.mean(hidden(m, x)) + wg.mean(m["log_std"])

    (text,) = warned(loss, X, model=model)
    assert "leaf 'log_std' of the model is float64, and others such as 'w' are float32" in text
    assert warned(loss, X, model=model, cast=False) == []
    narrow = {**model, "log_std": np.zeros(2, np.float32)}
    assert warned(loss, X, model=narrow) == []
    assert warned(loss, X, model=wg.tree.map(np.float64, model)) == []


def test_what_our_own_advice_recommends_stays_float32():
    for key in ("ignore_index", "weight"):
        with pytest.raises(TypeError, match=r"losses\.dtype"):
            wg.cross_entropy(np.ones((2, 3)), np.zeros(2, int), **{key: 0})
    weight = np.ones(5)

    def loss(m, x, targets):
        losses = wg.cross_entropy(hidden(m, x), targets, reduction="none")
        keep = wg.astype(targets != 2, losses.dtype)
        w = wg.asarray(weight, losses.dtype)[targets]
        found = wg.sum(losses * keep) / wg.sum(keep) + wg.sum(losses * w) / wg.sum(w)
        assert found.dtype == np.float32
        return found

    assert warned(loss, X, T % 5) == []


def test_integers_beside_a_number_of_python():
    gradient = wg.compile(wg.grad(lambda x, n: wg.sum(wg.clip(x, n, 5.0))))
    with pytest.warns(WideningWarning, match="clip: float32 meets an array of int64"):
        found = gradient(np.ones(3, np.float32), np.arange(3))
    assert found.tolist() == [1, 1, 0]


def test_a_draw_is_told_of_its_dtype():
    wide = np.zeros(2)
    key = wg.random.key(0)
    told = r"The float32 was drawn: .*wg\.random\.normal\(key, shape, np\.float64\)"
    with pytest.warns(WideningWarning, match=told):
        wg.compile(lambda k: wide + 0.1 * wg.random.normal(k, (2,)))(key)
    with pytest.warns(WideningWarning, match=told):
        wg.compile(lambda k: wg.arange(2.0) * 2.0 + 0.1 * wg.random.uniform(k, (2,)))(key)
    with pytest.warns(WideningWarning, match=r"Use x\.astype\(np\.float32\)"):
        wg.compile(lambda k, q: wide + q * wg.random.normal(k, (2,)))(key, X[0, :2])


@dataclass
class Scaled:
    """A layer whose temperature is a number of Python's, or an array that is trained."""

    w: Any
    scale: Any = 2.66

    def by_wg(self, x: Any) -> Any:
        return hidden({"w": self.w}, x) * wg.exp(self.scale)

    def by_numpy(self, x: Any) -> Any:
        return hidden({"w": self.w}, x) * np.exp(self.scale)

    def by_math(self, x: Any) -> Any:
        return hidden({"w": self.w}, x) * math.exp(self.scale)


def test_a_function_of_wg_of_a_python_number():
    (found,) = warned(lambda m, x: wg.mean(m.by_wg(x)), X, model=Scaled(MODEL["w"]))
    assert found.startswith("multiply: float32 meets an array of float64 without axes, as wg.exp")
    assert "Use math.exp for wg.exp, or x.astype(np.float32). A number that shall be" in found
    assert "np.array(2.66, np.float32)" in found
    (found,) = warned(lambda m, x: wg.mean(m.by_numpy(x)), X, model=Scaled(MODEL["w"]))
    assert "float32 meets np.float64" in found
    assert "Use a Python number, as of math.sqrt or float(x)" in found
    assert not warned(lambda m, x: wg.mean(m.by_math(x)), X, model=Scaled(MODEL["w"]))
    trained = Scaled(MODEL["w"], np.array(2.66, np.float32))
    assert not warned(lambda m, x: wg.mean(m.by_wg(x)), X, model=trained)


def test_a_python_number_in_a_list_is_named():
    net = wg.nn.Linear(2, 1, seed=0)

    def solution(joined: Callable[..., Any]) -> Callable[..., Any]:
        return lambda net, x: wg.mean(wg.vmap(lambda x: net(joined([x, 0.0]))[0])(x) ** 2)

    (found,) = warned(solution(wg.stack), X[:, 0], model=net)
    assert found.startswith("stack: float32 meets the Python number 0.0 in a list")
    assert "Write wg.array([x, 0.0])" in found
    assert warned(solution(wg.array), X[:, 0], model=net) == []
