"""Forward: the level on which every value carries its tangent along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.bind import Level, bind, located
from wengert.core.op import Op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import begin_body, end_body
from wengert.errors import NotDifferentiable


class Forward(Level):
    """A Tensor's handle is its tangent, a value of a lower level."""

    def dual(self, primal: Value, tangent: Value) -> Tensor:
        return Tensor(self, tangent, primal)

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        if op.body is not None and op.inlined(params, op.jvp):
            outer = begin_body(op.name)
            try:
                return op.body(*operands, **params)
            finally:
                end_body(outer)
        mine = [type(x) is Tensor and x.level is self for x in operands]
        primals = [x._value if m else x for x, m in zip(operands, mine, strict=True)]
        tangents = [x.handle if m else None for x, m in zip(operands, mine, strict=True)]
        out = bind(op, primals, params)
        if op.flat:
            return out
        if op.jvp is None:
            error = NotDifferentiable(
                f"{op.name}: given a tangent; {op.opaque}. Detach it with wg.stop_gradient."
            )
            raise located(error, operands)
        with np.errstate(all="ignore"):
            tangent = op.jvp(tangents, out, primals, params)
        if not isinstance(out, tuple):
            return out if tangent is None else self.dual(out, tangent)
        return tuple(
            y if dy is None else self.dual(y, dy) for y, dy in zip(out, tangent, strict=True)
        )
