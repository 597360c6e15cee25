"""Every member of an ensemble has the bits of the same training step alone."""

import numpy as np
import pytest

import wengert as wg
from wengert.train.ensemble import member_calls
from wengert.train.ensemble.cost import MemberWork, shared_cache, splits
from wengert.train.ensemble.runs import member_loops

from .populations import (
    MEMBERS,
    RATES,
    X,
    Y,
    alone,
    ensemble,
    forward,
    init,
    loss,
    noisy,
    prints,
    rates,
)


@pytest.fixture(scope="module")
def trained():
    """What 200 steps make of each step alone: two calls, then runs."""
    steps = alone()
    losses = [[step(X, Y) for _ in range(2)] for step in steps]
    histories = [step.run(X, Y, batch_size=8, epochs=33, shuffle_seed=4) for step in steps]
    return losses, histories, prints(steps)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_two_hundred_steps(trained, threads):
    losses, histories, expected = trained
    made = ensemble(threads=threads)
    found = [made(X, Y) for _ in range(2)]
    assert np.transpose(found).tolist() == losses
    history = made.run(X, Y, batch_size=8, epochs=33, shuffle_seed=4)
    assert len(history) == 198  # the last batch of an epoch has 4 rows
    for name in ("loss", "grad_norm", "learning_rate", "skipped"):
        rows = [getattr(each, name) for each in histories]
        assert np.array_equal(getattr(history, name), rows)
        assert np.array_equal(getattr(history.of(2), name), rows[2])
    assert prints(made) == expected
    assert made.last.index.tolist() == [199] * MEMBERS
    assert made.last.loss.tolist() == [each.loss[-1] for each in histories]


def test_members_taken_by_machine_code(trained, monkeypatch):
    """Neither calls nor runs fall back to Python."""

    def refuse(*_):
        raise AssertionError("Python took a step")

    monkeypatch.setattr("wengert.train.engine.Engine.call", refuse)
    made = ensemble()
    made(X, Y)
    made(X, Y)
    made.run(X, Y, batch_size=8, epochs=33, shuffle_seed=4)
    assert prints(made) == trained[2]


def test_kernels_are_shared_with_the_same_bits(monkeypatch):
    """The split program, member after member: a model that is large enough to be divided."""
    sizes = (64, 256, 4)

    def make(seed):
        return init(seed, sizes)

    x = np.random.default_rng(1).normal(size=(256, 64)).astype(np.float32)
    y = x[:, :4].copy()
    found = []
    for divided in (False, True):
        for module in (member_calls, member_loops):
            monkeypatch.setattr(module, "splits", lambda *_, divided=divided: divided)
        made = wg.Ensemble(loss, make, wg.optim.Adam(1e-3), members=3, threads=3)
        made(x, y)
        made.run(x, y, batch_size=256, epochs=3)
        found.append(prints(made))
    step = wg.TrainStep(loss, make(0), wg.optim.Adam(1e-3), threads=1)
    step(x, y)
    step.run(x, y, batch_size=256, epochs=3)
    assert found[0] == found[1]
    assert found[0][0] == step.fingerprint()


def test_cost_model():
    small, large = MemberWork(1000, True), MemberWork(shared_cache(), True)
    assert not splits(64, 2, small)  # many small ones are taken as members
    assert splits(1, 2, small)  # there are fewer members than workers
    assert splits(64, 2, large)  # two of them do not fit into the cache
    assert not splits(1, 2, MemberWork(1000, False))  # nothing could be shared
    assert not splits(1, 1, small)


def test_batches_of_their_own():
    x = np.stack([np.roll(X, i, axis=0) for i in range(MEMBERS)])
    made, steps = ensemble(), alone()
    each = wg.train.each
    assert made(each(x), Y).tolist() == [step(x[i], Y) for i, step in enumerate(steps)]
    found = made.run(each(x), Y, batch_size=8, epochs=2, shuffle_seed=[9, 8, 7, 6, 5])
    alike = [
        step.run(x[i], Y, batch_size=8, epochs=2, shuffle_seed=9 - i)
        for i, step in enumerate(steps)
    ]
    assert np.array_equal(found.loss, [history.loss for history in alike])
    assert prints(made) == prints(steps)
    strided = np.asfortranarray(x)
    assert made(each(strided), Y).tolist() == [step(x[i], Y) for i, step in enumerate(steps)]
    made.run(each(strided), Y, batch_size=16)
    for i, step in enumerate(steps):
        step.run(x[i], Y, batch_size=16)
    assert prints(made) == prints(steps)


