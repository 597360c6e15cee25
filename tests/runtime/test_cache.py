"""Programs from the cache: the same bits and the same errors, and why there was none."""

from __future__ import annotations

import gc
import os
import threading
from unittest import mock

import numpy as np
import pytest
from compiler import bit_programs
from compiler.running import bits

import wengert as wg
from runtime.caching import arguments, cache_in, entries, is_lazy, made, training
from wengert.codegen.llvm.machine import native
from wengert.codegen.llvm.machine.background import Beside
from wengert.runtime import executable as executables
from wengert.runtime.caching import cache, cache_key
from wengert.runtime.caching.cache_writer import settle


@pytest.fixture
def folder(tmp_path):
    with cache_in(tmp_path / "cache"):
        yield tmp_path / "cache"


def no_compiling():
    """No program and no object may be made."""
    refuse = mock.Mock(side_effect=AssertionError("compiled"))
    return mock.patch.multiple(executables, run=refuse, compile=refuse, write=refuse)


# Hits.


@pytest.mark.parametrize("name", list(bit_programs.cases(np.float32)))
def test_the_same_bits(folder, name):
    function, args = bit_programs.cases(np.float32)[name]
    first = made(function, *args)
    assert first.cached == "miss: no entry for a program of these ops"
    with no_compiling():
        again = made(function, *args)
        assert again.cached == "hit"
        assert bits(again(*args)) == bits(first(*args))
        assert bits(again(*args)) == bits(first(*args))  # through the entry point
    assert is_lazy(again)
    assert again.text == first.text


def test_nothing_is_compiled_anew(folder):
    made(training, *arguments())
    refuse = mock.Mock(side_effect=AssertionError("compiled"))
    with mock.patch.object(cache, "make_object", refuse), no_compiling():
        assert made(training, *arguments()).cached == "hit"


def test_donated(folder):
    function = lambda x, y: (x + y, wg.sum(x))  # noqa: E731
    for expected in ("miss", "hit"):
        x, y = np.arange(5.0), np.ones(5)
        executable = made(function, x, y, donate="x")
        assert executable.cached.startswith(expected)
        found, total = executable(x, y)
        assert found is x
        assert total == 10
        assert x.tolist() == [1, 2, 3, 4, 5]
    assert "donated arguments" in made(function, np.ones(5), np.ones(5), donate="y").cached


def test_open_sizes(folder):
    n = {"x": {0: wg.Dim("n")}}
    function = lambda x: (np.tanh(x[1:]) @ x[1:].T, x[:-1])  # noqa: E731
    inputs = [np.random.default_rng(k).standard_normal((k, 3)) for k in (4, 4, 3, 9, 200, 1)]
    compiled = wg.compile(function, dims=n)
    expected = [bits(compiled(x)) for x in inputs]
    settle()
    again = wg.compile(function, dims=n)
    assert again.executable(inputs[0]).cached == "hit"
    found = [bits(again(x)) for x in inputs]
    assert found == expected
    executables = list(again.programs)
    assert len(executables) == 1
    assert executables[0].cached == "hit"


def test_sizes_that_do_not_suit(folder):
    """An axis that is too short for a slice: the second executable is a program of its own."""
    n = {"x": {0: wg.Dim("n")}}
    for expected in ("miss", "hit"):
        compiled = wg.compile(lambda x: x[3:] * 2, dims=n)
        assert compiled(np.ones(2)).shape == (0,)
        assert compiled(np.ones(5)).tolist() == [2, 2]
        found = list(compiled.programs)
        assert [each.cached.partition(":")[0] for each in found] == [expected] * len(found)
        settle()


def test_constants(folder):
    table = np.random.default_rng(0).standard_normal((50, 7))
    indices = np.array([3, 1, 1, 49])

    def function(x):
        return x @ table.T, wg.take(table, indices, axis=0) * 2

    x = np.ones((2, 7))
    first, again = (made(function, x) for _ in range(2))
    assert again.cached == "hit"
    assert bits(again(x)) == bits(first(x))
    table[7, 3] += 1e-15
    other = made(function, x)
    assert "values of constants" in other.cached
    assert bits(other(x)) != bits(first(x))


