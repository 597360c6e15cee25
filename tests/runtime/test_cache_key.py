"""Keys: programs that differ have different ones, and equal ones equal ones."""

from __future__ import annotations

import os
import time
from unittest import mock

import numpy as np
import pytest
from effort import calls

import wengert as wg
from wengert.core.lowering import Elementwise
from wengert.core.table import op
from wengert.runtime.caching import cache_key
from wengert.runtime.caching.cache_key import Unkeyed, object_key, program_keys, source_digest

X = np.ones((4, 3))


def key_of(function, *args, dims=None, **options):
    with mock.patch.object(cache_key, "source", return_value="this"):
        return program_keys(wg.trace(function, *args, dims=dims), options)[1]


def differing(one, other):
    assert one.keys() == other.keys()
    return {name for name in one if one[name] != other[name]}


BASE = key_of(lambda x: np.sum(x * 2.0, axis=0), X)


@pytest.mark.parametrize(
    ("function", "x", "parts"),
    [
        (lambda x: np.sum(x * 2.0, axis=0), X, set()),
        (lambda x: np.sum(x * 3.0, axis=0), X, {"constants"}),
        (lambda x: np.sum(x * -2.0, axis=0), X, {"constants"}),
        (lambda x: np.sum(x + 2.0, axis=0), X, {"ops"}),
        (lambda x: np.sum(2.0 * x, axis=0), X, {"ops"}),  # other operands
        (lambda x: np.sum(x * 2.0, axis=1), X, {"types", "parameters"}),
        (lambda x: np.sum(x * 2.0, axis=0), np.ones((5, 3)), {"types"}),
        (
            lambda x: np.sum(x * 2.0, axis=0),
            np.ones((4, 3), "f4"),
            {"types", "constants", "parameters"},
        ),
        (lambda y: np.sum(y * 2.0, axis=0), X, {"parameters"}),  # the name of the argument
    ],
)
def test_parts(function, x, parts):
    assert differing(BASE, key_of(function, x)) == parts


def test_values_that_are_equal_and_differ():
    def key(value):
        return key_of(lambda x: wg.where(x > 0, x, np.full((), value)), X)["constants"]

    assert len({key(v) for v in (0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), np.nan, np.inf)}) == 6
    payload = np.array([0x7FF8000000000001], np.int64).view(np.float64)[0]
    assert key(np.nan) != key(payload)


def test_parameters_that_are_equal_and_differ():
    values = [1, True, 1.0, np.float64(1), np.int64(1), "1", (1,), None, ..., slice(1), -0.0, 0.0]
    values += [np.dtype("f4"), np.dtype(">f4"), wg.Dim("n"), wg.Dim("n") + 1, np.ones(1), [1]]
    texts = [cache_key._Digest().value(value) for value in values]
    assert len(set(texts)) == len(values)


def test_open_sizes():
    n, m = wg.Dim("n"), wg.Dim("m")
    traced = [wg.trace(lambda x: x + x, X, dims=d) for d in (None, {"x": {0: n}}, {"x": {0: m}})]
    with mock.patch.object(cache_key, "source", return_value="this"):
        keys = [program_keys(graph, {})[1]["types"] for graph in traced]
    assert len(set(keys)) == 3


def test_bodies_of_loops():
    def program(factor):
        return lambda x: wg.scan(lambda c, r: (c * factor + r, c), x[0], x)

    assert differing(key_of(program(2.0), X), key_of(program(2.0), X)) == set()
    assert "constants" in differing(key_of(program(2.0), X), key_of(program(3.0), X))


def test_lines_are_in_no_part():
    code = "f = lambda x: np.sum(x * 2.0, axis=0)"
    spaces = [{"np": np}, {"np": np}]
    for space, text, file in zip(spaces, (code, "\n" * 30 + code), "ab", strict=True):
        exec(compile(text, f"{file}.py", "exec"), space)
    graphs = [wg.trace(space["f"], X) for space in spaces]
    assert str(graphs[0].nodes[-1].line) != str(graphs[1].nodes[-1].line)
    assert differing(*(key_of(space["f"], X) for space in spaces)) == set()


def test_options_and_switches(monkeypatch):
    assert differing(key_of(np.tanh, X, threads=1), key_of(np.tanh, X, threads=2)) == {"threads"}
    before = key_of(np.tanh, X)
    monkeypatch.setenv("WENGERT_SOMETHING", "1")
    assert differing(before, key_of(np.tanh, X)) == {"environment"}
    monkeypatch.delenv("WENGERT_SOMETHING")
    monkeypatch.setenv("WENGERT_CACHE_DIR", "/elsewhere")
    assert differing(before, key_of(np.tanh, X)) == set()


@pytest.mark.parametrize("part", ["cpu", "features", "triple", "llvm", "llvmlite", "options"])
def test_the_machine(monkeypatch, part):
    program, module = key_of(np.tanh, X), object_key("")
    other = {**cache_key.machine(), part: "another"}
    monkeypatch.setattr(cache_key, "machine", lambda: other)
    assert differing(program, key_of(np.tanh, X)) == {part}
    assert differing(module, object_key("")) == {part}


