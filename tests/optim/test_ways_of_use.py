"""One rule, many ways: in place, over trees, compiled, recorded, and on graph nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from optim.all_optimizers import EVERY

o = wg.optim
STEPS = 7
TOLERANCE = {np.float32: 5e-6, np.float64: 1e-13}


def model(dtype=np.float64):
    rng = np.random.default_rng(1)
    return {"a": rng.normal(size=(3, 2)).astype(dtype), "b": rng.normal(size=3).astype(dtype)}


def gradients(dtype=np.float64):
    rng = np.random.default_rng(2)
    for _ in range(STEPS):
        yield {k: rng.normal(size=x.shape).astype(dtype) for k, x in model().items()}


def stepped(optimizer, dtype=np.float64):
    found = model(dtype)
    for grads in gradients(dtype):
        for name, weights in found.items():
            optimizer.step(name, weights, grads[name])
    return found


def updated(update, optimizer, dtype=np.float64):
    found, state = model(dtype), optimizer.init(model(dtype))
    for grads in gradients(dtype):
        found, state = update(found, grads, state)
    return found, state


def assert_equal(one, other):
    for name in other:
        assert one[name].dtype == other[name].dtype
        np.testing.assert_array_equal(one[name], other[name])


def assert_close(one, other, dtype):
    for name in other:
        assert one[name].dtype == other[name].dtype == dtype
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EVERY)
def test_in_place_equals_over_trees_bit_for_bit(name, dtype):
    optimizer = EVERY[name]()
    over_trees, _ = updated(optimizer.update, optimizer, dtype)
    assert_equal(stepped(optimizer, dtype), over_trees)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EVERY)
def test_compiled_equals_eager(name, dtype):
    optimizer = EVERY[name]()
    found, state = updated(wg.compile(optimizer.update), optimizer, dtype)
    expected, kept = updated(optimizer.update, optimizer, dtype)
    assert_close(found, expected, dtype)
    assert int(state["count"]) == STEPS
    for path, arrays in kept["parameters"].items():
        assert_close(state["parameters"][path], arrays, dtype)


@pytest.mark.parametrize("name", EVERY)
def test_recorded_equals_eager(name):
    optimizer = EVERY[name]()
    first, state, grads = model(), optimizer.init(model()), next(gradients())
    graph = wg.trace(optimizer.update, first, grads, state)
    graph.check()
    names = [graph.name(number) for number in graph.inputs]
    given = [*wg.tree.leaves(first), *wg.tree.leaves(grads), *wg.tree.leaves(state)]
    found = graph.run(**dict(zip(names, given, strict=True)))
    expected = wg.tree.leaves(optimizer.update(first, grads, state))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", EVERY)
def test_graph_nodes_equal_arrays(name):
    """Gradients of ½‖w - target‖², of a node by itself and of a tree of nodes."""
    target = np.array([1.0, 2.0, 3.0])
    g = wg.Graph()
    w, pair = g.parameter(np.ones(3), name="w"), g.parameter({"b": np.zeros(3)}, name="pair")
    b = g.struct_field(pair, "b")
    ends = [g.sub(w, target), g.sub(b, target)]
    loss = g.scalar_mul(g.add(*(g.sum(g.mul(x, x)) for x in ends)), 0.5)
    on_graph, on_arrays = EVERY[name](), EVERY[name]()
    arrays = {"w": np.ones(3), "pair.b": np.zeros(3)}
    for _ in range(4):
        g.zero_grad()
        g.backward(loss)
        on_graph.step_graph_node(g, w)
        on_graph.step_graph_node(g, pair)
        for path, x in arrays.items():
            on_arrays.step(path, x, x - target)
    np.testing.assert_allclose(g.value(w), arrays["w"], rtol=1e-14)
    np.testing.assert_allclose(g.value(pair)["b"], arrays["pair.b"], rtol=1e-14)
    assert g.value(loss) != 9.5  # what it was: the graph is fresh


@pytest.mark.parametrize("name", EVERY)
def test_flat_rules_may_take_all_parameters_as_one(name):
    """What `flat` promises to the compiled step; and Lars and Lamb must not promise it."""
    optimizer = EVERY[name]()
    optimizer = optimizer.remade({"exclude": None}) if hasattr(optimizer, "exclude") else optimizer
    state = optimizer.init(model())
    expected, _ = optimizer.update(model(), next(gradients()), state)
    joined = [np.concatenate([x.ravel() for x in t.values()]) for t in (model(), next(gradients()))]
    found, _ = optimizer.update(*joined, optimizer.init(joined[0]))
    same = np.array_equal(found, np.concatenate([x.ravel() for x in expected.values()]))
    assert same is optimizer.flat
    assert optimizer.flat is not any(word in name for word in ("Lars", "Lamb", "EMA of"))


def test_a_schedule_counts_from_zero_and_per_parameter():
    seen = []

    def rate(step):
        seen.append(step)
        return 1.0 / (1 + step)

    optimizer = o.SGD(rate)
    w, v = np.zeros(1), np.zeros(1)
    for _ in range(3):
        optimizer.step("w", w, np.ones(1))
    optimizer.step("v", v, np.ones(1))
    assert seen == [0, 1, 2, 0]
    np.testing.assert_allclose(w, -(1 + 1 / 2 + 1 / 3))
    assert optimizer.learning_rate == 1 / 4


def test_a_schedule_that_can_be_recorded_compiles():
    optimizer = o.SGD(lambda step: 0.5 ** (step + 1))
    found, _ = updated(wg.compile(optimizer.update), optimizer)
    assert_close(found, stepped(optimizer.copy()), np.float64)


def test_scalars_are_an_argument_where_the_schedule_cannot_be_recorded():
    optimizer = o.Adam(o.Cosine(0.1, total_steps=5))
    with pytest.raises(wg.errors.OptimError, match="schedule"):
        wg.compile(optimizer.update)(model(), next(gradients()), optimizer.init(model()))
    compiled = wg.compile(optimizer.update)
    found, state = model(), optimizer.init(model())
    for count, grads in enumerate(gradients(), 1):
        scalars = wg.tree.arrays(optimizer.scalars(count))
        found, state = compiled(found, grads, state, scalars)
    assert_close(found, stepped(optimizer), np.float64)


@pytest.mark.parametrize("rate", [0.1, o.Cosine(0.1, total_steps=100), lambda step: 1 / (step + 1)])
@pytest.mark.parametrize("name", EVERY)
def test_a_table_of_scalars_has_the_bits_of_each_row(name, rate):
    optimizer = EVERY[name]()
    optimizer.learning_rate = rate
    table = optimizer.table(3, 50)
    rows = [optimizer.scalars(count) for count in range(3, 53)]
    assert {key: x.tolist() for key, x in table.items()} == {
        key: [row[key] for row in rows] for key in rows[0]
    }


@dataclass
class Layer:
    w: np.ndarray
    steps: np.ndarray
    rate: float = 0.5
    name: str = "layer"
    extra: None = None


def test_only_float_arrays_are_updated():
    layer = Layer(np.ones(2), np.array([1, 2]))
    optimizer = o.SGD(0.5)
    loss = lambda layer: wg.sum(layer.w * layer.w) * layer.rate  # noqa: E731
    grads = wg.grad(loss)(layer)
    new, state = optimizer.update(layer, grads, optimizer.init(layer))
    np.testing.assert_array_equal(new.w, [0.5, 0.5])
    assert new.steps is layer.steps
    assert (new.rate, new.name, new.extra) == (0.5, "layer", None)
    assert list(state["parameters"]) == ["w"]
    np.testing.assert_array_equal(layer.w, [1, 1])


def test_tied_parameters_are_updated_once_and_stay_tied():
    shared = np.ones(2)
    tree = {"encoder": shared, "decoder": [shared]}
    optimizer = o.SGD(0.1, momentum=0.9)
    grads = wg.grad(lambda t: wg.sum(t["encoder"] * t["decoder"][0]))(tree)  # 2 · w
    new, state = optimizer.update(tree, grads, optimizer.init(tree))
    assert new["encoder"] is new["decoder"][0]
    np.testing.assert_allclose(new["encoder"], 0.8)
    assert list(state["parameters"]) == ["encoder"]
    compiled, _ = wg.compile(optimizer.update)(tree, grads, optimizer.init(tree))
    np.testing.assert_allclose(compiled["decoder"][0], 0.8)


def test_a_whole_training_step_compiles():
    inputs = np.random.default_rng(0).normal(size=(20, 3))
    targets = inputs @ np.array([1.0, -2.0, 0.5])
    optimizer = o.Adam(0.05)

    @wg.compile
    def train(w, state, x, y):
        loss, grads = wg.value_and_grad(lambda w: wg.mean((x @ w - y) ** 2))(w)
        grads, norm = o.clip_by_global_norm(grads, 1.0)
        return *optimizer.update(w, grads, state), loss, norm

    w = np.zeros(3)
    state = optimizer.init(w)
    losses = []
    for _ in range(200):
        w, state, loss, _ = train(w, state, inputs, targets)
        losses.append(float(loss))
    assert losses[-1] < 1e-3 * losses[0]


def test_arrays_of_the_optimizer_are_its_own():
    """A first velocity is the gradient: a copy of it, and not the caller's array."""
    for optimizer in (o.SGD(0.1, momentum=0.9), o.Lookahead(o.SGD(0.1)), o.EMA(o.SGD(0.1))):
        w, g = np.ones(2), np.ones(2)
        optimizer.step("w", w, g)
        before = optimizer.state_dict()
        w[:], g[:] = 7.0, 7.0
        for name, x in optimizer.state_dict()["parameters"]["w"].items():
            np.testing.assert_array_equal(x, before["parameters"]["w"][name])
        tree = {"w": np.ones(2)}
        state = optimizer.init(tree)
        tree["w"][:] = 7.0
        assert all((x != 7).all() for x in state["parameters"]["w"].values())


