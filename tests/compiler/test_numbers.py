"""Python numbers as arguments: known when the program runs, and weak as everywhere."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import WideningWarning

SINGLE, DOUBLE = np.linspace(0.5, 2.0, 4, dtype=np.float32), np.linspace(0.5, 2.0, 4)
WHOLE, SMALL = np.arange(1, 5), np.arange(1, 5, dtype=np.int8)


def recorded_once(f, *calls, **options):
    """Compile, call with each of the arguments, compare with the function itself; one recording."""
    count = []

    def counted(*args):
        count.append(args)
        return f(*args)

    compiled = wg.compile(counted, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", WideningWarning)  # np.exp(n) is float64, as in NumPy
        for args in calls:
            for _ in range(2):
                found, expected = compiled(*args), wg.tree.arrays(f(*args))
                ours, theirs = wg.tree.leaves(found), wg.tree.leaves(expected)
                for x, y in zip(ours, theirs, strict=True):
                    assert x.dtype == y.dtype
                    np.testing.assert_allclose(x, y, rtol=1e-6 if x.dtype == np.float32 else 1e-14)
    assert len(count) == 1
    return compiled


ARITHMETIC = [
    lambda x, n: x * n,
    lambda x, n: n * x,
    lambda x, n: x + n,
    lambda x, n: n - x,
    lambda x, n: x - n,
    lambda x, n: x / n,
    lambda x, n: n / x,
    lambda x, n: x**n,
    lambda x, n: n**x,
    lambda x, n: x // n,
    lambda x, n: n % x,
    lambda x, n: x * (n * 2),
    lambda x, n: x * (2 * n + 1 - n) / (n - 0.25),
    lambda x, n: x * (n / 3),
    lambda x, n: x * (7 // n),
    lambda x, n: x * (n % 3),
    lambda x, n: x * -n + abs(-n) - +n,
    lambda x, n: x * n**2,
    lambda x, n: x * (n * n),
    lambda x, n: np.maximum(x, n),
    lambda x, n: wg.minimum(n, x),
    lambda x, n: np.where(x > n, x, n),
    lambda x, n: np.clip(x, -n, n),
    lambda x, n: np.exp(n) * x,
    lambda x, n: (x, n, [n * 2]),
    lambda x, n: np.sum(x * n) > n,
    lambda x, n: x * n if isinstance(n, float) else x + n,
    lambda x, n: x * n if isinstance(n, int) else x - n,
]


@pytest.mark.parametrize("x", [SINGLE, DOUBLE, WHOLE, SMALL], ids=lambda x: x.dtype.name)
@pytest.mark.parametrize("values", [(0.5, 2.0, -1.5), (2, 3, 5)], ids=["float", "int"])
@pytest.mark.parametrize("f", ARITHMETIC)
@np.errstate(invalid="ignore")
def test_arithmetic(f, values, x):
    recorded_once(f, *((x, value) for value in values))


def test_the_entry_takes_them():
    f = wg.compile(lambda x, n, k: x * n + k)
    f(SINGLE, 2.0, 3)
    entry = f.executable(SINGLE, 2.0, 3).entry
    assert entry(SINGLE, 0.5, -1)[0] == SINGLE[0] * np.float32(0.5) - 1
    assert entry(SINGLE, 0.5, 2**62)[0] == np.float32(2**62)
    for other in ((2, 3), (2.0, 3.0), (2.0, True), (np.float64(2), 3), (2.0, np.int64(3))):
        assert entry(SINGLE, *other) is NotImplemented
    assert entry(SINGLE, 0.5, 2**64) is NotImplemented
    assert entry(SINGLE, np.array(0.5), 3) is NotImplemented
    assert f(SINGLE, np.array(0.5), 3).dtype == np.float64
    assert f(SINGLE, 0.5, 3).dtype == np.float32


def test_integers_of_any_size():
    f = wg.compile(lambda x, n: x * n)
    for n in (0, 1, -1, 2**31, -(2**40), 2**62, -(2**63), 2**63, 2**80):
        assert f(DOUBLE, n)[0] == DOUBLE[0] * float(n)
        assert f(DOUBLE, n)[0] == DOUBLE[0] * float(n)


def test_executables_take_them_too():
    executable = wg.compile(lambda x, n: x * n).executable(SINGLE, 2.0)
    for n in (2.0, 3.0):
        assert executable(SINGLE, n)[0] == SINGLE[0] * np.float32(n)
    assert len(executable.graph.inputs) == 2


def test_derivatives_by_numbers_and_beside_them():
    def f(x, n):
        return wg.sum(x * n * n)

    recorded_once(wg.grad(f), (SINGLE, 2.0), (SINGLE, 3.0))
    recorded_once(wg.grad(f, argnums=1), (DOUBLE, 2.0), (DOUBLE, 3.0))
    recorded_once(wg.grad(f, argnums=(0, 1)), (DOUBLE, 2), (DOUBLE, 3))


def test_in_bodies_of_loops_and_branches():
    def f(x, n):
        total, _ = wg.scan(lambda h, row: (h * n + row, h), np.float32(0), x)
        return total, wg.cond(total > 0, lambda: x * n, lambda: x - n)

    recorded_once(f, (SINGLE, 0.5), (SINGLE, 0.25))


def test_compiled_functions_inside():
    inner = wg.compile(lambda n, x: x * n)
    recorded_once(lambda x, n: inner(n, x), (SINGLE, 0.5), (SINGLE, 2.0))
    alone = wg.compile(lambda n: n * 2)
    recorded_once(lambda x, n: x * alone(n), (DOUBLE, 0.5), (DOUBLE, 2.0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: x if n > 1 else -x,
        lambda x, n: x + sum(range(n)),
        lambda x, n: wg.zeros((n,)) + x[0],
        lambda x, n: x[:n],
        lambda x, n: x * np.array([n, 1, 1, 1]),
        lambda x, n: wg.sum(x[None], axis=n - 2),
        lambda x, n: x * math.sqrt(n),
        lambda x, n: x * int(n * 2),
        lambda x, n: x * (2**n),
        lambda x, n: x * {2: 1.0, 3: 2.0}.get(int(n), 0.0),
        lambda x, n: x * float(np.exp(n)),
        lambda x, n: x if np.exp(n) > 10 else -x,
    ],
)
def test_where_python_needs_the_value_it_is_specialised(f):
    compiled = wg.compile(f)
    with pytest.warns(UserWarning, match=r"the value of n .*static=.*test_numbers.py"):
        first = compiled(DOUBLE, 2)
    np.testing.assert_allclose(first, f(DOUBLE, 2), rtol=1e-14)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(compiled(DOUBLE, 3), f(DOUBLE, 3), rtol=1e-14)
        np.testing.assert_allclose(compiled(DOUBLE, 2), first, rtol=1e-14)


def test_static_numbers_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.compile(lambda x, n: x[:n], static="n")(DOUBLE, 2).shape == (2,)


def test_only_the_number_that_is_needed_is_specialised():
    count = []

    def f(x, n, scale):
        count.append(n)
        return x[:n] * scale

    compiled = wg.compile(f)
    with pytest.warns(UserWarning, match="the value of n "):
        compiled(DOUBLE, 2, 0.5)
    count.clear()
    for scale in (0.1, 0.2, 0.3):
        assert compiled(DOUBLE, 2, scale)[0] == DOUBLE[0] * scale
    assert not count


def test_bools_and_texts_are_static():
    count = []

    def f(x, flag, name):
        count.append(flag)
        return x * 2 if flag and name == "a" else x

    compiled = wg.compile(f)
    for flag, name in ((True, "a"), (False, "a"), (True, "b"), (True, "a")):
        assert compiled(DOUBLE, flag, name)[0] == f(DOUBLE, flag, name)[0]
    assert isinstance(count[0], bool)


def test_numbers_in_trees_are_static():
    compiled = wg.compile(lambda x, tree: x * tree["n"])
    assert compiled(SINGLE, {"n": 2.0})[0] == 2 * SINGLE[0]
    assert len(compiled.executable(SINGLE, {"n": 2.0}).graph.inputs) == 1


def test_by_name_and_with_open_sizes():
    f = wg.compile(lambda x, n: x * n / x.shape[0], dims={"x": {0: wg.Dim("rows")}})
    for size, n in ((3, 2.0), (4, 3.0), (5, 4.0)):
        assert f(np.ones(size), n=n)[0] == n / size
    assert f(np.ones(3, np.float32), n=2.0).dtype == np.float32


def test_a_value_that_is_needed_in_a_trace_inside():
    def f(x, n):
        return x * wg.trace(lambda: wg.ones(3) * int(n)).run()[0]

    with pytest.warns(UserWarning, match="the value of n "):
        np.testing.assert_array_equal(wg.compile(f)(np.ones(3), 2), np.full(3, 2.0))


COMPARISONS = {
    "arrays": lambda x, n: (n < x, n <= x, n > x, n >= x, n == x, n != x),
    "exp": lambda x, n: n < np.exp(x[0]),
    "numbers": lambda _, n: (n < 1, n > 1, n <= 2, n > 2.5, n >= 2, n == 2, n != 2, n == 3 * n),
    "scalars of NumPy": lambda _, n: (n < np.float64(1), np.float64(1) < n),
    "wg.where": lambda x, n: wg.where(n > 1, x, -x),
    "np.where": lambda x, n: np.where(n > 1, x, -x),
    "cond": lambda x, n: wg.cond(n > 1, lambda: x * 2, lambda: x - 1),
    "factor": lambda x, n: (n > 1) * x,
    "counted": lambda x, n: x * ((n > 1) + (n < 9)) + ((n > 1) - 3) * -(n > 1),
    "joined": lambda x, n: np.where((n > 1) & (n < 3) | (n == 7) ^ (n == 5), x, -x),
    "joined with arrays": lambda x, n: ((n > 1) & (x > 1), (x > 1) | (n > 1)),
    "in a loop": lambda x, n: wg.scan(lambda h, r: (wg.where(n > 1, h + r, h), h), x[0], x)[0],
    "full": lambda x, n: (wg.full(3, n), wg.full_like(x, n), wg.full((2, 1), n, np.float32)),
}


@pytest.mark.parametrize("x", [SINGLE, DOUBLE, WHOLE], ids=lambda x: x.dtype.name)
@pytest.mark.parametrize("values", [(0.5, 2.0, 1.5), (2, 3, 5)], ids=["float", "int"])
@pytest.mark.parametrize("f", COMPARISONS)
def test_comparisons_are_traced(f, values, x):
    recorded_once(COMPARISONS[f], *((x, value) for value in values))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: x * np.array(n),
        lambda x, n: x * np.asarray(n * 2),
        lambda x, n: x * np.array(n, dtype=float),
        lambda x, n: x * np.array(n, copy=True),
        lambda x, n: x * np.array([n, n, 1, 2]),
        lambda x, n: x * np.full(4, n),
        lambda x, n: x if n > 1 else -x,
        lambda x, n: x if 0 < n < 1 else -x,
        lambda x, n: x if n in (2, 3) else -x,
        lambda x, n: x if n == "text" else -x,
        lambda x, n: x * (n > 1 and n < 3),
        lambda x, n: x * (n & 1 if isinstance(n, int) else round(n)),
        lambda x, n: wg.scan(lambda h, r: (h + r if n > 1 else h - r, h), x[0], x)[0],
    ],
)
@pytest.mark.filterwarnings("ignore:compile")
def test_each_value_has_a_program_where_python_needs_it(f):
    compiled = wg.compile(f)
    for n in (0.5, 2.0, 2, 3):
        found, expected = compiled(DOUBLE, n), f(DOUBLE, n)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore:Python needed the size")
def test_an_array_of_an_open_size():
    f = wg.compile(lambda x: x * np.array(x.shape[0]), dims={"x": {0: wg.Dim("n")}})
    for size in (2, 3):
        assert (f(np.ones(size)) == size).all()


def test_whole_numbers_beyond_64_bits_are_pythons():
    def moment(x, n):
        return x / (n * (n - 1) * (n - 2) * (n - 3) * (n - 4))

    with pytest.warns(wg.errors.SizeWarning, match="a whole number beyond 64 bits"):
        assert wg.compile(moment)(1.0, 10_000) == moment(1.0, 10_000)
    with pytest.warns(wg.errors.SizeWarning, match="Python needed the value of k"):
        assert wg.compile(lambda x, k: x / k**5)(1.0, 10_000) == 1 / 10_000**5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            wg.compile(lambda x, k: x * (k**3 - 2**20 * k + 1))(1.0, 100) == 1e6 - 2**20 * 100 + 1
        )


def test_a_length_is_told_to_go_to_the_largest():
    def costs(w, x, length):
        return wg.sum(wg.scan(lambda s, _: (s @ w, wg.sum(s**2)), x, length=length)[1])

    def masked(w, x, length):
        def body(s, t):
            return s @ w, wg.where(t < length, wg.sum(s**2), 0.0)

        return wg.sum(wg.scan(body, x, np.arange(5))[1])

    w, x = np.array([[0.5, 1.0], [0.2, 0.1]]), np.ones((1, 2))
    largest = r"go to the largest: scan over np\.arange\(largest\) with wg\.where\(t < number"
    for needing in (costs, lambda w, x, n: wg.sum(wg.zeros(n) + w[0, 0])):
        f = wg.compile(needing)
        with pytest.warns(wg.errors.SizeWarning, match=rf"{largest}.*; if it has few values"):
            f(w, x, 2)
        with pytest.warns(wg.errors.ProgramsWarning, match=largest):
            [f(w, x, n) for n in (3, 4)]
    f = wg.compile(masked)
    for n in (2, 3, 4, 5):  # nothing is told of what is written so
        np.testing.assert_allclose(f(w, x, n), costs(w, x, n))
    assert len(f.programs) == 1


def test_a_loop_of_python_is_told_the_one_that_is_recorded():
    @wg.compile
    def root(a):
        z = a
        while abs(z * z - a) > 1e-10:
            z = (z + a / z) / 2
        return z

    with pytest.warns(wg.errors.SizeWarning, match=r"wg\.cond or .*, loop with wg\.while_loop; if"):
        root(2.0)
    with pytest.warns(wg.errors.ProgramsWarning, match=r"needed it .*wg\.while_loop\. "):
        assert [root(float(a)) for a in range(3, 12)]
