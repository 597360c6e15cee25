"""wg.debug: the same lines, in the same order, from compiled code and from NumPy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtime.caching import cache_in

import wengert as wg
from compiler.running import bits, no_numpy
from wengert.runtime.caching.cache_writer import settle

X = np.arange(24.0).reshape(4, 6)
N, M = wg.Dim("n"), wg.Dim("m")


def silent(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same program without a word."""

    def call(*args: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wg, "debug", lambda x, name: x)
            return function(*args)

    return call


@pytest.fixture
def lines(capsys):
    """What a call prints, line by line."""

    def run(function: Callable[..., Any], *args: Any) -> list[str]:
        capsys.readouterr()
        function(*args)
        found = capsys.readouterr()
        assert found.err == ""
        return found.out.splitlines()

    return run


@pytest.fixture
def agree(lines):
    """Compiled and eager programs print the same; returns that. Nothing else changes."""

    def check(function: Callable[..., Any], *args: Any, **options: Any) -> list[str]:
        compiled = wg.compile(function, **options)
        compiled.executable(*args)
        with no_numpy():
            found = lines(compiled, *args)
            assert lines(compiled, *args) == found, "a later call printed something else"
        assert found == lines(function, *args)
        with wg.eager():
            assert found == lines(compiled, *args)
        assert bits(compiled(*args)) == bits(wg.compile(silent(function), **options)(*args))
        return found

    return check


# What a line says


def test_a_line(agree):
    assert agree(lambda x: wg.debug(x * 2, "twice") + 1, np.arange(3.0)) == [
        "twice: float64[3] = [0. 2. 4.]"
    ]


def test_rows_stand_below_each_other(agree):
    assert agree(lambda x: wg.debug(x, "x"), X[:2, :2]) == [
        "x: float64[2, 2] = [[0. 1.]",
        "                    [6. 7.]]",
    ]


def test_large_arrays_are_summarised(lines):
    (line,) = lines(wg.compile(lambda x: wg.debug(x, "x")), np.zeros(10**5, np.float32))
    assert line == "x: float32[100000] = [0. 0. 0. ... 0. 0. 0.]"


def test_print_options_are_those_of_the_moment(lines):
    compiled = wg.compile(lambda x: wg.debug(x, "x"))
    with np.printoptions(precision=2):
        assert lines(compiled, np.array([1 / 3])) == ["x: float64[1] = [0.33]"]
    assert lines(compiled, np.array([1 / 3])) == ["x: float64[1] = [0.33333333]"]


@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
def test_dtypes(agree, dtype):
    x = np.array([[0, 1], [1, 1]], dtype)
    assert f"x: {x.dtype.name}[2, 2] = " in agree(lambda x: wg.debug(x, "x")[::-1], x)[0]


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x[::-1, ::2],
        lambda x: x[:, ::-3],
        lambda x: x.T,
        lambda x: x.T[1:, None, ::2],
        lambda x: np.broadcast_to(x[0], (3, 6)),
        lambda x: x[1, 2],
        lambda x: x[2:2],
        lambda x: x[:, :0].T,
        lambda x: x.reshape(3, 8)[:, ::-1],
        lambda x: np.sum(x),
    ],
)
def test_views(agree, look):
    agree(lambda x: (wg.debug(look(x), "of an argument"), wg.debug(look(x * 2), "computed")), X)


def test_numbers_that_are_known_before(agree):
    """Each call prints them, not only the one that records the program."""

    def program(x):
        wg.debug(np.arange(2), "array")
        wg.debug(2.5, "number")
        return x

    assert agree(program, X) == ["array: int64[2] = [0 1]", "number: float64[] = 2.5"]


def test_trees(agree):
    def program(x):
        tree = {"w": x[0], "rest": [x[1, 0], 3, None, "text"]}
        assert wg.debug(tree, "model") is tree
        return x

    assert [line.split(" = ")[0] for line in agree(program, X)] == [
        "model.w: float64[6]",
        "model.rest.0: float64[]",
        "model.rest.1: int64[]",
    ]


