"""One executable, called by several Python threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from effort import others_run_during

import wengert as wg
from runtime.entering import ready


def test_threads_get_their_own_results():
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(-1, 1, (60 + 5 * k, 40)) for k in range(8)]
    compiled = wg.compile(
        lambda x: {"y": np.tanh(x @ x.T) @ x, "s": wg.sum(x)}, dims={"x": {0: wg.Dim("n")}}
    )
    expected = [compiled(x) for x in inputs]
    assert len(compiled.programs) == 1

    def work(k: int) -> bool:
        for i in range(150):
            j = (k + i) % 8
            found = compiled(inputs[j])
            if not all(np.array_equal(found[name], expected[j][name]) for name in found):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_long_programs_let_others_run():
    x = np.ones((700, 700))
    compiled = ready(lambda x: np.tanh(x @ x.T) @ x, x)
    entry = compiled.latest.entry
    assert entry(x) is not NotImplemented
    assert others_run_during(lambda: entry(x))
    assert not others_run_during(lambda: sum(range(10**6)), times=3)  # which keeps the lock


def test_who_finds_the_memory_taken_uses_other():
    x = np.arange(6.0)
    compiled = ready(lambda x: np.cumsum(x * 2) + wg.sum(x), x)
    executable = compiled.latest
    expected = compiled(x)
    assert executable._entry.claim()
    assert not executable._entry.claim()
    assert executable.entry(x) is NotImplemented
    assert np.array_equal(compiled(x), expected)
    executable._entry.release(long=False)
    assert np.array_equal(executable.entry(x), expected)
