"""Function: one function of the entry point, as LLVM text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.codegen.llvm.text.word_text import WordText
from wengert.runtime.entries.entry_words import HEAD


class Function(WordText):
    """One function of the entry point. Its parameter `%table` points to the table."""

    # Memory.

    def inside(self, thing: str, offset: int, kind: str = "i64") -> str:
        """What an object holds at a number of bytes."""
        align = 4 if kind == "i32" else 8
        return self.let(f"load {kind}, ptr {self.at(thing, offset, 'i8')}, align {align}")

    def read(self, name: str, kind: str = "i64", table: str = "%table") -> str:
        """A word of a table's head."""
        return self.load(table, HEAD[name], kind)

    def write(self, name: str, value: int | str) -> None:
        self.store(value, "%table", HEAD[name])

    def section(self, name: str, table: str = "%table") -> str:
        return self.at(table, self.read(name, table=table))

    def invoke(self, name: str, result: str, *operands: tuple[str, str | int]) -> str:
        """Call one of the functions whose addresses are in the head."""
        given = ", ".join(f"{kind} {value}" for kind, value in operands)
        text = f"call {result} {self.read(name, 'ptr')}({given})"
        if result != "void":
            return self.let(text)
        self.do(text)
        return ""

    def drop(self, thing: str) -> None:
        self.invoke("decref", "void", ("ptr", thing))

    def clear_if(self, condition: str) -> None:
        """Forget an error of Python's, where there is one."""
        self.when(condition, self._clear)

    def _clear(self) -> None:
        self.invoke("clear_error", "void")

    # Control.

    def records(
        self, section: str, fields: Sequence[str], count: str, body: Callable[[str, str], object]
    ) -> None:
        """For every record of a section: its number, and where it is."""
        base = self.section(section)

        def step(i: int | str, _carried: list[str]) -> None:
            body(str(i), self.at(base, str(self.mul(i, len(fields)))))

        self.loop(0, self.read(count), 1, step)

    def times(self, begin: int | str, end: int | str, body: Callable[[str], object]) -> None:
        def step(i: int | str, _carried: list[str]) -> None:
            body(str(i))

        self.loop(begin, end, 1, step)

    def leave_if(self, condition: str, label: str = "fail") -> None:
        k = self.fresh()
        self.do(f"br i1 {condition}, label %{label}, label %on{k}")
        self.label(f"on{k}")

    def leave_unless_equal(self, x: str, y: str | int, kind: str = "i64") -> None:
        self.leave_if(self.let(f"icmp ne {kind} {x}, {y}"))

    def equal(self, x: str, y: str | int, kind: str = "i64") -> str:
        return self.let(f"icmp eq {kind} {x}, {y}")

    def define(
        self, name: str, result: str, params: str = "ptr %table", public: bool = False
    ) -> None:
        """Close the function, whose last line has returned.

        LLVM is asked not to optimise it: that would take a third of the time a small program takes
        to compile, and save a twentieth of a microsecond in a call.
        """
        head = f"define {'' if public else 'internal '}{result} @{name}({params})"
        body = "\n".join(self.lines)
        self.module.functions.append(f"{head} noinline optnone nounwind {{\nstart:\n{body}\n}}\n")

    def define_test(self, name: str) -> None:
        """Close a function that says whether all is well; `fail` is where it is not."""
        self.do("ret i1 true")
        self.label("fail")
        self.do("ret i1 false")
        self.define(name, "i1")
