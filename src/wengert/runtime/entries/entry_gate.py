"""Gates as LLVM text: calls of an entry point that happen only while nothing else is under way.

A gate is a table of its own, `%gate`. It has arguments that are given in advance, places that must
be as expected, and what becomes of the results. All of a call happens while this thread has the
GIL, and no Python code runs between the look at the places and the end of the program: all other
code sees the state before the call or after it.
"""

from __future__ import annotations

from wengert.codegen.llvm.text.lines import Module
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_function import Function

GATED_CALL = "gated_call"


def write_gate(module: Module) -> None:
    """The functions that a call through a gate uses."""
    _write_idle(module)
    _write_element(module)
    _write_number(module)


def _write_idle(module: Module) -> None:
    """bool(gate): whether all places are as expected, and no mode is on in this thread or task.

    watch(gate), and the context variable `mode` is False
    """
    code = Function(module)
    code.do("%value = alloca ptr, align 8")
    well = code.let("call i1 @watch(ptr %table)")
    code.leave_if(code.let(f"xor i1 {well}, true"))
    code.do("store ptr null, ptr %value, align 8")
    given = (("ptr", code.read("mode", "ptr")), ("ptr", "null"), ("ptr", "%value"))
    failed = code.let(f"icmp slt i32 {code.invoke('context_value', 'i32', *given)}, 0")
    code.clear_if(failed)
    code.leave_if(failed)
    mode = code.load("%value", 0, "ptr")
    code.drop(mode)  # False and True stay
    code.leave_unless_equal(mode, code.read("false", "ptr"), "ptr")
    code.define_test("idle")


def _write_element(module: Module) -> None:
    """ptr(gate): the argument that changes from call to call, where it is known; else null.

    if no argument changes, or the turns of this list are over: null
    list[counter - first], or null where it has no such item
    """
    code = Function(module)
    code.leave_if(code.compare("slt", code.read("changing"), 0))
    turn, limit = code.read("turn", "ptr"), code.read("turns")

    def require_turn() -> None:
        code.leave_if(code.compare("sge", code.load(turn, 0), limit))

    code.when(code.let(f"icmp ne ptr {turn}, null"), require_turn)
    elements = code.read("list", "ptr")
    place = str(code.sub(code.load(code.read("counter", "ptr"), 0), code.read("first")))
    code.leave_if(code.compare("slt", place, 0))
    code.leave_if(code.compare("sge", place, code.inside(elements, objects.COUNT)))
    items = code.inside(elements, objects.LIST_ITEMS, "ptr")
    code.do(f"ret ptr {code.load(items, place, 'ptr')}")
    code.label("fail")
    code.do("ret ptr null")
    code.define("element", "ptr")


def require_open(code: Function, label: str) -> None:
    """Leave where something is under way, other threads would run meanwhile, or Python code that
    looked at the arguments has made a call of its own.
    """
    well = code.let("call i1 @idle(ptr %gate)")
    code.leave_if(code.let(f"xor i1 {well}, true"), label)
    code.leave_if(code.let(f"icmp ne i64 {code.read('releases')}, 0"), label)
    element = code.let("call ptr @element(ptr %gate)")
    code.leave_if(code.let(f"icmp ne ptr {element}, %element"), label)


def answer(code: Function) -> str:
    """What a call through a gate returns."""
    counted = code.compare("sge", code.read("report", table="%gate"), 0)
    given = "ptr %table, ptr %gate, ptr %element"
    (returned,) = code.either(
        counted,
        ["ptr"],
        lambda: [code.let(f"call ptr @number({given})")],
        lambda: [built(code)],
    )
    return returned


def built(code: Function) -> str:
    """The tree of the results, to which they belong from then on."""
    result = code.let("call ptr @build(ptr %table)")
    code.write("made", 0)
    return result


