"""Activation functions by name, and how a cotangent goes back through them."""

from __future__ import annotations

from typing import Any

from wengert import functions, ops
from wengert.api.derivatives import vjp
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.types import Value, type_of

del functions, ops  # imported to fill the table


class Activation:
    """A function of every element that a layer ends with."""

    def __init__(self, name: str, op: Op | None) -> None:
        self.name = self.__name__ = name  # as functions have it: files keep it
        self.op = op  # None is the identity

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:  # a copy of it is itself
        return find_activation, (self.name,)

    def __call__(self, x: Value) -> Value:
        return x if self.op is None else self.op(x)

    @property
    def reads_operand(self) -> bool:
        """Whether its backward step needs what it was applied to; else the output is enough."""
        return self.op is not None and (self.op.body is not None or 0 not in self.op.drops)

    def pull_back(self, g: Value, x: Value, out: Value) -> Value:
        """The cotangent of the operand `x`, from that of the output `out`. Without
        `reads_operand`, `x` is not looked at and may be None.
        """
        if self.op is None:
            return g
        if self.reads_operand:
            return vjp(self.op, x)[1](g)[0]
        assert self.op.vjp is not None
        return self.op.vjp(g, out, [type_of(out)], {}, [True])[0]


ACTIVATIONS = {
    activation.name: activation
    for activation in (
        Activation("tanh", op.tanh),
        Activation("relu", op.relu),
        Activation("leaky_relu", op.leaky_relu),
        Activation("sigmoid", op.sigmoid),
        Activation("silu", op.silu),
        Activation("gelu", op.gelu),
        Activation("identity", None),
    )
}


def find_activation(name: Any, by: str = "activation", argument: str = "name") -> Activation:
    """The activation of this name; errors begin with `by` and call what was given `argument`."""
    activation = ACTIVATIONS.get(name) if isinstance(name, str) else None
    if activation is None:
        raise ValueError(
            f"{by}: {argument}={name!r} was given; the activations are {', '.join(ACTIVATIONS)}. "
            "Choose one."
        )
    return activation
