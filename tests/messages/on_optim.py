"""Bad input to optimizers and clipping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import wengert as wg
from messages.numbers_of_users import Moments

o = wg.optim
line = np.ones(3)
nan = np.array([1.0, np.nan, 1.0])


def setting(**changes: Any) -> Any:
    """Change settings of an optimizer that has been made."""
    optimizer = o.SGD(0.1)
    for name, value in changes.items():
        setattr(optimizer, name, value)


def twice(first: Any, second: Any) -> Any:
    """Two steps under one id."""
    optimizer = o.SGD(0.1, momentum=0.9)
    optimizer.step("w", first, first)
    optimizer.step("w", second, second)


def node(kind: str) -> Any:
    g = wg.Graph()
    o.SGD(0.1).step_graph_node(g, getattr(g, kind)(line, name="w"))


def loading(**changes: Any) -> Any:
    optimizer = o.SGD(0.1, momentum=0.9)
    optimizer.step("w", np.ones(3), line)
    optimizer.load_state_dict(optimizer.state_dict() | changes)


def in_step() -> Any:
    """The optimizer of a training step."""
    return wg.TrainStep(lambda w, x: wg.sum(w * x), line, o.SGD(0.1)).optimizer


def state(**changes: Any) -> dict[str, Any]:
    return {"w": {"count": 1, "momentum": line} | changes}


class Forgetful(o.Optimizer):
    """Does not keep what it was made with."""

    def __init__(self, lr: float, power: float) -> None:
        super().__init__(lr)


@dataclass
class Network:
    """A model of the user's that can be called, as a schedule can."""

    w: Any

    def __call__(self, x: Any) -> Any:
        return x @ self.w


def update(model: Any, grads: Any, kept: Any = None) -> Any:
    optimizer = o.Adam(0.1)
    return optimizer.update(model, grads, optimizer.init(model) if kept is None else kept)


def scheduled() -> Any:
    optimizer = o.SGD(o.Cosine(0.1, total_steps=10))
    return wg.compile(optimizer.update)(line, line, optimizer.init(line))


