"""Every benchmark runs, on little work: contestants agree, and the tables print. Nothing is timed
for its own sake.
"""

import importlib
import os
import re

import numpy as np
import pytest

from benchmarks import (
    __main__ as command,
)
from benchmarks import (
    arena,
    call_path,
    cold_start,
    compile_time,
    digests,
    direct,
    eager_tape,
    elementwise,
    gemm,
    graph_building,
    harness,
    mlp,
    mlp_native,
    networks,
    nonfinite,
    optimizers,
    policy,
    scans,
    setting,
    threads,
    train_step,
    training,
)
from benchmarks.harness import OURS, Figure

SMALL = networks.Network((3, 5, 4, 2), 6)


def test_every_benchmark_of_the_command_has_a_main():
    for name in command.ALL:
        assert callable(importlib.import_module(f"benchmarks.{name}").main)


def test_an_unknown_benchmark_is_refused(monkeypatch):
    monkeypatch.setattr("sys.argv", ["benchmarks", "mlp", "gem"])
    with pytest.raises(SystemExit, match="no benchmark 'gem'; there are gemm, elementwise"):
        command.main()


def test_the_command_says_where_it_runs_and_runs_what_was_asked_for(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "--threads", "3", "graph_building"])
    monkeypatch.setattr(command, "use_threads", lambda count: print(f"{count} threads"))
    monkeypatch.setattr(graph_building, "CALLS", 3)
    command.main()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "3 threads"
    assert "wengert 0.1.0" in said[1]
    assert re.fullmatch(r"gemm [\d.]+ GF/s in float32, [\d.]+ in .* GB/s; one thread", said[2])
    assert said[4] == "Trace, gradient and check of a graph"
    assert len(said) == 6


# The contestants


def require_contestants(found: dict[str, harness.Run], *names: str) -> None:
    assert list(found) == [OURS, *names]
    harness.require_agreement(found)


def test_networks():
    require_contestants(mlp.contestants(SMALL, ()), "NumPy by hand")


def test_networks_with_jax():
    pytest.importorskip("jax")
    require_contestants(mlp.contestants(SMALL, ("jax",)), "JAX jit", "NumPy by hand")


def test_scans():
    require_contestants(scans.space((5, 2, 3, 4), ()), "NumPy by hand")
    require_contestants(scans.simulation(3, 7, ()), "NumPy by hand")


def test_scans_with_jax():
    pytest.importorskip("jax")
    names = ("JAX lax.scan", "JAX associative", "NumPy by hand")
    require_contestants(scans.space((5, 2, 3, 4), ("jax",)), *names)
    found = scans.simulation(3, 7, ("jax",))
    require_contestants(found, "JAX lax.scan", "NumPy by hand")
    assert all(x.dtype == np.float64 for x in harness.numbers(found["JAX lax.scan"]()))
    times = scans.first_calls(lambda: scans.simulation(2, 3, ("jax",)), repeats=1)
    assert list(times) == [OURS, "JAX lax.scan"]


@pytest.mark.parametrize("dtype", elementwise.DTYPES)
@pytest.mark.parametrize("function", elementwise.FUNCTIONS)
def test_elementwise(function, dtype):
    for build in (elementwise.with_new_array, elementwise.with_old_array):
        found = build(function, dtype, 100)
        harness.require_agreement(found, 1e-6)
        assert all(np.asarray(run()).dtype == dtype for run in found.values())


@pytest.mark.parametrize("dtype", gemm.DTYPES)
def test_products(dtype):
    for size in (1, 7):
        found = gemm.contestants(size, dtype)
        require_contestants(found, "wengert into", "NumPy out=", "NumPy a @ b")
        assert all(np.asarray(run()).dtype == dtype for run in found.values())


def test_the_eager_tape():
    require_contestants(eager_tape.contestants(()), "GradientTape")


