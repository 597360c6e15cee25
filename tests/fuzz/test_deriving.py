"""Some dozens of functions with derivatives inside derivatives, against JAX."""

from __future__ import annotations

from collections import Counter

import pytest

import wengert as wg

from . import deriving
from .deriving import NESTED, check, names_in, program

CHUNKS, SIZE = 4, 12


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_nested_derivatives(chunk: int) -> None:
    numbers = range(chunk * SIZE, (chunk + 1) * SIZE)
    told = Counter(check(number, compiled=number % 3 == 0) for number in numbers)
    assert told["right"] >= SIZE - 3, told


def test_every_kind_is_drawn() -> None:
    drawn = Counter(name for number in range(CHUNKS * SIZE) for name in names_in(program(number)))
    assert set(drawn) >= NESTED.keys()


def test_a_wrong_derivative_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = ("grad", ("sin", ("x", 2)), ("x", 0), ("x", 1))
    monkeypatch.setattr(deriving, "program", lambda number: wrong)
    assert check(0, compiled=False) == "right"
    monkeypatch.setattr(deriving.Ours, "grad", lambda self, f, x, v: wg.cos(x))
    with pytest.raises(AssertionError, match="JAX finds"):
        check(0, compiled=False)
