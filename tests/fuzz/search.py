"""Program number i, drawn by hypothesis, and a failure of it made small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from .comparing import Mismatch, check
from .program import Program
from .programs import programs
from .reducing import Check, reduce

# Two examples: hypothesis begins with the simplest, which stands for no program here. One run per
# program, because within a run hypothesis varies what it drew before, and most would be alike.
_SETTINGS: dict[str, Any] = {
    "max_examples": 2,
    "deadline": None,
    "database": None,
    "derandomize": False,
    "report_multiple_bugs": False,
    "suppress_health_check": list(HealthCheck),
}
_MAYBE = st.integers(0, 2**32).flatmap(lambda go: programs() if go else st.none())


def visit(number: int, test: Callable[[Program], None], shrink: bool = False) -> None:
    """Call `test` with the program of this number; what it raises is shrunk and raised."""
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)

    @seed(number)
    @settings(phases=phases, **_SETTINGS)
    @given(_MAYBE)
    def run(program: Program | None) -> None:
        if program is not None:
            test(program)

    run()


def examine(number: int, then: Callable[[Program], None], test: Check = check) -> None:
    """Compare the ways to run a program; a mismatch is shrunk by hypothesis, then by us."""

    def both(program: Program) -> None:
        test(program)
        then(program)

    try:
        visit(number, both, shrink=True)
    except Mismatch as found:
        raise reduce(found, test) from None
