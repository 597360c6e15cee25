"""Every benchmark runs, on little work, and contestants agree. Nothing is timed for itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import (
    bits,
    catalog,
    cold_start,
    harness,
    memory,
    networks,
    page,
    training,
    worker,
)
from benchmarks.case import OURS, Case, Times, Within, duration
from benchmarks.cases import (
    calls,
    compiling,
    elementwise,
    gemm,
    images,
    matrices,
    mlp,
    optimizers,
    reductions,
    reinforcement,
    rows,
    scans,
    sequences,
    steps,
    tape,
)
from benchmarks.harness import Effort
from benchmarks.layers.convnets import ConvNet
from benchmarks.layers.recurrent_layers import Recurrent
from benchmarks.layers.state_spaces import MambaSizes, S4DSizes, Selective
from benchmarks.layers.transformers import Stack
from benchmarks.reinforcement import Learning
from benchmarks.transformer import Transformer

ROOT = Path(__file__).resolve().parents[1]
SMALL = networks.Network((3, 5, 4, 2), 6)
LEAST = Effort(2, 0.0, 0.0)

# The cases


def test_names_labels_and_systems():
    begins = {"numpy": "NumPy", "jax": "JAX", "torch": "torch"}
    for name, (_, case) in catalog.all_cases().items():
        assert case.name == name
        assert case.measures
        for label, each in case.contestants.items():
            if each.peer:
                assert label.split()[0] == begins[each.system], (name, label)
        for goal in case.goals:
            times = dict.fromkeys(case.contestants, 1.0)
            assert goal.measured(times, case.peers) is not None, (name, goal)


def test_every_group_has_a_title_and_the_front_page_shows_cases_that_exist():
    assert set(page.TITLES) == set(catalog.GROUPS)
    assert set(page.FRONT) <= set(catalog.all_cases())


def test_cases_are_chosen_by_group_and_by_the_beginning_of_their_names():
    assert catalog.chosen(["tape"]) == list(tape.CASES)
    assert [each.name for each in catalog.chosen(["step tiny"])] == [
        "step tiny, Adam",
        "step tiny, Lars",
    ]
    assert [each.name for each in catalog.chosen(["gemm 64"])] == ["gemm 64"]
    assert len(catalog.chosen([])) == len(catalog.all_cases())
    with pytest.raises(ValueError, match="no case begins with 'gem of'; the groups are steps"):
        catalog.chosen(["gem of"])


def test_cases_import_no_library():
    """Each system's process would import all of them."""
    code = (
        "import sys; from benchmarks.catalog import all_cases; all_cases(); "
        "print([name for name in ('wengert', 'torch', 'jax') if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


# Contestants


SYSTEMS = ["numpy", "jax", "torch"]


def require_contestants(case: Case, system: str, without: tuple[str, ...] = ()) -> None:
    """Ours and those of one system compute the same numbers."""
    if system != "numpy":
        pytest.importorskip(system)
    found = {
        label: worker.numbers(each.make()())
        for label, each in case.contestants.items()
        if each.agrees and each.system in (system, "wengert") and label not in without
    }
    for label, each in found.items():
        harness.require_close(label, each, found[OURS], case.tolerance)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("optimizer", ["Adam", "Lars"])
def test_training_steps(system, optimizer):
    require_contestants(Case("", "", steps.step_contestants(SMALL, optimizer)), system)


@pytest.mark.parametrize("optimizer", ["Adam", "Lars"])
def test_many_steps(monkeypatch, optimizer):
    monkeypatch.setattr(steps, "NETWORKS", {"tiny": SMALL})
    monkeypatch.setattr(steps, "RUNS", {"tiny": 7})
    (case,) = steps.run_cases(optimizer)
    assert list(case.contestants) == [OURS, "step()", "JAX lax.scan"]
    require_contestants(case, "jax")


@pytest.mark.parametrize("system", ["numpy", "torch"])
def test_learners_of_reinforcement_learning(system):
    little = Learning(width=8, batch=16, rows=48, epochs=1)
    require_contestants(reinforcement.ppo_case(little), system)
    require_contestants(reinforcement.sac_case("", little._replace(rows=80)), system)


def test_steps_beside_ourselves(monkeypatch):
    monkeypatch.setenv("WENGERT_GRAIN", "1")  # divide however little there is to do
    monkeypatch.setattr(steps, "NETWORKS", {"tiny": SMALL})
    for case in (steps.threads_case("tiny", 0.98), steps.nonfinite_case("tiny", 1.1)):
        assert case.tolerance == 0
        require_contestants(case, "numpy")


def test_the_products_of_a_step_alone():
    forward, by_weights, by_inputs = steps.products_alone(SMALL)()
    assert [x.shape for x in forward] == [(6, 5), (6, 4), (6, 2)]
    assert [x.shape for x in by_weights] == [(3, 5), (5, 4), (4, 2)]
    assert [x.shape for x in by_inputs] == [(6, 5), (6, 4)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_gradients_of_networks(system):
    require_contestants(mlp.gradient_case("small", SMALL), system)
    require_contestants(mlp.native_case("small", SMALL), system)
    require_contestants(mlp.native_case("row", SMALL._replace(batch=1)), system)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("way", gemm.WAYS)
def test_products(system, way):
    case = gemm.product_case((7, 5, 3), way)
    assert case.name == f"gemm 7 × 5 × 3{f' {way}' if way else ''}"
    require_contestants(case, system)


def test_the_shapes_of_steps_are_named_once():
    found = list(gemm.shapes_of_steps())
    assert len(set(found)) == len(found)
    assert ((784, 128, 512), "TN") in found
    limits = {case.name: case.goals[0].limit for case in gemm.CASES}
    assert (limits["gemm 128"], limits["gemm 256"]) == (1.1, 0.97)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("function", elementwise.FUNCTIONS, ids=lambda each: each.name)
def test_elementwise(system, function):
    require_contestants(elementwise.function_case(function, 100), system)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("reduction", reductions.REDUCTIONS, ids=lambda each: each.name)
def test_reductions(system, reduction):
    for shape, axis in (((6, 5), 0), ((6, 5), 1), ((6, 5), None), ((2, 3, 4), 1)):
        require_contestants(reductions.reduction_case(reduction, shape, axis), system)
    assert reductions.copy(reduction, (6, 5), 0)().shape == (6 if reduction.grows else 3, 5)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("function", rows.FUNCTIONS, ids=lambda each: each.name)
def test_rows(system, function):
    require_contestants(rows.function_case(function, (6, 5), 1.0), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_cross_entropy(system):
    require_contestants(rows.cross_entropy_case((6, 5), 1.0), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_scans(system):
    require_contestants(scans.space_case((5, 2, 3, 4)), system)
    require_contestants(scans.simulation_case(3, 7), system)


LAYERS = {
    "ConvNet": lambda: images.convnet_case("digits", ConvNet(4, 2, (3, 2), 3)),
    "LSTM": lambda: sequences.recurrent_case(Recurrent("LSTM", 2, 3, 2, 3)),
    "GRU": lambda: sequences.recurrent_case(Recurrent("GRU", 2, 3, 2, 3)),
    "attention": lambda: sequences.attention_case(Stack(0, 4, 2, 0, 3, 2)),
    "transformer": lambda: sequences.transformer_case(Stack(1, 4, 2, 5, 3, 2)),
    "one word": lambda: sequences.generation_case(Stack(1, 4, 2, 5, 3, 2)),
    "selective scan": lambda: sequences.selective_case(Selective(2, 3, 5, 2)),
    "Mamba": lambda: sequences.mamba_case(MambaSizes(2, 5, 3, 2, 2)),
    "S4D": lambda: sequences.s4d_case(S4DSizes(2, 5, 3, 4)),
}


@pytest.mark.parametrize("system", ["jax", "torch"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(system, name):
    require_contestants(LAYERS[name](), system)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("optimizer", ["Adam", "SGD", "Lars"])
def test_optimizers(monkeypatch, system, optimizer):
    monkeypatch.setattr(optimizers, "SHAPE", (3, 4))
    require_contestants(optimizers.optimizer_case(optimizer, 3), system)


@pytest.mark.parametrize("system", ["numpy", "torch"])
def test_the_eager_tape(system):
    require_contestants(tape.tape_case(SMALL), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_matrices(system):
    for kind in ("eigh", "svd"):
        for shape in ((5, 5), (3, 2, 2)):
            require_contestants(matrices.matrix_case(kind, shape), system)


@pytest.mark.parametrize("system", SYSTEMS)
def test_calls(system):
    for case in calls.CASES:
        if not case.reports:
            require_contestants(case, system)


def test_a_call_takes_longer_than_its_work():
    assert 0 < calls.above_the_work(2)() < 1


def test_a_contestant_that_trains_goes_on_and_returns_its_first_losses():
    losses = iter(range(100))
    run = training.steady(lambda: next(losses))
    assert run() == run() == [0, 1, 2, 3, 4]
    assert next(losses) == 7


# Starting


@pytest.mark.parametrize(
    "make",
    [
        lambda library: cold_start.network_step(library, SMALL),
        lambda library: cold_start.transformer_step(library, Transformer(2, 8, 2, 7, 5, 3)),
        lambda library: cold_start.convnet_step(library, ConvNet(4, 2, (3, 2), 3)),
        lambda library: cold_start.lars_update(library, 3, 4),
    ],
)
def test_programs_of_cold_starts(make):
    pytest.importorskip("jax")
    ours, theirs = (worker.numbers(make(library)()) for library in ("wengert", "jax"))
    harness.require_close("JAX", theirs, ours, 1e-4)


def test_a_cold_start_in_a_process_of_its_own(tmp_path):
    for _ in range(2):
        assert 0 < compiling.start("wengert", "three-layer step", str(tmp_path / "cache")) < 60
    assert set(compiling.PROGRAMS) == set(cold_start.PROGRAMS)


def test_importing_and_making_graphs():
    assert 0 < compiling.importing("json")() < 60
    assert 0 < compiling.graph_building(3)() < 60
    with pytest.raises(ImportError, match="nonsense"):
        compiling._importing_installed("nonsense")


# Goals


def test_goals():
    times = {OURS: 2.0, "NumPy": 6.0, "JAX jit": 4.0, "JAX lax.scan": 3.0, "copy": 1.0}
    peers = ["NumPy", "JAX jit", "JAX lax.scan"]
    assert Times(1.2).measured(times, peers) == 1.5
    assert Times(1.2, "NumPy").measured(times, peers) == 3
    assert Times(1.2, "JAX").measured(times, peers) == 1.5
    assert Times(1.2, "JAX jit").measured(times, peers) == 2
    assert Times(0.8, "copy").measured(times, peers) == 0.5
    assert Times(1.2, "torch").measured(times, peers) is None
    assert [Times(1.2).reached(found) for found in (1.19, 1.2)] == [False, True]
    assert Within(2.0).measured(times, peers) == 2
    assert [Within(2.0).reached(found) for found in (2.0, 2.1)] == [True, False]
    assert (Times(1.2).text, Within(0.025).text) == ("≥ 1.2 × the best peer", "≤ 25 ms")


def test_durations():
    found = [duration(each) for each in (3.21e-9, 1.5e-6, 0.0123, 0.99999, 12.0)]
    assert found == ["3.21 ns", "1.5 µs", "12.3 ms", "1 s", "12 s"]


# Memory and bits


def test_arenas():
    row = memory.arena_row("mnist", SMALL, None)
    assert row[0] == "mnist 3-5-4-2, batch 6"
    assert row[-3:-1] == ["–", "–"]
    assert row[-1].endswith("≤ 0.8 × JAX: not measured")
    assert memory.arena_row("large", SMALL, 10**9)[-1].endswith("≤ 0.8 × JAX: yes")
    deep, shallow = (memory.checkpointed(layers, 3, 16).size for layers in (12, 6))
    assert 0 < shallow <= deep < 12 * memory.BATCH * 16 * 4


def test_arenas_with_jax():
    pytest.importorskip("jax")
    row = memory.scan_row(Selective(1, 8, 128, 4))
    assert row[0] == "selective scan (1, 8, 128, 4)"
    assert row[-1] == "≤ 0.5 × JAX: yes"
    found = memory.jax_temporaries(networks.Network((8, 64, 32, 8), 64))
    assert found is not None
    assert found > 0


def test_what_a_training_step_allocates():
    row = memory.call_row("small", SMALL, calls=3)
    assert row[0] == "small 3-5-4-2, batch 6"
    assert row[2] == "none"
    assert row[-1] == "≤ 400 bytes: yes, 0 in native code: yes"
    assert memory.allocated(lambda: bytes(5000)) >= 5000


def test_digests():
    one, other = (bits.digest(SMALL, 3, count) for count in (1, 2))
    assert one == other
    assert bits.digest(SMALL, 4, 1) != one


def test_digests_of_processes(monkeypatch):
    monkeypatch.setattr(bits, "THREADS", (1, 3))
    found = bits.rows("tiny", 2)
    ways = ["no cache", "no cache, again", "empty cache", "warm cache"]
    assert [row[0] for row in found] == [f"tiny, {way}" for way in ways]
    assert {row[-1] for row in found} == {"the same everywhere: yes"}
    assert len({digest for row in found for digest in row[1:-1]}) == 1
