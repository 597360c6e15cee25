"""The proof that an update stays finite: right wherever it says so, and there in ordinary
training.
"""

import itertools

import numpy as np
import pytest

import wengert as wg
from train.models import data, net, squared_error
from wengert.core.table import op
from wengert.functions.clipping import joint_length
from wengert.train.recorded.finite_proof import Bounds, largest_element, measure
from wengert.train.recorded.norm_rules import BeforeUpdate
from wengert.train.recorded.optimizer_groups import make_groups
from wengert.train.recorded.step_update import clipping
from wengert.train.storage import Storage

O = wg.optim
DTYPES = [np.float32, np.float64]
ORDINARY = {
    "sgd": lambda: O.SGD(0.05),
    "momentum": lambda: O.SGD(0.05, momentum=0.9),
    "nesterov": lambda: O.SGD(0.05, momentum=0.9, nesterov=True),
    "adam": lambda: O.Adam(0.01),
    "amsgrad": lambda: O.Adam(0.01, amsgrad=True),
    "adamw": lambda: O.AdamW(0.01, weight_decay=0.01),
    "rmsprop": lambda: O.RMSProp(0.01),
    "centered": lambda: O.RMSProp(0.01, momentum=0.9, centered=True),
    "adagrad": lambda: O.Adagrad(0.05),
    "lion": lambda: O.Lion(0.005),
    "radam": lambda: O.RAdam(0.01),
}
DECAYING = {  # with weights of any size, their decay alone may overflow
    "sgd decay": lambda: O.SGD(0.05, momentum=0.5, dampening=0.1, weight_decay=0.1),
    "adam decay": lambda: O.Adam(0.01, weight_decay=0.1),
    "lion decay": lambda: O.Lion(0.005, weight_decay=0.1),
    "radam decay": lambda: O.RAdam(0.01, weight_decay=0.1, decoupled_weight_decay=True),
    "lookahead": lambda: O.Lookahead(O.Adam(0.01)),
    "average": lambda: O.EMA(O.SGD(0.1), decay=0.5),
}
ALL = ORDINARY | DECAYING
OF_NORMS = {
    "lars": lambda: O.Lars(0.5, momentum=0.9, weight_decay=1e-4, exclude=lambda path: path == "b"),
    "larc": lambda: O.Lars(0.5, momentum=0.9, nesterov=True, clip=True, eps=1e-9),
    "lars of optax": lambda: O.Lars(0.5, weight_decay=1e-4, variant="optax"),
    "lamb": lambda: O.Lamb(0.01, weight_decay=0.01),
    "average of lars": lambda: O.EMA(O.Lars(0.5), decay=0.5),
}


class Proof:
    """The proof for one optimizer, as a compiled function of everything that it depends on."""

    def __init__(self, optimizer, dtype):
        self.optimizer, self.dtype = optimizer, np.dtype(dtype)
        [self.segment] = Storage(np.zeros(3, dtype), make_groups(optimizer)).trained
        self.names = list(optimizer.scalars(1))
        self._compiled = wg.compile(self._prove)

    def _prove(self, norm, extents, unseen, row):
        rounded = op.astype(row, self.dtype)
        numbers = {name: rounded[i] for i, name in enumerate(self.names)}
        bounds = Bounds(extents if self.segment.states else None, unseen)
        gradient = largest_element(norm, self.dtype)
        given = BeforeUpdate(None, None, {})  # a flat rule is not asked about any
        safe = bounds.prove(self.optimizer, self.segment, gradient, numbers, given, lambda g: g)
        return op.logical_or(safe, np.zeros((), bool)), [*bounds.extents(), extents][0]

    def __call__(self, norm, extents, numbers, unseen=True):
        """(whether it is safe, the new extents)"""
        row = np.array([numbers[name] for name in self.names])
        kept = np.zeros(1) if not self.segment.states else np.asarray(extents, float)
        safe, new = self._compiled(np.array(float(norm)), kept, np.array([unseen]), row)
        return bool(safe), np.asarray(new)


