"""Prints what the random programs reached, behind the results of the tests."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "user_properties", ()):
                if name == "fuzz":
                    terminalreporter.section("random programs")
                    terminalreporter.line(text)
