"""Bad input to wg.save and wg.load, and files that they cannot use."""

from __future__ import annotations

import contextlib
import json
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

import wengert as wg

FILE = "model.safetensors"
line = np.ones(3)


def in_a_folder(use: Callable[[], Any]) -> Any:
    """Do something where the current folder is an empty one, so that paths are short."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return use()


def saving(tree: Any, path: Any = FILE) -> Any:
    return in_a_folder(lambda: wg.save(path, tree))


def loading(tree: Any, like: Any = None) -> Any:
    """Save a tree, and load it."""

    def use() -> Any:
        wg.save(FILE, tree)
        return wg.load(FILE, like)

    return in_a_folder(use)


def step_of(model: Any) -> Any:
    return wg.TrainStep(lambda model, x: wg.sum(model["w"] * x), model, wg.optim.SGD(0.1))


def into_a_step(model: Any) -> Any:
    """Save a model, and let a step of it load that file."""

    def use() -> Any:
        wg.save(FILE, model)
        step_of(model).load(FILE)

    return in_a_folder(use)


def assigned_from_a_file(model: Any) -> None:
    step = step_of(model)
    step.model = loading(model)


def damaged(change: Callable[[bytes], bytes]) -> Any:
    """Load a file whose bytes were changed."""

    def use() -> Any:
        wg.save(FILE, {"w": line})
        path = Path(FILE)
        path.write_bytes(change(path.read_bytes()))
        return wg.load(FILE)

    return in_a_folder(use)


def described(text: str, like: Any = None) -> Any:
    """Load a file with this description of the tree."""

    def use() -> Any:
        save_file({"w": line}, FILE, metadata={"wengert": text})
        return wg.load(FILE, like)

    return in_a_folder(use)


def structured(tree: Any, like: Any = None) -> Any:
    return described(json.dumps({"version": 1, "crc32": {}, "tree": tree}), like)


def of_complex_numbers() -> Any:
    header = json.dumps({"x": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    return damaged(lambda whole: struct.pack("<Q", len(header)) + header + bytes(8))


def without_room() -> Any:
    with mock.patch(
        "wengert.train.checkpoints.files.save_file", side_effect=OSError("no space left")
    ):
        return saving({"w": line})


def without_drafts() -> Any:
    with mock.patch("wengert.train.checkpoints.drafts._is_at", return_value=False):
        return saving({"w": line})


def endless() -> list[Any]:
    tree: list[Any] = []
    for _ in range(100_000):
        tree = [tree]
    return tree


def unreadable(error: Exception) -> Any:
    """Load a file that the library refuses, in words that are ours and not those of a version."""
    with mock.patch("wengert.train.checkpoints.files.safe_open", side_effect=error):
        return loading({"w": line})


CASES: dict[str, Callable[[], Any]] = {
    "save: a training step": lambda: saving(
        {"step": wg.TrainStep(lambda w: wg.sum(w), np.ones(2), wg.optim.SGD(0.1))}
    ),
    "save: no path": lambda: saving({}, 3),
    "save: a folder": lambda: saving({}, "."),
    "save: a device": lambda: wg.save("/dev/null", {}),
    "save: a disk without room": without_room,
    "save: drafts that vanish": without_drafts,
    "save: a tree that holds itself": lambda: saving(endless()),
    "save: a set": lambda: saving({"w": {1, 2}}),
    "save: complex numbers": lambda: saving({"w": line * 1j}),
    "save: a masked array": lambda: saving(np.ma.masked_array(line)),
    "save: a key that is no name": lambda: saving({frozenset(): line}),
    "save: a broken character": lambda: saving({"w\ud800": line}),
    "save: a Tensor": lambda: wg.grad(lambda x: saving({"w": x}))(line),
    "load: no path": lambda: wg.load(None),  # type: ignore[arg-type]
    "load: a file that does not exist": lambda: in_a_folder(lambda: wg.load(FILE)),
    "load: a file that may not be read": lambda: unreadable(PermissionError("not allowed")),
    "load: a file cut short": lambda: unreadable(SafetensorError("the header is incomplete")),
    "load: complex numbers": of_complex_numbers,
    "load: a changed byte": lambda: damaged(lambda whole: whole[:-1] + b"\1"),
    "load: a changed shape": lambda: described(
        '{"version": 1, "crc32": {}, "types": {"w": "float64[3, 1]"}, "tree": 1}'
    ),
    "load: a changed name of the description": lambda: damaged(
        lambda whole: whole.replace(b'"wengert"', b'"wengers"')
    ),
    "load: a changed description": lambda: damaged(
        lambda whole: whole.replace(b'[\\"w\\"', b'[\\"v\\"')
    ),
    "load: a later version": lambda: described('{"version": 2, "crc32": {}, "tree": 1}'),
    "load: a description without a tree": lambda: described('{"version": 1}'),
    "load: a description of a list without its kind": lambda: structured([1]),
    "load: a description of an unknown kind": lambda: structured({"set": []}),
    "load: a description of an unknown kind, with like": lambda: structured({"set": []}, line),
    "load: a function without like": lambda: loading({"f": np.tanh}),
    "load: like, other paths": lambda: loading({"w": line}, {"v": line, "b": line}),
    "load: like, another shape": lambda: loading({"w": line}, {"w": np.ones(4)}),
    "load: like, the file of a step": lambda: loading(
        step_of({"w": line}).state_dict(), {"w": line}
    ),
    "load: like, a step": lambda: wg.load(FILE, like=step_of({"w": line})),
    "TrainStep.load: the file of a model": lambda: into_a_step({"w": line}),
    "TrainStep.load: the file of a model that is one array": lambda: into_a_step(line),
    "TrainStep.load: the file of a model with a function": lambda: into_a_step(
        {"w": line, "f": np.tanh}
    ),
    "TrainStep.model: a file without its types": lambda: assigned_from_a_file(
        wg.nn.Linear(2, 1, seed=0)
    ),
    "load: like, tied arrays that differ": lambda: loading(
        {"a": line, "b": 2 * line}, {"a": line, "b": line}
    ),
}
