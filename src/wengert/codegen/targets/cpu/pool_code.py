"""Code of the pool: its words, atomic operations on them, and how threads sleep and are woken."""

from __future__ import annotations

from collections.abc import Mapping

from wengert.codegen.llvm.text.lines import Index, Text

# Words of a pool. Words that different threads write lie in different cache lines. What is to be
# done lies beside the ticket: a thread that takes a chunk reads both.
BUSY, GENERATION, SLEEPERS, TICKET, SIZE = range(0, 80, 16)
FUNCTION, FRAME, SHARES, LEVELS, CPU = range(TICKET + 1, TICKET + 6)
SPINS, BEGIN_AT, SHARE_AT, END_AT = range(SIZE + 1, SIZE + 5)
CALLER = BUSY + 1  # the thread that has the pool, as the system numbers it; 0 where it does not
MOVING = SLEEPERS + 1  # whether some thread is being moved to another CPU
CALLER_MOVING = SLEEPERS + 2  # whether it is the caller, or may be
# Words of each worker, by its number: its thread, and whether it is inside.
OF_WORKERS, OF_WORKER = 80, 16
THREAD, HOLDS = range(2)


def pool_words(threads: int) -> int:
    """How many words the pool of so many threads has, the caller being one of them."""
    return OF_WORKERS + OF_WORKER * threads


# Parts of the ticket, a single word. A thread takes a chunk by adding to it.
NEXT = 1  # the number of the chunk that is taken next; from the total on there is none
TOTAL_AT = 16  # the bit from which on it says how many chunks there are
WORKERS_AT = 32  # how many workers may take some, the caller being the first
INSIDE_AT = 42
INSIDE = 1 << INSIDE_AT  # how many workers, without the caller, have taken one and not yet gone
AWAITED = 1 << 52  # whether the caller sleeps until the last of these goes
STOPPED = 1 << 53  # whether workers are to return

_WAIT_PRIVATE, _WAKE_PRIVATE = 128, 129  # operations of Linux's futex
_FUTEX = {"x86_64": 202, "aarch64": 98}  # its number among the calls of the system
_GETTID = {"x86_64": 186, "aarch64": 178}
_CLOCK_OF_THREAD = 6  # beside its number: the CPU time of a single thread
_GLANCE = 64  # turns of a loop in which a thread that runs uses CPU time: some 2 µs
_NAP = 200  # microseconds, where there is no futex
_MOMENT = 20  # microseconds
_MASK = 128  # bytes of a set of CPUs
_HALF = 4  # bytes: a futex compares 32 bits, and of the ticket these are the upper ones


