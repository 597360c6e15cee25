"""The loop over members as LLVM text: one function, `crew(control)`, for all programs.

Workers take members, several at a time. For each of its members a worker writes the addresses of
that member's arrays into frames of its own, and calls the program, or the loop over many calls of
it (`native_runs_code.py`). No worker waits for another before all members are done, and the bits of
a member do not depend on who took it.

All that it knows stands in `control`, 64-bit words: first those of a frame, because the pool treats
it as one, then those of `HEAD`.
"""

from __future__ import annotations

from wengert.codegen.kernel import HEADER, POOL, STATUS, THREADS, WORKERS
from wengert.codegen.llvm.text.lines import Index, Module
from wengert.codegen.llvm.text.word_text import WordText
from wengert.codegen.targets.cpu.pool import set_workers, word
from wengert.codegen.targets.cpu.pool_code import BEGIN_AT, END_AT, SHARE_AT
from wengert.codegen.targets.cpu.splitting import WHOLE

CREW = "crew"
_SOME = "some_members"
# What the pool is told of the work: enough for every worker, in its smallest chunks.
_NANOSECONDS, _LEAST = 1 << 40, 1 << 24

_WORDS = (
    "members",  # how many there are
    "chosen",  # which of them, one after the other
    "seats",  # what each worker has of its own: a frame for each program, then staging arrays
    "seat",  # words of a seat
    "programs",  # how many
    "slots",  # of all programs: where addresses go in the frame, one program after the other
    "counts",  # how many slots each program has
    "addresses",  # what goes there: a row for each member
    "row",  # words of such a row
    "function",  # the first program, which is called once for each member, where there is no loop
    "statuses",  # where its status goes, a word for each member
    "loop",  # the loop over many calls; 0 where each program is called once
    "controls",  # its control for each member
    "control",  # words of such a control
    "frames_at",  # for each program: which word of a control is its frame
    "stagings",  # how many staging arrays a seat has
    "stagings_at",  # for each of them: which word of a control it is
)
HEAD = {name: number for number, name in enumerate(_WORDS, HEADER)}
WORDS = HEADER + len(_WORDS)


class _CrewLoop(WordText):
    """A function that reads the words of `control`, which is a frame, too."""

    def read(self, name: str, kind: str = "i64") -> str:
        return self.load("%frame", HEAD[name], kind)


def crew_text() -> str:
    """The module of `crew`."""
    module = Module()
    _define_some(module)
    _define_crew(module)
    return module.text()


def _define_crew(module: Module) -> None:
    """void(control): all members, by the caller and the workers that join.

    workers = 1
    if threads > 1: take the pool, which says how many workers there are
    if workers > 1: share out some_members(control, worker, from, to); give the pool back
    else: some_members(control, 0, all of them)
    """
    code = _CrewLoop(module)
    pool = word(code, POOL, "ptr")
    set_workers(code, 1)
    threads = word(code, THREADS)

    def begin() -> None:
        take = word(code, BEGIN_AT, "ptr", pool)
        code.do(f"call void {take}(ptr {pool}, ptr %frame, i64 {threads})")

    def share() -> list[str]:
        given = f"ptr @{_SOME}, ptr %frame, i64 {_NANOSECONDS}, i64 {_LEAST}"
        code.do(f"call void {word(code, SHARE_AT, 'ptr', pool)}(ptr {pool}, {given})")
        code.do(f"call void {word(code, END_AT, 'ptr', pool)}(ptr {pool})")
        return []

    def alone() -> list[str]:
        code.do(f"call void @{_SOME}(ptr %frame, i64 0, i64 0, i64 {WHOLE})")
        return []

    code.when(code.compare("sgt", threads, 1), begin)
    code.either(code.compare("sgt", word(code, WORKERS), 1), [], share, alone)
    code.function(CREW, "ptr %frame", linkage="")


def _define_some(module: Module) -> None:
    """void(control, worker, from, to): the members of one chunk.

    for each chosen member from · members to to · members:
        fill the frames of this worker's seat with the member's addresses
        if there is a loop: call it with the member's control
        else: status = 0; function(frame); statuses[member] = status
    """
    code = _CrewLoop(module)
    count, chosen = code.read("members"), code.read("chosen", "ptr")
    begin, end = (code.div(code.mul(count, part), WHOLE) for part in ("%from", "%to"))
    seat = code.at(code.read("seats", "ptr"), code.mul("%worker", code.read("seat")))
    addresses, row = code.read("addresses", "ptr"), code.read("row")
    loop = code.read("loop", "ptr")

    def one(i: Index, _carried: list[str]) -> None:
        member = code.load(chosen, i)
        _fill(code, seat, code.at(addresses, code.mul(member, row)))

        def many() -> list[str]:
            _call_loop(code, loop, seat, member)
            return []

        def once() -> list[str]:
            frame = code.load(seat, 0, "ptr")
            code.store(0, frame, STATUS)
            code.do(f"call void {code.read('function', 'ptr')}(ptr {frame})")
            code.store(code.load(frame, STATUS), code.read("statuses", "ptr"), member)
            return []

        code.either(code.let(f"icmp ne ptr {loop}, null"), [], many, once)

    code.loop(begin, end, 1, one)
    code.function(_SOME, "ptr %frame, i64 %worker, i64 %from, i64 %to")


def _fill(code: _CrewLoop, seat: str, row: str) -> None:
    """Let the frames of a seat lead to the arrays of a member.

    for each program p, for each of its slots k: frame(p)[slots[k]] = row[k]
    """
    slots, counts = code.read("slots", "ptr"), code.read("counts", "ptr")

    def program(p: Index, carried: list[str]) -> list[str]:
        frame, count = code.load(seat, p, "ptr"), code.load(counts, p)

        def one(k: Index, _carried: list[str]) -> None:
            at = code.add(carried[0], k)
            code.store(code.load(row, at), frame, code.load(slots, at))

        code.loop(0, count, 1, one)
        return [str(code.add(carried[0], count))]

    code.loop(0, code.read("programs"), 1, program, [("i64", "0")])


def _call_loop(code: _CrewLoop, loop: str, seat: str, member: str) -> None:
    """Have the calls of a member made, with the frames and staging arrays of a seat."""
    control = code.at(code.read("controls", "ptr"), code.mul(member, code.read("control")))
    programs = code.read("programs")
    frames_at, stagings_at = (code.read(name, "ptr") for name in ("frames_at", "stagings_at"))

    def frame(p: Index, _carried: list[str]) -> None:
        code.store(code.load(seat, p), control, code.load(frames_at, p))

    def staging(k: Index, _carried: list[str]) -> None:
        code.store(code.load(seat, code.add(programs, k)), control, code.load(stagings_at, k))

    code.loop(0, programs, 1, frame)
    code.loop(0, code.read("stagings"), 1, staging)
    code.do(f"call void {loop}(ptr {control})")
