"""State that is carried, random numbers, accumulation, sizes of batches, other steps."""

import warnings

import numpy as np
import pytest

import wengert as wg
from train.models import data, distance, forward, net, squared_error


def test_carried_state():
    def loss(w, state, x):
        mean = 0.9 * state["mean"] + 0.1 * wg.mean(x, axis=0)
        return wg.mean((x - mean) * w), {"mean": mean, "count": state["count"] + 1}

    state = {"mean": np.zeros(2), "count": np.array(0)}
    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), state=state)
    live = step.state["mean"]
    mean = np.zeros(2)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(4, 2))
        step(x)
        mean = 0.9 * mean + 0.1 * x.mean(axis=0)
        np.testing.assert_allclose(live, mean, rtol=1e-13)
    assert step.state["count"] == 3
    assert state["count"] == 0
    step.state = {"mean": np.ones(2), "count": np.array(7)}
    np.testing.assert_array_equal(live, [1.0, 1.0])


def test_state_is_not_differentiated():
    def loss(w, state, x):
        return wg.sum(w * state * x), state * w  # what is carried on depends on w

    step = wg.TrainStep(loss, np.full(2, 3.0), wg.optim.SGD(0.0), state=np.full(2, 2.0))
    step(np.ones(2))
    np.testing.assert_array_equal(step.gradients, [2.0, 2.0])
    step(np.ones(2))
    np.testing.assert_array_equal(step.gradients, [6.0, 6.0])


def test_state_and_aux():
    def loss(w, state, x):
        return wg.sum(w * x), state + 1.0, {"state": state}

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), state=np.zeros(()), has_aux=True)
    step(np.ones(2))
    value, aux = step(np.ones(2))
    assert isinstance(value, float)
    assert aux["state"] == 1.0
    assert step.state == 2.0


def test_a_carry_with_the_size_of_the_batch():
    """The batch size is then part of the program."""

    def loss(w, h, x):
        h = np.tanh(x @ w + h)
        return wg.mean(h**2), wg.stop_gradient(h)

    step = wg.TrainStep(loss, np.eye(2), wg.optim.SGD(0.1), state=np.zeros((4, 2)))
    x = np.random.default_rng(0).normal(size=(4, 2))
    step(x)
    np.testing.assert_allclose(step.state, np.tanh(x), rtol=1e-12)


def noisy(model, x, y, rng):
    x = x + 0.1 * rng.normal(x.shape, x.dtype)
    return wg.mean((wg.dropout(forward(model, x), 0.5, rng) - y) ** 2)


def test_random_numbers_repeat_with_the_seed():
    x, y = data()
    one, two = (wg.TrainStep(noisy, net(), wg.optim.SGD(0.1), seed=3) for _ in range(2))
    losses = [one(x, y) for _ in range(4)]
    assert losses == [two(x, y) for _ in range(4)]
    assert one.fingerprint() == two.fingerprint()
    other = wg.TrainStep(noisy, net(), wg.optim.SGD(0.1), seed=4)
    assert other(x, y) != losses[0]


def test_random_numbers_differ_between_steps_and_sites():
    def loss(w, x, rng):
        first, second = rng.normal(x.shape, x.dtype), rng.normal(x.shape, x.dtype)
        return wg.sum(w) + wg.sum(x), (first, second)

    step = wg.TrainStep(loss, np.ones(2), wg.optim.SGD(0.1), has_aux=True)
    x = np.ones(5)
    draws = [draw for _ in range(3) for draw in step(x)[1]]
    for i, a in enumerate(draws):
        assert not any(np.any(a == b) for b in draws[:i])


def test_the_generator_may_stand_anywhere():
    x, y = data()
    first = wg.TrainStep(lambda m, rng, x, y: noisy(m, x, y, rng), net(), wg.optim.SGD(0.1))
    last = wg.TrainStep(lambda m, x, y, *, rng: noisy(m, x, y, rng), net(), wg.optim.SGD(0.1))
    plain = wg.TrainStep(noisy, net(), wg.optim.SGD(0.1))
    assert first(x, y) == last(x, y) == plain(x, y)


def test_eager_random_numbers_are_the_same():
    x, y = data()
    compiled = wg.TrainStep(noisy, net(), wg.optim.SGD(0.1))
    eager = wg.TrainStep(noisy, net(), wg.optim.SGD(0.1), compiled=False)
    for _ in range(3):
        assert eager(x, y) == pytest.approx(compiled(x, y), rel=1e-10)


