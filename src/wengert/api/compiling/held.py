"""What trees hold beside their arrays, which a function that receives them may read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from wengert.core import tree
from wengert.runtime.signature import Static


def held(x: Any) -> Iterator[Any]:
    """What in arguments is no array and no tree: objects whose attributes a function may read, the
    classes of dataclasses, and what these hold beside their fields.
    """
    if isinstance(x, Static):
        yield x.value
    elif isinstance(x, dict):
        for each in x.values():
            yield from held(each)
    elif isinstance(x, list | tuple) or type(x) is deque:
        if type(x) not in (list, tuple, deque):  # a named tuple may have methods
            yield type(x)
        for each in x:
            yield from held(each)
    elif is_dataclass(x) and not isinstance(x, type):
        yield type(x)
        names = [field.name for field in fields(x)]
        for name in names:
            yield from held(getattr(x, name, None))
        for name, each in getattr(x, "__dict__", {}).items():
            if name not in names:
                yield each
    elif not tree.is_leaf(x):
        yield x
