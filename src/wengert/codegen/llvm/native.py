"""Native: LLVM text as machine code in this process."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, TypeAlias

import llvmlite.binding as llvm

from wengert.codegen.llvm.common import split

Images: TypeAlias = tuple[bytes, ...]  # object files that belong together

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


def object_code(text: str) -> Images:
    """A module as object files: what is kept, and linked again elsewhere.

    Functions that many programs have in common are an object of their own, made once.
    """
    own, common = split(text)
    return (_object(own), *([_common_object(common)] if common else []))


def _object(text: str) -> bytes:
    return bytes(target().emit_object(_parsed(text)))


_common_object = lru_cache(maxsize=16)(_object)


class Native:
    """Object files linked into this process, with a context and a linker of their own, so that
    nothing is left of them when they go.
    """

    def __init__(self, images: Images, names: tuple[str, ...]) -> None:
        # JITLink lays the sections of an object side by side. The older linker maps each for
        # itself, and in a process with much memory in use aborted after thousands of programs.
        self._jit = llvm.create_lljit_compiler(target(), use_jit_link=True, suppress_errors=True)
        builder = llvm.JITLibraryBuilder().add_current_process()
        for image in images:
            builder.add_object_img(image)
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