CASES: dict[str, Callable[[], Any]] = {
    "Optimizer.update: gradients and their norm": lambda: update(
        line, o.clip_by_global_norm(line, 1.0)
    ),
    "Optimizer.update: a value and gradients": lambda: update(line, (np.ones(()), line)),
    "Optimizer.update: a pair as the state": lambda: update(line, line, update(line, line)),
    "Optimizer.update: optax's order": lambda: o.SGD(0.1).update(
        np.ones(2), o.SGD(0.1).init(np.ones(2)), np.ones(2)
    ),
    "optim.lr_scheduler: a name from elsewhere": lambda: wg.optim.lr_scheduler,  # type: ignore[attr-defined]
    "Schedule: multiplied": lambda: o.Cosine(0.1, 10) * 0.1,
    "Adam: a model that can be called": lambda: o.Adam(Network(np.ones((2, 2)))),
    "Adam: parameters": lambda: wg.optim.Adam([np.ones(3)], 1e-3),  # type: ignore[arg-type]
    "Adam: a bad pair": lambda: o.Adam(0.1, betas=0.9),
    "Adam: a rate of a compiled function": lambda: wg.compile(
        lambda w, lr: o.Adam(lr).update(w, w, o.Adam().init(w))
    )(line, np.array(0.1)),
    "Adam: a choice that is none": lambda: o.Adam(0.1, amsgrad=1),
    "clip_by_global_norm: a bad bound": lambda: o.clip_by_global_norm(line, 0.0),
    "clip_by_global_norm: a bad policy": lambda: o.clip_by_global_norm(line, 1.0, nonfinite="stop"),
    "clip_by_norm: not finite, one array": lambda: o.clip_by_norm(nan, 1.0),
    "clip_by_value: not finite": lambda: o.clip_by_value({"w": nan}, 1.0),
    "EMA: an average before any update": lambda: o.EMA(o.SGD(0.1)).average("w"),
    "Lars: excluding what is not there": lambda: o.Lars(0.1, exclude="*.bias").init({"w": line}),
    "Adam: its learning rate twice": lambda: o.Adam(0.1, learning_rate=0.1),
    "Adam: an unknown setting": lambda: o.Adam(0.1, beta1=0.9),
    "Lars: no learning rate": lambda: o.Lars(momentum=0.9),
    "Lars: a bad exclude": lambda: o.Lars(0.1, exclude=3),
    "Lars: a bad variant": lambda: o.Lars(0.1, variant="jax"),
    "Lars: nesterov without momentum": lambda: o.Lars(0.1, nesterov=True),
    "clear_state: in a TrainStep": lambda: in_step().clear_state(),
    "state_dict: in a TrainStep": lambda: in_step().state_dict(),
    "load_state_dict: in a TrainStep": lambda: in_step().load_state_dict(o.SGD(0.1).state_dict()),
    "load_state_dict: a bad count": lambda: loading(parameters=state(count=-1)),
    "load_state_dict: a schedule before": lambda: o.SGD(0.1).load_state_dict(
        o.SGD(lambda step: 0.1).state_dict()
    ),
    "load_state_dict: integers": lambda: loading(parameters=state(momentum=np.arange(3))),
    "load_state_dict: no dictionary": lambda: o.SGD(0.1).load_state_dict(None),  # type: ignore[arg-type]
    "load_state_dict: a number before": lambda: o.SGD(o.Cosine(0.1, 10)).load_state_dict(
        o.SGD(0.1).state_dict()
    ),
    "load_state_dict: another kind": lambda: o.AdamW(0.1).load_state_dict(o.Adam().state_dict()),
    "load_state_dict: another rule": lambda: o.Lars(0.1).load_state_dict(
        o.Lars(0.1, exclude="*.bias").state_dict()
    ),
    "load_state_dict: another schedule": lambda: o.SGD(o.Cosine(0.1, 10)).load_state_dict(
        o.SGD(o.Constant(0.1)).state_dict()
    ),
    "load_state_dict: other settings": lambda: loading(settings={"momentum": 0.9}),
    "load_state_dict: settings that need state": lambda: o.SGD(0.1).load_state_dict(
        o.SGD(0.1, momentum=0.9).state_dict()
    ),
    "Lookahead: around no optimizer": lambda: o.Lookahead(0.1),  # type: ignore[arg-type]
    "optimizer: a schedule in a compiled update": scheduled,
    "optimizer: a schedule that gives no rate": lambda: o.SGD(lambda step: -1.0).step(
        "w", np.ones(3), line
    ),
    "optimizer: a setting that is not kept": lambda: Forgetful(0.1, 2.0),
    "optimizer: no rule": lambda: o.Optimizer(0.1).step("w", np.ones(3), line),
    "SGD: a bad learning rate": lambda: o.SGD(-0.1),
    "SGD: a bad momentum": lambda: o.SGD(0.1, momentum=1.0),
    "SGD: a setting that cannot change": lambda: setting(nesterov=True),
    "SGD: a setting that needs other state": lambda: setting(momentum=0.9),
    "SGD: nesterov without momentum": lambda: o.SGD(0.1, nesterov=True),
    "step: a bad policy": lambda: o.SGD(0.1).step("w", np.ones(3), line, nonfinite="stop"),
    "step: a gradient of complex numbers": lambda: o.SGD(0.1).step("w", np.ones(3), line * 1j),
    "step: a gradient of another shape": lambda: o.SGD(0.1).step("w", np.ones(3), np.ones(4)),
    "step: a gradient that is not finite": lambda: o.SGD(0.1).step("w", np.ones(3), nan),
    "step: an id without a hash": lambda: o.SGD(0.1).step([], np.ones(3), line),  # type: ignore[arg-type]
    "step: other weights under one id": lambda: twice(np.ones(3), np.ones(4)),
    "step: weights that are a NumPy scalar": lambda: o.SGD(0.1).step("b", np.float32(0), 1.0),
    "step: weights that are a list": lambda: o.SGD(0.1).step("w", [1.0], [1.0]),
    "step_graph_node: an input": lambda: node("input"),
    "step_graph_node: no gradient": lambda: node("parameter"),
    "step_graph_node: no graph": lambda: o.SGD(0.1).step_graph_node(None, 0),  # type: ignore[arg-type]
    "update: a missing gradient, one array": lambda: update(line, {"w": line}),
    "update: a gradient of another shape": lambda: update({"w": line}, {"w": np.ones(4)}),
    "update: a missing gradient": lambda: update({"w": line}, {}),
    "SGD: a setting that is none": lambda: setattr(o.SGD(0.1), "learnin_rate", 3),
    "LBFGS: a setting that is none": lambda: setattr(o.LBFGS(), "max_iters", 3),
    "TrainStep: an LBFGS": lambda: wg.TrainStep(lambda w: wg.sum(w), line, o.LBFGS()),  # type: ignore[arg-type]
    "LBFGS.minimize: arguments as in SciPy": lambda: o.LBFGS().minimize(  # type: ignore[call-arg]
        lambda w, x: wg.sum(w * x), line, args=(line,)
    ),
    "LBFGS.minimize: a tuple of arguments as in SciPy": lambda: o.LBFGS().minimize(
        lambda w, x, y: wg.sum(w * x - y), line, (line, line)
    ),
    "LBFGS.minimize: inside a derivative": lambda: wg.grad(
        lambda p: wg.sum(o.LBFGS().minimize(lambda w, p: wg.sum((w - p) ** 2), line, p).tree)
    )(1.0),
    "LBFGS.minimize: a closure inside a derivative": lambda: wg.grad(
        lambda p: wg.sum(o.LBFGS().minimize(lambda w: wg.sum((w - p) ** 2), line).tree)
    )(1.0),
    "LBFGS.step: a closure as in torch": lambda: o.LBFGS().step(  # type: ignore[call-arg]
        lambda: 1.0
    ),
    "LBFGS: a result as in SciPy": lambda: (
        o.LBFGS().minimize(lambda w: wg.sum(w**2), line).x  # type: ignore[attr-defined]
    ),
    "optim: a search as in SciPy": lambda: o.minimize,
    "optim: a fit as in SciPy": lambda: o.least_squares,
    "wg: a fit as in SciPy": lambda: wg.curve_fit,
    "wg: a derivative as in autograd": lambda: wg.elementwise_grad,
    "LBFGS.minimize: a dataclass of numbers": lambda: o.LBFGS().minimize(
        lambda m: m.mean * m.std, Moments()
    ),
    "LBFGS.minimize: a loss with aux": lambda: o.LBFGS().minimize(
        lambda w: (wg.sum(w), w), np.ones(3)
    ),
    "LBFGS.minimize: a vector returned": lambda: o.LBFGS().minimize(lambda w: w, np.ones(3)),
    "update: one path twice": lambda: update({"a.b": line, "a": {"b": np.ones(3)}}, {}),
    "update: state of another shape": lambda: update(line, line, o.Adam().init(np.ones(4))),
    "update: state of another tree": lambda: update({"w": line}, {"w": line}, o.Adam().init({})),
}