class PoolCode(Text):
    """A function whose parameter %pool points to the words above."""

    def at(self, word: Index) -> str:
        return self.let(f"getelementptr i64, ptr %pool, i64 {word}")

    def read(self, word: Index, order: str = "acquire", kind: str = "i64") -> str:
        return self.let(f"load atomic {kind}, ptr {self.at(word)} {order}, align 8")

    def write(self, word: Index, value: Index, order: str = "release", kind: str = "i64") -> None:
        self.do(f"store atomic {kind} {value}, ptr {self.at(word)} {order}, align 8")

    def change(self, word: int, how: str, by: Index, kind: str = "i64") -> str:
        """Change a word in one step; what it was before."""
        return self.let(f"atomicrmw {how} ptr {self.at(word)}, {kind} {by} seq_cst")

    def exchange(self, word: int, seen: Index, value: Index) -> str:
        """Write a word if it is still as it was seen; an i1, whether it was."""
        pair = self.let(f"cmpxchg ptr {self.at(word)}, i64 {seen}, i64 {value} seq_cst monotonic")
        return self.let(f"extractvalue {{ i64, i1 }} {pair}, 1")

    def bits(self, value: str, begin: int, end: int) -> str:
        """Some bits of a number, as a number."""
        moved = self.let(f"lshr i64 {value}, {begin}")
        return self.let(f"and i64 {moved}, {2 ** (end - begin) - 1}")

    def has(self, value: str, flag: int) -> str:
        return self.compare("ne", self.let(f"and i64 {value}, {flag}"), 0)

    # Of the ticket.

    def next_chunk(self, ticket: str) -> str:
        return self.bits(ticket, 0, TOTAL_AT)

    def total(self, ticket: str) -> str:
        return self.bits(ticket, TOTAL_AT, WORKERS_AT)

    def inside(self, ticket: str) -> str:
        return self.bits(ticket, INSIDE_AT, AWAITED.bit_length() - 1)

    def is_open(self, ticket: str, worker: str) -> str:
        """An i1: whether this worker may take a chunk."""
        left = self.compare("slt", self.next_chunk(ticket), self.total(ticket))
        asked = self.compare("slt", worker, self.bits(ticket, WORKERS_AT, INSIDE_AT))
        return self.let(f"and i1 {left}, {asked}")

    # Waiting.

    def pause(self) -> None:
        """Tell the CPU that this loop waits."""
        if self.module.target.architecture == "x86_64":
            self.call("llvm.x86.sse2.pause", "void")
        elif self.module.target.architecture == "aarch64":
            self.call("llvm.aarch64.hint", "void", ("i32", "1"))

    def sleep_while(
        self, word: int, value: str, upper: bool = False, at_most: int | None = None
    ) -> None:
        """Sleep while half of a word has this value of 32 bits, for so many nanoseconds; it may end
        early.
        """
        if self._has_calls:
            self._futex(word, upper, _WAIT_PRIVATE, value, at_most)
        else:
            self.call("usleep", "i32", ("i32", str(_NAP)))

    def sleep_a_moment(self) -> None:
        """Let another thread have this CPU."""
        self.call("usleep", "i32", ("i32", str(_MOMENT)))

    def wake(self, word: int, upper: bool = False) -> None:
        """Wake all that sleep there."""
        if self._has_calls:
            self._futex(word, upper, _WAKE_PRIVATE, str(2**31 - 1))

    def wake_workers(self) -> None:
        """Wake workers that sleep; for what they look at has just been written."""

        def wake() -> None:
            self.change(GENERATION, "add", 1, "i32")
            self.wake(GENERATION)

        self.when(self.compare("sgt", self.read(SLEEPERS, "seq_cst"), 0), wake)

    # Where threads run.

    @property
    def knows_cpus(self) -> bool:
        """Whether the system tells a thread on which CPU it runs, and lets it choose."""
        return self.module.target.system == "linux"

    def cpu(self) -> str:
        """The number of the CPU that this thread runs on, or a negative one."""
        return self.let(f"sext i32 {self.call('sched_getcpu', 'i32')} to i64")

    def leave_cpu(self, number: str) -> None:
        """Go on on another CPU of those this thread may use, if there is one.

        before = the set of those
        allow all of before but this one; allow all of before
        """
        before, others = self._masks()
        self.call("sched_getaffinity", "i32", *self._of_mask("0", before))
        self.copy(others, before, _MASK)
        at, bit = self._place_in(others, number)
        held = self.let(f"load i8, ptr {at}, align 1")
        left = self.let(f"and i8 {held}, {self.let(f'xor i8 {bit}, -1')}")
        self.do(f"store i8 {left}, ptr {at}, align 1")
        for mask in (others, before):
            self.call("sched_setaffinity", "i32", *self._of_mask("0", mask))

    def thread(self) -> str:
        """The system's number of this thread; 0 where its CPU time cannot be asked for."""
        if not self._has_calls:
            return "0"
        return self._system_call(_GETTID)

    def is_running(self, thread: str) -> str:
        """An i1: whether a thread of this process gets a CPU now, or there is no such thread. It
        takes some 2 µs.
        """
        before, _ = self._cpu_time(thread)
        self.loop(0, _GLANCE, 1, lambda *_: self.pause())
        after, failed = self._cpu_time(thread)
        return self.let(f"or i1 {failed}, {self.compare('ne', before, after)}")

    def bring_here(self, thread: str) -> None:
        """Let a thread that waits for a CPU go on on this one, if it may use it, as soon as nobody
        else does.

        before = the set of CPUs that it may use
        if this one is among them: allow it this one only; allow all of before
        """
        before, only = self._masks()
        here = self.cpu()
        number = self.let(f"trunc i64 {thread} to i32")
        length = self.call("sched_getaffinity", "i32", *self._of_mask(number, before))
        at, bit = self._place_in(before, here)
        held = self.let(f"and i8 {self.let(f'load i8, ptr {at}, align 1')}, {bit}")
        known = self.let(f"icmp sge i32 {length}, 0")
        allowed = self.let(f"and i1 {known}, {self.let(f'icmp ne i8 {held}, 0')}")

        def move() -> None:
            self.clear(only, _MASK)
            at, bit = self._place_in(only, here)
            self.do(f"store i8 {bit}, ptr {at}, align 1")
            for mask in (only, before):
                self.call("sched_setaffinity", "i32", *self._of_mask(number, mask))

        self.when(allowed, move)

    def _cpu_time(self, thread: str) -> tuple[str, str]:
        """How long a thread of this process has run, in nanoseconds of its last second; and an i1,
        whether that cannot be known.
        """
        time = self.let_first("alloca [2 x i64], align 8")
        flipped = self.let(f"xor i64 {thread}, -1")
        clock = self.let(f"or i64 {self.let(f'shl i64 {flipped}, 3')}, {_CLOCK_OF_THREAD}")
        number = self.let(f"trunc i64 {clock} to i32")
        status = self.call("clock_gettime", "i32", ("i32", number), ("ptr", time))
        at = self.let(f"getelementptr i64, ptr {time}, i64 1")
        return self.let(f"load i64, ptr {at}, align 8"), self.let(f"icmp ne i32 {status}, 0")

    def _masks(self) -> list[str]:
        """Room for two sets of CPUs."""
        return [self.let_first(f"alloca [{_MASK} x i8], align 8") for _ in range(2)]

    def _place_in(self, mask: str, number: str) -> tuple[str, str]:
        """The byte of a set in which a CPU is, and its bit there."""
        number = self.let(f"and i64 {number}, {8 * _MASK - 1}")
        at = self.let(f"getelementptr i8, ptr {mask}, i64 {self.div(number, 8)}")
        bit = self.let(f"trunc i64 {self.let(f'shl i64 1, {self.mod(number, 8)}')} to i8")
        return at, bit

    def _of_mask(self, thread: str, mask: str) -> tuple[tuple[str, str], ...]:
        return ("i32", thread), ("i64", str(_MASK)), ("ptr", mask)

    @property
    def _has_calls(self) -> bool:
        """Whether calls of the system are known by their numbers."""
        target = self.module.target
        return target.system == "linux" and target.architecture in _FUTEX

    def _futex(
        self, word: int, upper: bool, operation: int, value: str, at_most: int | None = None
    ) -> None:
        at = self.let(f"getelementptr i8, ptr {self.at(word)}, i64 {_HALF if upper else 0}")
        time = "null" if at_most is None else self._time_span(at_most)
        given = f"ptr {at}, i64 {operation}, i32 {value}, ptr {time}, ptr null, i64 0"
        self._system_call(_FUTEX, given)

    def _time_span(self, nanoseconds: int) -> str:
        """Less than a second, as the system reads it."""
        span = self.let_first("alloca [2 x i64], align 8")
        self.do(f"store i64 0, ptr {span}, align 8")
        at = self.let(f"getelementptr i64, ptr {span}, i64 1")
        self.do(f"store i64 {nanoseconds}, ptr {at}, align 8")
        return span

    def _system_call(self, numbers: Mapping[str, int], given: str = "") -> str:
        self.module.declared.setdefault("syscall", "declare i64 @syscall(i64, ...)")
        number = f"i64 {numbers[self.module.target.architecture]}"
        operands = ", ".join(each for each in (number, given) if each)
        return self.let(f"call i64 (i64, ...) @syscall({operands})")
