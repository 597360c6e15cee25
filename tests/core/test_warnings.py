"""Programs that run and are most likely not what was meant: a warning at the user's line, once."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import (
    AccumulationWarning,
    DropoutWarning,
    FrozenValueWarning,
    LiveWarning,
    TiedWarning,
    WengertWarning,
    WideningWarning,
)

X = np.ones((3, 4), np.float32)
W = np.ones(4, np.float32)


def warned(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    """Our warnings in a call, however often they were shown before."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")  # also forgets what was shown
        call()
    return [each for each in found if issubclass(each.category, WengertWarning)]


def trained(loss: Callable[..., Any], model: Any = W, times: int = 1, **options: Any) -> None:
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1), **options)
    for _ in range(times):
        step(X)


WIDENED = {
    "a scalar below": lambda x: x / np.sqrt(4),
    "a scalar on the left": lambda x: np.sqrt(4) * x,
    "a scalar of NumPy's in where": lambda x: wg.where(x > 0, x, np.float64(2)),
    "an array without axes": lambda x: x + np.array(2.0),
    "an array": lambda x: x @ np.ones((4, 2)),
    "integers": lambda x: x * np.arange(4),
    "in a scan": lambda x: wg.scan(lambda c, row: (c, row * np.float64(2)), 0.0, x)[1],
}
KEPT = {
    "Python numbers": lambda x: x / math.sqrt(4) * 2 + 1.5,
    "float32": lambda x: x / np.float32(2) @ np.ones((4, 2), np.float32),
    "small integers": lambda x: x * np.arange(4, dtype=np.int8),
    "asked for": lambda x: x.astype(np.float64) / np.sqrt(4),
    "what was wide before": lambda x: wg.mean(x > 0) * np.sqrt(4),
    "an index": lambda x: x[np.arange(2)] + wg.take(x, np.array([0]), axis=0),
    "functions of ours": lambda x: wg.softmax(wg.gelu(wg.layer_norm(x))) + wg.mean(x, axis=0),
}


@pytest.mark.parametrize("name", WIDENED)
def test_float32_that_a_constant_widens_is_named_at_its_line(name):
    f = WIDENED[name]
    results = []
    (found,) = warned(lambda: results.append(wg.compile(f)(X)))
    assert found.category is WideningWarning
    assert found.filename == __file__
    assert found.lineno == f.__code__.co_firstlineno
    assert "float32 meets" in str(found.message)
    assert results[0].dtype == np.float64  # it is no false alarm


@pytest.mark.parametrize("name", KEPT)
def test_what_stays_float32_or_was_asked_for_is_no_reason_to_warn(name):
    def kept(w, x):
        return wg.mean(KEPT[name](x * w)).astype("float32") + wg.sum(w)

    assert warned(lambda: wg.compile(KEPT[name])(X)) == []
    assert warned(lambda: trained(kept)) == []


def test_a_batch_of_float64_that_is_not_cast_is_no_reason_to_warn():
    def run():
        step = wg.TrainStep(lambda w, x: wg.mean(x * w), W, wg.optim.SGD(0.1), cast=False)
        step(X.astype(np.float64))

    assert warned(run) == []


INTEGERS = {
    "features": lambda w, n: wg.mean(n @ w),
    "targets": lambda w, n: wg.mean((w[:, 0] - n[0]) ** 2),
    "a layer": lambda w, n: wg.mean(wg.nn.Linear.of(w.T)(n)),
}
COUNTS = np.arange(12).reshape(3, 4)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_a_batch_that_widen_are_named_at_their_line(name):
    loss, model = INTEGERS[name], np.ones((4, 2), np.float32)
    for call in (
        lambda: wg.TrainStep(loss, model, wg.optim.SGD(0.1))(COUNTS),
        lambda: wg.compile(wg.grad(loss))(model, COUNTS),
    ):
        (found,) = warned(call)
        assert found.category is WideningWarning
        assert (found.filename, found.lineno) == (__file__, loss.__code__.co_firstlineno)
        assert "float32 meets an array of int64" in str(found.message)


