"""Pool: where worker threads wait for calls, and the barriers between them. Each process has one
pool, and the functions of this module once; programs find both through their frames.

A call takes the pool if no other call has it, writes down what is to be done, and changes the
generation; workers that see it change take part. Whoever finds the pool taken does all the work
itself: the bits are the same for any number of workers.
"""

from __future__ import annotations

from wengert.codegen.kernel import POOL, THREADS, WORKERS
from wengert.codegen.llvm.text.lines import Module, Text
from wengert.codegen.targets.cpu.target import Target

# Words of a pool, those that different workers write in cache lines of their own.
BUSY, GENERATION, SLEEPERS, ARRIVED, ROUND, FUNCTION = range(0, 96, 16)
FRAME, SIZE, SPINS, RUN_AT, BARRIER_AT, REST, BACK_OFF = range(FUNCTION + 1, FUNCTION + 8)
LOST = FUNCTION + 16  # nanoseconds of a call in which a worker did not run, of all workers
WORDS = 128
MEMBERS = 10  # low bits of the generation: how many workers it is for
MOST = 2**MEMBERS - 1  # workers; a generation for more than any pool has tells all to stop

RUN, BARRIER, WAIT, CLAIM, STOP = (
    f"pool_{what}" for what in ("run", "barrier", "wait", "claim", "stop")
)
WAIT_FOR_ALL = "wait_for_all"  # a program's own function of a barrier
_WAIT_PRIVATE, _WAKE_PRIVATE = 128, 129  # operations of Linux's futex
_FUTEX = {"x86_64": 202, "aarch64": 98}  # its number among the calls of the system
_NAP = 200  # microseconds, where there is no futex
_TURNS = 1024  # of a barrier's loop before it lets others run
_CLOCKS = {
    "linux": (1, 3),
    "darwin": (6, 16),
}  # numbers of a steady one, and of a thread's CPU time
_SHARE = 4  # where more than this part of a call is lost, somebody else uses the CPUs
_FIRST_REST, _LONGEST_REST = 8, 256  # calls that a busy machine is then left alone


def pool_text(target: Target | None = None) -> str:
    """The module of all pools: the way a call begins, a barrier, and the loop of a worker."""
    module = Module(target)
    _define_barrier(module)
    _define_run(module)
    _define_wait(module)
    _define_claim(module)
    _define_stop(module)
    return module.text()


