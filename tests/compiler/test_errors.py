"""Bad input to compiled programs is refused in words, and leaves donated arrays as they were."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from meta.planted import planted, unary

import wengert as wg
from wengert.core.define import elementwise
from wengert.errors import CompileError, DTypeError, NonFiniteError, ShapeError, TraceError

# <op>: <what was given>; <what is needed>. <what to do>. (file:line)
FORM = re.compile(r"^[\w.]+: [^;]+; .+\. \S.*[.?](?: \(\S+:\d+\))?$", re.DOTALL)
X, W = np.arange(12.0).reshape(3, 4), np.ones((4, 2))
N = wg.Dim("n")


def refused(kind: type[Exception], call: Callable[[], Any], *words: str) -> None:
    """The call raises an error of this kind, in our form, that says these words."""
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert FORM.match(message), message
    for word in words:
        assert word in message, message


def product(x: Any, w: Any) -> Any:
    return x @ w


# Arguments of another kind than an executable was made for.

UNLIKE: dict[str, tuple[type[Exception], tuple[Any, ...], str]] = {
    "rows": (ShapeError, (X[:2], W), "(2, 4)"),
    "axes": (ShapeError, (X[0], W), "(4,)"),
    "more_axes": (ShapeError, (X[None], W), "(1, 3, 4)"),
    "nothing": (ShapeError, (X[:0], W), "(0, 4)"),
    "the_second": (ShapeError, (X, W[:3]), "'w'"),
    "float32": (DTypeError, (X.astype(np.float32), W), "float32"),
    "integers": (DTypeError, (X.astype(np.int64), W), "int64"),
    "bools": (DTypeError, (X > 1, W), "bool"),
    "complex": (DTypeError, (X + 0j, W), "complex128"),
    "half": (DTypeError, (X.astype(np.float16), W), "float16"),
    "objects": (DTypeError, (X.astype(object), W), "object"),
    "strings": (DTypeError, (X.astype(str), W), "<U"),
    "dates": (DTypeError, (X.astype("M8[s]"), W), "datetime64"),
    "records": (DTypeError, (np.zeros((3, 4), [("a", float)]), W), "'a'"),
    "a_list": (ShapeError, ([X], W), "[*]"),
    "a_dict": (ShapeError, ({"x": X}, W), "'x'"),
    "too_few": (ShapeError, (X,), "(*,)"),
    "too_many": (ShapeError, (X, W, W), "(*, *, *)"),
    "none": (ShapeError, (X, None), "None"),
    "a_number": (ShapeError, (X, 2.0), "2.0"),
    "a_string": (ShapeError, ("x", W), "'x'"),
    "numbers_in_lists": (ShapeError, (X.tolist(), W), "[0.0, 1.0"),
}


@pytest.mark.parametrize("what", UNLIKE)
def test_an_executable_takes_only_what_it_was_made_for(what):
    kind, given, word = UNLIKE[what]
    executable = wg.compile(product).executable(X, W)
    for _ in range(3):  # the first call of an executable goes another way than the later ones
        refused(kind, lambda: executable(*given), "compile: ", word)
        assert np.array_equal(executable(X, W), X @ W)


@pytest.mark.parametrize("what", ["objects", "strings", "dates", "records", "complex", "half"])
def test_a_compiled_function_takes_only_supported_dtypes(what):
    _, given, word = UNLIKE[what]
    refused(DTypeError, lambda: wg.compile(product)(*given), word, "float64")


def test_a_number_of_another_kind_is_another_program():
    compiled = wg.compile(lambda x, k: x * k)
    named = wg.compile(lambda x, k: x * k, static="k")
    ints = np.arange(3)
    for function in (compiled, named):
        for k in (1, 1.0, True):
            assert function(ints, k).dtype == (ints * k).dtype, f"times {k!r}"
    assert compiled(ints > 1, True).dtype == np.bool_
    assert compiled(ints > 1, 1).dtype == np.int64


def test_one_dim_has_one_size():
    def add(x: Any, y: Any) -> Any:
        return x + y

    compiled = wg.compile(add, dims={"x": {0: N}, "y": {0: N}})
    executable = compiled.executable(np.ones(3), np.ones(3))
    for function in (compiled, executable):
        for _ in range(3):
            refused(ShapeError, lambda f=function: f(np.ones(3), np.ones(2)), "n", "2")
            refused(ShapeError, lambda f=function: f(np.ones(2), np.ones(3)), "n", "3")
            refused(ShapeError, lambda: executable.profile(np.ones(2), np.ones(3)), "two Dims")
            assert np.array_equal(function(np.ones(5), np.ones(5)), np.full(5, 2.0))


def test_what_tracing_refuses():
    refused(ShapeError, lambda: wg.compile(product)(X, X), "matmul: ", "test_errors.py:")
    refused(TraceError, lambda: wg.compile(lambda x: x if x > 0 else -x)(np.array(1.0)), "bool: ")
    refused(TraceError, lambda: wg.compile(lambda x: float(x))(np.array(1.0)), "float: ")
    refused(ShapeError, lambda: wg.compile(product, dims={"z": {0: N}})(X, W), "z")
    refused(ShapeError, lambda: wg.compile(product, dims={"x": {7: N}})(X, W), "7")
    executable = wg.compile(product).executable(X, W)
    for derivative in (wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (x,))):
        call = derivative(lambda x: wg.sum(executable(x, W)))
        refused(TraceError, lambda f=call: f(X), "executable: ", "being differentiated")
    refused(TraceError, lambda: wg.compile(lambda x: executable(x, W))(X), "is traced")
    refused(TraceError, lambda: wg.grad(lambda x: executable.profile(x, W))(X), "executable: ")


def test_options():
    refused(ValueError, lambda: wg.compile(product, nonfinite="never"), "'never'")
    refused(ValueError, lambda: wg.compile(product, threads=0), "0")
    refused((TypeError, ValueError), lambda: wg.compile(product, threads="2"), "'2'")
    refused(TraceError, lambda: wg.compile(3), "int")
    refused(TypeError, lambda: wg.compile(product, donate="z")(X, W), "'z'", "x, w")
    refused(TypeError, lambda: wg.compile(product, donate=2)(X, W), "2", "x, w")
    refused(TypeError, lambda: wg.compile(product, static="z")(X, W), "'z'", "x, w")
    refused(TypeError, lambda: wg.compile(lambda: 2.0, donate=0)(), "the function has none")
    for wrong in (None, 2.5, [2.5], ["x", None]):
        refused(TypeError, lambda w=wrong: wg.compile(product, static=w), f"static={wrong!r}")
        refused(TypeError, lambda w=wrong: wg.compile(donate=w), f"donate={wrong!r}")
    for wrong in ([1], "x", {0: {0: N}}, {"x": [N]}, {"x": {0: 3}}, {"x": {"0": N}}):
        refused(TypeError, lambda w=wrong: wg.compile(product, dims=w), f"dims={wrong!r}")
    unhashable = wg.compile(lambda x, k: x * k[0], static="k")
    refused(TypeError, lambda: unhashable(X, [2.0]), "list")


@pytest.mark.parametrize("lanes", ["0", "abc", "3", "-4", "32", "4.0"])
def test_lanes(lanes, monkeypatch):
    monkeypatch.setenv("WENGERT_LANES", lanes)
    refused(ValueError, lambda: wg.compile(product)(X, W), f"WENGERT_LANES={lanes}")
    monkeypatch.setenv("WENGERT_LANES", "8")
    assert np.array_equal(wg.compile(product)(X, W), X @ W)


def test_arguments_that_have_only_a_name():
    def f(x: Any, /, y: Any = 1.0, *rest: Any, k: Any = 2.0, **others: Any) -> Any:
        return x * y * k

    compiled = wg.compile(f)
    assert np.array_equal(compiled(X, y=3.0), X * 6)
    refused(TypeError, lambda: compiled(X, k=3.0), "argument k can")
    refused(TypeError, lambda: compiled(X, y=1.0, k=3.0, z=X), "arguments k, z can")
    refused(TypeError, lambda: compiled(X, x=3.0), "argument x can")


class Box:
    """Holds a value, and is no tree."""

    def __init__(self, value: Any) -> None:
        self.value = value


RETURNED: dict[str, Callable[[Any], Any]] = {
    "a_closure": lambda x: lambda y: x * y,
    "a_default": lambda x: lambda y, x=x: x * y,
    "a_partial_function": lambda x: functools.partial(product, x),
    "an_attribute_of_a_function": lambda x: setattr(f := lambda: 1, "x", x) or f,
    "a_method": lambda x: x.sum,
    "a_generator": lambda x: (y for y in [x]),
    "a_pullback": lambda x: wg.vjp(lambda x: wg.sum(x * x), x)[1],
    "an_object": Box,
    "an_object_in_an_object": lambda x: Box(Box([x])),
}


@pytest.mark.parametrize("what", RETURNED)
def test_a_tensor_inside_what_is_no_tree_is_not_returned(what):
    refused(TraceError, lambda: wg.compile(RETURNED[what])(X), "compile: ", "holds a Tensor")


@pytest.mark.parametrize("dtype", [complex, object, "M8[s]", "U3", np.float16, np.longdouble])
def test_only_supported_dtypes_are_returned(dtype):
    array = np.zeros(2, dtype)
    call = wg.compile(lambda x: {"a": x, "b": [array]})
    refused(DTypeError, lambda: call(X), "compile: output b.0 ", str(array.dtype))
    refused(DTypeError, lambda: wg.compile(lambda x: array)(X), "compile: the output ")


def helped(e: Any, x: Any) -> Any:
    return e.add(x, e.hypotenuse(x, x))


EMITS: dict[str, tuple[Callable[..., Any], type[Exception]]] = {
    "no_such_instruction": (lambda e, x: e.hypotenuse(x, x), AttributeError),
    "inside_another_function": (lambda e, x: helped(e, x), AttributeError),
    "an_operator": (lambda e, x: x + 1, TypeError),
    "a_number_too_many": (lambda e, x: e.add(x, x, x), TypeError),
}


@pytest.mark.parametrize("what", EMITS)
def test_an_error_in_the_code_of_an_op(what):
    emit, kind = EMITS[what]
    define = elementwise(numpy=lambda x: np.cbrt(x), emit=emit, opaque="nobody has derived it")
    with planted(define, unary) as own:
        call = wg.compile(lambda x: own(x) * 2.0)
        refused(CompileError, lambda: call(X), "planted_op: ", kind.__name__, "test_errors.py:")
        with pytest.raises(CompileError) as caught:
            call(X)
        assert isinstance(caught.value.__cause__, kind)


def test_python_says_which_argument_is_missing():
    with pytest.raises(TypeError, match="'w'"):
        wg.compile(product)(X)
    with pytest.raises(TypeError):
        wg.compile(product)(X, wrong=W)


# Donated arrays.


def step(p: Any, g: Any) -> Any:
    return p - 0.5 * g, wg.sum(g)


def test_a_read_only_array_is_not_donated():
    p, g = X.copy(), X.copy()
    p.flags.writeable = False
    broadcast = np.broadcast_to(np.ones(4), (3, 4))
    compiled = wg.compile(step, donate="p")
    for _ in range(3):
        refused(ValueError, lambda: compiled(p, g), "'p'", "read-only")
        refused(ValueError, lambda: compiled(broadcast, g), "'p'", "read-only")
        assert np.array_equal(p, X)
        compiled(X.copy(), g)


OVERLAPS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "the_same_array": lambda: (b := np.arange(16.0).reshape(4, 4), b),
    "two_views_of_one": lambda: (b := np.arange(16.0).reshape(4, 4), b[:]),
    "rows_of_one": lambda: ((b := np.arange(20.0).reshape(5, 4))[:4], b[1:]),
    "reversed": lambda: (b := np.arange(16.0).reshape(4, 4), b[::-1]),
    "transposed": lambda: (b := np.arange(16.0).reshape(4, 4), b.T),
    "one_element": lambda: ((b := np.arange(31.0))[:16].reshape(4, 4), b[15:].reshape(4, 4)),
}


@pytest.mark.parametrize("what", OVERLAPS)
@pytest.mark.parametrize("donate", ["p", "g", ("p", "g")], ids=str)
def test_an_overlapping_array_is_not_donated(what, donate):
    p, g = OVERLAPS[what]()
    before = p.copy(), g.copy()
    compiled = wg.compile(step, donate=donate)
    for _ in range(3):
        refused(ValueError, lambda: compiled(p, g), "memory")
        compiled(np.ones((4, 4)), np.ones((4, 4)))
    assert np.array_equal(p, before[0])
    assert np.array_equal(g, before[1])


def test_interleaved_arrays_do_not_overlap():
    both = np.arange(32.0).reshape(4, 8)
    p, g = both[:, ::2], both[:, 1::2]
    expected = p - 0.5 * g
    found, _ = wg.compile(step, donate="p")(p, g)
    assert np.array_equal(found, expected)
    assert np.array_equal(both[:, ::2], expected)


def test_an_array_that_overlaps_itself_is_not_donated():
    p = np.lib.stride_tricks.as_strided(np.zeros(10), (3, 4), (8, 8))
    compiled = wg.compile(step, donate="p")
    for _ in range(3):
        refused(ValueError, lambda: compiled(p, X), "'p'", "overlaps itself")
        compiled(X.copy(), X)


# What only the numbers can show.


def matrices(*values: float) -> Any:
    return np.stack([value * np.eye(3) for value in values])


INDICES: dict[str, tuple[Callable[..., Any], str]] = {
    "gather": (lambda x, i: x[i], "getitem: "),
    "gather_pairs": (lambda x, i: x[i, i], "getitem: "),
    "take": (lambda x, i: wg.take(x, i, axis=0), "take: "),
    "take_along_axis": (
        lambda x, i: wg.take_along_axis(x, i[:, None], axis=0),
        "take_along_axis: ",
    ),
    "scatter_add": (lambda x, i: wg.scatter_add(x, i, x[: i.shape[0]]), "scatter_add: "),
    "gradient": (lambda x, i: wg.grad(lambda x: wg.sum(x[i] ** 2))(x), "getitem: "),
    "computed": (lambda x, i: x[(i + 1) - 1], "getitem: "),
    "in_a_loop": (lambda x, i: wg.scan(lambda c, k: (c + x[k], None), x[0] * 0, i)[0], "getitem: "),
    "in_a_branch": (
        lambda x, i: wg.cond(wg.sum(x) > 0, lambda: x[i], lambda: x[:3]),
        "getitem: ",
    ),
}


@pytest.mark.parametrize("what", INDICES)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_indices_out_of_range(what, dtype):
    function, prefix = INDICES[what]
    x = np.arange(12.0).reshape(3, 4) + 1
    compiled = wg.compile(function)
    good = [np.array([0, 2, 1], dtype)]
    bad = [np.array([0, 1, 3], dtype), np.array([100, 1, 0], dtype)]
    if dtype[0] == "i":
        good.append(np.array([-3, -1, 0], dtype))
        bad += [np.array([0, -4, 0], dtype), np.array([0, 0, np.iinfo(dtype).min], dtype)]
    else:
        bad.append(np.array([0, np.iinfo(dtype).max, 1], dtype))
    for _ in range(2):
        for indices in bad:
            refused(IndexError, lambda i=indices: compiled(x, i), prefix)
        for indices in good:
            found, expected = (
                compiled(x, indices),
                wg.trace(function, x, indices).run(x=x, i=indices),
            )
            np.testing.assert_allclose(found, expected[0], rtol=1e-14)


def test_huge_indices():
    for index in (2**62, -(2**62), -(2**63), 2**63 - 1):
        indices = np.array([index, 0])
        refused(IndexError, lambda i=indices: wg.compile(lambda x, i: x[i])(X, i), "getitem: ")
    unsigned = np.array([2**64 - 1], np.uint64)
    with pytest.raises((IndexError, DTypeError)):
        wg.compile(lambda x, i: x[i])(X, unsigned)


def test_a_class_out_of_range():
    compiled = wg.compile(wg.value_and_grad(wg.cross_entropy))
    for targets in (np.array([0, 1, 4]), np.array([0, -1, 2])):
        refused(IndexError, lambda t=targets: compiled(X, t), "cross_entropy: ")


def test_matrices_that_have_no_answer():
    solve = wg.compile(lambda a, b: wg.linalg.solve(a, b))
    singular, indefinite = matrices(1, 0, 2), matrices(1, 2, -1)
    bad = np.linalg.LinAlgError
    refused(bad, lambda: solve(singular, np.ones((3, 3, 1))), "solve: ", "singular")
    refused(bad, lambda: solve(np.ones((2, 2)), np.ones(2)), "solve: ", "singular")
    refused(bad, lambda: wg.compile(wg.linalg.inv)(singular), "inv: ", "singular")
    refused(bad, lambda: wg.compile(wg.linalg.cholesky)(indefinite), "cholesky: ", "positive")
    refused(bad, lambda: wg.compile(wg.linalg.cholesky)(-np.eye(2)), "cholesky: ", "positive")
    gradient = wg.compile(wg.grad(lambda a: wg.sum(wg.linalg.inv(a))))
    refused(bad, lambda: gradient(np.zeros((2, 2))), "inv: ")
    assert np.array_equal(solve(np.eye(2), np.ones(2)), np.ones(2))


UNSEEN: dict[str, tuple[Callable[..., Any], tuple[Any, ...], type[Exception]]] = {
    "gather": (lambda x, i: x[i], (X, np.array([0, 1])), IndexError),
    "scatter_add": (lambda x, i: wg.scatter_add(x, i, x[:2]), (X, np.array([0, 1])), IndexError),
    "solve": (wg.linalg.solve, (np.eye(2), np.ones(2)), np.linalg.LinAlgError),
    "inv": (wg.linalg.inv, (np.eye(2),), np.linalg.LinAlgError),
    "cholesky": (wg.linalg.cholesky, (np.eye(2),), np.linalg.LinAlgError),
    "triangular_solve": (
        lambda a, b: wg.linalg.triangular_solve(a, b, lower=True),
        (np.eye(2), np.ones(2)),
        np.linalg.LinAlgError,
    ),
    "power": (lambda x, y: x**y, (np.arange(3), np.arange(3)), DTypeError),
}


@pytest.mark.parametrize("what", UNSEEN)
def test_a_failure_that_numpy_does_not_see(what):
    """The class is the one that NumPy's failure has, and the sentence has no line inside."""
    function, args, kind = UNSEEN[what]
    executable = wg.compile(lambda *args: function(*args)).executable(*args)
    refused(kind, lambda: executable._explain_failure(1, 0, args), "NumPy", "test_errors.py:")


