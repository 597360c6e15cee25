"""Entries as files: what is refused, what goes wrong, and what is removed."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from wengert.runtime.caching import cache_store
from wengert.runtime.caching.cache_store import Missed, Store, name_of

KEY = {"text": "abc", "cpu": "some", "features": "+avx2,+fma"}
NAME = name_of("o", KEY)
BODY = bytes(range(256)) * 40


@pytest.fixture
def store(tmp_path):
    made = Store(str(tmp_path / "below" / "cache"), 1 << 20)
    made.write(NAME, KEY, BODY)
    return made


def path_of(store: Store, name: str = NAME) -> Path:
    return Path(store.folder) / name


def refusal(store: Store, name: str = NAME, key: object = KEY) -> str:
    with pytest.raises(Missed) as why:
        store.read(name, key)
    return str(why.value)


def fail_with(number: int):
    def fail(*_args, **_kwargs):
        raise OSError(number, os.strerror(number))

    return fail


# What is kept.


def test_what_was_written_is_read(store):
    assert store.read(NAME, KEY) == BODY
    assert os.stat(store.folder).st_mode & 0o777 == 0o700
    assert path_of(store).stat().st_mode & 0o777 == 0o600
    assert os.listdir(store.folder) == [NAME]


def test_the_key_stands_there_to_read(store):
    assert b'"cpu":"some"' in path_of(store).read_bytes().partition(b"\n")[0]
    assert list(store.keys("o-")) == [KEY]
    assert list(store.keys("p-")) == []


@pytest.mark.parametrize("body", [b"", b"\n", b"{}\n" * 3, bytes(100_000)])
def test_any_body(store, body):
    store.write(NAME, KEY, body)
    assert store.read(NAME, KEY) == body


def test_names():
    assert name_of("o", KEY) == name_of("o", dict(reversed(KEY.items())))
    assert name_of("o", KEY) != name_of("o", KEY | {"cpu": "other"})
    assert name_of("p", KEY, {"a": 1}).startswith(name_of("p", KEY))


# What is refused.


def test_no_entry(store, tmp_path):
    assert refusal(store, name_of("o", {"text": "other"})) == "no entry"
    assert refusal(Store(str(tmp_path / "nowhere"), 1000)) == "no entry"


def test_every_byte_counts(store):
    whole = path_of(store).read_bytes()
    head = whole.index(b"\n") + 1
    for at in (*range(head + 20), *range(head + 20, len(whole), 997), len(whole) - 1):
        changed = bytearray(whole)
        changed[at] ^= 1
        path_of(store).write_bytes(changed)
        assert "refused" in refusal(store), f"byte {at}"
    path_of(store).write_bytes(whole)
    assert store.read(NAME, KEY) == BODY


def test_truncated_or_longer(store):
    whole = path_of(store).read_bytes()
    for data in (b"", whole[:10], whole[:-1], whole[: whole.index(b"\n")], whole + b"x"):
        path_of(store).write_bytes(data)
        assert "refused" in refusal(store)


@pytest.mark.parametrize("part", ["cpu", "features", "text"])
def test_an_entry_for_something_else_under_its_name(store, part):
    store.write(NAME, KEY | {part: "another"}, BODY)
    assert refusal(store) == "the entry is refused: its key does not match"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_others_can_write(store, mode):
    path_of(store).chmod(mode)
    assert refusal(store) == "the entry is refused: others can write to it"


def as_if_owned_by_another(monkeypatch, of_folder: bool):
    real = os.fstat

    def fstat(file):
        found = real(file)
        fields = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        if os.path.isdir(f"/proc/self/fd/{file}") == of_folder:
            fields["st_uid"] += 1
        return SimpleNamespace(**fields)

    monkeypatch.setattr(cache_store.os, "fstat", fstat)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_an_entry_of_another_user(store, monkeypatch):
    as_if_owned_by_another(monkeypatch, of_folder=False)
    assert refusal(store) == "the entry is refused: others can write to it"
    assert store.fault() == ""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_folder_of_another_user(store, monkeypatch):
    as_if_owned_by_another(monkeypatch, of_folder=True)
    assert store.fault() == "it belongs to somebody else"
    assert "somebody else" in refusal(store)


def test_another_user_asks(store, monkeypatch):
    owner = os.geteuid()
    monkeypatch.setattr(cache_store.os, "geteuid", lambda: owner + 1)
    assert store.fault() == "it belongs to somebody else"
    store.write("o-new", KEY, BODY)
    assert os.listdir(store.folder) == [NAME]


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o770, 0o777, 0o1777])
def test_a_folder_that_others_enter(store, mode):
    os.chmod(store.folder, mode)
    assert "chmod 700" in store.fault()
    assert "others have access" in refusal(store)
    store.write("o-new", KEY, BODY)
    assert os.listdir(store.folder) == [NAME]
    assert list(store.keys("o-")) == []


def test_links_and_other_things(store, tmp_path):
    kept = tmp_path / "elsewhere"
    path_of(store).rename(kept)
    path_of(store).symlink_to(kept)
    assert "cannot be read" in refusal(store)
    path_of(store).unlink()
    path_of(store).mkdir()
    assert "no file" in refusal(store)
    store.write(NAME, KEY, BODY)  # a folder stands in its place: nothing is kept, nothing raised
    assert os.listdir(store.folder) == [NAME]
    path_of(store).rmdir()
    os.mkfifo(path_of(store))
    assert "no file" in refusal(store)  # and it does not wait for somebody to write
    store.write(NAME, KEY, BODY)
    assert store.read(NAME, KEY) == BODY


def test_huge(store, monkeypatch):
    os.truncate(path_of(store), cache_store.LARGEST + 1)
    with monkeypatch.context() as patched:
        patched.setattr(cache_store, "open", None, raising=False)  # nothing of it is read
        assert "more than" in refusal(store)
    monkeypatch.setattr(cache_store, "LARGEST", 1000)
    store.write("o-large", KEY, BODY)
    assert not path_of(store, "o-large").exists()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_unreadable(store, monkeypatch, number):
    monkeypatch.setattr(cache_store.os, "open", fail_with(number))
    assert "cannot be read" in refusal(store)


def test_reading_fails_half_way(store, monkeypatch):
    monkeypatch.setattr(cache_store, "open", fail_with(errno.EIO), raising=False)
    assert "cannot be read" in refusal(store)


# What goes wrong.


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "mkdir", "open"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_the_disk_is_full_or_read_only(store, monkeypatch, caplog, call, number):
    if call == "mkdir":
        shutil.rmtree(Path(store.folder))
    with monkeypatch.context() as patch, caplog.at_level("INFO"):
        patch.setattr(cache_store.os, call, fail_with(number))
        store.write("o-new", KEY, BODY)
    assert os.strerror(number) in caplog.text
    left = os.listdir(store.folder) if call != "mkdir" else [NAME]
    assert left == [NAME]  # not even a part of the new one
    store.write("o-new", KEY, BODY)
    assert store.read("o-new", KEY) == BODY


def test_only_a_part_is_written_at_a_time(store, monkeypatch):
    real = os.write
    monkeypatch.setattr(cache_store.os, "write", lambda file, data: real(file, data[:777]))
    store.write("o-new", KEY, BODY)
    assert store.read("o-new", KEY) == BODY


def test_interrupted(store, monkeypatch):
    def interrupt(_file):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache_store.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write("o-new", KEY, BODY)
    assert os.listdir(store.folder) == [NAME]


def test_the_folder_vanishes(store, monkeypatch):
    real = os.rename

    def rename(*args, **kwargs):
        shutil.rmtree(Path(store.folder))
        return real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(cache_store.os, "rename", rename)
        store.write("o-new", KEY, BODY)
    assert refusal(store) == "no entry"
    assert list(store.keys("o-")) == []
    store.write(NAME, KEY, BODY)
    assert store.read(NAME, KEY) == BODY


def test_there_is_a_file_instead_of_the_folder(tmp_path):
    (tmp_path / "cache").write_text("")
    store = Store(str(tmp_path / "cache"), 1000)
    store.write(NAME, KEY, b"x")
    assert store.fault()
    assert "cannot be read" in refusal(store)


def test_headers_that_are_none(store):
    path_of(store, "o-torn").write_bytes(b"wengert cache 1 {")
    path_of(store, "o-list").write_bytes(b"wengert cache 1 x 3 [{}]\nabc")
    path_of(store, "o-empty").write_bytes(b"")
    path_of(store, "o-deep").write_bytes(b"wengert cache 1 x 3 " + b'{"a":' * 10_000 + b"\nabc")
    assert list(store.keys("o-")) == [KEY]


# What is removed.


def aged(store: Store, name: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path_of(store, name), (then, then))


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    store = Store(str(tmp_path / "cache"), 60_000)
    for k in range(5):
        store.write(f"o-{k}", KEY, BODY)
        aged(store, f"o-{k}", 10_000 - k)
    assert store.read("o-0", KEY) == BODY  # used now
    store.write("o-5", KEY, BODY)
    left = set(os.listdir(store.folder))
    assert {"o-0", "o-5"} <= left
    assert not {"o-1", "o-2"} & left
    assert sum(path_of(store, name).stat().st_size for name in left) <= 60_000


def test_the_bound_holds_however_many_are_written(tmp_path):
    store = Store(str(tmp_path / "cache"), 100_000)
    for k in range(60):
        store.write(f"o-{k:02}", KEY, bytes([k]) * 3000)
    total = sum(path.stat().st_size for path in Path(store.folder).iterdir())
    assert 50_000 < total <= 107_000
    assert store.read("o-59", KEY) == bytes([59]) * 3000


def test_more_than_the_bound_is_not_kept(tmp_path):
    store = Store(str(tmp_path / "cache"), 1000)
    store.write(NAME, KEY, BODY)
    assert refusal(store) == "no entry"


def test_what_nobody_finished_goes_after_an_hour(store):
    for name, age in (("t-1-old", 4000), ("t-1-new", 10)):
        path_of(store, name).write_bytes(b"a part")
        aged(store, name, age)
    again = Store(store.folder, store.limit)
    again.write("o-new", KEY, BODY)
    assert set(os.listdir(store.folder)) == {NAME, "o-new", "t-1-new"}


def test_what_another_process_removes_meanwhile(store, monkeypatch):
    monkeypatch.setattr(cache_store.os, "unlink", fail_with(errno.ENOENT))
    again = Store(store.folder, 100)
    again._unseen = 0
    again.limit = len(BODY) + 1000
    again._unseen = again.limit
    again.write("o-new", KEY, BODY)
    assert again.read("o-new", KEY) == BODY


# Several at once.


def hammer(folder: str, number: int, rounds: int) -> None:
    """Write and read one entry and others, in a store that is always too small."""
    store = Store(folder, 100_000)
    for k in range(rounds):
        store.write(NAME, KEY, BODY)
        store.write(f"o-{number}-{k}", KEY, BODY)
        try:
            found = store.read(NAME, KEY)
        except Missed as why:
            if str(why) != "no entry":  # it was not removed, but found in parts
                raise
        else:
            assert found == BODY


def test_processes(tmp_path):
    context = multiprocessing.get_context("spawn")
    folder = str(tmp_path / "cache")
    processes = [context.Process(target=hammer, args=(folder, k, 40)) for k in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert not [name for name in os.listdir(folder) if name.startswith("t-")]


def test_threads(tmp_path):
    folder = str(tmp_path / "cache")
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            hammer(folder, number, 20)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
