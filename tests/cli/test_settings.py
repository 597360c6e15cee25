"""Settings: flags, TOML, what each may be, and what wins."""

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.conftest import SMALL, table_rows, write_table
from wengert.cli import ExitCode, app
from wengert.cli.running.table_network import _make_optimizer, _schedule
from wengert.cli.toml_text import toml_text
from wengert.cli.train_settings import OPTIMIZERS, SCHEDULES, TrainSettings, read_config

REFUSED = {
    "range": (["--lr", "-1"], "--lr: given -1.0; it must be a number above 0"),
    "not finite": (["--lr", "nan"], "--lr: given nan"),
    "name": (["--optimizer", "adm"], "--optimizer: given 'adm'; it must be one of adam, adamw"),
    "guess": (["--activation", "rellu"], "Did you mean relu?"),
    "layers": (["--layers", "a,b"], "--layers: given 'a,b'"),
    "layer of 0": (["--layers", "8,0"], "--layers: given 0; it must be a list of sizes"),
    "epochs": (["--epochs", "0"], "--epochs: given 0; it must be a whole number, at least 1"),
    "validation": (["--validation", "1"], "--validation: given 1.0; it must be above 0"),
    "missing": (["--missing", "mean"], "--missing: given 'mean'; it must be one of refuse"),
    "momentum": (["--momentum", "0.9"], "with --optimizer adam, which has none"),
    "dropout": (
        ["--layers", "none", "--dropout", "0.5"],
        "--dropout: given 0.5 with --layers none",
    ),
    "activation": (["--layers", "none", "--activation", "tanh"], "which has no hidden units"),
    "warmup": (["--warmup", "50"], "--warmup: given 50 epochs of 3"),
    "delimiter": (["--delimiter", "ab"], "--delimiter: given 'ab'; it must be one character"),
}


@pytest.mark.parametrize(("flags", "message"), REFUSED.values(), ids=REFUSED)
def test_a_flag_is_refused(command, tmp_path, flags, message):
    write_table(tmp_path / "shop.csv", table_rows())
    given = ("train", "shop.csv", "--target", "bought", *SMALL, *flags)
    code, _, complaint = command(*given)
    assert code == ExitCode.USAGE
    assert message in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["shop.csv"]


CONFIGS = {
    "unknown": ("lr = 1.0\nbatchsize = 3\n", "run.toml:2: 'batchsize' is no setting. Did you"),
    "elsewhere": ("learning_rate = 1.0\n", "Did you mean lr?"),
    "nothing alike": ("zzz = 1\n", "The settings are data, target"),
    "kind": ('\nlr = "fast"\n', "run.toml:2: lr: given 'fast'; it must be a number above 0"),
    "a bool": ("epochs = true\n", "epochs: given True; it must be a whole number"),
    "a list": ("layers = 8\n", "layers: given 8; it must be a list of sizes"),
    "no TOML": ("lr = \n", "run.toml: is not TOML"),
    "a table": ("[lr]\nx = 1\n", "lr is a table; settings stand at the top"),
}


@pytest.mark.parametrize(("text", "message"), CONFIGS.values(), ids=CONFIGS)
def test_a_file_of_settings_is_refused(command, tmp_path, text, message):
    (tmp_path / "run.toml").write_text(text)
    code, _, complaint = command("train", "wine", "--config", "run.toml")
    assert code == ExitCode.USAGE
    assert message in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_files_of_settings_that_cannot_be_read(command, tmp_path):
    code, _, complaint = command("train", "--config", "nowhere.toml")
    assert (code, "there is no file nowhere.toml" in complaint) == (ExitCode.USAGE, True)
    code, _, complaint = command("train", "--config", tmp_path)
    assert (code, "cannot be read" in complaint) == (ExitCode.USAGE, True)
    code, _, complaint = command("train")
    assert (code, "no data was given" in complaint) == (ExitCode.USAGE, True)


def test_flags_win_and_a_run_repeats_from_its_settings(command, tmp_path):
    write_table(tmp_path / "shop.csv", table_rows())
    (tmp_path / "run.toml").write_text(
        'data = "shop.csv"\ntarget = "bought"\nlayers = [4]\nepochs = 50\nbatch-size = 16\n'
    )
    code, first, _ = command("train", "--config", "run.toml", "--epochs", "2", "--out", "one")
    assert code == 0
    assert "→ 4 →" in first
    kept = read_config(tmp_path / "one" / "config.toml")
    assert (kept["epochs"], kept["layers"], kept["lr"]) == (2, (4,), TrainSettings().lr)
    _, second, _ = command("train", "--config", "one/config.toml", "--out", "two")
    prints = [line for text in (first, second) for line in text.splitlines() if "print:" in line]
    assert len(prints) == 2
    assert prints[0] == prints[1]


