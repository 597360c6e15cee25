"""Native: LLVM text as machine code in this process."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


@lru_cache(maxsize=1)
def target() -> Any:
    """The machine that code is made for: this one."""
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=2,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def architecture() -> str:
    """The first part of the target's name: x86_64, aarch64 …"""
    return str(target().triple).partition("-")[0]


def _parsed(text: str) -> Any:
    machine = target()
    head = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    # Vectors are as wide as the text says: no preference of the CPU's for narrower ones.
    foot = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
    return llvm.parse_assembly(head + text + foot + "\n", llvm.create_context())


def assembly(text: str) -> str:
    """The machine code of a module, to read."""
    return str(target().emit_assembly(_parsed(text)))


def object_code(text: str) -> bytes:
    """A module as an object file: what is kept, and linked again elsewhere."""
    return bytes(target().emit_object(_parsed(text)))


class Native:
    """An object file linked into this process, with a context and a linker of its own, so that
    nothing is left of it when it goes.
    """

    def __init__(self, image: bytes, names: tuple[str, ...]) -> None:
        self._jit = llvm.create_lljit_compiler(target(), use_jit_link=False, suppress_errors=True)
        builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for name in names:
            builder.export_symbol(name)
        self._library = builder.link(self._jit, "program")
        self._addresses = {name: self._library[name] for name in names}

    def function(self, name: str, *arguments: Any) -> Any:
        """A symbol as a ctypes function of these argument types that returns nothing."""
        return ctypes.CFUNCTYPE(None, *arguments)(self._addresses[name])

    def address(self, name: str) -> int:
        return int(self._addresses[name])

    def __del__(self) -> None:
        self.__dict__.pop("_library", None)  # before the linker that holds it
