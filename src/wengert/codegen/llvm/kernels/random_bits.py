"""Random bits by counting: Philox4x32-10, with the counter that `ops/random.py` describes.

One lane works on one block of four words. Words are kept in 64 bits, so that a product of two has
room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wengert.codegen.llvm.kernels.axes import load_lanes, loop_vectors, over_lanes, store_lanes
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import uint32, uint64

_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_LOW = 0xFFFFFFFF
_NUMBERS, _KEYS = 0, 1  # purposes
_WORDS = 4  # of a block


def _round_keys(code: Code, key: StridedArray) -> StridedArray:
    """The keys of all rounds: table[round, i] = key[i] + round · step[i], in 32 bits."""
    table = StridedArray(code.room(uint64, 2 * _ROUNDS), (_ROUNDS, 2), (2, 1), uint64)
    with code.with_lanes(1):
        for i, step in enumerate(_KEY_STEPS):
            word = code.load(key.at(code, i).pointer, uint32).parts[0]
            for number in range(_ROUNDS):
                here = code.let(f"add i32 {word}, {number * step % 2**32}")
                wide = Vector((code.let(f"zext i32 {here} to i64"),), uint64)
                code.store(wide, table.at(code, number, i).pointer)
    return table


def _philox(e: Arithmetic, counter: Sequence[Vector], keys: StridedArray) -> list[Vector]:
    """Four random words, each below 2**32, from four words of counter.

    for each round: left, right = c0 · M0, c2 · M1
        c0, c1, c2, c3 = high(right) ^ c1 ^ k0, low(right), high(left) ^ c3 ^ k1, low(left)
    """
    code, low = e.code, e.const(_LOW, uint64)

    def mix(number: Index, words: Sequence[Vector]) -> list[Vector]:
        c0, c1, c2, c3 = words
        k0, k1 = (code.load_splat(keys.at(code, number, i).pointer, uint64) for i in range(2))
        # The mask says once more that a word has 32 bits: then the product is one instruction.
        left = e.mul(e.and_(c0, low), e.const(_MULTIPLIERS[0], uint64))
        right = e.mul(e.and_(c2, low), e.const(_MULTIPLIERS[1], uint64))
        return [
            e.xor(e.xor(e.lshr(right, 32), c1), k0),
            e.and_(right, low),
            e.xor(e.xor(e.lshr(left, 32), c3), k1),
            e.and_(left, low),
        ]

    return loop_vectors(code, 0, _ROUNDS, mix, counter)


def _emit_bits(call: KernelCall) -> None:
    """For each LANES blocks of four words: y = philox(counter of the blocks); the last ones, of
    which not all are needed, go through memory on the stack.
    """
    code, (key,), (y,) = call.code, call.operands, call.outputs
    e = Arithmetic(code, uint64)
    words: Index = y.dtype.itemsize // uint32.itemsize
    for size in y.shape:
        words = code.mul(words, size)
    chunk = _WORDS * code.lanes
    out = StridedArray(y.pointer, (words,), (1,), uint32)
    rest = StridedArray(code.room(uint32, chunk), (chunk,), (1,), uint32)
    keys = _round_keys(code, key)
    stream, purpose = e.const(call.params["stream"]), e.const(_NUMBERS)

    def blocks(i: Index, _: list[str]) -> None:
        block = e.add(code.splat(str(code.div(i, _WORDS)), uint64), code.lane_numbers(uint64))
        counter = [e.and_(block, e.const(_LOW)), e.lshr(block, 32), stream, purpose]
        whole = code.compare("sle", code.add(i, chunk), words)
        there = out.at(code, i).pointer
        to = code.let(f"select i1 {whole}, ptr {there}, ptr {rest.pointer}")
        _store_blocks(code, _philox(e, counter, keys), to)

    code.loop(0, words, chunk, blocks)
    last = code.mul(code.div(words, chunk), chunk)
    end = StridedArray(out.at(code, last).pointer, (chunk,), (1,), uint32)

    def copy(j: Index, mask: Vector | None) -> None:
        store_lanes(code, load_lanes(code, rest, j, mask), end, j, mask)

    over_lanes(code, code.sub(words, last), copy)


def _store_blocks(code: Code, words: Sequence[Vector], pointer: str) -> None:
    """Write the words of block after block: those of one lane stand together."""
    e = Arithmetic(code, uint32)
    words = [e.cast(word, uint32) for word in words]
    if code.lanes == 1:
        for i, word in enumerate(words):
            code.store(word, code.address(pointer, i, uint32))
        return
    n = code.width
    in_order = _positions(range(2 * n))
    by_block = _positions(q * n + lane for lane in range(n) for q in range(_WORDS))
    for piece, parts in enumerate(zip(*(word.parts for word in words), strict=True)):
        first, second = (
            code.let(f"shufflevector <{n} x i32> {x}, <{n} x i32> {y}, {in_order}")
            for x, y in (parts[:2], parts[2:])
        )
        pair = f"<{2 * n} x i32>"
        whole = code.let(f"shufflevector {pair} {first}, {pair} {second}, {by_block}")
        at = code.address(pointer, piece * _WORDS * n, uint32)
        code.do(f"store <{_WORDS * n} x i32> {whole}, ptr {at}, align 4")


def _positions(lanes: Iterable[int]) -> str:
    """The mask of a shuffle."""
    each = [f"i32 {lane}" for lane in lanes]
    return f"<{len(each)} x i32> <{', '.join(each)}>"


def _emit_fold(call: KernelCall) -> None:
    code, (key, number), (y,) = call.code, call.operands, call.outputs
    e = Arithmetic(code, uint64)
    with code.with_lanes(1):
        n = e.cast(code.load(number.pointer, number.dtype), uint64)
        counter = [e.and_(n, e.const(_LOW)), e.lshr(n, 32), e.const(0), e.const(_KEYS)]
        words = _philox(e, counter, _round_keys(code, key))
        for i in range(2):
            code.store(e.cast(words[i], uint32), y.at(code, i).pointer)


RANDOM = {"random_bits": Special(_emit_bits), "fold_in": Special(_emit_fold)}
