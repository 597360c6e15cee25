"""Bound: an executable together with arrays that stay where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.runtime.call_memory import Memory
from wengert.runtime.entries import objects
from wengert.runtime.executable import Executable
from wengert.runtime.signature import bound_sizes

Array: TypeAlias = np.ndarray[Any, Any]


class Bound:
    """An executable, the sizes of its Dims, and arrays that it reads or writes in every call.

    A program finds its arrays by their addresses, which stand in slots of a frame. `fill` writes
    those of the arrays that are bound; the caller of the program writes the others.
    """

    def __init__(
        self,
        executable: Executable,
        sizes: Mapping[str, int],
        arrays: Mapping[int, Array],  # by slot
    ) -> None:
        self.executable, self.sizes = executable, sizes
        self._arrays: dict[int, Array] = {}
        self.keep(arrays)

    def keep(self, arrays: Mapping[int, Array]) -> None:
        """Bind these arrays, too, or in the place of others."""
        self._arrays |= arrays
        self._slots = np.array([*self._arrays], np.int64)
        self._addresses = np.array([objects.data(x) for x in self._arrays.values()], np.int64)

    @property
    def slots(self) -> list[int]:
        """Where arrays are bound."""
        return [*self._arrays]

    @property
    def addresses(self) -> list[int]:
        """The addresses of the arrays, in the order of `slots`."""
        addresses: list[int] = self._addresses.tolist()
        return addresses

    def ordered_sizes(self) -> list[int]:
        """The sizes of the Dims, in the order in which frames have them."""
        return [self.sizes[name] for name in self.executable.recipe.layout.dims]

    def slots_of(self, arrays: Sequence[Array]) -> list[int]:
        """Where these very arrays are bound."""
        slots = {id(x): slot for slot, x in self._arrays.items()}
        return [slots[id(x)] for x in arrays]

    def without(self, slots: Sequence[int]) -> Bound:
        """The same without the arrays of these slots, for which each call brings its own."""
        kept = {slot: x for slot, x in self._arrays.items() if slot not in slots}
        return Bound(self.executable, self.sizes, kept)

    def fill(self, memory: Memory) -> None:
        """Let calls in this memory use the arrays."""
        memory.frame[self._slots] = self._addresses

    def take(self) -> Memory:
        """Memory that no other call uses until `give`, filled."""
        memory = self.executable.take(self.sizes)
        try:
            self.fill(memory)
        except BaseException:
            self.give(memory)
            raise
        return memory

    def give(self, memory: Memory) -> None:
        """Give it back."""
        self.executable.give(memory)


def bound_to(executable: Executable, args: Sequence[Any]) -> Bound | None:
    """An executable with all arrays among its arguments; None where its sizes do not fit them."""
    signature, slots = executable.signature, executable.input_slots
    leaves = tree.leaves(signature.with_static(args))
    inputs = dict(zip(signature.places, leaves, strict=True))
    shapes = [inputs[place].shape for place in range(len(slots))]
    sizes = bound_sizes(executable.input_types, shapes)
    if sizes is None:
        return None
    return Bound(executable, sizes, {slots[place]: x for place, x in inputs.items()})


def bound_as_given(
    executable: Executable, own: Sequence[Any], batch: Sequence[Any], given: Sequence[Any]
) -> Bound | None:
    """An executable with the arrays of a batch, if it is called with the very arrays that were
    `given`, so that others can take their place; None where some were converted before, where the
    sizes do not fit, and where the program calls back to print.
    """
    leaves = zip(tree.leaves(tuple(batch)), tree.leaves(tuple(given)), strict=True)
    if executable.prints or not all(x is y for x, y in leaves):
        return None
    return bound_to(executable, (*own, *batch))