def test_nonfinite(folder):
    function = lambda x, y: (x + wg.log(y), y)  # noqa: E731
    for expected in ("miss", "hit"):
        x = np.ones(3)
        executable = made(function, x, x, nonfinite="raise")
        assert executable.cached.startswith(expected)
        with pytest.raises(wg.errors.NonFiniteError, match="finite"):
            executable(x, np.zeros(3))
    assert "nonfinite" in made(function, np.ones(3), np.ones(3)).cached


def test_profile_and_explain(folder):
    first, again = (made(training, *arguments()) for _ in range(2))
    assert again.cached == "hit"
    assert again.explain() == first.explain()
    assert len(again.profile(*arguments()).kernels) == len(first.profile(*arguments()).kernels)


def test_errors_have_the_lines_of_this_program(folder):
    code = "def f(x, i):\n    y = wg.take(x, i, axis=0)\n    return wg.linalg.solve(y, y)\n"
    told = []
    for file, lines in (("one.py", 0), ("two.py", 40)):
        space = {"wg": wg}
        exec(compile("\n" * lines + code, file, "exec"), space)
        x, i = np.eye(3), np.arange(3)
        executable = made(space["f"], x, i)
        with pytest.raises(IndexError) as outside:
            executable(x, np.array([0, 1, 7]))
        with pytest.raises(np.linalg.LinAlgError) as singular:
            executable(x, np.array([0, 1, 1]))
        told.append((str(outside.value), str(singular.value)))
        told[-1] += tuple(str(node.line) for node in executable.layout.failing)
    assert executable.cached == "hit"
    for one, two in zip(*told, strict=True):
        assert one != two
        assert one.replace("one.py:2", "two.py:42").replace("one.py:3", "two.py:43") == two


@pytest.mark.skipif(not hasattr(wg, "debug"), reason="needs wg.debug")
def test_what_prints(folder, capsys):
    printed = []
    for _ in range(2):
        executable = made(lambda x: wg.debug(np.tanh(x), "inside") * 2, np.ones(3))
        executable(np.ones(3))
        printed.append(capsys.readouterr().out)
    assert executable.cached == "hit"
    assert "inside" in printed[0]
    assert printed[0] == printed[1]


# Misses.


def test_why(folder):
    x = np.ones((4, 3))
    assert made(lambda x: np.tanh(x) * 2.0, x).cached == "miss: no entry for a program of these ops"
    near = "miss: no entry for this program; the nearest one differs in "
    assert made(lambda x: np.tanh(x) * 3.0, x).cached == near + "values of constants"
    assert made(lambda x: np.tanh(x) * 2.0, x[:2]).cached == near + "shapes or dtypes"
    assert made(lambda x: np.tanh(x) * 2.0, x, threads=3).cached == near + "threads"
    lanes = "8" if os.environ.get("WENGERT_LANES") == "4" else "4"
    with mock.patch.dict(os.environ, WENGERT_LANES=lanes):
        assert made(lambda x: np.tanh(x) * 2.0, x).cached == near + "lanes"
    with mock.patch.dict(os.environ, WENGERT_FUSE="0"):
        assert made(lambda x: np.tanh(x) * 2.0, x).cached == near + "fused"
    with mock.patch.dict(os.environ, WENGERT_ANYTHING="0"):
        assert made(lambda x: np.tanh(x) * 2.0, x).cached == near + "WENGERT_* switches"
    cache_key.source.return_value = "edited"
    assert made(lambda x: np.tanh(x) * 2.0, x).cached == near + "the package's source"
    other = {**cache_key.machine(), "cpu": "another"}
    with mock.patch.object(cache_key, "machine", return_value=other):
        assert made(lambda x: np.tanh(x) * 2.0, x).cached == near + "cpu"


