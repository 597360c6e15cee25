"""Drawn keys: random keys that a loss is given, in the state or as arguments, and draws under. The
numbers are the same wherever the key is, unless something else that is given decides as well, as
the count in `wg.random.fold_in(key, count)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.dtypes import uint32
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import RandomnessWarning
from wengert.interpret.mistakes.widening import place_of
from wengert.optim.parameters import leaf_name, leaves_in
from wengert.train.recorded.layers.outside_uses import operands_of


def is_key(x: Any) -> bool:
    """Whether a leaf can be a random key."""
    return getattr(x, "dtype", None) == uint32 and len(x.shape) == 1


def drawn_under(keys: Sequence[Value]) -> list[Line | None]:
    """For each of these keys, which the program that is being recorded is given, the line of a draw
    that nothing else that is given decides; None where there is none.
    """
    places = [place_of(x) for x in keys]
    level = next((each[0] for each in places if each is not None), None)
    if level is None:
        return [None] * len(keys)
    numbers = [None if each is None or each[0] is not level else each[1] for each in places]
    sources: list[set[int]] = []  # for each node, the inputs that it is computed from
    lines: dict[int, Line | None] = {}
    for number, node in enumerate(level.graph.nodes):
        operands = operands_of(node)
        read = {number} if node.op is op.input else set().union(*(sources[i] for i in operands))
        sources.append(read)
        if node.op is op.random_bits and read <= set(numbers):
            lines |= {i: node.line for i in read if i not in lines}
    return [None if i is None else lines.get(i) for i in numbers]


def warn_of_uncarried_keys(paths: Sequence[str], before: Sequence[Value], returned: Any) -> None:
    """Warn, once, of a key of the state that the loss draws under and returns as it came."""
    if not isinstance(returned, tuple) or len(returned) < 2:  # what is wrong is said there
        return
    after = leaves_in(returned[1])
    if len(after) != len(before):
        return
    pairs = zip(paths, before, after, strict=True)
    same = [(path, x) for path, x, y in pairs if is_key(x) and place_of(x) == place_of(y)]
    lines = drawn_under([x for _, x in same]) if same else []
    for (path, _), line in zip(same, lines, strict=True):
        if line is not None:
            warn_user(
                f"TrainStep: the loss draws under {leaf_name(path, 'state')}, a random key, and "
                "returns it as it came; its numbers are the same in every call. Carry on another "
                "one: key, now = wg.random.split(key), draw under now, and return key. Or give the "
                f"loss a parameter rng, and draw from that. ({line})",
                RandomnessWarning,
                line,
            )
            return
