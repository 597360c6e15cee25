"""Levels of threads, tapes and generators; what a call returns and keeps; trees and names."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core import bind

N = wg.Dim("n")
X = np.arange(12.0).reshape(4, 3) / 7
OPEN = {"x": {0: N}}


def test_a_transformation_in_another_thread_sees_the_outer_one_as_constant():
    def product(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            inner = pool.submit(lambda: wg.grad(lambda y: x * y)(3.0))
        return inner.result() * x

    assert float(wg.grad(product)(1.0)) == 2.0


def test_a_tape_that_ends_out_of_order_takes_nothing_with_it():
    def steps():
        with wg.GradientTape():
            yield

    it = steps()
    next(it)
    found = wg.grad(lambda x: (list(it), wg.grad(lambda y: x * y)(3.0) * x)[1])(2.0)
    assert float(found) == 4.0


def test_levels_are_closed_when_the_function_raises():
    before = len(bind._stack.levels)
    with pytest.raises(ZeroDivisionError):
        wg.grad(lambda x: x / (1 // 0))(1.0)
    assert len(bind._stack.levels) == before


def test_second_order_through_a_scan():
    def cubed(x: Any) -> Any:
        return wg.scan(lambda h, t: (h * h * t, None), x, np.ones(3))[0]

    assert float(wg.grad(wg.grad(cubed))(1.0)) == 56.0


# What a call returns is its own, and what it keeps is not the user's.


def test_a_constant_that_changed_is_recorded_again():
    g = wg.Graph()
    w, c = g.parameter(np.ones(2)), np.ones(2)
    g.mul(w, c)
    c[:] = 5
    np.testing.assert_array_equal(g.value(g.mul(w, c)), [5.0, 5.0])
    indices = np.array([0, 1])
    y = g.gather(w, indices)
    indices[:] = 0
    np.testing.assert_array_equal(g.op(y)[2]["indices"], [0, 1])


def test_a_value_may_be_changed_before_its_pullback_runs():
    value, pullback = wg.vjp(np.exp, np.zeros(2))
    value *= 0
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [1.0, 1.0])


def test_aux_is_not_the_users_array():
    x = np.ones(2)
    for aux in (
        wg.grad(lambda x: (x.sum(), X), has_aux=True)(x)[1],
        wg.vjp(lambda x: (x, X), x, has_aux=True)[2],
        wg.jvp(lambda x: (x, X), (x,), (x,), has_aux=True)[2],
    ):
        assert not np.shares_memory(aux, X)


def test_gradients_of_a_tape_do_not_share_memory():
    with wg.GradientTape() as tape:
        a, b = tape.watch(np.ones(3)), tape.watch(np.ones(3))
        loss = (a + b).sum()
    ga, gb = tape.gradient(loss, [a, b])
    ga *= 2
    np.testing.assert_array_equal(gb, np.ones(3))


def test_every_result_is_an_array():
    assert all(type(wg.grad(f)(2.0)) is np.ndarray for f in (lambda x: x * x, lambda x: x**3))


def test_a_gradient_by_hand_has_the_dtype_of_its_argument():
    @wg.custom_vjp
    def double(x):
        return 2 * x

    held = np.ones(2)
    double.defvjp(lambda x: (2 * x, None), lambda _, g: (held,))
    assert wg.grad(lambda x: double(x).sum())(np.ones(2, np.float32)).dtype == np.float32
    assert not np.shares_memory(wg.grad(lambda x: double(x).sum())(np.ones(2)), held)


# Python numbers stay what they are.


@pytest.mark.parametrize("around", [lambda f: f, wg.checkpoint])
def test_python_numbers_are_static_in_a_region(around: Any):
    value, gradient = wg.value_and_grad(around(lambda x, a: (x * a).sum()))(
        np.ones(2, np.float32), 2.0
    )
    assert (value.dtype, gradient.dtype) == (np.float32, np.float32)
    shaped = wg.grad(around(lambda x, n: x.reshape(n, -1).sum()))(np.ones(4), 2)
    np.testing.assert_array_equal(shaped, np.ones(4))


def test_python_numbers_are_static_in_a_branch():
    graph = wg.trace(
        lambda x: wg.cond(x.sum() > 0, lambda x, a: x * a, lambda x, a: x, x, 2.0),
        np.ones(3, np.float32),
    )
    assert graph.output_types()[0].dtype == np.float32


def test_masked_arrays_are_refused():
    with pytest.raises(wg.errors.DTypeError, match="MaskedArray"):
        wg.grad(lambda x: (x * x).sum())(np.ma.masked_array(np.ones(3), [0, 1, 0]))


def test_byte_swapped_arrays_are_converted():
    gradient = wg.grad(lambda x: (x * x).sum())(np.ones(2, ">f8"))
    np.testing.assert_array_equal(gradient, [2.0, 2.0])


# Sizes inside bodies.


def test_a_body_may_need_a_size_its_inputs_do_not_carry():
    def halves(x: Any) -> Any:
        return wg.cond(x.sum() > 5, lambda s: s / x.shape[0], lambda s: s * 2, x.sum())

    graph = wg.trace(halves, X, dims=OPEN)
    np.testing.assert_allclose(graph.run(x=X[:3]), [halves(X[:3])])
    np.testing.assert_allclose(graph.run(x=X), [halves(X)])


def test_the_gradient_of_a_scan_over_an_open_axis():
    def total(x: Any) -> Any:
        return wg.scan(lambda c, t: (c * 0.5 + t, None), np.zeros(3), x)[0].sum()

    graph = wg.grad_with_loss(wg.trace(total, X, dims=OPEN), [0])
    np.testing.assert_allclose(graph.run(x=X[:2])[1], wg.grad(total)(X[:2]))


def test_a_body_may_take_a_multiple_of_a_size():
    def doubled(x: Any) -> Any:
        z = np.concatenate([x, x])
        return wg.checkpoint(lambda s: (s * z).sum())(x.sum())

    graph = wg.trace(doubled, X, dims=OPEN)
    np.testing.assert_allclose(graph.run(x=X[:3])[0], doubled(X[:3]))


def test_sizes_combine_with_numpy_integers():
    graph = wg.trace(lambda x: x.reshape(x.shape[0] * np.prod(x.shape[1:])), X, dims=OPEN)
    assert graph.run(x=X[:2])[0].shape == (6,)
    assert np.int64(3) * N == N * 3


def test_looking_behind_a_number_is_not_exponential():
    def doubling(x: Any) -> Any:
        s = np.sqrt(x.shape[0])
        for _ in range(60):
            s = s + s
        return x if s > 0 else -x

    with pytest.warns(UserWarning, match="specialised"):
        wg.trace(doubling, X, dims=OPEN)


# Nothing is left behind by what was refused.


def test_a_refused_call_leaves_no_node():
    g = wg.Graph()
    w = g.parameter(np.ones(2), name="w")
    with pytest.raises(wg.errors.ShapeError):
        w + np.ones(3)
    with pytest.raises(wg.errors.DTypeError):
        g.parameter({"a": np.ones(2), "b": np.ones(2, complex)}, name="q")
    assert len(g) == 1


# Tapes.


def test_a_seed_must_fit():
    with wg.GradientTape() as tape:
        x = tape.watch(np.ones((2, 1)))
        y = x * x
    with pytest.raises(wg.errors.ShapeError, match="seed"):
        tape.gradient(y, x, seed=np.ones((2, 5)))


def test_integers_in_a_watched_tree_get_zeros():
    with wg.GradientTape() as tape:
        p = tape.watch({"w": np.ones(2), "i": np.arange(2)})
        loss = (p["w"] * p["i"]).sum()
    found = tape.gradient(loss, p)
    np.testing.assert_array_equal(found["w"], [0.0, 1.0])
    np.testing.assert_array_equal(found["i"], [0, 0])


def test_two_tapes_at_once():
    with wg.GradientTape() as outer:
        x = outer.watch(np.array(3.0))
        with wg.GradientTape() as inner:
            y = inner.watch(x)
            z = y * y * x
        dy = inner.gradient(z, y)
    assert float(outer.gradient(z, x)) == 27.0
    assert float(outer.gradient(dy, x)) == 12.0


def test_a_way_back_that_is_not_wanted_is_not_gone():
    """As many sources as are watched, but not the same: b leads into an op without derivative."""

    @wg.op.primitive(numpy=np.floor, type=lambda x: x, opaque="it has none")
    def planted_floor(x, /):
        """Floor, for this test."""

    with wg.GradientTape() as tape:
        a, b = tape.watch(np.array(2.0)), tape.watch(np.array(3.5))
        square = a * a
        loss = square * planted_floor(b)
    assert [float(g) for g in tape.gradient(loss, [a, square])] == [12.0, 3.0]
    with pytest.raises(wg.errors.NotDifferentiable):
        tape.gradient(loss, b)


# Copies, trees and names.


def test_an_op_is_itself_after_copying():
    assert copy.deepcopy({"act": wg.tanh})["act"] is wg.tanh
    assert pickle.loads(pickle.dumps(wg.tanh)) is wg.tanh
    g = wg.Graph()
    g.set_outputs(g.tanh(g.input(np.zeros(2), name="x")))
    np.testing.assert_array_equal(copy.deepcopy(g).run()[0], [0.0, 0.0])


@dataclass
class WithMemory:
    w: Any

    def __post_init__(self) -> None:
        self.scale = 3.0


def test_attributes_beside_the_fields_of_a_dataclass_are_kept():
    gradient = wg.grad(lambda m: (m.w * m.scale).sum())(WithMemory(np.ones(2)))
    np.testing.assert_array_equal(gradient.w, [3.0, 3.0])


def test_dataclasses_met_first_in_several_threads():
    kinds = [dataclass(type(f"Model{i}", (), {"__annotations__": {"w": Any}})) for i in range(20)]
    errors = []

    def meet() -> None:
        try:
            for kind in kinds:
                wg.tree.flatten(kind(np.ones(1)))
        except ValueError as error:
            errors.append(error)

    threads = [threading.Thread(target=meet) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_input_names_differ():
    graph = wg.trace(lambda arg1, *rest: arg1 + rest[0], np.ones(1), np.ones(1))
    assert len({graph.name(n) for n in graph.inputs}) == 2
    tree = {"a.b": np.ones(1), "a": {"b": np.ones(1)}}
    graph = wg.trace(lambda p: p["a.b"] + p["a"]["b"], tree)
    assert len({graph.name(n) for n in graph.inputs}) == 2
    graph = wg.trace(lambda d_output: d_output["x"].sum(), {"x": np.ones(1)})
    assert len(wg.grad_with_loss(graph, [0]).outputs) == 2
