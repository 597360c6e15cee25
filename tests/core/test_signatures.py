"""What can be called shows its parameters, and names them where one was given that it has not."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.op import Op
from wengert.functions.namespace import CONSTANTS, DTYPES

SPACES = {
    "wg": wg,
    "linalg": wg.linalg,
    "random": wg.random,
    "nn": wg.nn,
    "nn.init": wg.nn.init,
    "optim": wg.optim,
    "tree": wg.tree,
    "train": wg.train,
}
NOT_CALLED = {
    "wg.op": "the table",
    "wg.Tensor": "transformations make it",
    "wg.GradOp": "a table of variants, by name",
    "wg.GradWithLossOptions": "chosen from its members",
    "optim.LearningRate": "a protocol",
    "optim.Schedule": "a base to derive from",
    "optim.StepOptimizer": "a protocol",
    "tree.Structure": "flatten makes it",
    "train.Check": "step.check makes it",
    "train.EnsembleEpoch": "ensemble.epochs makes it",
    "train.EnsembleFunction": "ensemble.bind makes it",
    "train.EnsembleHistory": "ensemble.run makes it",
    "train.EnsembleLast": "ensemble.last is one",
    "train.Epoch": "step.epochs makes it",
    "train.EpochRecord": "fit gives it to callbacks",
    "train.History": "step.run makes it",
    "train.Last": "step.last is one",
    "nn.Gradients": "mlp.gradients makes it",
    "nn.KeyValueCache": "attention.cache makes it",
    "nn.MambaState": "mamba.initial_state makes it",
    "nn.Scratch": "mlp.scratch makes it",
}
VALUES = {f"wg.{name}" for name in (*DTYPES, *CONSTANTS)}
# Called for every array of every step: Python words their errors, with the same names.
WORDED_BY_PYTHON = {f"tree.{name}" for name in wg.tree.__all__}


def public() -> dict[str, Any]:
    found = {
        f"{space}.{name}": getattr(module, name)
        for space, module in SPACES.items()
        for name in (module.__all__ if space != "nn.init" else wg.nn.init.INITIALISERS)
    }
    return {
        name: thing
        for name, thing in found.items()
        if not inspect.ismodule(thing) and name not in NOT_CALLED and name not in VALUES
    }


PUBLIC = public()


def test_every_exception_is_needed():
    everything = {f"{space}.{name}" for space, m in SPACES.items() for name in dir(m)}
    assert NOT_CALLED.keys() <= everything
    assert all(callable(thing) for thing in PUBLIC.values())


@pytest.mark.parametrize("name", PUBLIC)
def test_a_signature_has_the_real_parameters(name):
    signature = inspect.signature(PUBLIC[name])
    kinds = [p.kind for p in signature.parameters.values()]
    assert not {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= set(kinds)
    if "Any'" not in str(signature) and not kinds:
        without = ("wg.eager", "wg.GradientTape", "wg.Graph", "wg.__array_namespace_info__")
        assert name in (*without, "nn.Flatten")  # there are none


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - WORDED_BY_PYTHON))
def test_a_wrong_name_is_told_the_right_ones(name):
    known = list(inspect.signature(PUBLIC[name]).parameters.values())
    named = [p.name for p in known if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    with pytest.raises(TypeError) as found:
        PUBLIC[name](wrong_one=1)
    last = name.rpartition(".")[2]
    beginning = f"{last}: no parameter 'wrong_one'; it has {', '.join(named) or 'none'}. "
    assert str(found.value).startswith(beginning)


@pytest.mark.parametrize("name", [name for name in PUBLIC if isinstance(PUBLIC[name], Op)])
def test_the_signature_of_an_op_is_how_it_can_be_called(name):
    """Every parameter can be given by the name it shows, and by position in the order it shows."""
    op = PUBLIC[name]
    parameters = list(inspect.signature(op).parameters.values())
    assert op.front is not None or [p.name for p in parameters] == [
        *op.call.operands,
        *op.call.params,
        *op.keywords,
    ]
    shown = pydoc.render_doc(op, renderer=pydoc.plaintext)
    assert f"{op.name}({parameters[0].name}" in shown
    if op.front is None:
        given = {
            p.name: [] if op.call.variadic and i == 0 else p.name
            for i, p in enumerate(parameters)
            if p.name not in op.keywords
        }
        by_name = op.call.arrange(op.name, (), given)
        by_place = op.call.arrange(op.name, tuple(given.values()), {})
        assert (list(by_name[0]), by_name[1]) == (list(by_place[0]), by_place[1])


REFUSED = {"fill", "item", "partition", "put", "resize", "sort", "tolist"}
METHODS = sorted(
    name
    for name, method in vars(wg.Tensor).items()
    if not name.startswith("_") and callable(method) and name not in REFUSED
)
NEEDED = {
    "astype": {"dtype": np.float32},
    "clip": {"min": 0.5},
    "dot": {"other": np.ones(3)},
    "repeat": {"repeats": 2},
    "searchsorted": {"v": 0.5},
    "swapaxes": {"axis1": 0, "axis2": 1},
    "take": {"indices": 0},
    "to_device": {"device": "cpu"},
}


def method_of(x: Any, name: str) -> Any:
    """A method, as a Tensor has it."""
    found: list[Any] = []
    wg.trace(lambda x: found.append(getattr(x, name)) or x, x)
    return found[0]


def test_a_method_shows_its_parameters():
    assert {"sum", "mean", "reshape", "clip", "var", "cumsum"} <= set(METHODS)
    shown = "(axis=None, dtype=None, *, keepdims=False)"
    assert str(inspect.signature(method_of(x, "sum"))) == shown
    assert str(inspect.signature(method_of(x, "argsort"))) == "(axis=-1)"
    assert f"mean{shown}" in pydoc.render_doc(method_of(x, "mean"), renderer=pydoc.plaintext)
    for name in METHODS:
        method = method_of(x, name)
        own = "ravel" if name == "flatten" else name  # one function of two names
        assert (method.__name__, method.__qualname__) == (own, f"Tensor.{own}")
        kinds = {p.kind for p in inspect.signature(method).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize("name", sorted({*METHODS} - {"nonzero", "reshape", "transpose"}))
def test_what_a_method_shows_can_be_given(name):
    """By name, and by position as far as it shows that; with its default it changes nothing."""
    x = np.ones(3) if name == "searchsorted" else np.ones((1, 3))
    shown = list(inspect.signature(method_of(x, name)).parameters.values())
    needed = NEEDED.get(name, {})
    assert {p.name for p in shown if p.default is p.empty} <= set(needed)
    given = {p.name: needed.get(p.name, p.default) for p in shown}
    places = [given[p.name] for p in shown if p.kind is p.POSITIONAL_OR_KEYWORD]
    rest = {p.name: given[p.name] for p in shown if p.kind is p.KEYWORD_ONLY}

    def graph(*args: Any, **kwargs: Any) -> str:
        return str(wg.trace(lambda x: getattr(x, name)(*args, **kwargs), x))

    ways = [((), needed), ((), given), (places, rest)]
    graphs = [graph(*args, **kwargs) for args, kwargs in ways]
    assert graphs[0] == graphs[1] == graphs[2]


def test_a_method_of_ones_own_op_shows_its_parameters():
    @wg.op.composite(method=True, space="hidden")
    def shown_twice(x: Any, /, times: float = 2.0) -> Any:
        """The Tensor, so many times as large."""
        return x * times

    method = method_of(x, "shown_twice")
    assert str(inspect.signature(method)) == "(times: 'float' = 2.0) -> 'Any'"
    assert method.__doc__.startswith("The Tensor, ")
    assert method.__qualname__ == "Tensor.shown_twice"
    del wg.Tensor.shown_twice


step = wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(2), wg.optim.SGD(0.1))
x = np.ones((4, 2))
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "a name from elsewhere": (
        lambda: wg.softmax(x, dim=1),
        "softmax: .*it has x, axis. Write axis=",
    ),
    "a name by a letter": (lambda: wg.sum(x, keepdim=True), "sum: .*Write keepdims= instead"),
    "a function": (lambda: wg.dropout(x, p=0.5), "dropout: .*Write rate= instead"),
    "a method": (lambda: wg.grad(lambda x: x.sum(dim=0).sum())(x), "sum: .*Write axis= instead"),
    "a layer": (lambda: wg.nn.Linear(in_features=2, out_size=3), "Linear: .*Write in_size= "),
    "a call of a layer": (
        lambda: wg.nn.Linear(2, 3)(x, train=True),
        "Linear: no parameter 'train'",
    ),
    "a norm": (lambda: wg.nn.LayerNorm(2, epsilon=1.0), "LayerNorm: .*Write eps= instead"),
    "an optimizer": (lambda: wg.optim.Adam(0.1, beta1=0.9), "Adam: .*Write betas= instead"),
    "a schedule": (lambda: wg.optim.Cosine(0.1, 20, warm=3), "Cosine: no parameter 'warm'"),
    "TrainStep": (
        lambda: wg.TrainStep(step.model, step.model, step.optimizer, clip_nrom=1.0),
        "TrainStep: .*Write clip_norm= instead",
    ),
    "a run": (lambda: step.run(x, batchsize=2), r"TrainStep\.run: .*Write batch_size= instead"),
    "epochs": (
        lambda: step.epochs(x, batch_size=2, shuffle=True),
        r"TrainStep\.epochs: .*shuffle_seed",
    ),
    "grad": (lambda: wg.grad(wg.sum, argnum=0), "grad: .*Write argnums= instead"),
    "compile": (lambda: wg.compile(wg.sum, static_argnums=0), "compile: .*Write static= instead"),
    "too many": (
        lambda: wg.nn.Dropout(0.1, 3),
        "Dropout: 2 arguments were given; it takes 1 at most",
    ),
    "too many by position": (
        lambda: wg.nn.S4D(8, 16),
        "S4D: 2 arguments were given by position; it takes 1 so, and states, seed, dtype by name. "
        "Leave some out, or write states=",
    ),
    "too few": (lambda: wg.nn.Linear(3), "Linear: out_size was not given; it has no default"),
    "twice": (lambda: wg.nn.Linear(3, 2, in_size=3), "Linear: in_size was given twice"),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_was_meant_is_named(name):
    call, words = CALLS[name]
    with pytest.raises(TypeError, match=words):
        call()


def test_an_error_inside_of_a_function_is_left_alone():
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        wg.grad(lambda x: wg.sum(x))(x, z=1)


RATED = [
    name
    for name in wg.optim.__all__
    if inspect.isclass(getattr(wg.optim, name))
    and {"lr", "base_lr"} & inspect.signature(getattr(wg.optim, name)).parameters.keys()
    and not issubclass(getattr(wg.optim, name), wg.optim.Schedule)
]


@pytest.mark.parametrize("name", RATED)
def test_an_optimizer_takes_its_learning_rate_under_either_name(name):
    kind = getattr(wg.optim, name)
    first = next(iter(inspect.signature(kind).parameters))
    assert first in ("lr", "base_lr")
    assert kind(learning_rate=0.25).lr == kind(0.25).lr == kind(**{first: 0.25}).lr == 0.25
    assert repr(kind(learning_rate=0.25)) == repr(kind(0.25))
    schedule = wg.optim.Cosine(0.1, 20)
    assert kind(learning_rate=schedule).lr is schedule
    if hasattr(kind, "copy"):
        assert kind(learning_rate=0.25).copy().lr == 0.25
    for both in (
        lambda: kind(0.25, learning_rate=0.25),
        lambda: kind(**{first: 1}, learning_rate=1),
    ):
        with pytest.raises(
            wg.errors.OptimError, match=f"{name}: {first} and learning_rate were given"
        ):
            both()


def test_all_optimizers_are_among_them():
    assert set(RATED) >= {
        "SGD",
        "Adam",
        "AdamW",
        "Lars",
        "Lamb",
        "Lion",
        "RAdam",
        "RMSProp",
        "Adagrad",
    }
    assert {"LBFGS", "Optimizer"} <= set(RATED)


def test_an_optimizer_of_ones_own_takes_both_too():
    class Own(wg.optim.Optimizer):
        def rule(self, weights, grad, state, s, path=None):
            return weights - s["lr"] * grad, state

    assert Own(learning_rate=0.5).lr == Own(0.5).lr == 0.5
    with pytest.raises(wg.errors.OptimError, match="lr and learning_rate were given"):
        Own(0.5, learning_rate=0.5)
    with pytest.raises(wg.errors.OptimError, match="Own: lr=None was given"):
        Own()