def test_open_sizes(lines):
    compiled = wg.compile(
        lambda x: wg.debug(np.sort(x, axis=0).T, "x") * wg.debug(x.shape[0], "n"),
        dims={"x": {0: N, 1: M}},
    )
    for n, m in ((2, 1), (1, 3), (5, 2), (0, 2)):
        x = np.arange(float(n * m)).reshape(n, m)
        found = lines(compiled, x)
        assert found[0].startswith(f"x: float64[{m}, {n}] = ")
        assert found[-1] == f"n: int64[] = {n}"
    assert len(compiled.programs) == 1


def test_a_dim_has_no_number_outside():
    with pytest.raises(wg.errors.TraceError, match="debug: given a Dim outside of a trace"):
        wg.debug(N, "n")


def test_a_name_is_a_string():
    with pytest.raises(TypeError, match="debug: given int for the name; a name is a string"):
        wg.debug(X, 3)


# When it says it


def test_in_the_order_of_the_program(agree):
    def program(x):
        y = wg.debug(np.exp(-x), "first")
        wg.debug(np.sum(x @ x.T), "second")
        z = wg.debug(y * 2, "third")
        wg.debug(x, "fourth")
        return np.sum(x), z, wg.debug(np.max(y), "fifth")

    names = [line.split(":")[0] for line in agree(program, X[:1, :2])]
    assert names == ["first", "second", "third", "fourth", "fifth"]


def test_though_nobody_reads_it(agree):
    def program(x):
        wg.debug(np.tanh(x[0, 0]), "alone")
        return x

    assert agree(program, X) == ["alone: float64[] = 0."]


def test_though_it_has_been_said_before(agree):
    def program(x):
        for _ in range(3):
            wg.debug(x[0, 1] * 2, "again")
        return x

    assert agree(program, X) == ["again: float64[] = 2."] * 3


def test_equal_loops_each_speak(agree):
    def program(x):
        return [wg.scan(lambda c, r: (wg.debug(c + r[0], "c"), None), 0.0, x)[0] for _ in range(2)]

    assert len(agree(program, X)) == 8


def test_loops_say_in_which_step_they_are(agree):
    def program(x, reverse=False):
        return wg.scan(lambda c, r: (wg.debug(c + r[0], "c"), r), 0.0, x, reverse=reverse)

    assert agree(program, X)[2] == "c (step 2): float64[] = 18."
    steps = [line[:10] for line in agree(lambda x: program(x, reverse=True), X)]
    assert steps == ["c (step 3)", "c (step 2)", "c (step 1)", "c (step 0)"]


def test_loops_say_what_is_the_same_in_every_step(agree):
    """A value from outside, or a number, at a place inside the loop."""

    def program(x):
        def step(c, r):
            wg.debug(x[0, 1], "outside")
            wg.debug(7, "number")
            return c, None

        return wg.scan(step, 0.0, x[:2])[0]

    assert agree(program, X) == [
        "outside (step 0): float64[] = 1.",
        "number (step 0): int64[] = 7",
        "outside (step 1): float64[] = 1.",
        "number (step 1): int64[] = 7",
    ]


def nested(x):
    """Loops in loops, and branches in them."""

    def outer(c, row):
        def inner(d, e):
            return wg.debug(d + e, "d"), None

        d, _ = wg.scan(inner, c, row)
        wg.debug(d, "outer")
        again = wg.cond(d > 20, lambda: wg.debug(d * 0.5, "halved"), lambda: wg.debug(d, "kept"))
        return again, d

    c, ys = wg.scan(outer, 0.0, x)
    wg.debug((c, ys), "end")
    return c


def test_loops_in_loops(agree):
    found = agree(nested, X[:2, :2])
    assert [line.split(":")[0] for line in found] == [
        *("d (step 0, 0)", "d (step 0, 1)", "outer (step 0)", "kept (step 0)"),
        *("d (step 1, 0)", "d (step 1, 1)", "outer (step 1)", "kept (step 1)"),
        *("end.0", "end.1"),
    ]


