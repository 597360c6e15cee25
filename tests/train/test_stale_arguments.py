"""Steps that are called with the network that another step was made with, and trains a copy of."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, warned
from wengert.errors import CopiedWarning


def network(seed):
    return wg.nn.Linear(3, 3, seed=seed, dtype=np.float64)


def plain(seed):
    return {"w": np.random.default_rng(seed).normal(size=(3, 3))}


def applied(net, x):
    return x @ net["w"] if isinstance(net, dict) else net(x)


def of_critic(m, x):
    return wg.mean((applied(m, x) - 1.0) ** 2)


def of_actor(m, critic, x):
    return -wg.mean(applied(critic, wg.tanh(applied(m, x))))


def of_head(m, encoder, x):
    return wg.mean(applied(m, wg.tanh(applied(encoder, x))) ** 2)


def of_student(m, teacher, x):
    return wg.mean((applied(m, x) - applied(teacher, x)) ** 2)


def step_of(loss, model, optimizer=None):
    return wg.TrainStep(loss, model, optimizer or wg.optim.SGD(0.01))


def in_turns(step, other, argument, calls=20):
    for _ in range(calls):
        other(X)
        step(argument, X)


def one_after_the_other(step, other, argument):
    other.run(X, epochs=2, batch_size=4)
    for _ in range(20):
        step(argument, X)


def told(call):
    return [str(each.message) for each in warned(call) if each.category is CopiedWarning]


# What is stale.


@pytest.mark.parametrize("made", [network, plain])
def test_a_critic_that_an_actor_is_trained_through_is_told_once(made):
    critic_net = made(1)
    critic, actor = step_of(of_critic, critic_net), step_of(of_actor, made(0))
    (text,) = told(lambda: in_turns(actor, critic, critic_net))
    name, more = ("weight", ", and 1 more") if made is network else ("w", "")
    assert (
        f"argument 1 of the call has leaf {name!r} of the model that another step was made with"
        f"{more}; that step trains a copy" in text
    )


def test_it_is_told_at_the_line_of_the_call_and_soon():
    critic_net = network(1)
    critic, actor = step_of(of_critic, critic_net), step_of(of_actor, network(0))
    (found,) = warned(lambda: in_turns(actor, critic, critic_net, calls=3))
    assert found.filename == __file__
    assert found.lineno == in_turns.__code__.co_firstlineno + 3


def test_a_critic_that_is_its_own_target_is_told_where_an_actor_is_trained_through_it():
    net = network(1)
    critic, actor = step_of(of_student, net), step_of(of_actor, network(0))
    target = net

    def train():
        nonlocal target
        for _ in range(20):
            critic(target, X + 1.0)
            actor(net, X)
            target = wg.tree.map(lambda x, y: 0.9 * x + 0.1 * y, target, critic.model)

    assert len(told(train)) == 1


def test_a_network_among_others_in_a_dict_is_told():
    nets = {"critic": network(1), "temperature": np.ones(1)}
    critic = step_of(of_critic, nets["critic"])
    actor = step_of(lambda m, nets, x: of_actor(m, nets["critic"], x), network(0))
    assert len(told(lambda: in_turns(actor, critic, nets))) == 1


@pytest.mark.parametrize("train", [in_turns, one_after_the_other])
def test_an_encoder_whose_results_the_model_is_applied_to_is_told(train):
    encoder_net = network(1)
    encoder, head = step_of(of_critic, encoder_net), step_of(of_head, network(0))
    assert len(told(lambda: train(head, encoder, encoder_net))) == 1


def of_judge(m, generator, x):
    fake = wg.stop_gradient(applied(generator, x))  # as everybody writes it
    return wg.mean(wg.softplus(-applied(m, x))) + wg.mean(wg.softplus(applied(m, fake)))


def of_q(m, actor, x):
    return wg.mean((applied(m, wg.concat([x, wg.stop_gradient(applied(actor, x))], axis=1))) ** 2)


@pytest.mark.parametrize(
    ("loss", "made", "model"),
    [
        (of_judge, network, network(0)),
        (of_judge, lambda _: wg.nn.Mlp((3, 4, 3), seed=1, dtype=np.float64), network(0)),
        (of_q, network, wg.nn.Linear(6, 1, seed=0, dtype=np.float64)),
    ],
)
def test_a_network_behind_stop_gradient_that_the_model_is_applied_to_is_told(loss, made, model):
    net = made(1)
    other, step = step_of(of_critic, net), step_of(loss, model)
    assert len(told(lambda: in_turns(step, other, net))) == 1
    assert told(lambda: in_turns(step_of(loss, model), other, other.model)) == []


def test_a_teacher_that_was_trained_before_is_told():
    teacher_net = network(1)
    teacher, student = step_of(of_critic, teacher_net), step_of(of_student, network(0))
    assert len(told(lambda: one_after_the_other(student, teacher, teacher_net))) == 1


# What is meant.


@pytest.mark.parametrize("loss", [of_actor, of_head, of_student])
@pytest.mark.parametrize("train", [in_turns, one_after_the_other])
def test_the_live_model_is_right_and_so_is_a_copy(loss, train):
    net = network(1)
    other, step = step_of(of_critic, net), step_of(loss, network(0))
    assert told(lambda: train(step, other, other.model)) == []
    assert told(lambda: train(step_of(loss, network(0)), other, wg.tree.copy(net))) == []


@pytest.mark.parametrize("loss", [of_student, of_head])
def test_a_reference_of_the_step_itself(loss):
    net = network(1)
    step, other = step_of(of_student, net), step_of(loss, network(0))

    def train():
        for _ in range(20):
            step(net, X + 1.0)
            other(net, X)  # it is one for others, too

    assert told(train) == []


@pytest.mark.parametrize("made", [network, plain])
@pytest.mark.parametrize("follows", [True, False])
def test_a_target_that_is_renewed_now_or_later(made, follows):
    target = made(1)
    online, critic = step_of(of_critic, target), step_of(of_student, made(0))

    def train():
        for _ in range(20):
            critic(target, X)
            online(X)
            for x, y in zip(wg.tree.leaves(target), wg.tree.leaves(online.model), strict=True):
                if follows:
                    x[...] = 0.9 * x + 0.1 * y

    assert warned(train) == []


def test_a_target_that_the_model_is_applied_to_behind_stop_gradient():
    """The old actor of a critic's bootstrap may be renewed later."""

    def of_bootstrap(m, actor, x):
        return wg.mean((applied(m, x) - wg.stop_gradient(applied(m, applied(actor, x)))) ** 2)

    net = network(1)
    actor, critic = step_of(of_critic, net), step_of(of_bootstrap, network(0))
    assert told(lambda: in_turns(critic, actor, net)) == []


