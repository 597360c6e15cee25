"""The folder of a run is whole or not there, whatever happens."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cli.conftest import SMALL, table_rows, write_table
from wengert.cli import ExitCode
from wengert.cli.running import run_folder, train_run
from wengert.cli.running.run_folder import FILES
from wengert.train.checkpoints import files
from wengert.train.fitting.loggers import log_jsonl


@pytest.fixture
def shop(tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    return ("train", "shop.csv", "--target", "bought", *SMALL)


def test_a_run_has_all_its_files(trained):
    run, _ = trained
    assert sorted(path.name for path in run.iterdir()) == sorted(FILES)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [0, 1, 2]
    assert {"loss", "validation_loss", "accuracy", "learning_rate", "seconds"} <= set(lines[0])


def test_nothing_is_written_over(command, tmp_path, shop):
    (tmp_path / "run").mkdir()
    code, _, complaint = command(*shop, "--out", "run")
    assert code == ExitCode.FILES
    assert "run: is there already, and is not written over" in complaint
    (tmp_path / "new.unfinished").mkdir()
    code, _, complaint = command(*shop, "--out", "new")
    assert code == ExitCode.FILES
    assert "new.unfinished: another training is writing there, or one was killed" in complaint


def test_runs_are_numbered(command, tmp_path, shop):
    (tmp_path / "runs" / "shop-1").mkdir(parents=True)
    code, printed, _ = command(*shop)
    assert code == 0
    assert "report: runs/shop-2/report.html" in printed


def refuse(kind):
    def mkdir(*_, **__):
        raise OSError(kind, os.strerror(kind))

    return mkdir


def test_a_folder_that_is_read_only_is_told(command, tmp_path, shop, monkeypatch):
    monkeypatch.setattr(run_folder.Path, "mkdir", refuse(30))
    code, _, complaint = command(*shop, "--out", "run")
    assert code == ExitCode.FILES
    assert "run: cannot be written (Read-only file system)" in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["shop.csv"]


FULL = OSError(28, os.strerror(28))


@pytest.mark.parametrize("place", ["checkpoint", "log", "model", "report", "rename"])
def test_a_full_disk_leaves_nothing(command, tmp_path, shop, monkeypatch, place):
    def fail(*_, **__):
        raise FULL

    if place == "checkpoint":
        monkeypatch.setattr(files, "save_file", fail)
    elif place == "log":
        monkeypatch.setattr(train_run, "log_jsonl", lambda _: fail)
    elif place == "model":
        monkeypatch.setattr(train_run, "save_model", fail)
    elif place == "report":
        monkeypatch.setattr(train_run, "report_page", fail)
    else:
        monkeypatch.setattr(run_folder.os, "rename", fail)
    code, _, complaint = command(*shop, "--out", "run")
    assert code == ExitCode.FILES
    assert "run: cannot be written (" in complaint
    assert "No space left on device" in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["shop.csv"]


def test_long_training_is_kept_when_the_disk_is_full(command, tmp_path, shop, monkeypatch):
    def fail(*_, **__):
        raise FULL

    monkeypatch.setattr(train_run, "KEPT_AFTER", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(train_run, "save_model", fail)
        code, _, complaint = command(*shop, "--out", "run")
    assert code == ExitCode.FILES
    assert "What was learned is in run.unfinished." in complaint
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(train_run, "KEPT_AFTER", 60.0)
    with monkeypatch.context() as patched:
        patched.setattr(train_run, "save_model", fail)
        code, _, complaint = command("train", "--resume", "run")
    assert code == ExitCode.FILES
    assert "What was learned is in run.unfinished." in complaint  # all that is left of it
    assert command("train", "--resume", "run")[0] == 0
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == sorted(FILES)
    assert not (tmp_path / "run.unfinished").exists()


def stop_after(epochs):
    """A log that is interrupted, as by Ctrl-C, in this epoch."""

    def log(path):
        inner = log_jsonl(path)

        def note(record):
            inner(record)
            if record.number > epochs:
                raise KeyboardInterrupt

        return note

    return log


def fingerprint(printed):
    return next(line for line in printed.splitlines() if line.startswith("fingerprint"))


def test_a_run_that_was_interrupted_goes_on_to_the_same_bits(command, tmp_path, shop, monkeypatch):
    _, printed, _ = command(*shop, "--out", "whole", "--dropout", "0.2")
    with monkeypatch.context() as patched:
        patched.setattr(train_run, "log_jsonl", stop_after(1))
        code, first, _ = command(*shop, "--out", "run", "--dropout", "0.2")
    assert code == ExitCode.INTERRUPTED
    assert "go on with: wengert train --resume run" in first
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == sorted(FILES)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 1
    code, second, _ = command("train", "--resume", "run")
    assert code == 0
    assert fingerprint(second) == fingerprint(printed)
    assert fingerprint(first) != fingerprint(printed)
    losses = [
        [json.loads(line)["loss"] for line in (tmp_path / name / "metrics.jsonl").open()]
        for name in ("whole", "run")
    ]
    assert losses[0] == losses[1]


def test_an_interrupt_before_the_first_epoch_saves_nothing(command, tmp_path, shop, monkeypatch):
    monkeypatch.setattr(train_run, "log_jsonl", stop_after(0))
    code, printed, _ = command(*shop, "--out", "run")
    assert code == ExitCode.INTERRUPTED
    assert "nothing is saved" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["shop.csv"]


def test_more_epochs_go_on_to_the_same_bits(command, trained, tmp_path):
    run, data = trained
    shutil.copytree(run, tmp_path / "run")
    code, printed, _ = command("train", "--resume", "run", "--epochs", "5", "--threads", "2")
    assert code == 0
    options = ("--target", "bought", *SMALL, "--epochs", "5", "--out", "five")
    assert fingerprint(printed) == fingerprint(command("train", data, *options)[1])


@pytest.mark.parametrize(
    "flags", [("--ignore", "size"), ("--categorical", "size"), ("--keep", "size")]
)
def test_a_run_with_columns_by_name_goes_on_without_them(command, shop, flags):
    assert command(*shop, *flags, "--out", "run")[0] == 0
    _, wanted, _ = command(*shop, *flags, "--epochs", "5", "--out", "five")
    code, printed, complaint = command("train", "--resume", "run", "--epochs", "5")
    assert code == 0, complaint
    assert fingerprint(printed) == fingerprint(wanted)
    assert command("train", "--resume", "run", *flags, "--epochs", "6")[0] == 0
    code, _, complaint = command("train", "--resume", "run", flags[0], "colour")
    assert code == ExitCode.USAGE
    assert "was given as ('colour',), and the run has ('size',)" in complaint


def test_what_cannot_go_on_is_refused(command, tmp_path, shop):
    code, _, _ = command(*shop, "--out", "run", "--schedule", "cosine")
    assert code == 0
    for arguments, expected, message in [
        (["--lr", "0.1"], ExitCode.USAGE, "lr was given as 0.1, and the run has 0.002"),
        (["--epochs", "9"], ExitCode.USAGE, "with schedule cosine"),
        (["--out", "x"], ExitCode.USAGE, "given with --config or --out"),
    ]:
        code, _, complaint = command("train", "--resume", "run", *arguments)
        assert (code, message in complaint) == (expected, True), complaint
    code, _, complaint = command("train", "--resume", "nowhere")
    assert (code, "there is no run nowhere" in complaint) == (ExitCode.FILES, True)
    write_table(tmp_path / "shop.csv", table_rows(70))
    code, _, complaint = command("train", "--resume", "run")
    assert (code, "is no longer what run was trained on" in complaint) == (ExitCode.FILES, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "shop.csv"]


def test_what_is_no_run_is_refused(command, tmp_path, trained):
    run, data = trained
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for name, message in [
        ("nowhere", "nowhere: there is no such run"),
        ("file", "file: is a file; the folder of a run is needed"),
        ("folder", "folder: is no run of `wengert train`: config.toml"),
    ]:
        code, _, complaint = command("inspect", name)
        assert (code, message in complaint) == (ExitCode.FILES, True), complaint
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "model.safetensors").write_bytes(b"damaged")
    code, _, complaint = command("predict", "run", data)
    assert (code, "is no model of `wengert train`" in complaint) == (ExitCode.FILES, True)
    (tmp_path / "run" / "metrics.jsonl").write_text("{")
    code, _, complaint = command("inspect", "run")
    assert code == ExitCode.FILES


def test_models_of_other_forms_are_refused(command, tmp_path, trained):
    run, data = trained
    found = files.load(run / "model.safetensors")
    about = json.loads(found["about"])
    for change, message in [
        ({"form": 2}, "was written in form 2; this version of Wengert reads form 1"),
        ({"settings": {**about["settings"], "layers": [9]}}, "an array has shape (8, 5)"),
        ({"settings": {}}, "KeyError"),
    ]:
        model = {**found, "about": json.dumps({**about, **change})}
        if change == {"settings": {}}:
            model["model"] = {}
        files.save(tmp_path / "model.safetensors", model)
        code, _, complaint = command("predict", "model.safetensors", data)
        assert (code, message in complaint) == (ExitCode.FILES, True), complaint


def test_a_checkpoint_that_is_not_there_is_told(command, tmp_path, trained):
    (tmp_path / "run.unfinished").mkdir()
    shutil.copy(trained[0] / "config.toml", tmp_path / "run.unfinished")
    code, _, complaint = command("train", "--resume", "run")
    assert (code, "has no checkpoint to go on from" in complaint) == (ExitCode.FILES, True)


def test_a_batch_may_be_larger_than_the_data(command, shop):
    code, printed, _ = command(*shop, "--batch-size", "1000", "--out", "run")
    assert code == 0
    assert "--batch-size 1000 is more than there are rows: all at once" in printed


def test_a_run_that_was_killed_between_renames_is_put_in_place(command, tmp_path, trained):
    shutil.copytree(trained[0], tmp_path / "run.unfinished")
    code, printed, _ = command("train", "--resume", "run")
    assert code == 0
    assert "best epoch: 3 of 3" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_training_goes_on_when_nobody_reads(trained, tmp_path):
    out = tmp_path / "run"
    command = [sys.executable, "-m", "wengert.cli", "train", trained[1], "--target", "bought"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*command, *SMALL, "--out", out], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)


def test_ctrl_c_saves_even_if_it_comes_twice(trained, tmp_path):
    command = [sys.executable, "-m", "wengert.cli", "train", trained[1], "--target", "bought"]
    options = [*SMALL, "--epochs", "1000000", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    checkpoint = tmp_path / "run.unfinished" / "checkpoint" / "last.safetensors"
    end = time.monotonic() + 120
    while not checkpoint.exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if "saving what was learned" in line:
            process.send_signal(signal.SIGINT)
            break
    printed, complaint = process.communicate(timeout=120)
    assert (process.returncode, complaint) == (ExitCode.INTERRUPTED, "")
    assert "go on with: wengert train --resume" in printed
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == sorted(FILES)


def test_a_disk_that_fills_up_before_a_run_goes_on_changes_nothing(
    command, tmp_path, trained, monkeypatch
):
    def fail(*_, **__):
        raise FULL

    shutil.copytree(trained[0], tmp_path / "run")
    monkeypatch.setattr(run_folder.shutil, "copyfile", fail)
    code, _, complaint = command("train", "--resume", "run", "--epochs", "4")
    assert (code, "No space left on device" in complaint) == (ExitCode.FILES, True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
