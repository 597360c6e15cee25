"""Calls with every kind of argument: the bits of the plain call, whatever comes in."""

from __future__ import annotations

import collections
import dataclasses
import mmap
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from compiler.running import bits

import wengert as wg
from runtime.entering import ready, require_equal, require_quick, require_slow

X = np.linspace(-1, 1, 24).reshape(4, 6)


class Mine(np.ndarray):
    """A subclass that shows its numbers in its own way, and computes as arrays do."""

    def __repr__(self) -> str:
        return "mine"


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any
    rate: float = 0.5


def program(x: Any) -> Any:
    return {"y": np.tanh(x) * 2 + x, "sum": wg.sum(x), "x": x}


def at_odd_address(x: np.ndarray) -> np.ndarray:
    found = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


def between_others(x: np.ndarray) -> np.ndarray:
    wide = np.full((2 * x.shape[0], 3 * x.shape[1]), 77, x.dtype)
    wide[1::2, 2::3] = x
    return wide[1::2, 2::3]


def backwards(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]


def read_only(x: np.ndarray) -> np.ndarray:
    found = x.copy()
    found.flags.writeable = False
    return found


def in_structure(x: np.ndarray) -> np.ndarray:
    """A field of a structured array: strided, and not aligned."""
    records = np.zeros(x.shape, np.dtype([("tag", "i1"), ("value", x.dtype)]))
    records["value"] = x
    return records["value"]


def from_bytes(x: np.ndarray) -> np.ndarray:
    return np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape)


def in_shared_memory(x: np.ndarray) -> np.ndarray:
    memory = mmap.mmap(-1, x.nbytes)
    found = np.frombuffer(memory, x.dtype).reshape(x.shape)
    found[...] = x
    return found


def with_base(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, x])[len(x) :]


QUICK = [np.copy, read_only, from_bytes, in_shared_memory, with_base]
SLOW = [
    np.asfortranarray,
    at_odd_address,
    between_others,
    backwards,
    in_structure,
    lambda x: x.astype(x.dtype.newbyteorder()),
    lambda x: np.asfortranarray(x.astype(x.dtype.newbyteorder()))[::-1][::-1],
    lambda x: x.view(Mine),
    lambda x: np.ma.masked_array(x),
    lambda x: between_others(x).view(Mine),
]


@pytest.mark.parametrize("dtype", "?bHilLfd")
@pytest.mark.parametrize("make", QUICK + SLOW)
def test_arrays(make, dtype):
    x = (X * 3).astype(dtype)
    compiled = ready(program, x)
    expected = compiled(x)
    given = make(x)
    before = given.tobytes()
    if make not in QUICK and dtype in "?b" and given.flags.c_contiguous:
        require_equal(compiled(given), expected)  # one byte is always aligned, in either order
    else:
        found = (require_quick if make in QUICK else require_slow)(compiled, given)
        require_equal(found, expected)
    assert given.tobytes() == before
    assert len(compiled.programs) == 1
    for leaf in wg.tree.leaves(compiled(given)):
        assert not np.shares_memory(leaf, given)
    first = wg.compile(program)  # the same where an array of this kind is the first
    require_equal(first(given), expected)
    require_equal(first(x), expected)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices():
    """Whose products are not those of arrays."""
    x = np.arange(4.0).reshape(2, 2)
    compiled = ready(lambda x: x * x + x[0], x)
    with pytest.raises(TypeError, match=r"argument 'x' is an np\.matrix"):
        compiled(np.matrix(x))


def test_files(tmp_path: Path):
    path = tmp_path / "x.bin"
    X.tofile(path)
    compiled = ready(program, X)
    expected = compiled(X)
    for mode in ("r", "r+", "c"):
        require_equal(compiled(np.memmap(path, X.dtype, mode, shape=X.shape)), expected)
    step = ready(lambda p: p + 1, X.copy(), donate="p")
    p = np.memmap(path, X.dtype, "r+", shape=X.shape)
    assert step(p) is p
    p.flush()
    assert np.fromfile(path).tobytes() == (X + 1).tobytes()


def test_views_of_many_axes():
    x = np.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    compiled = ready(lambda x: (x * 2, np.sum(x, axis=(1, 3))), x)
    expected = compiled(x)
    rng = np.random.default_rng(0)
    for _ in range(30):
        axes = rng.permutation(4)
        steps = tuple(slice(None, None, int(s)) for s in rng.choice([-1, 1], 4))
        stored = np.ascontiguousarray(x.transpose(axes)[steps])
        require_equal(compiled(stored[steps].transpose(np.argsort(axes))), expected)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (3, 0), (1, 1, 1)])
