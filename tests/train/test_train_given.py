"""What a step gives to functions by the names of their parameters: a generator, and averages."""

from functools import partial

import numpy as np
import pytest

import wengert as wg
from train.models import Net, data, forward, net, squared_error
from train.test_run_natively import Python
from train.test_train_options import noisy
from wengert.train.bound_function import BoundFunction
from wengert.train.runs.row_orders import shuffled

WAYS = pytest.mark.parametrize("compiled", [True, False])


def make(loss=squared_error, optimizer=None, model=None, **options):
    model = net() if model is None else model
    return wg.TrainStep(loss, model, optimizer or wg.optim.Adam(0.01), **options)


def draw(model, x, rng):
    return x + rng.uniform(x.shape, x.dtype)


def drawn(x, seed, function, call):
    """The same by the rule of the documentation."""
    key = wg.random.fold_in(wg.random.key(seed), -1)
    key = wg.random.fold_in(wg.random.fold_in(key, function), call)
    return x + wg.random.Generator(key).uniform(x.shape, x.dtype)


# A generator for bound functions.


@WAYS
def test_a_bound_function_draws_by_seed_function_and_call(compiled):
    x = np.zeros((5, 3))
    step = make(seed=11, compiled=compiled)
    step.bind(forward)  # draws nothing, and has no number
    functions = [step.bind(draw) for _ in range(2)]
    for call in range(4):
        for number, function in enumerate(functions):
            np.testing.assert_array_equal(function(x), drawn(x, 11, number, call))
    seen = {drawn(x, 11, *place).tobytes() for place in np.ndindex(2, 4)}
    assert len(seen) == 8


@WAYS
def test_training_does_not_disturb_what_is_drawn_nor_the_other_way_round(compiled):
    x, y = data()
    alone, both = (make(noisy, seed=3, compiled=compiled) for _ in range(2))
    function = both.bind(draw)
    for call in range(3):
        assert alone(x, y) == both(x, y)
        np.testing.assert_array_equal(function(x), drawn(x, 3, 0, call))
        both.evaluate(lambda model, x, rng: wg.mean(rng.normal(x.shape)), x, batch_size=4)
    assert alone.fingerprint() == both.fingerprint()
    state = both.state_dict()
    assert state.pop("draws") == {"0": 3}  # how often it was called
    wg.tree.map(np.testing.assert_array_equal, alone.state_dict(), state)
    other = make(noisy, seed=4, compiled=compiled)
    function = other.bind(draw)
    other.load_state_dict(both.state_dict())  # it has the seed, and goes on from there
    np.testing.assert_array_equal(function(x), drawn(x, 3, 0, 3))


def test_a_bound_function_that_draws_runs_in_machine_code(monkeypatch):
    slow, work = [], BoundFunction._call_slowly
    monkeypatch.setattr(BoundFunction, "_call_slowly", lambda *a: slow.append(1) or work(*a))
    step = make(optimizer=wg.optim.EMA(wg.optim.SGD(0.1)))
    x = np.zeros((5, 3))
    for f in (draw, forward, lambda model, averaged, x, rng: forward(averaged, draw(0, x, rng))):
        function = step.bind(f)
        slow.clear()
        for _ in range(5):
            function(x)
        assert len(slow) == 1


@WAYS
@pytest.mark.parametrize(
    "f",
    [
        lambda model, rng, x: draw(model, x, rng),
        lambda rng, x: draw(None, x, rng),
        lambda model, x, *, rng: draw(model, x, rng),
        lambda model, x, scale=1.0, rng=None: x if rng is None else 1 / 0,
        partial(lambda model, x, rng: x if rng is None else 1 / 0, rng=None),
    ],
    ids=["before", "in the place of the model", "by name", "a default", "fixed"],
)
def test_wherever_it_stands(f, compiled, request):
    x = np.zeros((5, 3))
    step = make(compiled=compiled)
    if "place of the model" in request.node.name:
        with pytest.raises(TypeError):
            step.bind(f)(x)
        return
    found = step.bind(f)(x)
    expected = x if any(word in request.node.name for word in ("default", "fixed")) else None
    np.testing.assert_array_equal(found, drawn(x, 0, 0, 0) if expected is None else expected)


@WAYS
def test_an_evaluation_repeats(compiled):
    x = data(rows=10)[0]
    step = make(seed=2, compiled=compiled)

    def f(model, x, rng):
        return wg.sum(rng.uniform((2,)).astype(np.float64)) * wg.ones_like(x[0, 0])

    found = step.evaluate(f, x, batch_size=4)
    zero = np.zeros(2, np.float32)
    shares = [drawn(zero, 2, -1, k).astype(float).sum() * n for k, n in enumerate((4, 4, 2))]
    np.testing.assert_allclose(found, sum(shares) / 10, rtol=1e-6)
    step.bind(draw)(x)
    assert step.evaluate(f, x, batch_size=4) == found
    assert make(seed=3, compiled=compiled).evaluate(f, x, batch_size=4) != found


