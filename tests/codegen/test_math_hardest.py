"""Elementary functions where their errors are largest, and the page that lists the bounds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.codegen.hard_points import BOUNDS, PAIRS, POINTS
from tests.codegen.hardest import worst
from tests.codegen.ulp import compiled, errors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
TRUE: dict[str, Any] = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "lgamma": mpmath.loggamma,
}


def numbers(text: str) -> list[float]:
    return [float.fromhex(word) for word in text.split()]


def error_at(name: str, dtype: str, *operands: Any) -> float:
    """The largest error of a function at these points."""
    arrays = [np.array(x, dtype) for x in operands]
    method = {"power": "pow"}.get(name, name)
    run = compiled(lambda e, *xs: getattr(e, method)(*xs), *[dtype] * len(arrays))
    function = TRUE.get(name) or getattr(mpmath, name)
    with mpmath.workprec(1200):  # angles lose as many bits as their exponents say
        points = zip(*(map(mpmath.mpf, x.tolist()) for x in arrays), strict=True)
        return float(errors(run(*arrays), [function(*point) for point in points]).max())


CASES = [(name, dtype) for dtype, points in POINTS.items() for name in points]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_errors_at_the_hardest_points(name, dtype):
    bound = BOUNDS[name][dtype == "f8"]
    found = error_at(name, dtype, numbers(POINTS[dtype][name]))
    assert 0.49 < found < bound  # they are hard


@pytest.mark.parametrize("name", PAIRS)
def test_errors_at_the_hardest_pairs(name):
    words = numbers(PAIRS[name])
    assert 0.6 < error_at(name, "f8", words[::2], words[1::2]) < BOUNDS[name][1]


def test_the_page_has_these_bounds():
    """docs/numerics.md promises what is tested, of every function."""
    rows = re.findall(r"^\| (`\w+`.*) \| ([\d.]+) \| ([\d.]+) \|$", PAGE.read_text("utf-8"), re.M)
    listed = {
        name: (float(single), float(double))
        for names, single, double in rows
        for name in re.findall(r"`(\w+)`", names)
    }
    assert listed.items() >= BOUNDS.items()
    assert listed.keys() - BOUNDS.keys() == {"sqrt", "floor", "ceil", "trunc", "round"}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no longer doubles to compare with")
def test_the_search_finds_hard_points():
    """In a hundredth of the time, and so not quite the hardest."""
    found, points = worst(
        "asin", "float64", np.random.default_rng(1), parts=1 << 10, samples=1 << 17
    )
    assert 0.55 < found < BOUNDS["asin"][1]
    assert error_at("asin", "f8", points[:1]) == pytest.approx(found, abs=1e-2)
