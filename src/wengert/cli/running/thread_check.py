"""Whether training gives the same bits on one thread and on several."""

from __future__ import annotations

from wengert.cli.datasets.learning_task import LearningData
from wengert.cli.exit_codes import CommandError, ExitCode
from wengert.cli.running.table_network import make_step
from wengert.cli.train_settings import TrainSettings
from wengert.runtime.workers import default_threads

_BATCHES = 20  # that are trained on


def check_threads(data: LearningData, settings: TrainSettings) -> str:
    """Train a little on one thread and on several, and compare the results bit by bit. Returns
    a line about it; raises where they differ.
    """
    several = max(settings.threads or default_threads(), 2)
    rows = min(len(data.x), _BATCHES * settings.batch_size)
    size = min(settings.batch_size, rows)
    prints = {}
    for threads in (1, several):
        step = make_step(data.preparation, settings, len(data.x), threads)
        step.run(data.x[:rows], data.y[:rows], batch_size=size, shuffle_seed=settings.seed)
        prints[threads] = step.fingerprint()
    if prints[1] != prints[several]:
        raise CommandError(
            f"--deterministic-check: after {-(-rows // size)} steps the fingerprint is {prints[1]} "
            f"on 1 thread and {prints[several]} on {several}; they must be equal. Please report "
            "this with the output of wengert doctor.",
            ExitCode.CHECK,
        )
    return f"same bits on 1 and {several} threads after {-(-rows // size)} steps: {prints[1][:16]}…"
