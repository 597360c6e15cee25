"""What a training step says where it is given other things than it takes."""

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, NonFiniteError, ShapeError

X = np.ones((4, 3), np.float32)
NETWORK = wg.nn.Linear(3, 2, seed=0)


def loss(m, x):
    return wg.mean(m(x) ** 2)


def difference(m, x, target):
    return wg.mean((m(x) - target(x)) ** 2)


def step_of(loss=loss, optimizer=None):
    return wg.TrainStep(loss, NETWORK, optimizer or wg.optim.SGD(0.1))


def test_a_network_is_not_bound():
    step = step_of()
    for given in (NETWORK, step.model, NETWORK.__call__):
        with pytest.raises(TypeError, match=r"given Linear, a network .*lambda m, x: m\(x\)"):
            step.bind(given)
    assert step.bind(wg.nn.Linear.__call__)(X).shape == (4, 2)


def test_a_generator_that_is_left_at_none():
    sample = step_of().bind(lambda m, x, rng=None: wg.distributions.Normal(m(x), 1.0).sample(rng))
    with pytest.raises(DTypeError, match=r"None was given as the key.*rng without a default"):
        sample(X)


def test_actions_outside_of_the_support():
    def outside(m, x):
        return wg.mean(wg.distributions.TanhNormal(m(x), 1.0).log_prob(1.5))

    with pytest.raises(NonFiniteError, match=r"outside of the support: scale it .* \(-1, 1\)"):
        step_of(outside)(X)


def test_a_network_in_the_place_of_an_array():
    with pytest.raises(DTypeError, match=r"given a Linear as an operand, a network.*in its order"):
        step_of(difference)(wg.tree.copy(NETWORK), X)


def test_the_average_of_a_step_as_its_argument():
    step = step_of(difference, wg.optim.EMA(wg.optim.SGD(0.1)))
    with pytest.raises(ValueError, match="give the loss a parameter averaged"):
        step(X, step.optimizer_states["average"])


def test_networks_for_each_member_in_a_list():
    members = wg.Ensemble(difference, lambda seed: NETWORK, wg.optim.SGD(0.1), members=3)
    networks = [wg.nn.Linear(3, 2, seed=i) for i in range(3)]
    with pytest.raises(ShapeError, match=r"each\(wg.tree.map\(lambda \*x: np.stack\(x\), \*them\)"):
        members(X, wg.train.each(networks))


def test_rows_in_a_list():
    for rows in (list(np.ones((8, 3))), list(np.ones((8, 5)))):
        with pytest.raises(ShapeError, match=r"'x' is a list of 8 arrays.*np.stack"):
            step_of().run(rows, batch_size=8)


def test_functions_of_torch_on_recorded_values():
    """Torch looks for this method, and calls it in the place of its own function."""

    def with_torch(m, x):
        return type(m(x)).__torch_function__(np.mean, (), (m(x),))

    with pytest.raises(TypeError, match=r"torch.mean: given a Tensor of wengert.*functions of wg"):
        step_of(with_torch)(X)


@pytest.mark.filterwarnings("ignore::wengert.errors.SizeWarning")  # JAX asks for the rows
def test_functions_of_jax_in_a_loss_are_told_what_to_write():
    jnp = pytest.importorskip("jax.numpy")
    step = wg.TrainStep(lambda w, x: jnp.mean(x @ w), np.ones(3), wg.optim.SGD(0.1))
    with pytest.raises(TypeError) as caught:
        step(np.ones((4, 3)))
    assert any("Write it with the functions of wg" in note for note in caught.value.__notes__)
