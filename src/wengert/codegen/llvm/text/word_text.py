"""WordText: a function that reads and writes 64-bit words behind pointers."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.llvm.text.lines import Index, Text


class WordText(Text):
    """One function whose data are tables of words: heads, and records of named fields."""

    def at(self, base: str, offset: Index, unit: str = "i64") -> str:
        """A place behind a pointer; the offset is in words, or in units of another type."""
        return self.let(f"getelementptr {unit}, ptr {base}, i64 {offset}")

    def load(self, base: str, offset: Index, kind: str = "i64") -> str:
        """A word; the offset is in words."""
        return self.let(f"load {kind}, ptr {self.at(base, offset)}, align 8")

    def store(self, value: Index, base: str, offset: Index, kind: str = "i64") -> None:
        self.do(f"store {kind} {value}, ptr {self.at(base, offset)}, align 8")

    def field(self, record: str, fields: Sequence[str], name: str, kind: str = "i64") -> str:
        """A field of a record, which has these."""
        return self.load(record, fields.index(name), kind)
