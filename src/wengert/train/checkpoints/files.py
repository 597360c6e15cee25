"""wg.save and wg.load: trees of arrays in safetensors files.

The arrays lie in the file under their paths, such as `layers.0.w`, where any program that reads
safetensors finds them. What stands around them (dictionaries and lists, numbers, ties) is JSON in
the header; `files_structure` says how. Nothing is pickled: a file is data, and loading it runs no
code.
"""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from wengert.core import tree as core_tree
from wengert.core.process.ending import ending
from wengert.core.types import ArrayType
from wengert.core.words.arguments import worded
from wengert.core.words.noticed.loaded_models import note_loaded, note_loaded_without_like
from wengert.errors import CheckpointError, MissingFile
from wengert.train.checkpoints.drafts import replace_file
from wengert.train.checkpoints.files_fitting import FileEntry, Fitting
from wengert.train.checkpoints.files_structure import (
    Encoder,
    MissingFunction,
    decode,
    decode_terminal,
    from_text,
    is_description,
    terminals,
    to_text,
    unused,
)
from wengert.train.checkpoints.mistaken_files import is_of_step, model_given, require_no_step

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link that leads to itself",
}
# What may be raised when a text that is no description is read as one.
_BROKEN = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
_KEY = "wengert"  # the one entry of the metadata: several would stand in random order
File = str | os.PathLike[str]


@worded
def save(path: File, tree: Any) -> None:
    """Write a tree to a safetensors file, which then holds all of it or is as it was before.

    Arrays keep dtype and shape, dictionaries their order; Python numbers, strings, None and bools
    are kept, and an array at two places stays one array. Byte order and strides are not kept. Of a
    function only the name is kept.

    >>> wg.save("model.safetensors", {"layers": [{"w": np.ones((2, 3))}], "steps": 7})
    >>> wg.load("model.safetensors")["steps"]
    7
    """
    target = _target("save", path)
    _require_file("save", os.fspath(path), target)
    arrays, text = _encoded(tree)
    try:
        replace_file(target, lambda draft: save_file(arrays, draft, metadata={_KEY: text}))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"save: {os.fspath(path)!r} could not be written ({error}); a file in a folder with "
            "room, which can be written to, is needed. Choose another path; what was there is "
            "unchanged."
        ) from error


def _encoded(tree: Any) -> tuple[dict[str, np.ndarray[Any, Any]], str]:
    """The arrays of a tree by name, and the text that stands in the header."""
    encoder = Encoder()
    try:
        encoded = encoder.encode(tree)
        sums = {name: zlib.crc32(_bytes(x)) for name, x in encoder.arrays.items()}
        types = {name: str(_type(x)) for name, x in encoder.arrays.items()}
        return encoder.arrays, to_text(encoded, sums, types)
    except RecursionError:
        raise CheckpointError(
            "save: the tree is nested too deeply, or holds itself; a file holds trees of some "
            "hundred levels. Put its arrays into a flat dictionary."
        ) from None


@worded
def load(path: File, like: Any = None) -> Any:
    """Read a tree that `save` wrote.

    Without `like`, dataclasses and named tuples come back as dictionaries of their fields. With it,
    the tree has the form and the types of `like`, whose arrays (or ArrayTypes) say what is
    expected: every path must be there with its shape and dtype, and none besides. Numbers and
    strings come from the file, functions from `like`.

    A safetensors file of another program is a flat dictionary of its arrays, or is fitted to `like`
    by their names.

    >>> wg.save("model.safetensors", {"w": np.zeros((2, 3), np.float32)})
    >>> wg.load("model.safetensors", like={"w": wg.zeros((2, 3), dtype=np.float32)})["w"].dtype
    dtype('float32')
    """
    require_no_step(like)
    target = _target("load", path)
    content = _Content(os.fspath(path), target)
    if like is None:
        read = content.tree()
        note_loaded_without_like(core_tree.leaves(read))
        return read
    fitted = content.fitted(like)
    note_loaded(
        "load: given like, which stays as it is; a new tree with the arrays of the file was "
        "returned, and nothing reads it.",
        "wg.load(path, like={})",
        like,
        core_tree.leaves(like),
        core_tree.leaves(fitted),
    )
    return fitted


def load_state(path: File, by: str) -> Any:
    """Read what the `state_dict` of a step gave; errors begin with `by` where it is a model."""
    content = _Content(os.fspath(path), _target("load", path))
    entries = content.entries()
    if any(entry.is_function for entry in entries.values()) and not is_of_step(entries):
        raise model_given(by)  # without its functions it could not even be read
    return content.tree()