@pytest.mark.parametrize("dtype", "?ifd")
def test_small_arrays(shape, dtype):
    x = np.ones(shape, dtype)
    compiled = ready(lambda x: (x + x, wg.sum(x), x), x)
    require_quick(compiled, x)
    require_equal(compiled(x.astype(x.dtype.newbyteorder())), compiled(x))
    if x.ndim:
        wide = np.ones((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
        require_equal(compiled(wide), compiled(x))


def test_repeated_elements():
    """Strides of zero."""
    compiled = ready(program, X)
    require_equal(compiled(np.broadcast_to(X[0], X.shape)), compiled(np.tile(X[0], (4, 1))))
    require_equal(compiled(np.broadcast_to(1.5, X.shape)), compiled(np.full(X.shape, 1.5)))


# Numbers


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8, np.int64, np.uint32, np.bool_])
def test_scalars_of_numpy(kind):
    compiled = ready(lambda x, s: x * s, X, np.array(kind(1)))
    expected = compiled(X, np.array(kind(1)))
    require_equal(require_quick(compiled, X, kind(1)), expected)
    swapped = np.array(1, np.dtype(kind).newbyteorder())
    require_equal(compiled(X, swapped), expected)
    require_equal(compiled(X, swapped[()]), expected)
    assert len(compiled.programs) == 1


def test_numbers_of_python_give_way():
    """They give way to the arrays beside them, as in NumPy; 1, 1.0 and True are three kinds."""
    x = X.astype(np.float32)
    compiled = wg.compile(lambda x, s: x * s)
    for s in (2, 2.0, True, 1, 1.0, -0.0, 0.0, 10**6):
        for _ in range(2):
            found = compiled(x, s)
            assert found.dtype == np.float32
            assert found.tobytes() == (x * s).tobytes()
    small = np.arange(3, dtype=np.int8)
    assert compiled(small, 3).dtype == np.int8
    assert compiled(small, 3.0).dtype == (wg.multiply(small, 3.0)).dtype
    assert np.array_equal(compiled(2.0, 3), 6.0)


def test_numbers_in_trees():
    compiled = wg.compile(lambda t: t["x"] * t["rate"] + t["n"][1])
    for rate, n in ((0.5, (1, 2)), (np.float64(0.5), (1, 2)), (0.5, (1, 2.5)), (1, (True, 0))):
        found = compiled({"x": X, "rate": rate, "n": n})
        assert np.array_equal(found, X * rate + n[1])


# Trees


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: {"x": a, "y": b},
        lambda a, b: [a, [b]],
        lambda a, b: (a, (), b),
        Point,
        Layer,
        lambda a, b: Layer(Point(a, None), {"k": [b]}),
        lambda a, b: {"frozen": Frozen(a), "rate": 2.0, "b": b, "f": np.tanh, "s": "text"},
        lambda a, b: collections.OrderedDict(z=a, a=b),
        lambda a, b: collections.defaultdict(list, z=a, a=b),
        lambda a, b: collections.deque([a, b]),
    ],
)
def test_trees(make):
    def double(tree: Any) -> Any:
        return wg.tree.map(lambda x: x * 2, tree), wg.tree.leaves(tree)[0]

    compiled = ready(double, make(X, X[0]))
    expected = compiled(make(X, X[0]))
    ours = [x for x in wg.tree.leaves(expected) if x.ndim]  # numbers of the tree come back, too
    assert bits(ours) == bits([X * 2, X[0] * 2, X])
    for a, b in (
        (X.copy(), X[0].copy()),
        (np.asfortranarray(X), X[0]),
        (X.view(Mine), X[0].astype(">f8")),
        (read_only(X), X[:1][0]),
    ):
        require_equal(compiled(make(a, b)), expected)
    assert len(compiled.programs) == 1
    with wg.eager():
        require_equal(compiled(make(X, X[0])), expected)


def test_the_same_array_twice():
    compiled = ready(lambda x, y: x * y + x, X, X + 1)
    expected = compiled(X, X.copy())
    require_equal(require_quick(compiled, X, X), expected)
    require_equal(compiled(X[::-1][::-1], X.T.T), expected)
    swapped = X.astype(">f8")
    require_equal(compiled(swapped, swapped), expected)


def test_arrays_that_overlap_are_read_as_they_are():
    line = np.arange(10.0)
    compiled = ready(lambda x, y: (x + y, x - y), line[:4].copy(), line[:4].copy())
    for x, y in ((line[:4], line[2:6]), (line[:8:2], line[3::-1]), (line[4:8], line[7:3:-1])):
        require_equal(compiled(x, y), compiled(x.copy(), y.copy()))


