"""The loop over many calls as LLVM text: one function, `call_loop(control)`, for all programs.

For every call it points the frame at the rows of a batch, where they lie or gathered into a staging
array, at a row of a table of numbers and at a place for the report, and calls the program. Behind
the last batch of an epoch comes the first one of the next, for which another program makes a new
order of the rows. It ends after a number of calls, at the first one that fails, before a smaller
batch that the program is not known to be right for, or when its time is over: then Python looks
after signals. All that it knows stands in `control`, 64-bit words: those of `HEAD`, a record for
each of two programs, a record for each array of a batch, and one for each output that is kept of
every call.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.kernel import HEADER, NONFINITE, STATUS
from wengert.codegen.llvm.text.lines import Index, Module
from wengert.codegen.llvm.text.word_text import WordText

CALL_LOOP = "call_loop"
_GATHER = "gather"

_WORDS = (
    "count",  # calls to make
    "done",  # calls made
    "limit",  # nanoseconds after which to return
    "clock",  # the system's number of the clock that only goes forward
    "phase",  # where it is kept how many calls of a cycle have been made
    "length",  # calls of a cycle; the last of them runs the second program, all others the first
    "may_skip",  # whether a call that is not finite by itself is skipped; else it ends the loop
    "counter",  # where calls are counted: a program does that, unless the call is skipped
    "skipped",  # a byte per call: 1 where it was skipped
    "table",  # rows of numbers, one for each update
    "width",  # bytes of such a row
    "row",  # the row that the last call has used
    "reports",  # what programs report, one row per call
    "report",  # bytes of such a row
    "epoch",  # that of the next batch
    "number",  # of the next batch in its epoch
    "batches",  # of an epoch
    "size",  # rows of a batch
    "rest",  # rows of the last batch of an epoch, where these are fewer; else 0
    "order",  # which rows are gathered, one after the other
    "ordered",  # where the epoch stands that they are for
    "sort",  # a program that reads it and makes the order; 0 where all epochs have one order
    "sort_frame",  # its frame
    "arrays",  # how many there are in a batch
    "outputs",  # how many are kept of every call
)
HEAD = {name: word for word, name in enumerate(_WORDS)}
# `numbers` and `report` are slots of the frame. `sizes` are those of its Dims, as many as `dims`,
# for whole batches, and `rest_sizes` for a smaller one: 0 where it may not be right for that.
PROGRAM = ("function", "frame", "numbers", "report", "dims", "sizes", "rest_sizes")
ARRAY = ("source", "stride", "bytes", "staging", "slot", "last_slot")  # slots: of both programs
OUTPUT = ("target", "stride", "slot", "last_slot")  # where that of the first call goes
PROGRAMS = len(HEAD)
ARRAYS = PROGRAMS + 2 * len(PROGRAM)
_WORD_ROWS = 128  # bytes of the longest rows that are copied word by word


class _LoopText(WordText):
    """A function that reads the words of `control`."""

    def read(self, name: str, kind: str = "i64") -> str:
        return self.load("%control", HEAD[name], kind)

    def choose(self, condition: str, yes: Index, no: Index, kind: str = "i64") -> str:
        return self.let(f"select i1 {condition}, {kind} {yes}, {kind} {no}")

    def now(self, clock: str, place: str) -> Index:
        """The nanoseconds of a clock; `place` has room for seconds and nanoseconds."""
        number = self.let(f"trunc i64 {clock} to i32")
        self.call("clock_gettime", "i32", ("i32", number), ("ptr", place))
        return self.add(self.mul(self.load(place, 0), 10**9), self.load(place, 1))


def call_loop_text() -> str:
    """The module of `call_loop`."""
    module = Module()
    _define_gather(module)
    _define_call_loop(module)
    return module.text()


def _define_gather(module: Module) -> None:
    """void(target, source, stride, bytes, order, rows): copy the rows that `order` names.

    for i < rows: target[i · bytes] = source[order[i] · stride], so many bytes
        short rows of whole words: word by word
        rows of 4 bytes: one half of a word
        all others: by memcpy
    """
    code = _LoopText(module)
    whole = code.let("and i64 %bytes, 7")
    short = code.compare("sle", "%bytes", _WORD_ROWS)
    in_words = code.let(f"and i1 {code.compare('eq', whole, 0)}, {short}")
    is_single = code.compare("eq", "%bytes", 4)
    code.do(f"br i1 {in_words}, label %words, label %odd")
    code.label("words")
    words = code.let("lshr i64 %bytes, 3")
    _copy_rows(code, lambda target, source: _copy_units(code, target, source, words, "i64"))
    code.do("br label %done")
    code.label("odd")
    code.do(f"br i1 {is_single}, label %single, label %any")
    code.label("single")
    _copy_rows(code, lambda target, source: _copy_units(code, target, source, 1, "i32"))
    code.do("br label %done")
    code.label("any")
    _copy_rows(code, lambda target, source: code.copy(target, source, "%bytes"))
    code.do("br label %done")
    code.label("done")
    params = "ptr %target, ptr %source, i64 %stride, i64 %bytes, ptr %order, i64 %rows"
    code.function(_GATHER, params)


def _copy_rows(code: _LoopText, copy: Callable[[str, str], None]) -> None:
    """For every row: where it goes, and where it lies."""

    def row(i: Index, _carried: list[str]) -> None:
        target = code.at("%target", code.mul(i, "%bytes"), "i8")
        place = code.mul(code.load("%order", i), "%stride")
        copy(target, code.at("%source", place, "i8"))

    code.loop(0, "%rows", 1, row)


def _copy_units(code: _LoopText, target: str, source: str, count: Index, unit: str) -> None:
    """Copy a short row: a call of memcpy would take longer than the copy."""

    def one(i: Index, _carried: list[str]) -> None:
        value = code.let(f"load {unit}, ptr {code.at(source, i, unit)}, align 1")
        code.do(f"store {unit} {value}, ptr {code.at(target, i, unit)}, align 1")

    code.loop(0, count, 1, one)


def _define_call_loop(module: Module) -> None:
    """void(control): the calls, see above.

    begin = now
    i = updates = 0  # calls made; those among them that end a cycle, each with a row of the table
    while i < count:
        last = 1 if phase == length - 1 else 0  # which program
        sizes = those of a smaller batch if this one ends the epoch and is smaller, else of others
        if sizes are not known to be right: return
        make the order of the rows, if this epoch has another
        point the frame at the rows, the numbers and the places of this call
        status = 0; program(frame)
        if status == 0: updates += last
        else if it is NONFINITE, it may be skipped, and this call alone is to blame:
            counter += 1; skipped[i] = 1
        else: return
        i += 1; done = i; row = updates before this call; go to the next batch
        if now - begin >= limit: return
    """
    code = _LoopText(module)
    time = code.let_first("alloca [2 x i64], align 16")
    clock, limit = code.read("clock"), code.read("limit")
    phase_at, last_phase = code.read("phase", "ptr"), code.sub(code.read("length"), 1)
    count, may_skip = code.read("count"), code.compare("ne", code.read("may_skip"), 0)
    begin = code.now(clock, time)
    code.do("br label %next")
    code.label("next")
    code.do("%i = phi i64 [ 0, %start ], [ %following, %well ]")
    code.do("%updates = phi i64 [ 0, %start ], [ %updates_after, %well ]")
    code.do(f"br i1 {code.compare('slt', '%i', count)}, label %call, label %done")
    code.label("call")
    last, program = _program_of_phase(code, code.load(phase_at, 0), last_phase)
    frame = code.field(program, PROGRAM, "frame", "ptr")
    number, rest = code.read("number"), code.read("rest")
    ends = code.compare("eq", code.add(number, 1), code.read("batches"))
    smaller = code.let(f"and i1 {ends}, {code.compare('ne', rest, 0)}")
    sizes = _sizes_of_batch(code, program, smaller)
    unknown = code.let(f"icmp eq ptr {sizes}, null")
    code.do(f"br i1 {unknown}, label %done, label %known")
    code.label("known")
    _set_sizes(code, program, frame, sizes)
    _sort(code)
    rows = code.choose(smaller, rest, code.read("size"))
    _point(code, program, frame, last, rows)
    code.store(0, frame, STATUS)
    code.do(f"call void {code.field(program, PROGRAM, 'function', 'ptr')}(ptr {frame})")
    status = code.load(frame, STATUS)
    code.do(f"br i1 {code.compare('eq', status, 0)}, label %good, label %bad")
    code.label("good")
    more = code.add("%updates", last)
    code.do("br label %well")
    code.label("bad")
    unfinished = code.let(f"and i1 {code.compare('eq', status, NONFINITE)}, {may_skip}")
    code.do(f"br i1 {unfinished}, label %blamed, label %done")
    code.label("blamed")
    alone = _is_alone_to_blame(code, program, frame, last_phase)
    code.do(f"br i1 {alone}, label %skip, label %done")
    code.label("skip")
    _skip(code)
    code.do("br label %well")
    code.label("well")
    code.do(f"%updates_after = phi i64 [ {more}, %good ], [ %updates, %skip ]")
    code.do("%following = add nsw i64 %i, 1")
    code.store("%following", "%control", HEAD["done"])
    code.store("%updates", "%control", HEAD["row"])
    _go_to_next_batch(code, number, ends)
    taken = code.sub(code.now(clock, time), begin)
    code.do(f"br i1 {code.compare('slt', taken, limit)}, label %next, label %done")
    code.label("done")
    code.function(CALL_LOOP, "ptr %control", linkage="")


def _program_of_phase(code: _LoopText, phase: str, last_phase: Index) -> tuple[str, str]:
    """Whether this is the last call of a cycle, as a number, and the record of its program."""
    last = code.let(f"zext i1 {code.compare('eq', phase, last_phase)} to i64")
    return last, code.at("%control", code.add(PROGRAMS, code.mul(last, len(PROGRAM))))


def _sizes_of_batch(code: _LoopText, program: str, smaller: str) -> str:
    """Where the sizes of the Dims stand; null where the program is not known to be right."""
    whole_sizes, rest_sizes = (
        code.field(program, PROGRAM, name, "ptr") for name in ("sizes", "rest_sizes")
    )
    return code.choose(smaller, rest_sizes, whole_sizes, "ptr")


def _is_alone_to_blame(code: _LoopText, program: str, frame: str, last_phase: Index) -> str:
    """Whether this very call is to blame: its loss is not finite, or it is a whole cycle."""
    report = code.load(frame, code.field(program, PROGRAM, "report"), "ptr")
    value = code.load(report, 0, "double")
    itself = code.let(f"fcmp une double {code.let(f'fsub double {value}, {value}')}, 0.0")
    alone = code.compare("eq", last_phase, 0)
    return code.let(f"or i1 {itself}, {alone}")


def _skip(code: _LoopText) -> None:
    """Count the call, which the program has not done, and note that it was skipped."""
    counter = code.read("counter", "ptr")
    code.store(code.add(code.load(counter, 0), 1), counter, 0)
    code.do(f"store i8 1, ptr {code.at(code.read('skipped', 'ptr'), '%i', 'i8')}, align 1")


def _set_sizes(code: _LoopText, program: str, frame: str, sizes: str) -> None:
    """Tell the program how large the batch is."""

    def one(k: Index, _carried: list[str]) -> None:
        code.store(code.load(sizes, k), frame, code.add(HEADER, k))

    code.loop(0, code.field(program, PROGRAM, "dims"), 1, one)


def _sort(code: _LoopText) -> None:
    """Make the order of this epoch's rows, where it is another one than the last.

    if there is a program for it, and ordered != epoch: ordered = epoch; sort(frame)
    """
    sort, epoch, ordered = code.read("sort", "ptr"), code.read("epoch"), code.read("ordered", "ptr")

    def look() -> None:
        def make() -> None:
            frame = code.read("sort_frame", "ptr")
            code.store(epoch, ordered, 0)
            code.store(0, frame, STATUS)
            code.do(f"call void {sort}(ptr {frame})")

        code.when(code.compare("ne", code.load(ordered, 0), epoch), make)

    code.when(code.let(f"icmp ne ptr {sort}, null"), look)


def _go_to_next_batch(code: _LoopText, number: Index, ends: str) -> None:
    """Count on: number += 1, or behind the last batch number = 0 and epoch += 1."""
    ended = code.let(f"zext i1 {ends} to i64")
    code.store(code.choose(ends, 0, code.add(number, 1)), "%control", HEAD["number"])
    code.store(code.add(code.read("epoch"), ended), "%control", HEAD["epoch"])


def _point_outputs(code: _LoopText, frame: str, last: str) -> None:
    """Point the frame at places of call %i for the outputs that are kept."""
    begin = code.add(ARRAYS, code.mul(code.read("arrays"), len(ARRAY)))

    def point(k: Index, _carried: list[str]) -> None:
        record = code.at("%control", code.add(begin, code.mul(k, len(OUTPUT))))
        offset = code.mul("%i", code.field(record, OUTPUT, "stride"))
        target = code.at(code.field(record, OUTPUT, "target", "ptr"), offset, "i8")
        slot = code.load(record, code.add(OUTPUT.index("slot"), last))
        code.store(target, frame, slot, "ptr")

    code.loop(0, code.read("outputs"), 1, point)


def _point(code: _LoopText, program: str, frame: str, last: str, batch_rows: Index) -> None:
    """Point the frame at what call %i reads and writes.

    frame[numbers] = row %updates of the table; frame[report] = row %i of the reports
    for each array of the batch:
        frame[slot] = its rows where they lie, or gathered into its staging array
    """
    _point_outputs(code, frame, last)
    numbers = code.at(code.read("table", "ptr"), code.mul("%updates", code.read("width")), "i8")
    code.store(numbers, frame, code.field(program, PROGRAM, "numbers"), "ptr")
    report = code.at(code.read("reports", "ptr"), code.mul("%i", code.read("report")), "i8")
    code.store(report, frame, code.field(program, PROGRAM, "report"), "ptr")
    order = code.read("order", "ptr")
    first = code.mul(code.read("number"), code.read("size"))

    def point(k: Index, _carried: list[str]) -> None:
        record = code.at("%control", code.add(ARRAYS, code.mul(k, len(ARRAY))))
        source, staging = (code.field(record, ARRAY, name, "ptr") for name in ("source", "staging"))
        stride = code.field(record, ARRAY, "stride")

        def in_place() -> list[str]:
            return [code.at(source, code.mul(first, stride), "i8")]

        def gathered() -> list[str]:
            given = (
                f"ptr {staging}",
                f"ptr {source}",
                f"i64 {stride}",
                f"i64 {code.field(record, ARRAY, 'bytes')}",
                f"ptr {code.at(order, first)}",
                f"i64 {batch_rows}",
            )
            code.do(f"call void @{_GATHER}({', '.join(given)})")
            return [staging]

        lies = code.let(f"icmp eq ptr {staging}, null")
        (rows,) = code.either(lies, ["ptr"], in_place, gathered)
        slot = code.load(record, code.add(ARRAY.index("slot"), last))
        code.store(rows, frame, slot, "ptr")

    code.loop(0, code.read("arrays"), 1, point)
