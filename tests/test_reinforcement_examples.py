"""The environments follow their equations; PPO, SAC, DQN and a population learn in them, the same
each time.
"""

import dataclasses
import importlib
from xml.etree import ElementTree

import numpy as np
import pytest
from example_runs import SVG, as_a_script, points, run

__all__ = ["as_a_script"]  # a fixture


def example(name):
    return importlib.import_module(name)


LITTLE = {
    "ppo": {"environments": 4, "horizon": 64, "rounds": 3, "batch": 64, "width": 8},
    "sac": {"steps": 1000, "first": 960, "batch": 16, "width": 8},
    "dqn": {"steps": 1200, "first": 960, "batch": 16, "width": 8},
}


# Environments


def energies(state):
    """Of a pendulum, kinetic and potential: a rod of mass 1 and length 1, held at its end."""
    angle, speed = state.T
    return speed**2 / 6 + 5 * np.cos(angle)


def test_a_pendulum_that_is_left_alone_keeps_its_energy():
    world = example("environments").Pendulum(20, seed=0)
    world._state[:, 1] = 0.0  # slow enough for its greatest speed
    before = energies(world._state)
    world.SECONDS = 0.001
    for _ in range(150):
        reached = world.step(np.zeros((20, 1)))
    np.testing.assert_allclose(energies(world._state), before, atol=0.05)
    assert np.abs(world._state[:, 1]).max() > 0.5
    assert not reached.ended.any()


def cart_pole_energy(world):
    """A cart, and a rod of uniform mass whose foot is on it."""
    _, speed, angle, turning = world._state.T
    half, pole, cart = world.HALF_LENGTH, world.POLE, world.CART
    sideways = speed + half * turning * np.cos(angle)
    upwards = half * turning * np.sin(angle)
    kinetic = cart * speed**2 + pole * (sideways**2 + upwards**2) + pole * (half * turning) ** 2 / 3
    return kinetic / 2 + pole * world.GRAVITY * half * np.cos(angle)


def test_a_cart_that_is_not_pushed_keeps_its_energy():
    world = example("environments").CartPole(20, seed=0)
    world.FORCE, world.SECONDS = 0.0, 1e-4
    world._state *= 3
    before = cart_pole_energy(world)
    for _ in range(400):
        world.step(np.zeros(20, int))
    np.testing.assert_allclose(cart_pole_energy(world), before, atol=1e-5)


def test_a_push_works_on_the_cart():
    world = example("environments").CartPole(2, seed=0)
    world._state[:] = 0.0
    before = cart_pole_energy(world)
    world.SECONDS = 2e-5
    for _ in range(400):
        world.step(np.array([0, 1]))
    np.testing.assert_allclose(world._state[0], -world._state[1], atol=1e-12)
    work = 10 * world._state[1, 0]  # force times way
    np.testing.assert_allclose(cart_pole_energy(world) - before, work, rtol=1e-2)


def test_episodes_end_and_begin_anew():
    world = example("environments").CartPole(3, seed=0)
    for _ in range(30):  # always to the right: it falls within some ten steps
        reached = world.step(np.ones(3, int))
        fell = np.abs(reached.observation[:, 2]) > world.STEEPEST
        np.testing.assert_array_equal(reached.ended, fell)
        np.testing.assert_array_equal(reached.over, fell)
        assert (np.abs(world.observation[fell]) <= 0.05).all()
        np.testing.assert_array_equal(world.observation[~fell], reached.observation[~fell])
    assert len(world.returns) >= 6
    assert all(8 <= each <= 12 for each in world.returns)
    assert world.steps == 90
    assert world.latest.min() >= 8
    assert set(world.latest) <= set(world.returns[-6:])


def test_an_episode_that_runs_out_of_time_is_over_and_not_ended():
    environments = example("environments")
    world = environments.Pendulum(2, seed=0)
    for _ in range(200):
        reached = world.step(np.zeros((2, 1)))
    assert reached.over.all()
    assert not reached.ended.any()
    assert world.over_at == [400, 400]
    still = environments.mean_return(environments.Pendulum(2, seed=0), lambda x: np.zeros((2, 1)))
    assert still == pytest.approx(np.mean(world.returns))


