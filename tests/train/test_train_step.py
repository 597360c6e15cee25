"""A step against loops written by hand; its arguments, results and live arrays."""

from itertools import pairwise

import numpy as np
import pytest

import wengert as wg
from train.models import OPTIMIZERS, Net, by_hand, data, distance, forward, net, squared_error


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_equals_a_loop_by_hand(name):
    model, batches = net(), [data(seed=s) for s in range(8)]
    losses, expected = by_hand(squared_error, model, OPTIMIZERS[name](), batches)
    step = wg.TrainStep(squared_error, model, OPTIMIZERS[name]())
    np.testing.assert_allclose([step(*batch) for batch in batches], losses, rtol=1e-12)
    assert distance(step.model, expected) < 1e-12


def test_equals_numpy_alone():
    """Linear regression with the gradient written out."""
    x, y = data(rows=16)
    w = np.zeros((3, 2))
    step = wg.TrainStep(lambda w, x, y: wg.mean((x @ w - y) ** 2), w, wg.optim.SGD(0.05))
    for _ in range(20):
        residual = x @ w - y
        assert step(x, y) == pytest.approx(np.mean(residual**2), rel=1e-13)
        w = w - 0.05 * (2 / residual.size) * x.T @ residual
    np.testing.assert_allclose(step.model, w, rtol=1e-12)


def test_float32_stays_float32():
    x, y = data(dtype=np.float32)
    step = wg.TrainStep(squared_error, net(dtype=np.float32), wg.optim.Adam(0.01))
    step(x, y)
    assert {leaf.dtype for leaf in wg.tree.leaves(step.model)} == {np.dtype("float32")}


def test_the_model_is_copied_and_keeps_its_type():
    model = net()
    before = wg.tree.copy(model)
    step = wg.TrainStep(squared_error, model, wg.optim.SGD(0.1))
    step(*data())
    assert distance(model, before) == 0
    assert isinstance(step.model, Net)
    assert step.model.scale == 1.0
    assert distance(step.model, before) > 0


def test_views_are_live_and_writable():
    x, y = data()
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    w = step.model.layers[0].w
    before = w.copy()
    step(x, y)
    assert np.any(w != before)
    w[...] = 0.0
    loss = step(x, y)
    changed = net()
    changed.layers[0].w[...] = 0.0
    assert loss != squared_error(changed, x, y)  # the other parameters have moved
    assert np.shares_memory(w, step.model.layers[0].w)


def test_assigning_the_model_copies():
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    other = net(seed=5)
    step.model = other
    assert distance(step.model, other) == 0
    step(*data())
    assert distance(step.model, other) > 0
    assert distance(other, net(seed=5)) == 0


def test_gradients_are_live_contiguous_and_before_clipping():
    x, y = data()
    model = net()
    step = wg.TrainStep(squared_error, model, wg.optim.SGD(0.1), clip_norm=1e-3)
    gradients = step.gradients
    step(x, y)
    expected = wg.grad(squared_error)(model, x, y)
    assert distance(gradients, expected) < 1e-13
    flat = [g.ravel() for g in wg.tree.leaves(gradients)]
    for a, b in pairwise(flat):  # one after the other in one block
        assert a.__array_interface__["data"][0] + a.nbytes == b.__array_interface__["data"][0]
    norm = np.sqrt(sum(np.sum(g**2) for g in flat))
    assert step.last.grad_norm == pytest.approx(norm, rel=1e-13)
    moved = np.sqrt(
        sum(
            np.sum((a - b) ** 2)
            for a, b in zip(wg.tree.leaves(step.model), wg.tree.leaves(model), strict=True)
        )
    )
    assert moved == pytest.approx(0.1 * 1e-3, rel=1e-9)


