"""Numbers and open sizes that Python's own code looks at: a key, a text, a list, a library."""

from __future__ import annotations

import copy
import fractions
import json
import pdb
import pickle
import random
import statistics
import sys
import traceback
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

import wengert as wg
from wengert.core.words.source import is_asked_by_user

X = np.linspace(0.5, 2.0, 4)
TABLE = {0: 1.0, 1: 0.1, (2, 1): 5.0}
FACTORS = [2.0, 3.0, 5.0, 7.0]


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


@lru_cache
def remembered(n):
    return float(n) + 1


NEEDED = {
    "dict.get": lambda k: TABLE.get(k, 0.01),
    "dict[]": lambda k: {0: 1.0, 1: 2.0, 2: 3.0}[k],
    "in a set": lambda k: 2.0 if k in {1, 10} else 1.0,
    "in a dict": lambda k: 2.0 if k in TABLE else 1.0,
    "a tuple as a key": lambda k: TABLE.get((k, 1), 1.0),
    "a dataclass as a key": lambda k: 2.0 if Pair(k, 1) in {Pair(2, 1)} else 1.0,
    "hash": lambda k: hash(k) % 100,
    "set": lambda k: len({k, 1}),
    "lru_cache": remembered,
    "str": lambda k: len(str(k * 50)),
    "repr": lambda k: len(repr(k * 50)),
    "%s": lambda k: len("%s" % (k * 50)),
    "!r": lambda k: len(f"{k * 50!r}"),
    "f-string": lambda k: len(f"{k * 50}"),
    "repr of a list": lambda k: len(repr([k * 50])),
    "repr of a dataclass": lambda k: len(repr(Pair(k * 50, 1))),
    "random.Random": lambda k: random.Random(k).random(),
    "list *": lambda k: len([0] * k),
    "* list": lambda k: len(k * (0, 0)),
    "text *": lambda k: len("ab" * k),
    "statistics": lambda k: statistics.mean([k, 1]),
    "Fraction": lambda k: float(fractions.Fraction(k, 3)),
    "json": lambda k: len(json.dumps(k * 50)),
    "json, inside": lambda k: len(json.dumps({"k": [k * 50]})),
    "pickle": lambda k: pickle.loads(pickle.dumps(k)),
    "as_integer_ratio": lambda k: k.as_integer_ratio()[0],
    "bit_length": lambda k: k.bit_length(),
    "pow of three": lambda k: pow(k, 2, 5),
    "a list's element": lambda k: FACTORS[k],
    "an array's element": lambda k: X[k],
    "np.i0": lambda k: np.i0(k),
    "ufunc with an option": lambda k: np.multiply(k, 2, dtype=float),
    "np.gcd": lambda k: np.gcd(k, 2),
    "np.random": lambda k: np.random.default_rng(k).random(),
}
OPEN = {
    "real": lambda k: k.real + k.imag + k.conjugate(),
    "copy": lambda k: copy.copy(k) + copy.deepcopy([k])[0],
    "no array": lambda k: 5.0 if hasattr(k, "shape") or hasattr(k, "dtype") else 1.0 * k,
    "an isinstance": lambda k: k if isinstance(k, int) else 100,
}


def times(factor):
    return lambda x, k: x * factor(k)


