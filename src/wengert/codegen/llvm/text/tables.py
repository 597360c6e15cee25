"""Tables of sixteen float32 numbers, from which each lane chooses one.

Where registers hold all of them, or a half, instructions permute lanes. Elsewhere one lane after
the other reads memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

from wengert.codegen.llvm.text.vectors import Code, number
from wengert.core.dtypes import float32

PIECES = 16  # numbers of a table

Writer = Callable[[Sequence[str], int], str]  # of one register of places, and its lanes


def table_writer(code: Code, numbers: Sequence[float]) -> Writer:
    """A function that writes the choice for one register of places: floats whose low four bits say
    which number it is.
    """
    target, table = code.module.target, _Table(code, numbers)
    if code.lanes == 1:
        return table.from_memory
    if target.architecture == "aarch64":
        return table.by_bytes
    if target.architecture == "x86_64" and target.has("avx2"):
        return table.by_permuting
    return table.from_memory


class _Table:
    """A constant of the module, and ways to choose from it."""

    def __init__(self, code: Code, numbers: Sequence[float]) -> None:
        assert len(numbers) == PIECES
        words = ", ".join(f"float {number(x, float32)}" for x in numbers)
        text = f"internal constant [{PIECES} x float] [{words}], align 64"
        self.code, self.name = code, f"@table_{crc32(text.encode()):08x}"
        code.module.declared.setdefault(self.name, f"{self.name} = {text}")

    def _numbers(self, begin: int, lanes: int) -> tuple[str, str]:
        """Some of the numbers as a vector: its type and name."""
        kind, at = f"<{lanes} x float>", self.code.address(self.name, begin, float32)
        return kind, self.code.let(f"load {kind}, ptr {at}, align {4 * lanes}")

    def by_permuting(self, parts: Sequence[str], lanes: int) -> str:
        """With AVX2: the whole table with AVX-512, else halves of which one is chosen."""
        code, (part,) = self.code, parts
        if lanes == 4:
            twice = self._shuffled(part, lanes, (0, 1, 2, 3, 0, 1, 2, 3))
            return self._shuffled(self.by_permuting([twice], 8), 8, range(4))
        kind, whole = f"<{lanes} x float>", f"<{lanes} x i32>"
        places = code.let(f"bitcast {kind} {part} to {whole}")
        where = whole, places
        if lanes == PIECES:
            name = "llvm.x86.avx512.permvar.sf.512"
            return code.call(name, kind, self._numbers(0, lanes), where)
        low, high = self._numbers(0, lanes), self._numbers(lanes, lanes)
        if code.module.target.has("avx512vl"):
            return code.call("llvm.x86.avx512.vpermi2var.ps.256", kind, low, where, high)
        x, y = (code.call("llvm.x86.avx2.permps", kind, half, where) for half in (low, high))
        sign = code.let(f"shl {whole} {places}, splat (i32 28)")
        upper = code.let(f"icmp slt {whole} {sign}, zeroinitializer")
        return code.let(f"select <{lanes} x i1> {upper}, {kind} {y}, {kind} {x}")

    def _shuffled(self, part: str, lanes: int, numbers: Sequence[int]) -> str:
        kind, order = f"<{lanes} x float>", ", ".join(f"i32 {i}" for i in numbers)
        return self.code.let(
            f"shufflevector {kind} {part}, {kind} poison, <{len(numbers)} x i32> <{order}>"
        )

    def by_bytes(self, parts: Sequence[str], lanes: int) -> str:
        """With NEON: four bytes are looked up for each lane, in four registers."""
        code, (part,) = self.code, parts
        whole, kind = f"<{lanes} x i32>", "<16 x i8>"
        places = code.let(f"bitcast <{lanes} x float> {part} to {whole}")
        inside = code.let(f"and {whole} {places}, splat (i32 {PIECES - 1})")
        first = code.let(f"mul {whole} {inside}, splat (i32 {0x04040404})")
        every = code.let(f"add {whole} {first}, splat (i32 {0x03020100})")
        quarters = [
            (kind, code.let(f"bitcast {' '.join(self._numbers(k, lanes))} to {kind}"))
            for k in range(0, PIECES, lanes)
        ]
        where = kind, code.let(f"bitcast {whole} {every} to {kind}")
        chosen = code.call("llvm.aarch64.neon.tbl4.v16i8", kind, *quarters, where)
        return code.let(f"bitcast {kind} {chosen} to <{lanes} x float>")

    def from_memory(self, parts: Sequence[str], lanes: int) -> str:
        code, (part,) = self.code, parts
        if code.lanes == 1:
            return self._one(part)
        kind, chosen = f"<{lanes} x float>", "poison"
        for lane in range(lanes):
            one = self._one(code.let(f"extractelement {kind} {part}, i32 {lane}"))
            chosen = code.let(f"insertelement {kind} {chosen}, float {one}, i32 {lane}")
        return chosen

    def _one(self, place: str) -> str:
        code = self.code
        inside = code.let(f"and i32 {code.let(f'bitcast float {place} to i32')}, {PIECES - 1}")
        at = code.address(self.name, code.let(f"zext i32 {inside} to i64"), float32)
        return code.let(f"load float, ptr {at}, align 4")
