"""wg.eager: compiled functions run op by op, and callers notice nothing but the time."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from compiler.running import bits
from wengert.api.compiling.compiled import Compiled, OpenSizes
from wengert.api.compiling.eager import is_eager

X = np.arange(12.0).reshape(3, 4)
N = wg.Dim("n")


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = None


class Pair(NamedTuple):
    first: Any
    second: Any


def require_same(function: Any, *args: Any, **options: Any) -> Any:
    """Eagerly as compiled: trees, dtypes, shapes, values but for rounding; all arrays are new."""
    compiled = wg.compile(function, **options)
    expected = compiled(*wg.tree.copy(args))
    given = wg.tree.copy(args)
    before = bits(given)
    with wg.eager():
        found = compiled(*given)
    ours, theirs = wg.tree.leaves(found), wg.tree.leaves(expected)
    assert wg.tree.flatten(found)[1] == wg.tree.flatten(expected)[1]
    for x, y in zip(ours, theirs, strict=True):
        assert type(x) is type(y) is np.ndarray
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        assert x.flags.c_contiguous
        assert x.flags.writeable
        np.testing.assert_allclose(x, y, rtol=1e-6 if x.dtype == np.float32 else 1e-12)
    if not options.get("donate"):
        assert bits(given) == before
        for i, x in enumerate(ours):
            assert not any(np.shares_memory(x, y) for y in (*ours[:i], *wg.tree.leaves(given)))
    return found


# The switch


def test_the_function_sees_values(capsys):
    @wg.compile
    def program(x):
        print(type(x).__name__, float(x[0]))
        if x[1] > 0.5:  # no branch for compiled code
            x = x * 2
        return x

    with wg.eager():
        assert program(np.array([0.25, 1.0])).tolist() == [0.5, 2.0]
        assert program(np.array([0.25, 0.0])).tolist() == [0.25, 0.0]
    assert capsys.readouterr().out == "ndarray 0.25\n" * 2
    with pytest.raises(wg.errors.TraceError):
        program(np.array([0.25, 1.0]))


def test_it_can_be_nested_and_left_by_an_error():
    seen: list[bool] = []
    compiled = wg.compile(lambda x: (seen.append(type(x) is np.ndarray), x)[1])
    assert not is_eager()
    with wg.eager():
        with pytest.raises(ZeroDivisionError), wg.eager():
            divmod(1, 0)
        assert is_eager()
        compiled(X)
    assert not is_eager()
    compiled(X)
    assert seen == [True, False]


def test_as_a_decorator():
    assert wg.eager()(is_eager)() is True
    assert is_eager() is False


def test_it_holds_for_one_thread():
    found: dict[str, bool] = {}

    def note(name: str) -> None:
        found[name] = is_eager()

    with wg.eager():
        thread = threading.Thread(target=note, args=("other",))
        thread.start()
        thread.join()
        note("this")
    assert found == {"other": False, "this": True}


PROGRAM = """
import numpy as np, wengert as wg
f = wg.compile(lambda x: (print(type(x).__name__), x * 2)[1])
print(f(np.ones(2)), f(np.ones(2)))
"""


@pytest.mark.parametrize(
    ("value", "kind"), [("1", "ndarray"), ("0", "Tensor"), ("", "Tensor"), (None, "Tensor")]
)
def test_the_environment(value, kind):
    environment = {k: v for k, v in os.environ.items() if k != "WENGERT_EAGER"}
    if value is not None:
        environment["WENGERT_EAGER"] = value
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[2. 2.] [2. 2.]"
    assert done.stdout.splitlines()[:-1] == [kind] * (2 if kind == "ndarray" else 1)


# What a caller can see


@pytest.mark.parametrize(
    "argument",
    [
        X,
        X.astype(np.float32),
        X[1, 2],
        np.float32(2.5),
        (X, [X + 1], {"a": X[0], "b": None, "name": "left"}),
        Pair(X, {"k": X * 3}),
        Layer(Layer(X), [X - 1, 2.0]),
        (X,) * 3,
        X.astype(np.int8),
        X > 3,
        np.empty((0, 3)),
    ],
)
def test_trees(argument):
    require_same(lambda t: wg.tree.map(lambda v: v * 2, t), argument)
    require_same(lambda t: (t, t), argument)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: x,
        lambda x: (x, x, x[0], x.T, x[::-1]),
        lambda x: {"n": 3, "f": 2.5, "flag": True, "none": None, "text": "s"},
        lambda x: [],
        lambda x: Pair(np.sum(x), np.max(x, axis=0)),
        lambda x: Layer(x @ x.T, wg.softmax(x)),
        lambda x: (X, np.ones(3)),  # not made from x
        lambda x: np.float32(3) * np.ones(2, np.float32),
        lambda x: x.astype(np.float32) * 0.1 + np.pi,
        lambda x: (wg.argmax(x), x.astype(np.int32) // 2, x > 3),
    ],
)
def test_results(build):
    require_same(build, X)


def test_results_are_not_what_the_function_keeps():
    kept = np.ones(3)
    compiled = wg.compile(lambda x: (kept, x + kept))
    with wg.eager():
        found, _ = compiled(np.zeros(3))
    found += 1
    assert kept.tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_arrays_of_other_kinds():
    class Mine(np.ndarray):
        pass

    unaligned = np.zeros(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    unaligned[...] = X
    compiled = wg.compile(lambda x: (x * x, np.sum(x), x))
    with wg.eager():
        expected = bits(compiled(X))
        for x in (
            np.asfortranarray(X),
            X.astype(">f8"),
            X.view(Mine),
            unaligned,
            np.repeat(X, 2, axis=1)[:, ::2],
        ):
            assert bits(compiled(x)) == expected
        with pytest.raises(TypeError, match=r"'x' is an np\.matrix"):
            compiled(np.matrix(X))


def test_arguments_by_name_and_static_ones():
    def program(x, n, *, flag=False):
        return x * n

    compiled = wg.compile(lambda x, n=3: x * len([0] * n), static="n")
    with wg.eager():
        assert np.array_equal(compiled(X), X * 3)
        assert np.array_equal(compiled(n=2, x=X), X * 2)
        with pytest.raises(TypeError, match="static argument 'n' is a list"):
            compiled(X, [2])
        with pytest.raises(TypeError, match="argument flag can only be given by name"):
            wg.compile(program)(X, 2, flag=True)


def test_methods():
    class Model:
        def __init__(self) -> None:
            self.scale = 2.0

        @wg.compile
        def __call__(self, x):
            return x * self.scale

    with wg.eager():
        assert np.array_equal(Model()(X), X * 2)


def test_inside_transformations():
    compiled = wg.compile(lambda x: np.sum(x**2))
    with wg.eager():
        assert np.array_equal(wg.grad(compiled)(X), 2 * X)
        assert np.array_equal(wg.compile(wg.grad(compiled))(X), 2 * X)
        assert wg.trace(lambda x: compiled(x), X).output_types()[0].shape == ()


def test_compiled_functions_that_call_each_other():
    """Inside another one, donating means nothing: as when the outer one is compiled."""
    inner = wg.compile(lambda p: p + 1, donate="p")
    outer = wg.compile(lambda p: (inner(p), p))
    p = np.zeros(2)
    expected = outer(p)
    with wg.eager():
        found = outer(p)
    assert bits(found) == bits(expected)
    assert p.tolist() == [0, 0]


def test_an_argument_cannot_be_written_to():
    def program(x):
        x[0] = 7
        return x

    x = np.zeros(2)
    with wg.eager(), pytest.raises(ValueError, match="read-only"):
        wg.compile(program)(x)
    assert x.tolist() == [0, 0]


# Donated arrays


def step(p: Any, g: Any) -> Any:
    return wg.tree.map(lambda x, y: x - 0.5 * y, p, g), np.sum(g["w"])


@pytest.mark.parametrize("make", [np.copy, lambda x: np.repeat(x, 2)[::2], lambda x: x[::-1]])
def test_donated_arrays_are_written_and_returned(make):
    compiled = wg.compile(step, donate="p")
    with wg.eager():
        for _ in range(2):
            p = {"w": make(np.ones(3)), "b": make(np.zeros(2))}
            found, total = compiled(p, {"w": np.full(3, 2.0), "b": np.ones(2)})
            assert found["w"] is p["w"]
            assert found["b"] is p["b"]
            assert (p["w"].tolist(), p["b"].tolist()) == ([0, 0, 0], [-0.5, -0.5])
            assert float(total) == 6


def test_donated_arrays_of_another_type_are_left():
    compiled = wg.compile(lambda p: p.astype(np.float32), donate="p")
    p = np.ones(2)
    with wg.eager():
        assert compiled(p).dtype == np.float32
    assert p.tolist() == [1, 1]


def test_what_cannot_be_donated_is_refused():
    compiled = wg.compile(lambda p, x: p + x, donate="p")
    space = np.zeros(4)
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with wg.eager():
        for p, x, text in (
            (fixed, np.ones(3), "argument 'p' was donated and is read-only"),
            (space[:3], space[1:], "argument 'p' was donated and shares memory with 'x'"),
            (np.broadcast_to(space[:1], 3), space[1:], "'p' was donated and is read-only"),
        ):
            with pytest.raises(ValueError, match=text):
                compiled(p, x)


def test_an_error_writes_nothing():
    def program(p):
        raise ZeroDivisionError

    p = np.ones(2)
    with wg.eager(), pytest.raises(ZeroDivisionError):
        wg.compile(program, donate="p")(p)
    assert p.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_results_that_are_not_finite():
    p = np.array([1.0, 0.0])
    with wg.eager():
        with pytest.raises(wg.errors.NonFiniteError, match=r"output a is -inf at index \(1,\)"):
            wg.compile(lambda p: {"a": np.log(p)}, donate="p", nonfinite="raise")(p)
        skipped, total = wg.compile(lambda p: (np.log(p), np.sum(p)), donate="p", nonfinite="skip")(
            p
        )
        assert skipped is p
        assert p.tolist() == [1, 0]
        assert float(total) == 1
        found = wg.compile(lambda p: np.log(p), donate="p")(p)
        assert found is p
        assert p.tolist() == [0, -np.inf]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("nonfinite", ["raise", "skip"])
def test_arrays_that_are_written_whatever_happens(nonfinite):
    """As gradients are in a step that fails: one can look at them."""

    def update(p, x, g):
        return p - np.sum(x), x * 2, np.log(x[1])

    compiled = Compiled(update, (), OpenSizes(None), ("p",), nonfinite, None, early=("g",))
    arrays = [(np.ones(3), np.full(2, 7.0)) for _ in range(2)]
    for mode, (p, g) in zip((nullcontext, wg.eager), arrays, strict=True):
        refused = pytest.raises(wg.errors.NonFiniteError)
        with mode(), refused if nonfinite == "raise" else nullcontext():
            compiled(p, np.array([1.0, 0.0]), g)
        assert p.tolist() == [1, 1, 1]
        assert g.tolist() == [2, 0]


# What is refused


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x, y: wg.add(x, y), (X, X[:2])),
        (lambda x, i: wg.take(x, i, axis=0), (X, np.array([9]))),
        (lambda x: x, (X.astype(np.float16),)),
        (lambda x: x, (X.astype(complex),)),
        (lambda x: wg.reshape(x, (5,)), (X,)),
        (lambda x: wg.linalg.inv(x), (np.zeros((2, 2)),)),
        (lambda x: wg.scan(lambda c, r: (r, c), x[0, 0], x), (X,)),
        (lambda x: wg.scan(lambda c, r: c, 0.0, x), (X,)),
    ],
)
def test_the_same_errors(function, args):
    compiled = wg.compile(function)
    with pytest.raises(Exception) as expected:  # noqa: PT011
        compiled(*args)
    with wg.eager(), pytest.raises(Exception) as found:  # noqa: PT011
        compiled(*args)
    assert type(found.value).__mro__[:-2] == type(expected.value).__mro__[:-2]


@pytest.mark.parametrize(
    ("dims", "args"),
    [
        ({"z": {0: N}}, (X, X)),
        ({"x": {2: N}}, (X, X)),
        ({"x": {0: N}, "y": {0: N}}, (X, X[:2])),
        ({"x": {0: 2 * N}}, (X, X)),
    ],
)
def test_open_sizes_are_checked(dims, args):
    compiled = wg.compile(lambda x, y: (x, y), dims=dims)
    messages = []
    for mode in (nullcontext, wg.eager):
        with mode(), pytest.raises(wg.errors.ShapeError) as found:
            compiled(*args)
        messages.append(str(found.value))
    assert messages[0] == messages[1]


def test_open_sizes():
    compiled = wg.compile(lambda x: x * x.shape[0], dims={"x": {0: N}})
    with wg.eager():
        for n in (2, 3, 0):
            assert np.array_equal(compiled(np.ones((n, 2))), np.full((n, 2), float(n)))


def test_tensors_from_outside_are_refused():
    def outer(x):
        return wg.compile(lambda y: y * x)(np.ones(3))

    for mode in (nullcontext, wg.eager):
        with mode(), pytest.raises(wg.errors.TraceError, match="a graph stands on its own"):
            wg.grad(lambda x: np.sum(outer(x)))(np.ones(3))


# Loops and regions show values, too


def test_loops_show_values():
    seen: list[Any] = []

    def step(c, x):
        seen.append((type(c).__name__, float(c), float(x)))
        return c + x, c

    with wg.eager():
        last, before = wg.compile(lambda xs: wg.scan(step, 1.0, xs))(np.array([2.0, 3.0]))
    assert seen == [("ndarray", 1, 2), ("ndarray", 3, 3)]
    assert (float(last), before.tolist()) == (6, [1, 3])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loops(reverse, dtype):
    xs = {"a": np.linspace(0, 1, 8).reshape(4, 2).astype(dtype), "b": np.arange(4)}

    def loop(xs, h):
        def cell(carry, x):
            h, n = carry
            h = np.tanh(h * 0.5 + x["a"])
            return (h, n + x["b"]), {"h": h, "none": None}

        return wg.scan(cell, (h, 0), xs, reverse=reverse)

    h = np.ones(2, dtype)
    require_same(loop, xs, h)
    require_same(wg.grad(lambda h, xs: np.sum(loop(xs, h)[1]["h"] ** 2)), h, xs)
    require_same(lambda xs: wg.scan(lambda c, x: (c + x, None), 0.0, xs["a"][:, 0]), xs)
    require_same(lambda xs: wg.scan(lambda c, x: (c * x, None), 1, xs["a"][:, 0]), xs)
    require_same(lambda h: wg.scan(lambda c, _: (c * 2, c), h, length=3), h)
    require_same(lambda h: wg.scan(lambda c, _: (c * 2, c), h, length=0), h)


def test_regions_show_values():
    seen: list[float] = []

    def inner(x):
        seen.append(float(wg.stop_gradient(np.sum(x))))
        return np.sin(x)

    def loss(x):
        return np.sum(wg.checkpoint(inner)(x) ** 2)

    expected = wg.grad(lambda x: np.sum(np.sin(x) ** 2))(X)
    with wg.eager():
        np.testing.assert_allclose(wg.compile(wg.grad(loss))(X), expected, rtol=1e-12)
    assert seen == [66.0]


def test_a_trace_in_eager_mode_records_loops():
    with wg.eager():
        graph = wg.trace(lambda x: wg.scan(lambda c, r: (c + r, None), x[0], x)[0], X)
    assert "scan" in [node.op.name for node in graph.nodes]