@pytest.mark.parametrize(
    "make", [lambda: wg.optim.SGD(0.1, momentum=0.9), lambda: wg.optim.Adam(0.1)]
)
def test_accumulation_equals_a_big_batch(make):
    x, y = data(rows=12)
    whole = wg.TrainStep(squared_error, net(), make())
    parts = wg.TrainStep(squared_error, net(), make(), accumulate=3)
    for _ in range(3):
        expected = whole(x, y)
        before = wg.tree.copy(parts.model)
        losses = []
        for i in range(0, 12, 4):
            assert distance(parts.model, before) == 0  # nothing moves in between
            losses.append(parts(x[i : i + 4], y[i : i + 4]))
        assert np.mean(losses) == pytest.approx(expected, rel=1e-12)
        assert distance(parts.gradients, whole.gradients) < 1e-14
        assert parts.last.grad_norm == pytest.approx(whole.last.grad_norm, rel=1e-12)
    assert distance(parts.model, whole.model) < 1e-13


def test_accumulation_with_a_schedule_counts_updates():
    step = wg.TrainStep(
        lambda w, x: wg.sum(w * x),
        np.zeros(1),
        wg.optim.SGD(wg.optim.Exponential(1.0, 0.5)),
        accumulate=2,
    )
    rates = []
    for _ in range(6):
        step(np.ones(1))
        rates.append(step.last.learning_rate)
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    np.testing.assert_array_equal(step.model, [-1.75])


def count_traces(function):
    calls = []

    def counted(*args):
        calls.append(len(args))
        return function(*args)

    return counted, calls


def test_a_last_smaller_batch_compiles_nothing():
    loss, traces = count_traces(squared_error)
    x, y = data(rows=10)
    step = wg.TrainStep(loss, net(), wg.optim.SGD(0.1))
    other = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    for begin in range(0, 10, 4):
        batch = x[begin : begin + 4], y[begin : begin + 4]
        assert step(*batch) == other(*batch)
    assert len(traces) == 1


def test_sizes_that_were_equal_by_chance():
    """A call that breaks a tie is traced again."""

    def loss(w, x, extra):
        return wg.mean(x * w) + wg.mean(extra * w)

    loss, traces = count_traces(loss)
    step = wg.TrainStep(loss, np.array(1.0), wg.optim.SGD(0.0))
    assert step(np.full(4, 2.0), np.full(4, 3.0)) == 5.0
    assert step(np.full(4, 2.0), np.full(6, 3.0)) == 5.0
    assert len(traces) == 2
    assert step(np.full(3, 2.0), np.full(7, 3.0)) == 5.0
    assert step(np.full(7, 2.0), np.full(7, 3.0)) == 5.0
    assert len(traces) == 2


def test_schedules_limits_and_settings_compile_nothing():
    loss, traces = count_traces(squared_error)
    x, y = data()
    rate = wg.optim.Cosine(0.1, 300)
    step = wg.TrainStep(loss, net(), wg.optim.Adam(rate), clip_norm=1.0)
    for i in range(300):
        step(x, y)
        if i % 100 == 50:
            step.clip_norm = 0.5 + i
            step.optimizer.betas = (0.8, 0.99 - i / 1000)
    assert len(traces) == 1
    step.optimizer.learning_rate = 0.5
    step(x, y)
    assert step.last.learning_rate == 0.5
    assert len(traces) == 1


def test_steps_read_each_others_live_parameters():
    """A critic that follows a target network, which reads the critic."""

    def critic_loss(critic, x, target):
        return wg.mean((x @ critic - wg.stop_gradient(x @ target)) ** 2)

    def follow(target, critic):
        return 0.5 * wg.sum((target - wg.stop_gradient(critic)) ** 2)

    x = np.random.default_rng(0).normal(size=(3, 3))  # as many rows as weights
    critic = wg.TrainStep(critic_loss, np.zeros(3), wg.optim.SGD(0.1))
    target = wg.TrainStep(follow, np.ones(3), wg.optim.SGD(0.5))
    c, t = np.zeros(3), np.ones(3)
    for rows in (3, 3, 2):
        critic(x[:rows], target.model)
        target(critic.model)
        c = c - 0.1 * 2 / rows * x[:rows].T @ (x[:rows] @ c - x[:rows] @ t)
        t = t - 0.5 * (t - c)
    np.testing.assert_allclose(critic.model, c, rtol=1e-12)
    np.testing.assert_allclose(target.model, t, rtol=1e-12)


