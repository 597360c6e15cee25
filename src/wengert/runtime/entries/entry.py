"""Entry: the function that calls of an executable go through, made for its arguments."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from wengert.codegen.kernel import HEADER
from wengert.codegen.llvm.machine.native import Native
from wengert.codegen.llvm.module import ENTRY
from wengert.core import tree
from wengert.core.dtypes import DType
from wengert.core.types import ArrayType
from wengert.runtime.caching.cache import begin_object, cached_object
from wengert.runtime.call_memory import Memory
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_code import CALL, CLAIM, entry_text
from wengert.runtime.entries.entry_gate import GATED_CALL
from wengert.runtime.entries.entry_table import NEVER, Filled, expected_word
from wengert.runtime.entries.entry_words import HEAD, PLACE, SAMPLE
from wengert.runtime.entries.result_pool import ResultPool
from wengert.runtime.entries.result_pool_code import POOL_FUNCTIONS
from wengert.runtime.outside.watch import Captured, Watch
from wengert.runtime.signature import Signature

Call = Callable[..., Any]
_FASTCALL = 0x80  # Python's flag of a function that takes (self, arguments, count)


def never(*_args: Any) -> Any:
    """The entry of an executable that has none."""
    return NotImplemented


def begin() -> None:
    """Begin to make the machine code of entries in another thread, if there is none yet."""
    if objects.fits() and not _native.cache_info().currsize:
        begin_object(entry_text())


class Entry:
    """The table of one executable. `call(*args)` gives the tree of results, or NotImplemented where
    Python must look at the arguments.
    """

    def __init__(
        self,
        signature: Signature,
        inputs: Sequence[ArrayType],
        outputs: Sequence[ArrayType],
        written: Mapping[int, int],  # which outputs go to which donated inputs
        memory: Memory,
        native: Native,  # the program as machine code
        watch: Watch | None = None,
    ) -> None:
        watch = watch or Watch()
        filled = Filled(signature, memory)
        filled.watch(watch.places)
        sampled = watch.sampled
        filled.sample([word for each in sampled for word in each.sample])
        filled.read_arguments(inputs)
        filled.make_outputs(outputs, written)
        rebuilt = filled.build(signature.returned)
        filled.table.head |= {"frame": memory.address, "program": native.address(ENTRY)}
        handler = result_pool().handler
        self._words = filled.table.words(objects.addresses() | {"handler": handler})
        self.address: int = self._words.ctypes.data
        self._capacity = self._words[self._words[HEAD["capacity"]] :][: len(memory.layout.dims)]
        self._long_sizes = self._words[self._words[HEAD["long_sizes"]] :][: len(memory.layout.dims)]
        self._least = self._words[self._words[HEAD["least"]] :][: len(memory.layout.dims)]
        first = int(self._words[HEAD["places"]]) + PLACE.index("expected")
        self._expected = self._words[first :: len(PLACE)][: len(watch.places)]
        self.memory, self._watch = memory, watch
        self.calls = CountedCalls(self._words)
        self.count_calls()
        owners = _let_go(self._words, sampled)
        made = callable_of(CALL, self._words, (native, memory, filled.kept, owners))
        self.call: Call = made if rebuilt else _completed(made, signature.returned)
        self.rebuilt = rebuilt  # whether machine code builds the tree of results

    def claim(self) -> bool:
        """Take the memory for a call that Python makes itself. False where another call is using
        it.
        """
        return bool(_claim(self.address))

    def count_calls(self) -> None:
        """Let machine code take as many calls as the watch allows before Python looks at captured
        arrays again; without captured arrays, all of them.
        """
        self.calls.allow(self._watch.calls - 1 if self._watch.arrays else NEVER)

    def expire(self) -> None:
        """Let the next call go to Python, which looks at captured arrays."""
        self.calls.allow(-1)

    @property
    def is_due(self) -> bool:
        """Whether the calls that were allowed are used up, so that Python has to look."""
        return int(self._words[HEAD["left"]]) < 0

    @property
    def releases(self) -> bool:
        """Whether calls let other Python threads run meanwhile."""
        return bool(self._words[HEAD["releases"]])

    def renew(self) -> None:
        """Expect the objects that are at the watched places now: a plain value may be an equal one,
        but another object.
        """
        self._expected[:] = [expected_word(place) for place in self._watch.places]

    def accept_from(self, sizes: Mapping[str, int]) -> None:
        """Accept calls with these sizes and larger ones from now on."""
        wanted = [sizes[name] for name in self.memory.layout.dims]
        if all(new <= old for new, old in zip(wanted, self._least, strict=True)):
            self._least[:] = wanted

    def release(self, long: bool) -> None:
        """Give the memory back after such a call. From the first `long` one on, calls let other
        Python threads run meanwhile, until one of sizes like these, or larger, is short.
        """
        known = self.memory.capacity
        if known is not None:
            self._capacity[:] = [known[name] for name in self.memory.layout.dims]
        if long:
            self._words[HEAD["releases"]] = 1
            self._long_sizes[:] = self.memory.frame[HEADER : self.memory.layout.first]
        self._words[HEAD["busy"]] = 0


class CountedCalls:
    """How often machine code was asked by a call, of a table. It outlives the entry."""

    def __init__(self, words: np.ndarray[Any, Any]) -> None:
        self._words = words
        self._before, self._allowed = 0, int(words[HEAD["left"]])

    def __call__(self) -> int:
        return self._before + self._allowed - int(self._words[HEAD["left"]])

    def allow(self, calls: int) -> None:
        """Let Python be asked again after so many."""
        self._before, self._allowed = self(), calls
        self._words[HEAD["left"]] = calls


class _Method(ctypes.Structure):
    """Python's record of a function in machine code."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


