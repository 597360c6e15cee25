"""wg.save and wg.load: what comes back, and that a failure leaves the old file."""

import math
import os
import stat
import struct
import subprocess
import sys
import textwrap
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

import wengert as wg
from wengert.errors import CheckpointError, CheckpointWarning
from wengert.train.checkpoints import files

Point = namedtuple("Point", ["x", "y"])


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    activation: object = None


@dataclass(frozen=True, slots=True)
class Fixed:
    w: np.ndarray
    rate: float = 0.5


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tree.safetensors"


def same(a, b):
    """Whether two trees are equal in every type, order, dtype, shape and bit."""
    if isinstance(a, np.ndarray | np.generic):
        return (
            type(a) is type(b)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    return a == b


def returned(path, tree, like=None):
    wg.save(path, tree)
    return wg.load(path, like)


# What comes back.

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_dtype_and_shape_are_kept(path, dtype, shape):
    x = (np.arange(math.prod(shape)) % 2).reshape(shape).astype(dtype)
    found = returned(path, {"x": x})["x"]
    assert same(found, x)
    assert found.flags.writeable
    assert found.flags.c_contiguous


def test_every_bit_is_kept(path):
    bits = np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64)
    x = np.concatenate([bits.view(np.float64), [np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324]])
    assert same(returned(path, x), x)


@pytest.mark.parametrize(
    "tree",
    [
        {},
        [],
        (),
        {"a": {}, "b": [[], ()]},
        {"z": 1, "a": 2, "m": {"y": 1, "b": 2}},
        {"list": [1, [2, (3, None)]], "none": None, "text": "äß→\n\"'\0", "": "empty"},
        {"bool": True, "int": 1, "float": 1.0, "zero": -0.0, "large": 10**40, "small": 5e-324},
        [math.nan, math.inf, -math.inf, 0.1, 1e308, -1],
        {1: "int", "1": "text", None: 0, False: 1, 2.5: 2, ("a", 3, (None,)): 4},
        {"a.b": np.zeros(1), "a": {"b": np.ones(2)}, "a~1": np.ones(3)},
        {"": np.zeros(2), "value": np.ones(2)},
        {"__metadata__": np.zeros(2)},  # the name that a safetensors file has for itself
        {"__metadata__": np.zeros(1), "__metadata__~": np.ones(2), "__metadata__~1": np.ones(3)},
        {"__metadata__~": np.zeros(1), "__metadata__": np.ones(2), "a": {"__metadata__": 1}},
        {"__metadata__": {"w": np.ones(1)}, "wengert": np.ones(2), "a": {"": {".": np.ones(3)}}},
        {".": np.zeros(1), "..": np.ones(2), "": {"": np.ones(3)}, "'\"\n\0ü→": np.ones(4)},
        {1: np.ones(1), "1": np.ones(2), None: np.ones(3), "None": np.ones(4), 1.5: np.ones(5)},
        {("a", 1): np.ones(1), "('a', 1)": np.ones(2), True: np.ones(3), "True": np.ones(4)},
        np.float32(2.5),
        [np.int64(3), np.bool_(True), np.float64(math.nan)],
        np.arange(3),
        7,
        None,
        {"dtype": np.dtype("float32")},
    ],
    ids=str,
)
def test_trees_come_back_as_they_were(path, tree):
    found = returned(path, tree)
    assert same(found, tree)
    assert same(returned(path, found, like=tree), tree)


def test_insertion_order_is_kept(path):
    keys = [str(i) for i in np.random.default_rng(1).permutation(200)]
    assert list(returned(path, {key: np.zeros(1) for key in keys})) == keys


def test_dataclasses_and_named_tuples_come_back_as_dictionaries(path):
    tree = {"layer": Layer(np.ones(2), np.zeros(1)), "point": Point(1, np.ones(1))}
    found = returned(path, tree)
    expected = {
        "layer": {"w": np.ones(2), "b": np.zeros(1), "activation": None},
        "point": {"x": 1, "y": np.ones(1)},
    }
    assert same(found, expected)


def test_with_like_they_come_back_as_what_they_were(path):
    tree = [Layer(np.ones(2), np.zeros(1), np.tanh), Point(1, np.ones(1)), Fixed(np.ones(3), 0.1)]
    like = [Layer(np.zeros(2), np.ones(1), np.tanh), Point(7, np.zeros(1)), Fixed(np.zeros(3))]
    layer, point, fixed = returned(path, tree, like)
    assert type(layer) is Layer
    assert same(layer.w, np.ones(2))
    assert layer.activation is np.tanh
    assert same(point, tree[1])
    assert isinstance(point, Point)
    assert same(fixed.w, np.ones(3))
    assert fixed.rate == 0.1
    assert same(like[0].w, np.zeros(2)), "like itself is not changed"


