"""Pool: where worker threads wait for work, and how it is shared out. Each process has one pool
and one copy of the functions below; programs reach both through their frames.

A call takes the pool if no other call has it; a call that does not get it does all its work itself.
The caller runs the program. When it comes to a kernel that is divided, it writes down what is to
be done and opens the ticket, a counter of chunks. The caller and any worker that sees the ticket
take chunks until none is left. Then the caller waits for the chunks that workers have taken, and
goes on with the program.

The caller waits only for workers that have taken a chunk. A thread that another one waits for may
itself wait for a CPU, because somebody else has taken its own. After some 30 µs whoever waits looks
whether it runs, and if not lets it have the CPU that would be spent waiting.

While a worker holds a chunk the ticket cannot change, and the worker reads what
belongs to it; a worker that comes too late sees a ticket without chunks. The bits do not depend on
which thread takes which chunk.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.kernel import WORKERS
from wengert.codegen.llvm.machine.plain_functions import as_plain
from wengert.codegen.llvm.text.lines import Index, Module, Text
from wengert.codegen.targets.cpu.pool_code import (
    AWAITED,
    BUSY,
    CALLER,
    CALLER_MOVING,
    FRAME,
    FUNCTION,
    GENERATION,
    HOLDS,
    INSIDE,
    LEVELS,
    NEXT,
    OF_WORKER,
    OF_WORKERS,
    SHARES,
    SIZE,
    SLEEPERS,
    SPINS,
    STOPPED,
    THREAD,
    TICKET,
    TOTAL_AT,
    WORKERS_AT,
    PoolCode,
)
from wengert.codegen.targets.cpu.pool_moves import (
    BRING,
    BRING_CALLER,
    STAND_ASIDE,
    define_moves,
    note_cpu,
)
from wengert.codegen.targets.cpu.rounding import set_rounding
from wengert.codegen.targets.cpu.splitting import WHOLE
from wengert.codegen.targets.cpu.target import Target

BEGIN, SHARE, END, WAIT, CLAIM, STOP = (
    f"pool_{what}" for what in ("begin", "share", "end", "wait", "claim", "stop")
)
_RUN, _WORK = (f"pool_{what}" for what in ("run", "work"))
_SMALLEST_SHARE = 2500  # nanoseconds of work that are worth being taken by another worker
_MOST_LEVELS = 5  # how often the rest of a share is halved, at most
_LOOKS = 1024  # turns after which a thread that waits looks whether the other one runs: 25 to 50 µs
_PATIENCE = 500_000  # nanoseconds that the caller sleeps before it looks again
_LONGER = 2  # during a call threads wait for each other so many times twice as long: some 100 µs


def pool_text(target: Target | None = None) -> str:
    """The module of all pools: how a call begins, how work is shared out, the loop of a worker. It
    is compiled without optimisation: a share is at least 2.5 µs of work, beside which handing it
    out takes no time.
    """
    module = Module(target)
    _define_run(module)
    define_moves(module)
    _define_begin(module)
    _define_share(module)
    _define_end(module)
    _define_wait(module)
    _define_claim(module)
    _define_stop(module)
    return as_plain(module.text())


def _define_begin(module: Module) -> None:
    """void(pool, frame, wanted): take the pool for up to so many workers, if it is free.

    frame.workers = 1
    workers = min(size + 1, wanted)
    if workers > 1 and the pool is not busy: take it
        frame.workers = min(size + 1, wanted)  # the pool is ours only now
        note which thread and on which CPU this is
        wake those that sleep: there will be work
    """
    code = PoolCode(module)

    def workers() -> str:
        return str(code.min(code.add(code.read(SIZE), 1), "%wanted"))

    def took() -> None:
        set_workers(code, workers())
        code.write(CALLER, code.thread(), "seq_cst")
        note_cpu(code)
        code.wake_workers()

    set_workers(code, 1)
    several = code.compare("sgt", workers(), 1)
    code.when(several, lambda: code.when(code.exchange(BUSY, 0, 1), took))
    code.function(BEGIN, "ptr %pool, ptr %frame, i64 %wanted", linkage="")


def _define_end(module: Module) -> None:
    """void(pool): give the pool back. Where a worker moves this thread to another CPU just now,
    wait until it has done so: the thread may use no other CPU meanwhile, which nobody else shall
    see, nor a process that it starts inherit.

        caller = 0; busy = 0
        while the caller is being moved: sleep a moment
    """
    code = PoolCode(module)
    code.write(CALLER, 0, "seq_cst")
    code.write(BUSY, 0)
    if code.knows_cpus:
        code.repeat(
            lambda *_: code.compare("ne", code.read(CALLER_MOVING, "seq_cst"), 0),
            lambda *_: code.sleep_a_moment(),
            [],
        )
    code.function(END, "ptr %pool", linkage="")


def _define_share(module: Module) -> None:
    """void(pool, function, frame, nanoseconds, least): function(frame, worker, from, to) for all of
    a kernel, by the caller and any free worker. `nanoseconds` is the time of the whole kernel,
    `least` that of the smallest chunk.

        shares = how many are worth it, at most one for each worker
        levels = how often a share can be halved
        what is to be done = function, frame, shares, levels; note on which CPU this is
        ticket = chunk 0 is taken, of shares · levels, for so many workers; wake those that sleep
        chunk = 0
        while chunk < shares · levels: run(chunk); chunk = next of ticket++
        wait for those inside
    """
    code = PoolCode(module)
    at_workers = code.let(f"getelementptr i64, ptr %frame, i64 {WORKERS}")
    workers = code.let(f"load i64, ptr {at_workers}, align 8")
    shares = code.min(code.max(code.div("%nanoseconds", _SMALLEST_SHARE), 2), workers)
    levels = _levels(code, code.div("%nanoseconds", shares))
    for word, value, kind in (
        (FUNCTION, "%function", "ptr"),
        (FRAME, "%frame", "ptr"),
        (SHARES, shares, "i64"),
        (LEVELS, levels, "i64"),
    ):
        code.write(word, value, "monotonic", kind)
    note_cpu(code)
    total = str(code.mul(shares, levels))
    asked = code.let(f"shl i64 {workers}, {WORKERS_AT}")
    opened = code.let(f"or i64 {asked}, {code.let(f'shl i64 {total}, {TOTAL_AT}')}")
    code.write(TICKET, code.let(f"or i64 {opened}, {NEXT}"), "seq_cst")
    code.wake_workers()

    def run(_: Index, taken: list[str]) -> list[str]:
        code.do(f"call void @{_RUN}(ptr %pool, i64 0, i64 {taken[0]})")
        return [code.next_chunk(code.change(TICKET, "add", NEXT))]

    code.repeat(lambda _, taken: code.compare("slt", taken[0], total), run, [("i64", "0")])
    _wait_for_others(code, workers)
    params = "ptr %pool, ptr %function, ptr %frame, i64 %nanoseconds, i64 %least"
    code.function(SHARE, params, linkage="")


def _levels(code: PoolCode, nanoseconds: Index) -> Index:
    """How many chunks a share is taken in: the first is half of it, the next half of the rest, and
    the last two are alike, and not shorter than %least.
    """
    times = code.let(f"or i64 {code.div(nanoseconds, '%least')}, 1")
    zeros = code.call("llvm.ctlz.i64", "i64", ("i64", times), ("i1", "true"))
    return code.min(code.sub(64, zeros), _MOST_LEVELS)


def _wait_for_others(code: PoolCode, workers: str) -> None:
    """Wait until nobody is inside.

    turn = 0
    while the ticket says that somebody is inside:
        pause
        from time to time, and after having slept: bring those inside that do not run
        if turn >= 4 · spins, or one was brought:
            ticket |= AWAITED: the last to leave wakes the caller
            if somebody is inside: sleep a while, as long as the ticket stays so
        turn += 1
    """
    spins = code.read(SPINS, "monotonic")
    patience = code.let(f"shl i64 {spins}, {_LONGER}")

    def sleep() -> None:
        before = code.change(TICKET, "or", AWAITED)
        seen = code.let(f"lshr i64 {code.let(f'or i64 {before}, {AWAITED}')}, 32")
        upper = code.let(f"trunc i64 {seen} to i32")
        some = code.compare("ne", code.inside(before), 0)
        code.when(some, lambda: code.sleep_while(TICKET, upper, upper=True, at_most=_PATIENCE))

    def somebody_inside(*_: object) -> str:
        return code.compare("ne", code.inside(code.read(TICKET)), 0)

    def wait(turn: Index, _: list[str]) -> None:
        code.pause()
        slept = code.compare("sgt", turn, patience)
        brought = code.either(
            code.let(f"or i1 {slept}, {_is_time_to_look(code, turn)}"),
            ["i64"],
            lambda: [_bring_those_inside(code, workers, somebody_inside)],
            lambda: ["0"],
        )
        too_long = code.compare("sge", turn, patience)
        code.when(code.let(f"or i1 {too_long}, {code.compare('ne', brought[0], 0)}"), sleep)

    code.repeat(somebody_inside, wait, [])


def _is_time_to_look(code: PoolCode, turn: Index) -> str:
    return code.compare("eq", code.let(f"and i64 {turn}, {_LOOKS - 1}"), _LOOKS - 1)


def _bring_those_inside(code: PoolCode, workers: str, somebody_inside: Callable[..., str]) -> str:
    """Let workers that hold a chunk and do not run have this CPU; how many.

    count = 0
    for each worker, while somebody is inside: if it holds a chunk: count += bring(its thread)
    """
    answer = code.let_first("alloca i64, align 8")

    def look(number: Index, count: list[str]) -> list[str]:
        own = code.add(code.mul(number, OF_WORKER), OF_WORKERS)

        def bring() -> list[str]:
            thread = code.read(code.add(own, THREAD), "monotonic")
            code.do(f"call void @{BRING}(ptr %pool, i64 {thread}, ptr {answer})")
            brought = code.let(f"load i64, ptr {answer}, align 8")
            return [str(code.add(count[0], brought))]

        holds = code.compare("ne", code.read(code.add(own, HOLDS), "monotonic"), 0)
        return code.either(holds, ["i64"], bring, lambda: [count[0]])

    def goes_on(number: Index, _: list[str]) -> str:
        left = code.compare("slt", number, workers)
        return code.let(f"and i1 {left}, {somebody_inside()}")

    return code.repeat(goes_on, look, [("i64", "0")], begin=1)[1][0]


def _define_run(module: Module) -> None:
    """void(pool, worker, chunk): run a chunk of what is to be done. Chunks that are taken first are
    larger, and each share is one piece of the whole.

        level, share = chunk // shares, chunk % shares
        begin, end = share / shares, (share + 1) / shares  # of the whole
        from = end - (end - begin) / 2^level
        to = end if this is the last level else end - (end - begin) / 2^(level + 1)
        function(frame, worker, from, to)
    """
    code = PoolCode(module)
    shares, levels = code.read(SHARES, "monotonic"), code.read(LEVELS, "monotonic")
    level, share = code.div("%chunk", shares), code.mod("%chunk", shares)
    begin, end = (code.div(code.mul(each, WHOLE), shares) for each in (share, code.add(share, 1)))
    length, following = code.sub(end, begin), code.add(level, 1)
    starts, ends = (
        code.sub(end, code.let(f"lshr i64 {length}, {each}")) for each in (level, following)
    )
    last = code.compare("eq", following, levels)
    to = code.let(f"select i1 {last}, i64 {end}, i64 {ends}")
    function, frame = (code.read(word, "monotonic", "ptr") for word in (FUNCTION, FRAME))
    code.do(f"call void {function}(ptr {frame}, i64 %worker, i64 {starts}, i64 {to})")
    code.function(_RUN, "ptr %pool, i64 %worker, i64 %chunk")


def _define_wait(module: Module) -> None:
    """void(pool, worker): take chunks of whatever is shared out, until the pool is stopped.

    round to nearest; note which thread this is
    turn = 0
    until ticket says STOPPED:
        if it has a chunk for this worker:
            stand aside
            if ticket is still the same: ticket += NEXT + INSIDE; work(chunk)
            turn = 0
        else:
            pause; turn += 1
            from time to time during a call, if the caller does not sleep: bring it unless it runs
            if turn > spins, or 4 · spins during a call, or the caller was brought:
                sleep until there is work; stand aside; turn = 0
    """
    _define_work(module)
    code = PoolCode(module)
    set_rounding(code)
    code.write(_own(code, THREAD), code.thread(), "monotonic")
    answer = code.let_first("alloca i64, align 8")
    seen: list[str] = []

    def goes_on(_: Index, carried: list[str]) -> str:
        seen[:] = [code.read(TICKET)]
        return code.compare("eq", code.let(f"and i64 {seen[0]}, {STOPPED}"), 0)

    def take() -> list[str]:
        code.do(f"call void @{STAND_ASIDE}(ptr %pool)")
        taken = code.exchange(TICKET, seen[0], code.add(seen[0], NEXT + INSIDE))
        chunk = code.next_chunk(seen[0])
        code.when(
            taken, lambda: code.do(f"call void @{_WORK}(ptr %pool, i64 %worker, i64 {chunk})")
        )
        return ["0"]

    def bring_caller() -> list[str]:
        code.do(f"call void @{BRING_CALLER}(ptr %pool, ptr {answer})")
        return [code.let(f"load i64, ptr {answer}, align 8")]

    def idle(turn: str) -> list[str]:
        code.pause()
        spins, busy = code.read(SPINS, "monotonic"), code.read(BUSY, "monotonic")
        patience = code.let(f"shl i64 {spins}, {code.mul(busy, _LONGER)}")
        awake = code.let(f"xor i1 {code.has(seen[0], AWAITED)}, true")
        called = code.let(f"and i1 {awake}, {code.compare('ne', busy, 0)}")
        now = code.let(f"and i1 {called}, {_is_time_to_look(code, turn)}")
        brought = code.either(now, ["i64"], bring_caller, lambda: ["0"])
        too_long = code.compare("sge", turn, patience)
        return code.either(
            code.let(f"or i1 {too_long}, {code.compare('ne', brought[0], 0)}"),
            ["i64"],
            lambda: _sleep_until_work(code),
            lambda: [str(code.add(turn, 1))],
        )

    def look(_: Index, carried: list[str]) -> list[str]:
        has_chunk = code.is_open(seen[0], "%worker")
        return code.either(has_chunk, ["i64"], take, lambda: idle(carried[0]))

    code.repeat(goes_on, look, [("i64", "0")])
    code.function(WAIT, "ptr %pool, i64 %worker", linkage="")


def _define_work(module: Module) -> None:
    """void(pool, worker, chunk): run this chunk, which is taken, and others while there are some.
    Meanwhile the worker is inside: what is to be done stays what it is.

        while chunk < total: run(chunk); chunk = next of ticket++
        ticket -= INSIDE; if nobody else is inside and the caller sleeps: wake it, and stand aside
    """
    code = PoolCode(module)
    holds = _own(code, HOLDS)
    code.write(holds, 1, "monotonic")
    total = code.total(code.read(TICKET))

    def run(_: Index, taken: list[str]) -> list[str]:
        code.do(f"call void @{_RUN}(ptr %pool, i64 %worker, i64 {taken[0]})")
        # The last chunk of all is followed by none: one step less on the ticket.
        following = code.add(taken[0], 1)
        return code.either(
            code.compare("slt", following, total),
            ["i64"],
            lambda: [code.next_chunk(code.change(TICKET, "add", NEXT))],
            lambda: [str(following)],
        )

    code.repeat(lambda _, taken: code.compare("slt", taken[0], total), run, [("i64", "%chunk")])
    code.write(holds, 0, "monotonic")
    before = code.change(TICKET, "sub", INSIDE)
    last = code.compare("eq", code.inside(before), 1)
    awaited = code.let(f"and i1 {last}, {code.has(before, AWAITED)}")

    def wake() -> None:
        code.wake(TICKET, upper=True)
        code.do(f"call void @{STAND_ASIDE}(ptr %pool)")

    code.when(awaited, wake)
    code.function(_WORK, "ptr %pool, i64 %worker, i64 %chunk")


def _own(code: PoolCode, word: int) -> Index:
    """Where a word of this worker is."""
    return code.add(code.mul("%worker", OF_WORKER), OF_WORKERS + word)


def _sleep_until_work(code: PoolCode) -> list[str]:
    """Sleep until a caller says that there is work: whoever writes the ticket and then finds no
    sleepers has written it before this one looks.

        sleepers += 1
        if the ticket has nothing for this worker: sleep while the generation stays what it is
        sleepers -= 1
    """
    code.change(SLEEPERS, "add", 1)
    generation = code.read(GENERATION, "seq_cst", "i32")
    ticket = code.read(TICKET, "seq_cst")
    stopped = code.has(ticket, STOPPED)
    awake = code.let(f"or i1 {code.is_open(ticket, '%worker')}, {stopped}")
    code.when(code.let(f"xor i1 {awake}, true"), lambda: code.sleep_while(GENERATION, generation))
    code.change(SLEEPERS, "sub", 1)
    code.do(f"call void @{STAND_ASIDE}(ptr %pool)")
    return ["0"]


def _define_claim(module: Module) -> None:
    """void(pool, answer): take the pool; the answer is 1 if it was free, else 0."""
    code = PoolCode(module)
    free = code.let(f"zext i1 {code.exchange(BUSY, 0, 1)} to i64")
    code.do(f"store i64 {free}, ptr %answer, align 8")
    code.function(CLAIM, "ptr %pool, ptr %answer", linkage="")


def _define_stop(module: Module) -> None:
    """void(pool): let all workers return."""
    code = PoolCode(module)
    code.write(TICKET, STOPPED, "seq_cst")
    code.wake_workers()
    code.function(STOP, "ptr %pool", linkage="")


# What programs say.


def word(code: Text, number: int, kind: str = "i64", base: str = "%frame") -> str:
    """A word of a frame or pool, as it is now."""
    at = code.let(f"getelementptr i64, ptr {base}, i64 {number}")
    return code.let(f"load {kind}, ptr {at}, align 8")


def set_workers(code: Text, count: Index) -> None:
    """Write down how many workers this call has."""
    at = code.let(f"getelementptr i64, ptr %frame, i64 {WORKERS}")
    code.do(f"store i64 {count}, ptr {at}, align 8")
