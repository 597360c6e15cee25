"""The pool of results as LLVM text: the four functions that NumPy asks for the memory of an array,
and for no others than the large results of programs.

Python's lock is held wherever NumPy calls them, so they need none of their own. A block is what an
array sees, from the beginning of a cache line on. Before it lie two words: how many bytes there
are in all, and where they begin. The pool knows the blocks that no array has, in the order in which
they came back.

    new(size):             wanted = how many bytes to ask for
                           the last that came back of the blocks of this size, or a new one
    free(block):           let the oldest go until there is room for this one, and add it
    resize(block, size):   a new one, with what the old one holds
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.llvm.text.lines import Module
from wengert.codegen.memory.plan import ALIGNMENT
from wengert.runtime.entries.entry_function import Function

# Words of the pool. Memory comes from NumPy's own functions, and goes back to them.
LIMIT, HELD, COUNT, MALLOC, FREE, CONTEXT, BLOCKS = range(7)
MOST_BLOCKS = 32
POOL_WORDS = BLOCKS + MOST_BLOCKS

LEAST_BYTES = 1 << 20  # of a result: smaller ones have warm pages without a pool
_LINE_BYTES = ALIGNMENT
_EXTRA_BYTES = 2 * _LINE_BYTES  # for the header, and to begin with a line
_SIZE, _BEGIN = -8, -7  # words of a block's header, from the block on
_STEPS = 3  # there are 2**3 sizes of block between one power of two and the next

# In the order of NumPy's record.
POOL_FUNCTIONS = NEW, CLEARED, RESIZED, RELEASED = (
    "result_new",
    "result_zeros",
    "result_resize",
    "result_free",
)


def write_result_pool(module: Module) -> None:
    _write_remove(module)
    _write_drop_oldest(module)
    _write_new(module)
    _write_cleared(module)
    _write_released(module)
    _write_resized(module)


def _write_remove(module: Module) -> None:
    """ptr(pool, k): take a block, by its number, out of the pool.

    held -= its size; count -= 1; those behind it move up
    """
    code = Function(module)
    block = code.load("%table", str(code.add("%k", BLOCKS)), "ptr")
    code.store(str(code.sub(code.load("%table", HELD), code.load(block, _SIZE))), "%table", HELD)
    left = str(code.sub(code.load("%table", COUNT), 1))
    code.store(left, "%table", COUNT)

    def move(i: str) -> None:
        following = code.load("%table", str(code.add(i, BLOCKS + 1)), "ptr")
        code.store(following, "%table", str(code.add(i, BLOCKS)), "ptr")

    code.times("%k", left, move)
    code.do(f"ret ptr {block}")
    code.define("result_remove", "ptr", "ptr %table, i64 %k")


def _write_drop_oldest(module: Module) -> None:
    """void(pool): give the block back that has been there longest."""
    code = Function(module)
    _give_back(code, code.let("call ptr @result_remove(ptr %table, i64 0)"))
    code.do("ret void")
    code.define("result_drop", "void")


def _give_back(code: Function, block: str) -> None:
    """Let a block go: it is NumPy's again."""
    free, context = code.load("%table", FREE, "ptr"), code.load("%table", CONTEXT, "ptr")
    begin, size = code.load(block, _BEGIN, "ptr"), code.load(block, _SIZE)
    code.do(f"call void {free}(ptr {context}, ptr {begin}, i64 {size})")


def _write_new(module: Module) -> None:
    """ptr(pool, size): a block for an array.

    wanted = the size, rounded up for large ones
    k = the last of the pool's blocks of that size
    if there is one: take it out
    else: ask NumPy; if that has none: let all blocks go, and ask again; if it has none: null
          block = the first line behind the header; note size and begin before it
    """
    code = Function(module)
    wanted = _block_size(code)

    def compare(i: int | str, carried: list[str]) -> list[str]:
        block = code.load("%table", str(code.add(i, BLOCKS)), "ptr")
        same = code.equal(code.load(block, _SIZE), wanted)
        return [code.let(f"select i1 {same}, i64 {i}, i64 {carried[0]}")]

    (k,) = code.loop(0, code.load("%table", COUNT), 1, compare, [("i64", "-1")])

    def take() -> list[str]:
        return [code.let(f"call ptr @result_remove(ptr %table, i64 {k})")]

    def make() -> list[str]:
        def again() -> list[str]:
            _drop_while(code, lambda: "true")
            return [_ask(code, wanted)]

        first = _ask(code, wanted)
        missing = code.equal(first, "null", "ptr")
        (begin,) = code.either(missing, ["ptr"], again, lambda: [first])
        code.leave_if(code.equal(begin, "null", "ptr"))
        block = _aligned(code, begin)
        code.store(wanted, block, _SIZE)
        code.store(begin, block, _BEGIN, "ptr")
        return [block]

    (block,) = code.either(code.compare("sge", k, 0), ["ptr"], take, make)
    code.do(f"ret ptr {block}")
    code.label("fail")
    code.do("ret ptr null")
    code.define(NEW, "ptr", "ptr %table, i64 %size", public=True)


