"""Large results: whose memory they have, and what becomes of it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import wengert as wg
from wengert.runtime.entries.entry import result_pool
from wengert.runtime.entries.result_pool_code import COUNT, HELD, LEAST_BYTES, LIMIT, MOST_BLOCKS

LARGE = LEAST_BYTES // 4  # of float32

handler_name = np._core.multiarray.get_handler_name  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def doubled():
    return wg.compile(lambda x: x * 2, dims={"x": {0: wg.Dim("n")}})


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Let a test set the limit, with no block held at its beginning."""
    words = result_pool()._words
    before = int(words[LIMIT])
    _release_all()
    yield
    words[LIMIT] = before


def _release_all() -> None:
    """Have the blocks that wait be let go."""
    words = result_pool()._words
    before, words[LIMIT] = int(words[LIMIT]), LEAST_BYTES + (LEAST_BYTES >> 2)
    del_me = result_pool().empty((LARGE,), np.dtype(np.float32))
    del del_me
    words[LIMIT] = before


def _numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


def test_a_loop_that_drops_its_results_uses_the_same_memory(doubled):
    x = _numbers(LARGE + 5)
    first = doubled(x)
    at = first.ctypes.data
    del first
    for k in range(5):
        y = doubled(x + k)
        assert y.ctypes.data == at
        assert handler_name(y) == "wengert"
        assert y.flags.owndata
        assert y.base is None
        np.testing.assert_array_equal(y, 2 * (x + k))
        del y


def test_a_result_that_lives_is_left_alone(doubled):
    x = _numbers(LARGE)
    kept = [doubled(x + k) for k in range(4)]
    view = kept[0][10:20]
    del kept[0]
    kept += [doubled(x + k) for k in range(4, 8)]
    np.testing.assert_array_equal(view, 2 * x[10:20])
    for k, y in zip([1, 2, 3, 4, 5, 6, 7], kept, strict=True):
        np.testing.assert_array_equal(y, 2 * (x + k))


def test_small_results_and_other_arrays_are_numpys(doubled):
    assert handler_name(doubled(_numbers(LARGE // 2))) == "default_allocator"
    doubled(_numbers(LARGE))
    assert handler_name(np.empty(4 * LARGE, np.float32)) == "default_allocator"


def test_what_waits_is_bounded(doubled):
    words = result_pool()._words
    words[LIMIT] = 4 * LEAST_BYTES
    x = _numbers(LARGE)
    results = [doubled(x) for _ in range(8)]
    assert words[COUNT] <= 1
    del results
    assert 1 <= words[COUNT] <= 4
    assert words[HELD] <= words[LIMIT]
    large = doubled(_numbers(8 * LARGE))
    held = int(words[HELD])
    del large  # larger than the limit: it goes
    assert words[HELD] == held


def test_the_oldest_goes_first(doubled):
    words = result_pool()._words
    words[LIMIT] = 6 * LEAST_BYTES
    for count in (LARGE, 2 * LARGE, 3 * LARGE, 4 * LARGE):
        doubled(_numbers(count))
    assert 4 * LEAST_BYTES < words[HELD] <= words[LIMIT]  # the last is there, and no room for all
    at = doubled(_numbers(4 * LARGE)).ctypes.data
    assert doubled(_numbers(4 * LARGE)).ctypes.data == at


def test_no_more_blocks_than_there_are_places_for(doubled):
    words = result_pool()._words
    results = [doubled(_numbers(LARGE)) for _ in range(MOST_BLOCKS + 3)]
    del results
    assert words[COUNT] == MOST_BLOCKS
    assert doubled(_numbers(LARGE))[3] == 6


def test_sizes_that_are_nearly_equal_share(doubled):
    first = doubled(_numbers(LARGE + 1000))
    at = first.ctypes.data
    del first
    second = doubled(_numbers(LARGE + 1999))
    assert second.ctypes.data == at
    np.testing.assert_array_equal(second, 2 * _numbers(LARGE + 1999))


def test_resized_and_pickled(doubled):
    y = doubled(_numbers(LARGE))
    y.resize(3 * LARGE, refcheck=False)
    np.testing.assert_array_equal(y[:LARGE], 2 * _numbers(LARGE))
    assert not y[LARGE:].any()
    y.resize(10, refcheck=False)
    np.testing.assert_array_equal(y, 2 * _numbers(10))
    again = pickle.loads(pickle.dumps(doubled(_numbers(LARGE))))
    np.testing.assert_array_equal(again, 2 * _numbers(LARGE))


def test_first_calls_and_several_results():
    x = np.ones((LARGE // 64, 64), np.float32)
    a, b, c = wg.compile(lambda x: (x + 1, np.sum(x), x.T * 3))(x)
    assert [handler_name(v) for v in (a, b, c)] == ["wengert", "default_allocator", "wengert"]
    assert (a == 2).all()
    assert b == x.size
    assert (c == 3).all()


def test_threads(doubled):
    wrong: list[int] = []

    def work(k: int) -> None:
        x = _numbers(LARGE + 100 * k)
        for _ in range(10):
            if not np.array_equal(doubled(x + k), 2 * (x + k)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


_PROGRAM = """
import sys
import numpy as np, wengert as wg
f = wg.compile(lambda x: x + 1)
x = np.ones(1 << 19, np.float32)
kept = [f(x) for _ in range(3)]
name = np._core.multiarray.get_handler_name
print(name(kept[0]), name(kept[2]))
class Late:
    def __del__(self): self.y = None
late = Late(); late.y = kept.pop()
sys.kept = [kept, late]  # dies when modules are gone
"""


@pytest.mark.parametrize(("given", "name"), [("0", "default_allocator"), ("", "wengert")])
def test_switched_off_and_at_exit(given, name):
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        check=False,
        env=os.environ | {"WENGERT_RESULT_BYTES": given},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [name, name], "")


def test_a_wrong_limit(monkeypatch):
    from wengert.runtime.entries import result_pool as module

    monkeypatch.setenv("WENGERT_RESULT_BYTES", "lots")
    with pytest.raises(ValueError, match=r"WENGERT_RESULT_BYTES=lots; it must be a whole number"):
        module.waiting_bytes()
