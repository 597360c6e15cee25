"""Faults: what a checker reports, with a program that repeats the call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from table.calls import Call


class Fault(AssertionError):
    """An op is not what it says."""


@contextmanager
def reporting(call: Call, what: str) -> Iterator[None]:
    """Report whatever goes wrong inside as a Fault that shows the call."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Exception as error:
        told = f"{type(error).__name__}: " * (type(error) is not AssertionError) + str(error)
        raise Fault(f"{call.op.name}: {what}: {told}\n\n{call.program()}") from error


def checker(check: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(check)
    def run(call: Call, *args: Any) -> None:
        with reporting(call, check.__name__):
            check(call, *args)

    return run


def float_outputs(call: Call) -> list[Any]:
    """The outputs that can be differentiated; none where no operand can."""
    with reporting(call, "calling"):
        return call.function()(*call.primals) if call.floats else []