class _Content:
    """What a file holds: arrays by name, checked, and the encoded tree around them."""

    def __init__(self, shown: str, target: Path) -> None:
        self.shown = shown
        _require_file("load", shown, target)
        self.arrays = self._read(target)
        self.encoded, sums, types = self._structure()
        for name, expected in sums.items():
            if name not in self.arrays or zlib.crc32(_bytes(self.arrays[name])) != expected:
                raise self._corrupt(f"the bytes of {name} are not those that were saved")
        if types is not None and types != {n: str(_type(x)) for n, x in self.arrays.items()}:
            raise self._corrupt("the names, shapes or dtypes are not those that were saved")

    @ending.whole
    def _read(self, target: Path) -> dict[str, np.ndarray[Any, Any]]:
        if ending.near:
            ending.pass_or_stay()
        try:
            with safe_open(target, framework="np") as file:
                metadata = file.metadata() or {}
                self.text = metadata.get(_KEY)
                if self.text is None and any(map(is_description, metadata.values())):
                    raise self._corrupt(f"its description is not called {_KEY!r}")
                return {name: _owned(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
        except FileNotFoundError:
            raise MissingFile(
                f"load: {self.shown!r} does not exist; a file that wg.save wrote is needed. "
                "Check the path."
            ) from None
        except OSError as error:
            raise CheckpointError(
                f"load: {self.shown!r} could not be read ({error}); a file that can be read is "
                "needed. Check the path and its permissions."
            ) from error
        except SafetensorError as error:
            raise CheckpointError(
                f"load: {self.shown!r} is no safetensors file, or one that was cut short "
                f"({error}); a whole file that wg.save wrote is needed. Save it again."
            ) from error
        except (TypeError, KeyError, AttributeError, ImportError) as error:
            raise CheckpointError(
                f"load: {self.shown!r} holds arrays of a dtype that is not supported ({error}); "
                "bool, integers and floats of 16, 32 and 64 bits can be loaded. Convert the file."
            ) from error

    def _structure(self) -> tuple[Any, dict[str, int], dict[str, str] | None]:
        """The encoded tree, checksums and types; of a file of another program, a flat dictionary.
        The first files of version 1 have no types.
        """
        if self.text is None:
            return {"dict": [[name, {"array": name}] for name in self.arrays]}, {}, None
        try:
            content = from_text(self.text)
            version, tree, sums = content["version"], content["tree"], dict(content["crc32"])
        except _BROKEN as error:
            raise self._corrupt(f"its description of the tree is broken: {error}") from error
        if version != 1:
            raise CheckpointError(
                f"load: {self.shown!r} has version {version!r} of the format; this release reads "
                "version 1. Load it with a newer one."
            )
        return tree, sums, content.get("types")

    def tree(self) -> Any:
        try:
            return decode(self.encoded, self._array)
        except MissingFunction as missing:
            raise CheckpointError(
                f"load: {self.shown!r} was saved with a function at {missing}; functions are not "
                "kept in files. Pass the tree they come from as `like`."
            ) from None
        except _BROKEN as error:
            raise self._corrupt(f"its description of the tree is broken: {error}") from error

    def fitted(self, like: Any) -> Any:
        return Fitting(self.shown, self.entries(), foreign=self.text is None).fit(like)

    def entries(self) -> dict[str, FileEntry]:
        """What is in the file, by path."""
        entries: dict[str, FileEntry] = {}
        try:
            for path, encoded in terminals(self.encoded):
                entries[unused(path, entries)] = self._entry(encoded, path)
        except _BROKEN as error:
            raise self._corrupt(f"its description of the tree is broken: {error}") from error
        return entries

    def _entry(self, encoded: Any, path: str) -> FileEntry:
        if isinstance(encoded, dict) and "function" in encoded:
            return FileEntry(lambda: None, None, str(encoded["function"]))
        value = decode_terminal(encoded, self._array, path)
        is_array = isinstance(value, np.ndarray | np.generic)
        return FileEntry(lambda: value, _type(value) if is_array else None)

    def _array(self, name: str) -> np.ndarray[Any, Any]:
        return self.arrays[name]

    def _corrupt(self, how: str) -> CheckpointError:
        return CheckpointError(
            f"load: {self.shown!r} is damaged ({how}); a file as wg.save wrote it is needed. "
            "Use an earlier one."
        )


def _target(name: str, path: Any) -> Path:
    """The file itself: where a link is given, what it leads to, so that links stay links."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise CheckpointError(
            f"{name}: path={path!r} was given; it must name a file. Pass a string or a Path."
        )
    return Path(os.path.realpath(path))


def _require_file(name: str, shown: str, target: Path) -> None:
    """Refuse a path where something else than a file is: it would be replaced, or never end."""
    try:
        kind = stat.S_IFMT(os.lstat(target).st_mode)  # links have been followed
    except OSError:  # nothing is there yet, or it will be said why it cannot be used
        return
    if kind != stat.S_IFREG:
        raise CheckpointError(
            f"{name}: {shown!r} is {_KINDS.get(kind, 'no regular file')}; a regular file is "
            "needed. Choose another path."
        )


def _owned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array that can be written to and that nothing else looks at; of NumPy's own dtypes only,
    whatever other packages have added to them.
    """
    if array.dtype.kind not in "?biuf":
        raise TypeError(f"{array.dtype}")
    return array if array.flags.writeable else array.copy()


def _type(array: Any) -> ArrayType:
    return ArrayType(array.shape, array.dtype)


def _bytes(array: np.ndarray[Any, Any]) -> Any:
    """The bytes of a C-ordered array, without copying them."""
    return array.reshape(-1).view(np.uint8).data
