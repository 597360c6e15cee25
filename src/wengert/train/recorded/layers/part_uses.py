"""What a loss applies the matrices of a model to, and what it makes of the results. A critic that
an actor's loss goes through is given what the actor gives; its own loss gives it data, and makes
something else of its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wengert.core.types import Value
from wengert.interpret.mistakes.widening import place_of
from wengert.train.recorded.layers.outside_uses import LossFlow, operands_of


@dataclass(frozen=True)
class PartUse:
    """The uses of one parameter that gradients come back from."""

    applied_to: tuple[frozenset[str], ...]  # for each, the paths that what it is given depends on
    ops_after: frozenset[str]  # by which its results become the loss


def part_uses(flow: LossFlow, paths: Sequence[str], leaves: Sequence[Value]) -> dict[str, PartUse]:
    """The uses of the leaves of a model, by path, where they are multiplied with something that is
    computed of data, and not number by number.
    """
    places = map(place_of, leaves)
    bits = {
        place[1]: 1 << i
        for i, place in enumerate(places)
        if place is not None and place[0] is flow.level
    }
    masks = _masks(flow, bits)
    after = _ops_after(flow)
    applied: dict[int, list[frozenset[str]]] = {}
    for number in sorted(flow.live):
        node = flow.nodes[number]
        operands = operands_of(node) if node.op.kind != "elementwise" else ()
        given = [i for i in operands if i in flow.data]
        for i in operands:
            alone = masks[i] if i not in flow.data and masks[i].bit_count() == 1 else 0
            if alone and given:
                met = _paths(paths, (masks[j] for j in given))
                applied.setdefault(alone.bit_length() - 1, []).append(met)
    numbers = {bit.bit_length() - 1: number for number, bit in bits.items()}
    return {
        paths[i]: PartUse(tuple(met), after.get(numbers[i], frozenset()))
        for i, met in applied.items()
    }


def _masks(flow: LossFlow, bits: dict[int, int]) -> list[int]:
    """For each node the leaves that it depends on, as bits."""
    masks: list[int] = []
    for number, node in enumerate(flow.nodes):
        mask = bits.get(number, 0)
        if not mask:
            for i in operands_of(node):
                mask |= masks[i]
        masks.append(mask)
    return masks


def _ops_after(flow: LossFlow) -> dict[int, frozenset[str]]:
    """For each node that gradients go through, the ops on the ways from there to the loss."""
    after: dict[int, frozenset[str]] = {}
    for number in sorted(flow.live, reverse=True):
        here = after.setdefault(number, frozenset())
        node = flow.nodes[number]
        for i in operands_of(node):
            after[i] = after.get(i, frozenset()) | here | {node.op.name}
    return after


def _paths(paths: Sequence[str], masks: Iterable[int]) -> frozenset[str]:
    mask = 0
    for each in masks:
        mask |= each
    return frozenset(path for i, path in enumerate(paths) if mask >> i & 1)
