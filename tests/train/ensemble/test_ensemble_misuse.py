"""What is refused, in words, with nothing changed."""

import copy
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import (
    AlikeWarning,
    CopiedWarning,
    OptimError,
    ShapeError,
    StackedWarning,
    TraceError,
)

from .populations import MEMBERS, X, Y, ensemble, forward, init, loss, prints


def refused(match, kind=Exception, **given):
    arguments = {"models": init, "optimizer": wg.optim.SGD(0.1)} | given
    models, optimizer = arguments.pop("models"), arguments.pop("optimizer")
    with pytest.raises(kind, match=match):
        wg.Ensemble(loss, models, optimizer, **arguments)


def test_members_that_do_not_fit():
    refused("members=0 was given; it is a whole number", members=0)
    refused("Say members=64", ValueError)
    refused("given dict as the models", TypeError, models={"w": X})
    refused(
        "given different numbers of members \\(members: 3, models: 2",
        models=[init(0)] * 2,
        members=3,
    )
    refused("pass a function: lambda seed", models=[init(0)] * 2, members=3)
    refused("given no members", models=[])
    refused("seeds: 2", seeds=[1, 2], members=3)
    refused("seeds\\[1\\] is -1", seeds=[1, -1])
    refused("seeds=7 was given", TypeError, seeds=7)
    refused("optimizers: 2", optimizer=wg.optim.SGD([0.1, 0.2]), members=3)
    refused("optimizers: 2", optimizer={"*": [wg.optim.SGD(0.1)] * 2}, members=3)
    refused("clip_norm: 2", clip_norm=[1.0, 2.0], members=3)
    refused("clip_norm was given with shape", clip_norm=np.ones((2, 2)), members=4)
    refused("clip_norm=-1.0 was given", clip_norm=[1.0, -1.0], members=2)
    refused("member 1 has no limit, and member 0 clip_norm", clip_norm=[1.0, None], members=2)


def test_models_that_differ():
    refused("member 1: its model is", ShapeError, models=[init(0), init(0)[:1]])
    refused(
        "member 2: leaf '0.w' of the model is float32\\(3, 4\\)",
        ShapeError,
        models=[init(0), init(1), init(1, (3, 4, 1))],
    )
    wide = [{name: x.astype(np.float64) for name, x in layer.items()} for layer in init(0)]
    refused("member 1: leaf '0.w' of the model is float64", ShapeError, models=[init(0), wide])
    refused(
        "member 1: its model has 2 where that of member 0 has 1",
        ShapeError,
        models=[(init(0), 1), (init(0), 2)],
    )
    refused("If the list of models is one model|member 1", models=init(0, (3, 8, 8, 1)))


def test_optimizers_that_differ():
    both = [wg.optim.SGD(0.1), wg.optim.Adam(0.1)]
    refused("member 1: its optimizer is Adam", OptimError, optimizer=both)
    refused(
        "member 1: its optimizer is SGD\\(lr=0.1\\)",
        OptimError,
        optimizer=wg.optim.SGD(0.1, momentum=[0.9, 0.0]),
    )
    refused(
        "member 1: its optimizers are for the globs",
        OptimError,
        optimizer=[{"*": wg.optim.SGD(0.1)}, {"*.w": wg.optim.SGD(0.1), "*": None}],
    )


def test_settings_of_optimizers():
    several = wg.optim.Adam(np.array([0.1, 0.2]), betas=[(0.9, 0.99), (0.8, 0.9)])
    assert [each.betas for each in several] == [(0.9, 0.99), (0.8, 0.9)]
    assert [each.optimizer.lr for each in wg.optim.EMA(several)] == [0.1, 0.2]
    assert wg.optim.Adam(0.1, betas=[0.9, 0.99]).betas == (0.9, 0.99)  # a pair for all
    with pytest.raises(OptimError, match=r"\(lr: 2, eps: 3\); each has one entry"):
        wg.optim.Adam([0.1, 0.2], eps=[1e-8] * 3)
    with pytest.raises(OptimError, match=r"lr=-1\.0 was given"):
        wg.optim.Adam([0.1, -1.0])
    with pytest.raises(OptimError, match=r"given 2 optimizers, .*a step has one"):
        wg.TrainStep(loss, init(0), several)
    with pytest.raises(AttributeError, match="several optimizers, for the members of"):
        _ = several.learning_rate