@pytest.mark.parametrize("typed", ["none", "None", "0", ""])
def test_no_layers_are_a_linear_model(command, tmp_path, typed):
    write_table(tmp_path / "shop.csv", table_rows())
    (tmp_path / "run.toml").write_text("layers = [4]\n")
    given = ("train", "shop.csv", "--target", "bought", *SMALL[2:], "--layers", typed)
    for options in [(), ("--config", "run.toml")]:
        code, printed, _ = command(*given, *options, "--out", f"run{len(options)}")
        assert (code, "model: 5 → 2," in printed) == (0, True), printed
        assert read_config(tmp_path / f"run{len(options)}" / "config.toml")["layers"] == ()
    code, _, complaint = command("train", "--resume", "run0", "--epochs", "4", "--layers", typed)
    assert code == 0, complaint


FLAGS = {
    "categorical": (["--categorical", "a", "--categorical", "b"], ("a", "b")),
    "ignore": (["--ignore", "a"], ("a",)),
    "keep": (["--keep", "a"], ("a",)),
    "header": (["--no-header"], False),
    "layers": (["--layers", "8,4"], (8, 4)),
    "dropout": (["--dropout", "0"], 0.0),
    "patience": (["--patience", "0"], 0),
}


@pytest.mark.parametrize("name", [None, *FLAGS])
def test_only_flags_that_are_given_are_settings(command, monkeypatch, name):
    """Of flags that may repeat, typer gives an empty list or tuple where there is none."""
    found = []
    monkeypatch.setattr(app, "resumed_settings", lambda _, flags: found.append(flags) or 1 / 0)
    flags, value = FLAGS.get(name, ([], None))
    with pytest.raises(ZeroDivisionError):
        command("train", "--resume", "run", *flags)
    assert found == [{} if name is None else {name: value}]


texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.one_of(texts, st.booleans(), st.integers(-(2**60), 2**60), st.floats(), st.lists(texts))


@given(st.dictionaries(st.text("abcde_", min_size=1), values))
def test_toml_reads_back(found):
    read = tomllib.loads(toml_text(found))
    assert repr(read) == repr(found)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_begin_with_the_rate_and_end_with_less(schedule):
    settings = TrainSettings(schedule=schedule, lr=0.5, epochs=4)
    rate = _schedule(settings, steps=25)
    first, last = (0.5, 0.5) if schedule == "constant" else (rate(0), rate(99))
    if schedule == "onecycle":
        first = max(rate(index) for index in range(100))
    assert first == pytest.approx(0.5)
    assert last == 0.5 if schedule == "constant" else last < 0.02
    warm = _schedule(replace(settings, warmup=1.0), steps=25)
    assert warm(0) < warm(24)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_have_their_rate_and_decay(name):
    found = _make_optimizer(TrainSettings(optimizer=name, lr=0.5, weight_decay=0.25), 10)
    assert type(found).__name__ == OPTIMIZERS[name]
    assert "0.5" in repr(found)
    assert "weight_decay=0.25" in repr(found)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--learning-rate", "--lr"),
        ("--learning_rate", "--lr"),
        ("--label", "--target"),
        ("--y", "--target"),
    ],
)
def test_a_flag_of_other_programs_is_translated(command, typed, meant):
    code, _, complaint = command("train", "digits", typed, "1")
    assert code == ExitCode.USAGE
    assert f"No such option: {typed} (Possible options: {meant})" in complaint


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("digits digit", "(digit). The column to learn is an option: --target NAME"),
        ("tr.csv --target y --layers 32 32", "(32). Sizes of layers are one word, with commas: "),
        ("tr.csv --target y --layers 32 32", "--layers 32,32"),
        ("--layers 64, 32 16 tr.csv", "--layers 64,32,16"),
        ("tr.csv te.csv --target y", "(te.csv). One file or set is trained on; join files"),
        ("tr.csv te.csv --target y", "wengert predict RUN te.csv predicts its rows"),
        ("--ignore a tr.csv te.csv --target y", "(te.csv). One file or set is trained on"),
        ("tr.csv --target y --ignore a b", "(b). --ignore takes one column, and may repeat: "),
        ("tr.csv --target y --ignore a b", "--ignore a --ignore b"),
        ("tr.csv --target median price", "(price). An option takes one word; one with spaces"),
        ("tr.csv --target=y z", "(z). An option takes one word; one with spaces"),
        ("tr.csv y --layers 32", "(y). The column to learn is an option: --target NAME"),
    ],
)
def test_words_that_are_too_many_are_told_what_is_meant(command, words, told):
    code, _, complaint = command("train", *words.split())
    assert code == ExitCode.USAGE
    assert told in " ".join(complaint.replace("│", " ").split())  # in a frame, of several lines