def test_a_loss_that_draws_can_be_evaluated():
    x, y = data(rows=12)
    step = make(noisy)
    with pytest.warns(wg.errors.DropoutWarning, match="rng=None"):
        assert step.evaluate(noisy, x, y, batch_size=4) > 0


# The average of the weights.


def towards(model, averaged, x, y):
    """Depends on both, in a way that shows which is differentiated."""
    return wg.mean((forward(model, x) - 0.5 * forward(averaged, x) - y) ** 2)


def averaging(decay=0.75, **settings):
    return wg.optim.EMA(wg.optim.SGD(0.1, momentum=0.9), decay, **settings)


def by_hand(arrays, size, epochs, decay=0.75, accumulate=1, seed=0):
    """Losses, parameters and averages, by SGD with momentum and a target that follows."""
    model = net()
    average = wg.tree.copy(model)
    velocity = wg.tree.map(np.zeros_like, model)
    losses, gradients = [], []
    for epoch in range(epochs):
        order = shuffled(len(arrays[0]), seed, epoch)
        for begin in range(0, len(order), size):
            batch = [x[order[begin : begin + size]] for x in arrays]
            value, g = wg.value_and_grad(towards)(model, average, *batch)
            losses.append(float(value))
            gradients.append(g)
            if len(gradients) == accumulate:
                g = wg.tree.map(lambda *gs: sum(gs) / accumulate, *gradients)
                gradients.clear()
                velocity = wg.tree.map(lambda v, g: 0.9 * v + g, velocity, g)
                model = wg.tree.map(lambda w, v: w - 0.1 * v, model, velocity)
                average = wg.tree.map(lambda a, w: decay * a + (1 - decay) * w, average, model)
    return losses, model, average


def require_close(found, expected):
    wg.tree.map(partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-14), found, expected)


@WAYS
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_loss_reads_the_average_of_its_own_step(compiled, accumulate, monkeypatch):
    x, y = data(rows=46)
    losses, model, average = by_hand((x, y), 4, 2, accumulate=accumulate)
    python = Python(monkeypatch)
    step = make(towards, averaging(), compiled=compiled, accumulate=accumulate)
    history = step.run(x, y, batch_size=4, epochs=2, shuffle_seed=0)
    np.testing.assert_allclose(history.loss, losses, rtol=1e-11)
    require_close(step.model, model)
    require_close(step.optimizer_states["average"], average)
    if compiled:
        assert python.steps < 6


@WAYS
def test_it_is_that_before_the_step(compiled):
    def loss(model, x, y, *, averaged):
        return squared_error(model, x, y), (averaged, model.layers[0].w)

    x, y = data()
    step = make(loss, averaging(), has_aux=True, compiled=compiled)
    for _ in range(3):
        model, average = wg.tree.copy((step.model, step.optimizer_states["average"]))
        _, (averaged, weights) = step(x, y)
        assert isinstance(averaged, Net)
        assert averaged.scale == 1.0
        wg.tree.map(np.testing.assert_array_equal, averaged.layers, average.layers)
        np.testing.assert_array_equal(weights, model.layers[0].w)


@WAYS
def test_what_has_no_average_is_what_it_is(compiled):
    def loss(model, averaged, x):
        seen = (averaged["w"], averaged["plain"], averaged["frozen"], averaged["count"])
        return wg.sum((model["w"] - averaged["plain"] * x) ** 2) + wg.sum(averaged["plain"]), seen

    model = {
        "w": np.ones(2),
        "plain": np.full(2, 2.0),
        "frozen": np.full(2, 3.0, np.float32),
        "count": np.array([4]),
    }
    groups = {"frozen": None, "plain": wg.optim.SGD(0.1), "*": averaging(0.5)}
    step = make(loss, groups, model, has_aux=True, compiled=compiled)
    for _ in range(3):
        before = wg.tree.copy(step.model)
        _, found = step(np.ones(2))
        assert np.array_equal(found[1], before["plain"])
        assert np.array_equal(found[2], before["frozen"])
        assert np.array_equal(found[3], before["count"])
    assert not np.array_equal(found[0], before["w"])
    # Nothing of it is differentiated, so that nothing has moved.
    np.testing.assert_array_equal(step.model["plain"], model["plain"])


