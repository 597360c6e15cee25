"""Draws of what is NaN or no probability: compiled programs refuse it, as NumPy does."""

import numpy as np
import pytest

import wengert as wg

KEY = wg.random.key(0)
NAN, NEVER = np.nan, -np.inf


@pytest.fixture(scope="module")
def classes():
    return wg.compile(lambda key, logits: wg.random.categorical(key, logits, (4, 3)))


@pytest.mark.parametrize("row", [[0.0, NAN, 1.0], [NEVER, NEVER, NEVER], [NAN, NEVER, NEVER]])
def test_logits_that_draw_nothing_are_refused(classes, row):
    logits = np.zeros((3, 3))
    assert np.array_equal(classes(KEY, logits), wg.random.categorical(KEY, logits, (4, 3)))
    logits[1] = [NEVER, 0.0, NEVER]
    assert (classes(KEY, logits)[:, 1] == 1).all()
    logits[2] = row
    for call in (lambda: classes(KEY, logits), lambda: wg.random.categorical(KEY, logits)):
        with pytest.raises(ValueError, match="categorical: logits hold NaN"):
            call()


def test_a_bound_function_and_a_loop_refuse_them():
    step = wg.TrainStep(lambda w, x: wg.mean((x @ w) ** 2), np.eye(2), wg.optim.SGD(0.1))
    act = step.bind(lambda w, x, rng: wg.distributions.Categorical(x @ w).sample(rng))
    keys = wg.random.split(KEY, 3)
    walk = wg.compile(
        lambda keys, x: wg.scan(lambda c, k: (c, wg.random.categorical(k, c)), x, keys)
    )
    for call, x in ((act, np.ones((3, 2))), (lambda x: walk(keys, x), np.ones(2))):
        call(x)
        with pytest.raises(ValueError, match="categorical: logits hold NaN"):
            call(x * NAN)


def test_the_loss_of_a_step_looks_at_its_own_numbers():
    def loss(w, x, rng):
        return wg.mean((x @ w) ** 2) + 0 * wg.mean(rng.categorical(x @ w).astype(float))

    step = wg.TrainStep(loss, np.eye(2), wg.optim.SGD(0.1), nonfinite="skip")
    step(np.full((3, 2), NAN))
    assert step.last.skipped


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("p", [[0.5, NAN, 0.5], [0.6, -0.1, 0.5], [0.5, 0.5, 0.5]])
def test_probabilities_of_a_choice_are_looked_at(p, replace):
    draw = wg.compile(lambda key, p: wg.random.choice(key, 3, (2,), replace=replace, p=p))
    fair = np.array([0.5, 0.0, 0.5])
    assert np.array_equal(draw(KEY, fair), wg.random.choice(KEY, 3, (2,), replace=replace, p=fair))
    with pytest.raises(ValueError, match="choice: p holds NaN or a negative number, or its sum"):
        draw(KEY, np.array(p))


def test_a_probability_of_true_is_looked_at():
    draw = wg.compile(lambda key, p: wg.random.bernoulli(key, p, (64,)))
    for p in (0.3, np.float32(0.3), np.full(64, 0.3)):
        assert np.array_equal(draw(KEY, p), wg.random.bernoulli(KEY, p, (64,)))
    assert draw(KEY, np.full(64, 1 + 1e-9)).all()  # rounded
    for p in (NAN, -0.1, 1.1):
        with pytest.raises(ValueError, match="bernoulli: p holds NaN, or what is not between"):
            draw(KEY, p)
