"""Workers: the same bits for any number of threads, in every kind of kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.codegen.targets.cpu.pool_code import FRAME
from wengert.runtime import workers

RNG = np.random.default_rng(3)
THREADS = (1, 2, 3, 7)


def normal(*shape: int, dtype: str = "f4") -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape).astype(dtype)


def _scan(xs: Any, w: Any) -> Any:
    def body(h: Any, x: Any) -> Any:
        h = np.tanh(h @ w + x)
        return h, np.sum(h, axis=-1)

    return wg.scan(body, np.zeros(xs.shape[1:], xs.dtype), xs)


def _scan_gradient(xs: Any, w: Any) -> Any:
    def loss(xs: Any, w: Any) -> Any:
        last, sums = _scan(xs, w)
        return np.sum(last * last) + np.sum(sums)

    return wg.value_and_grad(loss, argnums=(0, 1))(xs, w)


def _while(x: Any, w: Any) -> Any:
    def step(state: Any) -> Any:
        h, n = state
        return np.tanh(h @ w + x), n + 1

    return wg.while_loop(lambda s: wg.sum(s[0] * s[0]) + 50 * s[1] < 400, step, (x, 0), 30)


def _while_gradient(x: Any, w: Any) -> Any:
    return wg.grad(lambda w: wg.sum(_while(x, w)[0] ** 2))(w)


def _branch(flag: Any, x: Any) -> Any:
    return wg.cond(flag, lambda x: np.exp(x) + x[::-1], lambda x: x * 2.0, x)


def _mlp(parameters: Any, x: Any, y: Any) -> Any:
    def loss(parameters: Any) -> Any:
        h = x
        for w, b in parameters[:-1]:
            h = np.tanh(h @ w + b)
        w, b = parameters[-1]
        return wg.cross_entropy(h @ w + b, y)

    return wg.value_and_grad(loss)(parameters)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "map": (lambda x: np.exp(x) * x, (normal(1003),)),
    "map of a matrix": (lambda x, y: np.tanh(x + y), (normal(37, 19), normal(19))),
    "rows": (lambda x: wg.softmax(x), (normal(41, 100),)),
    "rows that remember": (lambda x: wg.layer_norm(np.tanh(x)), (normal(23, 333),)),
    "short rows": (lambda x: wg.softmax(x), (normal(75, 5),)),
    "columns": (lambda x: np.sum(np.exp(x), axis=0), (normal(67, 83),)),
    "product by rows": (lambda x, y: np.tanh(x @ y), (normal(130, 33), normal(33, 20))),
    "product by columns": (lambda x, y: np.tanh(x @ y), (normal(20, 33), normal(33, 130))),
    "product in float64": (
        lambda x, y: x @ y,
        (normal(97, 300, dtype="f8"), normal(300, 97, dtype="f8")),
    ),
    "batch of products": (lambda x, y: x @ y + 1.0, (normal(11, 9, 8), normal(8, 7))),
    "matrix and vector": (lambda x, y: x @ y, (normal(200, 65), normal(65))),
    "scan": (_scan, (normal(6, 40, 70), normal(70, 70))),
    "gradient of a scan": (_scan_gradient, (normal(5, 40, 70), 0.1 * normal(70, 70))),
    "while": (_while, (normal(40, 70) * 0.1, normal(70, 70))),
    "gradient of a while": (_while_gradient, (normal(40, 70) * 0.1, 0.1 * normal(70, 70))),
    "branch": (_branch, (np.array(True), normal(500))),
    "other branch": (_branch, (np.array(False), normal(500))),
    "training": (
        _mlp,
        (
            [
                (normal(64, 96), normal(96)),
                (normal(96, 80), normal(80)),
                (normal(80, 9), normal(9)),
            ],
            normal(70, 64),
            RNG.integers(0, 9, 70),
        ),
    ),
}


@pytest.fixture(autouse=True)
def every_kernel_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_GRAIN", "1")


def digest(tree: Any) -> str:
    found = hashlib.sha256()
    for x in wg.tree.leaves(tree):
        found.update(np.ascontiguousarray(x).tobytes())
    return found.hexdigest()


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_do_not_depend_on_the_number_of_threads(name: str) -> None:
    function, args = PROGRAMS[name]
    found = {}
    for threads in THREADS:
        compiled = wg.compile(function, threads=threads)
        results = {digest(compiled(*args)) for _ in range(3)}
        assert len(results) == 1
        found[threads] = results.pop()
        divided = any(k.split is not None for k in compiled.executable(*args).program.kernels)
        assert divided
    assert len(set(found.values())) == 1


def test_the_pool_is_given_the_work() -> None:
    """What was shared out last is a kernel of this program."""
    compiled = wg.compile(lambda x: np.exp(x), threads=3)
    x = normal(4000)
    compiled(x)
    memory = compiled.executable(x).memory
    assert memory is not None
    assert workers.pool().words[FRAME] == memory.address


def test_sizes_known_at_run_time() -> None:
    dims = {"x": {0: wg.Dim("n")}}
    one, three = (wg.compile(lambda x: wg.softmax(x @ x.T), dims=dims, threads=t) for t in (1, 3))
    for n in (40, 1, 2, 3, 0, 33, 200, 17):
        x = normal(n, 12)
        assert digest(one(x)) == digest(three(x))


def test_an_error_in_any_part_is_seen() -> None:
    take = wg.compile(lambda x, i: wg.take(x, i, axis=0) * 2.0, threads=3, donate="x")
    x = normal(900)
    before = x.copy()
    for place in (0, 450, 899):
        indices = np.arange(900)
        indices[place] = 900
        with pytest.raises(IndexError):
            take(x, indices)
        assert np.array_equal(x, before)


@pytest.mark.parametrize("place", [0, 500, 999])
def test_a_number_that_is_not_finite_is_seen_in_any_part(place: int) -> None:
    f = wg.compile(lambda x: np.log(x), threads=3, donate="x", nonfinite="raise")
    x = np.abs(normal(1000)) + 1
    f(x.copy())
    x[place] = -1
    before = x.copy()
    with pytest.raises(wg.errors.NonFiniteError):
        f(x)
    assert np.array_equal(x, before)


def test_of_several_outputs_the_first_is_named() -> None:
    """Whoever finds which of them first, and whether they are written over arguments or not."""
    x, y = np.abs(normal(1000)) + 1, np.abs(normal(3000)) + 1
    x[990] = y[5] = -1
    found = set()
    for threads in (1, 3):
        for donate in ((), ("x", "y")):
            f = wg.compile(
                lambda x, y: (np.log(x), np.log(y)),
                threads=threads,
                donate=donate,
                nonfinite="raise",
            )
            for _ in range(5):
                with pytest.raises(wg.errors.NonFiniteError) as error:
                    f(x, y)
                found.add((donate, str(error.value)))
    assert len(found) == 2
    assert all("index (990,)" in text for _, text in found)


def test_a_small_program_asks_for_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WENGERT_GRAIN")
    compiled = wg.compile(lambda x: np.tanh(x) + 1.0, threads=4)
    x = normal(64)
    compiled(x)
    assert not compiled.executable(x).recipe.divided


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_wrong_number_of_threads_in_the_environment(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", text)
    with pytest.raises(ValueError, match=f"WENGERT_NUM_THREADS={text}; it must be a whole number"):
        wg.compile(lambda x: x + 1)(normal(3))


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", "5")
    compiled = wg.compile(lambda x: np.exp(x))
    assert compiled.executable(normal(400)).threads == 5


@pytest.mark.parametrize("given", [0, -1, 1.5, "2", True, 10**6])
def test_a_wrong_number_of_threads(given: Any) -> None:
    with pytest.raises(ValueError, match="threads="):
        wg.compile(lambda x: x, threads=given)


def test_a_share_of_the_cpus_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_quota", lambda: 1)
    assert workers.available() == 1
    monkeypatch.setattr(workers, "_quota", lambda: 10**6)
    assert 1 <= workers.available() < 10**6
