"""The second half of the entry point: results are made, and the tree around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wengert.codegen.kernel import HEADER
from wengert.codegen.llvm.text.lines import Module
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_function import Function
from wengert.runtime.entries.entry_words import (
    BUILD,
    CONSTANT,
    DICT,
    LEAF,
    LIST,
    OUTPUT,
    TERM,
    TUPLE,
)
from wengert.runtime.entries.result_pool_code import LEAST_BYTES


def write_measure(module: Module) -> None:
    """Compute the sizes of results that depend on Dims.

    for each term: shapes[word] = (0 if it is the first of its size, else what is there)
                                  + coefficient · the product of its Dims
    """
    code = Function(module)
    dims = code.at(code.read("frame", "ptr"), HEADER)
    shapes, factors = code.section("shapes"), code.section("factors")

    def term(_i: str, record: str) -> None:
        first = code.at(factors, code.field(record, TERM, "factors"))

        def multiply(k: int | str, carried: list[str]) -> list[str]:
            return [str(code.mul(carried[0], code.load(dims, code.load(first, str(k)))))]

        coefficient = code.field(record, TERM, "coefficient")
        count = code.field(record, TERM, "count")
        (product,) = code.loop(0, count, 1, multiply, [("i64", coefficient)])
        word = code.field(record, TERM, "word")
        starts = code.let(f"icmp ne i64 {code.field(record, TERM, 'starts')}, 0")
        before = code.let(f"select i1 {starts}, i64 0, i64 {code.load(shapes, word)}")
        code.store(str(code.add(before, product)), shapes, word)

    code.records("terms", TERM, "term_count", term)
    code.do("ret void")
    code.define("measure", "void")


def write_allocate(module: Module) -> None:
    """Make the results: new arrays, or the donated ones. Fails where Python has raised.

    for each output i:
        donated: results[i] = the argument, which is held once more
        else:    results[i] = a new array; frame[slot] = its data
        made = i + 1
    """
    code = Function(module)
    things, results, leaves = map(code.section, ("objects", "results", "leaves"))
    frame = code.read("frame", "ptr")

    def output(i: str, record: str) -> None:
        leaf = code.field(record, OUTPUT, "leaf")

        def make() -> list[str]:
            made = _new_array_of_size(code, record)
            code.leave_if(code.equal(made, "null", "ptr"))
            code.store(code.inside(made, objects.DATA), frame, code.field(record, OUTPUT, "slot"))
            return [made]

        def take() -> list[str]:
            place = code.field(code.at(leaves, str(code.mul(leaf, len(LEAF)))), LEAF, "object")
            thing = code.load(things, place, "ptr")
            code.invoke("incref", "void", ("ptr", thing))
            return [thing]

        (result,) = code.either(code.compare("slt", leaf, 0), ["ptr"], make, take)
        code.store(result, results, i, "ptr")
        code.write("made", str(code.add(i, 1)))

    code.records("outputs", OUTPUT, "output_count", output)
    code.define_test("allocate")


def _new_array_of_size(code: Function, record: str) -> str:
    """A new array; the memory of a large one comes from the pool of results."""
    sizes = code.at(code.section("shapes"), code.field(record, OUTPUT, "shape"))

    def multiply(k: int | str, carried: list[str]) -> list[str]:
        return [str(code.mul(carried[0], code.load(sizes, str(k))))]

    rank, itemsize = (code.field(record, OUTPUT, name) for name in ("rank", "itemsize"))
    (size,) = code.loop(0, rank, 1, multiply, [("i64", itemsize)])
    handler = code.read("handler", "ptr")
    large = code.compare("sge", size, LEAST_BYTES)
    pooled = code.let(f"and i1 {large}, {code.let(f'icmp ne ptr {handler}, null')}")

    def from_pool() -> list[str]:
        before = code.invoke("set_handler", "ptr", ("ptr", handler))
        code.leave_if(code.equal(before, "null", "ptr"))
        made = _new_array(code, record)
        code.drop(code.invoke("set_handler", "ptr", ("ptr", before)))
        code.drop(before)
        return [made]

    (made,) = code.either(pooled, ["ptr"], from_pool, lambda: [_new_array(code, record)])
    return made


def _new_array(code: Function, record: str) -> str:
    rank = code.let(f"trunc i64 {code.field(record, OUTPUT, 'rank')} to i32")
    number = code.let(f"trunc i64 {code.field(record, OUTPUT, 'type_number')} to i32")
    return code.invoke(
        "new_array",
        "ptr",
        ("ptr", code.read("ndarray", "ptr")),
        ("i32", rank),
        ("ptr", code.at(code.section("shapes"), code.field(record, OUTPUT, "shape"))),
        ("i32", number),
        ("ptr", "null"),  # strides: those of C order
        ("ptr", "null"),  # memory: new
        ("i32", 0),
        ("i32", 0),
        ("ptr", "null"),
    )


def write_build(module: Module) -> None:
    """The tree of the results, from the inside out; null where Python has raised.

    for each record i: results[outputs + i] = a tuple, list or dict of earlier ones, or a constant
    return the last of them
    """
    code = Function(module)
    results, keys, count = code.section("results"), code.section("keys"), code.read("output_count")

    def build(i: str, record: str) -> None:
        names = code.at(keys, code.field(record, BUILD, "keys"))
        kind = code.field(record, BUILD, "kind")
        place = str(code.add(count, i))

        def constant() -> str:
            value = code.load(names, 0, "ptr")
            code.invoke("incref", "void", ("ptr", value))
            return value

        builders: dict[int, Callable[[], str]] = {
            TUPLE: lambda: _items(code, record, "new_tuple", "set_tuple_item"),
            LIST: lambda: _items(code, record, "new_list", "set_list_item"),
            DICT: lambda: _dictionary(code, record, names),
            CONSTANT: constant,
        }
        for which, builder in builders.items():
            built = partial(_store_built, code, builder, results, place)
            code.when(code.equal(kind, which), built)

    code.records("builds", BUILD, "build_count", build)
    last = code.sub(code.add(count, code.read("build_count")), 1)
    code.do(f"ret ptr {code.load(results, str(last), 'ptr')}")
    code.label("fail")
    code.do("ret ptr null")
    code.define("build", "ptr")


def _store_built(code: Function, builder: Callable[[], str], results: str, place: str) -> None:
    code.store(builder(), results, place, "ptr")


def _part(code: Function, record: str, k: str) -> str:
    """A child of the tree that is built."""
    parts = code.at(code.section("children"), code.field(record, BUILD, "children"))
    return code.load(code.section("results"), code.load(parts, k), "ptr")


def _items(code: Function, record: str, new: str, put: str) -> str:
    """A tuple or a list, to which its items belong from then on."""
    size = code.field(record, BUILD, "count")
    made = code.invoke(new, "ptr", ("i64", size))
    code.leave_if(code.equal(made, "null", "ptr"))

    def item(k: str) -> None:
        code.invoke(put, "i32", ("ptr", made), ("i64", k), ("ptr", _part(code, record, k)))

    code.times(0, size, item)
    return made


def _dictionary(code: Function, record: str, names: str) -> str:
    """A dict, which holds its values; ours go."""
    made = code.invoke("new_dict", "ptr")
    code.leave_if(code.equal(made, "null", "ptr"))

    def put(k: str) -> None:
        value = _part(code, record, k)
        entry = (("ptr", made), ("ptr", code.load(names, k, "ptr")), ("ptr", value))
        failed = code.invoke("set_dict_item", "i32", *entry)
        code.leave_if(code.let(f"icmp ne i32 {failed}, 0"))
        code.invoke("decref", "void", ("ptr", value))

    code.times(0, code.field(record, BUILD, "count"), put)
    return made