@pytest.mark.parametrize("name", NEEDED)
def test_a_number_that_python_looks_at_is_specialised(name):
    f = times(NEEDED[name])
    compiled = wg.compile(f)
    with pytest.warns(wg.errors.SizeWarning, match=r"value of k.*test_numbers_in_python.py"):
        np.testing.assert_array_equal(compiled(X, 2), f(X, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.errors.ProgramsWarning)
        for k in (0, 1, 2):
            np.testing.assert_array_equal(compiled(X, k), f(X, k))


@pytest.mark.parametrize("name", OPEN)
def test_a_number_whose_value_python_need_not_know_stays_open(name):
    recorded = []

    def f(x, k):
        recorded.append(k)
        return x * OPEN[name](k)

    compiled = wg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (0, 1, 2):
            np.testing.assert_array_equal(compiled(X, k), X * OPEN[name](k))
    assert len(recorded) == 1


def test_a_key_that_is_missing_is_missing_in_the_users_words():
    with pytest.warns(wg.errors.SizeWarning), pytest.raises(KeyError, match=r"^7$"):
        wg.compile(lambda x, k: x * {0: 1.0}[k])(X, 7)


def test_a_loss_with_a_table_of_epochs():
    step = wg.TrainStep(lambda m, x, epoch: np.sum(m * x) * TABLE.get(epoch, 0.01), X, sgd())
    with pytest.warns(wg.errors.SizeWarning) as caught:
        losses = [float(step(X, epoch)) for epoch in (0, 1, 5)]
    np.testing.assert_allclose(losses, np.sum(X * X) * np.array([1.0, 0.1, 0.01]), rtol=1e-15)
    assert not any("static=" in str(each.message) for each in caught)


def sgd():
    return wg.optim.SGD(0.0)


def test_the_third_program_of_a_number_says_what_is_true():
    step = wg.TrainStep(lambda m, x, epoch: np.sum(m * x) * TABLE.get(epoch, 0.01), X, sgd())
    with pytest.warns(wg.errors.ProgramsWarning, match="is 2 and was 1.*Python needed it") as found:
        assert [float(step(X, epoch)) for epoch in range(3)]
    assert not any("argument of its own" in str(each.message) for each in found)


INDEXED = {
    "a row": lambda m, k: m[k],
    "an element": lambda m, k: m[k, 1],
    "a column": lambda m, k: m[:, k],
    "from the end": lambda m, k: m[-k],
    "beside a slice": lambda m, k: m[k, 1:],
    "beside an array": lambda m, k: m[k, np.array([0, 1])],
    "apart from an array": lambda m, k: m.reshape(3, 2, 2)[k, :, np.array([0, 1])],
    "beside None": lambda m, k: m[None, k, ..., None],
    "two": lambda m, k: m[k, k + 1],
    "wg.take": lambda m, k: wg.take(m, k, axis=0),
    "an array": lambda m, k: wg.asarray(np.arange(12.0).reshape(3, 4))[k] * m[0],
}


@pytest.mark.parametrize("name", INDEXED)
def test_an_index_is_read_when_the_program_runs(name):
    model, recorded = np.arange(12.0).reshape(3, 4) / 7, []

    def f(m, k):
        recorded.append(k)
        return INDEXED[name](m, k)

    compiled = wg.compile(f)
    derived = wg.compile(wg.grad(lambda m, k: wg.sum(f(m, k) ** 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (0, 1, 2):
            np.testing.assert_array_equal(compiled(model, k), INDEXED[name](model, k))
            found = derived(model, k)
            expected = wg.grad(lambda m, k=k: wg.sum(INDEXED[name](m, k) ** 2))(model)
            np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert len(recorded) == 2


def test_an_index_beyond_the_array_is_refused_when_the_program_runs():
    compiled = wg.compile(lambda m, k: m[k])
    assert compiled(X, 1) == X[1]
    with pytest.raises(IndexError):
        compiled(X, 4)
    with pytest.raises(IndexError):
        compiled(X, -5)


# Open sizes.

ROWS = [np.ones((3, 4)), np.ones((1, 4)), np.ones((7, 4))]
SIZES_NEEDED = {
    "dict.get": lambda n: {3: 2.0}.get(n, 50.0),
    "in a set": lambda n: 2.0 if n in {1, 2} else 1.0,
    "a shape in a dict": lambda n: 2.0 if (n, 4) in {(1, 4): 0} else 1.0,
    "hash": lambda n: hash(n) % 100,
    "str": lambda n: len(str(n * 100)),
    "f-string": lambda n: len(f"{n * 100}"),
    "lru_cache": remembered,
    "abs": lambda n: abs(n - 5),
    "round": round,
    "pow of three": lambda n: pow(n, 2, 5),
    "divmod": lambda n: divmod(n, 2)[1],
    "modulo": lambda n: 7 % n,
    "bits": lambda n: (n & 1) + (n << 1) + (6 >> n) + ~n,
    "bit_length": lambda n: n.bit_length(),
    "floor of a float": lambda n: (4 * n) // 2.5 + (4 * n) % 2.5,
    "np.gcd": lambda n: np.gcd(n, 2),
    "np.random": lambda n: np.random.default_rng(n).random(),
    "bytes": lambda n: len(b"ab" * n),
    "float": float,
    "a half, as a number": lambda n: int(n / 2),
}


@pytest.mark.parametrize("name", SIZES_NEEDED)
@pytest.mark.filterwarnings("ignore::wengert.errors.ProgramsWarning")
def test_a_size_that_python_looks_at_is_specialised(name):
    f = SIZES_NEEDED[name]
    step = wg.TrainStep(lambda m, x: np.sum(m * x) * f(x.shape[0]), np.ones(4), sgd())
    with pytest.warns(wg.errors.SizeWarning, match="size batch as a number"):
        losses = [float(step(x)) for x in ROWS]
    np.testing.assert_allclose(losses, [x.size * f(x.shape[0]) for x in ROWS], rtol=1e-15)


WEAK = {
    "1 / n": lambda x, n: x * (1 / n),
    "n / 2": lambda x, n: x / (n / 2),
    "n ** 0.5": lambda x, n: x / n**0.5,
    "n * 0.5": lambda x, n: x * (n * 0.5) + (0.5 + n) - (n - 0.25),
    "2.0 ** n": lambda x, n: x * 0.5**n,
    "n / m": lambda x, n: x * (n / (n + 1)),
    "with a number": lambda x, n: x * (n * 0.5 * n) / (n * 2 + 0.5),
    "in a loop": lambda x, n: wg.scan(lambda h, r: (h + r * (1 / n), h), x[0] * 0, x)[0],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", WEAK)
def test_what_python_computes_of_a_size_gives_way(name, dtype):
    f = WEAK[name]
    compiled = wg.compile(lambda x: f(x, x.shape[0]), dims={"x": {0: wg.Dim("n")}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (3, 5):
            x = np.linspace(0.5, 2.0, size).astype(dtype)
            found, expected = compiled(x), f(x, size)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == np.float32 else 1e-14)


def test_a_size_and_a_number_together():
    f = wg.compile(lambda x, k: x * (x.shape[0] * k + k / x.shape[0]), dims={"x": {0: wg.Dim("n")}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size, k in ((3, 2), (4, 5)):
            assert f(np.ones(size, np.float32), k)[0] == np.float32(size * k + k / size)


# Who asks.


def test_messages_show_the_argument_and_do_not_specialise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(IndexError, match=r"index Number\(k\) was given"):
            wg.compile(lambda x, k: x[k])(X, 2.0)


def test_a_debugger_looks_and_decides_nothing(capsys):
    shown = []

    def f(x, k):
        debugger = pdb.Pdb(readrc=False)
        debugger.curframe, debugger.curframe_locals = sys._getframe(), {"k": k}
        debugger.curframe_globals = {}
        debugger.do_p("k")
        shown.append(traceback.StackSummary.extract([(sys._getframe(), 1)], capture_locals=True))
        return x * k

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wg.compile(f)(X, 3)[0] == X[0] * 3
    assert "Number(k)" in capsys.readouterr().out
    assert shown[0][0].locals["k"] == "Number(k)"


def test_what_is_printed_decides_nothing(capsys):
    def f(x, k):
        print(x.shape, x.shape[0])
        print("k", k)
        return x * k

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.compile(f, dims={"x": {0: wg.Dim("rows")}})(X, 2)
    assert capsys.readouterr().out == "(rows,) rows\nk Number(k)\n"


LOOKED_UP = {
    "dict.get": lambda t: TABLE.get(t, 0.01),
    "in a set": lambda t: 2.0 if t in {1, 10} else 1.0,
    "a tuple as a key": lambda t: TABLE.get((t, 1), 1.0),
    "lru_cache": remembered,
}


@pytest.mark.parametrize("name", LOOKED_UP)
def test_a_tensor_is_no_key(name):
    def f(x, t):
        return wg.sum(x * LOOKED_UP[name](t))

    for way in (wg.compile(f), wg.grad(f, argnums=(0, 1))):
        with pytest.raises(wg.errors.TraceError, match="hash: given a Tensor"):
            way(X, np.array(2.0))


def test_a_class_of_the_users_with_a_call_is_the_users():
    class Model:
        def __call__(self):
            return asked()

    def asked():
        return is_asked_by_user()

    assert Model()()


# Dropout.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rate_that_is_an_argument(dtype):
    key, x = wg.random.key(3), np.linspace(1.0, 2.0, 64).astype(dtype)
    recorded = []

    def f(x, key, rate):
        recorded.append(rate)
        return wg.dropout(x, rate, wg.random.Generator(key))

    compiled = wg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(x, key, 0.125)
        recorded.clear()
        for rate in (0.5, 0.0, 0.25):
            found, expected = compiled(x, key, rate), f(x, key, rate)
            assert found.dtype == expected.dtype == dtype
            np.testing.assert_array_equal(found, expected)
    assert recorded == [0.5, 0.0, 0.25]
    assert np.isnan(compiled(x, key, 1.0)).all()
    for rate in (-0.5, float("nan")):
        with pytest.raises(ValueError, match="what is not between 0 and 1"):
            compiled(x, key, rate)
    np.testing.assert_array_equal(compiled(x, key, np.array(0.5, dtype)), f(x, key, 0.5))
    with pytest.raises(wg.errors.ShapeError, match="rate has shape"):
        compiled(x, key, np.ones(2))
