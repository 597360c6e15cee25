"""wg.save and wg.load: what is refused, with the words that say why."""

import json
import math
import pickle
import re
import struct
from collections import namedtuple

import numpy as np
import pytest
from safetensors.numpy import save_file

import wengert as wg
from wengert.errors import CheckpointError

Point = namedtuple("Point", ["x", "y"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tree.safetensors"


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"a": [1, {2, 3}]}, r"a\.1 is of type set \(\{2, 3\}\); trees of arrays"),
        ({"a": b"bytes"}, "a is of type bytes"),
        ({"a": 1j}, "a is of type complex"),
        (object(), "the tree is of type object"),
        ({"a": np.array([None])}, "a has dtype object; bool, integers and floats"),
        ({"a": np.array(["x"])}, "a has dtype <U1"),
        ({"a": np.zeros(2, complex)}, "a has dtype complex128"),
        ({"a": np.zeros(2, "M8[s]")}, r"a has dtype datetime64\[s\]"),
        ({"a": np.zeros(2, "f4,i4")}, "a has dtype"),
        ({"a": np.ma.masked_array([1.0], [True])}, "a is MaskedArray; only plain arrays"),
        ({"a": {b"key": 1}}, "a has the key b'key'; keys must be strings"),
        ({"a": {(1, b"key"): 1}}, "a has the key b'key'"),
        ({"a": {math.nan: 1}}, "a has the key nan"),
        ({"a": {"\ud800": np.ones(1)}}, "a has a broken character; a file holds text"),
        ({"a": ["\udfff"]}, r"a\.0 has a broken character"),
        ({"a": {10**5000: np.ones(1)}}, "a has an integer of too many digits"),
        ({"a": 10**5000}, "a has an integer of too many digits"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_path(path, tree, words):
    with pytest.raises(CheckpointError, match=f"^save: {words}"):
        wg.save(path, tree)
    assert not path.exists()


def test_a_tensor_of_a_transformation_is_refused(path):
    def loss(w):
        wg.save(path, {"w": w})
        return np.sum(w)

    with pytest.raises(CheckpointError, match=r"^save: w is a Tensor of a transformation"):
        wg.grad(loss)(np.ones(2))


@pytest.mark.parametrize("bad", [None, 3, "", b"x", ["x"]])
def test_a_path_must_name_a_file(bad):
    for call in (lambda: wg.save(bad, {}), lambda: wg.load(bad)):
        with pytest.raises(CheckpointError, match="it must name a file"):
            call()


def test_folders_and_missing_folders_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"is a folder; a regular file is needed"):
        wg.save(tmp_path, {})
    with pytest.raises(CheckpointError, match=r"could not be written \(.*No such file"):
        wg.save(tmp_path / "no" / "folder", {})
    with pytest.raises(CheckpointError, match="is a folder; a regular file is needed"):
        wg.load(tmp_path)
    with pytest.raises(CheckpointError, match="does not exist; a file that"):
        wg.load(tmp_path / "nothing")


def test_a_file_cut_short_is_refused_wherever_it_ends(path):
    wg.save(path, {"a": np.arange(5.0), "b": [1, np.ones(3, np.float32)]})
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(CheckpointError, match="no safetensors file, or one that was cut short"):
            wg.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(CheckpointError, match="cut short"):
        wg.load(path)


def test_any_changed_byte_is_noticed_or_changes_nothing(path):
    tree = {"a": np.arange(5.0), "b": [1, np.ones(3, np.float32)], "t": "text"}
    wg.save(path, tree)
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :])
        try:
            wg.load(path, like=tree)
        except CheckpointError:
            refused += 1
        else:  # numbers, strings and the spaces that end the header carry no checksum
            assert place < struct.unpack("<Q", whole[:8])[0] + 8
    assert refused > 0.9 * len(whole)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04 a zip file, for example of np.savez", pickle.dumps({"w": 1}), b"\xff" * 64],
)
def test_files_of_other_formats_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"^load: .* is no safetensors file, or one that"):
        wg.load(path)


def write_raw(path, header, data=b""):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_a_dtype_that_numpy_lacks_is_refused(path):
    write_raw(path, {"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, b"abcd")
    with pytest.raises(CheckpointError, match="holds arrays of a dtype that is not supported"):
        wg.load(path)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "3",
        '{"version": 1}',
        '{"version": 1, "crc32": {}, "tree": [1]}',
        '{"version": 1, "crc32": {}, "tree": {"array": "gone"}}',
        '{"version": 1, "crc32": {"gone": 3}, "tree": 1}',
        '{"version": 1, "crc32": {}, "tree": {"set": []}}',
        '{"version": 1, "crc32": {}, "tree": {"dict": [1, 2]}}',
        '{"version": 1, "crc32": {}, "tree": {"float": "much"}}',
        '{"version": 1, "crc32": {}, "tree": {"dtype": "no such"}}',
    ],
)
def test_a_broken_description_is_refused(path, text):
    save_file({"w": np.ones(2)}, path, metadata={"wengert": text})
    for like in (None, {"w": np.ones(2)}):
        with pytest.raises(CheckpointError, match=r"^load: .* is damaged \("):
            wg.load(path, like)