class _Pool(Text):
    """A function whose parameter %pool points to the words above."""

    def at(self, word: int) -> str:
        return self.let(f"getelementptr i64, ptr %pool, i64 {word}")

    def read(self, word: int, order: str = "acquire", kind: str = "i64") -> str:
        return self.let(f"load atomic {kind}, ptr {self.at(word)} {order}, align 8")

    def write(self, word: int, value: str | int, kind: str = "i64") -> None:
        self.do(f"store atomic {kind} {value}, ptr {self.at(word)} release, align 8")

    def clocks(self) -> tuple[str, str] | None:
        """Nanoseconds by a steady clock, and those in which this thread ran; None where the system
        does not tell. `note_lost` takes them.
        """
        if self.module.target.system not in _CLOCKS:
            return None
        steady, own = map(self._clock, _CLOCKS[self.module.target.system])
        return steady, own

    def _clock(self, number: int) -> str:
        place = self.let_first("alloca [2 x i64], align 8")
        self.call("clock_gettime", "i32", ("i32", str(number)), ("ptr", place))
        seconds = self.let(f"load i64, ptr {place}, align 8")
        at = self.let(f"getelementptr i64, ptr {place}, i64 1")
        return str(
            self.add(self.mul(seconds, 1_000_000_000), self.let(f"load i64, ptr {at}, align 8"))
        )

    def note_lost(self, before: tuple[str, str] | None) -> None:
        """Add the time since then in which this thread did not run."""
        now = self.clocks()
        if before is not None and now is not None:
            passed, ran = (self.sub(b, a) for a, b in zip(before, now, strict=True))
            self.change(LOST, "add", str(self.sub(passed, ran)))

    def change(self, word: int, how: str, by: int | str, kind: str = "i64") -> str:
        """Change a word in one step; what it was before."""
        return self.let(f"atomicrmw {how} ptr {self.at(word)}, {kind} {by} seq_cst")

    def pause(self) -> None:
        """Tell the CPU that this loop waits."""
        if self.module.target.architecture == "x86_64":
            self.call("llvm.x86.sse2.pause", "void")
        elif self.module.target.architecture == "aarch64":
            self.call("llvm.aarch64.hint", "void", ("i32", "1"))

    def declare_raw(self, name: str, line: str) -> None:
        self.module.declared.setdefault(name, line)

    def yield_now(self) -> None:
        self.call("sched_yield", "i32")

    def sleep(self, seen: str) -> None:
        """Wait until the generation is no longer this one; it may end early."""
        if self._has_futex:
            self._futex(_WAIT_PRIVATE, seen)
        else:
            self.call("usleep", "i32", ("i32", str(_NAP)))

    def wake(self) -> None:
        """Wake all that sleep."""
        if self._has_futex:
            self._futex(_WAKE_PRIVATE, str(2**31 - 1))

    @property
    def _has_futex(self) -> bool:
        target = self.module.target
        return target.system == "linux" and target.architecture in _FUTEX

    def _futex(self, operation: int, value: str) -> None:
        self.declare_raw("syscall", "declare i64 @syscall(i64, ...)")
        self.do(
            f"call i64 (i64, ...) @syscall(i64 {_FUTEX[self.module.target.architecture]}, "
            f"ptr {self.at(GENERATION)}, i64 {operation}, i32 {value}, ptr null, ptr null, i64 0)"
        )

    def claim(self) -> str:
        """Take the pool, unless someone has it: whether it was free."""
        pair = self.let(f"cmpxchg ptr {self.at(BUSY)}, i64 0, i64 1 acq_rel monotonic")
        return self.let(f"extractvalue {{ i64, i1 }} {pair}, 1")

    def begin(self, members: str) -> None:
        """Change the generation, for so many workers."""
        before = self.read(GENERATION, kind="i32")
        counter = self.let(f"and i32 {before}, {-(2**MEMBERS)}")
        following = self.let(f"add i32 {counter}, {2**MEMBERS}")
        value = self.let(f"or i32 {following}, {members}")
        self.do(f"store atomic i32 {value}, ptr {self.at(GENERATION)} seq_cst, align 8")
        sleepers = self.let(f"load atomic i64, ptr {self.at(SLEEPERS)} seq_cst, align 8")
        self.when(self.compare("sgt", sleepers, 0), self.wake)


def _define_barrier(module: Module) -> None:
    """void(pool, workers): go on when all workers have come here.

    if workers <= 1: return
    before = round
    if arrived++ + 1 == workers:  # the last one opens it
        arrived = 0; round = before + 1
    else:
        until round != before: pause; after _TURNS turns, let other threads run
    """
    code = _Pool(module)
    code.do("%alone = icmp sle i64 %workers, 1")
    code.do("br i1 %alone, label %done, label %come")
    code.label("come")
    before = code.read(ROUND)
    others = code.change(ARRIVED, "add", 1)
    last = code.let(f"add i64 {others}, 1")
    is_last = code.let(f"icmp eq i64 {last}, %workers")
    code.do(f"br i1 {is_last}, label %open, label %wait")
    code.label("open")
    code.write(ARRIVED, 0)
    code.write(ROUND, code.let(f"add i64 {before}, 1"))
    code.do("br label %done")
    code.label("wait")
    code.do("%turn = phi i64 [ 0, %come ], [ %next, %turned ]")
    code.do("%next = add i64 %turn, 1")
    code.pause()
    changed = code.let(f"icmp ne i64 {code.read(ROUND)}, {before}")
    code.do(f"br i1 {changed}, label %done, label %again")
    code.label("again")
    code.do(f"%tired = icmp sgt i64 %turn, {_TURNS}")
    code.do("br i1 %tired, label %rest, label %turned")
    code.label("rest")
    code.yield_now()
    code.do("br label %turned")
    code.label("turned")
    code.do("br label %wait")
    code.label("done")
    code.function(BARRIER, "ptr %pool, i64 %workers", linkage="")


