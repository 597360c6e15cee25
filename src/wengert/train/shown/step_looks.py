"""StepLooks: the ways to look into a training step, none of which changes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from wengert.runtime.executable import Executable
from wengert.runtime.profile import Profile
from wengert.train.batch import FunctionParameters
from wengert.train.engine import Engine
from wengert.train.step_check import Check, check_step


class StepLooks:
    """Whether a step is right, what becomes of it, and where its time goes."""

    _engine: Engine
    _parameters: FunctionParameters

    def check(self, *batch: Any, **named: Any) -> Check:
        """Compare the step op by op, compiled, and with differences of the loss; nothing changes.
        Raises AssertionError where they disagree.
        """
        batch = self._parameters.by_place("TrainStep.check", batch, named)
        self._engine.look()
        return self._engine.guard.read(partial(check_step, self._engine, batch))

    def explain(
        self,
        *batch: Any,
        ir: bool = False,
        assembly: bool = False,
        html: bool = False,
        **named: Any,
    ) -> str:
        """What becomes of the step, called with such a batch: the graph after each pass, the
        kernels, and the arena; with `ir` and `assembly` the code, too. `html` makes it a page.
        """
        executable, _ = self._program("TrainStep.explain", batch, named)
        return executable.explain(ir=ir, assembly=assembly, html=html)

    def profile(self, *batch: Any, **named: Any) -> Profile:
        """Where the time of a step with this batch goes, kernel by kernel; nothing changes."""
        executable, arguments = self._program("TrainStep.profile", batch, named)
        return self._engine.guard.read(lambda: executable.profile(*arguments))

    def _program(
        self, by: str, batch: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[Executable, tuple[Any, ...]]:
        """The program of the updates for a batch, and what it is called with."""
        batch = self._parameters.by_place(by, batch, named)
        return self._engine.guard.read(partial(self._engine.program_for, batch))
