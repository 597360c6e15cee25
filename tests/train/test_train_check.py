"""What `step.check` finds, and what it lets pass: kinks, rounding, casts to float32."""

import numpy as np
import pytest

import wengert as wg


def test_check_finds_a_wrong_gradient():
    @wg.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))
    step = wg.TrainStep(lambda w, x: wg.sum(square(w * x)), np.ones(3), wg.optim.SGD(0.1))
    with pytest.raises(AssertionError, match="differences of the loss"):
        step.check(np.array([1.0, 2.0, 3.0]))


def relu_net(activation=wg.relu, calls=50):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 4)).astype(np.float32)
    net = wg.nn.Sequential(wg.nn.Linear(4, 32, seed=0), activation, wg.nn.Linear(32, 3, seed=1))
    step = wg.TrainStep(lambda m, x, y: wg.cross_entropy(m(x), y), net, wg.optim.Adam(1e-2))
    y = (x[:, 0] > 0) + (x[:, 1] > 0).astype(int)
    for _ in range(calls):
        step(x, y)
    return step, x, y


def test_check_lets_pass_what_has_kinks_nearby():
    step, x, y = relu_net()
    found = step.check(x, y)
    assert found.slope == pytest.approx(found.difference, rel=1e-4)


def test_check_lets_pass_a_point_that_is_a_kink():
    """Rows of zeros, and biases that begin with 0."""
    step, x, y = relu_net(calls=0)
    step.check(np.where(np.arange(len(x))[:, None] % 2, x, np.float32(0)), y)


def test_check_finds_a_wrong_gradient_among_kinks():
    @wg.custom_vjp
    def leaking(x):
        return wg.relu(x)

    leaking.defvjp(lambda x: (wg.relu(x), x), lambda x, g: (wg.where(x > 0, g, 0.01 * g),))
    step, x, y = relu_net(leaking)
    with pytest.raises(AssertionError, match="differences of the loss"):
        step.check(x, y)


def with_baseline(m, x, actions, rewards):
    value = m["critic"](x)[:, 0]
    chosen = wg.take_along_axis(wg.log_softmax(m["actor"](x)), actions[:, None], axis=1)[:, 0]
    advantage = rewards - wg.stop_gradient(value)
    return wg.mean((value - rewards) ** 2) - wg.mean(chosen * advantage)


def straight_through(m, x, actions, rewards):
    score = m["actor"](x)
    return wg.mean((score + wg.stop_gradient(wg.round(score) - score)) ** 2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("loss", [with_baseline, straight_through])
def test_check_holds_constant_what_is_stopped(loss, dtype):
    rng = np.random.default_rng(0)
    x, actions, rewards = rng.normal(size=(8, 3)), rng.integers(0, 2, 8), rng.normal(size=8)
    sizes = {"actor": 2, "critic": 1}
    model = {
        name: wg.nn.Linear(3, size, seed=i, dtype=dtype)
        for i, (name, size) in enumerate(sizes.items())
    }
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1))
    found = step.check(x.astype(dtype), actions, rewards.astype(dtype))
    assert found.slope == pytest.approx(found.difference, rel=1e-4)


def noisy(w, x, rng):
    """float32 random numbers, of which NumPy and compiled code round each its own."""
    return wg.mean((x @ w + rng.normal((4,), "float32")) ** 2)


def in_single(w, x):
    return wg.mean(wg.astype(x @ w, "float32") ** 2)


