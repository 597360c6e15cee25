"""What a call costs in memory, and that nothing grows."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import wengert as wg
from benchmarks.memory import allocated
from train.models import data, net, squared_error

MOST = 400  # bytes that Python may allocate in a call


@pytest.mark.parametrize("optimizer", [wg.optim.SGD(0.1, momentum=0.9), wg.optim.Adam(1e-3)])
def test_a_call_allocates_little(optimizer):
    x, y = data(rows=32, dtype=np.float32)
    step = wg.TrainStep(squared_error, net((3, 64, 64, 2), np.float32), optimizer)
    assert allocated(lambda: step(x, y)) <= MOST


def test_the_size_of_the_batch_does_not_matter():
    step = wg.TrainStep(squared_error, net((3, 64, 64, 2)), wg.optim.Adam(1e-3), clip_norm=1.0)
    small, large = data(rows=4), data(rows=400)
    assert allocated(lambda: step(*large)) <= MOST
    assert allocated(lambda: step(*small)) <= MOST


def test_training_does_not_grow():
    x, y = data()
    step = wg.TrainStep(squared_error, net(), wg.optim.Adam(wg.optim.Cosine(0.1, 5000)))
    for _ in range(200):
        step(x, y)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(200):
            step(x, y)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            step(x, y)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 4000


def test_a_step_goes_when_nobody_wants_it():
    step = wg.TrainStep(squared_error, net(), wg.optim.SGD(0.1))
    step(*data())
    view = step.model.layers[0].w
    engine = weakref.ref(step._engine)
    del step
    gc.collect()
    assert engine() is None
    view += 1.0  # what was taken out of it lives on