# Wherever it says so.


def sizes(dtype):
    """Sizes that numbers take where arithmetic ends."""
    limits = np.finfo(dtype)
    root = np.sqrt(limits.max)
    ends = [0, limits.smallest_subnormal, limits.tiny, np.sqrt(limits.tiny), limits.max / 4]
    return np.array([*ends, root / 2, root * 2, limits.max, 1e-8, 1e-3, 0.1, 1, 1e4, 1e10], dtype)


def below(dtype, x):
    """The largest number of a dtype that is not above x."""
    with np.errstate(over="ignore"):
        found = min(dtype(x), np.finfo(dtype).max)
    return found if float(found) <= x else np.nextafter(found, dtype(0))


def elements(rng, dtype, norm, extents):
    """Weights, gradients and states within bounds: all corners, and between them."""
    most = np.finfo(dtype).max
    g = below(dtype, norm)
    axes = [[most, -most, 0], [g, -g, 0], *([abs(x), 0 if x >= 0 else x] for x in extents)]
    corners = np.array(list(itertools.product(*axes)), dtype).T
    tall = np.array([most, g, *np.abs(extents)], dtype)[:, None]
    share = rng.uniform(-1, 1, (len(tall), 64)) * 10.0 ** -rng.integers(0, 60, (len(tall), 64))
    share[rng.uniform(size=share.shape) < 0.3] = 1
    inside = (tall * share).astype(dtype)
    lower = np.array([-np.inf, -np.inf, *np.where(np.array(extents) >= 0, 0, -np.inf)])[:, None]
    found = np.concatenate([corners, np.where(inside < lower, -inside, inside)], axis=1)
    return found[0], found[1], list(found[2:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALL)
def test_what_is_safe_is_finite(name, dtype):
    rng = np.random.default_rng(len(name))
    optimizer = ALL[name]()
    proof = Proof(optimizer, dtype)
    states = list(proof.segment.states)
    answers = {False: 0, True: 0}
    for _ in range(400):
        numbers = optimizer.scalars(int(rng.integers(1, 2000)))
        for each in rng.choice(list(numbers), rng.integers(0, 3), replace=False):
            numbers[each] = float(rng.choice(sizes(dtype))) * rng.choice([1, 1, 1, 1, -1])
        norm = float(rng.choice(sizes(dtype))) * rng.choice([1, 1, 0.3, 1e-5])
        extents = [dtype(rng.choice(sizes(dtype)) * rng.choice([1, 1, 0.01, -1])) for _ in states]
        safe, new = proof(norm, extents, numbers)
        answers[safe] += 1
        w, g, found = elements(rng, dtype, norm, extents)
        with np.errstate(all="ignore"):
            s = {key: np.asarray(x, dtype) for key, x in numbers.items()}
            after, after_states = optimizer.rule(w, g, dict(zip(states, found, strict=True)), s)
        results = [after, *(after_states[key] for key in states)]
        finite = all(np.isfinite(x).all() for x in results)
        assert finite or not safe, (numbers, norm, extents)
        for key, extent in zip(states, new, strict=False):
            assert np.isfinite(extent)
            if finite:  # the next proof begins with it
                assert np.max(np.abs(after_states[key])) <= abs(extent)
                assert extent < 0 or np.min(after_states[key]) >= 0
    assert answers[False] > 20
    assert answers[True] > (0 if name in DECAYING else 20)


class Custom(O.Optimizer):
    """A rule made of everything that can be followed."""

    def initial(self, weights):
        return {"a": op.zeros_like(weights), "b": op.zeros_like(weights)}

    def rule(self, weights, grad, state, s, path=None):
        lr = s["lr"]
        size = np.abs(grad) + 1
        root = np.sqrt(np.maximum(state["b"], 0.25)) + np.square(lr)
        step = np.clip(grad, -lr, lr) / root - np.sign(grad) * np.reciprocal(size)
        step = np.where(grad > 2, -step, np.minimum(step, state["a"]))
        new = state["b"] * 0.5 + step**2
        return weights - lr * wg.stop_gradient(step), {"a": 0.5 * state["a"] + step, "b": new}


class Strange(O.Optimizer):
    """A rule with an op that is not followed."""

    def rule(self, weights, grad, state, s, path=None):
        return weights - s["lr"] * np.exp(grad), state


@pytest.mark.parametrize("dtype", DTYPES)
def test_rules_of_users(dtype):
    custom = Proof(Custom(0.1), dtype)
    numbers = {"lr": 0.1}
    safe, new = custom(3.0, [1.0, 1.0], numbers)
    assert safe
    assert new[0] < 0 < new[1]  # of one it is known that it stays at 0 or above
    assert not custom(3.0, [np.finfo(dtype).max, 1.0], numbers)[0]
    assert not custom(3.0, [1.0, 1.0], {"lr": np.finfo(dtype).max})[0]
    assert not Proof(Strange(0.1), dtype)(0.0, [], numbers)[0]


def test_norms_that_are_no_use():
    proof = Proof(O.Adam(), np.float32)
    numbers = O.Adam().scalars(1)
    assert proof(1.0, [1.0, 1.0], numbers)[0]
    for norm in (np.nan, np.inf, 1e200):
        safe, new = proof(norm, [1.0, 1.0], numbers)
        assert not safe
        np.testing.assert_array_equal(np.abs(new), np.finfo(np.float32).max)
    assert not proof(1.0, [1.0, -1.0], numbers)[0]  # a square that may be negative
    assert not proof(1.0, [1.0, 1.0], numbers, unseen=False)[0]
    assert not proof(1.0, [1.0, 1.0], numbers | {"eps": 0.0})[0]


@pytest.mark.parametrize("limits", [{}, {"clip_norm": 0}, {"clip_value": 0}, "both"])
def test_gradients_are_no_larger_than_said(limits):
    limits = {"clip_value": 0, "clip_norm": 1} if limits == "both" else limits

    def sides(gradients, scalars):
        norm = joint_length(gradients)
        clip = clipping(limits, gradients, norm, scalars)
        said = [clip(largest_element(norm, g.dtype)) for g in gradients]
        return said, [clip(g) for g in gradients]

    compiled = wg.compile(sides)
    rng = np.random.default_rng(0)
    tight = 0
    for _ in range(300):
        gradients = [
            (
                rng.uniform(-1, 1, 33) * 10.0 ** -rng.integers(0, 3, 33) * rng.choice(sizes(dtype))
            ).astype(dtype)
            * dtype(0.99)
            for dtype in DTYPES
        ]
        scalars = rng.choice(sizes(np.float32)[1:], 2).astype(float)
        said, found = compiled(gradients, scalars)
        for most, g in zip(said, found, strict=True):
            assert np.isnan(most) or np.max(np.abs(g)) <= most
            tight += bool(most / 40 <= np.max(np.abs(g)))
    assert tight > 100


# In ordinary training.


def proved_steps(step, optimizer, batches, dtype):
    """Take steps; which of them were safe. The extents are those that the proof gives."""
    proof, engine, found = Proof(optimizer, dtype), step._engine, []
    for batch in batches:
        before, row = engine.extents.copy(), engine.scalars.row(engine.updates + 1)
        numbers = dict(zip(proof.names, row, strict=False))
        step(*batch)
        safe, new = proof(step.last.grad_norm, before, numbers)
        found.append(safe)
        if engine.extents.size:
            np.testing.assert_array_equal(engine.extents, new)
        exact = np.zeros_like(engine.extents)
        measure(exact, engine.plan.bounded)
        assert np.all(np.abs(exact) <= np.abs(engine.extents))
        assert np.all((engine.extents < 0) | (exact >= 0))
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_training_is_safe(name, dtype):
    optimizer = ORDINARY[name]()
    step = wg.TrainStep(squared_error, net(dtype=dtype), optimizer)
    batches = [data(dtype=dtype, seed=seed) for seed in range(200)]
    assert all(proved_steps(step, optimizer, batches, dtype))


# What it is for: every bit stays, where an update would not be finite.


def linear(w, x):
    """A loss of 0 whose gradient is x, however large the weights are."""
    return wg.sum((w - wg.stop_gradient(w)) * x)


@pytest.mark.parametrize("clip", [{}, {"clip_norm": 10.0}, {"clip_value": 1e20}])
@pytest.mark.parametrize("name", ALL | OF_NORMS)
def test_the_same_steps_are_skipped_as_op_by_op(name, clip):
    rng = np.random.default_rng(len(name))
    start = np.linspace(-1, 1, 5, dtype=np.float32)
    make = (ALL | OF_NORMS)[name]
    steps = [
        wg.TrainStep(linear, start, make(), nonfinite="skip", compiled=compiled, **clip)
        for compiled in (True, False)
    ]
    skipped = 0
    for _ in range(60):
        x = rng.normal(size=5).astype(np.float32) * np.float32(rng.choice([1, 1, 1e-30, 1e25]))
        for step in steps:
            step.optimizer.lr = 1e-2
        if rng.uniform() < 0.2:
            rate = float(rng.choice([3.4e38, 1e30, 1e15]))
            for step in steps:
                step.optimizer.lr = rate
        if rng.uniform() < 0.1:
            for step in steps:
                step.model[:] = np.array([3e38, -3.4e38, 1, 0, 2], np.float32) * 0.9
        before = steps[0].model.tobytes()
        for step in steps:
            step(x)
        assert steps[0].last.skipped == steps[1].last.skipped
        if steps[0].last.skipped:
            skipped += 1
            assert steps[0].model.tobytes() == before
        assert np.isfinite(steps[0].model).all()
        assert steps[0].fingerprint() == steps[1].fingerprint()
    assert (0 if clip or name == "larc" else 1) <= skipped < 60  # it takes the smaller rate


@pytest.mark.parametrize("name", ["momentum", "adam", "rmsprop"])
def test_raise_leaves_everything_as_it_was(name):
    step = wg.TrainStep(linear, np.ones(4, np.float32), ORDINARY[name]())
    for _ in range(3):
        step(np.ones(4))
    before, extents = step.fingerprint(), step._engine.extents.copy()
    step.optimizer.lr = 1e38
    with pytest.raises(wg.errors.NonFiniteError, match="update"):
        step(np.full(4, 1e30))
    assert step.fingerprint() == before
    np.testing.assert_array_equal(step._engine.extents, extents)
    step.optimizer.lr = 0.01
    step(np.ones(4))


# Where states come from elsewhere.


def test_states_that_are_loaded_are_measured():
    step = wg.TrainStep(linear, np.ones(4, np.float32), O.Adam(0.01))
    step(np.ones(4))
    saved = step.state_dict()
    assert "extents" not in str(saved.keys())
    saved["arrays"]["optimizer mean"][""][2] = 3e38
    saved["arrays"]["optimizer square"][""][2] = 0
    fresh = wg.TrainStep(linear, np.ones(4, np.float32), O.Adam(0.01))
    fresh.load_state_dict(saved)
    assert abs(fresh._engine.extents[0]) == np.float32(3e38)
    assert fresh._engine.extents[1] > 0
    before = fresh.fingerprint()
    with pytest.raises(wg.errors.NonFiniteError, match="update"):
        fresh(np.ones(4))
    assert fresh.fingerprint() == before


def test_states_that_were_seen_are_not_trusted():
    step = wg.TrainStep(linear, np.ones(4, np.float32), O.Lion(0.01))
    step(np.ones(4))
    assert step._engine.unseen[0]
    mean = step.optimizer_states["mean"]
    assert not step._engine.unseen[0]
    step(np.ones(4))
    mean[1] = np.inf
    before = step.fingerprint()
    with pytest.raises(wg.errors.NonFiniteError):
        step(np.ones(4))
    assert step.fingerprint() == before
    mean[1] = 0
    step(np.ones(4))


def test_steps_op_by_op_leave_extents_that_hold():
    step = wg.TrainStep(linear, np.ones(4, np.float32), O.Adam(0.01))
    step(np.ones(4))
    with wg.eager():
        step(np.full(4, 5.0))
    np.testing.assert_array_equal(
        np.abs(step._engine.extents),
        [np.max(np.abs(x)) for x in step.optimizer_states.values()],
    )


@pytest.mark.parametrize("options", [{"nonfinite": "ignore"}, {"accumulate": 2}])
def test_where_nothing_is_proved_there_are_no_extents(options):
    step = wg.TrainStep(linear, np.ones(4, np.float32), O.Adam(0.01), **options)
    for _ in range(4):
        step(np.ones(4))
    assert step._engine.extents.size == 0


# Rules that take norms: their norms are those of the arrays themselves.


class ProofOfNorms:
    """The proof for a model of two parameters, one of which `exclude` may match."""

    SHAPES = ((2, 3), (4,))

    def __init__(self, optimizer, dtype):
        self.optimizer, self.dtype = optimizer, np.dtype(dtype)
        model = {name: np.zeros(s, dtype) for name, s in zip("ab", self.SHAPES, strict=True)}
        [self.segment] = Storage(model, make_groups(optimizer)).trained
        self.names = list(optimizer.scalars(1))
        self.states = list(self.segment.states)
        self._compiled = wg.compile(self._prove)

    def _prove(self, weights, gradients, states, extents, row):
        rounded = op.astype(row, self.dtype)
        numbers = {name: rounded[i] for i, name in enumerate(self.names)}
        bounds = Bounds(extents if self.states else None, np.ones(1, bool))
        gradient = largest_element(joint_length([gradients]), self.dtype)
        given = BeforeUpdate(weights, gradients, dict(zip(self.states, states, strict=True)))
        found = bounds.prove(self.optimizer, self.segment, gradient, numbers, given, lambda g: g)
        return op.logical_or(found, np.zeros((), bool)), [*bounds.extents(), extents][0]

    def __call__(self, weights, gradients, states, numbers):
        """(whether it is safe, the new extents, the new weights and states)"""
        extents = [-np.max(np.abs(x), initial=0) for x in states] or [0.0]
        row = np.array([numbers[name] for name in self.names])
        safe, new = self._compiled(weights, gradients, states, np.asarray(extents, float), row)
        s = {name: np.asarray(x, self.dtype) for name, x in numbers.items()}
        results = []
        for parameter in self.segment.parameters:
            w, g, *rest = (parameter.view(x) for x in (weights, gradients, *states))
            given = dict(zip(self.states, rest, strict=True))
            with np.errstate(all="ignore"):
                after, found = self.optimizer.rule(w, g, given, s, parameter.path)
            results.append([np.ravel(x) for x in (after, *(found[k] for k in self.states))])
        return bool(safe), new, [np.concatenate(x) for x in zip(*results, strict=True)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_NORMS)
def test_what_is_safe_is_finite_where_norms_are_taken(name, dtype):
    rng = np.random.default_rng(len(name))
    proof = ProofOfNorms(OF_NORMS[name](), dtype)
    answers = {False: 0, True: 0}
    for _ in range(300):
        numbers = proof.optimizer.scalars(int(rng.integers(1, 2000)))
        for each in rng.choice(list(numbers), rng.integers(0, 2), replace=False):
            numbers[each] = float(rng.choice(sizes(dtype)))
        arrays = [
            (rng.normal(size=proof.segment.size) * 0.2 * rng.choice(sizes(dtype))).astype(dtype)
            for _ in range(2 + len(proof.states))
        ]
        safe, new, (after, *found) = proof(*arrays[:2], arrays[2:], numbers)
        answers[safe] += 1
        finite = all(np.isfinite(x).all() for x in (after, *found))
        assert finite or not safe, numbers
        for extent, x in zip(new, found, strict=False):
            assert not finite or np.max(np.abs(x)) <= abs(extent)
    assert min(answers.values()) > 10


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_NORMS)
def test_ordinary_training_with_norms_is_safe(name, dtype):
    rng = np.random.default_rng(3)
    proof = ProofOfNorms(OF_NORMS[name](), dtype)
    weights, *states = (
        rng.normal(size=proof.segment.size).astype(dtype) for _ in range(1 + len(proof.states))
    )
    states = [np.abs(x) * dtype(0.01) for x in states]
    for count in range(1, 60):
        gradients = rng.normal(size=weights.size).astype(dtype)
        numbers = proof.optimizer.scalars(count)
        row = np.array([numbers[name] for name in proof.names])
        extents = np.array([np.max(x) for x in states] or [0.0], float)
        assert proof._compiled(weights, gradients, states, extents, row)[0]
        weights = proof(weights, gradients, states, numbers)[2][0]