def test_an_average_inside_of_another_optimizer():
    x, y = data()
    optimizer = wg.optim.Lookahead(averaging(), k=3)
    step = make(lambda m, x, y, averaged: (squared_error(m, x, y), averaged), optimizer, has_aux=1)
    for _ in range(4):
        kept = wg.tree.copy(step.optimizer_states["inner.average"])
        wg.tree.map(np.testing.assert_array_equal, step(x, y)[1].layers, kept.layers)


@WAYS
def test_bound_and_evaluated_functions_read_it_too(compiled):
    x, y = data(rows=12)
    step = make(towards, averaging(), compiled=compiled)
    target = step.bind(lambda averaged_not, x, averaged: forward(averaged, x))
    plain = step.bind(forward)
    for _ in range(3):
        step(x, y)
        assert step._engine.unseen.all()  # nobody else can write to it
        found, current = target(x), plain(x)
        mean = step.evaluate(
            lambda m, x, y, averaged: squared_error(averaged, x, y), x, y, batch_size=6
        )
        average = step._engine.plan.storage.views(lambda s: s.states["average"])
        average.scale = 1.0  # what is static is 0 there
        np.testing.assert_allclose(found, forward(average, x), rtol=1e-12)
        np.testing.assert_allclose(mean, squared_error(average, x, y), rtol=1e-12)
        assert not np.allclose(found, current)


def test_it_is_checked_saved_and_loaded():
    x, y = data()
    step, again = (make(towards, averaging()) for _ in range(2))
    for _ in range(3):
        step(x, y)
    assert step.check(x, y).gradient_error < 1e-9
    again.load_state_dict(step.state_dict())
    assert [step(x, y) for _ in range(3)] == [again(x, y) for _ in range(3)]
    assert step.fingerprint() == again.fingerprint()


def test_in_float32_too():
    x, y = data(dtype=np.float32)
    step = make(towards, averaging(), net(dtype=np.float32))
    for _ in range(3):
        step(x, y)
    assert step.check(x, y).gradient_error < 1e-4


def test_without_an_average_it_is_refused_or_left_out():
    x, y = data()
    with pytest.raises(wg.errors.OptimError, match="parameter averaged"):
        make(towards)
    with pytest.raises(wg.errors.OptimError, match="parameter averaged"):
        make().bind(lambda model, averaged: averaged)
    optional = make(lambda m, x, y, averaged=None: squared_error(m, x, y) / (averaged is None))
    assert optional(x, y) == make()(x, y)


# Arguments by their names.


@WAYS
def test_data_go_by_name(compiled):
    x, y = data(rows=10)
    one, two = make(compiled=compiled), make(compiled=compiled)
    first = one.run(x, y, batch_size=4, shuffle_seed=1)
    second = two.run(y=y, x=x, batch_size=4, shuffle_seed=1)
    np.testing.assert_array_equal(first.loss, second.loss)
    (a,), (b,) = one.epochs(x, y, batch_size=4), two.epochs(x, y=y, batch_size=4)
    assert a.loss == b.loss
    assert one.fingerprint() == two.fingerprint()
    found = one.evaluate(squared_error, x, y, batch_size=4)
    assert found == one.evaluate(squared_error, y=y, x=x, batch_size=4)
    assert one.check(x, y) == one.check(y=y, x=x)
    function = one.bind(lambda model, x, scale=2.0, shift=0.0: forward(model, x) * scale + shift)
    np.testing.assert_array_equal(function(x=x), function(x))
    np.testing.assert_array_equal(function(x, shift=1.0), function(x, 2.0, 1.0))