def test_the_form_is_that_of_like_and_the_values_are_those_of_the_file(path):
    wg.save(path, {"w": np.ones(2), "b": np.zeros(1), "activation": "relu"})
    layer = wg.load(path, like=Layer(np.zeros(2), np.zeros(1), "tanh"))
    assert type(layer) is Layer
    assert layer.activation == "relu"
    ordered = OrderedDict(b=np.zeros(1), activation=None, w=np.zeros(2))
    assert list(wg.load(path, like=ordered)) == ["b", "activation", "w"]
    assert type(wg.load(path, like=ordered)) is OrderedDict


def test_like_may_describe_arrays(path):
    tree = {"w": np.ones((2, 3), np.float32), "n": np.array(3)}
    like = wg.tree.map(lambda x: wg.trace(np.sum, x).nodes[0].type, tree)
    assert repr(like["w"]) == "float32[2, 3]"
    assert same(returned(path, tree, like), tree)


def test_functions_need_like(path):
    wg.save(path, {"w": np.ones(2), "f": np.tanh, "kind": np.float32})
    with pytest.raises(CheckpointError, match="with a function at f; functions are not kept"):
        wg.load(path)
    with pytest.warns(CheckpointWarning, match="the function 'tanh' at f, and `like` has 'cos'"):
        found = wg.load(path, like={"w": np.zeros(2), "f": np.cos, "kind": np.float32})
    assert found["f"] is np.cos
    assert same(found["w"], np.ones(2))


def test_an_optimizer_and_a_schedule_can_be_saved(path):
    optimizer = wg.optim.SGD(wg.optim.ReduceOnPlateau(0.1), momentum=0.9)
    w = np.ones(3)
    optimizer.step("w", w, np.ones(3))
    twin = wg.optim.SGD(wg.optim.ReduceOnPlateau(0.1), momentum=0.9)
    twin.load_state_dict(returned(path, optimizer.state_dict()))
    v = w.copy()
    optimizer.step("w", w, np.ones(3))
    twin.step("w", v, np.ones(3))
    assert same(v, w)


# Ties.


def test_tied_arrays_stay_tied(path):
    shared = np.arange(4.0)
    tree = {"a": shared, "b": [shared, shared.copy()]}
    found = returned(path, tree)
    assert found["a"] is found["b"][0]
    assert found["a"] is not found["b"][1]
    assert len(load_file(path)) == 2
    found = wg.load(path, like=tree)
    assert found["a"] is found["b"][0]
    assert found["a"] is not found["b"][1]


def test_like_decides_about_ties(path):
    shared = np.arange(4.0)
    wg.save(path, {"a": shared, "b": shared, "c": shared})
    found = wg.load(path, like={"a": np.zeros(4), "b": np.zeros(4), "c": np.zeros(4)})
    assert all(same(x, shared) for x in found.values())
    assert len({id(x) for x in found.values()}) == 3
    assert not np.shares_memory(found["a"], found["b"])
    wg.save(path, {"a": shared, "b": shared.copy()})
    zeros = np.zeros(4)
    found = wg.load(path, like={"a": zeros, "b": zeros})
    assert found["a"] is found["b"]
    wg.save(path, {"a": shared, "b": shared + 1})
    with pytest.raises(CheckpointError, match="a and b differ where `like` has one array at both"):
        wg.load(path, like={"a": zeros, "b": zeros})


# Layouts.


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.T,
        lambda x: x[::2, ::-1],
        lambda x: np.asfortranarray(x),
        lambda x: x.astype(">f8"),
        lambda x: x.astype(">f8").T,
        lambda x: np.broadcast_to(x[0], (3, 6)),
        lambda x: x[0, 0:1].reshape(()),
    ],
)
def test_strides_and_byte_order_do_not_matter(path, make):
    x = make(np.arange(24.0).reshape(4, 6))
    found = returned(path, {"x": x}, like={"x": x})["x"]
    assert found.dtype == np.dtype("f8")
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, x)
    assert same(load_file(path)["x"], found)


def test_what_is_loaded_owns_its_memory(path):
    x = np.arange(3.0)
    wg.save(path, x)
    first, second = wg.load(path), wg.load(path)
    first[:] = 7
    assert same(second, x)
    assert same(wg.load(path), x)


# The file.


