"""The end of a program: what lies behind a boundary is written over arguments, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api.compiling.compiled import Compiled, OpenSizes
from wengert.core.table import op

SIZES = ((5, 7), (7,), (7, 3))
COUNT = sum(int(np.prod(shape)) for shape in SIZES)
RNG = np.random.default_rng(8)


def parts(flat: Any) -> list[Any]:
    found, begin = [], 0
    for shape in SIZES:
        end = begin + int(np.prod(shape))
        found.append(wg.reshape(flat[begin:end], shape))
        begin = end
    return found


def gradients(flat: Any, x: Any, y: Any) -> tuple[Any, list[Any]]:
    def loss(weights: Any) -> Any:
        a, b, c = weights
        return np.mean((np.tanh(x @ a + b) @ c - y) ** 2)

    value, found = wg.value_and_grad(loss)(parts(flat))
    return value, found


def adam(w: Any, m: Any, v: Any, buffer: Any, x: Any, y: Any) -> Any:
    value, found = gradients(w, x, y)
    flat = wg.concat([wg.reshape(g, (-1,)) for g in found])
    g = op.boundary(flat, False)
    m = 0.9 * m + 0.1 * g
    v = 0.99 * v + 0.01 * g * g
    return w - 0.01 * m / (np.sqrt(v) + 1e-8), m, v, flat, value


def lars(w: Any, m: Any, v: Any, buffer: Any, x: Any, y: Any) -> Any:
    """A rule that takes norms, parameter by parameter; v is left as it is."""
    value, found = gradients(w, x, y)
    flat = wg.concat([wg.reshape(g, (-1,)) for g in found])
    new_w, new_m = [], []
    g = op.boundary(flat, False)
    for p, q, r in zip(parts(w), parts(g), parts(m), strict=True):
        scale = np.sqrt(np.sum(p * p)) / (np.sqrt(np.sum(q * q)) + 1e-6)
        q = 0.9 * r + 0.01 * scale * q
        new_m.append(wg.reshape(q, (-1,)))
        new_w.append(wg.reshape(p - q, (-1,)))
    return wg.concat(new_w), wg.concat(new_m), v * 1.0, flat, value


def compiled(function: Callable[..., Any], nonfinite: str, threads: int = 1) -> Compiled:
    return Compiled(function, (), OpenSizes(None), ("w", "m", "v"), nonfinite, threads, ("buffer",))


def arguments() -> list[Any]:
    rng = np.random.default_rng(4)
    state = [rng.normal(size=COUNT), rng.normal(size=COUNT), rng.uniform(size=COUNT)]
    return [*state, np.zeros(COUNT), rng.normal(size=(6, 5)), rng.normal(size=(6, 3))]


def kernels(function: Compiled, args: list[Any]) -> list[Any]:
    program = function.executable(*args).program
    return [program.kernels[k] for k in program.order]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("fused", ["1", "0"])
@pytest.mark.parametrize("nonfinite", ["ignore", "skip", "raise"])
@pytest.mark.parametrize("rule", [adam, lars])
def test_the_commit_writes_what_plain_programs_return(
    rule: Any, nonfinite: str, fused: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_FUSE", fused)
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    plain = wg.compile(rule, threads=1)
    step = compiled(rule, nonfinite, threads)
    args, other = arguments(), arguments()
    for _ in range(3):
        wanted = plain(*other)
        other[:4] = wanted[:4]
        found = step(*args)
        assert all(a is b for a, b in zip(found[:4], args[:4], strict=True))
        for a, b in zip(found, wanted, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("rule", [adam, lars])
def test_kernels_of_the_commit_come_last_and_write_in_place(rule: Any) -> None:
    args = arguments()
    step = compiled(rule, "raise")
    found = kernels(step, args)
    gates = [kernel.gated for kernel in found]
    assert any(gates)
    assert gates == sorted(gates)
    count = len(SIZES) if rule is lars else 1
    assert sum(gates) == count + (rule is lars)  # and v, which is as it was


def test_gradients_are_written_where_they_go() -> None:
    """No kernel copies the pieces of a concatenation together."""
    args = arguments()
    step = compiled(adam, "raise")
    program = step.executable(*args).program
    (joined,) = program.joined
    assert len(program.joined[joined]) == len(SIZES)
    assert all(joined not in kernel.stores for kernel in program.kernels)
    step(*args)
    _, wanted = gradients(*arguments()[:1], *arguments()[4:])
    flat = np.concatenate([np.ravel(g) for g in wanted])
    assert np.allclose(args[3], flat, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rule", [adam, lars])
def test_nothing_is_written_where_something_is_not_finite(
    rule: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    for nonfinite in ("raise", "skip"):
        step = compiled(rule, nonfinite, threads)
        args = arguments()
        step(*args)
        before = [x.copy() for x in args[:3]]
        args[4][2, 3] = np.inf
        if nonfinite == "raise":
            with pytest.raises(wg.errors.NonFiniteError):
                step(*args)
        else:
            step(*args)
        assert all(np.array_equal(a, b) for a, b in zip(args[:3], before, strict=True))


def test_an_update_that_overflows_is_not_written() -> None:
    """The gradients are finite; what would be written is not."""
    step = compiled(adam, "skip")
    args = arguments()
    step(*args)
    args[2][COUNT - 1] = 1.7e308
    args[0][1] = np.finfo(float).max
    args[1][1] = -np.finfo(float).max
    before = [x.copy() for x in args[:3]]
    step(*args)
    assert np.all(np.isfinite(args[3]))
    assert all(np.array_equal(a, b) for a, b in zip(args[:3], before, strict=True))


def test_a_result_that_others_read_is_copied_in_the_end() -> None:
    """m is read again for another output: it cannot be written over before."""

    def f(w: Any, m: Any, buffer: Any, x: Any) -> Any:
        g = op.boundary(x, False)
        m2 = m + g
        return w + m2 * m, m2, np.sum(m2) * x

    one = Compiled(f, (), OpenSizes(None), ("w", "m"), "ignore", 1)
    w, m, x = RNG.normal(size=(3, 20))
    want = [w + (m + x) * m, m + x, np.sum(m + x) * x]
    found = one(w, m, np.zeros(1), x)
    assert all(np.allclose(a, b) for a, b in zip(found, want, strict=True))
    assert np.allclose(w, want[0])
    assert np.allclose(m, want[1])


def test_arguments_that_read_each_other() -> None:
    """a and b change places: neither can be written while the other has not been read."""

    def swap(a: Any, b: Any, x: Any) -> Any:
        g = op.boundary(x, False)
        return b[::-1] * g, a[::-1] * g

    for fused in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WENGERT_FUSE", fused)
            a, b, x = RNG.normal(size=(3, 33))
            want = b[::-1] * x, a[::-1] * x
            Compiled(swap, (), OpenSizes(None), ("a", "b"), "raise", 1)(a, b, x)
            assert np.allclose(a, want[0])
            assert np.allclose(b, want[1])


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_known_to_be_finite_is_not_looked_at(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flag of a boundary is believed: only so can the test tell that nothing looked."""
    monkeypatch.setenv("WENGERT_GRAIN", "1")

    def f(w: Any, x: Any, flag: Any) -> Any:
        return w + op.boundary(x, np.sum(flag) > 0), np.sum(x)

    step = Compiled(f, (), OpenSizes(None), ("w",), "skip", threads)
    w, x = np.full(400, 3e38, np.float32), np.zeros(400, np.float32)
    x[-1] = 3e38
    before = w.copy()
    step(w, x, np.zeros(2))
    assert np.array_equal(w, before)
    step(w, x, np.ones(2))
    assert np.isinf(w[-1])