def test_a_loop_without_steps_is_silent(agree):
    assert agree(lambda x: wg.scan(lambda c, r: (wg.debug(c, "c"), r), 0.0, x[:0]), X) == []


def test_only_the_branch_that_is_taken(agree):
    def program(x, flag):
        wg.cond(flag, lambda: wg.debug(x, "yes"), lambda: wg.debug(x, "no"))  # nobody reads it
        return x

    one = X[0, :1]
    assert agree(program, one, np.array(True)) == ["yes: float64[1] = [0.]"]
    assert agree(program, one, np.array(False)) == ["no: float64[1] = [0.]"]


# Under derivatives


@pytest.mark.parametrize("wrap", [lambda f: f, wg.checkpoint])
def test_a_derivative_speaks_once(agree, lines, wrap):
    """Neither a recomputed region nor the way back of a loop repeats it."""

    def program(x):
        return np.sum(wrap(lambda x: wg.debug(np.sin(x), "sin") ** 2)(x)) + wrap(nested)(x)

    once = lines(program, X)
    assert len(once) > 10
    assert agree(wg.grad(program), X) == once
    assert agree(wg.value_and_grad(program), X) == once
    assert agree(lambda x: wg.jvp(program, (x,), (x,)), X) == once
    assert agree(lambda x: wg.vjp(program, x)[0], X) == once
    assert agree(wg.grad(lambda x: np.sum(wg.grad(program)(x) ** 2)), X) == once


def test_the_gradient_passes_untouched():
    def program(x):
        return np.sum(np.tanh(wg.debug(x, "x")) ** 3)

    plain = wg.grad(silent(program))(X)
    assert bits(wg.grad(program)(X)) == bits(plain)
    assert bits(wg.compile(wg.grad(program))(X)) == bits(
        wg.compile(wg.grad(lambda x: np.sum(np.tanh(x) ** 3)))(X)
    )


def test_what_a_backward_rule_says(agree):
    @wg.custom_vjp
    def clipped(x):
        return x

    def backward(_, g):
        return (wg.debug(wg.clip(g, -1.0, 1.0), "clipped"),)

    clipped.defvjp(lambda x: (x, None), backward)
    assert agree(wg.grad(lambda x: np.sum(5.0 * clipped(x))), X[0, :2]) == [
        "clipped: float64[2] = [1. 1.]"
    ]


def test_graphs(lines):
    graph = wg.trace(nested, X)
    once = lines(nested, X)
    assert lines(lambda: graph.run(x=X)) == once
    again = wg.Graph.from_text(graph.to_text())
    assert again.to_text() == graph.to_text()
    assert lines(lambda: again.run(x=X)) == once
    gradient = wg.grad_with_loss(graph, wrt=[0])
    gradient.check()
    assert lines(lambda: gradient.run(x=X, d_output=np.ones(()))) == once


# Around a call


def test_without_fusion(agree, monkeypatch):
    monkeypatch.setenv("WENGERT_FUSE", "0")
    assert len(agree(wg.grad(nested), X)) > 10


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_with_workers(agree, monkeypatch, threads):
    """The thread that calls is the one that prints, when all have done their part."""
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    x = np.linspace(0, 1, 64 * 65).reshape(64, 65)

    def program(x):
        y = wg.debug(np.tanh(x @ x.T), "y")

        def step(c, row):
            c = np.tanh(wg.debug(c * 0.5, "c") + row)
            wg.debug(np.sum(c), "sum")
            return c, np.exp(c)

        return wg.scan(step, y[0], y[:5])

    assert len(agree(program, x, threads=threads)) > 10


def test_donated_arrays_are_shown_as_they_were(lines):
    step = wg.compile(lambda p: wg.debug(p, "before") * 0 + 5, donate="p")
    p = np.ones(2)
    for value in ("1.", "5."):
        assert lines(step, p) == [f"before: float64[2] = [{value} {value}]"]
    assert p.tolist() == [5, 5]


