"""Native: LLVM text as machine code in this process."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding import ffi

from wengert.codegen.llvm.beside import Beside, uninterrupted
from wengert.codegen.llvm.common import halves, split
from wengert.codegen.llvm.door import Door, door
from wengert.core.ending import Ending, ending
from wengert.errors import CompileError

Images: TypeAlias = tuple[bytes, ...]  # object files that belong together
Make: TypeAlias = Callable[[str], bytes]  # the text of a module -> its object file

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


OPTIONS: dict[str, Any] = {"opt": 2, "reloc": "pic", "codemodel": "small", "jit": True}


class _Targets(threading.local):
    """LLVM works for one thread at a time with each of them."""

    found: Any = None


_targets = _Targets()


@ending.whole
def target() -> Any:
    """The machine that code is made for: this one."""
    if ending.near:
        ending.pass_or_stay()
    if _targets.found is None:
        _targets.found = uninterrupted(_new_target)
    return _targets.found


def _new_target() -> Any:
    known = machine()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=known["cpu"], features=known["features"], **OPTIONS
    )


@lru_cache(maxsize=1)
def machine() -> dict[str, str]:
    """All that machine code depends on beside the text it is made from."""
    return uninterrupted(_read_machine)


def has_feature(name: str) -> bool:
    """Whether this machine's processor has some instructions, by LLVM's name for them."""
    return f"+{name}" in machine()["features"].split(",")


def _read_machine() -> dict[str, str]:
    return {
        "cpu": llvm.get_host_cpu_name(),
        "features": llvm.get_host_cpu_features().flatten(),
        "triple": llvm.get_process_triple(),
        "options": repr(OPTIONS),
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
    }


def architecture() -> str:
    """The first part of the target's name: x86_64, aarch64 …"""
    return machine()["triple"].partition("-")[0]


def complete(text: str) -> str:
    """The text of a module with what LLVM wants to know before and after it."""
    found = target()
    head = f'target triple = "{found.triple}"\ntarget datalayout = "{found.target_data}"\n'
    # Vectors are as wide as the text says: no preference of the CPU's for narrower ones.
    foot = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return head + text + foot + "\n"


def _parsed(text: str) -> Any:
    return llvm.parse_assembly(complete(text), llvm.create_context())


@ending.whole
def assembly(text: str) -> str:
    """The machine code of a module, to read."""
    if ending.near:
        ending.pass_or_stay()
    with door:
        return uninterrupted(lambda: str(target().emit_assembly(_parsed(text))))


@ending.whole
def make_object(text: str) -> bytes:
    """A module as an object file."""
    if ending.near:
        ending.pass_or_stay()
    with door:
        return uninterrupted(lambda: _emitted(target(), _parsed(text)))


def _emitted(machine: Any, module: Any) -> bytes:
    """The same as `machine.emit_object(module)`, for several threads at once.

    llvmlite lets one thread after the other into LLVM. LLVM itself asks for that only where threads
    share a context or a target machine, and here each has its own.
    """
    emit = getattr(ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        return bytes(machine.emit_object(module))
    with ffi.OutputString() as fault:
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
    first, *rest = halves(own)
    beside += [Beside(partial(make, part)) for part in rest]
    return (make(first), *(each.result() for each in beside))


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
            found = self._made.pop(key, None)
            if found is None or found.failed:
                found = Beside(partial(make, text))
            self._made[key] = found
            if len(self._made) > self.MOST:
                del self._made[next(iter(self._made))]
        return found


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
        machine = target()  # of this thread, and needed when it has ended
        # JITLink lays the sections of an object side by side. The older linker maps each for
        # itself, and in a process with much memory in use aborted after thousands of programs.
        jit = llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
        builder = llvm.JITLibraryBuilder().add_current_process()
        for image in images:
            builder.add_object_img(image)
        for name in names:
            builder.export_symbol(name)
        self._library = builder.link(jit, "program")
        # Each has what must go after it, in whatever way they go.
        self._library.linker, jit.machine = jit, machine
        self._addresses = {name: self._library[name] for name in names}

    def function(self, name: str, *arguments: Any) -> Any:
        """A symbol as a ctypes function of these argument types that returns nothing."""
        return ctypes.CFUNCTYPE(None, *arguments)(self._addresses[name])

    def address(self, name: str) -> int:
        return int(self._addresses[name])

    @ending.whole
    def __del__(self, door: Door = door, ending: Ending = ending) -> None:  # modules may be gone
        if ending.near:  # a thread that is gone may hold the door, and one be in this very code
            ending.abandon(self.__dict__)
            return
        with door:
            self.__dict__.pop("_library", None)
