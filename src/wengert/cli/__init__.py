"""The command line: `wengert train`, `predict`, `inspect`, `compare`, `doctor` and `launch`.

It needs typer and rich, which the extra `cli` installs. Nothing else in Wengert imports them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from wengert.cli.exit_codes import ExitCode

_MISSING = [name for name in ("typer", "rich") if find_spec(name) is None]
if not _MISSING:
    from wengert.cli.app import run_app

__all__ = ["ExitCode", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command with these arguments, or those of the process, and return its exit code."""
    if _MISSING:
        print(
            f"wengert: the command line needs packages that are not installed: "
            f"{' and '.join(_MISSING)}. Run: pip install 'wengert[cli]'",
            file=sys.stderr,
        )
        return ExitCode.PACKAGE
    return run_app(arguments)
