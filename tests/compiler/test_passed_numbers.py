"""Static numbers of a tree that a compiled function returns are what they were: static numbers."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import wengert as wg

X = np.array([1.0, 2.0])


@dataclass
class Model:
    w: np.ndarray
    rate: float = 0.5
    layers: int = 2
    last: bool = False


def loss(m):
    return np.sum((m.w - X) ** 2) * m.rate


def updated(m):
    return wg.tree.map(lambda p, g: p - 0.1 * g, m, wg.grad(loss)(m))


@pytest.fixture(params=["compiled", "eager"])
def mode(request):
    if request.param == "compiled":
        yield
    else:
        with wg.eager():
            yield


@pytest.mark.usefixtures("mode")
def test_a_model_that_goes_round_is_what_it_was():
    plain = compiled = Model(np.zeros(2))
    update = wg.compile(updated)
    for _ in range(5):
        plain, compiled = updated(plain), update(compiled)
    np.testing.assert_allclose(compiled.w, plain.w, rtol=1e-14)
    assert (compiled.rate, compiled.layers, compiled.last) == (0.5, 2, False)
    assert [type(x) for x in (compiled.rate, compiled.layers, compiled.last)] == [float, int, bool]


def test_it_is_one_program():
    update, m = wg.compile(updated), Model(np.zeros(2))
    for _ in range(4):
        m = update(m)
    assert len(list(update.programs)) == 1


@pytest.mark.usefixtures("mode")
def test_gradients_of_static_numbers_are_static_zeros():
    found = wg.compile(wg.grad(loss))(Model(np.zeros(2)))
    assert (found.rate, found.layers) == (0.0, 0)
    assert [type(x) for x in (found.rate, found.layers, found.last)] == [float, int, bool]
    optimizer = wg.optim.SGD(0.1)
    moved, _ = optimizer.update(Model(np.zeros(2)), found, optimizer.init(Model(np.zeros(2))))
    np.testing.assert_allclose(moved.w, 0.1 * X)


@pytest.mark.usefixtures("mode")
def test_layers_with_settings_go_round():
    net = wg.nn.Sequential(wg.nn.Linear(2, 3, seed=0), wg.nn.LayerNorm(3), wg.nn.Dropout(0.25))
    again = wg.compile(lambda m: wg.tree.map(lambda p: p * 0.5, m))
    for _ in range(3):
        net = again(net)
    assert type(net.layers[2].rate) is float


@pytest.mark.usefixtures("mode")
def test_numbers_that_were_computed_are_arrays():
    count = wg.compile(lambda s: {"w": s["w"] * 2, "t": s["t"] + 1, "half": 0.5})
    state = {"w": X, "t": 0}
    for _ in range(4):
        state = count({"w": state["w"], "t": state["t"]})
    assert state["t"] == 4
    assert isinstance(state["t"], np.ndarray)
    assert isinstance(state["half"], np.ndarray)


@pytest.mark.usefixtures("mode")
def test_a_number_that_was_exchanged_is_an_array():
    found = wg.compile(lambda m: replace(m, rate=m.rate / 2))(Model(X))
    assert isinstance(found.rate, np.ndarray)
    assert found.rate == 0.25