# Programs without a boundary: what is made of arguments alone is the commit, too.


def test_an_update_of_arguments_writes_in_place() -> None:
    """Each parameter and its state in a kernel of its own, which nothing is copied from."""

    def update(weights: Any, momenta: Any, gradients: Any, rate: Any) -> Any:
        momenta = [0.9 * m + g for m, g in zip(momenta, gradients, strict=True)]
        return [w - rate * m for w, m in zip(weights, momenta, strict=True)], momenta

    def given() -> tuple[Any, ...]:
        rng = np.random.default_rng(2)
        shapes = ((4, 5), (4, 5), (20,), (7,), (1,), ())
        return (*([rng.normal(size=s) for s in shapes] for _ in range(3)), np.array(0.1))

    args = given()
    step = wg.compile(update, donate=("weights", "momenta"), threads=1)
    step(*args)
    wanted = update(*given())
    for found, want in zip((*args[0], *args[1]), (*wanted[0], *wanted[1]), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-15)
    program = step.executable(*args).program
    gated = [kernel for kernel in program.kernels if kernel.gated]
    assert (
        sorted(len(kernel.stores) for kernel in gated)[-5:] == [2] * 5
    )  # not the last, of no axis
    assert not [at for at, _ in step.executable(*args).layout.commits if at not in (5, 11)]