def test_bootstrap_and_seeds():
    made, steps = ensemble(), alone()
    made.run(X, Y, batch_size=8, epochs=2, shuffle_seed=made.seeds, bootstrap=True)
    made.run(X, Y, batch_size=8, bootstrap=[7] * MEMBERS, drop_last=True)
    for i, step in enumerate(steps):
        rows = wg.train.bootstrap_rows(len(X), i)
        step.run(X[rows], Y[rows], batch_size=8, epochs=2, shuffle_seed=i)
        rows = wg.train.bootstrap_rows(len(X), 7)
        step.run(X[rows], Y[rows], batch_size=8, drop_last=True)
    assert prints(made) == prints(steps)
    assert 20 < len(set(wg.train.bootstrap_rows(44, 3).tolist())) < 36  # about 63 % of all rows


def test_random_numbers_follow_the_seed():
    made, steps = ensemble(noisy), alone(noisy)
    made(X, Y)
    made.run(X, Y, batch_size=11, epochs=2)
    for step in steps:
        step(X, Y)
        step.run(X, Y, batch_size=11, epochs=2)
    assert prints(made) == prints(steps)
    alike = wg.Ensemble(noisy, [init(0)] * 2, wg.optim.SGD(0.1), seeds=[3, 3])
    with pytest.warns(wg.errors.AlikeWarning):
        assert len(set(alike(X, Y).tolist())) == 1
    apart = wg.Ensemble(noisy, [init(0)] * 2, wg.optim.SGD(0.1))
    assert len(set(apart(X, Y).tolist())) == 2
    assert apart.seeds == (0, 1)


def with_state(model, state, x, y):
    value = loss(model, x, y) + 0.01 * state["seen"]
    return value, {"seen": state["seen"] + 1}, {"worst": wg.max(x, axis=0)}


def test_windows_state_and_aux():
    options = {"has_aux": True, "accumulate": 3, "clip_value": 0.1}
    seen = np.arange(5, dtype=np.float32)
    made = ensemble(with_state, state=wg.train.each({"seen": seen}), **options)
    steps = [
        wg.TrainStep(
            with_state,
            init(i),
            wg.optim.Adam(RATES[i]),
            state={"seen": seen[i]},
            clip_norm=made.members[i].clip_norm,
            seed=i,
            **options,
        )
        for i in range(MEMBERS)
    ]
    losses, aux = made(X, Y)
    found = [step(X, Y) for step in steps]
    assert losses.tolist() == [value for value, _ in found]
    assert np.array_equal(aux["worst"], [each["worst"] for _, each in found])
    history = made.run(X, Y, batch_size=8, epochs=3)
    alike = [step.run(X, Y, batch_size=8, epochs=3) for step in steps]
    assert np.array_equal(history.aux["worst"], [each.aux["worst"] for each in alike])
    assert np.array_equal(history.learning_rate, [each.learning_rate for each in alike])
    last = made.run(X, Y, batch_size=8, aux="last").aux["worst"]
    assert np.array_equal(
        last, [step.run(X, Y, batch_size=8, aux="last").aux["worst"] for step in steps]
    )
    assert prints(made) == prints(steps)
    assert made.members[3].state["seen"] == steps[3].state["seen"] == 3 + 1 + 4 * 6


def test_several_optimizers_and_schedules():
    schedules = [wg.optim.schedules.Cosine(rate, 40) for rate in RATES]
    weights = wg.optim.SGD(schedules, momentum=[0.5, 0.6, 0.7, 0.8, 0.9])
    made = ensemble(optimizer={"*.w": weights, "*": rates(wg.optim.AdamW)}, clip_norm=None)
    steps = [
        wg.TrainStep(
            loss,
            init(i),
            {
                "*.w": wg.optim.SGD(schedules[i], momentum=(5 + i) / 10),
                "*": wg.optim.AdamW(RATES[i]),
            },
        )
        for i in range(MEMBERS)
    ]
    found = made.run(X, Y, batch_size=8, epochs=2)
    alike = [step.run(X, Y, batch_size=8, epochs=2) for step in steps]
    for glob in ("*.w", "*"):
        rows = [each.learning_rate[glob] for each in alike]
        assert np.array_equal(found.learning_rate[glob], rows)
    assert prints(made) == prints(steps)


