"""Donated arrays at the entry point: written, returned, and never shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from runtime.entering import ready


def step(p: Any, g: Any) -> Any:
    return wg.tree.map(lambda x, y: x - 0.5 * y, p, g), wg.sum(wg.tree.leaves(g)[0])


def arrays(count: int, start: float = 0.0) -> list[np.ndarray]:
    return [np.full(3, start + i) for i in range(count)]


def test_donated_arrays_are_written_and_returned():
    p, g = arrays(3), arrays(3, 10.0)
    compiled = ready(step, arrays(3), g, donate="p")
    entry = compiled.executable(p, g).entry
    for k in (1, 2, 3):
        found, _ = entry(p, g)
        assert all(x is y for x, y in zip(found, p, strict=True))
        assert np.array_equal(p[1], np.full(3, 1.0 - k * 5.5))
    assert np.array_equal(g[1], np.full(3, 11.0))


def test_arrays_are_kept_apart_wherever_they_lie():
    """In any order of addresses, from one call to the next."""
    space = np.zeros((8, 3))
    random = np.random.default_rng(3)
    compiled = ready(step, arrays(4), arrays(4), donate="p")
    entry = compiled.executable(arrays(4), arrays(4)).entry
    for _ in range(100):
        chosen = [space[i] for i in random.permutation(8)]
        assert entry(chosen[:4], chosen[4:]) is not NotImplemented
        i, j = random.permutation(8)[:2]
        chosen[i] = chosen[j][:]  # the same memory, another array
        shared = min(i, j) < 4
        assert (entry(chosen[:4], chosen[4:]) is NotImplemented) == shared


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_overlaps_are_refused(offset):
    space = np.zeros(5)
    p, g = [space[offset : offset + 3]], [space[:3]]
    compiled = ready(step, arrays(1), arrays(1), donate="p")
    for given in ((p, g), (g, p)):
        assert compiled.executable(*given).entry(*given) is NotImplemented
        with pytest.raises(ValueError, match="shares memory"):
            compiled(*given)
    compiled([space[:2].repeat(2)[:3]], g)


def test_neighbours_and_empty_arrays_do_not_overlap():
    space = np.zeros(6)
    compiled = ready(step, arrays(1), arrays(1), donate="p")
    assert compiled.executable([space[:3]], [space[3:]]).entry([space[:3]], [space[3:]])
    empty = [space[1:1]]
    nothing = ready(step, empty, [np.ones(0)], donate="p")
    assert nothing.executable(empty, empty).entry(empty, [space[1:1]]) is not NotImplemented


def test_one_array_as_two_arguments_is_refused():
    compiled = ready(step, arrays(1), arrays(1), donate="p")
    p = arrays(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="shares memory with 'g"):
            compiled(p, p)


def test_what_is_read_only_is_refused():
    compiled = ready(step, arrays(1), arrays(1), donate="p")
    p = arrays(1)
    p[0].flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            compiled(p, arrays(1))
    compiled(arrays(1), p)


def test_room_that_nobody_reads_does_not_divide_kernels():
    """It is written at once, unless something can fail: then it must stay as it was."""
    x, index, room = np.arange(6.0).reshape(2, 3), np.array([0, 2]), np.full((2, 3), 7.0)

    def norm(x: Any, index: Any, room: Any) -> Any:
        return wg.layer_norm(x), wg.sum(x, axis=1)

    def picked(x: Any, index: Any, room: Any) -> Any:
        return wg.layer_norm(x), wg.sum(x, axis=1), wg.take(x, index, axis=1)

    compiled = wg.compile(norm, donate="room")
    assert compiled(x, index, room)[0] is room
    assert np.allclose(room.mean(axis=1), 0)
    executable, apart = (
        wg.compile(norm, donate=d).executable(x, index, room) for d in ("room", ())
    )
    assert len(executable.program.kernels) == len(apart.program.kernels)

    room[:] = 7.0
    with pytest.raises(IndexError):
        wg.compile(picked, donate="room")(x, np.array([0, 9]), room)
    assert (room == 7.0).all()
    finite = wg.compile(norm, donate="room", nonfinite="raise")
    with pytest.raises(wg.errors.NonFiniteError):
        finite(np.full((2, 3), np.nan), index, room)
    assert (room == 7.0).all()


def test_numbers_do_not_stand_between_kernels():
    """Numbers that are computed from arguments come first, and arrays are one kernel behind them:
    in an update that is written over its arguments, and in any other program.
    """
    x = np.linspace(0, 1, 60, dtype=np.float32).reshape(6, 10)
    rule = wg.optim.Adam(1e-2, weight_decay=0.1)

    def arguments():
        model = [x.copy()]
        return model, [x + 1], rule.init(model), wg.tree.arrays(rule.scalars(1))

    update = wg.compile(rule.update, donate=("model", "state"))
    kernels = update.executable(*arguments()).program.kernels
    assert [k.domain for k in kernels].count((6, 10)) == 1
    given = arguments()
    update(*given)
    expected, _ = rule.update(*arguments())
    np.testing.assert_allclose(given[0][0], expected[0], 1e-6)

    def scaled(x, a, b):
        return wg.tanh(x * wg.exp(a)) * wg.sqrt(b) + x

    compiled = wg.compile(scaled)
    numbers = x, np.float32(0.5), np.float32(2.0)
    assert [k.domain for k in compiled.executable(*numbers).program.kernels] == [(), (6, 10)]
    np.testing.assert_allclose(compiled(*numbers), scaled(*numbers), 1e-6)
