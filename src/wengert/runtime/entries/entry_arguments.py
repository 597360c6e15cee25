"""The first half of the entry point: trees of arguments are opened, and every array is compared
with what the program was made for.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.kernel import HEADER, STATUS
from wengert.codegen.llvm.text.lines import Module
from wengert.runtime.entries import objects
from wengert.runtime.entries.entry_function import Function
from wengert.runtime.entries.entry_words import BLOCK, DICT, FIELDS, LEAF, LIST, NODE, TUPLE


def write_open(module: Module) -> None:
    """Take the nodes of the arguments apart. A reference is held to every object that is found, so
    that whatever other threads do to the trees, the arrays stay until the call is over.

        for each node, the outer ones first:
            if its object is not of the node's type, or has more or fewer items: fail
            for each item, value or field: hold it; objects[its place] = it
            if its attributes are counted, and are more or fewer: fail
    """
    code = Function(module)
    things = code.section("objects")
    keys = code.section("keys")

    def keep(thing: str, place: str) -> None:
        code.store(thing, things, place, "ptr")
        code.write("held", str(code.add(code.read("held"), 1)))

    def open_node(_i: str, node: str) -> None:
        thing = code.load(things, code.field(node, NODE, "object"), "ptr")
        kind, count = code.field(node, NODE, "kind"), code.field(node, NODE, "count")
        first = code.field(node, NODE, "children")
        names = code.at(keys, code.field(node, NODE, "keys"))
        code.leave_unless_equal(
            code.inside(thing, objects.TYPE, "ptr"), code.field(node, NODE, "type", "ptr"), "ptr"
        )
        for which, opened in (
            (TUPLE, lambda: _open_items(code, thing, count, first, keep, False)),
            (LIST, lambda: _open_items(code, thing, count, first, keep, True)),
            (DICT, lambda: _open_dict(code, thing, count, first, names, keep)),
            (FIELDS, lambda: _open_fields(code, thing, count, first, names, keep)),
        ):
            code.when(code.equal(kind, which), opened)
        attributes = code.field(node, NODE, "attributes")
        counted = code.compare("sge", attributes, 0)
        code.when(counted, lambda: _count_attributes(code, thing, attributes))

    code.do("%position = alloca i64, align 8")
    code.do("%key = alloca ptr, align 8")
    code.do("%value = alloca ptr, align 8")
    code.records("nodes", NODE, "node_count", open_node)
    code.define_test("open")


def _open_items(
    code: Function,
    thing: str,
    count: str,
    first: str,
    keep: Callable[[str, str], None],
    is_list: bool,
) -> None:
    """The items of a list or a tuple, where there are as many as before."""
    code.leave_unless_equal(code.inside(thing, objects.COUNT), count)
    if is_list:
        items = code.inside(thing, objects.LIST_ITEMS, "ptr")
    else:
        items = code.at(thing, objects.TUPLE_ITEMS, "i8")

    def take(k: str) -> None:
        item = code.load(items, k, "ptr")
        code.invoke("incref", "void", ("ptr", item))
        keep(item, str(code.add(first, k)))

    code.times(0, count, take)


def _open_dict(
    code: Function,
    thing: str,
    count: str,
    first: str,
    names: str,
    keep: Callable[[str, str], None],
) -> None:
    """The values, where the keys come in the same order: the same objects, or equal strings."""
    code.leave_unless_equal(code.invoke("dict_size", "i64", ("ptr", thing)), count)
    code.do("store i64 0, ptr %position, align 8")
    code.do("store ptr null, ptr %key, align 8")

    def take(k: str) -> None:
        places = [("ptr", name) for name in (thing, "%position", "%key", "%value")]
        more = code.invoke("dict_next", "i32", *places)
        code.leave_if(code.equal(more, 0, "i32"))
        key, value = code.load("%key", 0, "ptr"), code.load("%value", 0, "ptr")
        code.invoke("incref", "void", ("ptr", value))
        keep(value, str(code.add(first, k)))
        wanted = code.load(names, k, "ptr")
        code.when(code.let(f"icmp ne ptr {key}, {wanted}"), lambda: compare(key, wanted))

    def compare(key: str, wanted: str) -> None:
        text = code.read("str", "ptr")
        for x in (key, wanted):
            code.leave_unless_equal(code.inside(x, objects.TYPE, "ptr"), text, "ptr")
        order = code.invoke("compare_strings", "i32", ("ptr", key), ("ptr", wanted))
        code.leave_unless_equal(order, 0, "i32")

    code.times(0, count, take)


def _open_fields(
    code: Function,
    thing: str,
    count: str,
    first: str,
    names: str,
    keep: Callable[[str, str], None],
) -> None:
    """The fields of a dataclass, which may be computed by Python code, and what else it holds."""

    def take(k: str) -> None:
        name = code.load(names, k, "ptr")
        field = code.invoke("get_attribute", "ptr", ("ptr", thing), ("ptr", name))
        absent = code.equal(field, "null", "ptr")
        code.clear_if(absent)
        code.leave_if(absent)
        keep(field, str(code.add(first, k)))

    code.times(0, count, take)


def _count_attributes(code: Function, thing: str, wanted: str) -> None:
    """Fail where an object has more or fewer attributes than before."""
    held = code.invoke("attributes", "ptr", ("ptr", thing), ("ptr", "null"))
    absent = code.equal(held, "null", "ptr")
    code.clear_if(absent)
    code.leave_if(absent)
    size = code.invoke("dict_size", "i64", ("ptr", held))
    code.drop(held)
    code.leave_unless_equal(size, wanted)


def write_check(module: Module) -> None:
    """Compare all leaves with what the program was made for; their addresses and the Dims go to
    the frame.

        status = 0; every Dim = -1: not met yet
        for each leaf i: seen[i] = its object
            of a static value: fail unless it is the very object
            of an array that is tied to an earlier one: fail unless it is that one
            of any other: fail if it was seen in the same argument, or does not fit
    """
    code = Function(module)
    things, seen = code.section("objects"), code.section("seen")
    frame = code.read("frame", "ptr")
    dims = code.at(frame, HEADER)
    code.store(0, frame, STATUS)
    code.times(0, code.read("dim_count"), lambda d: code.store(-1, dims, d))

    def check(i: str, leaf: str) -> None:
        thing = code.load(things, code.field(leaf, LEAF, "object"), "ptr")
        code.store(thing, seen, i, "ptr")
        known = code.field(leaf, LEAF, "dtype")

        def static() -> None:
            value = code.field(leaf, LEAF, "scalar", "ptr")
            code.leave_unless_equal(thing, value, "ptr")

        code.when(code.equal(known, 0), static)
        code.when(
            code.let(f"icmp ne i64 {known}, 0"), lambda: _check_one(code, i, leaf, thing, dims)
        )

    code.records("leaves", LEAF, "leaf_count", check)
    code.define_test("check")


def _check_one(code: Function, i: str, leaf: str, thing: str, dims: str) -> None:
    """An array must be tied to the arrays it was tied to, and to no other. Scalars never are."""
    first = code.field(leaf, LEAF, "first")
    seen = code.section("seen")
    own = code.equal(first, i)
    kind = code.inside(thing, objects.TYPE, "ptr")
    ndarray = code.read("ndarray", "ptr")

    def compare() -> None:
        is_array = code.let(f"icmp eq ptr {kind}, {ndarray}")
        code.when(is_array, lambda: _require_new(code, seen, code.field(leaf, LEAF, "group"), i))
        _check_array(code, i, leaf, thing, dims)

    def compare_tied() -> None:
        code.leave_unless_equal(kind, ndarray, "ptr")
        code.leave_unless_equal(code.load(seen, first, "ptr"), thing, "ptr")

    code.when(own, compare)
    code.when(code.let(f"xor i1 {own}, true"), compare_tied)


def _require_new(code: Function, seen: str, group: str, i: str) -> None:
    """Object i is none of those before it in its argument: compared by blocks, then one by one."""
    kind = f"<{BLOCK} x i64>"
    address = code.load(seen, i)
    single = code.let(f"insertelement {kind} poison, i64 {address}, i32 0")
    mask = f"<{BLOCK} x i32> zeroinitializer"
    wanted = code.let(f"shufflevector {kind} {single}, {kind} poison, {mask}")
    blocks = code.div(code.sub(i, group), BLOCK)
    rest = str(code.add(group, code.mul(blocks, BLOCK)))

    def block(j: int | str, _carried: list[str]) -> None:
        others = code.let(f"load {kind}, ptr {code.at(seen, str(j))}, align 8")
        same = code.let(f"icmp eq {kind} {others}, {wanted}")
        repeated = code.call(f"llvm.vector.reduce.or.v{BLOCK}i1", "i1", (f"<{BLOCK} x i1>", same))
        code.leave_if(repeated)

    code.loop(group, rest, BLOCK, block)
    code.times(rest, i, lambda j: code.leave_if(code.equal(code.load(seen, j), address)))


def _check_array(code: Function, i: str, leaf: str, thing: str, dims: str) -> None:
    """Compare one leaf.

    of a NumPy scalar, or a Python number: frame[slot] = where its number lies
        (an int of Python's is converted first)
    of an array: fail unless dtype, flags, rank and sizes are as they must be
        frame[slot] = its data; begins[i], ends[i] = its first byte, and the one behind its last
    """
    kind = code.inside(thing, objects.TYPE, "ptr")
    frame = code.read("frame", "ptr")
    slot = code.field(leaf, LEAF, "slot")
    scalar = code.let(f"icmp eq ptr {kind}, {code.field(leaf, LEAF, 'scalar', 'ptr')}")

    def convert() -> None:
        value = code.invoke("as_number", "i64", ("ptr", thing))
        code.when(code.equal(value, -1), require_no_error)
        place = code.at(code.section("numbers"), i)
        code.store(value, place, 0)
        code.store(place, frame, slot, "ptr")

    def require_no_error() -> None:
        wrong = code.let(f"icmp ne ptr {code.invoke('error', 'ptr')}, null")
        code.clear_if(wrong)
        code.leave_if(wrong)

    def number() -> None:
        code.store(code.at(thing, objects.SCALAR, "i8"), frame, slot, "ptr")
        code.when(code.equal(code.field(leaf, LEAF, "whole"), 1), convert)
        for section in ("begins", "ends"):  # nobody writes to it
            code.store(0, code.section(section), i)

    def array() -> None:
        code.leave_unless_equal(kind, code.read("ndarray", "ptr"), "ptr")
        dtype = code.inside(code.inside(thing, objects.DTYPE, "ptr"), objects.DTYPE_WORD)
        code.leave_unless_equal(dtype, code.field(leaf, LEAF, "dtype"))
        wanted = code.field(leaf, LEAF, "flags")
        flags = code.let(f"zext i32 {code.inside(thing, objects.FLAGS, 'i32')} to i64")
        code.leave_unless_equal(code.let(f"and i64 {flags}, {wanted}"), wanted)
        rank = code.let(f"sext i32 {code.inside(thing, objects.RANK, 'i32')} to i64")
        code.leave_unless_equal(rank, code.field(leaf, LEAF, "rank"))
        count = _check_sizes(code, leaf, thing, rank, dims)
        data = code.inside(thing, objects.DATA)
        code.store(data, frame, slot)
        code.store(data, code.section("begins"), i)
        size = code.mul(count, code.field(leaf, LEAF, "itemsize"))
        code.store(str(code.add(data, size)), code.section("ends"), i)

    code.when(scalar, number)
    code.when(code.let(f"xor i1 {scalar}, true"), array)


def _check_sizes(code: Function, leaf: str, thing: str, rank: str, dims: str) -> str:
    """Compare the shape, binding each Dim where it is met first; the number of elements.

    for each axis: wanted is a size, or -1 - d for Dim d
        a Dim that was not met: fail unless least <= size <= capacity; it is this size from now on
        else fail unless the size is the wanted one, or that of the Dim
    """
    shape = code.inside(thing, objects.SHAPE, "ptr")
    sizes = code.at(code.section("sizes"), code.field(leaf, LEAF, "sizes"))
    least, capacity = code.section("least"), code.section("capacity")

    def axis(a: int | str, carried: list[str]) -> list[str]:
        size, wanted = code.load(shape, str(a)), code.load(sizes, str(a))
        dim = code.let(f"sub i64 -1, {wanted}")

        def bound() -> list[str]:
            before = code.load(dims, dim)
            new = code.compare("slt", before, 0)
            code.when(new, bind)
            return [code.let(f"select i1 {new}, i64 {size}, i64 {before}")]

        def bind() -> None:
            code.leave_if(code.compare("slt", size, code.load(least, dim)))
            code.leave_if(code.compare("sgt", size, code.load(capacity, dim)))
            code.store(size, dims, dim)

        is_dim = code.compare("slt", wanted, 0)
        (expected,) = code.either(is_dim, ["i64"], bound, lambda: [wanted])
        code.leave_unless_equal(size, expected)
        return [str(code.mul(carried[0], size))]

    return code.loop(0, rank, 1, axis, [("i64", "1")])[0]


def write_apart(module: Module) -> None:
    """Whether no donated array shares a byte with another: sorted by their first bytes (they were
    sorted in the last call, so little moves), each begins behind the ends of those before it.

        sort the order by begins
        any_end = donated_end = 0
        for each array in that order:
            limit = any_end if it is donated else donated_end
            if it has bytes, and begins before the limit: fail
            any_end = max(any_end, its end), and if it is donated, donated_end likewise
    """
    code = Function(module)
    order, count = code.section("order"), code.read("apart_count")
    begins, ends, leaves = code.section("begins"), code.section("ends"), code.section("leaves")

    def compare(k: int | str, ends_before: list[str]) -> list[str]:
        any_end, donated_end = ends_before
        leaf = code.load(order, str(k))
        begin, end = code.load(begins, leaf), code.load(ends, leaf)
        record = code.at(leaves, str(code.mul(leaf, len(LEAF))))
        donated = code.let(f"icmp ne i64 {code.field(record, LEAF, 'donated')}, 0")
        limit = code.let(f"select i1 {donated}, i64 {any_end}, i64 {donated_end}")
        filled = code.compare("slt", begin, end)
        inside = code.compare("slt", begin, limit)
        code.leave_if(code.let(f"and i1 {filled}, {inside}"))
        reached = str(code.max(any_end, end))
        written = str(code.max(donated_end, end))
        return [reached, code.let(f"select i1 {donated}, i64 {written}, i64 {donated_end}")]

    code.times(0, count, lambda k: _insert(code, order, begins, k))
    code.loop(0, count, 1, compare, [("i64", "0"), ("i64", "0")])
    code.define_test("apart")


def _insert(code: Function, order: str, begins: str, k: str) -> None:
    """Let the k-th of an order sink to its place among those before it.

    j = k
    while j > 0 and begins[order[j - 1]] > begins[leaf]: order[j] = order[j - 1]; j -= 1
    order[j] = leaf
    """
    leaf = code.load(order, k)
    begin, before, number = code.load(begins, leaf), code.block, code.fresh()
    code.do(f"br label %sink{number}")
    code.label(f"sink{number}")
    code.do(f"%j{number} = phi i64 [ {k}, %{before} ], [ %less{number}, %move{number} ]")
    first = code.compare("eq", f"%j{number}", 0)
    code.do(f"br i1 {first}, label %put{number}, label %look{number}")
    code.label(f"look{number}")
    code.do(f"%less{number} = sub i64 %j{number}, 1")
    other = code.load(order, f"%less{number}")
    later = code.compare("sgt", code.load(begins, other), begin)
    code.do(f"br i1 {later}, label %move{number}, label %put{number}")
    code.label(f"move{number}")
    code.store(other, order, f"%j{number}")
    code.do(f"br label %sink{number}")
    code.label(f"put{number}")
    code.store(leaf, order, f"%j{number}")
