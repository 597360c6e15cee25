"""Layer settings: numbers of our own layers, as the rate of a Dropout, which their calls read."""

from __future__ import annotations

from typing import Any

from wengert.core import tree
from wengert.core.words.foreign_names.missing import Explained

_PACKAGE = "wengert."


def layer_settings(model: Any) -> set[str]:
    """The paths of numbers and texts in a model that are settings of layers of ours. A field that a
    subclass of the user's adds is read by code of the user's, if at all.
    """
    owners = tree.owners_of_plain_values(model)
    return {path for path, x in owners.items() if _is_setting(x, path.rpartition(".")[2])}


def _is_setting(owner: Any, name: str) -> bool:
    ours = [each for each in type(owner).__mro__ if each.__module__.startswith(_PACKAGE)]
    fields = (getattr(each, "__dataclass_fields__", ()) for each in ours)
    return isinstance(owner, Explained) and any(name in each for each in fields)