def _aligned(code: Function, begin: str) -> str:
    """The first line that has another one before it."""
    address = code.let(f"ptrtoint ptr {begin} to i64")
    line = code.let(f"and i64 {code.add(address, _EXTRA_BYTES - 1)}, -{_LINE_BYTES}")
    return code.let(f"inttoptr i64 {line} to ptr")


def _block_size(code: Function) -> str:
    """How many bytes are asked for where an array wants `%size`: for large ones rounded up, so
    that arrays of nearly the same size can follow each other there.
    """
    size = str(code.add("%size", _EXTRA_BYTES))
    zeros = code.call("llvm.ctlz.i64", "i64", ("i64", size), ("i1", "false"))
    unit = code.let(f"shl i64 1, {code.sub(63 - _STEPS, zeros)}")
    rounded = code.mul(code.div(code.sub(code.add(size, unit), 1), unit), unit)
    small = code.compare("slt", "%size", LEAST_BYTES)
    return code.let(f"select i1 {small}, i64 {size}, i64 {rounded}")


def _ask(code: Function, size: str) -> str:
    malloc, context = code.load("%table", MALLOC, "ptr"), code.load("%table", CONTEXT, "ptr")
    return code.let(f"call ptr {malloc}(ptr {context}, i64 {size})")


def _drop_while(code: Function, holds: Callable[[], str]) -> None:
    """Let the oldest blocks go while this holds and there is one."""

    def goes_on(_i: int | str, _carried: list[str]) -> str:
        some = code.compare("sgt", code.load("%table", COUNT), 0)
        return code.let(f"and i1 {some}, {holds()}")

    def drop(_i: int | str, _carried: list[str]) -> None:
        code.do("call void @result_drop(ptr %table)")

    code.repeat(goes_on, drop, ())


def _write_cleared(module: Module) -> None:
    """ptr(pool, count, each): a new block of zeros."""
    code = Function(module)
    size = code.mul("%count", "%each")
    made = code.let(f"call ptr @{NEW}(ptr %table, i64 {size})")
    code.leave_if(code.equal(made, "null", "ptr"))
    code.clear(made, size)
    code.do(f"ret ptr {made}")
    code.label("fail")
    code.do("ret ptr null")
    code.define(CLEARED, "ptr", "ptr %table, i64 %count, i64 %each", public=True)


def _write_released(module: Module) -> None:
    """void(pool, block, size): an array is done with its block.

    if it is small, or larger than all the pool may hold: give it back
    else: while the pool is full: drop the oldest
          blocks[count] = block; count += 1; held += its size
    """
    code = Function(module)
    size, limit = code.load("%block", _SIZE), code.load("%table", LIMIT)
    small = code.compare("slt", size, LEAST_BYTES)
    unwanted = code.let(f"or i1 {small}, {code.compare('sgt', size, limit)}")

    def keep() -> list[str]:
        def is_full() -> str:
            held = code.add(code.load("%table", HELD), size)
            many = code.compare("eq", code.load("%table", COUNT), MOST_BLOCKS)
            return code.let(f"or i1 {many}, {code.compare('sgt', held, limit)}")

        _drop_while(code, is_full)
        count = code.load("%table", COUNT)
        code.store("%block", "%table", str(code.add(count, BLOCKS)), "ptr")
        code.store(str(code.add(count, 1)), "%table", COUNT)
        code.store(str(code.add(code.load("%table", HELD), size)), "%table", HELD)
        return []

    def give_back() -> list[str]:
        _give_back(code, "%block")
        return []

    code.either(unwanted, [], give_back, keep)
    code.do("ret void")
    code.define(RELEASED, "void", "ptr %table, ptr %block, i64 %size", public=True)


def _write_resized(module: Module) -> None:
    """ptr(pool, block, size): a new block with what the old one held, which is released."""
    code = Function(module)
    made = code.let(f"call ptr @{NEW}(ptr %table, i64 %size)")
    code.leave_if(code.equal(made, "null", "ptr"))
    before = code.sub(code.load("%block", _SIZE), _EXTRA_BYTES)
    code.copy(made, "%block", code.min(before, "%size"))
    code.do(f"call void @{RELEASED}(ptr %table, ptr %block, i64 0)")
    code.do(f"ret ptr {made}")
    code.label("fail")
    code.do("ret ptr null")
    code.define(RESIZED, "ptr", "ptr %table, ptr %block, i64 %size", public=True)
