"""Forms: what members of an ensemble must have in common, since they share one program."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence

from wengert.core import tree
from wengert.core.trees.same import same
from wengert.errors import ShapeError
from wengert.optim.parameters import leaf_name
from wengert.train.storage import Array, Storage


def require_same_form(first: Storage, other: Storage) -> None:
    """Refuse a model that programs of this one cannot be called with: of another tree, or with
    other shapes, dtypes, ties or static values.
    """
    if not other.structure.alike(first.structure) or other.places != first.places:
        raise ShapeError(
            f"Ensemble: its model is {other.structure}; that of member 0 is "
            f"{first.structure}, and all members share one program. Make all models alike."
        )
    for new, old in zip(other.structure.static, first.structure.static, strict=True):
        if not same(new, old):
            raise ShapeError(
                f"Ensemble: its model has {reprlib.repr(new)} where that of member 0 has "
                f"{reprlib.repr(old)}; what is no array is part of the program that all "
                "members share. Make it an array, or make all models alike."
            )
    for place, (x, y) in enumerate(zip(other.leaves, first.leaves, strict=True)):
        assert x is not None
        assert y is not None
        if x.shape != y.shape or x.dtype != y.dtype:
            raise ShapeError(
                f"Ensemble: {leaf_name(first.paths[place][0], 'model')} is {x.dtype}{x.shape}; it "
                f"is {y.dtype}{y.shape} in member 0, and all members share one program. Make "
                "all models alike."
            )


def require_same_state(
    first: Sequence[Array],
    form: tree.Structure | None,
    arrays: Sequence[Array],
    other: tree.Structure | None,
) -> None:
    """Refuse a carried state of another form than that of the first member."""
    if (form is None) != (other is None) or not (
        form is None
        or (
            other is not None
            and other.alike(form)
            and [(x.shape, x.dtype) for x in arrays] == [(x.shape, x.dtype) for x in first]
        )
    ):
        raise ShapeError(
            f"Ensemble: its state is {other}, and that of member 0 {form}, or arrays in it have "
            "other shapes or dtypes; all members share one program. Make all states alike."
        )
