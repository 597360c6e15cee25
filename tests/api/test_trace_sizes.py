"""Sizes known at call time only: Dims in traced programs, and where one is specialised."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from differences import require_close
from programs import OPEN_FUNCTIONS

import wengert as wg
from wengert.errors import ShapeError, WengertError

rng = np.random.default_rng(14)
X, W = rng.uniform(0.5, 2.0, (4, 3)), rng.uniform(0.5, 2.0, (3, 3))
BATCH = {"x": {0: wg.Dim("batch")}}


def here() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def requires_no_specialisation(function: Any, *args: Any, dims: Any = BATCH) -> wg.Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = wg.trace(function, *args, dims=dims)
    graph.check()
    return graph


@pytest.mark.parametrize("name", OPEN_FUNCTIONS)
def test_an_open_axis_takes_any_size(name: str):
    function = OPEN_FUNCTIONS[name]
    graph = requires_no_specialisation(function, np.ones((4, 6)))
    for size in (1, 2, 7) if name != "var" else (2, 7):
        x = rng.standard_normal((size, 6))
        require_close(graph.run(x=x)[0], function(x), 1e-13)


def test_mean_divides_by_the_real_count():
    graph = requires_no_specialisation(lambda x: x.mean(), np.ones(4))
    assert float(graph.run(x=np.full(10, 3.0))[0]) == 3.0
    loss = requires_no_specialisation(wg.grad(lambda x: x.mean()), np.ones(4))
    np.testing.assert_array_equal(loss.run(x=np.ones(5))[0], np.full(5, 0.2))


def test_a_size_is_a_weak_number():
    """A float32 program stays one."""
    graph = requires_no_specialisation(lambda x: x * x.shape[0], np.ones(4, np.float32))
    assert graph.run(x=np.ones(3, np.float32))[0].dtype == np.float32


def test_two_arguments_share_a_size():
    dims = {"x": {0: wg.Dim("n")}, "y": {0: wg.Dim("n")}}
    graph = requires_no_specialisation(lambda x, y: x * y, np.ones(4), np.ones(4), dims=dims)
    require_close(graph.run(x=np.ones(3), y=np.full(3, 2.0))[0], [2.0, 2.0, 2.0], 0)
    with pytest.raises(ShapeError, match="n"):
        graph.run(x=np.ones(3), y=np.ones(2))


def test_several_open_axes():
    dims = {"x": {0: wg.Dim("rows"), 1: wg.Dim("columns")}}
    graph = requires_no_specialisation(lambda x: x.reshape(-1) / x.size, np.ones((2, 3)), dims=dims)
    x = rng.standard_normal((4, 5))
    require_close(graph.run(x=x)[0], x.reshape(-1) / 20, 1e-15)


def test_sizes_in_trees_are_open_too():
    dims = {"batch.x": {0: wg.Dim("n")}}
    graph = requires_no_specialisation(lambda batch: batch["x"] * 2, {"x": np.ones(3)}, dims=dims)
    require_close(graph.run(**{"batch.x": np.ones(5)})[0], np.full(5, 2.0), 0)


def test_an_axis_that_is_not_open_is_checked():
    graph = wg.trace(lambda x: x * 2, np.ones((4, 6)), dims=BATCH)
    with pytest.raises(ShapeError, match="x"):
        graph.run(x=np.ones((4, 5)))


def test_sizes_that_may_differ_do_not_fit():
    with pytest.raises(ShapeError):
        wg.trace(lambda x: x + np.ones(4), np.ones(4), dims=BATCH)


def test_an_unknown_name_in_dims_is_an_error():
    with pytest.raises((WengertError, ValueError), match="nope"):
        wg.trace(lambda x: x, np.ones(3), dims={"nope": {0: wg.Dim("n")}})


SPECIALISING = {
    "len": lambda x: x * len(x),
    "range": lambda x: sum(x[i] for i in range(x.shape[0])),
    "int": lambda x: x * int(x.shape[0]),
    "arange": lambda x: x * np.arange(x.shape[0]),
    "creation": lambda x: x * np.ones(x.shape[0]),
    "iteration": lambda x: sum(row for row in x),
    "product": lambda x: x * np.prod(x.shape[0]),
    "reduce": lambda x: x * np.add.reduce(x.shape[0], axis=None),
    "outer": lambda x: x * np.multiply.outer(x.shape[0], 2),
    "given dtype": lambda x: x * np.add(x.shape[0], 1, dtype=np.float32),
    "given out": lambda x: x * np.add(x.shape[0], 1, out=np.zeros(())),
    "at": lambda x: (np.add.at(counts := np.zeros(3), 1, x.shape[0]), x * counts)[1],
}


@pytest.mark.parametrize("name", SPECIALISING)
def test_a_size_that_python_needs_is_specialised_with_one_warning(name: str):
    function = SPECIALISING[name]
    with pytest.warns(UserWarning, match="batch") as caught:
        graph = wg.trace(function, np.arange(3.0), dims=BATCH)
    assert len(caught) == 1
    message = str(caught[0].message)
    line = inspect.getsourcelines(function)[1]
    assert f"test_trace_sizes.py:{line}" in message, "the warning names the user's line"
    graph.check()
    x = np.array([1.0, 2.0, 4.0])
    require_close(graph.run(x=x)[0], function(x), 1e-15)
    with pytest.raises(ShapeError):
        graph.run(x=np.ones(4))


def test_specialising_one_size_leaves_the_other_open():
    dims = {"x": {0: wg.Dim("rows"), 1: wg.Dim("columns")}}
    with pytest.warns(UserWarning, match="rows"):
        graph = wg.trace(lambda x: sum(x[i] for i in range(len(x))), np.ones((2, 3)), dims=dims)
    require_close(graph.run(x=np.ones((2, 5)))[0], np.full(5, 2.0), 0)


def an_identity(x):
    return x + np.eye(len(x))


def a_loop(x):
    n = len(x)
    total = x[0]
    for i in range(1, n):
        total = total + x[i]
    return total


def slopes(x):
    return np.gradient(x, axis=0)


def test_what_leaves_a_size_open_is_named_at_once():
    sizes = {"x": {0: wg.Dim("n")}}
    with pytest.warns(
        wg.errors.SizeWarning, match=r"x.shape\[0\] .* len\(x\), and wg.eye\(.* of np.eye, would"
    ):
        wg.trace(an_identity, np.ones((2, 2)), dims=sizes)
    with pytest.warns(
        wg.errors.SizeWarning, match=r"wg.scan in the place of a loop over range\(len\(x\)\) would"
    ):
        wg.trace(lambda x: sum(x[i] for i in range(len(x))), np.ones((2, 2)), dims=sizes)
    with pytest.warns(wg.errors.SizeWarning, match=r"wg.scan .* over range\(1, n\) would"):
        wg.trace(a_loop, np.ones((2, 2)), dims=sizes)
    with pytest.warns(
        wg.errors.SizeWarning, match=r"np.gradient .* give batches of one size; or slopes"
    ):
        wg.trace(slopes, np.ones((4, 2)), dims=sizes)


def first_half(x):
    return x[: x.shape[0] // 2]


def second_half(x):
    return x[len(x) // 2 :]


QUOTIENTS = {
    "half": first_half,
    "half by len": second_half,
    "every other": lambda x: x[::2],
    "equal parts": lambda x: wg.split(x, 2)[0],
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_parts_that_need_the_number_are_passed_as_arguments(name: str):
    with pytest.warns(wg.errors.SizeWarning, match="cut the array before the call") as caught:
        wg.trace(QUOTIENTS[name], np.ones((4, 2)), dims={"x": {0: wg.Dim("n")}})
    assert "would leave it open" not in str(caught[0].message)


PARTS = {  # a slice that needs the number, and what the warning advises in its place
    "from the front": (lambda x, y: x[:3], "wg.take(x, wg.arange(3), axis=0)"),
    "in the middle": (lambda x, y: x[1:3], "wg.take(x, wg.arange(1, 3), axis=0)"),
    "from behind": (
        lambda x, y: x[: -y.shape[0]],
        "wg.take(x, wg.arange(x.shape[0] -y.shape[0]), axis=0)",
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_advised_parts_leave_the_size_open(name: str):
    part, advised = PARTS[name]
    dims = {"x": {0: wg.Dim("n")}, "y": {0: wg.Dim("m")}}
    with pytest.warns(wg.errors.SizeWarning) as caught:
        wg.trace(part, np.ones((5, 2)), np.ones(2), dims=dims)
    assert f" {advised} in the place of " in str(caught[0].message)
    as_advised = eval(f"lambda x, y: {advised}", {"wg": wg})
    graph = wg.trace(as_advised, np.ones((5, 2)), np.ones(2), dims=dims)
    for n, m in ((5, 2), (8, 3)):
        x, y = np.arange(2.0 * n).reshape(n, 2), np.ones(m)
        assert np.array_equal(graph.run(x=x, y=y)[0], part(x, y))


def labelled_and_others(z, y):
    n = y.shape[0]
    return wg.sum(z[:n] * y[:, None]) + wg.sum(z[n:])


def from_the_labelled_on(z, y):
    return z[y.shape[0] :]


@pytest.mark.parametrize("parts", [labelled_and_others, from_the_labelled_on])
def test_both_parts_of_an_array_are_passed_as_arguments(parts):
    dims = {"z": {0: wg.Dim("n")}, "y": {0: wg.Dim("m")}}
    with pytest.warns(wg.errors.SizeWarning, match=r"joined with wg.concat inside\.$") as caught:
        wg.trace(parts, np.ones((5, 2)), np.ones(2), dims=dims)
    assert all("wg.take" not in str(each.message) for each in caught)
    dims = {"a": {0: wg.Dim("n")}, "b": {0: wg.Dim("m")}, "y": {0: wg.Dim("n")}}
    graph = wg.trace(
        lambda a, b, y: parts(wg.concat([a, b]), y),
        *(np.ones((2, 2)), np.ones((3, 2)), np.ones(2)),
        dims=dims,
    )
    a, b = np.ones((4, 2)), np.full((1, 2), 3.0)
    expected = parts(np.concatenate([a, b]), np.ones(4))
    assert np.array_equal(graph.run(a=a, b=b, y=np.ones(4))[0], expected)


def test_as_many_rows_as_there_are_in_any_case_leave_the_size_open():
    def queue(new, old):
        return wg.concat([new, old])[:4]

    graph = wg.trace(queue, np.ones((2, 1)), np.zeros((4, 1)), dims={"new": {0: wg.Dim("n")}})
    for n in (0, 1, 7):
        assert graph.run(new=np.ones((n, 1)), old=np.zeros((4, 1)))[0].sum() == min(n, 4)


def test_a_convolution_of_numpy_names_one_that_leaves_the_size_open():
    weights, dims = np.array([1.0, 2.0, 5.0]), {"x": {0: wg.Dim("n")}}
    with pytest.warns(wg.errors.SizeWarning, match=r"NumPy slides the shorter") as caught:
        wg.trace(lambda x: np.convolve(x, weights, "valid"), np.ones(7), dims=dims)
    advised = "wg.conv(x[None, None], wg.flip(w)[None, None])[0, 0]"
    assert advised in str(caught[0].message)
    as_advised = eval(f"lambda x: {advised}", {"wg": wg, "w": weights})
    graph, x = wg.trace(as_advised, np.ones(7), dims=dims), np.arange(9.0)
    np.testing.assert_allclose(graph.run(x=x)[0], np.convolve(x, weights, "valid"))


def rows(w, x):
    return wg.tanh(x @ w)


def row_sum(w, x):
    return wg.sum(rows(w, x) ** 2)


@pytest.mark.parametrize(
    ("jacobian", "words", "instead"),
    [
        (
            wg.jacobian(rows),
            r"jacobian goes over the entries of the output, whose number is open. Write "
            r"wg.jacfwd, which goes over those of the arguments\.$",
            wg.jacfwd(rows),
        ),
        (wg.jacrev(rows), r"jacrev goes over .* Write wg.jacfwd", wg.jacfwd(rows)),
        (
            wg.jacfwd(row_sum, argnums=1),
            r"jacfwd goes over the entries of the arguments, .* If that of the output is known, "
            "write wg.jacobian",
            wg.jacobian(row_sum, argnums=1),
        ),
        (
            wg.hessian(row_sum, argnums=1),
            r"hessian goes over the entries of the gradient, .* If each row of the gradient "
            r"depends on its own row only, write wg.vmap\(wg.hessian\(f\)\), where f is of one row",
            None,
        ),
    ],
)
def test_a_matrix_of_derivatives_names_what_leaves_the_size_open(jacobian, words, instead):
    w = np.ones(3)
    with pytest.warns(wg.errors.SizeWarning, match=words):
        wg.trace(jacobian, w, X, dims=BATCH)
    if instead is not None:
        graph = wg.trace(instead, w, X, dims=BATCH)
        for n in (4, 2):
            np.testing.assert_allclose(graph.run(w=w, x=X[:n])[0], jacobian(w, X[:n]))


def test_a_matrix_of_derivatives_for_each_row_leaves_their_number_open():
    w = np.ones(3)
    for name in ("jacobian", "jacrev", "jacfwd", "hessian"):
        f = row_sum if name == "hessian" else rows
        of_a_row = getattr(wg, name)(f, argnums=1)
        of_rows = wg.vmap(of_a_row, (None, 0))
        graph = wg.trace(of_rows, w, X, dims=BATCH)
        expected = [of_a_row(w, x) for x in X[:2]]
        np.testing.assert_allclose(graph.run(w=w, x=X[:2])[0], expected, atol=1e-15)
    graph = wg.trace(wg.hessian(row_sum), w, X, dims=BATCH)  # of weights, whose number is known
    np.testing.assert_allclose(graph.run(w=w, x=X[:2])[0], wg.hessian(row_sum)(w, X[:2]))


@pytest.mark.filterwarnings("ignore::wengert.errors.SizeWarning")
def test_programs_of_a_jacobian_for_each_size_name_what_leaves_it_open():
    compiled = wg.compile(wg.jacobian(rows), dims=BATCH)
    for n in (4, 3):
        compiled(np.ones(3), X[:n])
    with pytest.warns(wg.errors.ProgramsWarning, match="wg.jacfwd for wg.jacobian"):
        compiled(np.ones(3), X[:2])


def test_the_sum_of_a_diagonal_is_another_function():
    with pytest.raises(TypeError, match=r"wg.trace records a function, .* wg\.linalg\.trace"):
        wg.trace(np.eye(2))