def test_threads_give_the_same_bits():
    x, y = data(rows=64)
    steps = [
        wg.TrainStep(squared_error, net((3, 40, 2)), wg.optim.Adam(0.01), threads=threads)
        for threads in (1, 2)
    ]
    for _ in range(5):
        a, b = (step(x, y) for step in steps)
        assert a == b
    assert steps[0].fingerprint() == steps[1].fingerprint()


@pytest.mark.parametrize("compiled", [True, False])
def test_averages_begin_at_a_model_that_is_assigned_before_the_first_update(compiled):
    optimizer = wg.optim.EMA(wg.optim.Lookahead(wg.optim.SGD(0.5)), decay=0.75)
    first, pretrained = {"w": np.ones(2)}, {"w": np.array([8.0, 4.0])}

    def make(model):
        return wg.TrainStep(lambda m, x: wg.sum(m["w"] * x), model, optimizer, compiled=compiled)

    step, expected = make(first), make(pretrained)
    step.model = pretrained
    for each in (step, expected):
        each(np.ones(2))
    assert step.fingerprint() == expected.fingerprint()
    average = wg.tree.copy(step.optimizer_states["average"])
    step.model = average  # judged, and taken out again
    step.model = pretrained
    assert np.array_equal(step.optimizer_states["average"]["w"], average["w"])
    assert np.array_equal(average["w"], [8.0 - 0.125, 4.0 - 0.125])


def scheduled(schedule, **options):
    return wg.TrainStep(lambda w, x: wg.mean(w * x), np.ones(()), wg.optim.SGD(schedule), **options)


ENDING = {
    "cosine": (wg.optim.Cosine(0.1, total_steps=5), 6, "total_steps"),
    "polynomial, warmed up": (
        wg.optim.warmup_then(wg.optim.Polynomial(0.1, total_steps=3), 2, start_factor=0.0),
        6,
        "counts updates",
    ),
    "decay per epoch": (wg.optim.StepDecay(0.1, step_size=1), 12, "step_size or gamma"),
    "slower decay": (wg.optim.Exponential(0.1, 0.9), 219, "another gamma"),
    "one cycle": (wg.optim.OneCycle(0.1, total_steps=30), 31, "total_steps"),
    "one cycle, warmed up": (
        wg.optim.warmup_then(wg.optim.OneCycle(0.1, total_steps=30), 10),
        41,
        "counts updates",
    ),
    "many updates": (wg.optim.Cosine(0.1, total_steps=600), 601, "total_steps"),
    "a function": (lambda index: 0.1 * (index < 4), 6, "counts updates"),
}


@pytest.mark.parametrize("way", ["calls", "run"])
@pytest.mark.parametrize("name", ENDING)
def test_a_rate_of_next_to_nothing_is_told_once(name, way):
    schedule, first, words = ENDING[name]
    step, count = scheduled(schedule), first + 300

    def train(updates):
        if way == "run":
            step.run(np.ones(updates), batch_size=1)
        else:
            for _ in range(updates):
                step(np.ones(1))

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        train(first - 1)
        assert not found
        train(count - first + 1)
    assert [each.category for each in found] == [wg.errors.ScheduleWarning]
    assert f"update {first} has" in str(found[0].message)
    assert words in str(found[0].message)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "schedule",
    [
        wg.optim.LinearWarmup(0.1, total_steps=10, start_factor=0.0),
        wg.optim.Cyclic(0.0, 0.1, step_size_up=3),
        wg.optim.CosineRestarts(0.1, 4),
        wg.optim.Cosine(0.1, total_steps=5, min_lr=1e-6),
        wg.optim.Polynomial(0.1, total_steps=300, power=6),
        wg.optim.OneCycle(0.1, total_steps=300),
        wg.optim.OneCycle(0.1, total_steps=30, final_div_factor=10),
        wg.optim.Lambda(0.1, lambda index: float(index > 20)),
        lambda index: 0.1 * (index % 2),
        0.0,
    ],
)
def test_other_small_rates_are_no_reason_to_warn(schedule):
    step = scheduled(schedule)
    for _ in range(300):
        step(np.ones(1))


