"""Orders of tasks: valid, and as small in memory as the best that exists where that is known."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from effort import calls
from hypothesis import given
from hypothesis import strategies as st

from codegen.task_graphs import Program, anything, mlp, training
from wengert.codegen.memory import search as orders
from wengert.codegen.memory import task_order as schedule
from wengert.codegen.memory.task_order import Task, order, peak
from wengert.codegen.memory.tasks import flow_of, peak_of

LINE = 64
some_random = st.randoms(use_true_random=False)
seeds = st.integers(0, 2**32 - 1)


def lines(size: int) -> int:
    return -(-size // LINE) * LINE


def check_valid(program: Program, found: Sequence[int]) -> None:
    """Every task once, after all that writes what it reads and all it must come after."""
    assert sorted(found) == list(range(len(program.tasks)))
    written = {b for task in program.tasks for b in task.writes}
    done: set[int] = set()
    known: set[int] = set()
    for number in found:
        task = program.tasks[number]
        assert set(task.after) <= done
        assert set(task.reads) & written <= known
        done.add(number)
        known.update(task.writes)


def needed(program: Program, done: frozenset[int], task: int) -> int:
    """Bytes in use while a task runs after others: what is there, its results, its scratch."""
    readers: dict[int, set[int]] = {b: set() for b in program.sizes}
    for number, each in enumerate(program.tasks):
        for b in readers.keys() & set(each.reads):
            readers[b].add(number)
    now = program.tasks[task]
    there = {
        b
        for number in done
        for b in program.tasks[number].writes
        if b in program.sizes and (b in program.kept or not readers[b] <= done)
    }
    over = set()  # operands that a result can be written over
    for b in now.writes:
        a = program.alias.get(b)
        last = a in there and a not in program.kept and readers[a] <= done | {task}
        if last and b in program.sizes and program.sizes[a] == program.sizes[b]:
            over.add(a)
    results = [b for b in now.writes if b in program.sizes]
    total = sum(lines(program.sizes[b]) for b in (*there, *results)) + lines(now.scratch)
    return total - sum(lines(program.sizes[a]) for a in over)


def slow_peak(program: Program, found: Sequence[int]) -> int:
    return max(
        (needed(program, frozenset(found[:i]), task) for i, task in enumerate(found)), default=0
    )


def smallest_peak(program: Program) -> int:
    """The best peak of all orders, from the best one of each set of tasks that can come first."""
    writer = {b: number for number, task in enumerate(program.tasks) for b in task.writes}
    before = [
        {writer[b] for b in task.reads if b in writer} | set(task.after) for task in program.tasks
    ]
    level = {frozenset[int](): 0}
    for _ in program.tasks:
        following: dict[frozenset[int], int] = {}
        for done, reached in level.items():
            for task in range(len(program.tasks)):
                if task not in done and before[task] <= done:
                    now = done | {task}
                    new = max(reached, needed(program, done, task))
                    following[now] = min(new, following.get(now, new))
        level = following
    return min(level.values())


def arguments(p: Program) -> tuple[list[Task], dict[int, int], set[int]]:
    return p.tasks, p.sizes, p.kept


@given(some_random, st.integers(0, 16))
def test_peak_is_what_a_walk_through_the_program_counts(random, count):
    p = anything(random, count)
    found = list(range(len(p.tasks)))
    assert peak(*arguments(p), found, p.alias) == slow_peak(p, found)
    p.alias.clear()
    assert peak(*arguments(p), found) == slow_peak(p, found)


@given(some_random, st.integers(0, 16))
def test_order_is_valid_repeatable_and_no_worse_than_the_given_one(random, count):
    p = anything(random, count)
    found = order(*arguments(p), p.alias)
    check_valid(p, found)
    assert found == order(*arguments(p), p.alias)
    limit = peak(*arguments(p), range(len(p.tasks)), p.alias)
    assert peak(*arguments(p), found, p.alias) <= limit


@given(some_random, st.integers(0, 7))
def test_small_programs_get_the_best_order(random, count):
    p = anything(random, count)
    if len(p.tasks) <= schedule.SEARCHED:
        found = order(*arguments(p), p.alias)
        assert peak(*arguments(p), found, p.alias) == smallest_peak(p)


@pytest.mark.parametrize("seed", range(12))
def test_the_largest_programs_that_are_searched_get_the_best_order(seed):
    p = anything(Random(seed), schedule.SEARCHED)
    del p.tasks[schedule.SEARCHED :]
    written = {b for task in p.tasks for b in task.writes}
    p.sizes = {b: size for b, size in p.sizes.items() if b in written}
    assert peak(*arguments(p), order(*arguments(p))) == smallest_peak(
        Program(p.tasks, p.sizes, p.kept)
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_rule_of_free_tasks_misses_no_better_order_of_training_programs(seed):
    random = Random(seed)
    p = training(random)
    while len(p.tasks) > 18:
        p = training(random)
    p = p.shuffled(random)
    found = order(*arguments(p), p.alias)
    assert peak(*arguments(p), found, p.alias) == smallest_peak(p)


@given(seeds, st.booleans())
def test_orders_in_place_of_the_search_are_valid_and_polish_does_no_harm(seed, is_training):
    random = Random(seed)
    p = training(random).shuffled(random) if is_training else anything(random, 40)
    flow = flow_of(*arguments(p), p.alias)
    given_order = orders.by_number(flow)
    back = orders._greedy(flow.reversed(), given_order[::-1])[::-1]
    depth_first = orders._depth_first(flow, given_order)
    for found in (given_order, orders._greedy(flow, given_order), back, depth_first):
        check_valid(p, found)
        polished = orders._polished(flow, found)
        check_valid(p, polished)
        assert peak_of(flow, polished) <= peak_of(flow, found)


def test_orders_in_place_of_the_search_come_close_to_the_best():
    off = []
    for seed in range(60):
        random = Random(seed)
        p = training(random).shuffled(random)
        flow = flow_of(*arguments(p), p.alias)
        given_order = orders.by_number(flow)
        best = orders.search(flow, given_order, 100_000)
        if best is not None:
            made = min(peak_of(flow, each) for each in orders.orders(flow, given_order))
            off.append(made / peak_of(flow, best))
    assert len(off) > 50
    assert min(off) >= 1
    assert sum(off) / len(off) < 1.01
    assert max(off) < 1.12


def test_updates_move_to_where_their_gradients_are_made():
    """All gradients come first as called; their memory is free much sooner if updates do not wait.

    The widths are equal, so each gradient is as large as the others.
    """
    p = Program()
    size, x, kept_by_layer = 4096, -1, []
    for _ in range(16):
        kept_by_layer.append(x)
        x = p.call([x, -1], LINE)
    g = p.call([x], LINE)
    gradients = []
    for a in reversed(kept_by_layer):
        gradients.append(p.call([g, a], size))
        g = p.call([g, -1], LINE)
    for gradient in gradients:
        p.store([gradient])
    assert peak(*arguments(p), range(len(p.tasks))) > 16 * size
    assert peak(*arguments(p), order(*arguments(p))) < 2 * size


def test_the_search_ends_at_once_for_deep_training_programs():
    p = mlp(Random(5), 300, updates_last=False)
    flow = flow_of(*arguments(p), p.alias)
    given_order = orders.by_number(flow)
    assert orders.search(flow, given_order, 3 * len(p.tasks)) is not None


@pytest.mark.parametrize("make", [lambda r, n: mlp(r, n // 4), lambda r, n: anything(r, n)])
def test_work_for_two_thousand_tasks_does_not_grow_with_their_square(make):
    once, twice = (make(Random(1), count) for count in (1000, 2000))
    assert len(twice.tasks) > 1900
    check_valid(twice, order(*arguments(twice), twice.alias))
    less, more = (
        calls(lambda p=p: order(*arguments(p), p.alias)) / len(p.tasks) for p in (once, twice)
    )
    assert more < 1.5 * less


def test_tasks_given_in_no_valid_order_are_brought_into_one():
    p = Program([Task((1,), (2,)), Task((0,), (1,)), Task((), (0,))], {0: 1, 1: 1, 2: 1}, {2})
    assert order(*arguments(p)) == [2, 1, 0]


def test_buffers_outside_the_arena_order_tasks_and_cost_nothing():
    p = Program([Task((7,), (8,)), Task((8,), (0,)), Task((0,), (9,))], {0: 100})
    assert order(*arguments(p)) == [0, 1, 2]
    assert peak(*arguments(p), [0, 1, 2]) == 128


def test_no_tasks():
    assert order([], {}, set()) == []
    assert peak([], {}, set(), []) == 0


def test_two_writers_are_refused():
    with pytest.raises(
        ValueError, match="tasks 0 and 1 write buffer 3; a buffer is written by one"
    ):
        order([Task((), (3,)), Task((), (3,))], {3: 64}, set())


def test_a_size_for_an_input_is_refused():
    with pytest.raises(ValueError, match="buffer 5 has a size and no task writes it"):
        order([Task((5,), (6,))], {5: 64, 6: 64}, set())


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match=r"tasks \[0, 1\] wait for each other"):
        order([Task((1,), (0,)), Task((0,), (1,))], {}, set())


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([0, 0], "each task comes once"),
        ([0], "each task comes once"),
        ([1, 0], "task 1 comes before"),
    ],
)
def test_the_peak_of_an_invalid_order_is_refused(found, message):
    with pytest.raises(ValueError, match=message):
        peak([Task((), (0,)), Task((0,), (1,))], {0: 64, 1: 64}, set(), found)


# Faults planted on purpose: what the tests above rely on must see them.


def test_the_check_of_orders_sees_a_task_that_comes_too_early():
    p = Program([Task((), (0,)), Task((0,), (1,)), Task((), (2,), after=(1,))], {0: 1, 1: 1, 2: 1})
    check_valid(p, [0, 1, 2])
    for wrong in ([1, 0, 2], [0, 2, 1], [0, 1], [0, 1, 1]):
        with pytest.raises(AssertionError):
            check_valid(p, wrong)


def test_the_comparison_with_the_best_order_sees_a_search_that_takes_any_task_for_free(monkeypatch):
    weigh = orders._Search._cost
    monkeypatch.setattr(
        orders._Search, "_cost", lambda *state: (weigh(*state)[0], min(0, weigh(*state)[1]))
    )
    worse = 0
    for seed in range(40):
        p = anything(Random(seed), 7)
        if len(p.tasks) <= schedule.SEARCHED:
            found = order(*arguments(p), p.alias)
            worse += peak(*arguments(p), found, p.alias) > smallest_peak(p)
    assert worse