NOT_WIDENED = {
    "converted": lambda w, n: wg.mean(n.astype(np.float32) @ w),
    "small integers": lambda w, n: wg.mean(n.astype(np.int8) @ w),
    "asked for": lambda w, n: wg.mean(w.astype(np.float64).T @ n.T),
    "classes": lambda w, n: wg.cross_entropy(w, n[0] % 2),
    "an index": lambda w, n: wg.mean(w[n[0] % 4]) + wg.mean(wg.take(w, n[0] % 4, axis=0)),
    "a mask": lambda w, n: wg.mean(w * (n[0][:, None] > 3)),
    "a size": lambda w, n: wg.sum(w) / n.shape[0],
}


@pytest.mark.parametrize("name", NOT_WIDENED)
def test_integers_that_do_not_widen_are_no_reason_to_warn(name):
    model = np.ones((4, 2), np.float32)
    step = wg.TrainStep(NOT_WIDENED[name], model, wg.optim.SGD(0.1))
    assert warned(lambda: step(COUNTS)) == []


def test_a_state_that_is_wider_than_the_model_is_named():
    def loss(w, state, x):
        return wg.mean(x * w - state["mean"]), {"mean": wg.mean(x) + 0 * state["mean"]}

    def made(dtype, model=W, **options):
        state = {"mean": np.zeros((), dtype), "count": np.zeros(2, int)}
        wg.TrainStep(loss, model, wg.optim.SGD(0.1), state=state, **options)

    (found,) = warned(lambda: made(np.float64))
    assert found.category is WideningWarning
    assert found.filename == __file__
    assert "leaf 'mean' of the state is float64, and the model float32" in str(found.message)
    assert warned(lambda: made(np.float32)) == []
    assert warned(lambda: made(np.float64, cast=False)) == []
    assert warned(lambda: made(np.float64, model=W.astype(np.float64))) == []


def test_a_float64_model_is_no_reason_to_warn():
    assert warned(lambda: wg.compile(lambda x: x / np.sqrt(2))(X.astype(np.float64))) == []


def test_a_line_is_shown_once_and_each_line_for_itself():
    def loss(w, x):
        y = x * w / np.sqrt(2)
        z = x * w * np.float64(3)
        return wg.mean(y) + wg.mean(z)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            trained(loss)
    first = loss.__code__.co_firstlineno
    assert [each.lineno for each in found] == [first + 1, first + 2]


def test_a_category_silences():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", WideningWarning)
        wg.compile(lambda x: x / np.sqrt(2))(X)
    assert found == []
    with warnings.catch_warnings():
        warnings.simplefilter("error", WengertWarning)
        with pytest.raises(WideningWarning, match=r"divide: float32 meets np\.float64"):
            wg.compile(lambda x: x / np.sqrt(2))(X)


