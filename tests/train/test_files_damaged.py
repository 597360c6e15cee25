"""Files that were damaged, places that are no files, and saves that were killed."""

import copy
import fcntl
import json
import os
import random
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
from functools import cache

import numpy as np
import pytest
from safetensors.numpy import save_file

import wengert as wg
from train.test_files import same
from wengert.errors import CheckpointError
from wengert.train.checkpoints import drafts

TREE = {
    "layers": [{"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3)}],
    "numbers": (7, 2.5, float("nan"), None, True, "ä"),
    "more": {"i": np.arange(4), "u": np.arange(4, dtype=np.uint64), "empty": np.zeros((0, 2))},
    "scalar": np.float32(3),
    "dtype": np.dtype("float32"),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tree.safetensors"


def require_refused_or_equal(path, data):
    path.write_bytes(data)
    for like in (None, TREE):
        try:
            found = wg.load(path, like)
        except CheckpointError:
            continue
        assert same(found, TREE)


def test_a_file_cut_short_anywhere(path):
    wg.save(path, TREE)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError):
            wg.load(path)
    require_refused_or_equal(path, whole + b"\0")


def test_a_byte_changed_anywhere(path):
    wg.save(path, TREE)
    whole = path.read_bytes()
    rng = random.Random(0)
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.randrange(8)
        require_refused_or_equal(path, bytes(changed))


def test_several_bytes_changed(path):
    wg.save(path, TREE)
    whole = path.read_bytes()
    rng = random.Random(1)
    for _ in range(500):
        changed = bytearray(whole)
        for _ in range(rng.randrange(1, 5)):
            changed[rng.randrange(len(whole))] = rng.randrange(256)
        require_refused_or_equal(path, bytes(changed))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"F32"', b'"I32"'),
        (b'"F64"', b'"I64"'),
        (b'"I64"', b'"U64"'),
        (b"[2,3]", b"[3,2]"),
        (b"[2,3]", b"[6,1]"),
        (b"[0,2]", b"[2,0]"),
        (b"layers.0.w", b"layers.0.v"),
        (b'"wengert":', b'"wengers":'),
        (b"7,2.5", b"6,2.5"),
        (b"7,2.5", b"7,2.6"),
    ],
)
def test_other_types_names_and_numbers(path, old, new):
    wg.save(path, TREE)
    whole = path.read_bytes()
    place = whole.index(old)
    path.write_bytes(whole[:place] + new + whole[place + len(old) :])
    with pytest.raises(CheckpointError, match="is damaged"):
        wg.load(path)


def test_files_without_these_checksums_load(path):
    """As the first releases wrote them."""
    text = json.dumps({"version": 1, "crc32": {}, "tree": {"dict": [["w", {"array": "w"}]]}})
    save_file({"w": np.ones(2)}, path, metadata={"wengert": text})
    assert same(wg.load(path), {"w": np.ones(2)})


@pytest.mark.parametrize("like", [None, [1]])
def test_a_description_that_is_nested_too_deeply(path, like):
    deep = '{"list":[' * 100_000 + "]}" * 100_000
    for text in (f'{{"version":1,"crc32":{{}},"tree":{deep}}}', "[" * 100_000 + "]" * 100_000):
        save_file({"w": np.ones(2)}, path, metadata={"wengert": text})
        with pytest.raises(CheckpointError, match="is damaged"):
            wg.load(path, like)


def test_a_header_that_is_nested_too_deeply(path):
    header = (b'{"w":' + b"[" * 100_000 + b"]" * 100_000 + b"}").ljust(200_024)
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(CheckpointError, match="no safetensors file"):
        wg.load(path)


def test_a_tree_that_is_nested_too_deeply(path):
    wg.save(path, {"w": np.ones(2)})
    deep = [np.ones(2)]
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CheckpointError, match=r"^save: the tree is nested too deeply"):
        wg.save(path, deep)
    assert same(wg.load(path), {"w": np.ones(2)})
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    "tree",
    [
        {"dtype": "object"},
        {"dtype": {"names": ["a"]}},
        {"dtype": ["float32"]},
        {"float": {}},
        {"float": "1e"},
        {"array": []},
        {"array": "v"},
        {"scalar": None},
        {"dict": [[[], 1]]},
        {"dict": [[{"tuple": 3}, 1]]},
        {"dict": [[{}, 1]]},
        {"dict": 7},
        {"dict": [1]},
        {"list": 7},
        {"fields": [["a"]]},
    ],
    ids=str,
)
@pytest.mark.parametrize("like", [None, {"w": np.ones(2)}])
def test_descriptions_of_nothing(path, tree, like):
    text = json.dumps({"version": 1, "crc32": {}, "tree": tree})
    save_file({"w": np.ones(2)}, path, metadata={"wengert": text})
    with pytest.raises(CheckpointError):
        wg.load(path, like)


# States of steps.


@cache
def made():
    """A step that is refused everything, and its state."""
    step = make()
    return step, step.state_dict()


