"""Kills random ranks at random moments, again and again, until the training is over.

    cd tests && python -m fuzz.killed_ranks KILLS [SEED]

Each attempt starts two to four ranks, which go on from the last checkpoint. After a kill all ranks
must be gone within ten seconds, and the checkpoint must be whole. In the end the bits must be those
of a run that nobody disturbed. Needs the extra `mpi`.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import wengert as wg

MOST = 10.0  # seconds from a kill to the end of all ranks
EPOCHS, BATCHES = 12, 40

SCRIPT = f"""
import os, sys, time
from pathlib import Path
import numpy as np
import wengert as wg

folder = Path(sys.argv[1])
ranks = wg.parallel.mpi() if sys.argv[2] == "mpi" else wg.parallel.one_process()
rng = np.random.default_rng(0)
x = rng.normal(size=({BATCHES} * 16, 8)).astype(np.float32)
y = np.sin(x.sum(axis=1, keepdims=True))
model = {{"w": rng.normal(size=(8, 64)).astype(np.float32), "v": np.zeros((64, 1), np.float32)}}
loss = lambda m, x, y: wg.mean((wg.tanh(x @ m["w"]) @ m["v"] - y) ** 2)
step = wg.TrainStep(loss, model, wg.optim.Adam(1e-3), clip_norm=1.0, ranks=ranks)
kept = folder / "kept.safetensors"
if kept.exists():
    step.load(kept)
(folder / f"{{ranks.rank}}.rank").write_text(str(os.getpid()))
while step.epoch < {EPOCHS}:
    step.run(x, y, batch_size=16, shuffle_seed=3)
    step.save(kept)
if ranks.rank == 0:
    (folder / "fingerprint").write_text(step.fingerprint())
"""


def attempt(folder, script, count, moment, rng):
    """Start ranks and kill one of them after a while. How long the others lived then; None where
    all was over before.
    """
    for path in folder.glob("*.rank"):
        path.unlink()
    command = [sys.executable, "-m", "wengert.cli", "launch", "-n", str(count)]
    process = subprocess.Popen(
        [*command, str(script), str(folder), "mpi"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(list(folder.glob("*.rank"))) < count and process.poll() is None:
        time.sleep(0.01)
    time.sleep(moment)
    pids = {int(path.stem): int(path.read_text()) for path in folder.glob("*.rank")}
    if process.poll() is not None:
        _, beside = process.communicate()
        assert process.returncode == 0, beside
        return None
    victim = rng.choice(sorted(pids))
    try:
        os.kill(pids[victim], signal.SIGKILL)
    except ProcessLookupError:
        process.communicate()
        return None
    killed = time.monotonic()
    _, beside = process.communicate(timeout=60)
    took = time.monotonic() - killed
    assert f"rank {victim} died" in beside or process.returncode == 0, (took, beside)
    while any(Path(f"/proc/{pid}").exists() for pid in pids.values()):
        assert time.monotonic() - killed < MOST, "ranks are left"
        time.sleep(0.01)
    return took


def main(kills=200, seed=0):
    """Kill so many ranks, in as many trainings as that takes."""
    rng = random.Random(int(seed))
    times = []
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "script.py"
        script.write_text(SCRIPT)
        undisturbed = Path(place) / "undisturbed"
        undisturbed.mkdir()
        subprocess.run([sys.executable, str(script), str(undisturbed), "alone"], check=True)
        expected = (undisturbed / "fingerprint").read_text()
        trainings = 0
        while len(times) < int(kills):
            folder = Path(place) / f"training{trainings}"
            folder.mkdir()
            trainings += 1
            while not (folder / "fingerprint").exists():
                took = attempt(folder, script, rng.randint(2, 4), rng.uniform(0, 1.5), rng)
                if took is not None:
                    times.append(took)
                    assert took < MOST, f"ranks lived on for {took:.1f} s"
                    print(f"kill {len(times)}: all were gone after {took:.2f} s", flush=True)
                if (folder / "kept.safetensors").exists():
                    wg.load(folder / "kept.safetensors")  # raises where it is torn
                if len(times) >= int(kills):
                    subprocess.run([sys.executable, str(script), str(folder), "alone"], check=True)
            assert (folder / "fingerprint").read_text() == expected, "other bits after resuming"
    print(f"{len(times)} kills in {trainings} trainings; the slowest end took {max(times):.2f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
