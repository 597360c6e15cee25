"""Points of convention, as the op's record writes them."""

import numpy as np
from oracle import check_convention

from table.calls import Call
from table.ops import of_ops


@of_ops(lambda op: op.at)
def test_convention(op):
    for point, value, gradient, reason in op.at:
        call = Call(op, tuple(map(np.asarray, point)), {})
        check_convention(call, value, gradient, reason)
