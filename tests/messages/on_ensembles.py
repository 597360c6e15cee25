"""Ensembles that are given what they cannot use."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg

X, Y = np.ones((4, 3)), np.ones(4)


def loss(w: Any, x: Any, y: Any) -> Any:
    return wg.mean((x @ w - y) ** 2)


def init(seed: int) -> Any:
    return np.ones(3)


def ensemble(models: Any = init, optimizer: Any = None, members: Any = 2, **options: Any) -> Any:
    optimizer = wg.optim.SGD(0.1) if optimizer is None else optimizer
    return wg.Ensemble(loss, models, optimizer, members=members, **options)


def carried(w: Any, state: Any, x: Any, y: Any) -> Any:
    return loss(w, x, y), state


def with_states(*states: Any) -> Any:
    """What a member is told whose state is of another form."""
    step = wg.TrainStep(carried, init(0), wg.optim.SGD(0.1), state=states[0])
    return step._member(init(1), wg.optim.SGD(0.1), states[1], {}, 1)


def set_of(name: str) -> None:
    setattr(ensemble(), name, 1.0)


def with_member(value: Any) -> None:
    ensemble().members[0] = value


def without_member() -> None:
    del ensemble().members[0]


def with_other_weights() -> None:
    made = ensemble()
    state = made.state_dict()
    state["members"][1]["arrays"]["model"][""] = np.ones(2)
    made.load_state_dict(state)


def several() -> Any:
    return wg.optim.SGD([0.1, 0.2])


EACH = wg.train.each
MAKING = {
    "Ensemble.members: a model as a member": lambda: with_member(init(0)),
    "Ensemble.members: a step as a member": lambda: with_member(ensemble().members[1]),
    "Ensemble.members: without one": without_member,
    "Ensemble of a dict": lambda: ensemble({"w": X}),
    "Ensemble of a layer": lambda: ensemble(wg.nn.Linear(3, 1, seed=0)),
    "Ensemble of a function of nothing": lambda: ensemble(lambda: X),
    "Ensemble of members=0": lambda: ensemble(members=0),
    "Ensemble of no members": lambda: ensemble([], members=None),
    "Ensemble of unknown size": lambda: ensemble(members=None),
    "Ensemble of two sizes": lambda: ensemble([init(0)] * 3),
    "Ensemble, seeds=7": lambda: ensemble(seeds=7),
    "Ensemble, a negative seed": lambda: ensemble(seeds=[0, -1]),
    "Ensemble, one limit of two": lambda: ensemble(clip_norm=[1.0, None]),
    "Ensemble, a matrix of limits": lambda: ensemble(clip_norm=np.ones((2, 1))),
    "Ensemble, lists of optimizers of two lengths": lambda: wg.Ensemble(
        lambda m, x: wg.sum(m["a"] * m["b"] * x),
        lambda seed: {"a": np.ones(()), "b": np.ones(())},
        {"a": [wg.optim.SGD(0.1)], "b": [wg.optim.SGD(0.1)] * 2},
    ),
    "Ensemble, models of two forms": lambda: ensemble([init(0), [init(0)]]),
    "Ensemble, models of two shapes": lambda: ensemble([init(0), np.ones(4)]),
    "Ensemble, models with other numbers": lambda: ensemble([(init(0), 1), (init(0), 2)]),
    "Ensemble, optimizers of two kinds": lambda: ensemble(
        optimizer=[wg.optim.SGD(0.1), wg.optim.Adam(0.1)]
    ),
    "Ensemble, optimizers for other globs": lambda: ensemble(
        optimizer=[{"*": wg.optim.SGD(0.1)}, {"": wg.optim.SGD(0.1)}]
    ),
    "Ensemble, states of two forms": lambda: with_states({"n": np.ones(2)}, {"n": np.ones(3)}),
    "Ensemble.clip_norm set": lambda: set_of("clip_norm"),
    "SGD, settings of two lengths": lambda: wg.optim.SGD([0.1, 0.2], momentum=[0.1, 0.2, 0.3]),
    "TrainStep with the optimizers of an ensemble": lambda: wg.TrainStep(loss, X, several()),
    "several optimizers, step": lambda: several().step("w", X, X),
}
USING = {
    "each of a number": lambda: EACH(3.0),
    "Ensemble, each of too few": lambda: ensemble()(EACH(X), Y),
    "Ensemble.run, each beside a stack": lambda: ensemble().run(
        EACH(np.ones((2, 4, 3))), np.ones((2, 4)), batch_size=2
    ),
    "Ensemble, each is not finite": lambda: ensemble()(X * np.nan, Y),
    "Ensemble.run, seeds of too few": lambda: ensemble().run(X, Y, batch_size=2, shuffle_seed=[1]),
    "Ensemble.run, bootstrap=7": lambda: ensemble().run(X, Y, batch_size=2, bootstrap=7),
    "Ensemble, each of a list": lambda: ensemble()(EACH([X, X]), Y),
    "Ensemble, each of unequal folds": lambda: ensemble()(EACH([X, X[1:]]), Y),
    "Ensemble.keep of a mask": lambda: ensemble().keep(np.ones(3, bool)),
    "Ensemble.keep of a number": lambda: ensemble().keep(1),
    "Ensemble.keep of none": lambda: ensemble().keep([]),
    "Ensemble.keep twice": lambda: ensemble().keep([1, 1]),
    "Ensemble.exchange beyond": lambda: ensemble().exchange(0, 2),
    "Ensemble.best of one score": lambda: ensemble().best([1.0]),
    "Ensemble.best of NaN": lambda: ensemble().best([np.nan, np.nan]),
    "Ensemble.best of too many": lambda: ensemble().best([1.0, 2.0], count=3),
    "Ensemble.load_state_dict of a step": lambda: ensemble().load_state_dict(
        ensemble().members[0].state_dict()
    ),
    "Ensemble.load_state_dict of more": lambda: ensemble().load_state_dict(
        ensemble(members=3).state_dict()
    ),
    "Ensemble.load_state_dict of other weights": with_other_weights,
    "bootstrap_rows of none": lambda: wg.train.bootstrap_rows(0, 1),
}
CASES = MAKING | USING
