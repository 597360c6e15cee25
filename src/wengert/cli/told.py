"""How commands speak to users, and how what goes wrong becomes an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from wengert.cli.exit_codes import CommandError, ExitCode
from wengert.errors import CheckpointError


def say(text: str) -> None:
    """A line for the user."""
    put(f"{text}\n")


def put(text: str) -> None:
    """Write to standard output. When whoever reads it has read enough, go on in silence: a training
    is not lost because of `| head`.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for good)


def write_any_letter() -> None:
    """Let standard output and error show a mark for letters that they cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def note(text: str) -> None:
    """A line beside what a command puts out."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def code_of(command: Callable[[], ExitCode | None]) -> int:
    """Run a command; what it refuses is told, and becomes an exit code."""
    try:
        return command() or ExitCode.DONE
    except CommandError as error:
        _tell(error)
        return error.code
    except CheckpointError as error:
        _tell(error)
        return ExitCode.FILES
    except KeyboardInterrupt:
        print("wengert: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED


def _tell(error: Exception) -> None:
    notes = getattr(error, "__notes__", [])
    print("\n".join([f"wengert: {error}", *notes]), file=sys.stderr)