def _define_run(module: Module) -> None:
    """void(pool, function, frame, wanted): function(frame, worker) by up to so many workers.

    workers = min(size + 1, wanted)
    if workers > 1 and rest > 0: rest -= 1; workers = 1
    if workers <= 1 or not claim(): function(frame, 0); return
    workers = min(size + 1, workers)  # the pool is ours only now
    frame.workers = workers; this function and frame are those of the pool
    begin a generation for so many workers, and wake those that sleep
    function(frame, 0)
    wait for all at the barrier; if they lost CPU time, rest for some calls
    busy = 0
    """
    code = _Pool(module)
    at_workers = code.let(f"getelementptr i64, ptr %frame, i64 {WORKERS}")
    code.do(f"store i64 1, ptr {at_workers}, align 8")
    size = code.read(SIZE, "monotonic")
    have = code.let(f"add i64 {size}, 1")
    workers = code.min(have, "%wanted")
    alone = code.let(f"icmp sle i64 {workers}, 1")
    code.do(f"br i1 {alone}, label %single, label %try")
    code.label("try")
    # Workers that other processes keep from running would be waited for: do without for some calls.
    rest = code.read(REST, "monotonic")
    resting = code.compare("sgt", rest, 0)
    code.do(f"br i1 {resting}, label %rested, label %free")
    code.label("rested")
    code.write(REST, code.let(f"sub i64 {rest}, 1"))
    code.do("br label %single")
    code.label("free")
    code.do(f"br i1 {code.claim()}, label %team, label %single")
    code.label("single")
    code.do("call void %function(ptr %frame, i64 0)")
    code.do("br label %end")
    code.label("team")
    # The pool may have lost workers since: only now is it ours.
    now = code.read(SIZE)
    workers = code.min(code.let(f"add i64 {now}, 1"), workers)
    code.do(f"store i64 {workers}, ptr {at_workers}, align 8")
    code.write(FUNCTION, "%function", "ptr")
    code.write(FRAME, "%frame", "ptr")
    before = code.clocks()
    code.begin(str(code.let(f"trunc i64 {workers} to i32")))
    code.do("call void %function(ptr %frame, i64 0)")
    code.note_lost(before)
    code.do(f"call void @{BARRIER}(ptr %pool, i64 {workers})")
    if before is not None:
        _set_rest(code, before[0])
    code.write(BUSY, 0)
    code.do("br label %end")
    code.label("end")
    code.function(RUN, "ptr %pool, ptr %function, ptr %frame, i64 %wanted", linkage="")


def _set_rest(code: _Pool, begun: str) -> None:
    """After a call, begun then, in which workers had to wait for CPUs, rest for some calls, more
    each time. More workers than CPUs have been asked for expressly: they always wait.
    """
    found = code.clocks()
    assert found is not None
    lost = code.read(LOST, "monotonic")
    code.write(LOST, 0)
    before = code.read(BACK_OFF, "monotonic")
    waited = code.compare("sgt", code.mul(lost, _SHARE), code.sub(found[0], begun))
    spins = code.compare("sgt", code.read(SPINS, "monotonic"), 0)
    busy = code.let(f"and i1 {waited}, {spins}")
    longer = code.min(code.max(code.mul(before, 2), _FIRST_REST), _LONGEST_REST)
    code.write(BACK_OFF, code.let(f"select i1 {busy}, i64 {longer}, i64 {code.div(before, 2)}"))
    code.write(REST, code.let(f"select i1 {busy}, i64 {longer}, i64 0"))


