"""Who goes on: members that are kept, exchanged, saved, loaded, or that fail."""

import signal
import threading

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CheckpointError, NonFiniteError

from .populations import MEMBERS, X, Y, alone, ensemble, loss, noisy, prints

SPOILED = 3


def spoiled():
    """Batches for each member, of which one has a NaN in one row."""
    x = np.stack([X] * MEMBERS)
    x[SPOILED, 17] = np.nan
    return x


@pytest.mark.parametrize("threads", [1, 2])
def test_a_skipped_member_leaves_the_others_untouched(threads):
    x = spoiled()
    made, steps = ensemble(nonfinite="skip", threads=threads), alone(nonfinite="skip")
    losses = made(wg.train.each(x), Y)
    assert np.isnan(losses).tolist() == [i == SPOILED for i in range(MEMBERS)]
    assert made.last.skipped.tolist() == [i == SPOILED for i in range(MEMBERS)]
    history = made.run(wg.train.each(x), Y, batch_size=8, epochs=2, shuffle_seed=1)
    assert history.skipped.sum(axis=1).tolist() == [2 * (i == SPOILED) for i in range(MEMBERS)]
    for i, step in enumerate(steps):
        step(x[i], Y)
        alike = step.run(x[i], Y, batch_size=8, epochs=2, shuffle_seed=1)
        assert np.array_equal(history.skipped[i], alike.skipped)
        assert np.array_equal(history.learning_rate[i], alike.learning_rate)
    assert prints(made) == prints(steps)


def test_a_member_that_fails_is_named():
    x = spoiled()
    made, steps = ensemble(), alone()
    with pytest.raises(NonFiniteError, match="argument 'x' is nan at index \\(17, 0\\)") as caught:
        made(wg.train.each(x), Y)
    assert caught.value.members == [SPOILED]
    assert "member 3 of 5" in caught.value.__notes__[-1]
    for i, step in enumerate(steps):
        if i != SPOILED:
            step(x[i], Y)
    assert prints(made) == prints(steps)
    with pytest.raises(NonFiniteError) as caught:
        made.run(wg.train.each(x), Y, batch_size=8, epochs=2)
    assert any("epoch 0, batch 2 of 6" in note for note in caught.value.__notes__)
    for i, step in enumerate(steps):
        if i != SPOILED:
            step.run(x[i], Y, batch_size=8, epochs=2)
    with pytest.raises(NonFiniteError):
        steps[SPOILED].run(x[SPOILED], Y, batch_size=8, epochs=2)
    assert prints(made) == prints(steps)
    made.keep([i for i in range(MEMBERS) if i != SPOILED])
    made(X, Y)
    with pytest.raises(NonFiniteError) as caught:
        made(X * np.nan, Y)
    assert caught.value.members == [0, 1, 2, 3]


def test_windows_that_are_not_finite():
    x = spoiled()
    options = {"nonfinite": "skip", "accumulate": 3}
    made, steps = ensemble(**options), alone(**options)
    found = made.run(wg.train.each(x), Y, batch_size=8, epochs=3)
    for i, step in enumerate(steps):
        alike = step.run(x[i], Y, batch_size=8, epochs=3)
        assert np.array_equal(found.skipped[i], alike.skipped)
        assert np.array_equal(found.learning_rate[i], alike.learning_rate)
    assert prints(made) == prints(steps)
    made(wg.train.each(x), Y)  # members are at different places of their windows
    for i, step in enumerate(steps):
        step(x[i], Y)
    assert prints(made) == prints(steps)


def test_keep_and_best():
    made, steps = ensemble(), alone()
    made.run(X, Y, batch_size=8)
    for step in steps:
        step.run(X, Y, batch_size=8)
    scores = made.evaluate(loss, X, Y, batch_size=44)
    order = np.argsort(scores).tolist()
    assert made.best(scores) == made.best(loss, X, Y) == order[0]
    assert made.best(scores, count=3) == order[:3]
    assert made.best(scores, largest=True) == order[-1]
    assert made.best([np.nan, 2.0, 1.0, np.inf, 3.0], count=5) == [2, 1, 4, 3, 0]
    made.keep(made.best(scores, count=3))
    assert len(made) == 3
    made(X, Y)
    made.run(X, Y, batch_size=8, shuffle_seed=5)
    kept = [steps[i] for i in order[:3]]
    for step in kept:
        step(X, Y)
        step.run(X, Y, batch_size=8, shuffle_seed=5)
    assert prints(made) == prints(kept)
    made.keep(np.array([True, False, True]))
    assert prints(made) == prints([kept[0], kept[2]])
    made.keep([False, True])
    assert prints(made) == prints([kept[2]])


def test_save_and_load(tmp_path):
    made, again = ensemble(noisy), ensemble(noisy)
    made.run(X, Y, batch_size=8, shuffle_seed=1)
    made.members[1].optimizer.learning_rate = 0.5
    made.save(tmp_path / "ensemble.safetensors")
    again.load(tmp_path / "ensemble.safetensors")
    assert prints(again) == prints(made)
    for each in (made, again):
        each.run(X, Y, batch_size=8, shuffle_seed=1)
    assert prints(again) == prints(made)
    step = alone(noisy)[4]
    step.load_state_dict(made.members[4].state_dict())
    assert step.fingerprint() == made.fingerprint(4)
    state = made.state_dict()
    made.keep([0, 1])
    before = prints(made)
    with pytest.raises(CheckpointError, match="the state of 5 members; this ensemble has 2"):
        made.load_state_dict(state)
    with pytest.raises(CheckpointError, match="given a state of one step"):
        made.load_state_dict(made.members[0].state_dict())
    state["members"] = state["members"][:2]
    state["members"][1]["arrays"]["model"]["0.w"] = np.zeros((2, 2), np.float32)
    with pytest.raises(CheckpointError, match=r"member 1: '0\.w' of the model"):
        made.load_state_dict(state)
    assert prints(made) == before