def test_arguments():
    made = ensemble()
    made(X, Y)
    before = prints(made)
    each = wg.train.each
    for call, match in (
        (lambda: made(each(X), Y), "argument 'x' was given for each member with shape \\(44, 3\\)"),
        (lambda: made.run(each(X), Y, batch_size=8), "its first axis must have 5 entries"),
        (lambda: made(each(np.stack([X] * MEMBERS)), Y[:3]), "44|batch"),
        (lambda: made.run(X, Y, batch_size=45), "batch_size=45 was given for 44 rows"),
        (lambda: made.run(X, Y[:9], batch_size=8), "different numbers of rows"),
        (lambda: made.run(X, Y, batch_size=8, shuffle_seed=[1, 2]), "2 seeds for 5 members"),
        (lambda: made.run(X, Y, batch_size=8, shuffle_seed=-1), "shuffle_seed=-1 was given"),
        (lambda: made.run(X, Y, batch_size=8, bootstrap=[1]), "bootstrap was given with 1 seeds"),
        (lambda: made.run(X, Y, batch_size=8, epochs=-1), "epochs=-1 was given"),
        (lambda: made.run(X, Y), "batch_size"),
        (lambda: made(X, z=Y), "z"),
        (lambda: each(3.0), "with an axis of members in front"),
        (lambda: made.keep([]), "at least one must stay"),
        (lambda: made.keep([1, 1]), "member 1 was given twice"),
        (lambda: made.keep([5]), "there are 5, from 0 to 4"),
        (lambda: made.keep(3), "the numbers of members are needed"),
        (lambda: made.keep(np.array([True])), "a mask of shape \\(1,\\)"),
        (lambda: made.exchange(0, 7), "member 7 was given"),
        (lambda: made.fingerprint("a"), "member 'a' was given"),
        (lambda: made.run(X, Y, batch_size=8, bootstrap=7), "bootstrap=7 was given; it is True"),
        (lambda: made.run(X, Y, batch_size=8, bootstrap=0), "bootstrap=0 was given; it is True"),
        (lambda: made.evaluate(forward, X, batch_size=8), r"returned shape \(8, 1\).*over axis 0"),
        (lambda: made(wg.train.each([X] * MEMBERS), Y), r"a list of shape .*each\(np.stack"),
        (lambda: made.best([np.nan] * MEMBERS), "given NaN for all 5 members"),
        (lambda: made.keep([True, False]), "a mask of shape \\(2,\\)"),
        (lambda: made.fingerprint(), "Ensemble.fingerprint: member was not given"),
        (lambda: wg.each(X), "Write wg.train.each"),
        (lambda: wg.optim.Adam((0.1, 0.2)), r"wg.Ensemble write a list, lr=\[0.1, 0.2\]"),
        (lambda: made.best([1.0]), "a number for each of the 5 members"),
        (lambda: made.best(np.ones(5), count=6), "count=6 was given"),
        (lambda: copy.deepcopy(made), "cannot be copied"),
        (lambda: made.bind(3), "what to bind"),
        (lambda: wg.compile(lambda x: made(x, Y))(X), "Ensemble"),
    ):
        with pytest.raises(Exception, match=match):
            call()
    assert prints(made) == before


def test_what_would_be_lost():
    optimizer = wg.optim.SGD(0.1)
    made = wg.Ensemble(loss, init, optimizer, members=2)
    optimizer.learning_rate = 1.0
    with pytest.warns(CopiedWarning):
        made(X, Y)
    with pytest.warns(wg.errors.UnusedWarning, match="no loop went through"):
        made.epochs(X, Y, batch_size=8)


def stack(x, rows=8):
    return np.stack([x[i : i + rows] for i in range(MEMBERS)])