FAILURES: dict[str, tuple[Callable[..., Any], Any, type[Exception]]] = {
    "an_index": (lambda p, x: (p + 1, wg.sum(p[x])), np.array([0, 9]), IndexError),
    "a_matrix": (lambda p, x: (p + 1, wg.linalg.inv(x)), np.ones((2, 2)), np.linalg.LinAlgError),
    "a_late_index": (
        lambda p, x: (wg.tanh(p) * 2, wg.sum((p * 2)[x])),
        np.array([3, 0]),
        IndexError,
    ),
}


@pytest.mark.parametrize("what", FAILURES)
@pytest.mark.parametrize("nonfinite", ["ignore", "raise", "skip"])
def test_donated_arrays_are_untouched_by_failures(what, nonfinite):
    function, bad, kind = FAILURES[what]
    p = X.copy()
    compiled = wg.compile(function, donate="p", nonfinite=nonfinite)
    for _ in range(4):
        refused(kind, lambda: compiled(p, bad))
        assert np.array_equal(p, X)


def test_arguments_are_untouched_by_successes():
    p, g = X.copy(), X.copy()
    wg.compile(step)(p, g)
    assert np.array_equal(p, X)
    assert np.array_equal(g, X)


# What is not finite.


def logarithms(p: Any, x: Any) -> Any:
    return {"p": p + wg.log(x), "count": x.shape[0] + 0 * wg.sum(x > 0), "rest": [wg.exp(x)]}


