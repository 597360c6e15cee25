"""Ranks: the same bits on any number of them, agreement, and what happens when one is gone. Real
MPI processes, few of them: `tests/fuzz/rank_matrix.py` and `killed_ranks.py` are the long forms.
"""

import contextlib
import json
import os
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.cli import launching_ranks, main
from wengert.parallel.launching import find_starter, launch
from wengert.train.ranked.micro_batches import MicroBatches, divided, folded, subtrees

from . import disagreeing, ranked_programs

HERE = Path(__file__).parent
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or find_starter() is None,
    reason="mpi4py or an MPI library is not installed: pip install 'wengert[mpi]'",
)


def launched(count, *arguments, folder="."):
    """Lines of all ranks, what stands beside them, and whether all went well."""
    lines, beside = [], []
    with contextlib.chdir(folder):
        script, *rest = arguments
        fine = launch(find_starter(), count, script, rest, 1, lines.append, beside.append)
    return lines, "\n".join(beside), fine


def told(lines):
    """What ranks printed as JSON, behind their prefixes."""
    found = (re.fullmatch(r"rank (\d+) \| (\{.*\})", line) for line in lines)
    return [json.loads(each[2]) for each in found if each]


@pytest.fixture(scope="module")
def alone():
    """The results of one process, by program."""
    found = {}
    for program in ranked_programs.SAME:
        step, numbers = program(wg.parallel.one_process)
        found[program.__name__] = step.fingerprint(), numbers
    return found


# The tree.


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_parts_of_ranks_are_the_tree_whatever_their_number(count):
    whole = (0, count)
    names = folded(whole, lambda s: str(s[0]) if s[1] - s[0] == 1 else None, "({}+{})".format)
    for ranks in range(1, count + 3):
        known = {}
        for rank in range(ranks):
            own = MicroBatches(count, count).of_rank(rank, ranks)
            for span in subtrees(whole, own):
                known[span] = folded(
                    span, lambda s: str(s[0]) if s[1] - s[0] == 1 else None, "({}+{})".format
                )
        assert folded(whole, known.get, "({}+{})".format) == names


@pytest.mark.parametrize(("rows", "most"), [(1, 8), (7, 8), (8, 8), (20, 8), (21, 3)])
def test_every_row_is_in_one_micro_batch(rows, most):
    batches = divided(rows, most)
    sizes = [batches.size(i) for i in range(batches.count)]
    assert sum(sizes) == rows
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


# One process.


def without_ranks(program):
    """The numbers of a program whose step has no ranks."""
    real = wg.TrainStep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ranked_programs.wg, "TrainStep", lambda *args, ranks, **named: real(*args, **named)
        )
        return program(wg.parallel.one_process)[1]


@pytest.mark.parametrize("name", ["mlp", "large", "gru", "batch_norm"])
def test_micro_batches_give_the_losses_of_the_whole_batch(name, alone):
    expected = without_ranks(getattr(ranked_programs, name))
    np.testing.assert_allclose(alone[name][1], expected, rtol=2e-5)


def test_a_step_op_by_op_is_close(alone):
    ranks = wg.parallel.one_process()
    step = ranked_programs.mlp_step(ranks, compiled=False)
    losses = [step(*ranked_programs.data()) for _ in range(ranked_programs.STEPS)]
    np.testing.assert_allclose(losses, alone["mlp"][1][: len(losses)], rtol=2e-5)


def test_a_sum_of_rows_is_added_and_not_averaged():
    x = np.arange(10.0)[:, None]

    def loss(w, x):
        return wg.sum((x - w) ** 2)

    ranks = wg.parallel.one_process(micro_batches=4, reduction="sum")
    shared = wg.TrainStep(loss, np.ones(1), wg.optim.SGD(1e-3), ranks=ranks)
    plain = wg.TrainStep(loss, np.ones(1), wg.optim.SGD(1e-3))
    assert shared(x) == pytest.approx(plain(x), rel=1e-14)
    np.testing.assert_allclose(shared.model, plain.model, rtol=1e-14)


