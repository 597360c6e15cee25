"""Where the elements of a recorded value come from, for warnings."""

from __future__ import annotations

from wengert.interpret.trace import Trace


def picked_from(level: Trace, number: int) -> int:
    """The number of the node whose elements a node picks, rearranges or adds up."""
    while True:
        node = level.graph.nodes[number]
        operands = [each for each in node.operands if each is not None]
        if node.op.kind != "linear" or len(operands) != 1:
            return number
        number = operands[0]
