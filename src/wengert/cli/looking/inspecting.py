"""wengert inspect: what lies in the folder of a run, as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wengert.cli.running.run_folder import FILES, RecordedRun, read_run
from wengert.nn.summary import summary


def inspected(path: Path) -> str:
    return "\n".join(_lines(read_run(path)))


def _lines(run: RecordedRun) -> Iterator[str]:
    facts, target = run.model.facts, run.model.preparation.target
    yield f"run         {run.path}"
    yield f"data        {run.settings.data}, {len(run.model.preparation.features)} columns"
    classes = f", {len(target.classes)} classes" if target.classes else ""
    yield f"task        {target.task} of {target.name!r}{classes}"
    state = "interrupted" if facts["interrupted"] else "finished"
    yield f"epochs      {len(run.rows)} of {run.settings.epochs}, {state}"
    yield f"best        epoch {facts['best_epoch'] + 1}: {measured(run)}"
    yield f"seconds     {run.rows[-1]['seconds']:.3g}"
    yield f"fingerprint {facts['fingerprint']}"
    yield ""
    yield "settings"
    for name, value in run.settings.as_dict().items():
        if value is not None and value != ():
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            yield f"  {name:<13} {shown}"
    yield ""
    yield summary(run.model.weights)
    yield ""
    yield "files"
    for name in FILES:
        file = run.path / name
        yield f"  {name:<18} {f'{file.stat().st_size:,} bytes' if file.exists() else 'missing'}"


def measured(run: RecordedRun) -> str:
    """What the best epoch measured."""
    best = run.best
    names = [name for name in best if name not in ("epoch", "seconds", "learning_rate")]
    return ", ".join(f"{name} {best[name]:.5g}" for name in names if best[name] is not None)
