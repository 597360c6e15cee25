"""What the entry point looks at beside the arguments: the places that a program was recorded
with, and a few words of the arrays that it captured.
"""

from __future__ import annotations

from wengert.codegen.llvm.text.lines import Module
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_function import Function
from wengert.runtime.entries.entry_words import PLACE, SAMPLE
from wengert.runtime.outside.watch import (
    ATTRIBUTE,
    CELL,
    DICT_SIZE,
    ELEMENT,
    FIELD,
    ITEM,
    LIST_SIZE,
    MEMBER,
    SAME_ITEMS,
    SET_SIZE,
)


def write_watch(module: Module) -> None:
    """Whether every watched place still has the very object that it had, and every sampled word
    its numbers.

        for each place: fail unless what it holds now, by its kind, is what is expected:
            an item of a dict, a cell, an attribute, an element of a list, a field of an object:
                by identity
            the size of a list, dict or set; a member of a set; all items of a dict
        for each sample: fail unless the word at its address, masked, is what is expected
    """
    _write_same_items(module)
    code = Function(module)

    def look(_i: str, place: str) -> None:
        kind = code.field(place, PLACE, "kind")
        container = code.field(place, PLACE, "container", "ptr")
        key = code.field(place, PLACE, "key", "ptr")
        expected = code.field(place, PLACE, "expected")

        def item() -> None:
            found = code.invoke("dict_item", "ptr", ("ptr", container), ("ptr", key))
            _compare(code, found, expected)

        def cell() -> None:
            code.leave_unless_equal(code.inside(container, objects.CELL), expected)

        def attribute() -> None:
            found = code.invoke("get_attribute", "ptr", ("ptr", container), ("ptr", key))
            absent = code.equal(found, "null", "ptr")
            code.clear_if(absent)
            there = code.let(f"xor i1 {absent}, true")
            # Its place keeps it: where this was the last reference to it, it is another object.
            code.when(there, lambda: code.drop(found))
            _compare(code, found, expected)

        def element() -> None:  # the size was compared before
            items = code.inside(container, objects.LIST_ITEMS, "ptr")
            number = code.field(place, PLACE, "key")
            code.leave_unless_equal(code.load(items, number), expected)

        def list_size() -> None:
            code.leave_unless_equal(code.inside(container, objects.COUNT), expected)

        def dict_size() -> None:
            found = code.invoke("dict_size", "i64", ("ptr", container))
            code.leave_unless_equal(found, expected)

        def set_size() -> None:
            found = code.invoke("set_size", "i64", ("ptr", container))
            code.leave_unless_equal(found, expected)

        def member() -> None:
            found = code.invoke("set_contains", "i32", ("ptr", container), ("ptr", key))
            code.leave_unless_equal(found, 1, "i32")

        def field() -> None:
            offset = code.field(place, PLACE, "key")
            code.leave_unless_equal(code.load(code.at(container, offset, "i8"), 0), expected)

        def same_items() -> None:
            known = code.field(place, PLACE, "expected", "ptr")
            given = f"ptr %table, ptr {container}, ptr {known}"
            code.leave_unless_equal(code.let(f"call i1 @same_items({given})"), "true", "i1")

        for which, compared in (
            (ITEM, item),
            (CELL, cell),
            (ATTRIBUTE, attribute),
            (ELEMENT, element),
            (LIST_SIZE, list_size),
            (DICT_SIZE, dict_size),
            (SET_SIZE, set_size),
            (MEMBER, member),
            (FIELD, field),
            (SAME_ITEMS, same_items),
        ):
            code.when(code.equal(kind, which), compared)

    def look_into(_i: str, sample: str) -> None:
        word = code.load(code.field(sample, SAMPLE, "address", "ptr"), 0)
        found = code.let(f"and i64 {word}, {code.field(sample, SAMPLE, 'mask')}")
        code.leave_unless_equal(found, code.field(sample, SAMPLE, "expected"))

    code.records("places", PLACE, "place_count", look)
    code.records("samples", SAMPLE, "sample_count", look_into)
    code.define_test("watch")


def _write_same_items(module: Module) -> None:
    """Whether two dicts have the same objects under the same keys, and in the same order.

    fail unless they have the same size
    for each pair of entries, one after the other: fail unless keys and values are the same
    """
    code = Function(module)
    for name in ("position", "key", "value"):
        for i in range(2):
            code.do(f"%{name}{i} = alloca {'i64' if name == 'position' else 'ptr'}, align 8")
    for i in range(2):
        code.do(f"store i64 0, ptr %position{i}, align 8")
    size = code.invoke("dict_size", "i64", ("ptr", "%given"))
    code.leave_unless_equal(size, code.invoke("dict_size", "i64", ("ptr", "%known")))

    def pair(_k: str) -> None:
        for i, whose in enumerate(("%given", "%known")):
            places = [("ptr", f"%{name}{i}") for name in ("position", "key", "value")]
            more = code.invoke("dict_next", "i32", ("ptr", whose), *places)
            code.leave_if(code.equal(more, 0, "i32"))
        for name in ("key", "value"):
            first, second = (code.load(f"%{name}{i}", 0, "ptr") for i in range(2))
            code.leave_unless_equal(first, second, "ptr")

    code.times(0, size, pair)
    code.do("ret i1 true")
    code.label("fail")
    code.do("ret i1 false")
    code.define("same_items", "i1", "ptr %table, ptr %given, ptr %known")


def _compare(code: Function, found: str, expected: str) -> None:
    """Fail unless an object is the one at an address."""
    address = code.let(f"ptrtoint ptr {found} to i64")
    code.leave_unless_equal(address, expected)