def test_settings_change_while_it_trains():
    made, steps = ensemble(), alone()
    for number, (member, step) in enumerate(zip(made.members, steps, strict=True)):
        for each in (member, step):
            each.optimizer.learning_rate = 0.01 * number
            each.clip_norm = 1.0 + number
    made(X, Y)
    made.members[2](X, Y)  # a member may be trained alone
    made.run(X, Y, batch_size=8, epochs=2, shuffle_seed=1)
    for number, step in enumerate(steps):
        step(X, Y)
        if number == 2:
            step(X, Y)
        step.run(X, Y, batch_size=8, epochs=2, shuffle_seed=1)
    assert prints(made) == prints(steps)
    made.members[0].clip_norm = steps[0].clip_norm = None  # this one has another program now
    assert made(X, Y).tolist() == [step(X, Y) for step in steps]
    made.run(X, Y, batch_size=8)
    for step in steps:
        step.run(X, Y, batch_size=8)
    assert prints(made) == prints(steps)


def test_epochs_go_on_where_they_were_interrupted():
    made, step = ensemble(), alone()[1]
    for number, epoch in enumerate(made.epochs(X, Y, batch_size=8, epochs=4, shuffle_seed=2)):
        history = step.run(X, Y, batch_size=8, shuffle_seed=2)
        assert epoch.index == number
        assert epoch.loss[1] == pytest.approx(np.mean(history.loss), rel=1e-12)
        assert np.array_equal(epoch.history.loss[1], history.loss)
        if number == 2:
            break
    assert made.members[1].epoch == 3
    assert made.fingerprint(1) == step.fingerprint()


def test_op_by_op():
    """Without machine code a step is the same up to rounding, and runs are as calls."""
    with wg.eager():
        slow = ensemble()
        slow(X, Y)
        history = slow.run(X, Y, batch_size=22, epochs=2, shuffle_seed=0)
    quick = ensemble()
    quick(X, Y)
    assert np.allclose(
        history.loss, quick.run(X, Y, batch_size=22, epochs=2, shuffle_seed=0).loss, rtol=1e-4
    )


def test_functions_of_all_members():
    made, steps = ensemble(), alone()
    predict = made.bind(forward)
    rows = np.stack([step.bind(forward)(X) for step in steps])
    assert np.array_equal(predict(X), rows)
    assert np.array_equal(predict(x=X[:7]), rows[:, :7])
    assert np.allclose(predict.mean(X), rows.mean(axis=0))
    assert np.allclose(predict.spread(X), rows.std(axis=0))
    own = predict(wg.train.each(np.stack([X[i : i + 4] for i in range(MEMBERS)])))
    assert np.array_equal(own, [rows[i, i : i + 4] for i in range(MEMBERS)])
    made(X, Y)
    assert not np.array_equal(predict(X), rows)  # the parameters are live
    made.keep([4, 0])
    assert np.array_equal(predict(X)[1], made.members[1].bind(forward)(X))
    with wg.eager():
        assert np.allclose(predict(X)[1], made.members[1].bind(forward)(X), rtol=1e-4)


def test_functions_that_draw():
    made, steps = ensemble(), alone()

    def sample(model, x, rng):
        return {"y": forward(model, x) + rng.normal((x.shape[0], 1))}

    bound = made.bind(sample)
    for number, step in enumerate(steps):
        one = step.bind(sample)
        alike = [one(X[:3])["y"] for _ in range(2)]
        if number == 0:
            found = [bound(X[:3])["y"] for _ in range(2)]
        assert np.array_equal(alike, [each[number] for each in found])


def test_evaluation():
    made, steps = ensemble(), alone()

    def measured(model, x, y):
        return {"error": loss(model, x, y), "means": wg.mean(x, axis=0)}

    found = made.evaluate(measured, X, Y, batch_size=12)
    alike = [step.evaluate(measured, X, Y, batch_size=12) for step in steps]
    assert found["error"].tolist() == [each["error"] for each in alike]
    assert np.array_equal(found["means"], [each["means"] for each in alike])
    own = made.evaluate(loss, wg.train.each(np.stack([X] * MEMBERS)), Y, batch_size=12)
    assert own.tolist() == found["error"].tolist()
    carried = ensemble(with_state, state={"seen": np.float32(2)}, has_aux=True)
    value, aux = carried.evaluate(with_state, X, Y, batch_size=44)
    assert value.tolist() == pytest.approx([loss_of + 0.02 for loss_of in found["error"]], rel=1e-5)
    assert aux["worst"].shape == (MEMBERS, 3)