def test_a_stack_of_batches_without_each():
    """Its losses would be those of one batch for all, which look as good as any."""
    members = ensemble()
    said = r"'x' of shape \(5, 8, 3\) and 'y' of shape \(5, 8, 1\) for all 5 members.*train.each"
    with pytest.warns(StackedWarning, match=said):
        members(stack(X), stack(Y))
    members(stack(X), stack(Y))  # once
    with pytest.warns(StackedWarning, match=said):
        ensemble()(list(stack(X)), list(stack(Y)))
    with pytest.warns(StackedWarning, match="Ensemble.run: given"):
        members.run(stack(X), stack(Y), batch_size=5)
    with (
        pytest.warns(StackedWarning, match="Ensemble.run: given"),
        pytest.raises(ShapeError, match="batch_size=8 was given for 5 rows"),
    ):
        members.run(stack(X), stack(Y), batch_size=8)


def test_a_stack_of_batches_without_each_that_members_are_evaluated_on():
    members = ensemble()
    said = r"Ensemble.evaluate: given 'x' of shape \(5, 8, 3\) .* the function could be given one"
    with pytest.warns(StackedWarning, match=said):
        members.evaluate(loss, stack(X), stack(Y), batch_size=5)
    with pytest.warns(StackedWarning, match=said):
        members.best(loss, stack(X), stack(Y))
    with pytest.warns(StackedWarning, match=said):
        members.evaluate(lambda m, x, y: {"loss": loss(m, x, y)}, stack(X), stack(Y), batch_size=5)
    drawing = wg.Ensemble(smoothed, [np.ones(3)] * 3, wg.optim.SGD(0.1), state=np.zeros(3))
    with warnings.catch_warnings(action="error"):
        members.evaluate(loss, wg.train.each(stack(X)), wg.train.each(stack(Y)), batch_size=8)
        members.evaluate(of_sequences, stack(X), stack(Y), batch_size=5)
        members.best(loss, X[:MEMBERS], Y[:MEMBERS])
        drawing.evaluate(smoothed, np.ones((3, 8, 3)), batch_size=3)


def of_rows(model, x, y):
    return wg.mean((forward(model, x)[:, 0] - y) ** 2)


def of_columns(model, x, y):
    return wg.mean((wg.stack([forward(model, x)[:, 0]] * MEMBERS) - y) ** 2)


def test_a_stack_of_targets_beside_what_all_members_see():
    said = r"given 'y' of shape \(5, 8\) for all 5 members.*train.each"
    with pytest.warns(StackedWarning, match=said):
        ensemble(of_rows)(X[:8], stack(Y[:, 0]))


def of_chosen(model, x, k, y):
    return of_rows(model, x, y[k])


def test_one_forgotten_each_beside_others():
    """Each member would be compared with the targets of all of them."""
    own, targets = wg.train.each(stack(X)), stack(Y[:, 0])
    said = r"given 'y' of shape \(5, 8\) for all 5 members.*train.each"
    with pytest.warns(StackedWarning, match=said):
        ensemble(of_rows)(own, targets)
    with pytest.warns(StackedWarning, match=r"given 'x' of shape \(5, 8, 3\)"):
        ensemble(lambda m, x, y: wg.mean((forward(m, x)[..., 0] - y) ** 2))(
            stack(X), wg.train.each(targets)
        )
    with (
        pytest.warns(StackedWarning, match=said),
        pytest.raises(ShapeError, match=r"Write wg.train.each\(y\) to give y\[i\] to member i"),
    ):
        ensemble(of_rows).run(own, targets, batch_size=4)
    with (
        pytest.warns(StackedWarning, match=said),
        pytest.raises(ShapeError, match=r"Write wg.train.each\(y\) to give y\[i\] to member i"),
    ):
        ensemble(of_rows).evaluate(of_rows, own, targets, batch_size=4)
    with warnings.catch_warnings(action="error"):
        ensemble(of_rows)(own, wg.train.each(targets))
        ensemble(of_rows)(own, Y[:8, 0])
        ensemble(of_columns)(own, targets)
        ensemble(of_chosen)(own, wg.train.each(np.arange(MEMBERS)), targets)


def of_sequences(model, x, y):
    batch, time, features = x.shape
    return loss(model, x.reshape(batch * time, features), y.reshape(batch * time, 1))