def test_it_is_told_to_the_logger(folder, caplog):
    with caplog.at_level("DEBUG", "wengert.cache"):
        made(np.tanh, np.ones(3))
        made(np.tanh, np.ones(3))
    program = [r for r in caplog.records if r.getMessage().startswith("program")]
    assert [r.levelname for r in program] == ["INFO", "DEBUG"]
    assert "no entry" in program[0].getMessage()
    assert "hit" in program[1].getMessage()


@pytest.mark.parametrize("kind", ["p-", "o-"])
def test_an_entry_that_is_refused_is_made_again(folder, kind):
    first = made(training, *arguments())
    for name in entries(folder, kind):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        if kind == "o-":  # they are asked for where there is no program
            for program in entries(folder, "p-"):
                (folder / program).unlink()
    again = made(training, *arguments())
    assert again.cached.startswith("miss")
    assert ("SHA-256" in again.cached) == (kind == "p-")
    assert bits(again(*arguments())) == bits(first(*arguments()))
    assert made(training, *arguments()).cached == "hit"


def test_an_entry_that_is_whole_and_means_nothing(folder):
    made(training, *arguments())
    (name,) = entries(folder, "p-")
    (key,) = cache.open_store().keys("p-")
    for body in (b"", b"\xff" * 100, (2).to_bytes(8, "little") + b"{}", b"\2" + bytes(7) + b"[]"):
        cache.open_store().write(name, key, body)
        assert made(training, *arguments()).cached.startswith("miss: ")
        assert made(training, *arguments()).cached == "hit"


def test_objects_serve_other_programs(folder, caplog):
    """Matrix products are the same in all programs: made once."""
    native._common._made.clear()
    made(training, *arguments())
    native._common._made.clear()
    cache_key.source.return_value = "edited"
    with caplog.at_level("DEBUG", "wengert.cache"):
        again = made(training, *arguments())
    found = [r.getMessage() for r in caplog.records if r.getMessage().startswith("object")]
    assert "the package's source" in again.cached
    assert len(found) == 4  # its own kernels in two parts, and two families of matrix products
    assert all(text.endswith("hit") for text in found)


def test_objects_that_were_begun(folder):
    text = "define void @f() #0 {\n  ret void\n}\n"
    cache.begin_object(text)
    cache.begin_object(text)
    begun = cache._begun[text]
    assert cache.cached_object(text) == begun.result()
    assert cache._begun == {}
    settle()
    assert len(entries(folder, "o-")) == 1


def test_a_computation_beside(monkeypatch):
    assert Beside(lambda: 42).result() == 42
    failing = Beside(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failing.result()
    calls = []
    monkeypatch.setattr(threading.Thread, "start", mock.Mock(side_effect=RuntimeError("full")))
    alone = Beside(lambda: calls.append(1))
    assert calls == []  # no thread: it waits until it is asked
    alone.result()
    alone.result()
    assert calls == [1]


def test_programs_that_are_not_kept(folder):
    @wg.op.elementwise(
        numpy=lambda x: x + x,
        partials=lambda _out, _x: (2.0,),
        emit=lambda e, x: e.add(x, x),
    )
    def cache_doubled(x):
        """Twice x."""

    for _ in range(2):
        found = made(lambda x: cache_doubled(x) * 3, np.ones(3))
        assert found.cached == "not kept: cache_doubled is no op of Wengert, or was changed"
        assert found(np.ones(3)).tolist() == [6, 6, 6]
    assert entries(folder, "p-") == []


def test_the_collector_rests_while_a_program_is_made():
    seen = []

    def function(x):
        seen.append(gc.isenabled())
        return x * 2

    def broken(_x):
        raise RuntimeError("told")

    assert gc.isenabled()
    wg.compile(function)(np.ones(3))
    assert seen == [False]
    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="told"):
        wg.compile(broken)(np.ones(3))
    assert gc.isenabled()
    gc.disable()
    try:
        wg.compile(function)(np.ones(3))
        assert not gc.isenabled()
    finally:
        gc.enable()
