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

    def look_into(_i: str, sample: str) -> None:
        word = code.load(code.field(sample, SAMPLE, "address", "ptr"), 0)
        bits = code.let(f"and i64 {word}, {code.field(sample, SAMPLE, 'mask')}")
        code.leave_unless_equal(bits, code.field(sample, SAMPLE, "expected"))

    code.records("places", PLACE, "place_count", lambda _i, place: _Place(code, place).look())
    code.records("samples", SAMPLE, "sample_count", look_into)
    code.define_test("watch")


class _Place:
    """The code that looks at one place; a method for each kind of them."""

    def __init__(self, code: Function, place: str) -> None:
        self.code, self.place = code, place
        self.kind = code.field(place, PLACE, "kind")
        self.container = code.field(place, PLACE, "container", "ptr")
        self.key = code.field(place, PLACE, "key", "ptr")
        self.expected = code.field(place, PLACE, "expected")

    def look(self) -> None:
        """Fail unless the place holds what is expected, by its kind."""
        for kind, compared in (
            (ITEM, self.item),
            (CELL, self.cell),
            (ATTRIBUTE, self.attribute),
            (ELEMENT, self.element),
            (LIST_SIZE, self.list_size),
            (DICT_SIZE, self.dict_size),
            (SET_SIZE, self.set_size),
            (MEMBER, self.member),
            (FIELD, self.field),
            (SAME_ITEMS, self.same_items),
        ):
            self.code.when(self.code.equal(self.kind, kind), compared)

    def item(self) -> None:
        held = self.code.invoke("dict_item", "ptr", ("ptr", self.container), ("ptr", self.key))
        _compare(self.code, held, self.expected)

    def cell(self) -> None:
        self.same_word(self.code.inside(self.container, objects.CELL))

    def attribute(self) -> None:
        code = self.code
        held = code.invoke("get_attribute", "ptr", ("ptr", self.container), ("ptr", self.key))
        absent = code.equal(held, "null", "ptr")
        code.clear_if(absent)
        there = code.let(f"xor i1 {absent}, true")
        # Its place keeps it: where this was the last reference to it, it is another object.
        code.when(there, lambda: code.drop(held))
        _compare(code, held, self.expected)

    def element(self) -> None:
        """Of a list, whose size was compared before."""
        items = self.code.inside(self.container, objects.LIST_ITEMS, "ptr")
        self.same_word(self.code.load(items, self.code.field(self.place, PLACE, "key")))

    def list_size(self) -> None:
        self.same_word(self.code.inside(self.container, objects.COUNT))

    def dict_size(self) -> None:
        self.same_word(self.code.invoke("dict_size", "i64", ("ptr", self.container)))

    def set_size(self) -> None:
        self.same_word(self.code.invoke("set_size", "i64", ("ptr", self.container)))

    def member(self) -> None:
        contained = self.code.invoke(
            "set_contains", "i32", ("ptr", self.container), ("ptr", self.key)
        )
        self.code.leave_unless_equal(contained, 1, "i32")

    def field(self) -> None:
        """Of an object, so many bytes into it."""
        offset = self.code.field(self.place, PLACE, "key")
        self.same_word(self.code.load(self.code.at(self.container, offset, "i8"), 0))

    def same_items(self) -> None:
        known = self.code.field(self.place, PLACE, "expected", "ptr")
        given = f"ptr %table, ptr {self.container}, ptr {known}"
        same = self.code.let(f"call i1 @same_items({given})")
        self.code.leave_unless_equal(same, "true", "i1")

    def same_word(self, word: str) -> None:
        self.code.leave_unless_equal(word, self.expected)


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


def _compare(code: Function, held: str, expected: str) -> None:
    """Fail unless an object is the one at an address."""
    address = code.let(f"ptrtoint ptr {held} to i64")
    code.leave_unless_equal(address, expected)
