"""Steps whose models have a network in common: each trains a copy of it, and says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, warned
from wengert.errors import CopiedWarning


def loss(m, x):
    return wg.mean(m["head"](m["encoder"](x)) ** 2)


def network(seed):
    return wg.nn.Linear(3, 3, seed=seed, dtype=np.float64)


def step_of(encoder, seed, optimizer=None):
    model = {"encoder": encoder, "head": network(seed)}
    return wg.TrainStep(loss, model, optimizer or wg.optim.SGD(0.01))


def by_calls(*steps):
    for _ in range(4):
        for step in steps:
            step(X)


def by_runs(*steps):
    for _ in range(3):
        for step in steps:
            step.run(X, epochs=1, batch_size=4)


@pytest.mark.parametrize("train", [by_calls, by_runs])
def test_steps_that_take_turns_and_share_a_network_are_told(train):
    encoder = network(0)
    actor, critic = step_of(encoder, 1), step_of(encoder, 2)
    (found,) = warned(lambda: train(actor, critic))
    assert found.category is CopiedWarning
    assert "'encoder.weight' of the model that it was made with, and 1 more" in str(found.message)


def test_networks_that_begin_alike_and_are_trained_one_after_the_other_are_let_pass():
    encoder = network(0)
    first, second = step_of(encoder, 1), step_of(encoder, 2)
    assert warned(lambda: [by_calls(first), by_calls(second)]) == []


def test_one_model_trained_twice_and_a_part_of_it_alone_are_let_pass():
    model = {"encoder": network(0), "head": network(1)}
    steps = [wg.TrainStep(loss, model, wg.optim.SGD(0.01)) for _ in range(2)]
    part = {"encoder": model["encoder"]}
    steps.append(wg.TrainStep(lambda m, x: wg.mean(m["encoder"](x)), part, wg.optim.SGD(0.01)))
    assert warned(lambda: by_calls(*steps)) == []


def test_a_frozen_network_may_be_in_several():
    encoder, frozen = network(0), {"encoder.*": None, "*": wg.optim.SGD(0.01)}
    steps = [step_of(encoder, seed, frozen) for seed in (1, 2)]
    assert warned(lambda: by_calls(*steps)) == []


def test_copies_are_let_pass():
    encoder = network(0)
    steps = [step_of(wg.tree.copy(encoder), seed) for seed in (1, 2)]
    assert warned(lambda: by_calls(*steps)) == []


def test_parts_that_one_step_trains_and_the_other_has_frozen_are_told():
    model = {"encoder": network(0), "head": network(1)}
    of_one = {"encoder.*": wg.optim.SGD(0.01), "*": None}
    of_other = {"head.*": wg.optim.SGD(0.01), "*": None}
    steps = [wg.TrainStep(loss, model, each) for each in (of_one, of_other)]
    (found,) = warned(lambda: by_calls(*steps))
    assert found.category is CopiedWarning
    assert "'head.weight' of the model that it was made with, and 1 more, are frozen here" in str(
        found.message
    )


def test_parts_that_are_written_into_the_other_step_are_let_pass():
    model = {"encoder": network(0), "head": network(1)}
    parts = ("encoder", "head")
    one, other = (
        wg.TrainStep(loss, model, {f"{part}.*": wg.optim.SGD(0.01), "*": None}) for part in parts
    )

    def take_turns():
        for _ in range(4):
            one(X)
            other.model["encoder"].weight[...] = one.model["encoder"].weight
            other(X)
            one.model["head"].weight[...] = other.model["head"].weight

    assert warned(take_turns) == []


def test_a_network_frozen_for_comparison_is_let_pass():
    model = {"encoder": network(0), "head": network(1)}
    probe = wg.TrainStep(loss, model, {"encoder.*": None, "*": wg.optim.SGD(0.01)})
    whole = wg.TrainStep(loss, model, wg.optim.SGD(0.01))
    assert warned(lambda: by_calls(probe, whole)) == []


# A loss for each part of one model.


def agent():
    return {"actor": network(0), "critic": network(1)}


def of_actor(m, x):
    return wg.mean(m["actor"](x) ** 2)


def of_critic(m, x):
    return wg.mean((m["critic"](x) - 1.0) ** 2)


def with_a_baseline(m, x):
    return wg.mean(m["actor"](x) * wg.stop_gradient(m["critic"](x)))


def steps_of(model, *losses, optimizer=None):
    return [wg.TrainStep(each, model, optimizer or wg.optim.SGD(0.01)) for each in losses]


def value(m, x):
    return m["critic"](x)


def copied(call):
    return [str(each.message) for each in warned(call) if each.category is CopiedWarning]


@pytest.mark.parametrize("train", [by_calls, by_runs])
def test_a_part_that_is_bound_in_the_step_that_does_not_train_it_is_told(train):
    model = agent()
    actor, critic = steps_of(model, of_actor, of_critic)
    actor.bind(value)(X)
    (told,) = copied(lambda: train(actor, critic))
    assert "'critic.weight' of the model that it was made with, and 1 more, get no gradient" in told


def test_it_is_told_where_the_function_comes_after_the_training_and_the_model_is_gone():
    model = agent()
    (actor,) = steps_of(model, of_actor)
    critic = wg.TrainStep(lambda c, x: wg.mean(c(x) ** 2), model["critic"], wg.optim.SGD(0.01))
    del model
    assert copied(lambda: by_calls(actor, critic)) == []
    assert len(copied(lambda: actor.bind(value)(X))) == 1
    assert copied(lambda: [actor.bind(lambda m, x: value(m, x))(X), by_calls(actor, critic)]) == []


def test_a_frozen_part_that_the_loss_reads_is_told():
    model = agent()
    (actor,) = steps_of(
        model, with_a_baseline, optimizer={"critic.*": None, "*": wg.optim.SGD(0.01)}
    )
    (critic,) = steps_of(model, of_critic)
    (told,) = copied(lambda: by_calls(actor, critic))
    assert "are frozen here, and another step trains them" in told


def test_losses_with_a_body_in_common_are_told():
    model = agent() | {"body": network(2)}
    steps = steps_of(
        model,
        lambda m, x: of_actor(m, m["body"](x)),
        lambda m, x: of_critic(m, m["body"](x)),
    )
    (told,) = copied(lambda: by_calls(*steps))
    assert "'body.weight' of the model that it was made with, and 1 more, are part of" in told


def test_parts_that_are_read_in_the_step_that_trains_them_are_let_pass():
    model = agent()
    actor, critic = steps_of(model, of_actor, of_critic)
    act, judge = actor.bind(lambda m, x: m["actor"](x)), critic.bind(value)
    assert warned(lambda: [by_calls(actor, critic), act(X), judge(X), by_runs(actor, critic)]) == []


def test_parts_that_are_given_live_are_let_pass():
    def deceives(m, other, x):
        return wg.mean(other(m["actor"](x)))

    model = agent()  # a generator and its discriminator
    generator, discriminator = steps_of(model, deceives, of_critic)

    def train():
        for _ in range(4):
            discriminator(generator.bind(lambda m, x: m["actor"](x))(X))
            generator(discriminator.model["critic"], X)

    assert warned(train) == []


def of_judge(m, maker, z):
    return wg.mean((m["judge"](maker(z)) - 1.0) ** 2)


def of_judge_with_decay(m, maker, z):
    return of_judge(m, maker, z) + 0.01 * sum(wg.sum(x**2) for x in wg.tree.leaves(m))


def of_maker(m, judge, z):
    return wg.mean(judge(m["maker"](z)) ** 2)


@pytest.mark.parametrize("judges", [of_judge, of_judge_with_decay])
def test_parts_that_each_step_has_frozen_and_is_given_live_are_let_pass(judges):
    model = {"maker": network(0), "judge": network(1)}
    maker, judge = (
        wg.TrainStep(each, model, {f"{part}.*": wg.optim.SGD(0.01), "*": None})
        for each, part in ((of_maker, "maker"), (judges, "judge"))
    )

    def train():
        for _ in range(4):
            judge(maker.model["maker"], X)
            maker(judge.model["judge"], X)

    assert warned(train) == []


def test_one_of_two_frozen_parts_that_is_given_live_leaves_the_other_to_be_told():
    model = {"maker": network(0), "judge": network(1)}
    maker, judge = (
        wg.TrainStep(each, model, {f"{part}.*": wg.optim.SGD(0.01), "*": None})
        for each, part in (
            (lambda m, z: of_maker(m, m["judge"], z), "maker"),
            (of_judge, "judge"),
        )
    )

    def train():
        for _ in range(4):
            judge(maker.model["maker"], X)
            maker(X)

    (told,) = copied(train)
    assert "'judge.weight' of the model that it was made with, and 1 more" in told


@pytest.mark.parametrize("shares", [False, True])
def test_models_that_are_assigned_in_every_turn_are_let_pass(shares):
    def body(m, x):
        return m["body"](x) if shares else x

    def take_turns(step, other, assigns):
        for _ in range(2):
            for each, next_one in ((step, other), (other, step)):
                each(X)
                if assigns:
                    next_one.model = each.model

    for assigns in (False, True):
        model = agent() | ({"body": network(2)} if shares else {})
        steps = steps_of(
            model,
            lambda m, x: with_a_baseline(m, body(m, x)),
            lambda m, x: of_critic(m, body(m, x)),
        )
        told = copied(lambda steps=steps, assigns=assigns: take_turns(*steps, assigns))
        assert bool(told) is not assigns


def test_comparisons_of_losses_of_one_model_are_let_pass():
    def together(m, x):
        return of_actor(m, x) + of_critic(m, x)

    model = agent()
    steps = steps_of(model, together, lambda m, x: 2.0 * together(m, x), of_critic)
    for step in steps:
        step.bind(value)(X)
    assert warned(lambda: by_calls(*steps)) == []
    apart = steps_of(agent(), of_actor, of_critic)
    apart[0].bind(value)(X)
    assert warned(lambda: [by_calls(each) for each in apart]) == []


# An actor's loss that goes through the critic, which nothing freezes there.


def judged(m, x, u):
    return m["critic"](wg.concat([x, u], axis=1))


def of_actor_through_critic(m, x):
    return -wg.mean(judged(m, x, m["actor"](x)))


def of_critic_alone(critic, x, u):
    return wg.mean((critic(wg.concat([x, u], axis=1)) - 1.0) ** 2)


def of_critic_with_target(m, x, u):
    target = wg.stop_gradient(judged(m, x, m["actor"](x)))
    return wg.mean((judged(m, x, u) - 0.9 * target) ** 2)


def through_steps(critic_loss, alone=False):
    critic = wg.nn.Mlp((6, 4, 1), dtype=np.float64)
    model = {"actor": network(0), "critic": critic}
    actor = wg.TrainStep(of_actor_through_critic, model, wg.optim.SGD(0.01))
    return actor, wg.TrainStep(critic_loss, critic if alone else model, wg.optim.SGD(0.01))


CRITICS = {
    "of the agent": (lambda m, x, u: of_critic_alone(m["critic"], x, u), False),
    "with a target": (of_critic_with_target, False),
    "of the critic alone": (of_critic_alone, True),
}


@pytest.mark.parametrize("actor_first", [False, True])
@pytest.mark.parametrize("name", CRITICS)
def test_an_actor_that_trains_a_critic_of_its_own_is_told(name, actor_first):
    actor, critic = through_steps(*CRITICS[name])

    def train():
        for turn in range(6):
            if turn or not actor_first:
                critic(X, X)
            actor(X)

    (told,) = copied(train)
    assert "'critic.layers.0.weight' of the model that it was made with, and 3 more, are" in told
    assert "step(other.model, …)" in told


def test_an_actor_that_is_given_the_numbers_of_the_critic_in_every_turn_is_let_pass():
    actor, critic = through_steps(*CRITICS["of the critic alone"])

    def train():
        for _ in range(6):
            critic(X, X)
            pairs = zip(
                wg.tree.leaves(actor.model["critic"]), wg.tree.leaves(critic.model), strict=True
            )
            for x, y in pairs:
                x[...] = y
            actor(X)

    assert warned(train) == []


def test_a_whole_network_beside_its_last_layer_alone_is_let_pass():
    """A probe: it has the same loss, of features that were computed before, or of a body that is
    kept as it is.
    """

    def whole(m, x):
        return wg.mean((m["head"](m["encoder"](x)) - 1.0) ** 2)

    def kept(m, x):
        return wg.mean((m["head"](wg.stop_gradient(m["encoder"](x))) - 1.0) ** 2)

    model = {"encoder": network(0), "head": network(1)}
    steps = [wg.TrainStep(each, model, wg.optim.SGD(0.01)) for each in (whole, kept)]
    steps.append(
        wg.TrainStep(
            lambda head, x: wg.mean((head(x) - 1.0) ** 2), model["head"], wg.optim.SGD(0.01)
        )
    )
    assert copied(lambda: by_calls(*steps)) == []


def test_variants_of_one_start_that_are_trained_in_turns_are_let_pass():
    """With the same parameters, on the same data or on other data."""
    model = {"encoder": network(0), "head": network(1)}
    one, other = (wg.TrainStep(loss, model, wg.optim.SGD(rate)) for rate in (0.01, 0.02))
    assert warned(lambda: by_calls(one, other)) == []
    assert warned(lambda: [(one(X), other(2.0 * X)) for _ in range(4)]) == []


# A part that was trained before, and is frozen now.


def pretrained(encoder):
    """A step that has trained an encoder, under another head."""
    model = {"encoder": encoder, "decoder": wg.nn.Linear(3, 2, seed=9, dtype=np.float64)}
    step = wg.TrainStep(
        lambda m, x: wg.mean(m["decoder"](wg.tanh(m["encoder"](x))) ** 2),
        model,
        wg.optim.SGD(0.01),
    )
    step.run(X, epochs=2, batch_size=4)
    return step


FROZEN = {"encoder.*": None, "*": wg.optim.SGD(0.01)}


def by_epochs(step):
    for _ in step.epochs(X, epochs=2, batch_size=4):
        pass


@pytest.mark.parametrize("train", [by_calls, by_runs, by_epochs])
def test_an_encoder_that_another_step_has_trained_and_that_is_frozen_as_drawn_is_told(train):
    encoder = network(0)
    before = [pretrained(encoder), pretrained(encoder)]
    head = step_of(encoder, 1, FROZEN)
    (told,) = copied(lambda: train(head))
    assert "'encoder.weight' of the model that it was made with, and 1 more, are frozen" in told
    assert 'pretrained.model["encoder"]' in told
    assert copied(lambda: train(head)) == []
    assert len(before) == 2


@pytest.mark.parametrize("train", [by_calls, by_runs, by_epochs])
def test_frozen_encoders_that_are_trained_or_meant_as_drawn_are_let_pass(train):
    encoder = network(0)
    before = pretrained(encoder)
    heads = [step_of(each, 1, FROZEN) for each in (before.model["encoder"], wg.tree.copy(encoder))]
    heads.append(step_of(encoder, 1, FROZEN))
    heads[-1].model = {**heads[-1].model, "encoder": before.model["encoder"]}
    for head in heads:
        assert copied(lambda head=head: train(head)) == []
    for x, y in zip(wg.tree.leaves(encoder), wg.tree.leaves(before.model["encoder"]), strict=True):
        x[...] = y
    assert copied(lambda: train(step_of(encoder, 1, FROZEN))) == []


def test_a_frozen_encoder_that_is_written_after_each_call_is_let_pass():
    encoder = network(0)
    before, head = pretrained(encoder), step_of(encoder, 1, FROZEN)

    def train():
        for _ in range(4):
            before(X)
            head(X)
            head.model["encoder"].weight[...] = before.model["encoder"].weight

    assert copied(train) == []


def test_frozen_encoders_that_are_given_live_or_not_read_are_let_pass():
    encoder = network(0)
    before = pretrained(encoder)
    model = {"encoder": encoder, "head": network(1)}
    live = wg.TrainStep(
        lambda m, e, x: wg.mean((m["head"](e(x)) + m["encoder"](x)) ** 2), model, FROZEN
    )
    unread = wg.TrainStep(lambda m, x: wg.mean(m["head"](x) ** 2), model, FROZEN)
    assert copied(lambda: [live(before.model["encoder"], X) for _ in range(4)]) == []
    assert copied(lambda: by_calls(unread)) == []


def test_frozen_and_trained_encoders_of_models_of_one_form_are_compared():
    encoder = network(0)
    whole = step_of(encoder, 1)
    by_calls(whole)
    assert copied(lambda: by_calls(step_of(encoder, 2, FROZEN))) == []


# A part that was trained before, and begins anew.


@pytest.mark.parametrize("train", [by_calls, by_runs, by_epochs])
def test_an_encoder_that_another_step_had_trained_is_told_where_it_begins_as_drawn(train):
    encoder = network(0)
    before = pretrained(encoder)
    tuned = step_of(encoder, 1)
    (told,) = copied(lambda: train(tuned))
    assert (
        "'encoder.weight' of the model that it was made with, and 1 more, had been trained" in told
    )
    assert "begin as they were drawn" in told
    assert 'pretrained.model["encoder"]' in told
    assert copied(lambda: train(tuned)) == []
    assert copied(lambda: by_calls(before, tuned)) == []  # nor are the turns


@pytest.mark.parametrize("train", [by_calls, by_runs, by_epochs])
def test_encoders_that_go_on_or_are_meant_as_drawn_are_let_pass(train):
    encoder = network(0)
    not_yet = step_of(encoder, 1)
    before = pretrained(encoder)
    tuned = [not_yet, *(step_of(x, 1) for x in (before.model["encoder"], wg.tree.copy(encoder)))]
    for each in tuned:
        assert copied(lambda each=each: train(each)) == []


@pytest.mark.parametrize("train", [by_calls, by_runs])
def test_an_encoder_that_is_assigned_before_the_first_call_is_let_pass(train):
    encoder = network(0)
    before, tuned = pretrained(encoder), step_of(encoder, 1)
    tuned.evaluate(loss, X, batch_size=4)
    tuned.model = {**tuned.model, "encoder": before.model["encoder"]}
    assert copied(lambda: train(tuned)) == []


def test_variants_that_begin_with_one_encoder_and_have_one_loss_are_let_pass():
    encoder = network(0)
    for size in (2, 3, 4):
        head = wg.nn.Linear(3, size, dtype=np.float64)
        step = wg.TrainStep(loss, {"encoder": encoder, "head": head}, wg.optim.SGD(0.01))
        assert copied(lambda step=step: by_runs(step)) == []


def test_two_losses_of_models_of_one_form_are_let_pass():
    encoder = network(0)
    by_calls(step_of(encoder, 1))
    model = {"encoder": encoder, "head": network(2)}
    other = wg.TrainStep(lambda m, x: loss(m, x) + 1.0, model, wg.optim.SGD(0.01))
    assert copied(lambda: by_calls(other)) == []


def test_steps_in_turns_of_which_one_was_made_later_are_told_once():
    encoder = network(0)
    before = pretrained(encoder)
    assert len(copied(lambda: by_calls(before, step_of(encoder, 1)))) == 1
