"""Arguments that are numbers of NumPy's, where Python needs the value: a Python number has it."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import SizeWarning, TraceError

X = np.ones(3)
NEEDS = {
    "range": lambda x, n: sum(x * i for i in range(n)),
    "range of a sum": lambda x, n: sum(x * i for i in range(n + 1)),
    "a size": lambda x, n: wg.zeros(n) + wg.sum(x),
    "a shape": lambda x, n: x.reshape(n, 1),
    "a slice": lambda x, n: x[:n],
    "an item": lambda x, n: [1.0, 2.0, 3.0, 4.0][n] * x,
    "a branch": lambda x, n: x * 2 if n > 2 else x,
    "float": lambda x, n: x * float(n),
}


@pytest.mark.parametrize("number", [np.int64(3), np.array(3), np.uint8(3)], ids=repr)
@pytest.mark.parametrize("name", NEEDS)
def test_the_argument_is_named_and_what_to_pass(name, number):
    with pytest.raises(TraceError, match=r"Pass int\(n\), .* write static=\"n\" in wg.compile"):
        wg.compile(NEEDS[name])(X, number)


@pytest.mark.parametrize("name", NEEDS)
def test_what_is_told_to_be_passed_works(name):
    expected = NEEDS[name](X, 3)
    with pytest.warns(SizeWarning, match="needed the value of n"):
        np.testing.assert_allclose(wg.compile(NEEDS[name])(X, int(np.int64(3))), expected)
    found = wg.compile(NEEDS[name], static="n")(X, int(np.int64(3)))
    np.testing.assert_allclose(found, expected)


def test_steps_and_bound_functions_name_theirs():
    def loss(w, x, n):
        return wg.sum(NEEDS["range"](w * x, n))

    step = wg.TrainStep(loss, X, wg.optim.SGD(0.1))
    for call in (step, step.bind(loss)):
        with pytest.raises(TraceError, match=r"Pass int\(n\)"):
            call(X, np.int64(3))


def count_in(n):
    return sum(range(n))


def in_a_cond(x):
    return wg.cond(wg.sum(x) > 0, count_in, lambda n: 0, wg.argmax(x))


OTHERS = {
    "computed from an array": lambda x, n: x * count_in(wg.argmax(x)),
    "from two arguments": lambda x, n: x * count_in(n + wg.argmax(x)),
    "in a scan": lambda x, n: wg.scan(lambda c, i: (c * count_in(i), c), x, np.arange(3)),
    "in a cond": lambda x, n: in_a_cond(x),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_numbers_are_told_as_before(name):
    with pytest.raises(TraceError, match=r"Index arrays with wg\.asarray") as error:
        wg.compile(OTHERS[name])(X, np.int64(3))
    assert "Pass int" not in str(error.value)


def test_numbers_of_models_and_states_are_told_as_before():
    model = {"w": X, "n": np.array(2)}
    step = wg.TrainStep(
        lambda m, x: wg.sum(m["w"] * x) * count_in(m["n"]), model, wg.optim.SGD(0.1)
    )
    with pytest.raises(TraceError, match=r"Index arrays with wg\.asarray") as error:
        step(X)
    assert "Pass int" not in str(error.value)