def test_exchange_and_replace():
    made = ensemble()
    made.run(X, Y, batch_size=8)
    before = prints(made)
    made.exchange(0, -1)
    assert prints(made) == [before[4], *before[1:4], before[0]]
    rates = [step.optimizer.learning_rate for step in made.members]
    assert rates == sorted(rates)  # settings stay
    made.replace(1, by=2)
    assert prints(made)[1:3] == [before[2]] * 2
    made(X, Y)
    assert prints(made)[1] != prints(made)[2]  # they have other learning rates


def test_live_views():
    made = ensemble()
    member = made.members[2]
    member.model[0]["w"][...] = 0
    member.model[1]["w"][...] = 0
    assert made.evaluate(lambda model, x: wg.sum(model[0]["w"] ** 2), X, batch_size=44)[2] == 0
    made(X, Y)
    assert member.last.index == 0
    assert member.last.loss == made.last.loss[2]
    assert member.gradients[1]["b"].any()
    assert not np.array_equal(member.gradients[0]["b"], made.members[1].gradients[0]["b"])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of POSIX")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="handlers run in one thread"
)
def test_an_interrupted_run_goes_on():
    """All members stop at the same step; the next run goes on there, with the bits of one that was
    left alone.
    """
    made, whole = ensemble(), ensemble()
    x, y = np.tile(X, (100, 1)), np.tile(Y, (100, 1))

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        made(X, Y)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        for _ in range(20):  # a signal that comes while Python forgets an object is lost
            made.run(x, y, batch_size=4, shuffle_seed=3)
    except KeyboardInterrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    epochs = {step.epoch for step in made.members}
    assert len(epochs) == 1
    assert len({step._engine.calls for step in made.members}) == 1
    made.run(x, y, batch_size=4, shuffle_seed=3)
    whole(X, Y)
    whole.run(x, y, batch_size=4, shuffle_seed=3, epochs=made.members[0].epoch)
    assert prints(made) == prints(whole)


def test_many_members_share_one_program():
    made = wg.Ensemble(
        lambda w, x: wg.mean((w - x) ** 2),
        lambda seed: np.full(2, seed, np.float32),
        wg.optim.SGD(0.1),
        members=300,
    )
    found = made(np.zeros((1, 2), np.float32))
    assert np.allclose(found, np.arange(300.0) ** 2)
    assert all(step._engine.programs is made.members[0]._engine.programs for step in made.members)
    layout = made.members[0]._engine.plan.storage.layout
    assert all(step._engine.plan.storage.layout is layout for step in made.members)


class Recentred(wg.optim.Optimizer):
    """Moves towards the mean of what each parameter began as: a state of a whole parameter."""

    def initial(self, weights):
        return {"mean": np.full(weights.shape, np.mean(weights), weights.dtype)}

    def rule(self, weights, grad, state, s, path=None):
        return weights - s["lr"] * (weights - state["mean"]), state


@pytest.mark.parametrize("wrapped", [False, True])
def test_states_of_a_users_optimizer_begin_for_each_parameter(wrapped):
    optimizer = wg.optim.EMA(Recentred(0.5)) if wrapped else Recentred(0.5)
    models = [{"a": np.array([1.0, 3.0]) * i, "b": np.array([10.0, 30.0])} for i in (1, 2)]
    made = wg.Ensemble(lambda m, x: wg.sum((m["a"] + m["b"]) * x), models, optimizer)
    made(np.ones(2))
    for model, step in zip(models, made.members, strict=True):
        for name, began in model.items():
            assert np.array_equal(step.model[name], began - 0.5 * (began - np.mean(began)))


SHOWN = {
    "a range": (lambda: wg.optim.SGD([0.5, 0.001, 0.1]), "SGD(lr=0.001 … 0.5)"),
    "two settings": (
        lambda: wg.optim.SGD(0.1, momentum=[0.5, 0.9, 0.7]),
        "SGD(lr=0.1, momentum=0.5 … 0.9)",
    ),
    "all alike": (lambda: wg.optim.SGD([0.1] * 3), "SGD(lr=0.1)"),
    "inside another": (
        lambda: [wg.optim.EMA(wg.optim.SGD(lr), 0.9) for lr in (1.0, 2.0, 3.0)],
        "EMA(SGD(lr=1 … 3), decay=0.9)",
    ),
    "what is no number": (
        lambda: [wg.optim.Adam(1e-3, betas=(b, 0.99)) for b in (0.8, 0.9, 0.8)],
        "Adam(lr=0.001, betas=(0.8, 0.99) and others)",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_ensemble_shows_how_its_optimizers_differ(name):
    make, text = SHOWN[name]
    made = wg.Ensemble(lambda w, x: wg.mean(x * w), [np.ones(1)] * 3, make())
    assert repr(made).splitlines()[1].strip() == text