def test_clip_value():
    x, y = data()
    model = net()
    step = wg.TrainStep(squared_error, model, wg.optim.SGD(1.0), clip_value=0.01)
    step(x, y)
    gradient = wg.grad(squared_error)(model, x, y)
    expected = wg.tree.map(lambda w, g: w - np.clip(g, -0.01, 0.01), model, gradient)
    assert distance(step.model, expected) < 1e-14


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_norms_neither_overflow_nor_underflow(size):
    step = wg.TrainStep(
        lambda w, x: wg.sum(w * x), np.zeros(3), wg.optim.SGD(1.0), clip_norm=size / 10
    )
    x = np.array([2.0, 3.0, 6.0]) * size
    step(x)
    assert step.last.grad_norm == pytest.approx(7 * size, rel=1e-14)
    np.testing.assert_allclose(step.model, -x / 70, rtol=1e-14)


def test_last():
    x, y = data()
    rate = wg.optim.Exponential(0.1, 0.5)
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(rate))
    assert step.last is None
    losses = [step(x, y) for _ in range(3)]
    last = step.last
    assert (last.loss, last.index, last.skipped) == (losses[-1], 2, False)
    assert last.learning_rate == rate(2)
    assert isinstance(losses[0], float)


@pytest.mark.parametrize(
    "wrapped", [lambda x: x, wg.optim.EMA, lambda x: wg.optim.Lookahead(wg.optim.EMA(x))]
)
def test_the_optimizers_learning_rate_is_that_of_the_next_update(wrapped):
    x, y = data()
    rate = wg.optim.Exponential(0.1, 0.5)
    given = wrapped(wg.optim.SGD(rate))
    step = wg.TrainStep(squared_error, net(), given, accumulate=2)
    optimizer = step.optimizer
    parts = [optimizer]
    while hasattr(parts[-1], "optimizer"):
        parts.append(parts[-1].optimizer)
    expected = [0, 0, 1, 1, 2]
    for done in expected:
        assert {part.learning_rate for part in parts} == {rate(done)}
        step(x, y)
    step.run(x, y, batch_size=len(x), epochs=5)
    assert optimizer.learning_rate == rate(5)
    again = wg.TrainStep(squared_error, net(), given, accumulate=2)
    again.load_state_dict(step.state_dict())
    assert again.optimizer.learning_rate == rate(5)
    # Neither what was given nor a copy has made an update.
    assert given.learning_rate == optimizer.copy().learning_rate == rate(0)
    optimizer.learning_rate = 0.7
    assert optimizer.learning_rate == 0.7
    step(x, y)
    assert step.last.learning_rate == 0.7


def test_each_optimizer_of_several_knows_its_next_rate():
    x, y = data()
    rates = {"*.b": wg.optim.Exponential(0.1, 0.5), "*": wg.optim.Cosine(0.2, 5)}
    step = wg.TrainStep(squared_error, net(), {k: wg.optim.SGD(r) for k, r in rates.items()})
    for done in range(3):
        found = {glob: optimizer.learning_rate for glob, optimizer in step.optimizer.items()}
        assert found == {glob: rate(done) for glob, rate in rates.items()}
        step(x, y)
        assert step.last.learning_rate == found


def test_whole_numbers_of_numpy_are_as_good_as_pythons():
    x, y = data(rows=8)
    one = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1), accumulate=2, threads=1)
    two = wg.TrainStep(
        squared_error, net(), wg.optim.SGD(0.1), accumulate=np.int64(2), threads=np.int8(1)
    )
    one.run(x, y, batch_size=4, epochs=3)
    two.run(x, y, batch_size=4, epochs=np.uint8(3))
    assert one.fingerprint() == two.fingerprint()
    two.epoch = np.int32(7)
    assert two.epoch == 7
    assert type(two.epoch) is int


@pytest.mark.parametrize("epoch", [-1, 1.7, "a", None, True, 2**63])
def test_what_is_no_number_of_epochs_is_refused(epoch):
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    step.epoch = 3
    with pytest.raises(ValueError, match=r"^TrainStep\.epoch: .* was assigned; it is a whole"):
        step.epoch = epoch
    assert step.epoch == 3
    if epoch != 2**63:
        with pytest.raises(ValueError, match=r"^TrainStep\.epochs: epochs=.* was given; "):
            step.epochs(*data(), batch_size=1, epochs=epoch)


def test_what_is_no_function_is_neither_bound_nor_evaluated():
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    with pytest.raises(TypeError, match=r"^TrainStep\.bind: given int as what to bind; it is a"):
        step.bind(3)
    with pytest.raises(TypeError, match=r"^TrainStep\.evaluate: given str as what to evaluate; "):
        step.evaluate("loss", *data(), batch_size=1)