def _define_wait(module: Module) -> None:
    """void(pool, worker, seen): take part in every generation after `seen` that is for this worker,
    until one is for more workers than there can be.

        loop:
            spin until the generation changes; after `spins` turns sleep until it does
            members = low bits of the generation
            if members == MOST: return
            if worker < members: function(frame, worker); wait for all at the barrier
    """
    code = _Pool(module)
    code.do("br label %idle")
    code.label("idle")
    code.do("%old = phi i32 [ %seen, %start ], [ %new, %served ]")
    spins = code.read(SPINS, "monotonic")
    code.do("br label %spin")
    code.label("spin")
    code.do("%turn = phi i64 [ 0, %idle ], [ %next, %spun ]")
    code.do("%next = add i64 %turn, 1")
    now = code.read(GENERATION, kind="i32")
    changed = code.let(f"icmp ne i32 {now}, %old")
    code.do(f"br i1 {changed}, label %found, label %unchanged")
    code.label("unchanged")
    code.pause()
    over = code.let(f"icmp sge i64 %turn, {spins}")
    code.do(f"br i1 {over}, label %rest, label %spun")
    code.label("spun")
    code.do("br label %spin")
    code.label("rest")
    code.change(SLEEPERS, "add", 1)
    code.do("br label %asleep")
    code.label("asleep")
    still = code.let(f"load atomic i32, ptr {code.at(GENERATION)} seq_cst, align 8")
    same = code.let(f"icmp eq i32 {still}, %old")
    code.do(f"br i1 {same}, label %nap, label %awake")
    code.label("nap")
    code.sleep("%old")
    code.do("br label %asleep")
    code.label("awake")
    code.change(SLEEPERS, "sub", 1)
    code.do("br label %found")
    code.label("found")
    code.do(f"%new = load atomic i32, ptr {code.at(GENERATION)} acquire, align 8")
    members = code.let(f"and i32 %new, {MOST}")
    wide = code.let(f"zext i32 {members} to i64")
    stop = code.let(f"icmp eq i64 {wide}, {MOST}")
    code.do(f"br i1 {stop}, label %leave, label %stay")
    code.label("stay")
    mine = code.let(f"icmp slt i64 %worker, {wide}")
    code.do(f"br i1 {mine}, label %work, label %served")
    code.label("work")
    function, frame = code.read(FUNCTION, kind="ptr"), code.read(FRAME, kind="ptr")
    before = code.clocks()
    code.do(f"call void {function}(ptr {frame}, i64 %worker)")
    code.note_lost(before)
    code.do(f"call void @{BARRIER}(ptr %pool, i64 {wide})")
    code.do("br label %served")
    code.label("served")
    code.do("br label %idle")
    code.label("leave")
    code.function(WAIT, "ptr %pool, i64 %worker, i32 %seen", linkage="")


def _define_claim(module: Module) -> None:
    """void(pool, answer): take the pool; the answer is 1 if it was free, else 0."""
    code = _Pool(module)
    code.do(f"store i64 {code.let(f'zext i1 {code.claim()} to i64')}, ptr %answer, align 8")
    code.function(CLAIM, "ptr %pool, ptr %answer", linkage="")


def _define_stop(module: Module) -> None:
    """void(pool): let all workers return."""
    code = _Pool(module)
    code.begin(str(MOST))
    code.function(STOP, "ptr %pool", linkage="")


# What programs say.


def word(code: Text, number: int, kind: str = "i64", base: str = "%frame") -> str:
    """A word of a frame or pool, as it is now."""
    at = code.let(f"getelementptr i64, ptr {base}, i64 {number}")
    return code.let(f"load {kind}, ptr {at}, align 8")


def define_program_barrier(module: Module) -> None:
    """void(frame): wait for the other workers of this call, if there are any."""
    code = Text(module)
    workers = word(code, WORKERS)

    def wait() -> None:
        pool = word(code, POOL, "ptr")
        barrier = word(code, BARRIER_AT, "ptr", pool)
        code.do(f"call void {barrier}(ptr {pool}, i64 {workers})")

    code.when(code.compare("sgt", workers, 1), wait)
    code.function(WAIT_FOR_ALL, "ptr %frame")


def call_workers(code: Text, function: str, wanted: str) -> None:
    """function(frame, worker) by so many workers, if there are that many; else by this one."""
    pool = word(code, POOL, "ptr")
    several = code.let(f"icmp sgt i64 {wanted}, 1")
    threads = code.compare("sgt", word(code, THREADS), 1)

    def together() -> list[str]:
        run = word(code, RUN_AT, "ptr", pool)
        code.do(f"call void {run}(ptr {pool}, ptr @{function}, ptr %frame, i64 {wanted})")
        return []

    def alone() -> list[str]:
        at = code.let(f"getelementptr i64, ptr %frame, i64 {WORKERS}")
        code.do(f"store i64 1, ptr {at}, align 8")
        code.do(f"call void @{function}(ptr %frame, i64 0)")
        return []

    code.either(code.let(f"and i1 {several}, {threads}"), [], together, alone)