def test_arguments_that_need_each_other() -> None:
    def turn(a: Any, b: Any) -> Any:
        return a + b, a - b

    step = wg.compile(turn, donate=("a", "b"), threads=1)
    a, b = np.arange(5.0), np.ones(5)
    step(a, b)
    assert a.tolist() == [1, 2, 3, 4, 5]
    assert b.tolist() == [-1, 0, 1, 2, 3]
    assert all(kernel.gated for kernel in step.executable(a, b).program.kernels)


@pytest.mark.parametrize("nonfinite", ["raise", "skip"])
def test_updates_of_arguments_are_all_or_nothing(nonfinite: str) -> None:
    step = wg.compile(lambda a, b: (2.0 * a, 2.0 * b), donate=("a", "b"), nonfinite=nonfinite)
    a, b = np.ones(4), np.array([1.0, 1e308])
    before = a.copy(), b.copy()
    if nonfinite == "raise":
        with pytest.raises(wg.errors.NonFiniteError):
            step(a, b)
    else:
        step(a, b)
    assert np.array_equal(a, before[0])
    assert np.array_equal(b, before[1])


def test_what_can_fail_is_not_left_to_the_end() -> None:
    power = wg.compile(lambda a, b, n: (2 * a, b**n), donate=("a", "b"), threads=1)
    a, b = np.arange(3), np.arange(3)
    with pytest.raises(wg.errors.DTypeError, match="power"):
        power(a, b, np.array([1, -1, 2]))
    assert a.tolist() == b.tolist() == [0, 1, 2]
    take = wg.compile(lambda a, b, i: (2 * a, wg.take(b, i)), donate=("a", "b"), threads=1)
    with pytest.raises(IndexError):
        take(a, b, np.array([0, 3, 0]))
    assert a.tolist() == b.tolist() == [0, 1, 2]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: -wg.op.shift(x, axis=1, step=-1, fill=0.0),
        lambda x: wg.pad(x, ((1, 0), (0, 0)))[:-1] * 2.0,
        lambda x: wg.concat([x[2:], x[:2]]) * 2.0,
        lambda x: np.flip(x, 0) + 1.0,
        lambda x: np.broadcast_to(x[:1], x.shape) + x,
        lambda x: np.broadcast_to(np.max(x, axis=0), x.shape) - x,
        lambda x: x / np.sum(x, axis=1, keepdims=True),
        lambda x: x / np.sum(x),
        lambda x: np.tril(x) * 2.0,
        lambda x: wg.softmax(x, axis=0),
        lambda x: wg.cumulative_sum(x, axis=1) - x,
        lambda x: wg.sort(x, axis=1) - x,
    ],
)
def test_what_is_read_elsewhere_is_not_written_before(
    function: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    x = np.random.default_rng(1).normal(size=(37, 130))
    wanted = wg.compile(function, threads=1)(x)
    step = wg.compile(function, donate="x", threads=threads)
    for _ in range(5):
        given = x.copy()
        assert step(given) is given
        assert np.array_equal(given, wanted)


def _stays_in_kernel(a: Any, b: Any) -> Any:
    new = a - np.sum(a, 1, keepdims=True)
    return new, b + a * np.sum(new * b, 1, keepdims=True)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shape", [(6,), (5, 5), (4, 17), (1, 300)])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: (a * 2.0, b - np.sum(a * b)),
        lambda a, b: (b * np.sum(a), a * np.max(b)),
        lambda a, b: (a - np.mean(b), b + np.mean(a - b)),
        lambda a, b: (np.sum(a) + b * 0.0, a + np.sum(b * np.sum(a * b))),
    ],
)
def test_sums_read_all_before_anything_is_written(
    function: Any, shape: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    require_same_as_not_donated(function, shape, shape, threads=threads)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 40])