def test_a_state_that_is_the_same_everywhere_keeps_its_bits():
    """A mean over micro-batches of different sizes would round."""
    value = np.float32(0.1)

    def loss(w, state, x):
        return wg.mean((x - w) ** 2), state * 1

    ranks = wg.parallel.one_process(micro_batches=7)
    step = wg.TrainStep(loss, np.ones(1), wg.optim.SGD(0.1), state=value, ranks=ranks)
    for _ in range(3):
        step(np.arange(11.0)[:, None])
    assert step.state == value


def test_shards_of_files_are_memory_mapped(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12.0))
    found = wg.parallel.shard(wg.parallel.one_process(), tmp_path / "x.npy")
    assert isinstance(found, np.memmap)
    assert np.array_equal(found, np.arange(12.0))


# Several processes.


@pytest.fixture(scope="module")
def of_three(tmp_path_factory):
    """What three ranks told, and the folder that they wrote to."""
    folder = tmp_path_factory.mktemp("ranks")
    names = [program.__name__ for program in ranked_programs.SAME]
    script = str(HERE / "ranked_programs.py")
    lines, beside, fine = launched(3, script, *names, "saving", folder=folder)
    assert fine, beside
    return told(lines), folder


@needs_mpi
@pytest.mark.parametrize("program", ranked_programs.SAME, ids=lambda program: program.__name__)
def test_three_ranks_have_the_bits_of_one(program, alone, of_three):
    name = program.__name__
    found = [each for each in of_three[0] if each["program"] == name]
    assert [(each["fingerprint"], each["numbers"]) for each in found] == [alone[name]] * 3


@needs_mpi
def test_a_checkpoint_of_three_ranks_goes_on_in_one(of_three):
    resumed, _ = ranked_programs.resuming(wg.parallel.one_process, of_three[1])
    unbroken, _ = ranked_programs.unbroken(wg.parallel.one_process)
    assert resumed.fingerprint() == unbroken.fingerprint()


SAID = {
    "optimizer": "the optimizer on rank 1 differs",
    "parameters": "the state of the step .* on rank 1 differs",
    "setting": "clip_norm on rank 1 differs .*2.0, and 1.0 elsewhere",
    "one_assigned": "the state of the step .* on rank 1 differs",
    "rows": "rank 0 was given 8 of 20 rows; its part is 10",
    "form": "rank 1 was given a batch of another form",
    "data": "the data on rank 1 differs.*Give all of them the whole data",
    "rate_later": "rank 1 would update with another learning rate",
    "version": r"TrainStep: the version of numpy on rank 1 differs .*\(0.0.9, and .*Install one",
    "version_at_once": r"parallel.mpi: the version of wengert on rank 1 differs .*\(0.0.9, and ",
    "version_of_the_compiler": "parallel.mpi: the version of llvmlite on rank 1 differs",
    "same_rows": "given the same rows on all 2 ranks.*step\\(\\*wg.parallel.shard",
    "program": "the program for micro-batches of 2 rows on rank 1 differs",
}


@needs_mpi
def test_ranks_that_differ_are_found_and_named_by_all():
    lines, _, fine = launched(2, str(HERE / "disagreeing.py"))
    found = told(lines)
    assert {(each["rank"], each["case"]) for each in found} == {
        (rank, case.__name__) for rank in (0, 1) for case in disagreeing.CASES
    }
    for each in found:
        assert re.search(SAID[each["case"]], each["text"]), each
    assert not fine  # the last case ended them


KILLED = """
import os, sys
import numpy as np
import wengert as wg

ranks = wg.parallel.mpi()
step = wg.TrainStep(lambda w, x: wg.mean((x - w) ** 2), np.ones(1), wg.optim.SGD(0.1), ranks=ranks)
for k in range(10**9):
    step(wg.parallel.shard(ranks, np.ones((8, 1))))
    if k == 50 and ranks.rank == 1:
        os.kill(os.getpid(), 9)
"""