def test_arguments_by_name():
    compiled = wg.compile(lambda x, y=2.0, z=None: x * y if z is None else x * y + z)
    assert np.array_equal(compiled(x=X), X * 2)
    assert np.array_equal(compiled(X, y=X), X * X)
    assert np.array_equal(compiled(z=X, x=np.asfortranarray(X)), X * 2 + X)
    with pytest.raises(TypeError):
        compiled(y=X)
    with pytest.raises(TypeError):
        compiled(X, w=X)


def test_ten_arrays_of_all_kinds_at_once():
    kinds = [*QUICK, *SLOW[:5]]
    given = [X * (i + 1) for i in range(10)]
    compiled = ready(lambda *xs: (sum(xs), [x * 2 for x in xs]), *given)
    expected = compiled(*given)
    rng = np.random.default_rng(1)
    for _ in range(20):
        chosen = rng.integers(0, len(kinds), 10)
        made = [kinds[k](x) for k, x in zip(chosen, given, strict=True)]
        require_equal(compiled(*made), expected)


# Around a call


def test_results_own_their_memory():
    compiled = ready(lambda x: (x, x[1:], x.T, wg.sum(x), np.zeros(3), x[:0]), X)
    kept = []
    for k in range(5):
        found = compiled(X * k)
        for leaf in found:
            assert leaf.base is None
            assert leaf.flags.owndata
            assert leaf.flags.writeable
            assert leaf.flags.aligned
            assert leaf.dtype.isnative
        kept.append((found, bits(found)))
        if k % 2:
            for leaf in found:
                leaf += 1  # nobody else sees it
            kept.pop()
    assert all(bits(found) == before for found, before in kept)


def test_donated_arrays_of_every_kind():
    compiled = ready(lambda p, x: (p * 2 + x, wg.sum(p)), X.copy(), X, donate="p")
    for make in (np.copy, in_shared_memory, *SLOW):
        p = make(X.copy())
        base = np.asarray(p)
        found, total = compiled(p, X)
        assert np.shares_memory(found, base)
        assert np.array_equal(np.asarray(p), X * 2 + X)
        assert float(total) == float(wg.compile(wg.sum)(X))


def test_tensors_are_recorded_by_the_transformation_they_belong_to():
    inner = ready(lambda x, y: np.sum(x * y), X, X)
    assert np.array_equal(wg.grad(inner)(X, 3 * X), 3 * X)
    assert np.array_equal(wg.grad(inner, argnums=1)(np.asfortranarray(X), X), X)
    assert np.array_equal(wg.grad(lambda x: inner({"a": x}["a"], X))(X), X)
    graph = wg.trace(inner, X, X)
    assert [node.op.name for node in graph.nodes] == ["input", "input", "multiply", "sum"]
    hessian = wg.hessian(lambda x: inner(x, x))(X[0, :2])
    assert np.array_equal(hessian, 2 * np.eye(2))


@pytest.mark.parametrize(
    "wrong",
    [
        np.array(["a", "b"]),
        np.array([object()]),
        np.array([1 + 2j]),
        np.zeros(3, np.float16),
        np.zeros(3, np.longdouble),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(3, [("a", "f8")]),
    ],
)
@pytest.mark.parametrize("eager", [False, True])
def test_dtypes_that_are_refused(wrong, eager):
    compiled = wg.compile(lambda t: t["x"])
    with wg.eager() if eager else nullcontext():
        for _ in range(2):
            with pytest.raises(wg.errors.DTypeError, match=r"compile: argument 't\.x' has dtype"):
                compiled({"x": wrong})
    assert np.array_equal(compiled({"x": X}), X)


def test_objects_that_are_no_arrays():
    """They are part of the program, which says what it thinks of them; later calls are as ever."""
    compiled = ready(lambda x: x * 2, X)
    for wrong in (None, object(), {}, {1.5}, memoryview(b"ab")):
        for _ in range(2):
            with pytest.raises((TypeError, wg.errors.WengertError)):
                compiled(wrong)
    require_quick(compiled, X)


def test_lists_are_trees_of_numbers():
    compiled = wg.compile(lambda t: t[0] * X + t[1])
    for _ in range(2):
        assert np.array_equal(compiled([2.0, 1]), 2.0 * X + 1)
    assert np.array_equal(compiled([X[0], 1]), X[0] * X + 1)
