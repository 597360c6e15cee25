"""What messages and files call a function."""

from __future__ import annotations

from typing import Any

NAMELESS = "<lambda>"


def name_of_function(value: Any) -> str:
    """The name of a function, or of the class of an object that can be called."""
    return str(getattr(value, "__name__", type(value).__name__))