def in_a_loop(w, x):
    def body(c, row):
        return c + wg.tanh(wg.astype(row @ w, "float32")), None

    return wg.scan(body, np.float32(0), x)[0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("loss", [noisy, in_single, in_a_loop])
def test_check_allows_for_the_least_precise_numbers(loss, dtype):
    x = np.random.default_rng(0).standard_normal((4, 3))
    found = wg.TrainStep(loss, np.full(3, 0.3, dtype), wg.optim.SGD(0.1)).check(x)
    assert found.compiled_loss == pytest.approx(found.loss, rel=1e-4)
    assert found.slope == pytest.approx(found.difference, rel=2e-2)


def test_check_allows_for_what_rounding_leaves_of_a_small_loss():
    """The loss of a trained classifier, a difference of numbers that are nearly equal."""

    def by_hand(m, x, y):
        z = m(x)
        chosen = wg.take_along_axis(z, y[:, None], axis=1)[:, 0]
        return wg.mean(wg.logsumexp(z, axis=1) - chosen)

    x = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    y = x[:, :3].argmax(1)
    step = wg.TrainStep(by_hand, wg.nn.Mlp((8, 32, 3), seed=0), wg.optim.Adam(3e-2))
    step.run(x, y, batch_size=16, epochs=550, shuffle_seed=0)
    found = step.check(x[:10], y[:10])
    assert found.loss < 1e-4
    assert 1e-4 < found.gradient_error < 0.05


def test_check_allows_for_what_rounding_leaves_of_a_gradient_at_its_zero():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = x @ [1.0, -2.0, 0.5] + rng.normal(size=300)
    step = wg.TrainStep(lambda w, x, y: wg.mean((x @ w - y) ** 2), np.zeros(3), wg.optim.Adam(0.03))
    step.run(x, y, batch_size=300, epochs=800)
    found = step.check(x, y)
    assert found.gradient_error > 1e-9


def test_check_is_strict_where_all_is_double():
    """It allows compiled code a distance of 1e-7 in float32 only."""

    def planted_in_check(x, /):
        """x, and in compiled code a little more."""

    name = planted_in_check.__name__
    op = wg.op.elementwise(
        numpy=lambda x: +x,
        partials=lambda _out, _x: 1,
        emit=lambda e, x: e.mul(x, e.const(1 + 1e-6)),
        space="hidden",
    )(planted_in_check)
    try:
        x = np.random.default_rng(0).standard_normal((4, 3))
        double, single = (
            wg.TrainStep(lambda w, x: wg.mean(op(x @ w)), np.ones(3, dtype), wg.optim.SGD(0.1))
            for dtype in ("float64", "float32")
        )
        with pytest.raises(AssertionError, match="compiled code and op by op differ"):
            double.check(x)
        single.check(x)
    finally:
        wg.op._ops.pop(name)
        delattr(wg.op, name)


def masked_by_casts(w, x):
    s = x * w
    hit = (s > 0).astype(np.float32)
    return wg.mean(s * wg.stop_gradient(hit * x))


def with_tables(w, x):
    """What is made in float32 meets what is computed."""
    table = wg.asarray(np.linspace(0, 1, 6), dtype=np.float32)
    start = wg.zeros(6, np.float32) + wg.ones(6, dtype="float32") * np.float32(0.3)
    rows = table[wg.argsort(x, axis=1)]
    return wg.mean((wg.tanh(rows * w) + start - table).astype(np.float32) ** 2)


def in_bodies(w, x):
    def body(c, row):
        return wg.tanh(c + row * w).astype(np.float32), wg.sum(c.astype(np.float32))

    last, sums = wg.scan(body, wg.zeros(6, np.float32), x)
    part = wg.checkpoint(lambda w: wg.exp(-x * w).astype(np.float32))(w)
    chosen = wg.cond(wg.sum(w) > 0, lambda v: (2 * v).astype(np.float32), lambda v: v, last)
    each = wg.vmap(lambda row: wg.sigmoid(row * w).astype("float32"))(x)
    return wg.sum(chosen) + wg.mean(sums) + wg.mean(part) + wg.mean(each)


def that_asks_for_its_dtype(w, x):
    assert w.dtype == x.dtype == (w * x).dtype == np.float32
    return wg.mean((w * x) ** 3)


@pytest.mark.parametrize("loss", [masked_by_casts, with_tables, in_bodies, that_asks_for_its_dtype])
def test_float32_of_a_loss_is_read_as_float64_in_the_differences(loss, recwarn):
    x = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    step = wg.TrainStep(loss, np.ones(6, np.float32), wg.optim.SGD(0.1))
    step(x)
    before = step.fingerprint()
    found = step.check(x)
    assert found.slope == pytest.approx(found.difference, rel=1e-7)
    assert step.fingerprint() == before
    assert not recwarn.list


def test_check_lets_pass_float64_that_is_carried_or_given(recwarn):
    """Beside a model of float32: an argument of another dtype is on purpose."""

    def loss(w, state, x):
        hit = (x > 0).astype(np.float32)
        return wg.mean((x * w - state) ** 2 * hit), 0.9 * state + 0.1 * wg.mean(x, axis=0)

    x = np.random.default_rng(0).normal(size=(20, 6))
    step = wg.TrainStep(
        loss, np.ones(6, np.float32), wg.optim.SGD(0.1), state=np.zeros(6), cast=False
    )
    found = step.check(x)
    assert found.slope == pytest.approx(found.difference, rel=1e-7)
    assert not recwarn.list


def test_check_lets_pass_a_weight_of_each_row_that_is_cast():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 8)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)

    def focal(m, x, y):
        z = m(x)[:, 0]
        p = wg.stop_gradient(wg.sigmoid(z)).astype(np.float32)
        return wg.mean((1 - p) ** 2 * wg.bce_with_logits(z, y, reduction="none"))

    net = wg.nn.Sequential(wg.nn.Linear(8, 64, seed=0), "relu", wg.nn.Linear(64, 1, seed=1))
    step = wg.TrainStep(focal, net, wg.optim.Adam(1e-2))
    step.run(x, y, batch_size=50, epochs=20)
    found = step.check(x, y)
    assert found.slope == pytest.approx(found.difference, rel=1e-4)


def test_check_finds_a_wrong_gradient_behind_a_cast():
    @wg.custom_vjp
    def square(x):
        return (x * x).astype(np.float32)

    square.defvjp(lambda x: (square.function(x), x), lambda x, g: (2.02 * x * g,))
    x = np.array([1.0, 2.0, 3.0], np.float32)
    step = wg.TrainStep(
        lambda w, x: wg.sum(square((w * x).astype(np.float32))),
        np.ones(3, np.float32),
        wg.optim.SGD(0.1),
    )
    with pytest.raises(AssertionError, match="differences of the loss"):
        step.check(x)


def test_check_allows_for_what_an_op_computes_in_float32():
    """A function with rules of its own casts inside, and small integers have float32 roots."""

    @wg.custom_vjp
    def cubed(x):
        return x.astype(np.float32) ** 3

    cubed.defvjp(lambda x: (cubed.function(x), x), lambda x, g: (3 * x**2 * g,))

    def loss(w, x):
        def body(c, row):
            return wg.sqrt((row > 0).astype(np.int8)), wg.sum(cubed(w * row) * c)

        return wg.mean(wg.scan(body, wg.zeros(6, np.float32), x)[1])

    x = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    found = wg.TrainStep(loss, np.ones(6, np.float32), wg.optim.SGD(0.1)).check(x)
    assert found.slope == pytest.approx(found.difference, rel=1e-2)