def test_float32_does_not_feel_rates_that_float64_does():
    def told(schedule, dtype, updates):
        step = wg.TrainStep(lambda w, x: wg.mean(w * x), np.ones((), dtype), wg.optim.SGD(schedule))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            step.run(np.ones(updates, dtype), batch_size=1)
        return [each.category for each in heard]

    decay = wg.optim.Exponential(0.1, 0.95)
    assert told(decay, np.float32, 300) == [wg.errors.ScheduleWarning]
    assert told(decay, np.float64, 300) == []
    assert told(wg.optim.Cosine(0.1, total_steps=20_000), np.float32, 20_000) == []
    assert told(wg.optim.Lambda(0.1, lambda index: 1 / (1 + index)), np.float32, 20_000) == []


def test_a_step_that_goes_on_later_warns_as_well():
    step, other = (scheduled(wg.optim.Cosine(0.1, total_steps=5)) for _ in range(2))
    for _ in range(5):
        step(np.ones(1))
    other.load_state_dict(step.state_dict())
    with pytest.warns(wg.errors.ScheduleWarning, match=r"update 6 .*Cosine"):
        other(np.ones(1))


def trained_for_epochs(schedule, epochs=100, batches=20, **options):
    """Runs, epochs, fits and ensembles of so many epochs."""
    x, loss = np.ones(batches), lambda w, x: wg.mean(w * x)
    how = {"epochs": epochs, "batch_size": 1}
    members = [np.ones(()), np.zeros(())]
    return {
        "run": lambda: scheduled(schedule, **options).run(x, **how),
        "epochs": lambda: list(scheduled(schedule, **options).epochs(x, **how)),
        "fit": lambda: wg.train.fit(scheduled(schedule, **options), (x,), **how, progress=False),
        "ensemble": lambda: wg.Ensemble(loss, members, wg.optim.SGD(schedule), **options).run(
            x, **how
        ),
    }


@pytest.mark.parametrize("way", ["run", "epochs", "fit", "ensemble"])
@pytest.mark.parametrize(
    "schedule",
    [
        wg.optim.MultiStep(0.01, [30, 60, 90]),
        wg.optim.Cosine(0.01, 100, min_lr=1e-5),
        wg.optim.Polynomial(0.01, 100, min_lr=1e-3),
        wg.optim.OneCycle(0.01, 100, final_div_factor=10),
        wg.optim.warmup_then(wg.optim.Cosine(0.01, 90, min_lr=1e-4), 10),
    ],
    ids=lambda schedule: type(schedule).__name__,
)
def test_a_schedule_that_is_meant_in_epochs_is_told_before_the_first(schedule, way):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        trained_for_epochs(schedule)[way]()
    assert [each.category for each in found] == [wg.errors.ScheduleWarning]
    assert "given 100 epochs, which have 2000 updates" in str(found[0].message)
    assert "multiply its counts by 20, the updates of an epoch." in str(found[0].message)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("way", ["run", "epochs", "fit", "ensemble"])
@pytest.mark.parametrize(
    "schedule",
    [
        wg.optim.MultiStep(0.01, [600, 1200, 1800]),
        wg.optim.Cosine(0.01, 2000, min_lr=1e-5),
        wg.optim.LinearWarmup(0.01, 100),
        wg.optim.warmup_then(0.01, 100),
        wg.optim.Chain([wg.optim.Constant(1e-4), wg.optim.Constant(1e-3)], [50]),
        wg.optim.Cosine(0.01, 20, min_lr=1e-3),  # one epoch of twenty batches
        wg.optim.MultiStep(0.01, [50], gamma=0.7),
        wg.optim.Constant(0.01),
    ],
)
def test_schedules_that_count_updates_are_not_told(schedule, way):
    trained_for_epochs(schedule)[way]()


@pytest.mark.filterwarnings("error")
def test_a_schedule_that_counts_what_there_is_or_is_over_is_not_told():
    schedule = wg.optim.Cosine(0.01, 100, min_lr=1e-5)
    trained_for_epochs(schedule, accumulate=20)["run"]()  # an update an epoch
    trained_for_epochs(schedule, batches=4)["run"]()  # not that many more
    step = scheduled(schedule)
    step.run(np.ones(20), batch_size=1, epochs=5)
    step.run(np.ones(20), batch_size=1, epochs=100)  # goes on at the last rate


@pytest.mark.filterwarnings("error")
def test_a_function_of_ones_own_is_not_asked_ahead():
    asked = []
    rate = wg.optim.Lambda(0.01, lambda index: asked.append(index) or 0.5)
    step = scheduled(wg.optim.Chain([rate, wg.optim.Constant(1e-4)], [50]))
    next(iter(step.epochs(np.ones(20), batch_size=1, epochs=100)))
    assert max(asked) == 19
