"""A part of a model whose first gradients are all 0, while others are trained: a step says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.distributions import Categorical, Normal
from wengert.errors import UnreachedWarning

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(16, 4)).astype(np.float32)
CHOSEN = DRAWS.integers(2, size=16)
ADVANTAGES = DRAWS.normal(size=16).astype(np.float32)
BATCH = (X, CHOSEN, ADVANTAGES)


def layer(seed, width=1):
    return wg.nn.Linear(4, width, seed=seed)


def agent(seed=0):
    return {"pi": layer(seed, 2), "v": layer(seed + 1)}


def value_loss(m, x, adv):
    return wg.mean((m["v"](x)[:, 0] - adv) ** 2)


def ppo(m, x, chosen, adv):
    """The ratio is that of a network and itself."""
    new, old = Categorical(m["pi"](x)), Categorical(m["pi"](x))
    ratio = wg.exp(new.log_prob(chosen) - old.log_prob(chosen))
    gain = wg.minimum(ratio * adv, wg.clip(ratio, 0.8, 1.2) * adv)
    return value_loss(m, x, adv) - wg.mean(gain) - 0.0 * wg.mean(new.entropy())


def drawn(m, x, chosen, adv, rng):
    """No gradient comes through a discrete draw."""
    policy = Categorical(m["pi"](x))
    gain = wg.mean(wg.where(policy.sample(rng) == 1, adv, 0.0))
    return value_loss(m, x, adv) - gain - 0.0 * wg.mean(policy.entropy())


def called(loss, model, *batch, optimizer=None, times=5, **options):
    optimizer = wg.optim.SGD(0.1) if optimizer is None else optimizer
    step = wg.TrainStep(loss, model, optimizer, compiled=False, **options)
    return warned(lambda: [step(*batch) for _ in range(times)])


# What is told.


@pytest.mark.parametrize("loss", [ppo, drawn])
def test_a_policy_without_gradients_beside_a_value_is_told_once(loss):
    (told,) = called(loss, agent(), *BATCH, strict=True)
    assert (told.category, told.filename) == (UnreachedWarning, __file__)
    text = str(told.message)
    assert text.startswith("TrainStep: the gradient of every parameter in 'pi' was exactly 0")
    assert "{'pi.*': None, '*': optimizer}" in text


def given_an_old_one(m, old, x, chosen, adv):
    """The old network is an argument, and is not used."""
    return ppo(m, x, chosen, adv) + 0.0 * wg.mean(old["pi"](x))


@pytest.mark.parametrize(
    "old",
    [wg.tree.copy, lambda m: {"pi": wg.tree.copy(m["pi"])}],
    ids=["of the model", "of a part of it"],
)
def test_weights_of_a_network_among_the_arguments_are_no_data(old):
    model = agent()
    (told,) = called(given_an_old_one, model, old(model), *BATCH)
    assert "every parameter in 'pi' was exactly 0" in str(told.message)


def test_nor_are_they_where_nothing_is_trained():
    def loss(pi, old, x, chosen, adv):
        logp = Categorical(pi(x)).log_prob(chosen)
        return -wg.mean(wg.exp(logp - logp) * adv) + 0.0 * wg.mean(old(x))

    def of_arrays(pi, old, x, chosen, adv):
        return loss(
            lambda x: x @ pi["w"] + pi["b"], lambda x: x @ old["w"] + old["b"], x, chosen, adv
        )

    arrays = {"w": np.array(layer(0, 2).weight.T), "b": np.zeros(2, np.float32)}
    for each, model in ((loss, layer(0, 2)), (of_arrays, arrays)):
        (told,) = called(each, model, wg.tree.copy(model), *BATCH)
        assert "the gradient of every parameter was 0 in the first 3 calls" in str(told.message)
        rewards = np.zeros(16, np.float32)
        assert called(each, model, wg.tree.copy(model), X, CHOSEN, rewards) == []


def test_the_mean_of_a_draw_that_is_not_stopped_is_told():
    def reinforce(m, goal, rng, stop=lambda x: x):
        policy = Normal(m["mu"], wg.exp(m["log_std"]))
        actions = stop(policy.sample(rng, (64,), dtype=np.float64))
        reward = wg.stop_gradient(-((actions - goal) ** 2).sum(axis=1))
        return -wg.mean(policy.log_prob(actions).sum(axis=1) * reward)

    def stopped(m, goal, rng):
        return reinforce(m, goal, rng, wg.stop_gradient)

    def pathwise(m, goal, rng):
        return reinforce(m, goal, rng)

    model = {"mu": np.zeros(2), "log_std": np.zeros(2)}
    (told,) = called(pathwise, model, np.ones(2))
    assert "every parameter in 'mu' was exactly 0" in str(told.message)
    assert "{'mu': None, '*': optimizer}" in str(told.message)
    assert called(stopped, model, np.ones(2)) == []


@pytest.mark.parametrize("optimizer", [wg.optim.AdamW(0.1), wg.optim.EMA(wg.optim.Adam(0.1))])
def test_a_run_tells_it_too_and_has_the_same_bits(optimizer):
    step, other = (wg.TrainStep(ppo, agent(), optimizer) for _ in range(2))
    (told,) = warned(lambda: step.run(*BATCH, batch_size=4, epochs=2))
    assert str(told.message).startswith("TrainStep.run: the gradient of every parameter in 'pi'")
    for _ in range(2):
        for k in range(0, 16, 4):
            warned(lambda k=k: other(*(x[k : k + 4] for x in BATCH)))
    np.testing.assert_array_equal(step.model["v"].weight, other.model["v"].weight)


@pytest.mark.parametrize("way", ["calls", "run"])
def test_an_ensemble_tells_it_where_no_member_is_trained(way):
    def one_is_trained(m, x, chosen, adv, share):
        return ppo(m, x, chosen, adv) - wg.mean(share * Categorical(m["pi"](x)).log_prob(chosen))

    def told_of(loss, *more):
        step = wg.Ensemble(loss, agent, wg.optim.SGD(0.1), members=2, compiled=False)
        if way == "calls":
            return warned(lambda: [step(*BATCH, *more) for _ in range(4)])
        return warned(lambda: step.run(*BATCH, *more, batch_size=4))

    (told,) = told_of(ppo)
    by = "Ensemble" if way == "calls" else "Ensemble.run"
    assert str(told.message).startswith(f"{by}: the gradient of every parameter in 'pi'")
    if way == "calls":
        assert told_of(one_is_trained, wg.train.each(np.array([0.5, 0.0]))) == []


# What is not: there are good reasons for gradients of 0.


def below_a_head(m, x, y):
    return wg.mean((m["head"](wg.tanh(m["trunk"](x)))[:, 0] - y) ** 2)


def zero_head():
    head = wg.nn.Linear(4, 1, seed=1)
    return {"trunk": layer(0, 4), "head": wg.tree.map(np.zeros_like, head)}


@pytest.mark.parametrize("rate", [0.1, 0.0])
def test_layers_below_a_head_of_zeros_are_let_be(rate):
    assert called(below_a_head, zero_head(), X, ADVANTAGES, optimizer=wg.optim.SGD(rate)) == []


def test_layers_below_a_head_that_begins_late_are_let_be():
    def late(update):
        return 0.1 * (update >= 2)

    assert called(below_a_head, zero_head(), X, ADVANTAGES, optimizer=wg.optim.SGD(late)) == []


def test_heads_and_experts_that_no_row_chooses_are_let_be():
    def heads(m, x, task, y):
        outputs = wg.where(task == 0, m["first"](x)[:, 0], m["second"](x)[:, 0])
        return wg.mean((outputs - y) ** 2)

    def experts(m, x, y):
        weights = wg.softmax(m["gate"](x)) * np.array([1.0, 1.0, 0.0], np.float32)
        outputs = [m[f"expert{k}"](x)[:, 0] for k in range(3)]
        return wg.mean((sum(weights[:, k] * out for k, out in enumerate(outputs)) - y) ** 2)

    two = {"first": layer(0), "second": layer(1, 1)}
    assert called(heads, two, X, np.zeros(16, int), ADVANTAGES) == []
    assert called(heads, two, X, np.full(16, 3), ADVANTAGES) == []
    three = {f"expert{k}": layer(k) for k in range(3)} | {"gate": layer(3, 3)}
    assert called(experts, three, X, ADVANTAGES) == []


def by_options(m, x, option, y):
    outputs = wg.concat([m["swing"](x), m["balance"](x), m["rest"](x)], axis=1)
    return wg.mean((wg.take_along_axis(outputs, option[:, None], axis=1)[:, 0] - y) ** 2)


def by_one_hot(m, x, option, y):
    outputs = wg.concat([m["swing"](x), m["balance"](x), m["rest"](x)], axis=1)
    return wg.mean((wg.sum(wg.one_hot(option, 3) * outputs, axis=1) - y) ** 2)


def by_a_state(m, x, option, y):
    near = wg.abs(x[:, 2]) < 1e-9
    outputs = wg.where(near, m["rest"](x)[:, 0], m["swing"](x)[:, 0] + m["balance"](x)[:, 0])
    return wg.mean((outputs - y) ** 2)


def by_a_mask(m, x, option, y):
    far = (x[:, 2] > 9).astype(np.float32)
    outputs = m["swing"](x)[:, 0] + m["balance"](x)[:, 0] + far * m["rest"](x)[:, 0]
    return wg.mean((outputs - y) ** 2)


def by_a_best_one(m, x, option, y):
    outputs = wg.concat([m["swing"](x), m["balance"](x), m["rest"](x) - 99.0], axis=1)
    return wg.mean((wg.max(outputs, axis=1) - y) ** 2)


def by_a_hinge(m, x, option, y):
    hinge = wg.maximum(y - m["rest"](x)[:, 0] - 99.0, 0.0)
    return wg.mean(m["swing"](x) ** 2) + wg.mean(m["balance"](x) ** 2) + wg.mean(hinge**2)


@pytest.mark.parametrize(
    "loss", [by_options, by_one_hot, by_a_state, by_a_mask, by_a_best_one, by_a_hinge]
)
def test_parts_that_other_rows_would_choose_are_let_be(loss):
    model = {"swing": layer(0), "balance": layer(1), "rest": layer(2)}
    assert called(loss, model, X, CHOSEN, ADVANTAGES) == []


def test_parts_that_other_rows_would_choose_are_let_be_in_runs_and_ensembles():
    def models(seed):
        return {"swing": layer(seed), "balance": layer(seed + 1), "rest": layer(seed + 2)}

    step = wg.TrainStep(by_options, models(0), wg.optim.SGD(0.1), compiled=False)
    assert warned(lambda: step.run(*BATCH, batch_size=4, epochs=2)) == []
    members = wg.Ensemble(by_options, models, wg.optim.SGD(0.1), members=2, compiled=False)
    own = wg.train.each(np.stack([X, X + 1]))
    assert warned(lambda: [members(own, CHOSEN, ADVANTAGES) for _ in range(4)]) == []


def test_a_part_that_cancels_is_told_whatever_is_chosen():
    def cancels(m, x, chosen, adv):
        kept = wg.where(x[:, 2] > 9, 0.0, wg.relu(m["pi"](x))[:, 0])
        return ppo(m, x, chosen, adv) + wg.mean(kept - kept)

    (told,) = called(cancels, agent(), *BATCH)
    assert "every parameter in 'pi' was exactly 0" in str(told.message)


def test_terms_that_begin_later_are_let_be():
    def annealed(m, x, chosen, adv, weight):
        return value_loss(m, x, adv) - wg.mean(weight * Categorical(m["pi"](x)).log_prob(chosen))

    def delayed(m, x, chosen, adv, count):
        return annealed(m, x, chosen, adv, wg.where(count > 100, 1.0, 0.0))

    assert called(annealed, agent(), *BATCH, 0.0) == []
    assert called(annealed, agent(), *BATCH, np.zeros(16)) == []  # no rewards yet
    step = wg.TrainStep(delayed, agent(), wg.optim.SGD(0.1), compiled=False)
    assert warned(lambda: [step(*BATCH, k) for k in range(1, 6)]) == []


def test_frozen_and_accumulated_and_skipped_ones_are_let_be():
    frozen = {"pi.*": None, "*": wg.optim.SGD(0.1)}
    assert called(ppo, agent(), *BATCH, optimizer=frozen) == []
    assert called(ppo, agent(), *BATCH, accumulate=2) == []

    def broken(m, x, chosen, adv):
        return ppo(m, x, chosen, adv) + value_loss(m, x, np.inf)

    told = called(broken, agent(), *BATCH, nonfinite="skip")
    assert UnreachedWarning not in [each.category for each in told]


def test_single_arrays_are_let_be():
    def dead(m, x, y):
        hidden = wg.relu(x @ m["w1"] + m["b1"])
        return wg.mean((hidden @ m["w2"] + m["b2"] - y) ** 2)

    model = {"w1": np.ones((4, 3)), "b1": np.full(3, -99.0), "w2": np.ones(3), "b2": np.zeros(1)}
    assert called(dead, model, X, ADVANTAGES) == []

    def preferred(m, x, y):
        return wg.mean(wg.softplus(-(x @ m["w"] + m["b"] - (wg.flip(x, 0) @ m["w"] + m["b"]))))

    assert called(preferred, {"w": np.ones(4), "b": np.zeros(1)}, X, ADVANTAGES) == []
