"""TOML as it is written: one key a line. (Python reads it and does not write it.)"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(values: Mapping[str, Any]) -> str:
    r"""Numbers, bools, texts, and lists of these; None is left out.

    >>> print(toml_text({"lr": 0.001, "layers": [8, 4], "data": 'a "b".csv', "clip": None}), end="")
    lr = 0.001
    layers = [8, 4]
    data = "a \"b\".csv"
    """
    return "".join(
        f"{key} = {_value(value)}\n" for key, value in values.items() if value is not None
    )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(_value(each) for each in value)}]"