DROPPING = {
    "the function": lambda x, rng=None: wg.dropout(x, 0.5, rng),
    "the layer": lambda x, rng=None: wg.nn.Dropout(0.5)(x, rng=rng),
    "in a Sequential": lambda x, rng=None: wg.nn.Sequential(wg.nn.Dropout(0.5))(x, rng=rng),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", DROPPING)
def test_a_dropout_that_drops_nothing_in_a_loss(name, compiled):
    f = DROPPING[name]
    (found,) = warned(lambda: trained(lambda w, x: wg.mean(f(x * w)), compiled=compiled))
    assert found.category is DropoutWarning
    assert (found.filename, found.lineno) == (__file__, f.__code__.co_firstlineno)
    assert "Give the loss an argument rng" in str(found.message)


@pytest.mark.parametrize("name", DROPPING)
def test_a_generator_that_the_loss_keeps_to_itself(name):
    (found,) = warned(lambda: trained(lambda w, x, rng: wg.mean(DROPPING[name](x * w))))
    assert "Pass the loss's rng on" in str(found.message)


@pytest.mark.parametrize("name", DROPPING)
def test_a_dropout_with_a_generator_is_no_reason_to_warn(name):
    f = DROPPING[name]
    assert warned(lambda: trained(lambda w, x, rng: wg.mean(f(x * w, rng)))) == []
    assert warned(lambda: trained(lambda w, x, rng: wg.mean(f(x * w, rng.fold_in(1))))) == []


def test_a_clean_pass_beside_a_noisy_one_is_no_reason_to_warn():
    def loss(w, x, rng):
        return wg.mean((wg.dropout(x * w, 0.5, rng) - wg.dropout(x * w, 0.5)) ** 2)

    assert warned(lambda: trained(loss)) == []


def test_a_rate_of_nothing_and_use_outside_of_a_loss_are_no_reason_to_warn():
    assert warned(lambda: trained(lambda w, x: wg.mean(wg.dropout(x * w, 0.0)))) == []
    f = DROPPING["the layer"]
    assert warned(lambda: wg.compile(f)(X)) == []
    step = wg.TrainStep(lambda w, x: wg.mean(x * w), W, wg.optim.SGD(0.1))
    assert warned(lambda: step.bind(lambda w, x: f(x * w))(X)) == []
    assert warned(lambda: step.evaluate(lambda w, x: wg.mean(f(x)), X, batch_size=2)) == []


def stacked(model: Any) -> Any:
    return sum(wg.sum(x) for x in wg.tree.leaves(model))


ACCIDENTS = {
    "arrays": lambda: [np.zeros(3)] * 2,
    "arrays in a dict": lambda: {"layers": [np.zeros(3)] * 2, "b": np.zeros(2)},
    "layers": lambda: [wg.nn.Linear(2, 2)] * 3,
    "dicts": lambda: [{"w": np.zeros(3)}] * 2,
    "lists": lambda: [[np.zeros(3), np.ones(2)]] * 2,
    "inner lists": lambda: [[np.zeros(3)] * 2, np.ones(2)],
    "a layer of a tuple": lambda: wg.nn.Sequential(layer, "tanh", layer),
}
w, layer = np.array([0.5, 1.0, 2.0]), wg.nn.Linear(2, 2, dtype=np.float64)
net = {"l1": layer, "l2": np.ones(2)}
TWINS = {
    "layers": lambda: {"online": layer, "target": layer, "scale": np.ones(1)},
    "networks further inside": lambda: {"actor": w, "critic": {"online": net, "target": net}},
    "another dict of the same arrays": lambda: {"online": net, "target": dict(net)},
}
ON_PURPOSE = {
    "names": lambda: {"embedding": w, "out": w},
    "one array of a layer": lambda: {"first": layer, "second": wg.nn.Linear.of(layer.weight, w)},
    "copies": lambda: {"online": net, "target": wg.tree.copy(net)},
    "a list beside a name": lambda: {"layers": [w, np.ones(2)], "out": w},
    "two places in two lists": lambda: [{"a": w}, {"b": w}],
    "integers": lambda: [np.zeros(3), *[np.zeros(3, int)] * 2],
    "none": lambda: [np.zeros(3) for _ in range(3)],
}
USES = {
    "TrainStep": lambda model: wg.TrainStep(stacked, model, wg.optim.SGD(0.1)),
    "grad": lambda model: wg.grad(stacked)(model),
    "init": lambda model: wg.optim.Adam(0.1).init(model),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ACCIDENTS)
def test_one_array_several_times_in_a_list(name, use):
    (found,) = warned(lambda: USES[use](ACCIDENTS[name]()))
    assert found.category is wg.errors.TiedWarning
    assert found.filename == __file__
    assert "one parameter" in str(found.message)
    of_arrays = name in ("arrays", "arrays in a dict", "inner lists")
    assert ("names in a dict" in str(found.message)) == of_arrays  # where layers are told as well
    assert ("under one name and use it twice" in str(found.message)) != of_arrays


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", TWINS)
def test_one_network_under_two_names(name, use):
    (found,) = warned(lambda: USES[use](TWINS[name]()))
    assert found.category is wg.errors.TiedWarning
    assert found.filename == __file__
    assert "'online' and 'target' have the same" in str(found.message)
    assert "with another seed if both are trained" in str(found.message)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ON_PURPOSE)