def test_a_program_that_fails_says_everything_once(lines):
    def program(x, i):
        wg.debug(x, "x")
        return x[i]

    compiled = wg.compile(program)

    def call():
        with pytest.raises(IndexError):
            compiled(np.zeros(1), np.array([7]))

    assert lines(call) == ["x: float64[1] = [0.]"]


def test_a_result_that_is_not_finite(lines):
    """The search for its origin says nothing."""
    compiled = wg.compile(lambda x: np.log(wg.debug(x, "x")), nonfinite="raise")

    def call():
        with pytest.raises(wg.errors.NonFiniteError, match="log: gave -inf"):
            compiled(np.zeros(1))

    assert lines(call) == ["x: float64[1] = [0.]"]


def test_programs_from_the_cache(lines, tmp_path):
    x = np.arange(2.0)

    def program(x):
        return wg.scan(lambda c, r: (wg.debug(c + r, "c"), c), 0.0, wg.debug(x, "x"))

    with cache_in(tmp_path):
        for found in ("miss", "hit"):
            compiled = wg.compile(program)
            assert lines(compiled, x) == [
                "x: float64[2] = [0. 1.]",
                "c (step 0): float64[] = 0.",
                "c (step 1): float64[] = 1.",
            ]
            assert compiled.executable(x).cached.startswith(found)
            settle()


def test_profiles_and_explanations(lines):
    executable = wg.compile(lambda x: wg.debug(x, "x") * 2).executable(np.ones(1))
    assert len(lines(executable.profile, np.ones(1))) == 1
    assert '= debug(%0, name="x")' in executable.explain()
    assert "debug" in executable.explain(html=True)


@pytest.mark.parametrize("error", [BrokenPipeError, KeyboardInterrupt])
def test_what_printing_raises(monkeypatch, error):
    """It is raised when the program has ended: results and donated arrays are whole."""
    printed: list[str] = []

    class Closed:
        def write(self, text: str) -> None:
            printed.append(text)
            raise error("no more")

        def flush(self) -> None:
            pass

    def program(p, x):
        wg.debug(x, "x")
        wg.debug(p, "p")
        return p + x, np.sum(x)

    compiled = wg.compile(program, donate="p")
    wide = np.zeros((2, 6))
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Closed())
        for p in (wide[0, ::2], np.zeros(3)):
            with pytest.raises(error, match="no more"):
                compiled(p, np.ones(3))
            assert p.tolist() == [1, 1, 1]
    assert printed == ["x: float64[3] = [1. 1. 1.]\n"] * 2
    p, total = compiled(np.zeros(3), np.ones(3))  # nothing is left of it
    assert (p.tolist(), float(total)) == ([1, 1, 1], 3)


def test_a_call_from_inside_a_call(monkeypatch):
    """Whoever writes the lines may call the same function."""
    compiled = wg.compile(lambda x: wg.debug(x, "x") * 2)
    found: list[Any] = []

    class Calling:
        def write(self, text: str) -> None:
            if len(found) < 3:
                found.append(text)
                found.append(compiled(np.full(1, float(len(found)))).tolist())

        def flush(self) -> None:
            pass

    monkeypatch.setattr("sys.stdout", Calling())
    assert compiled(np.zeros(1)).tolist() == [0]
    assert found[0] == "x: float64[1] = [0.]\n"
    assert found[-1] == [2.0]


def test_many_threads(capsys):
    """Lines of several threads do not mix, and each call says its own."""
    compiled = wg.compile(lambda x: np.sum(wg.debug(x, "x")))
    compiled(np.zeros(3))
    capsys.readouterr()
    sums: dict[int, list[float]] = {}

    def work(k: int) -> None:
        sums[k] = [float(compiled(np.full(3, float(k)))) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == {k: [3.0 * k] * 20 for k in range(8)}
    expected = [f"x: float64[3] = [{k}. {k}. {k}.]" for k in range(8)] * 20
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(expected)


def test_a_tensor_that_outlived_its_transformation():
    kept: list[Any] = []
    wg.grad(lambda x: kept.append(x) or np.sum(x))(X)
    with pytest.raises(wg.errors.TraceError, match="outlived"):
        wg.debug(kept[0], "x")
