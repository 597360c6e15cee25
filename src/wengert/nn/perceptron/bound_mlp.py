"""BoundMlp: a program on arrays that stay where they are, so that a call makes nothing new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.kernel import THREADS
from wengert.core import tree
from wengert.core.types import ArrayType
from wengert.nn.perceptron.mlp_programs import ROWS, MlpProgram
from wengert.runtime.aligned_memory import aligned_array
from wengert.runtime.bound import Bound
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry import Entry, never
from wengert.runtime.entries.entry_table import Unsupported
from wengert.runtime.outside.live import mark_rewritten
from wengert.runtime.outside.watch import owner_of
from wengert.runtime.signature import Signature
from wengert.runtime.workers import pool

Array: TypeAlias = np.ndarray[Any, Any]
LONG = 500_000  # multiplications that make it worth while to let other Python threads run


def rewritten_array(shape: Sequence[int], dtype: np.dtype[Any], fill: float = 0.0) -> Array:
    """A new array that calls of a network write to, or that is made to be written to."""
    made = aligned_array(shape, dtype)
    mark_rewritten(owner_of(made))
    made.fill(fill)
    return made


class BoundMlp:
    """A program whose results go to the same arrays in every call.

    `call(*arguments, *buffers)` runs it, or answers NotImplemented where Python must look at the
    arguments. Buffers are all the memory that it writes to: no argument may overlap with them.
    """

    def __init__(
        self,
        program: MlpProgram,
        rows: int,
        arguments: Sequence[Any],  # trees of types, like those of the calls
        slots: Sequence[int],  # of their leaves
        buffers: Mapping[int, Array],  # each by the slot of the array it begins with
        work: int,  # multiplications per call, about
    ) -> None:
        self._bound = Bound(program.executable, {str(ROWS): rows}, {})
        self._slots, self.buffers = slots, tuple(buffers.values())
        self._memory = program.executable.new_memory()
        self._memory.make_room(self._bound.sizes)
        self._long = work > LONG
        self._entry = self._make_entry(arguments, buffers)
        self.call: Any = never
        if self._entry is not None:
            self._entry.accept_from(self._bound.sizes)
            self._entry.release(self._long)
        self._be_ready()

    def _make_entry(self, arguments: Sequence[Any], buffers: Mapping[int, Array]) -> Entry | None:
        if not objects.fits():
            return None
        leaves, structure = tree.flatten((*arguments, *self.buffers))
        types = [ArrayType(x.shape, x.dtype) for x in leaves]
        first = len(leaves) - len(buffers)  # this one says how many rows there are
        types[first] = ArrayType((ROWS, *types[first].shape[1:]), types[first].dtype)
        places = tuple(range(len(leaves)))
        names = tuple(tree.paths((*arguments, *self.buffers)))
        nothing = tree.flatten(None)[1]
        signature = Signature(names, structure, places, nothing, places[first:])
        self._memory.inputs = [*self._slots, *buffers]
        try:
            return Entry(signature, types, (), {}, self._memory, self._bound.executable.native)
        except Unsupported:
            return None

    def _be_ready(self) -> None:
        """Start workers, if the program is divided between several."""
        if self._memory.frame[THREADS] > 1:
            pool().serve(self, self._bound.executable.threads)
        if self._entry is not None:
            self.call = self._entry.call

    def after_fork(self) -> None:
        """The next call asks for workers: a new process has none."""
        self.call = never

    def keep(self, arrays: Mapping[int, Array]) -> None:
        """Let the program read or write these arrays, by slot, from now on."""
        self._bound.keep(arrays)
        self._bound.fill(self._memory)

    def run(self, leaves: Sequence[Array]) -> None:
        """Call it with arrays of the right types in C order, whatever else they are."""
        if self._entry is not None and not self._entry.claim():
            raise RuntimeError(
                "Mlp: given a Scratch or Gradients that another thread is using; each thread needs "
                "its own. Make them with mlp.scratch() and mlp.gradients()."
            )
        self._be_ready()
        self._memory.make_room(self._bound.sizes)
        for slot, x in zip(self._slots, leaves, strict=True):
            self._memory.frame[slot] = objects.data(x)
        self._bound.fill(self._memory)
        self._bound.executable.run_in(self._memory)
        if self._entry is not None:
            self._entry.release(self._long)
