"""Random programs know Wengert's own ops only; what they reached is printed behind the results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from wengert.core.table import FUNCTIONS, UFUNC_METHODS, UFUNCS, op

TABLES: tuple[dict[Any, Any], ...] = (op._ops, UFUNCS, UFUNC_METHODS, FUNCTIONS)
OURS = [dict(table) for table in TABLES]  # before any test has planted ops of its own


def _fill(contents: list[dict[Any, Any]]) -> None:
    for table, content in zip(TABLES, contents, strict=True):
        table.clear()
        table.update(content)


@pytest.fixture(autouse=True)
def only_our_ops() -> Iterator[None]:
    found = [dict(table) for table in TABLES]
    _fill(OURS)
    yield
    _fill(found)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "user_properties", ()):
                if name == "fuzz":
                    terminalreporter.section("random programs")
                    terminalreporter.line(text)
