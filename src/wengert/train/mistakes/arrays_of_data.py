"""The arrays of a batch that are data: no weights of a network that it has, too, such as an old
policy or a target, whose biases may well be 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.optim.model_forms import ModelForm, named_networks, networks_in
from wengert.runtime.outside.live import is_live
from wengert.train.storage import Storage

Array: TypeAlias = np.ndarray[Any, Any]


def arrays_of_data(batch: Iterable[Any], storage: Storage) -> Iterator[Array]:
    """The data among the arguments of a step whose model is stored there."""
    forms = [ModelForm(part) for part in named_networks(storage.tree(storage.leaves))]
    for x in batch:
        try:
            if not any(form.is_form_of(x) for form in forms):
                yield from _arrays_in(x)
        except Exception:  # no tree of arrays
            continue


def _arrays_in(x: Any) -> list[Array]:
    weights = {id(leaf) for network in networks_in(x) for leaf in tree.leaves(network)}
    leaves = tree.leaves(x)
    arrays = [leaf for leaf in leaves if id(leaf) not in weights and not is_live(leaf)]
    return [np.asarray(leaf) for leaf in (arrays if leaves else [x])]