def test_rows_read_again_before_they_are_written(columns: int) -> None:
    require_same_as_not_donated(_stays_in_kernel, (3, columns), (3, columns), threads=1)


@pytest.mark.parametrize("size", [30, 300])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: (a.T @ b + a, b + a.T),
        lambda a, b: (np.cumsum(a, 0), b + a[::-1]),
        lambda a, b: (np.sort(a, 0), b * np.sum(a, 0)),
    ],
)
def test_copies_wait_for_what_still_reads(
    function: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")
    for _ in range(5):
        require_same_as_not_donated(function, (size, size), (size, size), threads=3)


def _joined_and_read(a: Any, b: Any) -> Any:
    joined = np.concatenate([b[:2], b[2:]], 0)
    return joined, np.flip(joined, 1)


def _joined_of_joined(a: Any, b: Any) -> Any:
    joined = np.concatenate([a[:1], b[1:]], 0) * 1.0
    return np.concatenate([joined[2:], joined[:2]], 0), joined


@pytest.mark.parametrize("fused", ["1", "0"])
@pytest.mark.parametrize("function", [_joined_and_read, _joined_of_joined])
def test_a_concatenation_that_is_returned_and_read(
    function: Any, fused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_FUSE", fused)
    require_same_as_not_donated(function, (4, 3), (4, 3), threads=1)


def require_same_as_not_donated(function: Any, *shapes: Any, threads: int) -> None:
    rng = np.random.default_rng(5)
    given = [rng.normal(size=shape) for shape in shapes]
    wanted = wg.compile(function, threads=1)(*given)
    for nonfinite in ("ignore", "raise"):
        args = [x.copy() for x in given]
        step = wg.compile(function, donate=("a", "b"), threads=threads, nonfinite=nonfinite)
        for found, want in zip(step(*args), wanted, strict=True):
            assert np.array_equal(found, want)


class Centred(wg.optim.Optimizer):
    """A rule that reads weights again behind a mean of what it writes."""

    flat = False

    def initial(self, weights: Any) -> Any:
        return {"m": wg.zeros_like(weights)}

    def rule(self, weights: Any, grad: Any, state: Any, s: Any, path: Any = None) -> Any:
        u = weights - np.mean(weights, 0)
        return u - 0.01 * grad, {"m": state["m"] + weights * np.mean(u * grad, 0)}


@pytest.mark.parametrize("nonfinite", ["ignore", "raise"])
def test_rules_of_users_train_as_op_by_op(nonfinite: str) -> None:
    x, start = np.random.default_rng(1).normal(size=(2, 40, 3))
    steps = [
        wg.TrainStep(
            lambda w, x: np.mean((w * x) ** 2), start, Centred(0.1), nonfinite=nonfinite, compiled=c
        )
        for c in (True, False)
    ]
    for _ in range(3):
        for step in steps:
            step(x)
    np.testing.assert_allclose(steps[0].model, steps[1].model, rtol=1e-12)
    states = [step.optimizer_states["m"] for step in steps]
    np.testing.assert_allclose(*states, rtol=1e-9)
