"""Memory plans: nothing alive is overwritten, and little more memory than the peak is taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from codegen.task_graphs import INPUT, Program, anything, checkpointed_mlp, training
from wengert.codegen.memory import packing as memory
from wengert.codegen.memory.packing import Packed, place
from wengert.codegen.memory.shelf import Shelf
from wengert.codegen.memory.task_order import Task, order, peak

LINE = 64
some_random = st.randoms(use_true_random=False)
seeds = st.integers(0, 2**32 - 1)


def run(p: Program, found: Sequence[int], plan: Packed) -> None:
    """Runs a program in an arena whose cache lines say whose they are; fails if one is lost.

    An operand may be lost to a result only while its last reader runs, and only to the result that
    may be written over it, line for line.
    """
    arena = np.full(plan.size // LINE, -1)
    assert plan.size % LINE == 0

    def span(offset: int, size: int) -> slice:
        assert offset % LINE == 0
        assert offset >= 0
        begin, end = offset // LINE, -(-(offset + size) // LINE)
        assert size == 0 or end <= len(arena)
        return slice(begin, end)

    def intact(buffers: Sequence[int]) -> bool:
        return all((arena[span(plan.offsets[b], p.sizes[b])] == b).all() for b in buffers)

    last = {b: task for task in found for b in p.tasks[task].reads}
    for task in found:
        now = p.tasks[task]
        operands = [b for b in now.reads if b in p.sizes]
        results = [b for b in now.writes if b in p.sizes]
        assert intact(operands)
        if now.scratch:
            scratch = span(plan.scratch[task], now.scratch)
            arena[scratch] = -2 - task
            assert intact(operands)
        over = set()
        for b in results:
            a = p.alias.get(b)
            may = a in operands and a not in p.kept and last[a] == task
            if may and p.sizes[a] == p.sizes[b] and plan.offsets[a] == plan.offsets[b]:
                over.add(a)
            arena[span(plan.offsets[b], p.sizes[b])] = b
        assert intact([*results, *(b for b in operands if b not in over)])
        assert not now.scratch or (arena[scratch] == -2 - task).all()
    made = {b for task in p.tasks for b in task.writes}
    assert intact([b for b in p.kept if b in p.sizes and b in made])


def planned(p: Program, found: Sequence[int]) -> Packed:
    return place(p.tasks, p.sizes, p.kept, found, p.alias)


@given(some_random, st.integers(0, 16))
def test_nothing_alive_is_lost(random, count):
    p = anything(random, count)
    found = list(range(len(p.tasks)))
    plan = planned(p, found)
    run(p, found, plan)
    assert plan.size >= peak(p.tasks, p.sizes, p.kept, found, p.alias)
    assert plan.offsets.keys() == p.sizes.keys()
    assert plan.scratch.keys() == {t for t, task in enumerate(p.tasks) if task.scratch}
    assert plan == planned(p, found)


@given(seeds, st.booleans(), st.booleans())
def test_training_programs_take_at_most_a_tenth_more_than_the_peak(seed, large, with_alias):
    random = Random(seed)
    p = training(random, large)
    if not with_alias:
        p.alias.clear()
    found = order(p.tasks, p.sizes, p.kept, p.alias)
    plan = planned(p, found)
    run(p, found, plan)
    assert plan.size <= 1.1 * peak(p.tasks, p.sizes, p.kept, found, p.alias)


def test_most_training_programs_take_the_peak_and_no_more():
    over = []
    for seed in range(60):
        random = Random(seed)
        p = training(random).shuffled(random)
        found = order(p.tasks, p.sizes, p.kept, p.alias)
        over.append(planned(p, found).size / peak(p.tasks, p.sizes, p.kept, found, p.alias))
    assert sum(ratio == 1 for ratio in over) > 50
    assert sum(over) / len(over) < 1.01


@given(seeds)
def test_few_buffers_are_packed_as_tightly_as_can_be(seed):
    """Of all rankings one gives the best packing: that of its offsets."""
    p = anything(Random(seed), 4)
    p.alias.clear()
    found = list(range(len(p.tasks)))
    plan = planned(p, found)
    blocks = memory._blocks(*_flow(p, found), {})
    assume(0 < len(blocks) <= 6)
    best = min(memory._put_down(list(each)).height for each in permutations(blocks))
    assert plan.size == best


def _flow(p: Program, found: Sequence[int]):
    flow = memory.flow_of(p.tasks, p.sizes, p.kept, p.alias)
    return flow, found, memory.lifetimes(flow, found)


@given(seeds, st.sampled_from([1, 5, 50]))
def test_a_shelf_finds_the_lowest_free_place(seed, many):
    """Every line is tried, from the first one on; with floors and without."""
    random, moments, lines = Random(seed), 12, 40
    shelf = Shelf(moments)
    shelf.MANY = many
    taken = np.zeros((moments, lines), bool)
    for _ in range(20):
        begin, size = random.randrange(moments), random.randint(1, 4)
        end = min(moments - 1, begin + random.choice([0, 1, moments]))
        free = ~taken[begin : end + 1].any(axis=0)
        lowest = next((at for at in range(lines - size) if free[at : at + size].all()), None)
        if lowest is None:
            break
        assert shelf.lowest(size * LINE, begin, end) == lowest * LINE
        shelf.add(lowest * LINE, (lowest + size) * LINE, begin, end)
        taken[begin : end + 1, lowest : lowest + size] = True


def test_a_checkpointed_perceptron_of_32_layers_takes_less_than_half_its_activations():
    p = checkpointed_mlp(Random(0), 32, 6)
    activation = p.sizes[0]
    found = order(p.tasks, p.sizes, p.kept, p.alias)
    assert planned(p, found).size <= 0.45 * 32 * activation


def test_an_order_planned_again_for_other_sizes():
    random = Random(3)
    p = training(random, large=True)
    found = order(p.tasks, p.sizes, p.kept, p.alias)
    for factor in (0, 1, 3, 7):
        sizes = {b: size * factor // 2 for b, size in p.sizes.items()}
        other = Program(p.tasks, sizes, p.kept, p.alias)
        run(other, found, planned(other, found))


CHAIN = [Task((), (0,)), Task((0,), (1,)), Task((1,), (2,))]


def test_in_place_where_it_is_legal():
    plan = place(CHAIN, dict.fromkeys(range(3), 640), {2}, range(3), {1: 0, 2: 1})
    assert plan == Packed({0: 0, 1: 0, 2: 0}, 640, {})


@pytest.mark.parametrize(
    ("tasks", "sizes", "kept"),
    [
        (CHAIN[:2], {0: 640, 1: 576}, {1}),  # another size
        (CHAIN[:2], {0: 640, 1: 640}, {0, 1}),  # the operand is kept
        ([*CHAIN[:2], Task((0,), (3,))], {0: 640, 1: 640}, {1}),  # and here read later
        ([CHAIN[0], Task((), (1,), after=(0,))], {0: 640, 1: 640}, {0}),  # not read at all
    ],
)
def test_not_in_place_where_it_is_not(tasks, sizes, kept):
    p = Program(tasks, sizes, kept, {1: 0})
    found = range(len(tasks))
    plan = planned(p, found)
    run(p, found, plan)
    assert plan.offsets[0] != plan.offsets[1]


def test_one_operand_takes_one_result():
    p = Program([Task((), (0,)), Task((0,), (1, 2))], dict.fromkeys(range(3), 640), {1, 2})
    p.alias = {1: 0, 2: 0}
    plan = planned(p, range(2))
    run(p, range(2), plan)
    assert plan.size == 1280


def test_an_input_is_not_written_over():
    p = Program([Task((INPUT,), (0,))], {0: 640}, {0}, {0: INPUT})
    assert planned(p, range(1)) == Packed({0: 0}, 640, {})


def test_sizes_are_rounded_up_and_empty_buffers_take_nothing():
    p = Program([Task((), (0, 1, 2)), Task((0, 1, 2), (3,))], {0: 0, 1: 1, 2: 65, 3: 0})
    plan = planned(p, range(2))
    run(p, range(2), plan)
    assert plan.size == 192


def test_results_nobody_reads_and_scratch_take_room_while_the_task_runs():
    p = Program(
        [Task((), (0, 1), scratch=10), Task((1,), (2,), scratch=300)], dict.fromkeys(range(3), 64)
    )
    plan = planned(p, range(2))
    run(p, range(2), plan)
    assert plan.size == 64 + 64 + 320


def test_no_tasks():
    assert place([], {}, set(), []) == Packed({}, 0, {})


def test_an_invalid_order_is_refused():
    with pytest.raises(ValueError, match="task 1 comes before task 0"):
        place(CHAIN, dict.fromkeys(range(3), 64), set(), [1, 0, 2])


# Faults planted on purpose: the run in the arena must see them.


def test_the_run_sees_every_buffer_that_is_moved_onto_another():
    random = Random(1)
    p = training(random)
    found = order(p.tasks, p.sizes, p.kept, p.alias)
    plan = planned(p, found)
    lives = _flow(p, found)[2]
    seen = 0
    for a in p.sizes:
        for b in p.sizes:
            apart = max(lives[a][0], lives[b][0]) > min(lives[a][1], lives[b][1])
            if a == b or apart or plan.offsets[a] == plan.offsets[b]:
                continue
            if p.alias.get(a) == b or p.alias.get(b) == a:
                continue
            with pytest.raises(AssertionError):
                run(
                    p,
                    found,
                    Packed({**plan.offsets, a: plan.offsets[b]}, 2 * plan.size, plan.scratch),
                )
            seen += 1
    assert seen > 20


def test_the_run_sees_scratch_on_an_operand():
    p = Program([Task((), (0,)), Task((0,), (1,), scratch=64)], {0: 64, 1: 64}, {1})
    run(p, range(2), Packed({0: 0, 1: 64}, 192, {1: 128}))
    for wrong in (0, 64):
        with pytest.raises(AssertionError):
            run(p, range(2), Packed({0: 0, 1: 64}, 192, {1: wrong}))


def test_the_run_sees_a_buffer_outside_the_arena_or_off_a_line():
    p = Program([Task((), (0,))], {0: 128}, {0})
    for wrong in (Packed({0: 64}, 128, {}), Packed({0: 8}, 192, {}), Packed({0: 0}, 100, {})):
        with pytest.raises(AssertionError):
            run(p, range(1), wrong)


@pytest.mark.parametrize("late", [0, 1])
def test_the_run_sees_lifetimes_that_are_one_task_too_short(monkeypatch, late):
    """Without the task that writes a buffer, or without its last reader."""
    right = memory.lifetimes

    def wrong(flow, found):
        lives = right(flow, found)
        return {
            b: (begin + late, end - 1 + late) if end > begin else (begin, end)
            for b, (begin, end) in lives.items()
        }

    monkeypatch.setattr(memory, "lifetimes", wrong)
    p = training(Random(1))
    p.alias.clear()
    found = order(p.tasks, p.sizes, p.kept)
    with pytest.raises(AssertionError):
        run(p, found, planned(p, found))