def make():
    step = wg.TrainStep(
        lambda w, x, rng: wg.mean((wg.dropout(x, 0.1, rng) @ w) ** 2),
        np.ones(3),
        wg.optim.Adam(wg.optim.ReduceOnPlateau(0.1)),
        clip_norm=1.0,
        accumulate=2,
    )
    for _ in range(3):
        step(np.ones((4, 3)))
    return step


BAD_COUNTS = [2**63, 2**64, 2**70, -1, 1.0, 2.5, True, np.bool_(True), "3", None, [1], np.ones(2)]
BAD_COUNTS += [np.float64(1), np.uint64(2**64 - 1), float("nan"), {}]


@pytest.mark.parametrize("name", ["calls", "updates", "phase", "epoch", "shuffled", "seed"])
@pytest.mark.parametrize("value", BAD_COUNTS, ids=repr)
def test_a_count_that_is_none_changes_nothing(name, value):
    if name == "seed" and isinstance(value, int | np.uint64) and 0 <= value < 2**64:
        pytest.skip("a seed")
    step, state = made()[0], copy.deepcopy(made()[1])
    before = step.fingerprint(), repr(step), step.optimizer.learning_rate
    for kind in state["arrays"].values():
        for x in kind.values():
            x += 1
    state["settings"]["*"]["schedule"]["rate"] = 0.01
    state["limits"]["clip_norm"] = 7.0
    state["counts"][name] = value
    with pytest.raises(CheckpointError, match=rf"the state has {name}=.*; it is a whole number"):
        step.load_state_dict(state)
    assert (step.fingerprint(), repr(step), step.optimizer.learning_rate) == before
    assert step.clip_norm == 1.0


def changed(change):
    state = copy.deepcopy(made()[1])
    state["counts"] |= {"epoch": 1, "shuffled": 1}
    epoch = {"batches": 2, "rows": 40, "batch_size": 4, "shuffle_seed": 1, "data": 7}
    state["unfinished"] = {"accumulate": 2, "epoch": epoch}
    change(state)
    return state


def test_the_epoch_of_a_state_is_checked():
    make().load_state_dict(changed(lambda state: None))
    bad = {
        "batches": [4, -1, 1.5, None, 2**63],
        "rows": [-1, "3", 2.0],
        "batch_size": [41, -1, None],
        "shuffle_seed": [-1, 2**64, 0.5, "1"],
        "data": [-1, 2**63, 0.5, None],
    }
    step = make()
    before = step.fingerprint()
    for name, values in bad.items():
        for value in values:
            state = changed(lambda s, n=name, v=value: s["unfinished"]["epoch"].update({n: v}))
            with pytest.raises(CheckpointError, match=name):
                step.load_state_dict(state)
    for unfinished in (3, [], {"epoch": 3}, {"epoch": {}}, {"other": 1}):
        with pytest.raises(CheckpointError):
            step.load_state_dict(changed(lambda s, u=unfinished: s.update(unfinished=u)))
    assert step.fingerprint() == before


def test_gradients_of_another_accumulation_are_refused():
    step = make()
    for change in (
        lambda state: state["counts"].update(phase=2),
        lambda state: state["unfinished"].update(accumulate=3),
    ):
        with pytest.raises(CheckpointError, match=r"calls of an accumulation; .* accumulate=2"):
            step.load_state_dict(changed(change))
    old = changed(lambda state: state.pop("unfinished"))  # of a release that did not say it
    step.load_state_dict(old)


def test_values_of_a_state_that_are_something_else():
    """Whatever stands in a state, it is refused in words, or it is what was there."""
    step, rng = make(), random.Random(0)
    before = step.fingerprint()
    values = [None, -1, 2**70, "x", [], {}, np.ones(2), [[1], [1, 2]], object(), float("nan")]

    def places(tree, path=()):
        if isinstance(tree, dict):
            for key, value in tree.items():
                yield (*path, key)
                yield from places(value, (*path, key))

    for *above, last in list(places(step.state_dict())):
        for value in rng.sample(values, 5):
            state = step.state_dict()
            inside = state
            for key in above:
                inside = inside[key]
            inside[last] = value
            try:
                step.load_state_dict(state)
            except CheckpointError:
                assert step.fingerprint() == before
            else:
                part = (*above, last)[0]
                assert part in ("settings", "counts", "limits", "made"), (above, last, value)
                step = make()


# Places that are no files.


def pipe(path):
    os.mkfifo(path)


def bound_socket(path):
    made = socket.socket(socket.AF_UNIX)
    made.bind(os.fspath(path))
    made.close()


