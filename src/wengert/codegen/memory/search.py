"""Ways to find an order of tasks with a small peak; `task_order.order` takes the best result.

The greedy order and the polish look the same in both directions of time, as memory does: seen from
the end, a buffer is opened by its last reader and closed by its writer. So they are written once,
for a `Flow` that has a direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from wengert.codegen.memory.tasks import Flow, peak_of

ALL_POLISHED = 400  # in programs with more tasks only the best order is polished, to save time


def orders(flow: Flow, given: list[int]) -> list[list[int]]:
    """The orders worth a try where the search takes too long."""
    back = _greedy(flow.reversed(), given[::-1])[::-1]
    tried = [given, _greedy(flow, given), back, _depth_first(flow, given)]
    if len(given) > ALL_POLISHED:
        tried = [min(tried, key=lambda each: peak_of(flow, each))]
    return [_polished(flow, each) for each in tried]


def by_number(flow: Flow) -> list[int]:
    """The tasks by number, as far as dependencies allow."""
    return _first_come(flow, [0] * len(flow.before))


def results_first(flow: Flow) -> list[int]:
    """The tasks by number, but those that no other waits for as soon as they can run."""
    return _first_come(flow, [bool(after) for after in flow.after])


def _first_come(flow: Flow, late: Sequence[int]) -> list[int]:
    missing = [len(before) for before in flow.before]
    ready = [(late[task], task) for task, count in enumerate(missing) if count == 0]
    heapify(ready)
    order = []
    while ready:
        task = heappop(ready)[1]
        order.append(task)
        for later in flow.after[task]:
            missing[later] -= 1
            if missing[later] == 0:
                heappush(ready, (late[later], later))
    if len(order) < len(missing):
        stuck = [task for task, count in enumerate(missing) if count]
        raise ValueError(
            f"order: tasks {stuck} wait for each other; dependencies have no cycle. "
            "Look at what these tasks read and what they come after."
        )
    return order


class _Walk:
    """The state of a program while its tasks run one by one, in the direction of a flow.

    A kept buffer has one more user, which comes at the very end: going forward it is never closed,
    going backward it is open from the start.
    """

    __slots__ = ("done", "flow", "left", "live", "missing", "net", "total")

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.done = [False] * len(flow.before)
        self.missing = [len(before) for before in flow.before]  # tasks still to wait for
        self.total = {b: len(users) + (b in flow.kept) for b, users in flow.users.items()}
        self.left = dict(self.total)  # users of each buffer that are still to run
        self.live = 0
        if not flow.forward:
            for buffer in flow.kept & flow.users.keys():
                self.left[buffer] -= 1
                self.live += flow.size[buffer]
        self.net = [self._net(task) for task in range(len(flow.before))]

    def _net(self, task: int) -> int:
        """By how much the live bytes grow if this task runs now."""
        grown = 0
        for buffer in self.flow.touched[task]:
            left = self.left[buffer]
            grown += self.flow.size[buffer] * ((left == self.total[buffer]) - (left == 1))
        return grown

    def run(self, task: int) -> tuple[list[int], list[int]]:
        """Runs a task; returns the tasks it makes ready and those whose net it changes."""
        flow, left, net, done = self.flow, self.left, self.net, self.done
        done[task] = True
        self.live += net[task]
        changed: list[int] = []
        for buffer in flow.touched[task]:
            before = left[buffer]
            left[buffer] = before - 1
            opened = before == self.total[buffer]
            if opened or before == 2:
                size = flow.size[buffer] * (opened + (before == 2))
                for user in flow.users[buffer]:
                    if not done[user]:
                        net[user] -= size
                        changed.append(user)
        ready = []
        for later in flow.after[task]:
            self.missing[later] -= 1
            if self.missing[later] == 0:
                ready.append(later)
        return ready, changed

    def demand(self, task: int) -> int:
        """The bytes a task needs beside those alive before it."""
        flow, left, total = self.flow, self.left, self.total
        needed = flow.scratch[task]
        for buffer in flow.touched[task]:
            if left[buffer] == total[buffer]:
                needed += flow.size[buffer]
        for a, _ in flow.over[task]:
            if left[a] == (1 if flow.forward else total[a]):
                needed -= flow.size[a]
        return needed

    def outlook(self, task: int) -> int:
        """The net of a task together with the tasks that it alone holds back and that free more."""
        flow, left, total = self.flow, self.left, self.total
        sum_of_nets = self.net[task]
        mine = flow.touched[task]
        for later in flow.after[task]:
            if self.missing[later] == 1:
                net = self.net[later]
                for buffer in flow.touched[later]:
                    if buffer in mine:
                        opened = left[buffer] == total[buffer]
                        net -= flow.size[buffer] * (opened + (left[buffer] == 2))
                if net < 0:
                    sum_of_nets += net
        return sum_of_nets


def _greedy(flow: Flow, rank: Sequence[int]) -> list[int]:
    """Always the ready task with the best outlook; of equals the one that was ready last.

    The last one ready goes on with what is at hand, where the first one ready would begin all
    branches of the program at once. `rank` is an order that settles what is still equal.
    """
    walk = _Walk(flow)
    place = _places(rank)
    since = [0] * len(rank)
    queue: list[tuple[int, int, int, int]] = []

    def offer(tasks: Iterable[int]) -> None:
        for task in tasks:
            if not walk.missing[task] and not walk.done[task]:
                heappush(queue, (walk.outlook(task), -since[task], place[task], task))

    offer(range(len(rank)))
    order: list[int] = []
    while queue:
        score, _, _, task = heappop(queue)
        if walk.done[task]:
            continue
        if queue and walk.outlook(task) > max(score, queue[0][0]):
            offer([task])  # it was better when it was offered
            continue
        ready, changed = walk.run(task)
        order.append(task)
        for each in ready:
            since[each] = len(order)
        offer(ready)
        offer(changed)
    return order


def _polished(flow: Flow, order: list[int]) -> list[int]:
    """The order after moves that do not raise its peak: to free early, and to allocate late."""
    late = _eager(flow.reversed(), order[::-1], peak_of(flow, order))[::-1]
    return _eager(flow, late, peak_of(flow, late))


def _eager(flow: Flow, base: Sequence[int], limit: int) -> list[int]:
    """An order that follows another, except that what costs nothing runs as soon as it can.

    A task costs nothing if it leaves no more bytes alive than it found and its own need stays
    below the limit. It may move forward: at each moment until its old place it has freed at least
    as much as it has allocated, for others that run meanwhile only make it free more. So the peak
    stays below the limit if it was.
    """
    walk = _Walk(flow)
    free: list[tuple[int, int, int]] = []
    place = _places(base)

    def offer(tasks: Iterable[int]) -> None:
        for task in tasks:
            if walk.net[task] <= 0 and not walk.missing[task] and not walk.done[task]:
                heappush(free, (walk.demand(task), place[task], task))

    offer(base)
    order: list[int] = []
    for following in base:
        while not walk.done[following]:
            task = following
            if free and (walk.done[free[0][2]] or walk.live + free[0][0] <= limit):
                task = heappop(free)[2]
                if walk.done[task]:
                    continue
            ready, changed = walk.run(task)
            order.append(task)
            offer(ready)
            offer(changed)
    return order


def _depth_first(flow: Flow, given: Sequence[int]) -> list[int]:
    """Each task right after what it needs, the operand that needs most memory first.

    To hold a result while another is computed costs the bytes of the result, so the operand whose
    need exceeds its result by most goes first. Ends come by their distance from the start: a
    gradient is used up before those behind it are made.
    """
    made = [0] * len(given)  # bytes of each task's results
    for buffer, users in flow.users.items():
        made[users[0]] += flow.size[buffer]
    need = [0] * len(given)
    depth = [0] * len(given)
    operands: list[list[int]] = [[] for _ in given]
    for task in given:
        operands[task] = sorted(flow.before[task], key=lambda each: made[each] - need[each])
        held = 0
        for each in operands[task]:
            need[task] = max(need[task], held + need[each])
            depth[task] = max(depth[task], depth[each] + 1)
            held += made[each]
        need[task] = max(need[task], held + made[task] + flow.scratch[task])
    ends = [task for task in given if not flow.after[task]]
    done: dict[int, None] = {}
    stack = sorted(ends, key=lambda task: depth[task], reverse=True)
    while stack:
        task = stack[-1]
        waiting = [each for each in operands[task] if each not in done]
        if waiting:
            stack.extend(reversed(waiting))
        else:
            done[task] = None
            stack.pop()
    return list(done)


def search(flow: Flow, given: list[int], effort: int) -> list[int] | None:
    """The order with the smallest peak; the given one if none is better; None if time ran out.

    A state is the set of tasks that have run, as the bits of a number. States are visited by the
    peak on the best way to them, so the first complete one ends the best order. Where a task
    costs nothing there is no other choice to make, and so few states are left that the search
    often ends for hundreds of tasks. `effort` is how many steps to weigh before giving up.
    """
    limit = peak_of(flow, given)
    choices = _Search(flow)
    ready = _bits(task for task, before in enumerate(flow.before) if not before)
    complete = (1 << len(given)) - 1
    queue = [(0, 0, 0, 0, ready)]  # peak, minus the tasks that have run, live bytes, state, ready
    lowest = {0: 0}  # the peak of the best way to a state
    came: dict[int, int] = {}  # the task that ran last on that way
    while queue and choices.weighed < effort:
        highest, minus_ran, live, state, ready = heappop(queue)
        if state == complete:
            return _way(came, state)
        if highest > lowest[state]:
            continue
        for task, demand, net in choices.steps(~state, ready, highest - live):
            reached = state | 1 << task
            new = max(highest, live + demand)
            if new < min(limit, lowest.get(reached, limit)):
                lowest[reached], came[reached] = new, task
                now_ready = ready ^ 1 << task | choices.enabled(task, ~reached)
                heappush(queue, (new, minus_ran - 1, live + net, reached, now_ready))
    return None if queue else given


class _Search:
    """What can run next; `rest` has the bits of the tasks that have not run."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.weighed = 0
        self.needs = [_bits(before) for before in flow.before]
        self.users = {b: _bits(tasks) for b, tasks in flow.users.items()}
        for buffer in flow.kept & self.users.keys():
            self.users[buffer] |= 1 << len(self.needs)  # a user that never runs

    def enabled(self, task: int, rest: int) -> int:
        """The tasks that were waiting for this one alone."""
        return _bits(later for later in self.flow.after[task] if not self.needs[later] & rest)

    def steps(self, rest: int, ready: int, room: int) -> list[tuple[int, int, int]]:
        """The tasks that can run next, with demand and net; one alone if that costs nothing.

        `room` are the bytes left below the peak that was reached before.
        """
        steps = []
        while ready:
            bit = ready & -ready
            ready ^= bit
            task = bit.bit_length() - 1
            demand, net = self._cost(task, rest)
            if net <= 0 and demand <= room:
                return [(task, demand, net)]
            steps.append((task, demand, net))
        for step in steps:
            if self._pays_back(*step, rest, room):
                return [step]
        return steps

    def _cost(self, task: int, rest: int) -> tuple[int, int]:
        """The bytes a task needs beside those alive, and by how much it makes those grow."""
        self.weighed += 1
        flow, users, bit = self.flow, self.users, 1 << task
        demand, net = flow.scratch[task], 0
        for buffer in flow.touched[task]:
            size = flow.size[buffer]
            if flow.users[buffer][0] == task:
                demand += size
                net += size
            if users[buffer] & rest == bit:
                net -= size
        for a, _ in flow.over[task]:
            if users[a] & rest == bit:
                demand -= flow.size[a]
        return demand, net

    def _pays_back(self, task: int, demand: int, net: int, rest: int, room: int) -> bool:
        """Whether a task costs nothing together with some that follow from it.

        The live bytes are a submodular function of the tasks that have run. So a group whose last
        state is its lowest can move forward as a single task can (see `_eager`).
        """
        if demand > room:
            return False
        rest ^= 1 << task
        following = list(self.flow.after[task])
        for later in following:
            if self.needs[later] & rest or not rest >> later & 1:
                continue
            demand, freed = self._cost(later, rest)
            if freed <= 0 and net + demand <= room:
                net += freed
                if net <= 0:
                    return True
                rest ^= 1 << later
                following.extend(self.flow.after[later])
        return False


def _bits(tasks: Iterable[int]) -> int:
    return sum(1 << task for task in tasks)


def _way(came: dict[int, int], state: int) -> list[int]:
    """The tasks on the best way to a state."""
    way = []
    while state:
        way.append(came[state])
        state ^= 1 << came[state]
    return way[::-1]


def _places(order: Sequence[int]) -> list[int]:
    place = [0] * len(order)
    for position, task in enumerate(order):
        place[task] = position
    return place
