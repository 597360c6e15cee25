"""What arrays, kernels and bodies are called in the text of a program."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from wengert.codegen.kernel import COPY, Program
from wengert.codegen.views import Root
from wengert.core.text.show import WIDTH
from wengert.core.types import ArrayType

FOLLOWING = 4  # columns that the rest of a long line is indented by


def root_text(program: Program, root: Root) -> str:
    """What an array in memory is called: ``%3``, ``%3.1`` or ``copy(%3)``."""
    number, output = root
    if output == COPY:
        return f"copy(%{number})"
    return (
        f"%{number}" if isinstance(program.node(number).type, ArrayType) else f"%{number}.{output}"
    )


def named_programs(program: Program, prefix: str = "k") -> Iterator[tuple[str, Program]]:
    """A program and the bodies inside it, each with what the names of its kernels begin with."""
    yield prefix, program
    for k, kernel in enumerate(program.kernels):
        for body_prefix, body in zip(body_prefixes(f"{prefix}{k}"), kernel.bodies, strict=False):
            yield from named_programs(body, body_prefix)


def body_prefixes(name: str) -> tuple[str, ...]:
    """What the names of the kernels in each body of a kernel begin with."""
    return tuple(f"{name}_{letter}" for letter in "abc")


def wrapped(text: str, indent: str) -> list[str]:
    """A line, or several where it is long; the sum that a size may be stays together."""
    joined = text.replace(" + ", "\0+\0").replace(" - ", "\0-\0").replace(": ", ":\0")
    lines = textwrap.wrap(
        joined,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + " " * FOLLOWING,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]
