"""vmap in compiled programs: every example has the bits it has alone, whatever the batch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from table.batches import EXAMPLES, batches
from table.calls import outputs
from table.ops import OPS

import wengert as wg

RNG = np.random.default_rng(5)


def one_of_each_kind() -> list[Any]:
    """The first call of each op that is not elementwise, with all operands mapped and with one of
    several alone, and of a few that are.
    """
    chosen = [op for op in OPS if op.kind != "elementwise" or op.name in ("tanh", "pull", "where")]
    first = [list(itertools.islice(batches(op, np.float32), 2)) for op in chosen if op.samples]
    return [batch for pair in first if pair for batch in pair[: len(pair[0].mapped)]]


@pytest.mark.filterwarnings("ignore::wengert.errors.CaptureWarning")  # of so many calls
def test_ops_have_the_bits_of_each_example_alone():
    """Two programs: one of all calls at once, and one of them for a single example."""
    calls = one_of_each_kind()
    groups = [list(batch.operands) for batch in calls]

    def at_once(groups: Any) -> Any:
        return [batch.at_once(*xs) for batch, xs in zip(calls, groups, strict=True)]

    def alone(groups: Any) -> Any:
        return [outputs(batch.call(*xs)) for batch, xs in zip(calls, groups, strict=True)]

    found, one = wg.compile(at_once)(groups), wg.compile(alone)
    for number in range(EXAMPLES):
        picked = [
            [x[number] if m else x for x, m in zip(batch.operands, batch.mapped, strict=True)]
            for batch in calls
        ]
        for batch, ys, zs in zip(calls, found, one(picked), strict=True):
            for y, z in zip(ys, zs, strict=True):
                assert y[number].tobytes() == z.tobytes(), (batch.call.program(), batch.mapped)


PRODUCTS = {  # what is mapped, of x and y
    "vector and matrix": (lambda x, y: x @ y, (7, 300), (300, 17), (0, None)),
    "matrix and vector": (lambda x, y: x @ y, (40, 300), (7, 300), (None, 0)),
    "vectors": (lambda x, y: x @ y, (7, 300), (7, 300), (0, 0)),
    "a vector for all": (lambda x, y: x @ y, (300,), (7, 300), (None, 0)),
    "matrices": (lambda x, y: x @ y, (7, 9, 300), (7, 300, 5), (0, 0)),
    "a matrix for all": (lambda x, y: x @ y, (9, 300), (7, 300, 5), (None, 0)),
    "a matrix for all, a column": (lambda x, y: x @ y, (9, 300), (7, 300, 1), (None, 0)),
    "many rows, a matrix for all": (lambda x, y: x @ y, (7, 9, 300), (300, 5), (0, None)),
    "both ways": (
        lambda x, y: wg.grad(lambda x, y: np.sum(np.tanh(x @ y) ** 2), (0, 1))(x, y),
        (7, 300),
        (300, 17),
        (0, None),
    ),
}


def test_products_have_the_bits_of_each_example_alone():
    given = {
        name: [RNG.uniform(-2, 2, shape).astype(np.float32) for shape in shapes]
        for name, (_, *shapes, _) in PRODUCTS.items()
    }

    def at_once(given: Any) -> Any:
        return {n: wg.vmap(f, axes)(*given[n]) for n, (f, _, _, axes) in PRODUCTS.items()}

    def alone(given: Any) -> Any:
        return {n: f(*given[n]) for n, (f, *_) in PRODUCTS.items()}

    found, one = wg.compile(at_once)(given), wg.compile(alone)
    for number in range(7):
        picked = {
            name: [
                x if axis is None else x[number]
                for x, axis in zip(xs, PRODUCTS[name][3], strict=True)
            ]
            for name, xs in given.items()
        }
        for name, result in one(picked).items():
            for y, z in zip(outputs(found[name]), outputs(result), strict=True):
                assert y[number].tobytes() == z.tobytes(), name


class Digits:
    """A small classifier, for one example."""

    @staticmethod
    def model(sizes: tuple[int, ...] = (12, 8, 4)) -> dict[str, Any]:
        rng = np.random.default_rng(0)
        pairs = list(itertools.pairwise(sizes))
        weights = {f"w{i}": rng.normal(size=pair) / 3 for i, pair in enumerate(pairs)}
        biases = {f"b{i}": np.zeros(pair[1]) for i, pair in enumerate(pairs)}
        return {name: x.astype(np.float32) for name, x in (weights | biases).items()}

    @staticmethod
    def loss(p: Any, x: Any, y: Any) -> Any:
        hidden = np.tanh(x @ p["w0"] + p["b0"])
        return wg.cross_entropy(hidden @ p["w1"] + p["b1"], y)


INPUTS = RNG.normal(size=(10, 12)).astype(np.float32)
CLASSES = RNG.integers(0, 4, 10)


def test_gradients_of_each_example_are_products_of_one_kernel():
    """The forward pass is one product of matrices for all examples, and the gradients of weights
    are written where they are returned.
    """
    gradients = wg.compile(wg.vmap(wg.grad(Digits.loss), in_axes=(None, 0, 0)))
    found = gradients(Digits.model(), INPUTS, CLASSES)
    for name, each in found.items():
        pairs = zip(INPUTS, CLASSES, strict=True)
        alone = [wg.grad(Digits.loss)(Digits.model(), x, y)[name] for x, y in pairs]
        expected = np.stack(alone)
        assert np.allclose(each, expected, rtol=1e-4, atol=1e-6), name
    program = gradients.executable(Digits.model(), INPUTS, CLASSES).program
    names = [node.op.name for node in program.graph.nodes]
    assert names.count("matmul") == 3
    assert "scan" not in names


def test_one_program_for_any_number_of_examples():
    def gradients(p: Any, x: Any, y: Any) -> Any:
        return wg.vmap(wg.grad(Digits.loss), in_axes=(None, 0, 0))(p, x, y)

    batch = wg.Dim("batch")
    compiled = wg.compile(gradients, dims={"x": {0: batch}, "y": {0: batch}})
    whole = compiled(Digits.model(), INPUTS, CLASSES)
    for count in (1, 0, 7):
        part = compiled(Digits.model(), INPUTS[:count], CLASSES[:count])
        for name in whole:
            assert part[name].tobytes() == whole[name][:count].tobytes()
    executables = {id(compiled.executable(Digits.model(), INPUTS[:n], CLASSES[:n])) for n in (1, 7)}
    assert len(executables) == 1


def loops(key: Any, x: Any) -> Any:
    """Everything without a rule for many examples, or with loops."""
    noise = wg.random.normal(key, (3,), np.float64)
    steps = wg.while_loop(lambda c: c[0].sum() > 1e-2, lambda c: (c[0] / 2, c[1] + 1), (x * x, 0))
    rows = wg.scan(lambda c, r: (c + r, c * r), noise, wg.outer(x, x))
    placed = wg.at(rows[1])[wg.argsort(x)].set(1.0)
    return noise, steps, rows, placed, wg.searchsorted(wg.sort(x), noise)


def test_loops_for_any_number_of_examples():
    keys = np.stack([wg.random.key(seed) for seed in range(5)])
    x = RNG.normal(size=(5, 3))
    batch = wg.Dim("batch")
    compiled = wg.compile(wg.vmap(loops), dims={"key": {0: batch}, "x": {0: batch}})
    for count in (5, 2):
        found = wg.tree.leaves(compiled(keys[:count], x[:count]))
        alone = [wg.tree.leaves(loops(keys[i], x[i])) for i in range(count)]
        for y, *zs in zip(found, *alone, strict=True):
            assert np.allclose(y, np.stack(zs), rtol=1e-12)
    assert compiled.executable(keys, x) is compiled.executable(keys[:2], x[:2])


def test_draws_of_a_generator_differ_between_examples():
    """They are those of a scan over the examples, which goes on where vmap does."""
    x = np.ones((4, 3))
    one, other = (wg.random.Generator(wg.random.key(3)) for _ in range(2))
    mapped = wg.vmap(lambda row: one.normal((3,), np.float64) * wg.dropout(row, 0.5, one))(x)
    looped = wg.scan(
        lambda c, row: (c, other.normal((3,), np.float64) * wg.dropout(row, 0.5, other)), 0.0, x
    )[1]
    assert np.array_equal(mapped, looped)
    assert np.array_equal(one.normal((2,)), other.normal((2,)))
    keys = wg.random.split(wg.random.key(5), 4)
    own = wg.vmap(lambda key: wg.random.Generator(key).normal((2,)))(keys)  # a generator of each
    assert np.array_equal(own[2], wg.random.Generator(keys[2]).normal((2,)))
    key = wg.random.key(0)  # a key is a value like others: the same for all
    same = wg.vmap(lambda row: row + wg.random.normal(key, (3,)))(x)
    assert np.array_equal(same[0], same[1])


def clipped_mean(p: Any, x: Any, y: Any, limit: float) -> Any:
    """The mean of the gradients of all examples, each no longer than a limit."""

    def one(x: Any, y: Any) -> Any:
        g = wg.grad(Digits.loss)(p, x, y)
        norm = np.sqrt(sum(np.sum(leaf * leaf) for leaf in wg.tree.leaves(g)))
        return wg.tree.map(lambda leaf: leaf * wg.minimum(1.0, limit / norm), g)

    return wg.tree.map(lambda g: np.mean(g, axis=0), wg.vmap(one)(x, y))


def test_gradients_that_are_clipped_are_in_memory_once():
    """Their squares are computed where they are added up."""

    def gradients(p: Any, x: Any, y: Any) -> Any:
        return clipped_mean(p, x, y, 0.1)

    given = Digits.model(), INPUTS, CLASSES
    program = wg.compile(gradients).executable(*given).program
    shapes = [program.root_type(root).shape for kernel in program.kernels for root in kernel.stores]
    assert shapes.count((10, 12, 8)) == 1


def surrogate(p: Any, x: Any, y: Any) -> Any:
    """A loss whose gradient is the mean of clipped gradients."""
    found = clipped_mean(wg.tree.map(wg.stop_gradient, p), x, y, 0.1)
    return sum(np.sum(p[name] * wg.stop_gradient(found[name])) for name in p)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_training_step_with_a_clipped_gradient_of_each_example(compiled):
    model = Digits.model()
    step = wg.TrainStep(surrogate, model, wg.optim.SGD(0.5), compiled=compiled)
    step(INPUTS, CLASSES)
    rows = [wg.grad(Digits.loss)(model, x, y) for x, y in zip(INPUTS, CLASSES, strict=True)]
    norms = [np.sqrt(sum(np.sum(np.square(g)) for g in row.values())) for row in rows]
    assert min(norms) > 0.1  # all are clipped
    for name, x in model.items():
        mean = np.mean([row[name] * 0.1 / n for row, n in zip(rows, norms, strict=True)], axis=0)
        assert np.allclose(step.model[name], x - 0.5 * mean, rtol=1e-4, atol=1e-6)
    step(INPUTS[:6], CLASSES[:6])  # the batch is open, and vmap with it


def test_numbers_are_no_part_of_the_program():
    @wg.compile
    def scaled(x: Any, factor: float) -> Any:
        return wg.vmap(lambda row, factor: row.sum() * factor, in_axes=(0, None))(x, factor)

    x = RNG.normal(size=(4, 3))
    assert np.allclose(scaled(x, 2.0), 2 * x.sum(axis=1))
    assert np.allclose(scaled(x, 3.0), 3 * x.sum(axis=1))
    assert scaled.executable(x, 2.0) is scaled.executable(x, 3.0)


def test_a_compiled_function_is_mapped_as_the_function_it_wraps():
    f = wg.compile(lambda x: np.sin(x).sum())
    x = RNG.normal(size=(4, 3))
    assert np.allclose(wg.vmap(f)(x), np.sin(x).sum(axis=1))