def test_a_later_version_is_refused(path):
    text = '{"version": 2, "crc32": {}, "tree": 1}'
    save_file({"w": np.ones(2)}, path, metadata={"wengert": text})
    with pytest.raises(CheckpointError, match="has version 2 of the format"):
        wg.load(path)


# What does not fit `like`.


@pytest.mark.parametrize(
    ("like", "words"),
    [
        ({"w": np.zeros((2, 3)), "n": 1}, "it also holds layers.0"),
        ({"w": np.zeros((2, 3)), "layers": [np.zeros(1), np.zeros(2)], "n": 1},
         r"it lacks layers\.1"),
        ({"v": np.zeros((2, 3)), "layers": [np.zeros(1)], "n": 1},
         "it lacks v; it also holds w"),
        ({"w": np.zeros((3, 2)), "layers": [np.zeros(1)], "n": 1},
         r"w is float64\[2, 3\] where `like` has float64\[3, 2\]"),
        ({"w": np.zeros((2, 3), "f4"), "layers": [np.zeros(1, int)], "n": 1},
         r"w is float64\[2, 3\] where `like` has float32\[2, 3\]; "
         r"layers\.0 is float64\[1\] where `like` has int64\[1\]"),
        ({"w": 3, "layers": [np.zeros(1)], "n": 1},
         r"w is float64\[2, 3\] where `like` has a Python value"),
        ({"w": np.zeros((2, 3)), "layers": [np.zeros(1)], "n": np.array(1)},
         r"n is a Python value where `like` has int64\[\]"),
        ({"w": np.zeros((2, 3)), "layers": [np.zeros(1)], "n": np.tanh},
         "n is a Python value where `like` has a function"),
        (np.zeros(3), "it lacks the tree; it also holds w"),
        ({}, r"it also holds w, layers\.0, n"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_listed(path, like, words):
    wg.save(path, {"w": np.zeros((2, 3)), "layers": [np.zeros(1)], "n": 1})
    with pytest.raises(CheckpointError) as caught:
        wg.load(path, like)
    message = str(caught.value)
    assert message.startswith(f"load: {str(path)!r} does not fit `like`: ")
    assert message.endswith("Pass a tree of the form that was saved, or leave out `like`.")
    assert re.search(words, message), message


def test_long_lists_are_cut(path):
    wg.save(path, {f"x{i}": np.zeros(i) for i in range(100)})
    with pytest.raises(CheckpointError, match=r"x7 and 92 more") as caught:
        wg.load(path, like={})
    assert len(str(caught.value)) < 600
    with pytest.raises(CheckpointError, match=r"; and 92 more;"):
        wg.load(path, like={f"x{i}": np.zeros(i + 1) for i in range(100)})


def test_a_function_cannot_become_an_array(path):
    wg.save(path, {"w": np.tanh})
    with pytest.raises(CheckpointError, match=r"w is a function where `like` has float64\[2\]"):
        wg.load(path, like={"w": np.zeros(2)})


@pytest.mark.parametrize("where", ["the tree", "a.0"])
@pytest.mark.parametrize("what", ["TrainStep", "BoundFunction"])
def test_a_step_is_no_tree(path, where, what):
    step = wg.TrainStep(lambda w, x: wg.mean(x @ w), np.ones(2), wg.optim.SGD(0.1))
    x = step if what == "TrainStep" else step.bind(lambda w: w)
    wg.save(path, {"before": 1})
    with pytest.raises(CheckpointError, match=f"save: {where} is a {what}; .*step.save"):
        wg.save(path, x if where == "the tree" else {"a": [x]})
    assert wg.load(path) == {"before": 1}


def test_a_pretrained_file_is_told_how_to_go_on_with_a_frozen_part(tmp_path):
    def loss(m, x):
        return wg.mean(m["head"](m["enc"](x)) ** 2)

    model = {"enc": wg.nn.Linear(2, 3, seed=0), "head": wg.nn.Linear(3, 1, seed=1)}
    groups = {"enc.*": None, "*": wg.optim.Adam(0.1)}
    rows = np.ones((4, 2), np.float32)
    pretrained = wg.TrainStep(loss, model, wg.optim.Adam(0.1))
    pretrained(rows)
    pretrained.save(tmp_path / "a.safetensors")
    repair = r"wg\.TrainStep\(loss, pretrained\.model, groups\)"
    with pytest.raises(wg.errors.CheckpointError, match=repair):
        wg.TrainStep(loss, wg.tree.copy(model), groups).load(tmp_path / "a.safetensors")
    tuned = wg.TrainStep(loss, pretrained.model, groups)
    tuned(rows)
    tuned.save(tmp_path / "b.safetensors")
    with pytest.raises(wg.errors.CheckpointError) as told:
        pretrained.load(tmp_path / "b.safetensors")  # which trains more
    assert "pretrained.model" not in str(told.value)
