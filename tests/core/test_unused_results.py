"""Results that nothing reads: of `v /= s` where v is a Tensor, and of calls that are statements."""

from __future__ import annotations

import io
import operator
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert import stop_gradient
from wengert.errors import UnusedWarning

X = np.array([[1.0, 2.0], [3.0, 5.0]])


def normalise_(v):
    v /= v.sum()


def in_a_helper(x):
    y = x * 1.0
    normalise_(y)
    return y


def rows_of_a_loop(x):
    y = x * 1.0
    for row in y:
        row -= row.mean()
    return y


def a_slice(x):
    y = x * 1.0
    first = y[0]
    first += 10
    return y


def turned(x):
    y = x * 1.0
    other = y.T
    other *= 2 if len(x) else 3
    return y


def parameters_of_a_loop(x):
    for w, g in zip([x], [x], strict=True):
        w -= 0.1 * g
    return x


@pytest.mark.parametrize("f", [in_a_helper, rows_of_a_loop, a_slice, turned, parameters_of_a_loop])
@pytest.mark.parametrize("transform", [wg.compile, lambda f: wg.grad(lambda x: f(x)[0, 0])])
def test_a_result_that_nothing_reads_is_told(f, transform):
    with pytest.warns(UnusedWarning, match=r"\w+ .=.*given a Tensor, which is never changed"):
        transform(f)(X)


def read_at_once(x):
    x *= 2
    return x


def read_in_the_next_round(x):
    total = 0.0 * x[0]
    for row in x:
        total += row
        row = row * 2
        row += total
        total -= row
    return total


def read_in_one_branch(x):
    x += 1
    y = x * 2 if len(x) > 1 else np.zeros(2)
    y -= 1
    if len(x) > 5:
        return x
    return y


def read_by_an_inner_function(x):
    y = x * 1.0
    y += 1

    def inner():
        return y

    return inner()


def read_when_something_fails(x):
    y = x * 1.0
    try:
        y += 1
        raise KeyError
    except KeyError:
        return y


def stored_elsewhere(x):
    held = {"y": x * 1.0, "all": [x]}
    held["y"] += 1
    held["all"][0] -= 1
    return held["y"] + held["all"][0]


def called_as_a_function(x):
    return operator.iadd(x, 1)


def read_by_name(x):
    y = x * 1.0
    y += 1
    return locals()["y"]


@pytest.mark.parametrize(
    "f",
    [
        read_at_once,
        read_in_the_next_round,
        read_in_one_branch,
        read_by_an_inner_function,
        read_when_something_fails,
        stored_elsewhere,
        called_as_a_function,
        read_by_name,
    ],
)
def test_results_that_are_read_are_no_reason_to_warn(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(wg.compile(f)(X), f(X.copy()))
        wg.grad(lambda x: wg.sum(f(x)))(X)


class Trainer:
    """An update that is compiled and donated, under the name of the method."""

    def __init__(self, optimizer):
        self.update = wg.compile(optimizer.update, donate=("model", "state"))

    def call(self, model, grads, state):
        self.update(model, grads, state)


def dropped_update(optimizer, w, state):
    optimizer.update(w, w, state)


def read_update(optimizer, w, state):
    w, state = optimizer.update(w, w, state)
    return w, state


def recorded_update(optimizer, w, state):
    @wg.compile
    def compiled(w, state):
        optimizer.update(w, w, state)
        return optimizer.update(w, w, state)

    compiled(w, state)


def donated_update(optimizer, w, state):
    Trainer(optimizer).call(w, w.copy(), state)


def test_an_update_that_nothing_reads_is_told():
    optimizer, w = wg.optim.SGD(0.1, momentum=0.9), np.ones(2)
    with pytest.warns(UnusedWarning, match=r"SGD.update: .* Write model, state = optimizer.update"):
        dropped_update(optimizer, w, optimizer.init(w))
    for call in (read_update, recorded_update, donated_update):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnusedWarning)
            call(optimizer, w.copy(), optimizer.init(w))
            with wg.eager():
                call(optimizer, w.copy(), optimizer.init(w))


GRADS = {"w": np.array([3.0, 4.0]), "steps": 3}


def detached(x):
    y = x * 2
    wg.stop_gradient(y)
    return wg.sum(y)


def detached_by_its_name(x):
    y = x * 2
    stop_gradient(y)
    return wg.sum(y)


def detached_tree(x):
    parts = {"y": x * 2, "z": x}
    wg.stop_gradient(parts)
    return wg.sum(parts["y"])


def detached_beside_one_that_is_read(x):
    y = wg.stop_gradient(x * 2)
    wg.stop_gradient(x)
    return wg.sum(y * x)


