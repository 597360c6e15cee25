"""docs/numerics.md lists every point of convention: the `at` fields of the table, and no others."""

import math
from pathlib import Path

import wengert  # noqa: F401  (fills the table)
from wengert.core.table import op

PAGE = Path(__file__).resolve().parents[1] / "docs" / "numerics.md"
HEADER = "| op | at | value | gradient | why |\n|---|---|---|---|---|\n"
PUBLIC = (each for each in op if each.at and each.space != "hidden")
OPS = sorted(PUBLIC, key=lambda each: each.name)  # those of Wengert: taken before a test adds one


def number(x):
    if isinstance(x, list | tuple):
        return "[" + ", ".join(map(number, x)) + "]"
    return "NaN" if math.isnan(x) else f"{x:.6g}"


def row(each, point, value, gradient, reason):
    name = f"{each.space}.{each.name}".removeprefix(".")
    at, slopes = (", ".join(map(number, numbers)) for numbers in (point, gradient))
    reason = reason.replace("*", r"\*")
    return f"| `{name}` | {at} | {number(value)} | {slopes} | {reason} |\n"


def conventions():
    return HEADER + "".join(row(each, *entry) for each in OPS for entry in each.at)


def test_every_convention_is_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    start = page.index(HEADER)
    found = page[start:].partition("\n\n")[0] + "\n"
    assert found == conventions(), f"the table of {PAGE.name} should be:\n{conventions()}"