AWKWARD = [(0.0, "p"), (-1.0, "p"), (np.nan, "p"), (np.inf, "p"), (800.0, "rest.0")]


@pytest.mark.parametrize(("value", "path"), AWKWARD)
@pytest.mark.parametrize("position", [0, 15, 16, 36])
def test_nonfinite_raise(value, path, position):
    x = np.ones(37)
    p = x.copy()
    compiled = wg.compile(logarithms, donate="p", nonfinite="raise")
    x[position] = value
    for _ in range(3):
        refused(NonFiniteError, lambda: compiled(p, x), f"output {path} ", f"({position},)")
        assert np.array_equal(p, np.ones(37))
        found = compiled(p, np.ones(37))
        assert found["p"] is p
        assert np.array_equal(p, np.ones(37))


def test_nonfinite_skip():
    compiled = wg.compile(logarithms, donate="p", nonfinite="skip")
    p, x = np.full(3, 2.0), np.array([1.0, 0.0, 1.0])
    for turn in range(3):
        found = compiled(p, x)
        np.testing.assert_allclose(p, np.full(3, 2.0 + turn))
        np.testing.assert_allclose(found["rest"][0], np.exp(x), rtol=1e-14)
        compiled(p, np.full(3, np.e))
        np.testing.assert_allclose(p, np.full(3, 3.0 + turn))


def test_nonfinite_ignore():
    p, x = np.full(3, 2.0), np.array([1.0, 0.0, 1.0])
    wg.compile(logarithms, donate="p")(p, x)
    assert np.array_equal(p, np.array([2.0, -np.inf, 2.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nonfinite_looks_at_outputs_only(dtype):
    compiled = wg.compile(lambda x: wg.where(x > 0, wg.log(x), 0.0), nonfinite="raise")
    assert np.array_equal(compiled(np.array([0.0, 1.0, -1.0], dtype)), np.zeros(3, dtype))
    largest = np.array([np.finfo(dtype).max, -np.finfo(dtype).max], dtype)
    assert np.array_equal(wg.compile(lambda x: -x, nonfinite="raise")(largest), -largest)