def test_has_aux():
    x, y = data()

    def loss(model, x, y):
        out = forward(model, x)
        return wg.mean((out - y) ** 2), {"out": out, "rows": x.shape[0]}

    model = net()
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1), has_aux=True)
    value, aux = step(x, y)
    assert value == pytest.approx(float(squared_error(model, x, y)), rel=1e-13)
    np.testing.assert_allclose(aux["out"], forward(model, x), rtol=1e-12)
    assert aux["rows"] == 8
    kept = aux["out"].copy()
    step(x, y)
    np.testing.assert_array_equal(aux["out"], kept)  # it owns its memory


def test_trees_as_batches():
    x, y = data()

    def loss(model, batch):
        return squared_error(model, batch["x"], batch["y"][0])

    step = wg.TrainStep(loss, net(), wg.optim.SGD(0.1))
    other = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    for rows in (8, 5):
        batch = {"x": x[:rows], "y": (y[:rows],)}
        assert step(batch) == other(x[:rows], y[:rows])


def test_floats_are_cast_to_the_dtype_of_the_model():
    x, y = data()
    step = wg.TrainStep(squared_error, net(dtype=np.float32), wg.optim.SGD(0.1))
    single = wg.TrainStep(squared_error, net(dtype=np.float32), wg.optim.SGD(0.1))
    assert step(x, y) == single(x.astype(np.float32), y.astype(np.float32))
    assert step.fingerprint() == single.fingerprint()
    half = wg.TrainStep(squared_error, net(dtype=np.float32), wg.optim.SGD(0.1))
    half(x.astype(np.float16), y.astype(np.float16))
    wide = wg.TrainStep(
        lambda w, x: wg.mean(w * x), np.ones(2, np.float32), wg.optim.SGD(0.1), cast=False
    )
    third = np.full(2, 1 / 3)
    assert wide(third) == pytest.approx(1 / 3, rel=1e-15)


def test_python_floats_in_a_batch_are_run_time_numbers():
    traces = []

    def loss(w, x, beta):
        traces.append(beta)
        return wg.mean(w * x) * beta

    step = wg.TrainStep(loss, np.array(1.0), wg.optim.SGD(0.0))
    x = np.ones(2)
    assert [step(x, beta) for beta in (0.5, 0.25, 2.0)] == [0.5, 0.25, 2.0]
    assert len(traces) == 1


def test_strided_and_foreign_byte_order_batches():
    x, y = data()
    wide = np.repeat(x, 2, axis=1)
    one, other = (wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1)) for _ in range(2))
    assert one(wide[:, ::2], y.astype(">f8")) == other(x, y)
    assert one.fingerprint() == other.fingerprint()


@pytest.mark.parametrize("name", ["momentum", "adam", "lars"])
def test_eager_agrees_with_compiled(name):
    x, y = data()
    make = OPTIMIZERS[name]
    compiled = wg.TrainStep(squared_error, net(), make())
    eager = wg.TrainStep(squared_error, net(), make(), compiled=False)
    inside = wg.TrainStep(squared_error, net(), make())
    for _ in range(4):
        loss = compiled(x, y)
        assert eager(x, y) == pytest.approx(loss, rel=1e-12)
        with wg.eager():
            assert inside(x, y) == pytest.approx(loss, rel=1e-12)
    assert distance(eager.model, compiled.model) < 1e-12
    assert distance(inside.model, compiled.model) < 1e-12


def test_eager_steps_show_values():
    seen = []

    def loss(w, x):
        seen.append(float(wg.stop_gradient(wg.sum(x))))
        return wg.sum(w * x)

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), compiled=False)
    step(np.array([1.0, 2.0]))
    step(np.array([3.0, 4.0]))
    assert seen == [3.0, 7.0]