def _write_number(module: Module) -> None:
    """Note the call, and return the first number of its report, alone or with a part of the tree.
    The call is noted before anything is made that could let other Python code run.

        notes[:] = element, report, calls - 1, False
        number = report[0] as a float of Python's
        if no part of the tree is wanted: return number
        tree = build(table); return (number, tree[part])
        whatever cannot be made: drop what has been made, and return null
    """
    code = Function(module)
    place = code.read("report", table="%gate")
    report = code.load(code.section("results"), place, "ptr")
    made = code.load(code.read("calls", "ptr", "%gate"), 0)
    index = code.invoke("new_int", "ptr", ("i64", str(code.sub(made, 1))))
    code.leave_if(code.equal(index, "null", "ptr"))
    notes, false = code.read("notes", "ptr", "%gate"), code.read("false", "ptr")
    for thing in ("%element", report, false):
        code.invoke("incref", "void", ("ptr", thing))
    for i, thing in enumerate(("%element", report, index, false)):
        code.invoke("set_list_item", "i32", ("ptr", notes), ("i64", i), ("ptr", thing))
    value = code.load(code.inside(report, objects.DATA, "ptr"), 0, "double")
    number = code.invoke("new_float", "ptr", ("double", value))
    code.leave_if(code.equal(number, "null", "ptr"))
    part = code.read("part", table="%gate")
    code.leave_if(code.compare("slt", part, 0), "alone")
    tree = built(code)
    code.leave_if(code.equal(tree, "null", "ptr"), "less")
    pair = code.invoke("new_tuple", "ptr", ("i64", 2))
    code.leave_if(code.equal(pair, "null", "ptr"), "neither")
    taken = code.load(code.at(tree, objects.TUPLE_ITEMS, "i8"), part, "ptr")
    code.invoke("incref", "void", ("ptr", taken))
    for i, thing in enumerate((number, taken)):
        code.invoke("set_tuple_item", "i32", ("ptr", pair), ("i64", i), ("ptr", thing))
    code.drop(tree)
    code.do(f"ret ptr {pair}")
    code.label("alone")
    code.do(f"ret ptr {number}")
    code.label("neither")
    code.drop(tree)
    code.do("br label %less")
    code.label("less")
    code.drop(number)
    code.do("br label %fail")
    code.label("fail")
    code.do("ret ptr null")
    code.define("number", "ptr", "ptr %table, ptr %gate, ptr %element")


def write_gated_call(module: Module) -> None:
    """The entry point of gates: self is the array that holds the gate.

    if the arguments are more or fewer than the table takes, or it releases the GIL: refuse
    if an argument changes from call to call: hold its element, refuse where that is not known
    result = enter(table, gate, element, args, count)
    """
    code = Function(module)
    code.do(f"%place = getelementptr i8, ptr %self, i64 {objects.DATA}")
    code.do("%table = load ptr, ptr %place, align 8")
    table = code.read("table", "ptr")
    count = str(code.add(code.read("own_count"), "%count"))
    code.leave_if(code.compare("ne", count, code.read("argument_count", table=table)), "refuse")
    releases = code.let(f"icmp ne i64 {code.read('releases', table=table)}, 0")
    code.leave_if(releases, "refuse")
    element = code.let("call ptr @element(ptr %table)")
    absent = code.equal(element, "null", "ptr")
    changing = code.read("changing")
    needed = code.compare("sge", changing, 0)
    code.leave_if(code.let(f"and i1 {absent}, {needed}"), "refuse")

    def hold() -> None:  # its list may be dropped meanwhile
        code.invoke("incref", "void", ("ptr", element))
        code.store(element, code.section("objects"), changing, "ptr")

    code.when(needed, hold)
    given = f"ptr {table}, ptr %table, ptr {element}, ptr %args, i64 %count"
    result = code.let(f"call ptr @enter({given})")
    code.when(needed, lambda: code.drop(element))
    code.do(f"ret ptr {result}")
    code.label("refuse")
    refuse(code)
    code.define(GATED_CALL, "ptr", "ptr %self, ptr %args, i64 %count", public=True)


def refuse(code: Function) -> None:
    """Return NotImplemented."""
    result = code.read("not_implemented", "ptr")
    code.invoke("incref", "void", ("ptr", result))
    code.do(f"ret ptr {result}")