def test_ties_on_purpose_are_no_reason_to_warn(name, use):
    assert warned(lambda: USES[use](ON_PURPOSE[name]())) == []


def test_a_warning_of_an_open_size_has_the_users_line():
    def f(x):
        return x * int(x.shape[0])

    (found,) = warned(lambda: wg.compile(f, dims={"x": {0: wg.Dim("n")}})(X))
    assert found.category is wg.errors.SizeWarning
    assert (found.filename, found.lineno) == (__file__, f.__code__.co_firstlineno + 1)


def test_a_warning_of_an_open_size_names_the_function_that_leaves_it_open():
    def f(x):
        return x * np.ones(1) * np.eye(x.shape[0])[0]

    (found,) = warned(lambda: wg.compile(f, dims={"x": {0: wg.Dim("n")}})(np.ones(4)))
    assert "wg.eye(…, dtype=x.dtype) in the place of np.eye would leave" in str(found.message)
    assert "ones" not in str(found.message)


def masked(x):
    return np.max(wg.where(~wg.eye(x.shape[0], dtype=bool), x @ x.T, -np.inf))


def returns_of(x):
    found = [0.0]
    for reward in x[::-1]:
        found.append(reward + 0.5 * found[-1])
    return wg.stack(found[:0:-1])


TOLD_OF_MASKS = "wg.where(mask, x, 0) in the place of x[mask], with -np.inf for 0 where a max, a"
TABLE = np.arange(40.0).reshape(10, 4)
REPAIRED = {
    "a table": (
        lambda x: x * TABLE[: x.shape[0]],
        lambda x: x * wg.take(TABLE, wg.arange(x.shape[0]), axis=0),
        "wg.take(TABLE, wg.arange(x.shape[0]), axis=0) in the place of TABLE[: x.shape[0]]",
    ),
    "the first rows": (
        lambda x: x[:2] * 1.0,
        lambda x: wg.take(x, wg.arange(2), axis=0) * 1.0,
        "wg.take(x, wg.arange(2), axis=0) in the place of x[:2]",
    ),
    "len": (lambda x: x * len(x), lambda x: x * x.shape[0], "x.shape[0] in the place of len(x)"),
    "range": (
        lambda x: sum(x[i] for i in range(x.shape[0])),
        lambda x: wg.scan(lambda c, row: (c + row, None), np.zeros(4), x)[0],
        "wg.scan in the place of a loop over range(x.shape[0])",
    ),
    "backwards": (
        returns_of,
        lambda x: wg.linear_recurrence(0.5, x, reverse=True),
        "discounted returns are wg.linear_recurrence(discount, rewards, reverse=True)",
    ),
    "in reverse": (
        lambda x: returns_of([x[i] for i in reversed(range(len(x)))][::-1]),
        lambda x: wg.scan(lambda g, r: (r + 0.5 * g,) * 2, np.zeros(4), x, reverse=True)[1],
        "wg.scan(body, carry, x, reverse=True), whose results stay in the order of x, would",
    ),
    "zeros": (
        lambda x: x + np.zeros((x.shape[0], 1)),
        lambda x: x + wg.zeros((x.shape[0], 1), dtype=x.dtype),
        "wg.zeros(…, dtype=x.dtype) in the place of np.zeros",
    ),
    "places": (
        lambda x: x[np.arange(x.shape[0]), 1] * 2.0,
        lambda x: x[wg.arange(x.shape[0]), 1] * 2.0,
        "wg.arange(x.shape[0]) in the place of np.arange would",
    ),
    "places of as many as there are": (
        lambda x: x[0, np.arange(len(x))] * 2.0,
        lambda x: x[0, wg.arange(x.shape[0])] * 2.0,
        "and wg.arange(x.shape[0]) in the place of np.arange, would",
    ),
    "classes": (
        lambda x: wg.cross_entropy(x @ x.T, np.arange(len(x))),
        lambda x: wg.cross_entropy(x @ x.T, wg.arange(x.shape[0])),
        "and wg.arange(x.shape[0]) in the place of np.arange, would",
    ),
    "one class": (
        lambda x: wg.cross_entropy(x, np.full(x.shape[0], 1)),
        lambda x: wg.cross_entropy(x, wg.full(x.shape[0], 1)),
        "wg.full(x.shape[0], 1) in the place of np.full would",
    ),
    "bools": (
        lambda x: wg.where(np.eye(x.shape[0], dtype=bool), 0.0, x @ x.T),
        lambda x: wg.where(wg.eye(x.shape[0], dtype=bool), 0.0, x @ x.T),
        "wg.eye(x.shape[0], dtype=bool) in the place of np.eye would",
    ),
    "a mask": (lambda x: np.max((x @ x.T)[~wg.eye(x.shape[0], dtype=bool)]), masked, TOLD_OF_MASKS),
    "a mask of NumPy's": (
        lambda x: np.max((x @ x.T)[~np.eye(len(x), dtype=bool)]),
        masked,
        TOLD_OF_MASKS,
    ),
    "places of a mask": (
        lambda x: np.max((x @ x.T)[np.nonzero(wg.eye(x.shape[0]) == 0)]),
        masked,
        TOLD_OF_MASKS,
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_a_warning_of_an_open_size_names_a_repair_that_leaves_it_open(name):
    before, after, told = REPAIRED[name]
    dims = {"x": {0: wg.Dim("n")}}
    x = np.linspace(0.0, 1.0, 12).reshape(3, 4)
    results = []
    (found,) = warned(lambda: results.append(wg.compile(before, dims=dims)(x)))
    assert found.category is wg.errors.SizeWarning
    assert told in str(found.message)
    assert warned(lambda: results.append(wg.compile(after, dims=dims)(x))) == []
    np.testing.assert_array_equal(*results)


def test_every_warning_of_the_source_goes_the_one_way():
    source = Path(inspect.getfile(wg)).parent
    users = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "warnings.warn" in path.read_text(encoding="utf-8")
    ]
    assert users == ["core/words/warn.py"]


def accumulating(accumulate: int) -> wg.TrainStep:
    return wg.TrainStep(lambda w, x: wg.mean(x @ w), W, wg.optim.SGD(0.1), accumulate=accumulate)


@pytest.mark.parametrize("way", ["run", "epochs"])
def test_a_run_without_an_update_is_named(way):
    step = accumulating(8)

    def run(**options: Any) -> None:
        found = getattr(step, way)(X, batch_size=1, **options)
        if way == "epochs":
            list(found)

    (found,) = warned(lambda: run(epochs=2))
    assert found.category is AccumulationWarning
    assert "accumulate=8 needs 8 more" in str(found.message)
    assert found.filename == __file__
    assert np.array_equal(step.model, W)  # it is no false alarm
    assert warned(lambda: run(epochs=0)) == []
    assert warned(lambda: run(epochs=1)) == []  # the ninth call: what came before counts
    assert not np.array_equal(step.model, W)


def test_a_run_with_an_update_is_no_reason_to_warn():
    assert warned(lambda: accumulating(3).run(X, batch_size=1)) == []
    assert warned(lambda: accumulating(2).run(X, batch_size=1)) == []


def test_live_arrays_that_are_assigned_to_themselves_are_named():
    model = {"w": W, "b": np.zeros((), np.float32)}
    step = wg.TrainStep(
        lambda m, h, x: (wg.mean(x @ m["w"]) + m["b"], h + 1), model, wg.optim.SGD(0.1), state=0.0
    )
    best, state = step.model, step.state
    step(X)
    (found,) = warned(lambda: setattr(step, "model", best))
    assert found.category is LiveWarning
    assert found.filename == __file__
    assert "wg.tree.copy(step.model)" in str(found.message)
    (found,) = warned(lambda: setattr(step, "state", state))
    assert "wg.tree.copy(step.state)" in str(found.message)


def test_snapshots_and_new_arrays_are_no_reason_to_warn():
    model = {"w": W, "b": np.zeros((), np.float32)}
    step = wg.TrainStep(lambda m, x: wg.mean(x @ m["w"]) + m["b"], model, wg.optim.SGD(0.1))
    best = wg.tree.copy(step.model)
    step(X)
    assert warned(lambda: setattr(step, "model", best)) == []
    assert warned(lambda: setattr(step, "model", {**step.model, "b": np.ones(())})) == []
    assert warned(lambda: setattr(step, "model", {**step.model, "w": step.model["w"][::-1]})) == []


E = np.arange(12, dtype=np.float32).reshape(3, 4)
SHARED = {
    "a transpose": {"emb": E, "out": E.T},
    "overlapping slices": [E[:2], E[1:]],
    "a part": {"all": E, "first": E[0]},
    "a part behind another": {"a": E[:1], "all": E[:2], "last": E[1:]},
}
APART = {
    "rows": [E[:1], E[1:]],
    "columns": [E[:, :1], E[:, 1:]],
    "elements in turn": [E.reshape(-1)[::2], E.reshape(-1)[1::2]],
    "one array under two names": {"emb": E, "out": E},
    "nothing": [E[:0], E],
}


@pytest.mark.parametrize("name", SHARED)
def test_parameters_that_share_memory_are_named(name):
    def make() -> None:
        wg.TrainStep(lambda m: 0.0, SHARED[name], wg.optim.SGD(0.1))

    (found,) = warned(make)
    assert found.category is TiedWarning
    assert found.filename == __file__
    assert "are views of one memory" in str(found.message)


@pytest.mark.parametrize("name", APART)
def test_parameters_that_lie_apart_are_no_reason_to_warn(name):
    assert warned(lambda: wg.TrainStep(lambda m: 0.0, APART[name], wg.optim.SGD(0.1))) == []


class Counters:
    """Functions that count by themselves."""

    count = 0

    def __init__(self) -> None:
        self.items, self.elements, self.own = {"t": 0}, [0], 0

    def item(self, x):
        self.items["t"] += 1
        return x * self.items["t"]

    def element(self, x):
        self.elements[0] += 1
        return x * self.elements[0]

    def attribute(self, x):
        self.own += 1
        return x * 0.5**self.own

    def branch(self, x):
        self.own += 1
        return x + 1 if self.own % 2 else x * 2

    def of_the_class(self, x):
        Counters.count += 1
        return x * Counters.count


def variable():
    count = 0

    def counting(x):
        nonlocal count
        count += 1
        return x * count

    return counting


FROZEN = {
    "an item": lambda: Counters().item,
    "an element": lambda: Counters().element,
    "an attribute": lambda: Counters().attribute,
    "a branch": lambda: Counters().branch,
    "of the class": lambda: Counters().of_the_class,
    "a variable": variable,
}


@pytest.mark.parametrize("way", ["compile", "TrainStep", "bind"])
@pytest.mark.parametrize("name", FROZEN)
def test_a_count_that_recording_freezes_is_named_at_its_line(name, way):
    f = FROZEN[name]()

    def run() -> None:
        if way == "compile":
            wg.compile(f)(X)
        elif way == "TrainStep":
            trained(lambda w, x: wg.mean(f(x @ w)), times=3)
        else:
            step = wg.TrainStep(lambda w, x: wg.mean(x @ w), W, wg.optim.SGD(0.1))
            step.bind(lambda w, x: f(x))(X)

    (found,) = warned(run)
    code = getattr(f, "__func__", f).__code__
    assert found.category is FrozenValueWarning
    assert found.filename == __file__
    assert code.co_firstlineno < found.lineno <= code.co_firstlineno + 3
    assert "Pass it as an argument" in str(found.message)


def test_who_counts_recordings_has_the_right_count_and_no_warning():
    made = {"recordings": 0}
    own = Counters()

    def f(x):
        made["recordings"] += 1
        own.own += 1
        return x * 2

    compiled = wg.compile(f)
    assert warned(lambda: [compiled(X[:rows]) for rows in (1, 2, 1, 2)]) == []
    assert made["recordings"] == own.own == 2


A_KEY = wg.random.key(0)
FROZEN_DRAWS = {
    "dropout": lambda w, x: wg.sum(wg.dropout(x * w, 0.5, wg.random.Generator(wg.random.key(0)))),
    "drawn": lambda w, x: wg.sum(x * w * wg.random.Generator(wg.random.key(1)).normal((4,))),
    "of a key from outside": lambda w, x: wg.sum(x * w * wg.random.normal(A_KEY, (4,))),
    "of a key that stands there": lambda w, x: wg.sum(
        x * w * wg.random.gamma(wg.random.fold_in(wg.random.key(0), 3), 2.0, (4,))
    ),
    "from a distribution": lambda w, x: wg.sum(x * wg.distributions.Normal(w, 1.0).sample(A_KEY)),
}
DRAWN_ANEW = {
    "rng": lambda w, x, rng: wg.sum(wg.dropout(x * w, 0.5, rng)),
    "rng in the place of a key": lambda w, x, rng: wg.sum(x * w * wg.random.normal(rng, (4,))),
    "a distribution": lambda w, x, rng: wg.sum(x * wg.distributions.Normal(w, 1.0).sample(rng)),
    "of a key that is an argument": lambda w, x, key=A_KEY: wg.sum(
        wg.dropout(x * w, 0.5, wg.random.Generator(wg.asarray(key)).fold_in(wg.sum(x > 0)))
    ),
}


@pytest.mark.parametrize("name", FROZEN_DRAWS)
def test_a_generator_of_a_constant_key_in_a_loss_is_named(name):
    (found,) = warned(lambda: trained(FROZEN_DRAWS[name], times=2))
    assert found.category is wg.errors.RandomnessWarning
    assert found.filename == __file__
    assert "parameter rng" in str(found.message)
    assert "the same in every call" in str(found.message)


def test_a_constant_key_in_a_bound_function_is_named():
    step = wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(4), wg.optim.SGD(0.1))
    for draw in (
        lambda w, x: wg.random.categorical(wg.random.key(0), w * x),
        lambda w, x: wg.random.Generator(wg.random.key(0)).normal((4,)) * w * x,
    ):
        (found,) = warned(lambda draw=draw: step.bind(draw)(np.ones(4)))
        assert found.category is wg.errors.RandomnessWarning
        assert found.filename == __file__
        assert "TrainStep.bind was given; its numbers are the same in every" in str(found.message)
    act = step.bind(lambda w, x, rng: wg.random.categorical(rng, w * x))
    assert warned(lambda: act(np.ones(4))) == []
    noisy = step.bind(lambda w, x, key: wg.random.categorical(key, w * x))
    assert warned(lambda: noisy(np.ones(4), A_KEY)) == []


@pytest.mark.parametrize("name", DRAWN_ANEW)
def test_a_generator_that_draws_anew_is_no_reason_to_warn(name):
    assert warned(lambda: trained(DRAWN_ANEW[name])) == []


def test_the_refusal_of_a_key_in_dropout_names_the_parameter_rng():
    with pytest.raises(TypeError, match="name a parameter rng and pass it on"):
        wg.dropout(X, 0.5, wg.random.key(0))