def test_cold_starts():
    ours = cold_start.start_ours()(cold_start.arguments(SMALL))
    times = cold_start.measure("wengert", SMALL)
    assert list(times) == ["import", "first step", "its CPU time"]
    pytest.importorskip("jax")
    theirs = cold_start.start_jax()(cold_start.arguments(SMALL))
    harness.require_agreement({OURS: lambda: ours, "JAX": lambda: theirs})


def test_a_cold_start_in_a_process_of_its_own():
    empty, warm = compile_time.rows("tiny", (), repeats=1)
    assert empty[0] == "tiny, wengert, empty cache"
    assert warm[0] == "tiny, wengert, warm cache"
    assert warm[4:] == ["", warm[5], ""]
    assert [row[5].partition(": ")[0] for row in (empty, warm)] == ["≤ 0.25 s", "≤ 0.03 s"]


def test_arenas():
    row = arena.network_row("mnist", SMALL, ())
    assert row[0] == "mnist 3-5-4-2, batch 6"
    assert row[-3:-1] == ["–", "–"]
    assert row[-1].endswith("≤ 0.8 × JAX: not measured")
    deep, shallow = (arena.checkpointed(layers, 3, 16).size for layers in (12, 6))
    assert 0 < shallow <= deep < 12 * arena.BATCH * 16 * 4


def test_arenas_with_jax():
    pytest.importorskip("jax")
    row = arena.network_row("large", networks.Network((8, 64, 32, 8), 64), ("jax",))
    assert int(row[6].replace(",", "")) > 0
    assert re.fullmatch(r"≤ 1.1 × bound: \w+, ≤ 0.8 × JAX: \w+", row[-1])


def test_calls():
    require_contestants(call_path.plain(2, ()), "NumPy add")
    require_contestants(call_path.plain(10, ()))
    require_contestants(call_path.nested(10, ()))
    call, work = call_path.above_the_work(call_path.add_up, call_path.arrays_for(10))
    assert min(call, work) > 0


def test_calls_with_jax():
    pytest.importorskip("jax")
    require_contestants(call_path.nested(10, ("jax",)), "JAX jit")


# Training


def test_training_steps():
    require_contestants(train_step.contestants(SMALL, ()), "NumPy by hand")
    require_contestants(train_step.of_many(SMALL, 7, ()), "step()")


def test_training_steps_with_jax():
    pytest.importorskip("jax")
    require_contestants(train_step.contestants(SMALL, ("jax",)), "JAX jit", "NumPy by hand")
    require_contestants(train_step.of_many(SMALL, 7, ("jax",)), "step()", "JAX, one jit")


def test_training_steps_with_torch():
    pytest.importorskip("torch")
    names = ("torch eager", "torch fused", "NumPy by hand")
    require_contestants(train_step.contestants(SMALL, ("torch",)), *names)


def test_a_contestant_that_trains_goes_on_and_returns_its_first_losses():
    losses = iter(range(100))
    run = training.steady(lambda: next(losses))
    assert run() == run() == [0, 1, 2, 3, 4]
    assert next(losses) == 7


def test_what_a_training_step_allocates():
    row = train_step.memory_row("small", SMALL, calls=3)
    assert row[0] == "small 3-5-4-2, batch 6"
    assert row[2] == "none"
    assert row[-1] == "≤ 400 bytes: yes, 0 in native code: yes"
    assert train_step.allocated(lambda: bytes(5000)) >= 5000


@pytest.mark.parametrize("peers", [(), ("jax",), ("torch",)])
def test_policies(peers):
    for peer in peers:
        pytest.importorskip(peer)
    names = {"jax": "JAX jit", "torch": "torch"}
    own = policy.contestants(SMALL, False, peers)
    require_contestants(own, *(names[peer] for peer in peers))
    from_numpy = policy.contestants(SMALL, True, peers)
    assert set(from_numpy) - set(own) == ({"torch nn.Module"} if peers == ("torch",) else set())
    harness.require_agreement(from_numpy)
    assert all(run().shape == (1, 2) for run in from_numpy.values())