def test_a_step_of_mixed_dtypes():
    model = {"a": np.ones(3, np.float32), "b": np.ones(2)}

    def loss(m, x):
        return wg.sum(m["a"] * 2) + wg.sum(m["b"] * x)

    with pytest.warns(wg.errors.WideningWarning, match="leaf 'b' of the model is float64"):
        step = wg.TrainStep(loss, model, wg.optim.SGD(0.5))
    step(np.array([1.0, 2.0]))
    assert step.model["a"].dtype == np.float32
    np.testing.assert_array_equal(step.model["a"], np.zeros(3))
    np.testing.assert_array_equal(step.model["b"], [0.5, 0.0])
    assert step.last.grad_norm == pytest.approx(np.sqrt(3 * 4 + 1 + 4))


def test_check_and_repr():
    x, y = data()
    step = wg.TrainStep(squared_error, net(), wg.optim.Adam(0.01))
    before = step.fingerprint()
    found = step.check(x, y)
    assert found.slope == pytest.approx(found.difference, rel=1e-6)
    assert step.fingerprint() == before
    assert "layers.0.w" in repr(step)
    assert "float64[3, 5]" in repr(step)


def test_batch_arguments_by_name():
    """They are bound as the loss has them; it is the same program, and the same bits."""

    def loss(model, x, y, scale=1.0):
        return squared_error(model, x, y) * scale

    x, y = data()
    calls = [
        lambda step: step(x, y),
        lambda step: step(x, y=y),
        lambda step: step(x=x, y=y),
        lambda step: step(y=y, x=x),
        lambda step: step(y=y, x=x, scale=1.0),
        lambda step: step(x, y, 1.0),
    ]
    found = []
    for call in calls:
        step = wg.TrainStep(loss, net(), wg.optim.SGD(0.1))
        call(step)
        call(step)
        found.append(step.fingerprint())
    assert len(set(found)) == 1
    step = wg.TrainStep(loss, net(), wg.optim.SGD(0.1))
    step(x, y)
    programs = step._engine.programs[True].of((x, y)).programs
    made = len(programs)
    step(y=y, x=x)
    assert len(programs) == made


def test_batch_arguments_by_name_with_a_generator_and_a_state():
    def loss(model, state, rng, x, *, extra=2.0):
        return wg.mean(model * x + 0.0 * rng.normal(x.shape)), state + 1

    def made():
        return wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.1), state=np.zeros(()))

    assert made()(x=np.ones(3)) == made()(np.ones(3))
    with pytest.raises(TypeError, match="TrainStep: rng was given; the step itself gives rng"):
        made()(np.ones(3), rng=1.0)
    for named in ("model", "state"):
        with pytest.raises(TypeError, match=f"TrainStep: no parameter '{named}'; it has x"):
            made()(np.ones(3), **{named: 1.0})
    with pytest.raises(TypeError, match="TrainStep: extra can only be given by name to the loss"):
        made()(np.ones(3), extra=1.0)


def test_a_hole_between_names_takes_the_default_of_the_loss():
    def loss(model, x, shift=2.0, scale=1.0):
        return wg.mean((model * x + shift) * scale)

    step = wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.0))
    assert step(np.ones(3), scale=10.0) == 30.0
    with pytest.raises(TypeError, match="TrainStep: x was not given"):
        step(scale=10.0)
    with pytest.raises(TypeError, match="TrainStep: x was given twice"):
        step(np.ones(3), x=np.ones(3))


NO_SETTINGS = {
    "lr": "step.optimizer.learning_rate",
    "learning_rate": "step.optimizer.learning_rate",
    "accumulate": "Make a new step with another accumulate",
    "clip_nrom": "Set clip_norm instead",
    "colour": "Set one of these",
    "optimizer": "Set its settings",
    "gradients": "Read it",
    "last": "Read it",
}


@pytest.mark.parametrize("name", NO_SETTINGS)
def test_what_is_no_setting_cannot_be_set(name):
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(0.1))
    with pytest.raises(AttributeError, match=f"{name} was set; .*{NO_SETTINGS[name]}"):
        setattr(step, name, 3)
    assert name not in vars(step)


def test_a_step_of_ones_own_may_keep_what_it_likes():
    class Named(wg.TrainStep):
        def __init__(self, *args, name):
            super().__init__(*args)
            self.name = name

    step = Named(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(0.1), name="first")
    assert step.name == "first"