@needs_mpi
def test_a_killed_rank_ends_the_others_with_an_error_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    began = time.monotonic()
    _, beside, fine = launched(2, os.fspath(script))
    assert not fine
    assert re.search(r"rank 0 \| .*RankError: .*rank 1 of 2 is gone \(its process died\)", beside)
    assert "wengert launch: rank 1 died" in beside
    assert "Traceback" in beside
    assert "[0]" not in beside
    assert time.monotonic() - began < 60


LAUNCHES = {
    "no ranks": (["-n", "0", __file__], 2, "-n 0 was given"),
    "no threads": (["-n", "2", "--threads", "0", __file__], 2, "--threads 0 was given"),
    "no file": (["-n", "2", "missing.py"], 2, "there is no file missing.py"),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_launch_refuses_what_cannot_be(name, capsys):
    arguments, code, text = LAUNCHES[name]
    assert main(["launch", *arguments]) == code
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["mpi4py", "mpiexec"])
def test_launch_without_an_engine_says_what_to_install(missing, capsys, monkeypatch):
    monkeypatch.setattr(launching_ranks, "find_spec", lambda name: None if missing == name else 1)
    monkeypatch.setattr(launching_ranks, "find_starter", lambda: None)
    assert main(["launch", "-n", "2", __file__]) == 6
    assert "pip install 'wengert[mpi]'" in capsys.readouterr().err


MPI_REFUSALS = {
    "exchange": ({"exchange": "ring"}, ValueError, "it is 'tree'"),
    "patience": ({"patience": 0}, ValueError, "seconds above 0"),
}


@pytest.mark.parametrize("name", MPI_REFUSALS)
def test_options_of_mpi_are_checked(name):
    options, kind, text = MPI_REFUSALS[name]
    with pytest.raises(kind, match=text):
        wg.parallel.mpi(**options)


def test_mpi_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'wengert[mpi]'")):
        wg.parallel.mpi()


# What the loss reads from outside.

ROWS = np.random.default_rng(3).standard_normal((8, 3))


def made_with(loss):
    ranks = wg.parallel.one_process()
    return wg.TrainStep(loss, np.ones(3), wg.optim.SGD(0.0), ranks=ranks)


@pytest.mark.parametrize("exchanges", [False, True])
def test_what_the_loss_reads_from_outside_is_what_is_there_now(exchanges):
    scale, offset = 1.0, np.zeros(3)

    def loss(w, x):
        found = x @ (w + offset)
        if exchanges:
            found = found - wg.parallel.batch_sum(wg.sum(found))
        return scale * wg.mean(found**2)

    step = made_with(loss)
    before = step(ROWS)
    scale = 10.0
    np.testing.assert_allclose(step(ROWS), 10 * before, rtol=1e-12)
    offset[1] = 5.0
    with pytest.raises(wg.errors.TraceError, match="array 'offset' was changed"):
        step.fingerprint()
    with pytest.raises(wg.errors.TraceError, match="array 'offset' was changed"):
        step(ROWS)


def test_sums_over_the_batch_may_begin_later():
    exchanges = False

    def loss(w, x):
        found = x @ w
        if exchanges:
            found = found - wg.parallel.batch_sum(wg.sum(found))
        return wg.mean(found**2)

    step = made_with(loss)
    step(ROWS)
    exchanges = True
    np.testing.assert_allclose(step(ROWS), made_with(loss)(ROWS), rtol=1e-12)


def test_a_loss_that_pairs_rows_is_told_of_with_ranks_too():
    step = made_with(lambda w, x, y: wg.mean((x @ w - y) ** 2))
    with pytest.warns(wg.errors.PairedRowsWarning, match="given shapes"):
        step(ROWS, ROWS[:, :1])