REFUSED = {
    "run": (lambda step, x: step.run(x, z=x, batch_size=2), "TrainStep.run: no parameter 'z'"),
    "twice": (lambda step, x: step.run(x, x=x, batch_size=2), "TrainStep.run: x was given twice"),
    "missing": (lambda step, x: step.run(y=x, batch_size=2), "TrainStep.run: x was not given"),
    "no size": (lambda step, x: step.run(x=x), "TrainStep.run: batch_size was not given"),
    "epochs": (
        lambda step, x: step.epochs(x, x, batch_size=2, shuffle=True),
        "TrainStep.epochs: .*Write shuffle_seed= instead",
    ),
    "evaluate": (
        lambda step, x: step.evaluate(forward, z=x, batch_size=2),
        "TrainStep.evaluate: no parameter 'z'; it has x, batch_size",
    ),
    "bind": (lambda step, x: step.bind(forward)(z=x), "TrainStep.bind: no parameter 'z'"),
    "a generator": (
        lambda step, x: step.bind(draw)(x, rng=x),
        "TrainStep.bind: rng was given; the step itself gives rng",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_are_none_are_refused(name):
    call, words = REFUSED[name]
    step = make()
    before = step.fingerprint()
    with pytest.raises(TypeError, match=words):
        call(step, data(rows=4)[0])
    assert step.fingerprint() == before


@WAYS
def test_an_argument_may_be_called_like_the_programs_own(compiled):
    step = make(compiled=compiled)
    function = step.bind(lambda model, weights, fixed, draw: weights + fixed + draw)
    assert function(1.0, np.ones(1), 1.0) == 3.0


# Averages as models.


def layered():
    """A model whose layers have numbers beside their arrays."""
    layers = (wg.nn.LayerNorm(8, eps=0.5), wg.nn.Linear(8, 8, seed=1))
    return wg.nn.Sequential(*layers, wg.nn.MultiheadAttention(8, 2, causal=True, seed=2))


def layered_loss(model, x):
    return wg.mean(model(x) ** 2)


def sequences():
    return np.random.default_rng(0).normal(size=(2, 3, 8)).astype(np.float32)


def settings_of(model):
    return model[0].eps, model[2].heads, model[2].causal


FOLLOWERS = {
    "average": wg.optim.EMA(wg.optim.SGD(0.1), decay=0.5),
    "slow": wg.optim.Lookahead(wg.optim.SGD(0.1), k=2),
    "inner.average": wg.optim.Lookahead(wg.optim.EMA(wg.optim.SGD(0.1), decay=0.5)),
}


@pytest.mark.parametrize("name", FOLLOWERS)
def test_what_follows_the_weights_is_a_whole_model(name, tmp_path):
    x = sequences()
    step = wg.TrainStep(layered_loss, layered(), FOLLOWERS[name])
    step(x)
    kept = step.optimizer_states[name]
    assert settings_of(kept) == (0.5, 2, True)
    # As if the same weights had been put into a model of the same settings.
    expected = wg.tree.map(lambda _, w: w, layered(), kept)(x)
    np.testing.assert_array_equal(kept(x), expected)
    wg.save(tmp_path / "kept", kept)
    loaded = wg.load(tmp_path / "kept", like=step.model)
    assert settings_of(loaded) == (0.5, 2, True)
    np.testing.assert_array_equal(loaded(x), expected)
    apply = step.bind(lambda model, other, x: other(x))
    np.testing.assert_allclose(apply(kept, x), expected, rtol=1e-5, atol=1e-6)
    step.model = kept
    np.testing.assert_array_equal(step.model(x), expected)


def test_what_is_not_followed_is_the_models_own():
    x = sequences()
    groups = {"*.1.*": None, "*.0.*": wg.optim.Adam(0.1), "*": averaging(0.5)}
    step = wg.TrainStep(layered_loss, layered(), groups)
    for _ in range(2):
        step(x)
    average = step.optimizer_states["average"]
    np.testing.assert_array_equal(average[0].scale, step.model[0].scale)
    np.testing.assert_array_equal(average[1].weight, step.model[1].weight)
    assert not np.array_equal(average[2].project_out.weight, step.model[2].project_out.weight)
    assert np.all(np.isfinite(average(x)))
    with pytest.raises(ValueError, match="read-only"):
        average[1].weight[...] = 0  # of the model itself
    average[2].project_out.weight[...] = 0
    assert not np.any(step.optimizer_states["average"][2].project_out.weight)


def test_moments_keep_the_form_of_gradients():
    step = wg.TrainStep(layered_loss, layered(), wg.optim.Adam(0.1))
    step(sequences())
    assert settings_of(step.optimizer_states["mean"]) == (0.0, 0, False)
    assert settings_of(step.gradients) == (0.0, 0, False)


def test_an_average_outside_of_steps_keeps_numbers():
    optimizer, model = averaging(0.5), layered()
    state = optimizer.init(model)
    gradients = wg.grad(layered_loss)(model, sequences())
    model, state = optimizer.update(model, gradients, state)
    assert settings_of(model) == settings_of(optimizer.averaged(model, state)) == (0.5, 2, True)


@WAYS
def test_models_that_bound_functions_return_keep_their_numbers(compiled):
    x = sequences()
    step = wg.TrainStep(layered_loss, layered(), averaging(0.5), compiled=compiled)
    step(x)
    own, average = step.bind(lambda m: m), step.bind(lambda m, averaged: {"kept": averaged})
    for _ in range(3):  # the quick way, too
        found, kept = own(), average()["kept"]
        assert settings_of(found) == settings_of(kept) == (0.5, 2, True)
        assert all(type(s) in (float, int, bool) for s in (*settings_of(found), *settings_of(kept)))
        np.testing.assert_array_equal(found(x), step.model(x))
        np.testing.assert_array_equal(kept(x), step.optimizer_states["average"](x))
        step(x)
    step.model = found
    assert step.evaluate(lambda m, x: {"eps": m[0].eps}, x, batch_size=1) == {"eps": 0.5}
