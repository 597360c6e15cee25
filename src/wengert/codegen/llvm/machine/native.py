"""Native: LLVM text as machine code in this process."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeAlias

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding import ffi

from wengert.codegen.llvm.machine.background import Beside, uninterrupted
from wengert.codegen.llvm.machine.common_functions import halves, split
from wengert.codegen.llvm.machine.plain_functions import is_plain, without_plain
from wengert.codegen.llvm.machine.strength_reduction import SWITCHED, off
from wengert.codegen.numerics import LANES
from wengert.codegen.targets.cpu.target import Target, host
from wengert.core.process.ending import Ending, ending
from wengert.core.process.fork_door import Door, door
from wengert.errors import CompileError

Images: TypeAlias = tuple[bytes, ...]  # object files that belong together
Make: TypeAlias = Callable[[str], bytes]  # the text of a module -> its object file

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


OPTIONS: dict[str, Any] = {"opt": 2, "reloc": "pic", "codemodel": "small", "jit": True}
PLAIN_OPTIONS = {**OPTIONS, "opt": 0}  # for modules of plain functions


class _Machines(threading.local):
    """Target machines, of which each thread has its own: LLVM uses one in one thread at a time."""

    def __init__(self) -> None:
        self.by_target: dict[tuple[Target, bool], Any] = {}


_machines = _Machines()


@ending.whole
def machine_for(target: Target, plain: bool = False) -> Any:
    """LLVM's code generator for a target; the one for plain functions, if `plain`."""
    if ending.near:
        ending.pass_or_stay()
    target = replace(target, width=LANES)  # the width of pieces is a matter of the text alone
    key = target, plain
    if key not in _machines.by_target:
        options = PLAIN_OPTIONS if plain else OPTIONS
        _machines.by_target[key] = uninterrupted(lambda: _new_machine(target, options))
    return _machines.by_target[key]


def _new_machine(target: Target, options: dict[str, Any]) -> Any:
    if target.triple != host().triple:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, **options
    )


@lru_cache(maxsize=1)
def machine() -> dict[str, str]:
    """All that machine code depends on beside the text it is made from."""
    this = host()
    return {
        "cpu": this.cpu,
        "features": this.features,
        "triple": this.triple,
        "options": repr((OPTIONS, PLAIN_OPTIONS, SWITCHED)),
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
    }


def complete(text: str, target: Target | None = None) -> str:
    """The text of a module with what LLVM wants to know before and after it."""
    generator = machine_for(target or host())
    head = f'target triple = "{generator.triple}"\ntarget datalayout = "{generator.target_data}"\n'
    # Vectors are as wide as the text says: no preference of the CPU's for narrower ones.
    foot = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return head + text + foot + "\n"


def _parsed(text: str, target: Target) -> Any:
    return llvm.parse_assembly(complete(text, target), llvm.create_context())


@ending.whole
def assembly(text: str, target: Target | None = None) -> str:
    """The machine code of a module, to read."""
    if ending.near:
        ending.pass_or_stay()
    chosen = target or host()

    def emitted() -> str:
        module = _parsed(text, chosen)
        with off:
            return str(machine_for(chosen).emit_assembly(module))

    with door:
        return uninterrupted(emitted)


@ending.whole
def make_object(text: str, target: Target | None = None) -> bytes:
    """A module as an object file."""
    if ending.near:
        ending.pass_or_stay()
    chosen = target or host()
    with door:
        return uninterrupted(
            lambda: _emitted(machine_for(chosen, is_plain(text)), _parsed(text, chosen))
        )


def _emitted(machine: Any, module: Any) -> bytes:
    """The same as `machine.emit_object(module)`, for several threads at once.

    llvmlite lets one thread after the other into LLVM. LLVM itself asks for that only where threads
    share a context or a target machine, and here each has its own.
    """
    emit = getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        with off:
            return bytes(machine.emit_object(module))
    with ffi.OutputString() as fault, off:
        buffer = emit(machine, module, 1, fault)
        if not buffer:
            raise CompileError(
                f"compile: LLVM refused a module ({fault}); it takes all that Wengert writes. "
                "Please report this."
            )
    try:
        size = ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def object_code(text: str, make: Make = make_object) -> Images:
    """A module as object files, made with `make`: what is kept, and linked again elsewhere.

    Functions that many programs have in common are objects of their own, made once.
    """
    own, common = split(text)
    beside = [_common.begin(part, make) for part in common]
    own, plain = without_plain(own)
    first, *rest = halves(own)
    beside += [Beside(partial(make, part)) for part in (*rest, plain) if part]
    made = [make(first)] if first else []
    return (*made, *(each.result() for each in beside))


def begin_common(text: str, make: Make) -> None:
    """Have the common functions of a module made beside other work."""
    for part in split(text)[1]:
        _common.begin(part, make)


class _Common:
    """The objects of common functions that were asked for last."""

    MOST = 16

    def __init__(self) -> None:
        self._made: dict[tuple[str, Make], Beside[bytes]] = {}
        self._lock = threading.Lock()

    def begin(self, text: str, make: Make) -> Beside[bytes]:
        key = text, make
        with self._lock:
            begun = self._made.pop(key, None)
            if begun is None or begun.failed:
                begun = Beside(partial(make, text))
            self._made[key] = begun
            if len(self._made) > self.MOST:
                del self._made[next(iter(self._made))]
        return begun


_common = _Common()


class Native:
    """Object files linked into this process, with a context and a linker of their own, so that
    nothing is left of them when they go.
    """

    @ending.whole
    def __init__(self, images: Images, names: tuple[str, ...]) -> None:
        if ending.near:
            ending.pass_or_stay()
        with door:
            uninterrupted(lambda: self._link(images, names))

    def _link(self, images: Images, names: tuple[str, ...]) -> None:
        machine = machine_for(host())  # of this thread, and needed when it has ended
        # JITLink lays the sections of an object side by side. The older linker maps each for
        # itself, and in a process with much memory in use aborted after thousands of programs.
        jit = llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
        builder = llvm.JITLibraryBuilder().add_current_process()
        for image in images:
            builder.add_object_img(image)
        for name in names:
            builder.export_symbol(name)
        self._library = builder.link(jit, "program")
        # Each refers to what must be freed after it, in whatever way they are freed.
        self._library.linker, jit.machine = jit, machine
        self._addresses = {name: self._library[name] for name in names}

    def function(self, name: str, *arguments: Any) -> Any:
        """A symbol as a ctypes function of these argument types that returns nothing."""
        return ctypes.CFUNCTYPE(None, *arguments)(self._addresses[name])

    def address(self, name: str) -> int:
        return int(self._addresses[name])

    @ending.whole
    def __del__(self, door: Door = door, ending: Ending = ending) -> None:  # modules may be gone
        if (
            ending.near
        ):  # a thread that is gone may hold the door, or have stopped in this very code
            ending.abandon(self.__dict__)
            return
        with door:
            self.__dict__.pop("_library", None)
