"""The entry point as LLVM text: a function Python calls with the user's arguments, for any table.

It opens the trees of the arguments, compares every array with what the program was made for, makes
the results, runs the program and builds the tree it returns. Whatever is not as expected makes it
return NotImplemented, with nothing changed: Python then takes the slow path.
"""

from __future__ import annotations

from wengert.codegen.kernel import STATUS
from wengert.codegen.llvm.text.lines import Module
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_arguments import write_apart, write_check, write_open
from wengert.runtime.entries.entry_function import Function
from wengert.runtime.entries.entry_results import write_allocate, write_build, write_measure
from wengert.runtime.entries.entry_watch import write_watch
from wengert.runtime.entries.entry_words import HEAD

CALL, CLAIM = "call", "claim"


def entry_text() -> str:
    """The module: `call(self, arguments, count)` for Python, where self is the array that holds the
    table, and `claim(table)`, which says whether the table was free and is the caller's now.
    """
    module = Module()
    write_watch(module)
    write_open(module)
    write_check(module)
    write_apart(module)
    write_measure(module)
    write_allocate(module)
    write_build(module)
    _write_drop(module)
    _write_claim(module)
    _write_call(module)
    return module.text()


def _write_drop(module: Module) -> None:
    """Let go of what the arguments held, and of what has been made and is not returned."""
    code = Function(module)
    _drop(code, code.section("objects"), code.read("argument_count"), "held")
    _drop(code, code.section("results"), "0", "made")
    code.do("ret void")
    code.define("drop", "void")


def _drop(code: Function, things: str, first: str, count: str) -> None:
    end = str(code.add(first, code.read(count)))
    code.times(
        first, end, lambda i: code.invoke("decref", "void", ("ptr", code.load(things, i, "ptr")))
    )
    code.write(count, 0)


def _write_claim(module: Module) -> None:
    code = Function(module)
    place = code.at("%table", HEAD["busy"])
    pair = code.let(f"cmpxchg ptr {place}, i64 0, i64 1 acquire monotonic")
    won = code.let(f"extractvalue {{ i64, i1 }} {pair}, 1")
    code.do(f"ret i64 {code.let(f'zext i1 {won} to i64')}")
    code.define(CLAIM, "i64", public=True)


def _write_call(module: Module) -> None:
    code = Function(module)
    code.do(f"%place = getelementptr i8, ptr %self, i64 {objects.DATA}")
    code.do("%table = load ptr, ptr %place, align 8")
    expected = code.compare("ne", "%count", code.read("argument_count"))
    code.leave_if(expected, "refuse")
    claimed = code.let(f"call i64 @{CLAIM}(ptr %table)")
    code.leave_if(code.compare("eq", claimed, 0), "refuse")
    things = code.section("objects")
    code.times(0, "%count", lambda i: code.store(code.load("%args", i, "ptr"), things, i, "ptr"))
    left = str(code.sub(code.read("left"), 1))
    code.write("left", left)
    code.leave_if(code.compare("slt", left, 0), "give_up")
    for step in ("watch", "open", "check"):
        well = code.let(f"call i1 @{step}(ptr %table)")
        code.leave_if(code.let(f"xor i1 {well}, true"), "give_up")
    donates = code.compare("sgt", code.read("apart_count"), 0)

    def keep_apart() -> None:
        well = code.let("call i1 @apart(ptr %table)")
        code.leave_if(code.let(f"xor i1 {well}, true"), "give_up")

    code.when(donates, keep_apart)
    code.do("call void @measure(ptr %table)")
    well = code.let("call i1 @allocate(ptr %table)")
    code.leave_if(code.let(f"xor i1 {well}, true"), "raised")
    _run(code)
    status = code.load(code.read("frame", "ptr"), STATUS)
    code.leave_if(code.let(f"icmp ne i64 {status}, 0"), "give_up")
    result = code.let("call ptr @build(ptr %table)")
    code.write("made", 0)  # they belong to the result now
    for label, kind in (("", result), ("raised", "null"), ("give_up", "")):
        if label:
            code.label(label)
        code.do("call void @drop(ptr %table)")
        code.do(f"store atomic i64 0, ptr {code.at('%table', HEAD['busy'])} release, align 8")
        code.do(f"ret ptr {kind}" if kind else "br label %refuse")
    code.label("refuse")
    answer = code.read("not_implemented", "ptr")
    code.invoke("incref", "void", ("ptr", answer))
    code.do(f"ret ptr {answer}")
    code.define(CALL, "ptr", "ptr %self, ptr %args, i64 %count", public=True)


def _run(code: Function) -> None:
    """Run the program; where it takes long enough, without the GIL."""
    program, frame = code.read("program", "ptr"), code.read("frame", "ptr")
    releases = code.let(f"icmp ne i64 {code.read('releases')}, 0")

    def alone() -> list[str]:
        state = code.invoke("save_thread", "ptr")
        code.do(f"call void {program}(ptr {frame})")
        code.invoke("restore_thread", "void", ("ptr", state))
        return []

    def with_others() -> list[str]:
        code.do(f"call void {program}(ptr {frame})")
        return []

    code.either(releases, [], alone, with_others)