def test_other_programs_find_the_arrays_by_their_paths(path):
    wg.save(path, {"layers": [{"w": np.ones((2, 3)), "b": np.zeros(3)}], "steps": 3})
    found = load_file(path)
    assert set(found) == {"layers.0.w", "layers.0.b"}
    assert same(found["layers.0.w"], np.ones((2, 3)))


def test_files_of_other_programs_can_be_read(path):
    arrays = {"layers.0.w": np.ones((2, 3)), "layers.0.b": np.zeros(3)}
    save_file(arrays, path, metadata={"format": "pt"})
    found = wg.load(path)
    assert found.keys() == arrays.keys()
    assert all(same(found[name], x) for name, x in arrays.items())
    like = {"layers": [Layer(b=np.ones(3), w=np.zeros((2, 3)), activation=np.tanh)], "heads": 4}
    model = wg.load(path, like)
    assert same(model["layers"][0].w, np.ones((2, 3)))
    assert model["layers"][0].activation is np.tanh
    assert model["heads"] == 4


def test_equal_trees_give_equal_files(path, tmp_path):
    tree = {"b": np.ones(3), "a": [np.zeros(2, np.int8), 1.5, "x"], "c": {"d": np.ones((2, 2))}}
    wg.save(path, tree)
    wg.save(tmp_path / "again", wg.load(path))
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


def test_paths_may_be_strings_and_links_stay_links(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    wg.save(str(target), {"x": 1})
    link.symlink_to(target)
    wg.save(link, {"x": 2})
    assert link.is_symlink()
    assert wg.load(target) == wg.load(str(link)) == {"x": 2}


def test_a_new_file_has_usual_permissions_and_an_old_one_keeps_its_own(path, tmp_path):
    (tmp_path / "usual").touch()
    wg.save(path, {})
    usual = stat.S_IMODE((tmp_path / "usual").stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == usual
    path.chmod(0o640)
    wg.save(path, {"x": 1})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


# Failures while writing.

OLD, NEW = {"w": np.arange(5.0)}, {"w": np.zeros(9)}


def raises(error):
    def failing(*_args, **_options):
        raise error

    return failing


@pytest.mark.parametrize(
    "fault",
    [
        ("save_file", raises(SafetensorError("I/O error: no space left"))),
        ("save_file", raises(OSError(28, "No space left on device"))),
        ("os.fsync", raises(OSError(5, "Input/output error"))),
        ("os.replace", raises(PermissionError(1, "Operation not permitted"))),
    ],
    ids=["library", "space", "flush", "replace"],
)
def test_a_failure_leaves_the_old_file_and_nothing_else(path, monkeypatch, fault):
    wg.save(path, OLD)
    before = path.read_bytes()
    name, failing = fault
    with monkeypatch.context() as patched:
        patched.setattr(f"wengert.train.checkpoints.files.{name}", failing)
        with pytest.raises(CheckpointError, match=r"^save: '.*' could not be written \(.*unchang"):
            wg.save(path, NEW)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    wg.save(path, NEW)
    assert same(wg.load(path), NEW)


def test_an_interrupt_half_way_leaves_the_old_file(path, monkeypatch):
    wg.save(path, OLD)

    def half(_arrays, draft, metadata):
        Path(draft).write_bytes(b"half of a fi")
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "save_file", half)
    with pytest.raises(KeyboardInterrupt):
        wg.save(path, NEW)
    assert os.listdir(path.parent) == [path.name]
    assert same(wg.load(path), OLD)


@pytest.mark.parametrize("moment", ["save_file", "os.fsync", "os.replace"])
def test_a_process_that_dies_leaves_the_old_file(path, moment):
    wg.save(path, OLD)
    script = f"""
        import os, sys
        import numpy as np
        from wengert.train.checkpoints import files

        def die(*args, **options):
            if {moment!r} == "save_file":
                open(args[1], "wb").write(b"half of a fi")
            os._exit(9)

        {"files.save_file" if moment == "save_file" else moment} = die
        files.save(sys.argv[1], {{"w": np.zeros(9)}})
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(path)], check=False)
    assert done.returncode == 9
    assert same(wg.load(path), OLD)
    wg.save(path, NEW)
    assert same(wg.load(path), NEW)


def test_a_refused_tree_leaves_the_old_file(path):
    wg.save(path, OLD)
    with pytest.raises(CheckpointError):
        wg.save(path, {"w": np.zeros(9), "bad": object()})
    assert same(wg.load(path), OLD)
    assert os.listdir(path.parent) == [path.name]
