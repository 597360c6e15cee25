"""Every case by name, and what came of it when it ran."""

from __future__ import annotations

import os
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

import wengert

FOLDER = Path(__file__).parent
SOURCE = Path(wengert.__file__).parent
WIDTH = 100
# <op>: <what was given>; <what is needed>. <what to do>. (<file>:<line>)
FORM = re.compile(r"[\w.]+: [^;]+; .+\. .+[.?]( \(<file>:<line>\))?")
_PLACE = re.compile(r"\(([^()]+):(\d+)\)$")


def _joined(*parts: dict[str, Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    for part in parts:
        assert not found.keys() & part.keys(), "two cases of one name"
        found |= part
    return {name: found[name] for name in sorted(found, key=str.casefold)}


MODULES = [import_module(f"messages.{path.stem}") for path in sorted(FOLDER.glob("on_*.py"))]
CASES = _joined(*(module.CASES for module in MODULES))


@dataclass(frozen=True)
class Outcome:
    """The error that a case raised."""

    name: str
    error: BaseException

    @property
    def text(self) -> str:
        """The message, with the user's place as <file>:<line> and no digits that may vary."""
        text = _PLACE.sub("(<file>:<line>)", message(self.error))
        return re.sub(r"\d+\.\d{8,}", "<number>", text)

    @property
    def place(self) -> tuple[str, int] | None:
        """The file and line of the user that the message ends with."""
        found = _PLACE.search(message(self.error))
        return (found[1], int(found[2])) if found else None

    @property
    def entry(self) -> str:
        """The case as it stands on the page: its name, and below it the error."""
        lines = [f"{type(self.error).__name__}: {self.text}"]
        if not FORM.fullmatch(self.text) and self.error.__cause__ is not None:
            cause = Outcome(self.name, self.error.__cause__)
            lines.append(f"caused by {type(cause.error).__name__}: {cause.text}")
        return "\n".join([self.name, *map(_wrapped, lines)])

    def lines(self) -> Iterator[tuple[Path, int]]:
        """Where in the source of Wengert this error and those behind it passed."""
        for error in _chain(self.error):
            traceback = error.__traceback__
            while traceback is not None:
                file = Path(traceback.tb_frame.f_code.co_filename)
                if SOURCE in file.parents:
                    yield file, traceback.tb_lineno
                traceback = traceback.tb_next


def _wrapped(line: str) -> str:
    indent = "    "
    return textwrap.fill(
        line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def message(error: BaseException) -> str:
    """What an error says; str of a KeyError would quote it."""
    return str(error.args[0]) if isinstance(error, KeyError) else str(error)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    if error is not None:
        yield error
        yield from _chain(error.__context__)


@cache
def outcomes() -> dict[str, Outcome]:
    """What every case raised; a case that raises nothing is a fault of this test."""
    found = {}
    for name, case in CASES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of NumPy, about values that are the point
            try:
                case()
            except Exception as error:
                found[name] = Outcome(name, error)
                continue
        raise AssertionError(f"{name}: raised nothing")
    return found


def written_at(case: Callable[[], Any]) -> tuple[str, set[int]]:
    """The file of a case, and the lines of it and of the functions beside it that it calls."""
    seen: set[CodeType] = set()
    pending: list[CodeType] = [case.__code__]
    while pending:
        code = pending.pop()
        if code in seen:
            continue
        seen.add(code)
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        called = [case.__globals__.get(name) for name in code.co_names]
        pending += [f.__code__ for f in called if getattr(f, "__module__", None) == case.__module__]
    lines = {number for code in seen for _, _, number in code.co_lines() if number is not None}
    return os.path.basename(case.__code__.co_filename), lines
