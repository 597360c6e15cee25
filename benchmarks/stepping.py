"""The program inside a training step, to look into: `profile`, `explain`, its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import wengert as wg
    from wengert.runtime.executable import Executable


def executable_of(step: wg.TrainStep, *batch: Any) -> tuple[Executable, tuple[Any, ...]]:
    """The program that a step runs for a batch, and the arguments of its next call."""
    engine = step._engine
    own = engine.own_arguments()
    return engine.programs[True].executable(own, batch), (*own, *batch)
