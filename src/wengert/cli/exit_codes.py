"""What the commands end with: exit codes, and the error that carries one."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The number a command ends with. `docs/cli.md` has the same table."""

    DONE = 0
    FAULT = 1  # of Wengert itself: with a traceback
    USAGE = 2  # flags, or a file of settings
    DATA = 3  # that cannot be read, learned from or predicted for
    FILES = 4  # a run that cannot be read or written
    NONFINITE = 5  # training came to numbers that are not finite
    PACKAGE = 6  # a package that is not installed
    CHECK = 7  # a check of the machine or of the bits failed
    INTERRUPTED = 130  # Ctrl-C; what was learned until then is saved


class CommandError(Exception):
    """A command cannot go on. It is told in one paragraph, without a traceback."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(message)
        self.code = code


class UsageFault(CommandError):
    """A flag or a setting that is not valid."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.USAGE)


class DataFault(CommandError):
    """Data that cannot be read, or learned from."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.DATA)


class RunFault(CommandError):
    """A run that cannot be read or written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.FILES)


class MissingPackage(CommandError):
    """A package that a command needs and that is not installed."""

    def __init__(self, package: str, purpose: str, install: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package}, which is not installed. Run: "
            f"pip install {install}",
            ExitCode.PACKAGE,
        )