@pytest.mark.parametrize("peers", [(), ("jax",)])
def test_native_networks(peers):
    for peer in peers:
        pytest.importorskip(peer)
    names = ["JAX jit"] if peers else []
    require_contestants(
        mlp_native.contestants(SMALL, peers), mlp_native.STEP, *names, "NumPy by hand"
    )


@pytest.mark.parametrize("in_step", [False, True])
@pytest.mark.parametrize("of", [optimizers.of_adam, optimizers.of_momentum])
def test_optimizers(monkeypatch, of, in_step):
    monkeypatch.setattr(optimizers, "SHAPE", (3, 4))
    require_contestants(of(in_step, 3, ()))
    pytest.importorskip("torch")
    require_contestants(of(in_step, 3, ("torch",)), "torch foreach", "torch fused")


def test_optimizers_with_jax():
    pytest.importorskip("jax")
    require_contestants(optimizers.of_adam(False, 3, ("jax",)), "JAX jit")


@pytest.mark.parametrize("in_step", [False, True])
def test_lars_is_another_optimizer(in_step):
    found = optimizers.of_lars(in_step, 2)
    assert list(found) == [OURS, "Lars"]
    with pytest.raises(AssertionError, match="Lars"):
        harness.require_agreement(found, 1e-6)


def test_looking_for_what_is_not_finite_changes_nothing():
    for build in (nonfinite.of_step, nonfinite.of_gradient):
        found = build(SMALL)
        assert list(found) == [OURS, "raise", "skip"]
        harness.require_agreement(found, 0)


# Threads


def test_two_threads_give_the_bits_of_one(monkeypatch):
    monkeypatch.setenv("WENGERT_GRAIN", "1")  # divide however little there is to do
    for make in (threads.value_and_grad, threads.training_step):
        found = threads.both(lambda count, make=make: make(SMALL, count))
        assert list(found) == [OURS, threads.ALONE]
        harness.require_agreement(found, 0)


@pytest.mark.parametrize("name", threads.PROGRAMS)
def test_programs_of_rows(name):
    found = threads.both(lambda count: threads.on_rows(name, (9, 5), count))
    harness.require_agreement(found, 0)
    assert found[OURS]() is found[OURS]()  # it writes to one array


def test_the_gradient_of_cross_entropy():
    x = np.random.default_rng(0).standard_normal((7, 3))
    found = threads.cross_entropy_gradient(x)
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    expected[np.arange(7), np.arange(7) % 3] -= 1
    np.testing.assert_allclose(found, expected / 7, rtol=1e-12)


def test_digests():
    one, other = (digests.digest(SMALL, 3, count) for count in (1, 2))
    assert one == other
    assert digests.digest(SMALL, 4, 1) != one


def test_digests_of_processes(monkeypatch):
    monkeypatch.setattr(threads, "THREADS", (1, 3))
    rows = threads.digest_rows("tiny", 2)
    ways = ["no cache", "no cache, again", "empty cache", "warm cache"]
    assert [row[0] for row in rows] == [f"tiny, {way}" for way in ways]
    assert {row[-1] for row in rows} == {"the same everywhere: yes"}
    assert len({digest for row in rows for digest in row[1:-1]}) == 1


def test_graph_building():
    best, forward, total = graph_building.measure(calls=3, repeats=1)
    assert best > 0
    assert 10 < forward < total


def test_a_program_that_writes_to_the_same_array():
    x, y = np.ones((3, 2), np.float32), np.full((2, 3), 2, np.float32)
    run = direct.into(lambda x, y: x @ y, x, y)
    first = run()
    assert (first == 4).all()
    x[0] = 0  # the program reads the arrays themselves
    assert run() is first
    assert (first == [[0, 0, 0], [4, 4, 4], [4, 4, 4]]).all()


# The harness