def test_versions(monkeypatch):
    before = key_of(np.tanh, X)
    assert {"python", "numpy", "package"} <= before.keys()
    monkeypatch.setattr(cache_key, "_versions", lambda: {"python": "another", "numpy": "3"})
    assert differing(before, key_of(np.tanh, X)) == {"python", "numpy"}


def test_texts():
    assert object_key("a") == object_key("a")
    assert differing(object_key("a"), object_key("b")) == {"text"}


# Programs without a key.


def test_ops_of_users():
    @op_elementwise("cache_key_twice")
    def twice(x):
        """Twice x."""

    with pytest.raises(Unkeyed, match="cache_key_twice"):
        key_of(twice, X)


def op_elementwise(name):
    def decorate(function):
        function.__name__ = name
        return wg.op.elementwise(
            numpy=lambda x: x + x,
            partials=lambda _out, _x: (2.0,),
            emit=lambda e, x: e.add(x, x),
        )(function)

    return decorate


def test_what_users_compose_is_told_by_its_ops():
    def composed(factor):
        @wg.custom_vjp
        def scaled(x):
            return x * factor

        scaled.defvjp(lambda x: (x * factor, None), lambda _, g: (g * factor,))
        return key_of(lambda x: np.tanh(scaled(x)), X)

    assert differing(composed(2.0), composed(2.0)) == set()
    assert differing(composed(2.0), composed(3.0)) == {"constants"}


@pytest.mark.parametrize("field", ["lower", "numpy", "commutative"])
def test_ops_that_were_changed(monkeypatch, field):
    key_of(np.tanh, X)
    lower = Elementwise(lambda e, x: op.tanh.lower.emit(e, x))
    change = {"lower": lower, "numpy": lambda x: x, "commutative": 1}[field]
    monkeypatch.setattr(op.tanh, field, change)
    with pytest.raises(Unkeyed, match="tanh"):
        key_of(np.tanh, X)


def test_objects_without_a_value():
    with pytest.raises(Unkeyed, match="object"):
        cache_key._Digest().value(object())
    with pytest.raises(Unkeyed, match="ndarray"):
        cache_key._Digest().value(np.array([object()]))


def test_large_constants(monkeypatch):
    monkeypatch.setattr(cache_key, "MOST", 1000)
    key_of(lambda x: x + np.arange(124.0), np.ones(124))
    with pytest.raises(Unkeyed, match="constants"):
        key_of(lambda x: x + np.arange(126.0), np.ones(126))


# The package's own state.


@pytest.fixture
def package(tmp_path):
    (tmp_path / "inner" / "__pycache__").mkdir(parents=True)
    for name in ("a.py", "inner/b.py", "inner/__pycache__/b.pyc", "notes.txt"):
        (tmp_path / name).write_text("x = 1\n")
    return tmp_path


def later() -> float:
    return time.time() + 100


def test_source(package):
    before = source_digest(str(package), later())
    for name in ("inner/__pycache__/b.pyc", "notes.txt"):
        (package / name).write_text("y = 20\n")
    assert source_digest(str(package), later()) == before
    known = (package / "inner/b.py").stat()
    (package / "inner/b.py").write_text("x = 2\n")  # as long as before
    assert source_digest(str(package), later()) != before
    os.utime(package / "inner/b.py", ns=(known.st_atime_ns, known.st_mtime_ns))
    assert source_digest(str(package), later()) == before
    (package / "inner/b.py").write_text("x = 10\n")
    os.utime(package / "inner/b.py", ns=(known.st_atime_ns, known.st_mtime_ns))
    assert source_digest(str(package), later()) != before


def test_files_come_and_go(package):
    before = source_digest(str(package), later())
    (package / "c.py").write_text("")
    more = source_digest(str(package), later())
    (package / "c.py").rename(package / "d.py")
    assert len({before, more, source_digest(str(package), later())}) == 3


def test_source_that_changed_after_it_was_imported(package):
    with pytest.raises(Unkeyed, match="changed after"):
        source_digest(str(package), time.time() - 500)
    then = time.time() - 1000
    os.utime(package / "a.py", (then, then))  # its time says nothing: it was put there just now
    os.utime(package / "inner/b.py", (then, then))
    with pytest.raises(Unkeyed, match="changed after"):
        source_digest(str(package), time.time() - 500)


def test_no_source(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(Unkeyed, match="no source"):
            source_digest(str(folder), later())


def test_source_of_this_package_is_quick():
    """No file is opened, and little is done for each."""
    folder = os.path.dirname(wg.__file__)
    count = sum(len(files) for _, _, files in os.walk(folder))
    with mock.patch("builtins.open"), mock.patch("os.open") as opened:
        done = calls(lambda: source_digest(folder, time.time() + 1e6))
    assert not opened.called
    assert done < 20 * count
