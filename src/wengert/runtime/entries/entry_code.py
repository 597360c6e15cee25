"""The entry point as LLVM text: a function Python calls with the user's arguments, for any table.

It opens the trees of the arguments, compares every array with what the program was made for, makes
the results, runs the program and builds the tree it returns. Whatever is not as expected makes it
return NotImplemented, with nothing changed: Python then takes the slow path.
"""

from __future__ import annotations

import time

from wengert.codegen.kernel import HEADER, STATUS
from wengert.codegen.llvm.text.lines import Module
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_arguments import write_apart, write_check, write_open
from wengert.runtime.entries.entry_function import Function
from wengert.runtime.entries.entry_gate import (
    answer,
    built,
    refuse,
    require_open,
    write_gate,
    write_gated_call,
)
from wengert.runtime.entries.entry_results import write_allocate, write_build, write_measure
from wengert.runtime.entries.entry_watch import write_watch
from wengert.runtime.entries.entry_words import HEAD
from wengert.runtime.entries.result_pool_code import write_result_pool

CALL, CLAIM = "call", "claim"
LONG = 20_000  # nanoseconds that make it worth while to let other Python threads run meanwhile
_CLOCK = getattr(time, "CLOCK_MONOTONIC", 0)


def entry_text() -> str:
    """The module: `call(self, arguments, count)` for Python, where self is the array that holds the
    table, and the same for gates; and `claim(table)`, which says whether the table was free and is
    the caller's now. Beside them, the functions of the pool of results.
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
    _write_as_large(module)
    write_gate(module)
    _write_enter(module)
    _write_call(module)
    write_gated_call(module)
    write_result_pool(module)
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
    """i64(table): 1 if the table was free and now belongs to the caller; else 0."""
    code = Function(module)
    place = code.at("%table", HEAD["busy"])
    pair = code.let(f"cmpxchg ptr {place}, i64 0, i64 1 acquire monotonic")
    won = code.let(f"extractvalue {{ i64, i1 }} {pair}, 1")
    code.do(f"ret i64 {code.let(f'zext i1 {won} to i64')}")
    code.define(CLAIM, "i64", public=True)


def _write_enter(module: Module) -> None:
    """What a call does, with a table and, where it came through one, a gate (else null): arguments
    that are given in advance come first, and the program runs only where nothing else is under way.

        if not claim(table): refuse
        objects = those of the gate, then the arguments
        left -= 1; if left < 0: give up  # now and then Python looks at all that was captured
        if not (watch and open and check): give up
        if anything is donated, and not apart: give up
        measure; if not allocate: Python has raised
        if there is a gate, and it is not open: give up
        run the program; if status != 0: give up
        result = answer of the gate, or the tree of the results
        drop; busy = 0; return the result, null where Python has raised
    give up:  drop; busy = 0
    refuse:   return NotImplemented
    """
    code = Function(module)
    code.do("%time = alloca [2 x i64], align 8")
    claimed = code.let(f"call i64 @{CLAIM}(ptr %table)")
    code.leave_if(code.compare("eq", claimed, 0), "refuse")
    gated = code.let("icmp ne ptr %gate, null")
    _take_arguments(code, gated)
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
    # No Python code runs from here on until the program has run.
    code.when(gated, lambda: require_open(code, "give_up"))
    _run(code)
    status = code.load(code.read("frame", "ptr"), STATUS)
    code.leave_if(code.let(f"icmp ne i64 {status}, 0"), "give_up")
    (result,) = code.either(gated, ["ptr"], lambda: [answer(code)], lambda: [built(code)])
    for label, kind in (("", result), ("raised", "null"), ("give_up", "")):
        if label:
            code.label(label)
        code.do("call void @drop(ptr %table)")
        code.do(f"store atomic i64 0, ptr {code.at('%table', HEAD['busy'])} release, align 8")
        code.do(f"ret ptr {kind}" if kind else "br label %refuse")
    code.label("refuse")
    refuse(code)
    code.define("enter", "ptr", "ptr %table, ptr %gate, ptr %element, ptr %args, i64 %count")


def _take_arguments(code: Function, gated: str) -> None:
    """Put what the gate gives in advance, and what the caller has given, among the objects."""
    things = code.section("objects")

    def own() -> list[str]:
        given, count = code.section("objects", "%gate"), code.read("own_count", table="%gate")
        code.times(0, count, lambda i: code.store(code.load(given, i), things, i))
        return [count]

    (first,) = code.either(gated, ["i64"], own, lambda: ["0"])

    def take(i: str) -> None:
        code.store(code.load("%args", i, "ptr"), things, str(code.add(first, i)), "ptr")

    code.times(0, "%count", take)


def _write_call(module: Module) -> None:
    """object(self, args, count): enter with the table that self holds, if it takes so many."""
    code = Function(module)
    code.do(f"%place = getelementptr i8, ptr %self, i64 {objects.DATA}")
    code.do("%table = load ptr, ptr %place, align 8")
    expected = code.compare("ne", "%count", code.read("argument_count"))
    code.leave_if(expected, "refuse")
    given = "ptr %table, ptr null, ptr null, ptr %args, i64 %count"
    code.do(f"ret ptr {code.let(f'call ptr @enter({given})')}")
    code.label("refuse")
    refuse(code)
    code.define(CALL, "ptr", "ptr %self, ptr %args, i64 %count", public=True)


def _run(code: Function) -> None:
    """Run the program; where it takes long enough, without the GIL. The first call of a program
    takes longer than others: a later one of the same sizes may show that it does not take so long.

        if it releases the GIL:
            save the thread; begin = now; program(frame); end = now; restore the thread
            if end - begin < LONG, and no size is smaller than when it took long: releases = 0
        else: program(frame)
    """
    program, frame = code.read("program", "ptr"), code.read("frame", "ptr")
    releases = code.let(f"icmp ne i64 {code.read('releases')}, 0")
    timed = code.let(f"icmp ne ptr {code.read('clock', 'ptr')}, null")

    def forget() -> None:
        large = code.let("call i1 @as_large(ptr %table)")
        code.when(large, lambda: code.write("releases", 0))

    def alone() -> list[str]:
        state = code.invoke("save_thread", "ptr")
        (begin,) = code.either(timed, ["i64"], lambda: [_now(code)], lambda: ["0"])
        code.do(f"call void {program}(ptr {frame})")
        (end,) = code.either(timed, ["i64"], lambda: [_now(code)], lambda: [str(LONG)])
        code.invoke("restore_thread", "void", ("ptr", state))
        short = code.compare("slt", code.sub(end, begin), LONG)
        code.when(short, forget)
        return []

    def with_others() -> list[str]:
        code.do(f"call void {program}(ptr {frame})")
        return []

    code.either(releases, [], alone, with_others)


def _write_as_large(module: Module) -> None:
    """Whether no size is smaller than in the call that took long."""
    code = Function(module)
    dims, sizes = code.at(code.read("frame", "ptr"), HEADER), code.section("long_sizes")

    def compare(d: str) -> None:
        code.leave_if(code.compare("slt", code.load(dims, d), code.load(sizes, d)))

    code.times(0, code.read("dim_count"), compare)
    code.define_test("as_large")


def _now(code: Function) -> str:
    """Nanoseconds of a clock that only goes forwards."""
    code.invoke("clock", "i32", ("i32", _CLOCK), ("ptr", "%time"))
    seconds, rest = (code.load("%time", i) for i in range(2))
    return str(code.add(code.mul(seconds, 1_000_000_000), rest))
