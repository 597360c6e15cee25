"""Bad input to training steps, their options, batches, data and saved states."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from typing import Any

import numpy as np
from meta.planted import planted, square_with, unary

import wengert as wg

X, Y = np.ones((4, 3)), np.ones(4)
MODEL = {"w": np.ones(3), "b": np.zeros(())}
SGD = wg.optim.SGD(0.1)
SHARED = np.ones(2)
MLP = wg.nn.Mlp([3, 2, 1], seed=0)

ROWS = wg.Dim("rows")


def loss(model: Any, x: Any, y: Any) -> Any:
    return wg.mean((x @ model["w"] + model["b"] - y) ** 2)


def with_state(model: Any, state: Any, x: Any, y: Any) -> Any:
    return loss(model, x, y), {"n": state["n"][:1]}


def step(function: Any = None, model: Any = None, optimizer: Any = SGD, **options: Any) -> Any:
    function = loss if function is None else function
    return wg.TrainStep(function, MODEL if model is None else model, optimizer, **options)


def called(*batch: Any, **options: Any) -> Any:
    """Make a step and call it with a good batch and then with this one."""
    made = step(**options)
    made(X, Y)
    return made(*batch)


def first(*batch: Any, function: Any = None, **options: Any) -> Any:
    """Make a step and call it."""
    return step(function, **options)(*batch)


def with_own_model() -> Any:
    made = step(lambda m, other: wg.sum(m["w"] * other["w"]))
    return made(made.model)


def with_inner_step(m: Any, x: Any, y: Any) -> Any:
    inner = wg.TrainStep(loss, m, SGD)
    inner(x, y)
    return loss(inner.model, x, y)


def checked(function: Any, x: Any) -> Any:
    return wg.TrainStep(function, np.ones(3), SGD).check(x)


@dataclass
class Scaled:
    w: Any

    def loss(self, x: Any) -> Any:
        return wg.mean(x @ self.w)

    def predict(self, x: Any, scale: Any = 1.0) -> Any:
        return wg.sum(x * self.w) * scale


class Estimator:
    """As much of an estimator as is looked at."""

    def fit(self, x: Any, y: Any) -> Any: ...

    def get_params(self, deep: bool = True) -> Any: ...


# As much of torch as is called.
of_torch: dict[str, Any] = {"__name__": "torch.distributions.categorical"}
exec(
    "class Categorical:\n    def __init__(self, logits):\n        self.rank = logits.dim()\n",
    of_torch,
)


@wg.custom_vjp
def square(x: Any) -> Any:
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))  # it should be 2


def with_wrong_code() -> Any:
    """Check a loss with an op whose code computes something else than its meaning."""
    wrong = square_with(emit=lambda e, x: e.add(x, x), opaque="nobody has derived it")
    with planted(wrong, unary) as definition:
        return checked(lambda w, x: wg.sum(w * x + definition(x)), 3 * X[0])


def defined() -> Any:
    """A class of a model, as a cell of a notebook defines it each time that it is run."""
    return make_dataclass("Net", ["w", "b"])


def assigned(name: str, value: Any, **options: Any) -> None:
    setattr(step(**options), name, value)


def loaded(change: Callable[[dict[str, Any]], Any]) -> None:
    """Change a state and load it."""
    made = step(optimizer=wg.optim.Adam(0.1))
    state = made.state_dict()
    made.load_state_dict(change(state) or state)


def loaded_from(other: Any, **options: Any) -> None:
    """Load the state of a step with another optimizer or other options."""
    step(optimizer=wg.optim.Adam(0.1)).load_state_dict(
        step(optimizer=other, **options).state_dict()
    )


def with_limit(limit: Any) -> None:
    made = step(clip_norm=1.0)
    made.load_state_dict(made.state_dict() | {"limits": {"clip_norm": limit}})


class WrongState(wg.optim.Optimizer):
    def initial(self, weights: Any) -> dict[str, Any]:
        return {"norm": np.zeros(())}


MAKING: dict[str, Callable[[], Any]] = {
    "TrainStep: a batch argument that a partial has set": lambda: step(
        functools.partial(loss, y=Y)
    )(X, y=Y),
    "TrainStep: a batch argument among **others": lambda: step(
        lambda model, x, **others: loss(model, x, others["y"])
    )(X, y=Y),
    "TrainStep: no loss": lambda: step(3),
    "TrainStep: one inside a loss": lambda: first(X, Y, function=with_inner_step),
    "TrainStep: the model first": lambda: wg.TrainStep(wg.nn.Linear(3, 2), wg.mean, SGD),
    "TrainStep: the optimizer second": lambda: wg.TrainStep(wg.mean, SGD, {"w": X}),
    "TrainStep: a method from elsewhere": lambda: step().fit,  # type: ignore[attr-defined]
    "TrainStep: no optimizer": lambda: step(optimizer="adam"),
    "TrainStep: a class of optimizers": lambda: step(optimizer=wg.optim.Adam),
    "TrainStep: a tied model, frozen by one of its names": lambda: step(
        model=dict.fromkeys("wv", np.ones(2)), optimizer={"w": None, "*": SGD}
    ),
    "TrainStep.optimizer_states: a name that is not there": lambda: step(
        optimizer=wg.optim.Adam(0.1)
    ).optimizer_states["means"],
    "TrainStep.optimizer: a glob that is not there": lambda: step(optimizer={"*": SGD}).optimizer[
        "w"
    ],
    "TrainStep: an empty dict of optimizers": lambda: step(optimizer={}),
    "TrainStep: a glob that is no string": lambda: step(optimizer={3: SGD}),
    "TrainStep: a parameter that no glob matches": lambda: step(optimizer={"w": SGD}),
    "TrainStep: a glob that is the name of a part": lambda: wg.TrainStep(
        lambda m, x: wg.sum(m["encoder"]["w"] * x),
        {"encoder": {"w": np.ones(2)}, "decoder": {"w": np.ones(2)}},
        {"encoder": None, "*": wg.optim.SGD(0.1)},
    ),
    "TrainStep: a glob that matches nothing": lambda: step(optimizer={"v*": None, "*": SGD}),
    "TrainStep: a mistyped glob, all else frozen": lambda: step(optimizer={"ww": SGD, "*": None}),
    "TrainStep: everything frozen": lambda: step(optimizer={"w": None, "b": None}),
    "TrainStep: a model without parameters": lambda: step(model={"n": np.arange(3)}),
    "TrainStep: a model of Python numbers": lambda: step(model={"t": 1.0}),
    "TrainStep: a number as the model": lambda: step(model=0.5),
    "TrainStep: an estimator as the model": lambda: step(model=Estimator()),
    "TrainStep: a model of complex numbers": lambda: step(model={"w": np.ones(2, complex)}),
    "TrainStep: an optimizer whose state has a shape of its own": lambda: step(
        optimizer=WrongState(0.1)
    ),
    "TrainStep: two arrays at one path": lambda: step(model={"a.b": Y, "a": {"b": X}}),
    "TrainStep: accumulate": lambda: step(accumulate=0),
    "TrainStep: dims, a number": lambda: step(dims=3),
    "TrainStep: dims, an unknown name": lambda: step(dims={"z": {1: wg.Dim("n")}})(X, X),
    "TrainStep: dims, an axis that does not exist": lambda: step(dims={"x": {5: wg.Dim("n")}})(
        X, X
    ),
    "TrainStep.bind: a function without the model": lambda: step().bind(lambda x: x)(X),
    "TrainStep.bind: one argument too many": lambda: step().bind(lambda m, x: x)(X, Y),
    "TrainStep.evaluate: a function without the model": lambda: step().evaluate(
        lambda x, y: wg.mean(y), X, Y, batch_size=2
    ),
    "TrainStep.bind: a row as a dict": lambda: step().bind(lambda m, x: x @ m["w"])(
        {"a": 1.0, "b": 2.0, "c": 3.0}
    ),
    "TrainStep: a column by its name": lambda: first(
        X, Y, function=lambda m, x, y: wg.sum(x["city"] * m["b"])
    ),
    "TrainStep: a column as an attribute": lambda: first(
        X, Y, function=lambda m, x, y: wg.sum(x.city * m["b"])
    ),
    "TrainStep: a frame's loc": lambda: first(
        X, Y, function=lambda m, x, y: wg.sum(x.loc[:, "city"] * m["b"])
    ),
    "TrainStep: a network from outside": lambda: first(
        X, Y, function=lambda m, x, y: wg.mean(MLP(x) * m["b"])
    ),
    "TrainStep: a draw without a key": lambda: first(
        X, Y, function=lambda m, x, y: wg.sum(wg.random.categorical(x) * m["b"])
    ),
    "TrainStep: nonfinite": lambda: step(nonfinite="warn"),
    "TrainStep: threads": lambda: step(threads=0),
    "TrainStep: clip_norm": lambda: step(clip_norm=-1.0),
    "TrainStep: clip_value, no number": lambda: step(clip_value="small"),
    "TrainStep: a state of complex numbers": lambda: step(state={"n": np.ones(2, complex)}),
    "TrainStep: one array twice in the state": lambda: step(state=[SHARED, SHARED]),
}

CALLING: dict[str, Callable[[], Any]] = {
    "TrainStep: batches of two sizes": lambda: called(X, Y[:3]),
    "TrainStep: a dtype that changes": lambda: called(X, Y.astype(np.int64)),
    "TrainStep: a batch of Python numbers": lambda: called([[1.0, 2.0, 3.0]], Y),
    "TrainStep: a batch of NumPy's numbers": lambda: called(list(np.arange(3.0)), Y),
    "TrainStep: a batch with lists of Python numbers": lambda: called({"x": [1.0, 2.0]}, Y),
    "TrainStep: a batch by a name that is no place": lambda: step(
        lambda m, x, y, *, alpha=0.1: loss(m, x, y) * alpha
    )(X, Y, alpha=0.2),
    "TrainStep: a batch of complex numbers": lambda: called(X * 1j, Y),
    "TrainStep: its own model as a batch": lambda: with_own_model(),
    "TrainStep: a loss with an axis": lambda: first(
        X, Y, function=lambda m, x, y: (x @ m["w"] - y) ** 2
    ),
    "TrainStep: a loss that is an integer": lambda: first(
        X, Y, function=lambda m, x, y: wg.sum(x > 0)
    ),
    "TrainStep: a loss that is a list": lambda: first(X, Y, function=lambda m, x, y: [m["w"]]),
    "TrainStep: aux without has_aux": lambda: first(
        X, Y, function=lambda m, x, y: (loss(m, x, y), x)
    ),
    "TrainStep: has_aux without aux": lambda: first(X, Y, has_aux=True),
    "TrainStep: a state of another form": lambda: first(
        X, Y, function=with_state, state={"n": np.zeros(2), "m": np.zeros(2)}
    ),
    "TrainStep: the state before the loss": lambda: first(
        X, Y, function=lambda m, s, x, y: (s, loss(m, x, y)), state={"n": np.zeros(2)}
    ),
    "TrainStep: a scalar state before the loss": lambda: first(
        X, Y, function=lambda m, s, x, y: (s + 1.0, loss(m, x, y)), state=np.zeros(())
    ),
    "TrainStep: a state whose shape changes": lambda: first(
        X, Y, function=with_state, state={"n": np.zeros(2)}
    ),
    "TrainStep: strict, a parameter without a gradient": lambda: first(
        X, Y, function=lambda m, x, y: wg.mean(x @ m["w"] - y), strict=True
    ),
    "TrainStep: no parameter with a gradient": lambda: first(
        X, Y, function=lambda m, x, y: loss(MODEL, x, y)
    ),
    "TrainStep: a batch as a tuple": lambda: first((X, Y)),
    "TrainStep: a batch as a dict": lambda: first({"x": X, "y": Y}),
    "TrainStep: a batch without one of its arguments": lambda: first(X),
    "TrainStep: a generator under another name": lambda: first(
        X, Y, function=lambda m, x, y, key: loss(m, x, y)
    ),
    "TrainStep: an average under another name": lambda: first(
        X, Y, function=lambda m, x, y, ema: loss(m, x, y), optimizer=wg.optim.EMA(SGD)
    ),
    "TrainStep: a batch that is not finite": lambda: first(X * np.nan, Y),
}

RUNNING: dict[str, Callable[[], Any]] = {
    "TrainStep.run: no data": lambda: step().run(batch_size=2),
    "TrainStep.run: lists": lambda: step().run(X.tolist(), Y.tolist(), batch_size=2),
    "TrainStep.run: empty data": lambda: step().run(X[:0], Y[:0], batch_size=2),
    "TrainStep.run: data of two lengths": lambda: step().run(X, Y[:2], batch_size=2),
    "TrainStep.run: batch_size": lambda: step().run(X, Y, batch_size=0),
    "TrainStep.run: a batch larger than the data": lambda: step().run(X, Y, batch_size=5),
    "TrainStep.run: epochs": lambda: step().run(X, Y, batch_size=2, epochs=-1),
    "TrainStep.evaluate: no function": lambda: step().evaluate(3, X, Y, batch_size=2),
    "TrainStep.bind: no function": lambda: step().bind(3),
    "TrainStep.run: shuffle_seed": lambda: step().run(X, Y, batch_size=2, shuffle_seed=-1),
}

SETTING: dict[str, Callable[[], Any]] = {
    "TrainStep.model: another tree": lambda: assigned("model", {"w": np.ones(3)}),
    "TrainStep.model: a class that was defined anew": lambda: assigned(
        "model", defined()(np.ones(3), Y[0]), model=defined()(np.ones(3), Y[0])
    ),
    "TrainStep.model: another shape": lambda: assigned("model", {"w": np.ones(4), "b": Y[0]}),
    "TrainStep.model: tied parameters that differ": lambda: assigned(
        "model", {"a": np.ones(2), "b": np.zeros(2)}, model={"a": SHARED, "b": SHARED}
    ),
    "TrainStep.model: one array, of another shape": lambda: assigned(
        "model", np.ones(4), model=np.ones(3)
    ),
    "TrainStep.state: another tree": lambda: assigned("state", {"n": np.ones(3)}),
    "TrainStep.state: another shape": lambda: assigned(
        "state", {"n": np.ones(3)}, state={"n": np.zeros(2)}
    ),
    "TrainStep.epoch: below 0": lambda: assigned("epoch", -1),
    "TrainStep: copied": lambda: copy.deepcopy(step()),
    "TrainStep.load_state_dict: no dict": lambda: loaded(lambda state: 3),
    "TrainStep.load_state_dict: something else": lambda: loaded(lambda state: {"w": X}),
    "TrainStep.load_state_dict: another shape": lambda: loaded(
        lambda state: state["arrays"]["model"].update(w=np.ones(4))
    ),
    "TrainStep.load_state_dict: of another model": lambda: loaded(
        lambda state: state["arrays"].update(model={"b": Y[0], "v": X})
    ),
    "TrainStep.load_state_dict: a count that is none": lambda: loaded(
        lambda state: state["counts"].update(epoch=-1)
    ),
    "TrainStep.load_state_dict: no array": lambda: loaded(
        lambda state: state["arrays"]["model"].update(w=[[1], [1, 2]])
    ),
    "TrainStep.load_state_dict: in the middle of an accumulation": lambda: loaded(
        lambda state: state["counts"].update(phase=2) or state | {"unfinished": {"accumulate": 4}}
    ),
    "TrainStep.load_state_dict: of a model with another number": lambda: loaded(
        lambda state: state | {"static": {"norm.eps": 1e-5}}
    ),
    "TrainStep.load_state_dict: numbers that are no dict": lambda: loaded(
        lambda state: state | {"static": [1e-5]}
    ),
    "TrainStep.load_state_dict: what it was made with is no text": lambda: loaded(
        lambda state: state | {"made": {"*": 0.1}}
    ),
    "TrainStep.load_state_dict: settings of another optimizer": lambda: loaded(
        lambda state: state["settings"]["*"].update(settings={})
    ),
    "TrainStep.load_state_dict: of another kind of optimizer": lambda: loaded_from(
        wg.optim.AdamW(0.1)
    ),
    "TrainStep.load_state_dict: with a limit": lambda: loaded_from(
        wg.optim.Adam(0.1), clip_norm=1.0
    ),
    "TrainStep.load_state_dict: a limit that is none": lambda: with_limit(-1.0),
}

CHECKING: dict[str, Callable[[], Any]] = {
    "TrainStep.check: a wrong gradient": lambda: checked(lambda w, x: wg.sum(square(w * x)), X[0]),
    "TrainStep.check: wrong machine code": with_wrong_code,
    "TrainStep.check: not finite": lambda: checked(lambda w, x: wg.sum(w * x), X[0] * np.inf),
}

NO_SETTINGS: dict[str, Callable[[], Any]] = {
    "TrainStep.clip_norm: a name that is none": lambda: setattr(step(), "clip_nrom", 3),
    "TrainStep: the learning rate is set": lambda: setattr(step(), "lr", 3),
    "TrainStep: an option is set": lambda: setattr(step(), "accumulate", 3),
    "TrainStep: the optimizer is set": lambda: setattr(step(), "optimizer", SGD),
    "TrainStep.model: another number beside the arrays": lambda: setattr(
        wg.TrainStep(lambda m, x: wg.sum(m["w"] * x), {"w": np.ones(2), "t": 1.0}, SGD),
        "model",
        {"w": np.ones(2), "t": 2.0},
    ),
    "TrainStep.run: an array for a parameter of the loss with the name of an option": lambda: step(
        lambda m, x, aux: loss(m, x, aux)
    ).run(x=X, aux=Y, batch_size=2),
    "TrainStep.run: a list of rows": lambda: step().run(list(X), Y, batch_size=2),
    "TrainStep.bind: a network like the model": lambda: wg.TrainStep(
        lambda m, x: wg.mean(m(x)), wg.nn.Linear(3, 2, seed=0), SGD
    ).bind(wg.nn.Linear(3, 2, seed=0)),
    "TrainStep: a frame that is still to be read": lambda: first(type("LazyFrame", (), {})()),
    "TrainStep.bind: a generator left at None": lambda: step().bind(
        lambda m, x, rng=None: wg.random.normal(rng, (2,))
    )(X),
    "TrainStep: a network in the place of an array": lambda: first(
        wg.nn.Linear(3, 2, seed=0), function=lambda m, x: wg.sum(x @ m["w"])
    ),
    "TrainStep: a dict in the place of an array": lambda: first(
        {"a": X}, function=lambda m, x: wg.sum(wg.tanh(x) * m["w"])
    ),
    "TrainStep: a method of an object": lambda: wg.TrainStep(
        Scaled(np.ones(3)).loss, Scaled(np.ones(3)), SGD
    )(X),
    "TrainStep: a method of an object, which takes as many": lambda: wg.TrainStep(
        Scaled(np.ones(3)).predict, Scaled(np.ones(3)), SGD
    )(X),
    "TrainStep: a method of an object that has the model": lambda: wg.TrainStep(
        Scaled(np.ones(3)).predict, np.ones(3), SGD
    )(X),
    "TrainStep: a distribution of torch": lambda: first(
        X, function=lambda m, x: of_torch["Categorical"](m["w"])
    ),
    "TrainStep: a function of torch": lambda: first(
        X, function=lambda m, x: type(m["w"]).__torch_function__(np.mean, (), (m["w"],))
    ),
    "TrainStep: gradients are set": lambda: setattr(step(), "gradients", MODEL),
    "TrainStep.optimizer: a rate of several": lambda: setattr(
        step(optimizer={"w": None, "*": SGD}).optimizer, "learning_rate", 0.1
    ),
    "TrainStep.optimizer: an item is set": lambda: step(optimizer={"*": SGD}).optimizer.update(
        {"*": None}
    ),
}
CASES = NO_SETTINGS | MAKING | CALLING | RUNNING | SETTING | CHECKING