@pytest.mark.parametrize(
    ("make_it", "kind"), [(pipe, "a pipe"), (bound_socket, "a socket"), (os.mkdir, "a folder")]
)
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_stays(tmp_path, make_it, kind, linked, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    make_it("it")
    before = os.lstat("it")
    if linked:
        os.symlink("it", "link")
    name = "link" if linked else "it"
    with pytest.raises(CheckpointError, match=f"^save: '{name}' is {kind}; a regular file"):
        wg.save(name, TREE)
    with pytest.raises(CheckpointError, match=f"^load: '{name}' is {kind}; a regular file"):
        wg.load(name)
    assert os.lstat("it")[:2] == before[:2]
    assert sorted(os.listdir()) == sorted({"it", name})


def test_a_device_stays():
    with pytest.raises(CheckpointError, match=r"^save: '/dev/null' is a device"):
        wg.save("/dev/null", TREE)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(CheckpointError, match=r"^load: '/dev/zero' is a device"):
        wg.load("/dev/zero")


def test_links_stay_links(tmp_path):
    (tmp_path / "folder").mkdir()
    link, file = tmp_path / "link", tmp_path / "folder" / "file"
    link.symlink_to(file)
    for _ in range(2):  # first it leads nowhere, then to a file
        wg.save(link, TREE)
        assert link.is_symlink()
        assert same(wg.load(file), TREE)
    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to(tmp_path / "missing" / "file")
    around = tmp_path / "around"
    around.symlink_to(around)
    for each, why in ((nowhere, "could not be written"), (around, "a link that leads to itself")):
        with pytest.raises(CheckpointError, match=why):
            wg.save(each, TREE)
        assert each.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["around", "folder", "link", "nowhere"]


# Saves that were killed.

KILLED = """
import os, signal, sys
import numpy as np
import wengert as wg
from wengert.train.checkpoints import files
write = files.save_file
def killed(arrays, path, metadata):
    write(arrays, path, metadata)
    os.kill(os.getpid(), signal.SIGKILL)
files.save_file = killed
wg.save(sys.argv[1], {"w": np.ones(9)})
"""


def test_what_a_killed_save_left_is_removed(path):
    wg.save(path, {"w": np.ones(2)})
    for _ in range(2):
        found = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
        assert found.returncode == -signal.SIGKILL
    other = path.with_name("other.safetensors")
    assert subprocess.run([sys.executable, "-c", KILLED, other], check=False).returncode
    left = [name for name in os.listdir(path.parent) if name.endswith(".tmp")]
    assert len(left) >= 2  # the second save removed what the first had left
    assert same(wg.load(path), {"w": np.ones(2)})
    wg.save(path, TREE)
    assert same(wg.load(path), TREE)
    left = [name for name in os.listdir(path.parent) if name != path.name]
    assert len(left) == 1
    assert left[0].startswith(".other.safetensors.")  # not its own


def test_what_somebody_is_writing_stays(path, monkeypatch):
    """In this process or in another: a lock says so."""
    begun, go_on = threading.Event(), threading.Event()
    write = wg.train.checkpoints.files.save_file

    def slow(arrays, file, metadata):
        if "slow" in arrays:
            begun.set()
            assert go_on.wait(60)
        write(arrays, file, metadata)

    monkeypatch.setattr(wg.train.checkpoints.files, "save_file", slow)
    thread = threading.Thread(target=wg.save, args=(path, {"slow": np.ones(3)}))
    thread.start()
    assert begun.wait(60)
    wg.save(path, TREE)
    assert same(wg.load(path), TREE)
    go_on.set()
    thread.join()
    assert same(wg.load(path), {"slow": np.ones(3)})
    assert os.listdir(path.parent) == [path.name]


def test_files_that_look_like_drafts_stay(path):
    names = [f".{path.name}.0123456789ab.tmp", f".{path.name}.tmp", f".{path.name}.xyz.tmp"]
    for name in names:
        (path.parent / name).write_text("of somebody else")
    (path.parent / f".{path.name}.0123456789ac.tmp").symlink_to(path.parent)
    wg.save(path, TREE)
    assert len(os.listdir(path.parent)) == 5


def test_where_nothing_can_be_locked(path, monkeypatch):
    def unsupported(*_):
        raise OSError("no locks here")

    left = path.parent / f".{path.name}.0123456789ab.tmp"
    left.mkdir()
    monkeypatch.setattr(fcntl, "flock", unsupported)
    wg.save(path, TREE)
    assert same(wg.load(path), TREE)
    assert left.exists()  # nobody knows whether it is in use


def test_a_draft_that_another_takes_for_abandoned(path, monkeypatch):
    """Between making its folder and locking it: another one is made."""
    taken, lock = [], fcntl.flock

    def late(descriptor, how):
        if len(taken) < 3:
            folder = next(path.parent.glob(".*.tmp"))
            folder.rmdir()
            taken.append(folder)
        return lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    wg.save(path, TREE)
    assert same(wg.load(path), TREE)
    assert os.listdir(path.parent) == [path.name]
    monkeypatch.setattr(drafts, "_is_at", lambda *_: False)
    with pytest.raises(
        CheckpointError, match=re.escape("could not be written (its drafts vanish)")
    ):
        wg.save(path, {"w": np.ones(2)})
    assert same(wg.load(path), TREE)