@cache
def _native() -> tuple[Native, dict[str, _Method], Any, Any]:
    """The machine code of all entry points, Python's records of it, what makes a Python function of
    such a record, and `claim`: once per process.
    """
    native = Native((cached_object(entry_text()),), (CALL, GATED_CALL, CLAIM, *POOL_FUNCTIONS))
    methods = {
        name: _Method(name.encode(), native.address(name), _FASTCALL, None)
        for name in (CALL, GATED_CALL)
    }
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.py_object, ctypes.py_object),
    )
    claim = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(native.address(CLAIM))
    return native, methods, make, claim


@cache
def result_pool() -> ResultPool:
    """What large results get their memory from: once per process."""
    return ResultPool(_native()[0])


def new_result(shape: Sequence[int], dtype: DType) -> np.ndarray[Any, Any]:
    """An array of any numbers for a result."""
    return result_pool().empty(shape, dtype) if objects.fits() else np.empty(shape, dtype)


def callable_of(name: str, words: np.ndarray[Any, Any], used: tuple[Any, ...]) -> Call:
    """One of the entry points, for a table. The table and all that it uses live as long as the
    function.
    """
    native, methods, make, _ = _native()
    # Python keeps the module of a function alive, whatever object that is: so it can hold what is
    # used.
    made: Call = make(ctypes.addressof(methods[name]), words, (native, methods, *used))
    return made


def _let_go(
    words: np.ndarray[Any, Any], sampled: Sequence[Captured]
) -> list[weakref.ref[np.ndarray[Any, Any]]]:
    """Have a table stop comparing the memory of an array when the array ceases to exist, for as
    long as the references are kept that this returns.
    """
    owners, first = [], int(words[HEAD["samples"]])
    for each in sampled:
        last = first + len(SAMPLE) * len(each.sample)
        owner = each.when_gone(partial(_compare_nothing, words[first:last], words.ctypes.data))
        owners += [] if owner is None else [owner]
        first = last
    return owners


def _compare_nothing(samples: np.ndarray[Any, Any], somewhere: int, _gone: Any) -> None:
    samples.reshape(-1, len(SAMPLE))[:] = somewhere, 0, 0  # no bits, of memory that is there


def _claim(table: int) -> int:
    return int(_native()[3](table))


def _completed(call: Call, returned: tree.Structure) -> Call:
    """A call whose results are put into a tree that machine code cannot build."""

    def complete(*args: Any) -> Any:
        results = call(*args)
        return results if results is NotImplemented else tree.unflatten(returned, results)

    return complete