@pytest.mark.parametrize(
    ("function", "batch"),
    [
        (loss, (X[:MEMBERS], Y[:MEMBERS])),  # as many rows as members
        (loss, (X[:40].reshape(8, 5, 3), Y[:40].reshape(8, 5, 1))),  # another number in front
        (loss, (wg.train.each(stack(X)), wg.train.each(stack(Y)))),
        (loss, (stack(X), np.float32(0.5))),  # one array: any batch of tables
        (of_rows, (X[:8], wg.train.each(stack(Y[:, 0])))),
        (of_columns, (X[:8], stack(Y[:, 0]))),  # as many targets of each row as members
        (of_sequences, (stack(X), stack(Y))),  # no entry of it would do
    ],
)
@pytest.mark.filterwarnings("error")
def test_other_batches_are_no_reason_to_warn(function, batch):
    assert ensemble(function)(*batch).shape == (MEMBERS,)


def smoothed(w, mean, x):
    mean = 0.9 * mean + 0.1 * np.mean(x)
    return wg.mean((x @ w - wg.sum(mean)) ** 2), mean


def centered(w, mean, x):
    mean = 0.9 * mean + 0.1 * np.mean(x, axis=0)
    return wg.mean(((x - mean) @ w) ** 2), mean


def with_state(loss, state):
    return wg.Ensemble(loss, [np.ones(3)] * 3, wg.optim.SGD(0.1), state=state)


@pytest.mark.filterwarnings("ignore::wengert.errors.AlikeWarning")
def test_a_stack_of_states_without_each_is_told():
    for train in (lambda made: made(X), lambda made: made.run(X, batch_size=4)):
        made = with_state(smoothed, np.arange(3.0))
        with pytest.warns(StackedWarning, match=r"state of shape \(3,\) for all 3 members"):
            train(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AlikeWarning)
        made(X)  # once
        with_state(smoothed, wg.train.each(np.arange(3.0)))(X)
        with_state(smoothed, np.array(0.0))(X)
        whole = with_state(smoothed, wg.train.each(np.stack([np.arange(3.0)] * 3)))
        whole(X)  # all of it is meant for each
        assert [np.shape(member.state) for member in whole.members] == [(3,)] * 3
        with_state(centered, np.zeros(3))(X)  # as many features as members


@pytest.mark.parametrize("way", ["call", "run", "evaluate", "bind"])
def test_a_captured_array_that_is_changed_is_noticed(way):
    factor = np.ones(3)

    def scaled(w, x):
        return wg.mean((x @ (w * factor)) ** 2)

    made = wg.Ensemble(scaled, [np.ones(3), np.zeros(3)], wg.optim.SGD(0.0))
    bound = made.bind(scaled)
    calls = {
        "call": lambda: made(X),
        "run": lambda: made.run(X, batch_size=4),
        "evaluate": lambda: made.evaluate(scaled, X, batch_size=4),
        "bind": lambda: bound(X),
    }
    calls[way]()
    factor[:] = 5.0
    with pytest.raises(TraceError, match="array 'factor' was changed"):
        calls[way]()


def test_a_list_of_a_network_for_each_member_is_named_where_the_loss_fails():
    def difference(w, target, x):
        return wg.mean((x @ w["w"] - target["w"]) ** 2)

    models = [{"w": np.ones(2)}, {"w": np.zeros(2)}]
    members = wg.Ensemble(difference, models, wg.optim.SGD(0.1))
    for call in (members, members.bind(difference)):
        with pytest.raises(TypeError) as found:
            call(models, np.eye(2))
        (note,) = (each for each in found.value.__notes__ if "as many as there are members" in each)
        assert "wg.train.each(wg.tree.map(lambda *x: np.stack(x), *target))" in note


def test_a_member_that_is_set():
    made = ensemble()
    before = prints(made)
    with pytest.raises(TypeError, match=r"Set its weights, ensemble.members\[0\].model = model"):
        made.members[0] = init(5)
    with pytest.raises(TypeError, match=r"members\[1\].load_state_dict\(step.state_dict\(\)\)"):
        made.members[1] = made.members[0]
    with pytest.raises(TypeError, match=r"call ensemble.keep\(indices\)"):
        del made.members[0]
    assert prints(made) == before
    made.members[0].model = init(5)
    made.members[1].load_state_dict(made.members[0].state_dict())
    made.keep([1, 0])
    assert isinstance(made.members, tuple)
    assert len(made.members[:1]) == 1
    assert made.last is None