def test_weights_may_be_a_strided_view():
    whole = np.zeros((4, 6))
    o.SGD(1.0, momentum=0.5).step(("any", "id"), whole[::2, 1::2], np.ones((2, 3)))
    assert whole.sum() == -6
    assert (whole[::2, 1::2] == -1).all()


@pytest.mark.filterwarnings("error::wengert.errors.WengertWarning")
def test_two_arrays_that_take_turns_under_one_id_are_told_once():
    optimizer, g = o.Adam(0.1), np.ones((2, 3))
    actor, critic = np.zeros((2, 3)), np.zeros((2, 3))
    optimizer.step("w", actor, g)
    optimizer.step("w", critic, g)  # it may be there in the place of the first
    with pytest.warns(wg.errors.TiedWarning, match="Adam.step: two arrays take turns .* 'w'"):
        optimizer.step("w", actor, g)
    optimizer.step("w", critic, g)  # it was told


@pytest.mark.filterwarnings("error::wengert.errors.WengertWarning")
def test_views_of_one_place_new_copies_and_rules_that_keep_nothing_are_let_be():
    whole, g = np.zeros((2, 3)), np.ones(3)
    optimizer = o.Adam(0.1)
    kept = []
    for _ in range(3):
        optimizer.step("row", whole[1], g)
        kept.append(np.zeros(3))
        optimizer.step("copy", kept[-1], g)
        for w in kept:
            o.SGD(0.1).step("w", w, g)
    plain = o.SGD(0.1)
    for w in kept * 2:
        plain.step("w", w, g)