@pytest.mark.parametrize("name", OF_NORMS)
def test_an_update_takes_no_norm_that_its_proof_has_taken(name):
    step = wg.TrainStep(squared_error, net(), OF_NORMS[name]())
    text = step.explain(*data())
    _, update = text.split("\nkernels\n")[1].split(" gated", 1)
    assert " by lanes" in text
    assert " by lanes" not in update


def test_rules_that_are_not_followed_are_looked_at():
    model = {"a": np.ones(4, np.float32), "b": np.ones(3, np.float32)}
    step = wg.TrainStep(
        lambda m, x: wg.sum(m["a"] * x) + wg.sum(m["b"]),
        model,
        {"a": O.Lars(1e38, trust_coefficient=1e3), "*": O.Adam(0.01)},
    )
    assert step._engine.extents.size == 2
    before = step.fingerprint()
    with pytest.raises(wg.errors.NonFiniteError, match="update"):
        step(np.ones(4))
    assert step.fingerprint() == before


@pytest.mark.parametrize("make", [lambda: O.Lars(0.1), lambda: O.Lamb(0.01)])
@pytest.mark.parametrize("names", ["wsv", "swv"])
def test_norms_of_parameters_without_axes(make, names):
    shapes = {"w": (3,), "s": (), "v": (2, 2)}
    model = {name: np.ones(shapes[name]) for name in names}
    steps = [
        wg.TrainStep(lambda m: sum(wg.sum(x**2) for x in m.values()), model, make(), compiled=c)
        for c in (True, False)
    ]
    for step in steps:
        for _ in range(3):
            step()
    for name in names:
        np.testing.assert_allclose(steps[0].model[name], steps[1].model[name], rtol=1e-12)


class ByPath(O.Lars):
    """A rule that has other numbers for one parameter."""

    def rule(self, weights, grad, state, s, path=None):
        new, state = super().rule(weights, grad, state, s, path)
        return weights + (new - weights) * (1e308 if path == "b" else 1.0), state


def test_rules_that_differ_by_path_are_proved_apart():
    model = {"a": np.ones(3), "b": np.ones(3)}
    step = wg.TrainStep(
        lambda m, x: wg.sum((m["a"] + m["b"]) * x), model, ByPath(1.0, trust_coefficient=1e3)
    )
    with pytest.raises(wg.errors.NonFiniteError, match="update"):
        step(np.ones(3))
    assert np.array_equal(step.model["b"], np.ones(3))