# Learning


def test_advantages_are_those_of_the_definition():
    ppo = example("ppo")
    agent = ppo.new_agent(ppo.Settings(width=8))
    rng = np.random.default_rng(0)
    seen, reached = rng.normal(size=(2, 7, 3, 4)).astype(np.float32)
    reward = rng.normal(size=(7, 3)).astype(np.float32)
    over = (rng.random((7, 3)) < 0.4).astype(np.float32)
    ended = over * (rng.random((7, 3)) < 0.5)
    advantage, target = ppo.estimate(agent, seen, reached, reward, ended, over)
    value, following = agent.critic(seen)[..., 0], agent.critic(reached)[..., 0]
    expected, later = np.zeros((7, 3)), np.zeros(3)
    for i in reversed(range(7)):
        surprise = reward[i] + 0.99 * np.where(ended[i], 0, following[i]) - value[i]
        later = expected[i] = surprise + 0.99 * 0.95 * np.where(over[i], 0, later)
    np.testing.assert_allclose(advantage, expected, atol=1e-5)
    np.testing.assert_allclose(target, expected + value, atol=1e-5)


def test_each_part_of_the_loss_of_sac_teaches_its_own():
    """The temperature falls where actions are more random than is asked for, and rises otherwise;
    critics learn towards the target alone, whatever the actor does.
    """
    sac = example("sac")
    import wengert as wg

    agent = sac.new_agent(sac.Settings(width=8))
    rows = np.random.default_rng(0).normal(size=(32, 9)).astype(np.float32)
    rows[:, -4] = 1.0  # all of them end, so that targets are rewards

    def gradient(agent):
        rng = wg.random.Generator(wg.random.key(0))
        return wg.grad(lambda agent: sac.loss(agent, agent, rows, rng))(agent)

    found = gradient(agent)
    reward, given = rows[:, 4], rows[:, :4]
    for critic, slopes in zip(agent.critics, found.critics, strict=True):
        alone = wg.grad(lambda c: wg.mean((c(given)[:, 0] - reward) ** 2))(critic)
        for one, other in zip(wg.tree.leaves(slopes), wg.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    agent.actor.weights(2)[...] = 0.0
    agent.actor.biases(2)[...] = 0.0, -0.3  # a mean, and the logarithm of a standard deviation
    assert gradient(agent).log_temperature > 0  # almost uniform
    agent.actor.biases(2)[...] = 0.0, -4.0
    assert gradient(agent).log_temperature < 0


def test_the_copy_of_dqn_is_renewed_now_and_then(monkeypatch):
    dqn = example("dqn")
    import wengert as wg

    monkeypatch.setattr(dqn, "RENEWED", 3)
    network = wg.nn.Mlp((4, 8, 2), "relu", seed=0)
    rows = np.random.default_rng(0).normal(size=(16, 11)).astype(np.float32)
    rows[:, 4] = rows[:, 4] > 0
    state = {"copy": network, "updates": np.array(0)}
    step = wg.TrainStep(dqn.loss, network, wg.optim.SGD(0.1), state=state)
    copies = []
    for _ in range(3):
        before = wg.tree.copy(step.model)
        step(rows)
        copies.append(step.state["copy"].weights(0).copy())
    np.testing.assert_array_equal(copies[1], network.weights(0))
    np.testing.assert_array_equal(copies[2], before.weights(0))
    assert not np.array_equal(copies[2], copies[1])


@pytest.mark.parametrize("name", LITTLE)
def test_the_same_seed_learns_the_same(name, capsys):
    module = example(name)
    settings = module.Settings(**LITTLE[name])
    one, again = module.train(settings), module.train(settings)
    other = module.train(dataclasses.replace(settings, seed=1))
    assert one == again
    assert one.updates > 10
    assert other.fingerprint != one.fingerprint
    assert "mean return of the last episodes" in capsys.readouterr().out


def test_ppo_learns(capsys):
    ppo = example("ppo")
    run = ppo.train(ppo.Settings(environments=8, horizon=64, rounds=20, batch=128))
    assert run.learned > 100  # at random it is 22


def test_a_program_draws_its_runs(monkeypatch, capsys, tmp_path):
    options = [f"--{name}={value}" for name, value in LITTLE["sac"].items()]
    run(monkeypatch, "sac", *options, "--runs", "2", "--picture", "new/curves.svg")
    told = capsys.readouterr().out
    assert "seed 0: mean return -" in told
    assert "seed 1: mean return -" in told
    curves = ElementTree.parse(tmp_path / "new" / "curves.svg").iter(f"{SVG}polyline")
    assert len(list(curves)) == 4  # two runs, what is called learned, and the mean


# A population


@pytest.fixture
def population():
    module, ppo = example("population"), example("ppo")
    settings = ppo.Settings(environments=2, horizon=16, rounds=4, batch=16, epochs=1, width=8)
    return module, settings


def weights_of(ensemble):
    return [step.model.policy.weights(0).copy() for step in ensemble.members]


def test_the_worst_go_on_as_copies_of_the_best(population):
    module, settings = population
    ensemble = module.new_population(8, settings)
    before, rates = (
        weights_of(ensemble),
        [step.optimizer.learning_rate for step in ensemble.members],
    )
    returns = np.array([3.0, 9.0, 1.0, 8.0, 4.0, 5.0, 6.0, 2.0])
    module.copy_the_best(ensemble, returns, np.random.default_rng(0))
    came_from = [0, 1, 3, 3, 4, 5, 6, 1]  # the second best is copied to where the worst was
    for i, found in enumerate(weights_of(ensemble)):
        np.testing.assert_array_equal(found, before[came_from[i]])
        changed = ensemble.members[i].optimizer.learning_rate / rates[came_from[i]]
        assert changed == pytest.approx(1) if came_from[i] == i else changed in (0.5, 2.0)
    assert ensemble.seeds == tuple(range(8))


def test_the_better_neighbour_goes_where_it_is_slower(population):
    module, settings = population
    ensemble = module.new_population(4, settings)
    before, rates = (
        weights_of(ensemble),
        [step.optimizer.learning_rate for step in ensemble.members],
    )
    assert rates == sorted(rates)
    first = int(np.random.default_rng(0).integers(2))
    module.change_places(ensemble, np.arange(4.0), np.random.default_rng(0))
    order = [1, 0, 3, 2] if first == 0 else [0, 2, 1, 3]
    for found, i in zip(weights_of(ensemble), order, strict=True):
        np.testing.assert_array_equal(found, before[i])
    assert rates == [step.optimizer.learning_rate for step in ensemble.members]


def test_a_population_learns_the_same_each_time(population, monkeypatch, capsys, tmp_path):
    module, _ = population
    only = {"copies of the best": module.MEETINGS["copies of the best"]}
    monkeypatch.setattr(module, "MEETINGS", only)
    options = ["--members=4", "--rounds=4", "--every=2", "--environments=2", "--horizon=16"]
    monkeypatch.setattr("sys.argv", ["population.py", *options])
    told, pictures = [], []
    for _ in range(2):
        module.main()
        told.append(capsys.readouterr().out)
        pictures.append((tmp_path / "build" / "population.svg").read_text())
    assert told[0] == told[1]
    assert "of 4 agents above 475" in told[0]
    assert pictures[0] == pictures[1]
    curves = [points(x) for x in ElementTree.fromstring(pictures[0]).iter(f"{SVG}polyline")]
    assert [len(each) for each in curves] == [4] * (1 + 4)  # returns, and the rates of all
    rates = np.array(curves[1:])[:, :, 1]
    np.testing.assert_array_equal(rates[:, 0], rates[:, 1])  # they have not met
    assert (rates[:, 1] != rates[:, 2]).sum() == 1
