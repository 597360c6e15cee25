"""The same bits on 1, 2, 3, 4 and 8 ranks, each with 1 and with 2 threads, and from a checkpoint of
4 ranks that 2 go on with.

    cd tests && python -m fuzz.rank_matrix [STEPS]

Four programs take 100 steps, or as many as are said: a network with Adam and clipping, a recurrent
cell whose state is carried, BatchNorm, and dropout. What one process computes is the oracle. Layers
are so wide that threads share kernels, micro-batches have 52 or 53 rows, and each call is given
other rows. Needs the extra `mpi`; any number of cores will do.
"""

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import wengert as wg
from wengert.parallel.launching import find_starter, launch

sys.path.insert(0, str(Path(__file__).parents[1]))
from parallel import ranked_programs

COUNTS, THREADS = (1, 2, 3, 4, 8), (1, 2)
SAVING, RESUMING = 4, 2  # ranks
ROWS, BATCHES, WIDTH = 420, 5, 256
GRAIN = "1"  # nanoseconds of work from which on kernels are split: all of them
RANK = "--rank"


def made(name, make):
    """A step of one of the programs, and its ranks."""
    if name == "gru":
        ranks = make(state_rows="h")
        return ranked_programs.gru_step(ranks, WIDTH, ROWS), ranks
    ranks = make()
    return getattr(ranked_programs, f"{name}_step")(ranks, WIDTH), ranks


PROGRAMS = ("mlp", "gru", "batch_norm", "dropout")


def trained(name, make, begin, end, folder=None):
    """The step after the calls from `begin` to `end`; it goes on from a file where it does not
    begin with the first, and is saved to the same where a folder is given.
    """
    step, ranks = made(name, make)
    path = None if folder is None else Path(folder) / f"{name}.safetensors"
    if begin:
        step.load(path)
    x, y = ranked_programs.data(ROWS * BATCHES)
    for call in range(begin, end):
        rows = slice(call % BATCHES * ROWS, (call % BATCHES + 1) * ROWS)
        step(*wg.parallel.shard(ranks, x[rows], y[rows]))
    if path is not None and not begin:
        step.save(path)
    return step


def be_a_rank(begin, end, folder=None):
    """Take the steps of all programs, and print where they end."""
    for name in PROGRAMS:
        step = trained(name, wg.parallel.mpi, int(begin), int(end), folder)
        rank = step._engine.ranked.ranks.rank
        found = {"rank": rank, "program": name, "fingerprint": step.fingerprint()}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


def found_on(count, threads, *arguments):
    """The fingerprints of each program, on all ranks."""
    lines, beside = [], []
    rest = (RANK, *map(str, arguments))
    fine = launch(find_starter(), count, __file__, rest, threads, lines.append, beside.append)
    assert fine, "\n".join(beside)
    told = (re.fullmatch(r"rank \d+ \| (\{.*\})", line) for line in lines)
    told = [json.loads(each[1]) for each in told if each]
    found = {name: [e["fingerprint"] for e in told if e["program"] == name] for name in PROGRAMS}
    assert all(len(each) == count for each in found.values()), lines
    return found


def compare(what, count, threads, expected, *arguments):
    """Refuse other bits than expected, on any rank."""
    began = time.monotonic()
    found = found_on(count, threads, *arguments)
    for name in PROGRAMS:
        assert set(found[name]) == {expected[name]}, f"{what}: other bits of {name}"
    print(f"{what}: same bits, {time.monotonic() - began:.0f} s", flush=True)


def main(steps=100):
    """All of it."""
    steps = int(steps)
    os.environ["WENGERT_GRAIN"] = GRAIN
    expected = {
        name: trained(name, wg.parallel.one_process, 0, steps).fingerprint() for name in PROGRAMS
    }
    for threads in THREADS:
        for count in COUNTS:
            compare(f"{count} ranks, {threads} threads", count, threads, expected, 0, steps)
    with tempfile.TemporaryDirectory() as folder:
        half = steps // 2
        found_on(SAVING, 1, 0, half, folder)
        what = f"saved on {SAVING} ranks after {half} steps, and {RESUMING} ranks go on"
        compare(what, RESUMING, 1, expected, half, steps, folder)
    print(f"{len(PROGRAMS)} programs, {steps} steps: the same bits everywhere")


if __name__ == "__main__":
    be_a_rank(*sys.argv[2:]) if sys.argv[1:2] == [RANK] else main(*sys.argv[1:])
