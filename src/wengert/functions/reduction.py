"""How losses become one number."""

from __future__ import annotations

from typing import Any, Literal

from wengert.core.dims import Shape, product
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.interpret.mistakes.mixed_rows import note_mixed_rows, note_rows_from_outside

Reduction = Literal["mean", "sum", "none"]
_OF_TORCH = (
    "Write 'mean', which divides by the number of distributions, as torch's batchmean does of an "
    "array with two axes."
)


def reduce_losses(losses: Any, reduction: Reduction) -> Any:
    if reduction == "none":
        return losses
    return op.mean(losses) if reduction == "mean" else op.sum(losses)


def cotangent_per_loss(g: Any, reduction: Reduction, losses: Shape) -> Any:
    """The cotangent of every single loss, from that of their reduction; of a shape or 0-d."""
    return g / product(losses) if reduction == "mean" else g


def reduced_type(losses: Shape, dtype: Any, reduction: Reduction) -> ArrayType:
    return ArrayType(losses if reduction == "none" else (), dtype)


def canonical_reduction(name: str, reduction: Any) -> Reduction:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(
            f"{name}: reduction={reduction!r} was given; it must be 'mean', 'sum' or 'none'. "
            f"{_OF_TORCH if (name, reduction) == ('kl_div', 'batchmean') else 'Choose one.'}"
        )
    known: Reduction = reduction
    return known


def require_equal_shapes(name: str, x: Any, targets: Any) -> None:
    if tuple(x.shape) != tuple(targets.shape):
        shapes = [tuple(x.shape), tuple(targets.shape)]
        note_mixed_rows(name, shapes, [x, targets])
        note_rows_from_outside(name, shapes, [x, targets])
        raise ShapeError(
            f"{name}: operands have shapes {tuple(x.shape)} and {tuple(targets.shape)}; they must "
            "be equal. Reshape or broadcast one of them."
        )
