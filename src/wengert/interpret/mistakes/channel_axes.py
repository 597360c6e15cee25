"""Where a layer takes columns for features, behind a convolution whose images are as wide as there
are channels: the shapes fit, and every column is normalized over all channels.
"""

from __future__ import annotations

from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.trace import Trace

_CHANNELS = 1  # the axis in what a convolution gives, (batch, channels, *space)


def note_axis_of_features(name: str, x: Tensor) -> None:
    """Warn where what a layer takes for features, the last axis of a recorded x, is the last one of
    images, and as long as that of their channels.
    """
    place, shape = place_of(x), tuple(x.shape)
    if place is None or len(shape) <= _CHANNELS + 1 or shape[-1] != shape[_CHANNELS]:
        return
    if _is_convolved(*place):
        last = len(shape) - 1
        warn_user(
            f"{name}: x has shape {shape}, which a convolution gives as (batch, channels, *space); "
            f"the features are those of the last axis, {shape[-1]} as the channels, so that "
            f"channels are mixed. Write {name}(…, axis=1); axis={last} says that the last axis is "
            "meant.",
            BatchNormWarning,
            user_line(),
        )


def _is_convolved(level: Trace, number: int) -> bool:
    """Whether a node has what a convolution gives, element by element."""
    nodes = level.graph.nodes
    pending, seen = [number], {number}
    for each in pending:
        node = nodes[each]
        operands = [i for i in node.operands if i is not None]
        if node.op is op.reshape and nodes[operands[0]].op is op.convolution:
            return True  # of groups and the channels of each
        if node.op.kind == "elementwise" or node.op is op.astype:
            more = [
                i for i in operands if i not in seen and _shape(level, i) == _shape(level, each)
            ]
            seen.update(more)
            pending += more
    return False


def _shape(level: Trace, number: int) -> object:
    known = level.graph.nodes[number].type
    return known.shape if isinstance(known, ArrayType) else None
