"""Forward and backward of an Mlp allocate nothing, and may run in several threads and processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

from nn.test_mlp import made, random
from wengert.nn.perceptron.bound_mlp import BoundMlp
from wengert.runtime.entries import objects

quick = pytest.mark.skipif(not objects.fits(), reason="the entry point knows CPython only")


def step(mlp, scratch, grads, x, accumulate):
    mlp.forward(x, scratch)
    mlp.backward(x, scratch, grads, accumulate)


@quick
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("batch", [None, 32])
def test_a_step_allocates_nothing(batch, accumulate):
    mlp, scratch, grads = made((4, 64, 64, 2), batch)
    x = random(4 if batch is None else (batch, 4))
    memory = [scratch.bound._memory, grads.bound(accumulate)._memory]
    step(mlp, scratch, grads, x, accumulate)
    arenas = [(m.arena.ctypes.data, m.arena.nbytes) for m in memory]
    tracemalloc.start()
    try:
        step(mlp, scratch, grads, x, accumulate)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100):
            step(mlp, scratch, grads, x, accumulate)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 400  # nothing per step: what the loop itself holds
    assert peak - before < 1000
    assert arenas == [(m.arena.ctypes.data, m.arena.nbytes) for m in memory]


@quick
def test_plain_arguments_take_the_quick_way(monkeypatch):
    mlp, scratch, grads = made((4, 64, 64, 2), 32)
    x = random((32, 4))

    def run(*_args):
        raise AssertionError("the slow path was taken")

    monkeypatch.setattr(BoundMlp, "run", run)
    step(mlp, scratch, grads, x, False)
    step(mlp, scratch, grads, x, True)
    step(mlp, scratch, grads, scratch.output[:, :1].repeat(4, 1), False)


@quick
def test_copy_from_zero_and_scale_allocate_nothing():
    _, _, grads = made((4, 64, 64, 2), 32)
    other = grads.copy()
    tracemalloc.start()
    try:
        for _ in range(2):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            grads.copy_from(other)
            grads.zero_params()
            grads.scale_params(0.5)
            grads.global_l2_norm_params()
            _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < 1000  # a copy of the parameters has 18,440 bytes


def test_no_reference_is_lost():
    mlp, scratch, grads = made((4, 8, 2), 3)
    x = random((3, 4))
    things = (x, mlp, scratch, grads, mlp.weights(0), scratch.output, grads.d_input, scratch.buffer)
    step(mlp, scratch, grads, x, True)
    before = [sys.getrefcount(thing) for thing in things]
    for _ in range(50):
        step(mlp, scratch, grads, x, False)
        step(mlp, scratch, grads, x, True)
        mlp.forward(x.tolist(), scratch)
    assert [sys.getrefcount(thing) for thing in things] == before


def test_memory_outlives_what_it_was_made_from():
    mlp, scratch, grads = made((4, 8, 2), 3)
    x = random((3, 4))
    y, d_input = mlp.forward(x, scratch), mlp.backward(x, scratch, grads)
    expected = y.copy(), d_input.copy()
    del mlp, scratch, grads
    filler = [np.full(64, 7.0, np.float32) for _ in range(1000)]
    assert np.array_equal(y, expected[0])
    assert np.array_equal(d_input, expected[1])
    assert len(filler) == 1000


def test_threads_share_an_mlp_and_have_memory_of_their_own():
    mlp, _, _ = made((32, 256, 256, 8), 256)
    xs = [random((256, 32), seed) for seed in range(4)]
    expected, found = [], {}
    for x in xs:
        scratch, grads = mlp.scratch(256), mlp.gradients(256)
        grads.d_output[...] = mlp.forward(x, scratch)
        mlp.backward(x, scratch, grads)
        expected.append(grads.params.copy())

    def work(i):
        scratch, grads = mlp.scratch(256), mlp.gradients(256)
        for _ in range(20):
            grads.d_output[...] = mlp.forward(xs[i], scratch)
            mlp.backward(xs[i], scratch, grads)
        found[i] = grads.params

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[i], expected[i]) for i in range(4))


def test_one_scratch_in_two_threads_is_refused_or_right():
    mlp, scratch, _ = made((64, 512, 512, 8), 512)
    x = random((512, 64))
    expected = mlp.forward(x, scratch).copy()
    errors = []

    def work():
        for _ in range(30):
            try:
                mlp.forward(x, scratch)
            except RuntimeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("each thread needs its own" in error for error in errors)
    assert np.array_equal(mlp.forward(x, scratch), expected)


FORK = """
import os
import numpy as np
import wengert as wg

mlp = wg.nn.Mlp((32, 256, 256, 8))
scratch = mlp.scratch(512)
x = np.ones((512, 32), np.float32)
expected = mlp.forward(x, scratch).copy()
child = os.fork()
same = np.array_equal(mlp.forward(x, scratch), expected)
if child == 0:
    os._exit(0 if same else 1)
assert same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_goes_on():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=600)


def test_the_slow_path_gives_the_same_bits(monkeypatch):
    """Where no entry point can be made, Python sets the frame itself."""
    mlp, scratch, grads = made((4, 16, 2), 5)
    x = random((5, 4))
    y = mlp.forward(x, scratch).copy()
    grads.d_output[...] = 1
    mlp.backward(x, scratch, grads)
    monkeypatch.setattr(objects, "fits", lambda: False)
    scratch, slow = mlp.scratch(5), mlp.gradients(5)
    assert np.array_equal(mlp.forward(x, scratch), y)
    slow.d_output[...] = 1
    for accumulate in (False, True):
        mlp.backward(x, scratch, slow, accumulate)
        assert np.array_equal(slow.params, grads.params * (1 + accumulate))
