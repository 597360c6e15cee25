"""Trees that hold Python numbers where arrays are needed, and what to write instead."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from wengert.core import tree


def arrays_instead(x: Any) -> str | None:
    """What to write in the place of a tree without arrays; None where it holds no numbers."""
    if tree.leaves(x) or not tree.leaves(tree.arrays(x)):
        return None
    if isinstance(x, dict):
        floats = ((key, each) for key, each in x.items() if type(each) is float)
        key, each = next(floats, ("mean", 0.0))
        return f"Make arrays of them, as in {{{key!r}: np.array({each!r})}}"
    if is_dataclass(x):
        kind, values = type(x).__name__, {each.name: getattr(x, each.name) for each in fields(x)}
        name = next((name for name, value in values.items() if type(value) is float), None)
        example = "" if name is None else f", as in {kind}({name}=np.array({values[name]!r}))"
        return f"Make arrays of its fields{example}"
    return "Write np.array(x, float)"
