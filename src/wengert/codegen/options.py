"""Options: what a program's code depends on besides its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wengert.codegen.targets.cpu.target import Target


@dataclass(frozen=True)
class Options:
    """`written` says which outputs go to the memory of an input in the end, when nothing has
    failed: behind a boundary they are written there by kernels that run last, else they are
    computed apart and copied. Outputs in `early` are written there at once.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)  # of the first call: what orders are for
    fused: bool = True
    target: Target | None = None  # this machine
    finite: bool = False  # whether outputs are checked to be finite
    threads: int = 1
    grain: int = 0  # nanoseconds of work from which on a kernel is split; 0: none is
    written: Mapping[int, int] = field(default_factory=dict)
    early: frozenset[int] = frozenset()

    @property
    def late(self) -> dict[int, int]:
        """What is written in the end."""
        return {at: source for at, source in self.written.items() if at not in self.early}