def test_contestants_take_turns_and_count_their_calls():
    called = {"quick": 0, "slow": 0}

    def run(name):
        called[name] += 1

    best = harness.best_times({name: lambda name=name: run(name) for name in called}, 0.001)
    assert list(best) == ["quick", "slow"]
    assert all(each > 0 for each in best.values())
    assert all(count >= 4 + harness.LEAST for count in called.values())


def test_disagreement_is_refused():
    with pytest.raises(AssertionError, match="theirs"):
        harness.require_agreement({OURS: lambda: np.ones(3), "theirs": lambda: np.zeros(3)})
    with pytest.raises(AssertionError, match="theirs returns 2 arrays"):
        harness.require_agreement({OURS: lambda: np.ones(3), "theirs": lambda: [1.0, 1.0]})


def test_results_of_any_form_are_compared_in_one_order():
    found = harness.numbers(({"b": 2, "a": [1.0, (np.arange(2),)]}, 3))
    assert [x.tolist() for x in found] == [1.0, [0, 1], 2, 3]


def test_figures():
    assert Figure(5, "JAX").verdict(5.0) == "≥ 5 × JAX: yes"
    assert Figure(5, "JAX").verdict(4.9) == "≥ 5 × JAX: NO"
    assert Figure(0.8, "JAX", at_most=True).verdict(0.8) == "≤ 0.8 × JAX: yes"
    assert Figure(0.8, "JAX", at_most=True).verdict(0.9) == "≤ 0.8 × JAX: NO"
    assert Figure(0.8, "JAX").verdict(None) == "≥ 0.8 × JAX: not measured"


def test_contestants_that_do_different_work_are_compared_without_tolerance(capsys):
    runs = {OURS: lambda: 1.0, "other": lambda: 2.0}
    with pytest.raises(AssertionError):
        harness.compare("Same", [("", runs, [])], seconds=0.001)
    harness.compare("Different", [("", runs, [])], seconds=0.001, tolerance=None)
    assert "× other" in capsys.readouterr().out


def test_a_table_has_a_column_for_each_contestant(capsys):
    rows = [
        ("first", {OURS: lambda: 1.0, "NumPy": lambda: 1.0}, [Figure(0, "NumPy")]),
        ("the second", {OURS: lambda: 2.0, "JAX": lambda: 2.0}, [Figure(1, "NumPy")]),
    ]
    harness.compare("Numbers", rows, seconds=0.001)
    empty, title, head, first, second = capsys.readouterr().out.splitlines()
    assert (empty, title) == ("", "Numbers")
    assert head.split() == [OURS, "NumPy", "JAX", "×", "NumPy", "×", "JAX"]
    assert first.endswith("≥ 0 × NumPy: yes")
    assert second.endswith("≥ 1 × NumPy: not measured")
    assert first.count("–") == second.count("–") == 2
    assert first.index("≥") == second.index("≥")


@pytest.mark.parametrize("count", [1, 2])
def test_the_setting_asks_for_threads(monkeypatch, capsys, count):
    for name in setting.VARIABLES:
        monkeypatch.setenv(name, "before")
    monkeypatch.setattr(setting, "_pin", lambda count: f"pinned to {count}")
    setting.use_threads(count)
    said = capsys.readouterr().out
    for name, value in setting.variables(count).items():
        assert setting.os.environ[name] == value
        assert f"{name}={value!r}" in said
    assert setting.threads() == count
    assert ("multi_thread_eigen=false" in said) == (count == 1)
    assert f"pinned to {count}" in said
    assert "numpy" in said.splitlines()[0]  # imported before, and said so
    assert "wengert 0.1.0" in setting.machine_line()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_cores_are_chosen_and_given_back():
    before = os.sched_getaffinity(0)
    try:
        setting._pin(1)
        assert os.sched_getaffinity(0) == {max(before)}
        with setting.all_cores():
            assert os.sched_getaffinity(0) == set(range(os.cpu_count())) & before
        assert os.sched_getaffinity(0) == {max(before)}
    finally:
        os.sched_setaffinity(0, before)