def test_a_critic_that_is_written_to_follows_its_step():
    net = network(1)
    critic, actor = step_of(of_critic, net), step_of(of_actor, network(0))

    def train():
        for _ in range(20):
            critic(X)
            for x, y in zip(wg.tree.leaves(net), wg.tree.leaves(critic.model), strict=True):
                x[...] = y
            actor(net, X)

    assert warned(train) == []


def test_both_the_original_and_the_live_one():
    net = network(1)
    critic = step_of(of_critic, net)
    actor = step_of(lambda m, a, b, x: of_actor(m, a, x) - of_actor(m, b, x), network(0))

    def train():
        for _ in range(20):
            critic(X)
            actor(net, critic.model, X)

    assert warned(train) == []


def test_a_network_that_is_not_trained_by_the_other_step():
    model = {"body": network(1), "head": network(2)}
    frozen = {"body.*": None, "*": wg.optim.SGD(0.01)}
    other = step_of(lambda m, x: wg.mean(m["head"](m["body"](x)) ** 2), model, frozen)
    actor = step_of(of_actor, network(0))
    assert told(lambda: in_turns(actor, other, model["body"])) == []


def test_a_pretrained_network_of_which_a_copy_was_tuned_before():
    pretrained = wg.tree.copy(network(1))
    tuned = step_of(of_critic, pretrained)
    for loss in (of_actor, of_head, of_student):
        step = step_of(loss, network(0))
        assert told(lambda step=step: one_after_the_other(step, tuned, pretrained)) == []


def test_a_probe_of_pretrained_features_beside_their_tuning():
    pretrained = wg.tree.copy(network(1))
    tuned, probe = step_of(of_critic, pretrained), step_of(of_head, network(0))
    assert told(lambda: in_turns(probe, tuned, pretrained)) == []


def test_a_step_may_be_recorded_with_fewer_arguments_afterwards():
    def loss(m, x, target=None):
        return of_critic(m, x) if target is None else of_student(m, target, x)

    net = network(1)
    critic, step = step_of(of_critic, net), step_of(loss, network(0))
    critic(X)
    step(X, net)
    assert warned(lambda: step.explain(X)) == []


def test_calls_are_quick_again_where_there_is_nothing_to_look_at():
    step = step_of(of_student, wg.tree.copy(network(0)))
    step(network(1), X)
    assert step._engine.given.stale_arguments.is_over


# What a loss reads from outside.


def test_a_teacher_from_outside_that_another_step_has_trained_is_told():
    teacher = network(0)
    pretrained = step_of(of_critic, teacher)
    pretrained.run(X, epochs=2, batch_size=4)

    def of_student(m, x):
        return wg.mean((m(x) - teacher(x)) ** 2)

    def of_head(m, x):
        return wg.mean(m(wg.stop_gradient(teacher(x))) ** 2)

    for loss in (of_student, of_head):
        (text,) = told(lambda loss=loss: step_of(loss, network(1))(X))
        assert "reads leaf 'weight' of the model that another step was made with, from" in text
        assert "step(other_step.model, …)" in text


def test_networks_from_outside_that_are_no_reason_to_warn():
    def student_of(teacher):
        return lambda m, x: wg.mean((m(x) - teacher(x)) ** 2)

    original = network(0)
    step = step_of(of_critic, original)
    step.run(X, epochs=2, batch_size=4)
    kept, trained, untouched, waiting = (
        wg.tree.copy(original),
        wg.tree.copy(step.model),
        network(2),
        network(3),
    )
    other = step_of(of_critic, waiting)  # made, and not trained
    for teacher in (kept, trained, untouched, waiting):
        assert not told(lambda t=teacher: step_of(student_of(t), network(1))(X))
    assert other.last is None or not other.last.index