@pytest.mark.parametrize(
    "f", [detached, detached_by_its_name, detached_tree, detached_beside_one_that_is_read]
)
@pytest.mark.parametrize("transform", [wg.compile, wg.grad])
def test_a_stop_gradient_that_nothing_reads_is_told(f, transform):
    with pytest.warns(UnusedWarning, match=r"stop_gradient: .* Write y = wg.stop_gradient"):
        transform(f)(X)


def detached_and_read(x):
    y = wg.stop_gradient(x * 2)
    _ = wg.stop_gradient(x)
    assert wg.stop_gradient(x).shape == x.shape
    wg.sum(wg.stop_gradient(x))
    return wg.sum(y * x)


def inside_of_another(x):
    wg.sum(within_ours(x))
    return wg.sum(x)


def within_ours(x):
    return wg.tree.map(wg.stop_gradient, {"x": x})["x"]


@pytest.mark.parametrize("f", [detached_and_read, inside_of_another])
def test_a_stop_gradient_that_is_read_is_let_pass(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedWarning)
        wg.compile(f)(X)
        wg.grad(f)(X)


def clipped_together(grads):
    wg.optim.clip_by_global_norm(grads, 1.0)


def clipped_each(grads):
    wg.optim.clip_by_norm(grads, 1.0)


def clipped_numbers(grads):
    for _ in range(2):
        wg.optim.clip_by_value(
            grads,
            1.0,
        )


@pytest.mark.parametrize("call", [clipped_together, clipped_each, clipped_numbers])
def test_gradients_that_are_clipped_and_dropped_are_told(call):
    with pytest.warns(UnusedWarning, match=r"given gradients, .* Write grads.* = wg.optim.clip_by"):
        call(GRADS)


def clipped_and_read(grads):
    grads, norm = wg.optim.clip_by_global_norm(grads, 1.0)
    _ = wg.optim.clip_by_norm(grads, 1.0)
    print(wg.optim.clip_by_value(grads, 1.0), norm)
    wg.optim.global_norm(grads)


def clipped_to_see_whether_it_raises(grads):
    with pytest.raises(wg.errors.NonFiniteError):
        wg.optim.clip_by_global_norm({"w": np.array([np.nan])}, 1.0)


def averaged(target, model):
    wg.tree.map(lambda t, w: 0.99 * t + 0.01 * w, target, model)


def test_a_map_that_nothing_reads_is_told():
    with pytest.warns(UnusedWarning, match=r"tree.map: .* Write tree = wg.tree.map"):
        averaged(GRADS, GRADS)
    with pytest.warns(UnusedWarning, match=r"tree.map: .* Write tree = wg.tree.map"):
        wg.compile(lambda t, w: (averaged(t, w), t)[1])(GRADS, GRADS)


def mapped_for_what_it_does(grads):
    target, sizes = wg.tree.copy(grads), []
    wg.tree.map(np.copyto, target, grads)
    wg.tree.map(lambda t, w: np.add(0.99 * t, 0.01 * w, out=t), target, grads)
    wg.tree.map(lambda t: t.__imul__(2.0), target)
    wg.tree.map(lambda t: t[...].reshape(t.shape), target)
    wg.tree.map(lambda t: sizes.append(t.size), target)
    wg.tree.map(lambda t: io.BytesIO().write(t.tobytes()), target)
    wg.tree.map(np.testing.assert_array_equal, target, wg.tree.copy(target))
    list(map(np.negative, wg.tree.leaves(target)))


def mapped_and_read(grads):
    target = wg.tree.map(np.negative, grads)
    _ = wg.tree.map(np.negative, target)
    assert wg.tree.map(np.negative, target)


def mapped_inside_of_ours(grads):
    wg.compile(lambda g: wg.tree.map(lambda x: x * 2, g))(grads)


@pytest.mark.parametrize(
    "call",
    [
        clipped_and_read,
        clipped_to_see_whether_it_raises,
        mapped_for_what_it_does,
        mapped_and_read,
        mapped_inside_of_ours,
    ],
)
def test_what_is_done_on_purpose_is_let_pass(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedWarning)
        call(GRADS)


def test_the_last_line_of_a_prompt_is_let_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedWarning)
        for text in ("wg.tree.map(np.negative, GRADS)", "wg.optim.clip_by_norm(GRADS, 1.0)"):
            exec(compile(text, "<prompt>", "single"), {"wg": wg, "np": np, "GRADS": GRADS})


def test_a_line_that_ours_have_asked_about_before_is_told():
    def norms(w):
        return np.linalg.norm(w["w"]) + wg.sum(wg.stop_gradient(w["w"]))

    def search():
        wg.optim.LBFGS(max_iter=1).minimize(norms, {"w": np.ones(2)})

    with pytest.warns(UnusedWarning, match=r"minimize: given a tree, which stays"):
        search()
